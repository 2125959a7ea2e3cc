"""What the bytes of a record mean, and whether they are those that were sent.

The value is a number: our producers write decimal digits, and pad them with spaces. The key follows from the value, so
that whoever knows one knows the other. A header says once more what was sent: value, bytes of the value, key, and the
time stamp. So a reader that knows nothing of the producer sees that a record was altered, whatever part of it was.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final
from zlib import crc32

from highwater_pipeline.tables.settings import is_tombstone
from highwater_runtime.log.records import Record

HEADER: Final = "sent"
"""The name of the only header of a record: ``VALUE BYTES KEY TIME``, each but the value ``-`` if there is none."""
APPEND_TIME: Final = b"log"
"""In place of the time stamp, if the leader dates the record (``LogAppendTime``)."""
_NONE: Final = b"-"
_LENGTH: Final = 40
"""Bytes of the header's value, at least: what is short ends in spaces, so that records of one size are of one size."""
_SENT: Final = re.compile(rb"(\d{1,19}) (\d{1,7}|-) (\d{1,19}|-) (\d{1,19}|log|-)( *)")

_WRITTEN: Final = b"0123456789 "
_MOST: Final = 2**63 - 1
"""What a table of a run can hold, in its column ``value``."""
_SHOWN: Final = 60
"""Characters that are told of something that should be another thing."""


def key_of(value: int, keys: int) -> bytes | None:
    """The key of the record with this value, if records have so many keys; 0: they have none."""
    return b"%d" % (value % keys) if keys else None


def record_of(
    value: int,
    timestamp_ms: int,
    *,
    keys: int = 0,
    tombstones: int = 0,
    size: int = 0,
    dated: str | None = "CreateTime",
) -> Record:
    """The record with this value, of at least ``size`` bytes; ``tombstones``: how many of 1,000 records have none, and
    their header alone says which record it is. ``dated``: the ``message.timestamp.type`` of its topic, None if that is
    not known."""
    key = key_of(value, keys)
    data = None if is_tombstone(value, tombstones) else (b"%d" % value).ljust(size)
    time = {"CreateTime": b"%d" % timestamp_ms, "LogAppendTime": APPEND_TIME}.get(dated or "", _NONE)
    length = _NONE if data is None else b"%d" % len(data)
    said = b"%d %b %b %b" % (value, length, _NONE if key is None else key, time)
    return Record(key=key, value=data, timestamp=timestamp_ms, headers=((HEADER, said.ljust(_LENGTH)),))


def content_of(record: Record, *, by_log: bool) -> tuple[int, str | None]:
    """The value of a record that was read, and what of the record is not as it was sent; None: nothing.

    ``by_log``: whether its batch says that the leader dated it.
    """
    key, data, headers = record.key, record.value, record.headers
    sent = None
    if len(headers) == 1 and headers[0][0] == HEADER:
        sent = _SENT.fullmatch(headers[0][1] or b"")
    if sent is None or int(sent[1]) > _MOST or sent.end() != max(sent.end(4), _LENGTH):
        return value_of(data), f"headers {_shown(headers)}"
    value, size, its_key, time, _ = sent.groups()
    length = -1 if data is None else len(data)
    if (
        (-1 if size == _NONE else int(size)) == length
        and (data is None or data == value.ljust(length))
        and key == (None if its_key == _NONE else its_key)
        and (time == _NONE or time == (APPEND_TIME if by_log else b"%d" % record.timestamp))
    ):
        return int(value), None
    differences = _differences(record, by_log, value, size, its_key, time)
    return int(value) if data is None else value_of(data), differences


def _differences(record: Record, by_log: bool, value: bytes, size: bytes, key: bytes, time: bytes) -> str:
    expected = None if size == _NONE else value.ljust(min(int(size), max(len(record.value or b""), len(value))))
    found = []
    if record.value != expected or len(record.value or b"") != int(size.replace(_NONE, b"0")):
        found.append(f"value {_shown(record.value)}, sent as {value.decode()} of {size.decode()} bytes")
    if record.key != (None if key == _NONE else key):
        found.append(f"key {_shown(record.key)}, sent with {key.decode()}")
    if by_log != (time == APPEND_TIME) and time != _NONE:
        kinds = ("CreateTime", "LogAppendTime")
        found.append(f"time stamp of the type {kinds[by_log]}, sent to a topic with {kinds[not by_log]}")
    elif time not in (_NONE, APPEND_TIME, b"%d" % record.timestamp):
        found.append(f"time stamp {record.timestamp}, sent with {time.decode()}")
    return "; ".join(found) or f"headers {_shown(record.headers)}"


def _shown(what: object) -> str:
    text = what[:_SHOWN].decode("ascii", "backslashreplace") if isinstance(what, bytes) else str(what)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def value_of(data: bytes | None) -> int:
    """The value of a record on the wire; one that no producer of ours can have written becomes a negative number that
    depends on its bytes alone, so that it shows as a value that was never sent."""
    # int() takes an underscore, a sign and any white space as well.
    if data and not data.translate(None, _WRITTEN):
        with suppress(ValueError):
            number = int(data)
            if number <= _MOST:
                return number
    return -1 - crc32(data or b"")
