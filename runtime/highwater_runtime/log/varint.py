"""Zigzag varints as in Protocol Buffers, which record batches v2 use for lengths and deltas (32 and 64 bits alike)."""

from __future__ import annotations


def write_varint(out: bytearray, value: int) -> None:
    """Append ``value`` (a signed number of at most 64 bits)."""
    if 0 <= value < 64:  # nearly all of them: deltas, and lengths of small records
        out.append(value << 1)
        return
    rest = (value << 1) ^ (value >> 63)
    while rest > 0x7F:
        out.append((rest & 0x7F) | 0x80)
        rest >>= 7
    out.append(rest)


def read_varint(data: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
    """The number at ``position`` and the position behind it.

    Raises:
        IndexError: the data end within the number, or it is longer than 64 bits take.
    """
    byte = data[position]
    position += 1
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position
    rest, shift = byte & 0x7F, 7
    while True:
        byte = data[position]
        position += 1
        rest |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (rest >> 1) ^ -(rest & 1), position
        shift += 7
        if shift > 63:
            raise IndexError(position)
