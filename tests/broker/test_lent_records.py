"""Which records a broker lets its host send from files: those below the HW, which hardly any truncation cuts off."""

from __future__ import annotations

import os

import pytest
from following import batch

from highwater_runtime.host.files.file_range import PosixFileRange, SharedDescriptor
from highwater_runtime.log.compaction import without_joined_before
from highwater_runtime.log.records import build_batch, iter_batches
from highwater_runtime.sim.open_file import SimFile
from highwater_runtime.wire.errors import ErrorCode


@pytest.fixture
def lent(monkeypatch):
    """The positions of everything that was lent."""
    found = []

    def lend(file, position, length):
        found.append((position, length))
        return file.read(position, length)

    monkeypatch.setattr(SimFile, "lend", lend)
    return found


def fetch(c, topic_id, version):
    request = c.fetch_request(topic_id, 0)
    if version < 13:
        request.topics[0].topic, request.topics[0].topic_id = "orders", type(topic_id)(int=0)
    response = c.ask("broker-0", request, version, channel="fetch")
    return response.responses[0].partitions[0]


@pytest.mark.parametrize(("version", "is_lent"), [(9, False), (10, True), (15, True)])
def test_consumers_are_lent_what_they_fetch_and_followers_are_not(make_cluster, lent, version, is_lent):
    c = make_cluster()
    topic_id = c.create_topic([0, 1, 2])
    assert c.produce(b"1").error_code == ErrorCode.NONE
    assert c.produce(b"2").error_code == ErrorCode.NONE
    assert not lent, "followers have fetched these records"
    records = fetch(c, topic_id, version).records
    assert [record.value for one in iter_batches(records) for record in one.records()] == [b"1", b"2"]
    assert lent == ([(0, len(records))] if is_lent else [])


def test_an_empty_batch_joined_before_the_offset_is_shortened_in_a_range_too(tmp_path):
    data = build_batch([], base_offset=0, last_offset=9, leader_epoch=1, timestamp_ms=5) + batch(10, 2, 1)
    path = tmp_path / "log"
    path.write_bytes(b"before" + data)
    found = PosixFileRange(SharedDescriptor(os.open(path, os.O_RDONLY)), 6, len(data))
    assert without_joined_before(found, 0) is found
    shortened = without_joined_before(found, 4)
    assert shortened == without_joined_before(data, 4)
    assert [(one.base_offset, one.last_offset) for one in iter_batches(shortened)] == [(4, 9), (10, 11)]
