"""``kio`` as oracle: it reads our bytes as the same values, and writes the same bytes for them.

It knows every message but the records of the metadata log and of coordinators, and versions that Kafka 4 still has (so
not AlterPartition 0 and 1, and nothing of the ZooKeeper mode).
It shows times as datetimes and error codes as enums; both are turned back before values are compared.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import io
import re
import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from kio.index import UnknownEntity, load_entity_schema
from kio.schema.errors import ErrorCode as KioErrorCode
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from highwater_runtime.wire.catalog import message_classes
from highwater_runtime.wire.codec import ZERO_UUID
from highwater_runtime.wire.errors import RETRIABLE, ErrorCode
from highwater_runtime.wire.message import Message

WIRE = settings.get_profile("wire")

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_TYPES = {
    "request": EntityType.request,
    "response": EntityType.response,
    "data": EntityType.data,
    "header": EntityType.header,
}

NOT_IN_KIO = re.compile(
    "(LeaderAndIsr|StopReplica|UpdateMetadata|ControlledShutdown|MetadataRead|ReadOffset|Zookeeper).*"
)
"""The ZooKeeper mode, and what is ours."""
OLDEST_IN_KIO = {
    "AlterPartitionRequest": 2,
    "AlterPartitionResponse": 2,
    "OffsetForLeaderEpochRequest": 2,
    "OffsetForLeaderEpochResponse": 2,
    "RequestHeader": 1,
}

KNOWN = [m for m in message_classes() if m.KIND in _TYPES and not NOT_IN_KIO.fullmatch(m.NAME)]


def _kio_type(message: type[Message], version: int) -> Any:
    name = message.__module__.rpartition(".")[2]
    if message.KIND in ("request", "response"):
        name = name.removesuffix(f"_{message.KIND}")
    return load_entity_schema(name, version, _TYPES[message.KIND])


def _plain(value: Any) -> Any:
    """A value of kio's as ours would be."""
    match value:
        case enum.Enum():
            return value.value
        case datetime.timedelta():
            return round(value / datetime.timedelta(milliseconds=1))
        case datetime.datetime():
            return round((value - _EPOCH) / datetime.timedelta(milliseconds=1))
        case _:
            return value


def _assert_same(ours: Any, theirs: Any, where: str) -> None:
    if dataclasses.is_dataclass(theirs):
        for field in dataclasses.fields(theirs):
            name = field.name.removesuffix("_")  # ``id_`` is ``id``
            name = name if hasattr(ours, name) else f"{name}_ms"
            _assert_same(getattr(ours, name), getattr(theirs, field.name), f"{where}.{name}")
    elif isinstance(theirs, tuple):
        assert len(ours) == len(theirs), where
        for mine, other in zip(ours, theirs, strict=True):
            _assert_same(mine, other, where)
    elif isinstance(ours, uuid.UUID):
        assert ours == (theirs or ZERO_UUID), where
    elif theirs is None:
        assert ours in (None, -1), where  # a time of -1 is None there
    else:
        assert ours == _plain(theirs), where


@pytest.mark.parametrize("message", KNOWN)
def test_kio_agrees(message, values_of, as_carried, thorough):
    oldest = OLDEST_IN_KIO.get(message.NAME, message.MIN_VERSION)
    kio_types = {v: _kio_type(message, v) for v in message.versions() if v >= oldest}
    codecs = {v: (entity_reader(kio_type), entity_writer(kio_type)) for v, kio_type in kio_types.items()}

    @settings(WIRE, max_examples=12 if thorough else 4)
    @given(values_of(message, legal=True))
    def check(drawn):
        for version, (read, write) in codecs.items():
            value = as_carried(drawn, version)
            data = value.encode(version)
            entity, size = read(data, 0)
            assert size == len(data), version
            _assert_same(value, entity, f"{message.NAME} {version}")
            out = io.BytesIO()
            write(out, entity)
            assert out.getvalue() == data, version

    check()


def test_what_kio_does_not_know():
    unknown = [(m, v) for m in message_classes() for v in m.versions() if m.KIND in _TYPES and m not in KNOWN]
    unknown += [(m, v) for m in KNOWN for v in range(m.MIN_VERSION, OLDEST_IN_KIO.get(m.NAME, m.MIN_VERSION))]
    for message, version in unknown:
        with pytest.raises((UnknownEntity, KeyError)):
            _kio_type(message, version)


def test_every_error_code():
    assert {code.name.lower(): int(code) for code in ErrorCode} == {code.name: code.value for code in KioErrorCode}
    assert {int(code) for code in RETRIABLE} == {code.value for code in KioErrorCode if code.retriable}
