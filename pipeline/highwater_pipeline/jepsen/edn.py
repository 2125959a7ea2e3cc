"""Reads EDN, the notation in which Jepsen stores histories: https://github.com/edn-format/edn.

Vectors and lists become tuples, sets frozensets, maps dictionaries, keywords :class:`Keyword`; a tag is left out, and
its value stands for itself. What Clojure prints beyond EDN is read too: ``##NaN`` and its like, maps with a namespace
(``#:op{:f 1}``), metadata (left out), patterns (strings) and ratios (:class:`Symbol`). A map that is a key or a member
of a set is a :class:`MapKey` there.

It reads line by line and keeps no more than one value, since histories are long. (The libraries for EDN build a whole
file in memory and read fewer than a thousand operations a second; the tests hold this reader against one of them.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

_MOST_DEPTH: Final = 64
_MOST_VALUE: Final = 64 << 20
"""Characters of one value."""
_TOKEN: Final = re.compile(
    r"""(?P<skip>[\s,]+|;[^\n]*)
    |(?P<open>\#\{|[\[({])
    |(?P<close>[\])}])
    |"(?P<string>[^"\\]*+(?:\\.[^"\\]*+)*+)"
    |(?P<discard>\#_)
    |(?P<meta>\#?\^)
    |\#(?P<pattern>"[^"\\]*+(?:\\.[^"\\]*+)*+")
    |\#:(?P<namespace>:?[^\s,\[\](){}";:]*)(?=[\s,]*\{)
    |\#\#(?P<number>NaN|-?Inf)(?![^\s,\[\](){}";])
    |\#(?P<tag>[A-Za-z][^\s,\[\](){}";]*)
    |\\(?P<char>u[0-9A-Fa-f]{4}|o[0-7]{1,3}|newline|return|space|tab|formfeed|backspace|.)
    |(?P<atom>[^\s,\[\](){}";\\]+)""",
    re.VERBOSE | re.DOTALL,
)
_REST_OF_STRING: Final = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_INTEGER: Final = re.compile(r"[+-]?\d{1,4000}N?")
_FLOAT: Final = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?M?")
_CLOSES: Final = {"[": "]", "(": ")", "{": "}", "#{": "}"}
_CHARACTERS: Final = {"newline": "\n", "return": "\r", "space": " ", "tab": "\t", "formfeed": "\f", "backspace": "\b"}
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "b": "\b", '"': '"', "\\": "\\", "/": "/"}
_ESCAPE: Final = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_NUMBERS: Final = {"NaN": float("nan"), "Inf": float("inf"), "-Inf": float("-inf")}
_WORDS: Final[dict[str, Any]] = {"nil": None, "true": True, "false": False}


class BadEdnError(ValueError):
    """The text is not EDN; ``line`` says where, counted from 1."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(line, what)
        self.line = line
        self._what = what

    def __str__(self) -> str:
        return self._what


class Keyword(str):
    """``:name``, without the colon."""

    __slots__ = ()


class Symbol(str):
    """A word that is neither a keyword nor a constant."""

    __slots__ = ()


class MapKey(frozenset[Any]):
    """A map that is a key or a member of a set: its pairs of keys and values."""

    __slots__ = ()


@dataclass(slots=True)
class _Open:
    """A collection that is not closed yet. ``namespace``: that of a map's keys, if the map has one; ``awaits``: a tag
    or metadata behind which no value has come yet."""

    bracket: str
    namespace: str | None = None
    items: list[Any] = field(default_factory=list)
    discards: int = 0
    awaits: str = ""


def read_edn(lines: Iterable[str], *, within_vector: bool = False) -> Iterator[tuple[int, Any]]:
    """Yield each value with the number of the line on which it ends.

    Args:
        lines: the text; a string must not go over the end of an element.
        within_vector: if the text is one vector or list, yield its elements instead.

    Raises:
        BadEdnError: a value is malformed, too deep or too large, or the text ends within one.
    """
    reader = _Reader(within_vector=within_vector)
    number = 0
    for number, line in enumerate(lines, start=1):
        for value in reader.feed(line, number):
            yield number, value
    reader.end(number)


class _Reader:
    def __init__(self, *, within_vector: bool) -> None:
        self._within_vector = within_vector
        self._unwrapped: str | None = None
        self._top = _Open("")
        self._open: list[_Open] = []
        self._size = 0
        self._namespace: str | None = None
        """That of the map that opens next."""
        self._string: list[str] = []
        """The lines so far of a string that is not closed yet: each is gone through once, however many there are."""

    def feed(self, line: str, number: int) -> Iterator[Any]:
        text, position = line, 0
        if self._string:
            ends = _REST_OF_STRING.match(line)
            if ends is None:
                self._string.append(line)
                self._grow(len(line), number)
                return
            text = "".join((*self._string, line))
            self._size -= len(text) - len(line)  # it is counted again, as a whole
            self._string.clear()
        while position < len(text):
            found = _TOKEN.match(text, position)
            if found is None:
                if text[position] == '"':  # a string that goes on in the next line
                    self._string.append(text[position:])
                    self._grow(len(text) - position, number)
                    return
                raise BadEdnError(number, f"expected an EDN value, found {text[position : position + 20]!r}")
            position = found.end()
            if found.lastgroup == "skip":
                continue
            self._grow(found.end() - found.start(), number)
            self._take(str(found.lastgroup), found[str(found.lastgroup)], number)
            if not self._open and self._top.items:
                yield from self._top.items
                self._top.items.clear()
                self._size = 0

    def end(self, number: int) -> None:
        """Raises :class:`BadEdnError` if something is open."""
        unclosed = self._open or self._string or self._top.discards or self._top.awaits
        if unclosed or self._unwrapped is not None:
            what = (
                self._open[-1].bracket
                if self._open
                else "".join(self._string)[:20] or self._unwrapped or self._top.awaits or "#_"
            )
            raise BadEdnError(number, f"the text ends within {what!r}")

    def _grow(self, characters: int, number: int) -> None:
        self._size += characters
        if self._size > _MOST_VALUE:
            raise BadEdnError(number, f"expected values of at most {_MOST_VALUE >> 20} MiB, found a longer one")

    def _take(self, kind: str, text: str, number: int) -> None:
        match kind:
            case "open":
                if self._within_vector and self._unwrapped is None and not self._open and text in "[(":
                    self._unwrapped = text
                    return
                if len(self._open) >= _MOST_DEPTH:
                    raise BadEdnError(number, f"expected at most {_MOST_DEPTH} levels, found more")
                self._open.append(_Open(text, self._namespace))
                self._namespace = None
            case "close":
                self._close(text, number)
            case "string":
                self._put(_unescaped(text, number))
            case "char":
                self._put(_character(text, number))
            case "discard":
                (self._open[-1] if self._open else self._top).discards += 1
            case "number":
                self._put(_NUMBERS[text])
            case "namespace":
                self._namespace = text
            case "pattern":
                self._put(text[1:-1])
            case "tag":
                self._await(f"#{text}")  # the value behind it stands for itself
            case "meta":
                self._await(text)
                into = self._open[-1] if self._open else self._top
                into.discards += 1
            case _:
                self._put(_atom(text, number))

    def _await(self, what: str) -> None:
        """Note that a value must come, unless it is left out anyway."""
        into = self._open[-1] if self._open else self._top
        if not into.discards:
            into.awaits = what

    def _close(self, text: str, number: int) -> None:
        if not self._open:
            if self._unwrapped is not None and _CLOSES[self._unwrapped] == text:
                self._unwrapped, self._within_vector = None, False
                return
            raise BadEdnError(number, f"expected a value, found {text!r}")
        closed = self._open.pop()
        if _CLOSES[closed.bracket] != text:
            raise BadEdnError(number, f"expected {_CLOSES[closed.bracket]!r}, found {text!r}")
        if closed.discards:
            raise BadEdnError(number, f"expected a value behind #_ or ^, found {text!r}")
        if closed.awaits:
            raise BadEdnError(number, f"expected a value behind {closed.awaits[:20]}, found {text!r}")
        self._put(_collection(closed, number))

    def _put(self, value: Any) -> None:
        into = self._open[-1] if self._open else self._top
        if into.discards:
            into.discards -= 1
        else:
            into.items.append(value)
            into.awaits = ""


def _collection(closed: _Open, number: int) -> Any:
    match closed.bracket:
        case "{":
            if len(closed.items) % 2:
                raise BadEdnError(number, "expected a map of keys and values, found a key without a value")
            keys = [_hashable(_within(closed.namespace, key)) for key in closed.items[::2]]
            found = dict(zip(keys, closed.items[1::2], strict=True))
            if len(found) < len(keys):  # what stands behind one of them would be left out
                raise BadEdnError(number, "expected each key of a map once, found one twice")
            return found
        case "#{":
            return frozenset(map(_hashable, closed.items))
        case _:
            return tuple(closed.items)


def _within(namespace: str | None, key: Any) -> Any:
    """A key of a map with a namespace: keywords and symbols without one have the map's, and ``_`` stands for none."""
    if namespace is None or not isinstance(key, Keyword | Symbol):
        return key
    if key.startswith("_/"):
        return type(key)(key[2:])
    return key if "/" in key else type(key)(f"{namespace.removeprefix(':')}/{key}")


def _hashable(value: Any) -> Any:
    """The value as a key or a member of a set: maps, also within vectors, as :class:`MapKey`."""
    if isinstance(value, dict):
        return MapKey((key, _hashable(one)) for key, one in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, tuple) else value


def _character(text: str, number: int) -> str:
    if len(text) == 1:
        return text
    if text[0] == "u":
        return _unescaped(f"\\{text}", number)
    return _CHARACTERS[text] if text in _CHARACTERS else chr(int(text[1:], 8))


def _atom(text: str, number: int) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] == ":":
        if len(text) == 1:
            raise BadEdnError(number, "expected a name behind ':', found none")
        return Keyword(text[1:])
    if _INTEGER.fullmatch(text):
        return int(text.removesuffix("N"))
    if _FLOAT.fullmatch(text):
        return float(text.removesuffix("M"))
    if text[0] == "#" and text[:2] != "#'":
        raise BadEdnError(number, f"expected an EDN value, found {text[:20]!r}")
    return Symbol(text)


def _unescaped(text: str, number: int) -> str:
    def one(found: re.Match[str]) -> str:
        escape = found[1]
        if escape[0] == "u" and len(escape) > 1:
            return chr(int(escape[1:], 16))
        if escape not in _ESCAPES:
            raise BadEdnError(number, f"expected one of {' '.join(_ESCAPES)} behind a backslash, found {escape!r}")
        return _ESCAPES[escape]

    if "\\" not in text:
        return text
    try:
        return _ESCAPE.sub(one, text).encode("utf-16", "surrogatepass").decode("utf-16")  # two escapes, one character
    except UnicodeDecodeError as error:
        raise BadEdnError(number, "expected escapes of whole characters, found half of a surrogate pair") from error
