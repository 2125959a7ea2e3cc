"""Read YAML that a stranger may have written: bounded in bytes, values and depth before anything is built from it.

YAML can name a part (``&a``) and repeat it (``*a``), so that a short text stands for a value of any size. The events of
the text are counted first. A repeated part counts as often as it is repeated; one that repeats itself is refused.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from highwater_chaos.experiment.errors import ExperimentError, Problem
from highwater_runtime.portable import PortableError

MOST_BYTES: Final = 1 << 20
MOST_VALUES: Final = 100_000
"""Scalars, lists and mappings: some three times the assignment of 10,000 partitions to three brokers would be more."""
DEEPEST: Final = 100
"""Mappings and lists within each other: some thirty steps. Validation recurses, and must not depend on who calls it."""
_TOO_DEEP: Final = f"is nested too deeply: expected at most {DEEPEST} mappings and lists within each other"
_KEPT: Final = 60
"""Characters of a found value that an error shows."""
_NUMBERS: Final = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_LONGEST_NUMBER: Final = 100
"""Characters."""


class Document(NamedTuple):
    """One YAML document: its tree, which knows lines, and the value that it stands for."""

    root: yaml.Node
    value: Any


def read_text(path: Path) -> str:
    """Return the text of a file of at most ``MOST_BYTES``. Raises ExperimentError."""
    try:
        with path.open("rb") as file:
            found = file.read(MOST_BYTES + 1)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        message = f"expected an experiment file, found: {error.strerror or error}"
        raise ExperimentError(str(path), [Problem("", message)]) from error
    if len(found) > MOST_BYTES:
        message = f"expected at most {MOST_BYTES:,} bytes; found {f'{size:,}' if size > MOST_BYTES else 'more'}"
        raise ExperimentError(str(path), [Problem("", message)])
    try:
        return found.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ExperimentError(str(path), [Problem("", f"is not UTF-8 text: {error.reason}")]) from error


def read_documents(text: str, source: str) -> list[Document]:
    """Return every document of ``text`` that is not empty. Raises ExperimentError, with the line."""
    try:
        if _IN_C is not None:
            try:
                return _read(text, *_IN_C)
            except (yaml.YAMLError, UnicodeEncodeError):
                pass  # what is wrong, and where, is told in the words of the other
        return _read(text, yaml.SafeLoader, _Loader)
    except _BoundError as error:
        raise ExperimentError(source, [Problem("", str(error), error.line)]) from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise ExperimentError(source, [Problem("", f"is not YAML: {error.problem}", line)]) from error
    except yaml.YAMLError as error:
        raise ExperimentError(source, [Problem("", f"is not YAML: {' '.join(str(error).split())}")]) from error


def _read(text: str, parser: Any, kind: Any) -> list[Document]:
    _check_bounds(text, parser)
    loader = kind(text)
    try:
        documents = []
        while loader.check_node():
            root = loader.get_node()
            if root is not None and root.tag != "tag:yaml.org,2002:null":
                documents.append(Document(root, loader.construct_document(root)))
        return documents
    finally:
        loader.dispose()


class _BoundError(PortableError):
    """The text is YAML, and more of it than is read."""

    def __init__(self, problem: str, line: int) -> None:
        self.line = line
        super().__init__(problem)


class _Naming(yaml.constructor.SafeConstructor):
    """Names the value and its line where a value is none of its type: 30 February, a number of 5,000 digits.

    A number is looked at before it is read: to read one takes time by the square of its length, and a whole number that
    Python has read may be one that it does not print."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        if node.tag in _NUMBERS and len(node.value) > _LONGEST_NUMBER:
            raise self._none_of_its_type(node)
        try:
            return super().construct_object(node, deep)
        except (ValueError, OverflowError, LookupError, AttributeError, TypeError) as error:
            # What PyYAML raises for a value that its tag does not fit: ``!!int ""``, ``!!bool x``, ``!!timestamp x``.
            raise self._none_of_its_type(node) from error

    def _none_of_its_type(self, node: yaml.Node) -> _BoundError:
        found = str(node.value) if isinstance(node, yaml.ScalarNode) else "a collection"
        found = found if len(found) <= _KEPT else f"{found[: _KEPT - 1]}… ({len(found):,} characters)"
        kind = node.tag.rpartition(":")[2]
        problem = f"expected a value that YAML's type {kind!r} can hold; found {found}; quote it if it is text"
        return _BoundError(problem, _line(node.start_mark))


class _Loader(_Naming, yaml.SafeLoader):
    """In Python, wherever PyYAML is."""


_IN_C: tuple[Any, Any] | None = None
"""The parser in C and a loader on it, where PyYAML was built with libyaml: several times as fast."""
if hasattr(yaml, "CSafeLoader"):
    _IN_C = (yaml.CSafeLoader, type("_LoaderInC", (_Naming, yaml.CSafeLoader), {}))


def too_deep(value: object, around: int = 0) -> str | None:
    """What is wrong with a value that was read by somebody else and is nested deeper than a text may be.

    Found without recursion, and so wherever the caller's stack happens to end.

    Args:
        value: made of mappings, lists and scalars.
        around: mappings and lists that it lies in.
    """
    waiting = [(value, around)]
    while waiting:
        part, depth = waiting.pop()
        if not isinstance(part, (Mapping, list)):
            continue
        if depth == DEEPEST:
            return _TOO_DEEP
        waiting += [(inner, depth + 1) for inner in (part.values() if isinstance(part, Mapping) else part)]
    return None


def _line(mark: Any) -> int:
    return int(mark.line) + 1


def _check_bounds(text: str, parser: Any) -> None:
    sizes: dict[str, int] = {}
    open_parts: list[tuple[str | None, int]] = []  # anchor, and the values before it
    values = 0
    for event in yaml.parse(text, Loader=parser):
        match event:
            case yaml.AliasEvent():
                if event.anchor not in sizes:
                    inside = any(anchor == event.anchor for anchor, _ in open_parts)
                    problem = f"*{event.anchor} repeats {'itself' if inside else 'what has not been named before'}"
                    raise _BoundError(problem, _line(event.start_mark))
                values += sizes[event.anchor]
            case yaml.ScalarEvent():
                values += 1
                if event.anchor is not None:
                    sizes[event.anchor] = 1
            case yaml.CollectionStartEvent():
                open_parts.append((event.anchor, values))
                values += 1
                if len(open_parts) > DEEPEST:
                    raise _BoundError(_TOO_DEEP, _line(event.start_mark))
            case yaml.CollectionEndEvent():
                anchor, before = open_parts.pop()
                if anchor is not None:
                    sizes[anchor] = values - before
            case yaml.DocumentStartEvent():
                sizes.clear()
        if values > MOST_VALUES:
            problem = f"expected at most {MOST_VALUES:,} values, with every repetition (*name) counted; found more"
            raise _BoundError(problem, _line(event.start_mark))
