"""Jute, the encoding of ZooKeeper's protocols and logs: big-endian numbers, texts and buffers behind their length."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final

_INT: Final = struct.Struct(">i")
_LONG: Final = struct.Struct(">q")
_MOST_BYTES: Final = 256 << 20
"""No buffer is longer; ZooKeeper's own bound (``jute.maxbuffer``) is far below."""


class JuteError(ValueError):
    """What was read is not what ZooKeeper writes."""


class Reader:
    """Reads values one after the other. ``read`` returns exactly as many bytes as it is asked for, or raises."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read

    @classmethod
    def of(cls, data: bytes) -> Reader:
        """A reader of ``data``; raises :class:`JuteError` at its end."""
        position = 0

        def read(count: int) -> bytes:
            nonlocal position
            end = position + count
            if end > len(data):
                raise JuteError(f"expected {count} bytes at {position}, found {len(data) - position}")
            part, position = data[position:end], end
            return part

        return cls(read)

    def boolean(self) -> bool:
        """Read a boolean: one byte."""
        return self._read(1) != b"\0"

    def number(self) -> int:
        """Read a signed integer of 32 bits."""
        return int(_INT.unpack(self._read(4))[0])

    def long(self) -> int:
        """Read a signed integer of 64 bits."""
        return int(_LONG.unpack(self._read(8))[0])

    def buffer(self) -> bytes:
        """Bytes behind their length; what is null is empty."""
        length = self.number()
        if length > _MOST_BYTES or length < -1:
            raise JuteError(f"expected a length up to {_MOST_BYTES}, found {length}")
        return self._read(length) if length > 0 else b""

    def text(self) -> str:
        """UTF-8 behind its length."""
        try:
            return self.buffer().decode()
        except UnicodeDecodeError as error:
            raise JuteError(f"expected UTF-8: {error}") from error

    def count(self) -> int:
        """Number of entries of a vector that follows; a null one has none."""
        return max(0, self.number())


def write_int(value: int) -> bytes:
    """Append a signed integer of 32 bits."""
    return _INT.pack(value)


def write_long(value: int) -> bytes:
    """Append a signed integer of 64 bits."""
    return _LONG.pack(value)


def write_buffer(data: bytes) -> bytes:
    """Bytes behind their length."""
    return _INT.pack(len(data)) + data
