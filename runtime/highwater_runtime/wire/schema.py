"""The facts of Kafka's message formats, as the classes under ``messages`` declare them.

A declaration states what Kafka's own schema of the message states: which fields exist, in which versions, with which
defaults. ``message`` collects the facts of a class in a :class:`MessageSchema`; ``generator`` turns that into code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from highwater_runtime.wire.codec import ZERO_UUID

Kind = Literal["request", "response", "metadata", "coordinator", "data", "header"]
"""``metadata``: a record of the metadata log. ``coordinator``: a key or value of ``__consumer_offsets``. ``data``: a
control record, or what group members exchange."""

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

_ANNOTATIONS: Final = {
    "bool": ("bool", False),
    "float": ("float64", 0.0),
    "str": ("string", ""),
    "bytes": ("bytes", b""),
    "Records": ("records", b""),
    "UUID": ("uuid", ZERO_UUID),
    **{kind: (kind.lower(), 0) for kind in ("Int8", "Int16", "UInt16", "Int32", "UInt32", "Int64")},
}
"""Annotation of a field -> Kafka's name of the type, and the default value."""

_ANNOTATION: Final = re.compile(r"(?P<array>list\[)?(?P<type>\w+)(?(array)\])(?P<optional> \| None)?")

NO_VERSION: Final = 32767
"""Larger than every version: the first flexible version of a message that has none."""

UNSET: Final[Any] = ...
"""No default is declared: the value is zero, empty, or a struct of default values."""


class DeclarationError(TypeError):
    """A class under ``messages`` declares something that Kafka's format does not allow."""


@dataclass(frozen=True, slots=True)
class Versions:
    """An inclusive range of versions; ``last`` is NO_VERSION if the range is open."""

    first: int
    last: int

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last

    @staticmethod
    @cache
    def parse(text: str) -> Versions:
        """Parse ``3``, ``3+``, ``3-7`` or ``none`` (no version). Raises DeclarationError."""
        if text == "none":
            return Versions(NO_VERSION, -1)
        match = re.fullmatch(r"(\d+)(\+|-(\d+))?", text)
        if match is None:
            raise DeclarationError(f"expected versions like '3', '3+', '3-7' or 'none', found {text!r}")
        first = int(match[1])
        if match[2] is None:
            return Versions(first, first)
        return Versions(first, NO_VERSION if match[2] == "+" else int(match[3]))


@dataclass(slots=True)
class Field:
    """One field of a struct. The last four attributes follow from its name and annotation: see :meth:`bind`."""

    versions: Versions
    nullable: Versions
    tag: int | None
    default: Any
    ignorable: bool
    inflexible: bool
    name: str = ""
    type: str = ""
    is_array: bool = False
    struct: StructSchema | None = None

    def bind(self, name: str, annotation: str, structs: dict[str, Any]) -> None:
        """Set the name and what follows from the annotation. ``structs``: classes that the module has declared so far.

        Raises DeclarationError.
        """
        match = _ANNOTATION.fullmatch(annotation)
        if match is None:
            raise DeclarationError(f"{name}: expected a type, a list of it, or one of these | None; found {annotation}")
        self.name = name
        self.is_array = match["array"] is not None
        self.type, zero = _ANNOTATIONS.get(match["type"], (match["type"], UNSET))
        if match["type"] not in _ANNOTATIONS:
            self.struct = getattr(structs.get(self.type), "SCHEMA", None)
            if not isinstance(self.struct, StructSchema):
                raise DeclarationError(f"{name}: expected a type of the wire or a struct from above, found {self.type}")
        if self.default is UNSET and not self.is_array:
            self.default = zero
        may_be_null = self.nullable.last >= 0
        if may_be_null != (match["optional"] is not None):
            raise DeclarationError(f"{name}: a field is '| None' if and only if it is nullable in a version")
        if self.default is None and not may_be_null:
            raise DeclarationError(f"{name}: the default is None, but no version can carry that")
        if self.struct is not None and not self.is_array and may_be_null:
            if self.tag is not None:
                raise DeclarationError(f"{name}: a tagged struct cannot be null")
            if self.default is not None:
                raise DeclarationError(f"{name}: a nullable struct needs default=None")


@dataclass(slots=True, eq=False)
class StructSchema:
    """A message or a struct within one."""

    name: str
    fields: tuple[Field, ...]
    cls: Any = None
    """The class that declares it. It is made after its schema."""


@dataclass(frozen=True, slots=True, eq=False)
class MessageSchema:
    """A top-level message with everything that it contains."""

    kind: Kind
    key: int | None
    versions: Versions
    flexible: Versions
    root: StructSchema

    @property
    def name(self) -> str:
        """The name of the class."""
        return self.root.name

    def is_flexible(self, version: int) -> bool:
        """Return whether ``version`` has compact lengths and tagged fields (KIP-482)."""
        return version in self.flexible

    def check(self) -> None:
        """Raise DeclarationError if the declaration as a whole is not valid."""
        if self.versions.last == NO_VERSION:
            raise DeclarationError(f"{self.name}: expected a last version")
        for field in self.root.fields:
            self._check(self.root, field)

    def _check(self, struct: StructSchema, field: Field) -> None:
        if field.tag is not None and not self.is_flexible(max(field.versions.first, self.versions.first)):
            raise DeclarationError(f"{self.name}: {struct.name}.{field.name} is tagged in an inflexible version")
        if field.struct is not None:
            if not field.struct.fields:
                raise DeclarationError(f"{self.name}: struct {field.struct.name} has no fields")
            for inner in field.struct.fields:
                self._check(field.struct, inner)
