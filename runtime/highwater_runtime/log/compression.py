"""The payload of a compressed batch, decompressed within a bound of size.

What a client sends may be a bomb: a few bytes that become gigabytes. So the output goes into a buffer of a given size,
which is never exceeded, and anything but one whole frame is refused: what follows a frame is read by some clients and
not by others. The codecs and how clients frame them:

* gzip: one member (RFC 1952).
* snappy: blocks in the framing of xerial's snappy-java (Java, kafka-python), or one raw block (librdkafka).
* lz4: one frame with independent blocks, which is all that Kafka's own decoder reads.
* zstd: one frame.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from struct import Struct
from struct import error as StructError  # noqa: N812
from typing import Final

import cramjam

from highwater_runtime.log.errors import InvalidRecordError, RecordTooLargeError

XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = 16
_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_BE32: Final = Struct(">I")
_LE32: Final = Struct("<I")
_FIRST_RATIO: Final = 8
"""Most records are compressed by less than that: the first buffer to try."""
_LEAST_BUFFER: Final = 1 << 16


def decompress(codec: str, payload: bytes, most: int) -> bytes | bytearray | memoryview:
    """The records in ``payload``, at most ``most`` bytes.

    Raises:
        RecordTooLargeError: they are more.
        InvalidRecordError: ``payload`` is not one whole frame of ``codec``.
    """
    try:
        match codec:
            case "gzip":
                return _gzip(payload, most)
            case "snappy":
                return _snappy(payload, most)
            case "lz4":
                return _frame(payload, _end_of_lz4(payload), cramjam.lz4.decompress_into, most)
            case "zstd":
                return _frame(payload, _end_of_zstd(payload), cramjam.zstd.decompress_into, most)
    except (cramjam.DecompressionError, zlib.error, StructError, IndexError, ValueError) as error:
        raise InvalidRecordError(f"records are not what {codec} makes: {error}") from error
    raise ValueError(f"no codec {codec}")


def _too_large(most: int) -> RecordTooLargeError:
    return RecordTooLargeError(f"records of more than {most} bytes, decompressed")


def _gzip(payload: bytes, most: int) -> bytes:
    decoder = zlib.decompressobj(wbits=31)
    data = decoder.decompress(payload, most + 1)
    if len(data) > most:
        raise _too_large(most)
    if not decoder.eof or decoder.unused_data:
        raise ValueError(f"{len(decoder.unused_data)} bytes behind the member" if decoder.eof else "cut short")
    return data


def _frame(payload: bytes, end: int, decompress_into: Callable[[bytes, bytearray], int], most: int) -> memoryview:
    if end != len(payload):
        raise ValueError(f"the frame has {end} bytes, the payload {len(payload)}")
    size = min(most, max(_LEAST_BUFFER, _FIRST_RATIO * len(payload)))
    while True:
        out = bytearray(size)
        try:
            return memoryview(out)[: decompress_into(payload, out)]
        except cramjam.DecompressionError as error:
            if "whole buffer" not in str(error):
                raise
            if size == most:
                raise _too_large(most) from error
            size = most


def _snappy(payload: bytes, most: int) -> bytearray:
    if not payload.startswith(XERIAL_MAGIC):
        return _snappy_block(payload, most)
    out, position = bytearray(), _XERIAL_HEADER
    while position < len(payload):
        (size,) = _BE32.unpack_from(payload, position)
        begin, position = position + _BE32.size, position + _BE32.size + size
        if position > len(payload):
            raise ValueError(f"a block of {size} bytes, of which {position - len(payload)} are missing")
        out += _snappy_block(payload[begin:position], most - len(out))
    return out


def _snappy_block(block: bytes, most: int) -> bytearray:
    size = cramjam.snappy.decompress_raw_len(block)
    if size > most:
        raise _too_large(most)
    out = bytearray(size)
    cramjam.snappy.decompress_raw_into(block, out)
    return out


def _end_of_lz4(payload: bytes) -> int:
    """Where the first frame ends, by the sizes of its blocks."""
    if not payload.startswith(_LZ4_MAGIC):
        raise ValueError("no frame")
    flags = payload[4]
    if not flags & 0x20:
        raise ValueError("its blocks depend on each other")
    position = 7 + (8 if flags & 0x08 else 0) + (4 if flags & 0x01 else 0)
    while True:
        (size,) = _LE32.unpack_from(payload, position)
        position += _LE32.size
        if size == 0:
            return position + (4 if flags & 0x04 else 0)
        position += (size & 0x7FFFFFFF) + (4 if flags & 0x10 else 0)


def _end_of_zstd(payload: bytes) -> int:
    """Where the first frame ends, by the sizes of its blocks."""
    if not payload.startswith(_ZSTD_MAGIC):
        raise ValueError("no frame")
    flags = payload[4]
    single = flags >> 5 & 1
    content_size = (single, 2, 4, 8)[flags >> 6]
    position = 5 + (1 - single) + (0, 1, 2, 4)[flags & 3] + content_size
    while True:
        block = int.from_bytes((payload[position], payload[position + 1], payload[position + 2]), "little")
        position += 3 + (1 if block >> 1 & 3 == 1 else block >> 3)
        if block & 1:
            return position + (4 if flags & 4 else 0)
