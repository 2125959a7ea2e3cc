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


def write_bytes(out: bytearray, value: bytes | None) -> None:
    """Append ``value`` behind its length as a varint; None has the length −1."""
    if value is None:
        out.append(1)  # zigzag of −1
    else:
        write_varint(out, len(value))
        out += value


def read_bytes(data: bytes, position: int) -> tuple[bytes | None, int]:
    """What :func:`write_bytes` wrote at ``position``, and the position behind it.

    Raises:
        IndexError: the data end before that.
    """
    length, position = read_varint(data, position)
    if length < 0:
        return None, position
    end = position + length
    if end > len(data):
        raise IndexError
    return data[position:end], end
