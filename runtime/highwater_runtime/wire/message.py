"""What every message class inherits: fields from its declaration, equality, ``repr``, and the way to bytes and back.

A class under ``messages`` only declares its fields::

    class FetchTopic(Struct):
        topic: str = field("0-12", ignorable=True)
        partitions: list[FetchPartition] = field()

    class FetchRequest(Message, kind="request", key=1, versions="4-17", flexible="12+"):
        topics: list[FetchTopic] = field()

Type checkers see these as keyword arguments of the constructor, each with a default. Constructors, encoders and
decoders are generated when they are first used, for that class and that version alone (``generator``). All versions of
all messages have 1,044 of them; a simulated cluster uses about 40, and each takes less than a millisecond to generate.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeAlias, TypeVar, dataclass_transform

from highwater_runtime.wire.codec import ENCODE_FAULTS, Buffer, DecodeError, show, unencodable, unsupported
from highwater_runtime.wire.generator.functions import make_constructor, make_decoder, make_encoder
from highwater_runtime.wire.schema import UNSET, Field, Kind, MessageSchema, StructSchema, Versions

_F = TypeVar("_F")

Int8: TypeAlias = int
Int16: TypeAlias = int
UInt16: TypeAlias = int
Int32: TypeAlias = int
UInt32: TypeAlias = int
Int64: TypeAlias = int
Records: TypeAlias = bytes
"""Whole record batches; the last may be cut off."""


def field(
    versions: str = "0+",
    *,
    nullable: str = "none",
    tag: int | None = None,
    default: Any = UNSET,
    ignorable: bool = False,
    inflexible: bool = False,
) -> Any:
    """Declare a field, in the terms of Kafka's schemas.

    ``versions``: those that have the field. ``nullable``: those in which it may be null. ``tag``: it is a tagged field.
    ``default``: its value if none is given; otherwise zero, empty, or a struct of defaults. ``ignorable``: a value that
    the version cannot carry is dropped; otherwise to encode such a value is an error. ``inflexible``: it keeps the old
    form of a string in flexible versions (only the request header's client id).
    """
    return Field(Versions.parse(versions), Versions.parse(nullable), tag, default, ignorable, inflexible)


@dataclass_transform(kw_only_default=True, eq_default=True)
class _Declaration(type):
    """Turns the declared fields of a class into its slots and its schema."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **facts: Any) -> Any:
        fields = {key: value for key, value in namespace.items() if isinstance(value, Field)}
        above = vars(sys.modules[namespace["__module__"]])
        for key, declared in fields.items():
            del namespace[key]
            declared.bind(key, namespace["__annotations__"][key], above)
        schema = StructSchema(name, tuple(fields.values()))
        schema.cls = super().__new__(
            mcs, name, bases, {**namespace, "__slots__": (*fields,), "SCHEMA": schema}, **facts
        )
        return schema.cls


class Struct(metaclass=_Declaration):
    """A message, or a struct within one. Equal if all fields are; not hashable, since its fields may change."""

    __slots__: ClassVar[tuple[str, ...]]
    SCHEMA: ClassVar[StructSchema]

    def __init__(self, **values: Any) -> None:
        cls = type(self)  # its first object: from now on it has a constructor of its own
        cls.__init__ = make_constructor(cls.SCHEMA)  # type: ignore[method-assign]
        cls.__init__(self, **values)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = (f"{name}={show(getattr(self, name))}" for name in self.__slots__)
        return f"{type(self).__name__}({', '.join(shown)})"


class Message(Struct):
    """A top-level message: a request, a response, a record or a header."""

    MESSAGE: ClassVar[MessageSchema]
    API_KEY: ClassVar[int]
    """Key of the API, or of the metadata record; -1 for headers and control records."""
    NAME: ClassVar[str]
    KIND: ClassVar[Kind]
    MIN_VERSION: ClassVar[int]
    MAX_VERSION: ClassVar[int]
    FLEXIBLE_SINCE: ClassVar[int]
    """First version with compact lengths and tagged fields (KIP-482); NO_VERSION if there is none."""

    _encoders: ClassVar[dict[int, Callable[[Any], list[bytes]]]]
    _decoders: ClassVar[dict[int, Callable[[Buffer, int], tuple[Any, int]]]]

    def __init_subclass__(cls, *, kind: Kind, key: int | None = None, versions: str, flexible: str) -> None:
        schema = MessageSchema(kind, key, Versions.parse(versions), Versions.parse(flexible), cls.SCHEMA)
        schema.check()
        cls.MESSAGE = schema
        cls.API_KEY = -1 if key is None else key
        cls.NAME = schema.name
        cls.KIND = kind
        cls.MIN_VERSION, cls.MAX_VERSION = schema.versions.first, schema.versions.last
        cls.FLEXIBLE_SINCE = schema.flexible.first
        cls._encoders = {}
        cls._decoders = {}

    @classmethod
    def versions(cls) -> range:
        """Return every version that there is, ascending."""
        return range(cls.MIN_VERSION, cls.MAX_VERSION + 1)

    def encode(self, version: int) -> bytes:
        """Return the bytes of ``version``. Raises SchemaError if the version cannot carry what is set."""
        encoder = self._encoders.get(version) or self._made(self._encoders, make_encoder, version)
        try:
            return b"".join(encoder(self))
        except ENCODE_FAULTS as fault:
            raise unencodable(self.NAME, version, fault) from fault

    def encode_parts(self, version: int) -> list[bytes]:
        """Return what :meth:`encode` does, in pieces; record batches are pieces of their own and not copied."""
        encoder = self._encoders.get(version) or self._made(self._encoders, make_encoder, version)
        try:
            return encoder(self)
        except ENCODE_FAULTS as fault:
            raise unencodable(self.NAME, version, fault) from fault

    @classmethod
    def decode(cls, data: Buffer, version: int) -> Self:
        """Invert :meth:`encode`; ``data`` must hold the message and nothing else. Raises DecodeError."""
        decoder = cls._decoders.get(version) or cls._made(cls._decoders, make_decoder, version)
        message, end = decoder(data, 0)
        if end != len(data):
            raise DecodeError(cls.NAME, end, f"{len(data) - end} bytes left over")
        return message  # type: ignore[no-any-return]

    @classmethod
    def decode_from(cls, data: Buffer, position: int, version: int) -> tuple[Self, int]:
        """Return the message that starts at ``position``, and the position after it. Raises DecodeError."""
        decoder = cls._decoders.get(version) or cls._made(cls._decoders, make_decoder, version)
        return decoder(data, position)

    @classmethod
    def _made(cls, known: dict[int, _F], make: Callable[[MessageSchema, int], _F], version: int) -> _F:
        """Make the encoder or decoder of ``version``, and keep it in ``known``."""
        if version not in cls.versions():
            raise unsupported(cls.NAME, version, cls.MIN_VERSION, cls.MAX_VERSION)
        made = known[version] = make(cls.MESSAGE, version)
        return made
