"""What the generated encoders and decoders use: exceptions, variable-length integers, and the rare paths.

The hot paths are generated inline (``generator``); a function here is called only where Kafka's format is not of
fixed size, or where something is wrong. Rules for hostile input: no allocation follows a length that the remaining
bytes cannot hold, and every malformed input ends in one exception type, :class:`DecodeError`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from highwater_runtime.portable import PortableError

Buffer = bytes | memoryview

ZERO_UUID: Final = UUID(int=0)
"""Kafka's "no id"."""

EMPTY: Final[list[Any]] = []
"""Marks "no list was given" in constructors, so that every object gets a list of its own. Never changed."""


class WireError(ValueError):
    """Anything wrong between objects and bytes."""


class SchemaError(WireError):
    """A message cannot be written in the version asked for: a value that the version cannot carry, or that does not
    fit its type (Kafka: UnsupportedVersionException and friends)."""


class UnsupportedVersionError(SchemaError):
    """The message has no such version at all."""


class DecodeError(PortableError, WireError):
    """Bytes that are not a message. ``position`` is the offset in the input at or before the fault."""

    def __init__(self, message: str, position: int, reason: str) -> None:
        super().__init__(f"{message}: {reason} (at byte {position})")
        self.message = message
        self.position = position
        self.reason = reason


new: Final = object.__new__
"""Makes an object without calling its constructor."""

ENCODE_FAULTS: Final = (struct.error, TypeError, AttributeError, UnicodeEncodeError, OverflowError)
DECODE_FAULTS: Final = (struct.error, IndexError, UnicodeDecodeError)

UVARINT: Final = tuple(bytes((n,)) for n in range(128))
"""Encoded unsigned varints of one byte."""


def uvarint(value: int) -> bytes:
    """Return ``value`` (>= 0) as an unsigned varint: seven bits a byte, least significant first."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def uvarint_at(data: Buffer, position: int) -> tuple[int, int]:
    """Return the unsigned varint (at most 32 bits) at ``position``, and the position after it.

    Raises DecodeError if it is longer than five bytes or larger than 32 bits, IndexError if the input ends in it.
    """
    value = shift = 0
    start = position
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if value > 0xFFFFFFFF:
                raise DecodeError("unsigned varint", start, "more than 32 bits")
            return value, position
        shift += 7
        if shift > 28:
            raise DecodeError("unsigned varint", start, "longer than 5 bytes")


def skip_tagged(message: str, data: Buffer, position: int) -> int:
    """Skip a section of tagged fields whose count is at ``position``. Return the position after it.

    Unknown tags are legal in every flexible version: that is what they are for (KIP-482).
    """
    count, position = uvarint_at(data, position)
    size = len(data)
    for _ in range(count):
        _, position = uvarint_at(data, position)
        length, position = uvarint_at(data, position)
        if length > size - position:
            raise overrun(message, "tagged field", length, position, size)
        position += length
    return position


def overrun(message: str, field: str, length: int, position: int, size: int) -> DecodeError:
    """Return the error for a length that is negative (and null is not allowed) or larger than the remaining bytes."""
    if length < 0:
        return DecodeError(message, position, f"{field}: null or negative length ({length})")
    return DecodeError(message, position, f"{field}: length {length}, but only {size - position} bytes remain")


def malformed(message: str, position: int, fault: Exception) -> DecodeError:
    """Return the DecodeError for an exception of ``struct``, of indexing or of UTF-8."""
    return DecodeError(message, position, f"truncated or malformed: {fault}")


def unsupported(message: str, version: int, first: int, last: int) -> UnsupportedVersionError:
    """Return the error for a version that the schema does not have."""
    return UnsupportedVersionError(f"{message} has versions {first} to {last}, not {version}")


def not_in_version(message: str, field: str, value: object) -> SchemaError:
    """Return the error for a value that the version cannot carry and that must not be dropped."""
    return SchemaError(f"{message}: this version has no field {field}, but it is set to {value!r}")


def unencodable(message: str, version: int, fault: Exception) -> SchemaError:
    """Return the SchemaError for a value that does not fit its field."""
    return SchemaError(f"{message} version {version}: a value does not fit its field: {fault}")


def short_string(message: str, field: str, length: int) -> SchemaError:
    """Return the error for a string of more than the 32767 bytes that Kafka allows."""
    return SchemaError(f"{message}.{field}: string of {length} bytes; at most 32767")


def encode_array(code: str, values: Sequence[int]) -> bytes:
    """Return the bytes of an array of fixed-size numbers (``code`` as in ``struct``), without its length."""
    return struct.pack(f">{len(values)}{code}", *values)


def decode_array(code: str, count: int, data: Buffer, position: int) -> list[Any]:
    """Invert :func:`encode_array`. The caller has checked that the input holds all elements."""
    return list(struct.unpack_from(f">{count}{code}", data, position))


_uuids: dict[bytes, UUID] = {}


def uuid_of(raw: bytes) -> UUID:
    """Return the UUID of 16 bytes. The few that a cluster uses are cached, as making one costs as much as a whole
    struct."""
    known = _uuids.get(raw)
    if known is None:
        if len(_uuids) >= 4096:
            _uuids.clear()
        known = _uuids[raw] = UUID(bytes=raw)
    return known


def show(value: object) -> str:
    """Return ``repr(value)``, with the length of a long byte string in place of its content."""
    if isinstance(value, bytes) and len(value) > 40:
        return f"<{len(value)} bytes>"
    return repr(value)
