"""Schema files: the facts of Kafka's message formats in a form that a person can read and check line by line.

One file per API (request and response together). Grammar, line by line:

    request FetchRequest 1 versions 4-17 flexible 12+       kind, name, key (``-`` if none), versions, flexible versions
      | What the message is for.                            documentation of the message or struct above
      max_wait_ms int32 -- How long to wait.                field: name, type, then options, then its documentation
      topics []FetchTopic                                   an array of structs; the fields follow, indented by two more
        topic string 0-12 ignorable                         only in versions 0 to 12
        topic_id uuid 13+ ignorable

Kinds: ``request``, ``response``, ``metadata`` (records of the metadata log), ``coordinator`` (keys and values of
``__consumer_offsets``), ``data`` (control records, and what group members exchange), ``header``.
Options of a field, in any order after the type: its versions (default ``0+``), ``null`` or ``null=<versions>`` (may be
null), ``tag=<n>`` (a tagged field), ``default=<value>``, ``ignorable`` (a value that the version cannot carry is
dropped; without it, encoding such a value is an error), ``inflexible`` (keeps the old string form in flexible
versions; only the request header's client id). A struct that was defined higher up in the message is used by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

KINDS: Final = ("request", "response", "metadata", "coordinator", "data", "header")

PRIMITIVES: Final = {
    "bool": ("?", 1),
    "int8": ("b", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "float64": ("d", 8),
    "uuid": ("16s", 16),
}
"""Types of fixed size: their ``struct`` code and size in bytes."""

VARIABLE: Final = ("string", "bytes", "records")

NO_VERSION: Final = 32767
"""Larger than every version: the first flexible version of a message that never became flexible."""


class SchemaSyntaxError(ValueError):
    """A schema file does not say what the grammar allows."""


@dataclass(frozen=True, slots=True)
class Versions:
    """An inclusive range of versions; ``last`` is NO_VERSION where the range is open."""

    first: int
    last: int

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last

    @staticmethod
    def parse(text: str) -> Versions:
        """``3``, ``3+`` or ``3-7``; ``none`` for no version at all."""
        if text == "none":
            return Versions(NO_VERSION, -1)
        match = re.fullmatch(r"(\d+)(\+|-(\d+))?", text)
        if match is None:
            raise SchemaSyntaxError(f"not a range of versions: {text!r}")
        first = int(match[1])
        if match[2] is None:
            return Versions(first, first)
        return Versions(first, NO_VERSION if match[2] == "+" else int(match[3]))


@dataclass(slots=True)
class Field:
    """One field of a struct. ``type`` is a primitive's or struct's name, without the array brackets."""

    name: str
    type: str
    is_array: bool
    versions: Versions
    nullable: Versions
    tag: int | None
    default: str | None
    ignorable: bool
    inflexible: bool
    doc: str
    struct: Struct | None = None


@dataclass(slots=True)
class Struct:
    """A message or a struct within one."""

    name: str
    fields: list[Field] = field(default_factory=list)
    doc: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Message:
    """A top-level message with everything that it contains."""

    kind: str
    name: str
    key: int | None
    versions: Versions
    flexible: Versions
    root: Struct
    structs: dict[str, Struct]
    source: str

    def is_flexible(self, version: int) -> bool:
        """Whether ``version`` has compact lengths and tagged fields (KIP-482)."""
        return version in self.flexible


def parse_schema(text: str, source: str) -> list[Message]:
    """Every message of one schema file, in order. ``source`` names the file in errors and generated headers."""
    messages: list[Message] = []
    open_structs: list[tuple[int, Struct]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        try:
            if indent == 0:
                message = _parse_message(content, source)
                messages.append(message)
                open_structs = [(0, message.root)]
                continue
            while open_structs and open_structs[-1][0] >= indent:
                open_structs.pop()
            if not open_structs:
                raise SchemaSyntaxError("a field outside of any message")
            owner = open_structs[-1][1]
            if content.startswith("|"):
                owner.doc.append(content[1:].strip())
                continue
            parsed = _parse_field(content)
            owner.fields.append(parsed)
            _attach_struct(parsed, messages[-1])
            if parsed.struct is not None:
                open_structs.append((indent, parsed.struct))
        except SchemaSyntaxError as fault:
            raise SchemaSyntaxError(f"{source}:{number}: {fault}") from fault
    for message in messages:
        _check(message)
    return messages


def _parse_message(content: str, source: str) -> Message:
    words = content.split()
    if len(words) != 7 or words[0] not in KINDS or words[3] != "versions" or words[5] != "flexible":
        raise SchemaSyntaxError(f"expected '<kind> <Name> <key> versions <range> flexible <range>', found {content!r}")
    kind, name, key = words[0], words[1], words[2]
    root = Struct(name)
    return Message(
        kind=kind,
        name=name,
        key=None if key == "-" else int(key),
        versions=Versions.parse(words[4]),
        flexible=Versions.parse(words[6]),
        root=root,
        structs={},
        source=source,
    )


def _parse_field(content: str) -> Field:
    declaration, _, doc = content.partition(" -- ")
    name, type_name, *options = declaration.split()
    parsed = Field(
        name=name,
        type=type_name.removeprefix("[]"),
        is_array=type_name.startswith("[]"),
        versions=Versions(0, NO_VERSION),
        nullable=Versions.parse("none"),
        tag=None,
        default=None,
        ignorable=False,
        inflexible=False,
        doc=doc.strip(),
    )
    if parsed.type == "records":
        parsed.default = "null"
    for option in options:
        key, equals, value = option.partition("=")
        match key:
            case "null":
                parsed.nullable = Versions.parse(value) if equals else Versions(0, NO_VERSION)
            case "tag":
                parsed.tag = int(value)
            case "default":
                parsed.default = value
            case "ignorable":
                parsed.ignorable = True
            case "inflexible":
                parsed.inflexible = True
            case _:
                parsed.versions = Versions.parse(option)
    return parsed


def _attach_struct(parsed: Field, message: Message) -> None:
    if parsed.type in PRIMITIVES or parsed.type in VARIABLE:
        return
    if not parsed.type[0].isupper():
        raise SchemaSyntaxError(f"unknown type {parsed.type!r}")
    parsed.struct = message.structs.setdefault(parsed.type, Struct(parsed.type))


def _check(message: Message) -> None:
    if message.versions.last == NO_VERSION:
        raise SchemaSyntaxError(f"{message.source}: {message.name} needs a last version")
    for struct in (message.root, *message.structs.values()):
        if not struct.fields and struct is not message.root:
            raise SchemaSyntaxError(f"{message.source}: {message.name}: struct {struct.name} has no fields")
        names = [f.name for f in struct.fields]
        if len(set(names)) != len(names):
            raise SchemaSyntaxError(f"{message.source}: {struct.name} names a field twice")
        for f in struct.fields:
            if f.tag is not None and not message.is_flexible(max(f.versions.first, message.versions.first)):
                raise SchemaSyntaxError(f"{message.source}: {struct.name}.{f.name} is tagged in an inflexible version")
            if f.struct is not None and not f.is_array and f.nullable.last >= 0 and f.tag is not None:
                raise SchemaSyntaxError(f"{message.source}: {struct.name}.{f.name}: a tagged struct cannot be null")
            if f.struct is not None and not f.is_array and (f.nullable.last >= 0) != (f.default == "null"):
                raise SchemaSyntaxError(f"{message.source}: {struct.name}.{f.name}: a nullable struct has default=null")
