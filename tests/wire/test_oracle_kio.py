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

from highwater_runtime.wire.codec import ZERO_UUID
from highwater_runtime.wire.errors import RETRIABLE, ErrorCode

WIRE = settings.get_profile("wire")

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_TYPES = {
    "request": EntityType.request,
    "response": EntityType.response,
    "data": EntityType.data,
    "header": EntityType.header,
}

NOT_IN_KIO_AT_ALL = re.compile("(LeaderAndIsr|StopReplica|UpdateMetadata|ControlledShutdown)(Request|Response)")
NOT_IN_KIO = {
    "AlterPartitionRequest-v0",
    "AlterPartitionRequest-v1",
    "AlterPartitionResponse-v0",
    "AlterPartitionResponse-v1",
    "RequestHeader-v0",
    # Ours.
    "MetadataReadRequest-v0",
    "MetadataReadResponse-v0",
    "ReadOffsetRequest-v0",
    "ReadOffsetResponse-v0",
}


def _kio_type(case) -> Any:
    kind = case.schema.kind
    name = re.sub("_(request|response)$", "", case.module.__name__.rpartition(".")[2]) if kind != "header" else None
    name = name or case.module.__name__.rpartition(".")[2]
    return load_entity_schema(name, case.version, _TYPES[kind])


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


def test_kio_agrees(case, values_of):
    records = case.schema.kind in ("metadata", "coordinator")
    if records or str(case) in NOT_IN_KIO or NOT_IN_KIO_AT_ALL.fullmatch(case.schema.name):
        with pytest.raises((UnknownEntity, KeyError)):
            _kio_type(case)
        return
    kio_type = _kio_type(case)
    read, write = entity_reader(kio_type), entity_writer(kio_type)

    @settings(WIRE, max_examples=6)
    @given(values_of(case, legal=True))
    def check(value):
        data = value.encode(case.version)
        entity, size = read(data, 0)
        assert size == len(data)
        _assert_same(value, entity, str(case))
        out = io.BytesIO()
        write(out, entity)
        assert out.getvalue() == data

    check()


def test_every_error_code():
    assert {code.name.lower(): int(code) for code in ErrorCode} == {code.name: code.value for code in KioErrorCode}
    assert {int(code) for code in RETRIABLE} == {code.value for code in KioErrorCode if code.retriable}
