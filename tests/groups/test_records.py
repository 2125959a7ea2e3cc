"""Records of ``__consumer_offsets``: Kafka's bytes, and what is made of them when a partition is loaded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highwater_runtime.broker.groups.group import Group, Member, Protocol
from highwater_runtime.broker.groups.loading import SLICE_BYTES, Loader
from highwater_runtime.broker.groups.offsets import CommittedOffset
from highwater_runtime.broker.groups.records import (
    group_record,
    group_tombstone,
    java_hash,
    offset_record,
    partition_for,
)
from highwater_runtime.broker.groups.states import GroupState
from highwater_runtime.log import Log, LogConfig, Record, build_batch
from highwater_runtime.sim import SimDisk


@pytest.fixture
def log(bench):
    return Log.open(SimDisk(1), "__consumer_offsets-0", LogConfig(), bench.clock)


def append(log, *records):
    log.append_as_leader(build_batch(records, timestamp_ms=1), 1, 1)


def load(log):
    loader = Loader(log)
    slices = 0
    while not loader.done:
        loader.read_slice()
        slices += 1
    return loader, slices


@pytest.mark.parametrize(
    ("text", "value"),
    [("", 0), ("a", 97), ("hello", 99162322), ("console-consumer-1", 0), ("polygenelubricants", -(2**31)), ("é", 233)],
)
def test_the_hash_is_javas(text, value):
    if text == "console-consumer-1":  # by Java's definition: s[0]*31^(n-1) + …
        value = sum(ord(c) * 31 ** (len(text) - 1 - i) for i, c in enumerate(text))
    assert java_hash(text) == value % 2**32
    assert partition_for(text, 50) == (value % 2**32 & 0x7FFFFFFF) % 50


def test_characters_beyond_the_first_plane_count_twice():
    assert java_hash("😀") == (31 * 0xD83D + 0xDE00) % 2**32


def test_an_offset_is_kafkas_bytes():
    record = offset_record("g", ("t", 7), CommittedOffset(offset=42, leader_epoch=3, metadata="m", commit_ms=1000))
    assert record.key == bytes.fromhex("0001 0001 67 0001 74 00000007")
    assert record.value == bytes.fromhex("0003 000000000000002a 00000003 0001 6d 00000000000003e8")
    tombstone = offset_record("g", ("t", 7), None)
    assert (tombstone.key, tombstone.value) == (record.key, None)


def test_an_offset_with_a_time_to_live_is_version_1():
    record = offset_record("g", ("t", 7), CommittedOffset(offset=42, metadata="", commit_ms=1000, expire_ms=2000))
    assert record.value == bytes.fromhex("0001 000000000000002a 0000 00000000000003e8 00000000000007d0")


def a_group():
    group = Group("g", generation=4, protocol_type="consumer", protocol="range", state_since_ms=5)
    group.add(
        Member(
            id="m",
            instance_id="i",
            client_id="c",
            client_host="/h",
            rebalance_timeout_ms=2,
            session_timeout_ms=1,
            protocols=(Protocol("sticky", b"no"), Protocol("range", b"sub")),
        )
    )
    return group


def test_a_group_is_kafkas_bytes():
    record = group_record(a_group(), {"m": b"part"})
    assert record.key == bytes.fromhex("0002 0001 67")
    assert record.value == bytes.fromhex(
        "0003 0008 636f6e73756d6572 00000004 0005 72616e6765 0001 6d 0000000000000005 00000001"
        "0001 6d 0001 69 0001 63 0002 2f68 00000002 00000001 00000003 737562 00000004 70617274"
    )
    assert (group_tombstone("g").key, group_tombstone("g").value) == (record.key, None)


def test_a_group_is_read_back(log):
    append(log, group_record(a_group(), {"m": b"part"}))
    loader, _ = load(log)
    (group,) = loader.groups().values()
    assert (group.id, group.state, group.generation, group.protocol) == ("g", GroupState.STABLE, 4, "range")
    assert (group.leader_id, group.static_members, group.state_since_ms) == ("m", {"i": "m"}, 5)
    member = group.members["m"]
    assert (member.assignment, member.metadata_for("range"), member.client_host) == (b"part", b"sub", "/h")
    assert (member.rebalance_timeout_ms, member.session_timeout_ms) == (2, 1)


def test_the_last_record_of_a_key_counts(log):
    append(log, offset_record("g", ("t", 0), CommittedOffset(offset=1)))
    append(log, group_record(a_group(), {"m": b""}), offset_record("h", ("t", 0), CommittedOffset(offset=5)))
    append(log, offset_record("g", ("t", 0), CommittedOffset(offset=2)))
    append(log, offset_record("g", ("t", 1), CommittedOffset(offset=3)), offset_record("h", ("t", 0), None))
    append(log, group_tombstone("g"))
    groups = load(log)[0].groups()
    assert list(groups) == ["g"]
    assert (groups["g"].state, groups["g"].generation, groups["g"].protocol_type) == (GroupState.EMPTY, 0, None)
    assert [(p, c.offset) for p, c in groups["g"].offsets.items()] == [(("t", 0), 2), (("t", 1), 3)]


def test_what_is_not_understood_is_passed_over(log):
    append(log, Record(key=b"\x00\x03new kind", value=b"x"), Record(key=b"", value=b"x"), Record(key=None, value=b"x"))
    append(log, Record(key=bytes.fromhex("0002 0001 67"), value=b"\x00\x09from the future"))
    append(log, offset_record("g", ("t", 0), CommittedOffset(offset=1)))
    loader, _ = load(log)
    assert loader.skipped == 4
    assert loader.groups()["g"].offsets.get(("t", 0)).offset == 1


def test_a_large_partition_is_read_in_slices(log):
    for n in range(300):
        append(log, offset_record(f"group-{n}", ("t", 0), CommittedOffset(offset=n, metadata="x" * 1000)))
    loader, slices = load(log)
    assert slices >= log.size_in_bytes // SLICE_BYTES
    assert [g.offsets.get(("t", 0)).offset for g in loader.groups().values()] == list(range(300))


@given(
    st.text(min_size=1, max_size=20),
    st.text(min_size=1, max_size=20),
    st.integers(0, 2**31 - 1),
    st.builds(
        CommittedOffset,
        offset=st.integers(0, 2**63 - 1),
        leader_epoch=st.integers(-1, 2**31 - 1),
        metadata=st.text(max_size=50),
        commit_ms=st.integers(0, 2**63 - 1),
    ),
)
def test_every_offset_is_read_back(group, topic, partition, committed):
    class OneRecord:
        log_start_offset, log_end_offset = 0, 1

    loader = Loader(OneRecord())
    loader.replay(offset_record(group, (topic, partition), committed)._replace(offset=0))
    assert loader.groups()[group].offsets.items() == [((topic, partition), committed)]
