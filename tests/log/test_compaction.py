"""Compaction: the last record of each key stays, at its offset, and nothing that fails on the way changes that."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from highwater_runtime.log import Record, build_batch, iter_batches
from highwater_runtime.log.names import TEMPORARY
from highwater_runtime.sim import PowerCutError

DAY = 86_400_000


@pytest.fixture
def compacted_config(small_config):
    return replace(small_config, compacts=True, deletes=False)


def put(log, key, value, *, epoch=1, timestamp=0, **batch):
    """Append one record in a batch of its own; ``value`` None is a tombstone."""
    record = Record(key=key, value=value)
    return log.append_as_leader(build_batch([record], timestamp_ms=timestamp, **batch), epoch, timestamp).first_offset


def turn(world):
    """Everything up to the next fsync, and that."""
    world.clock.advance_ms(0)
    world.disk.complete_fsyncs()


def compact(world, log, high_watermark=None):
    """One whole pass over everything committed."""
    done = []
    log.flush()
    log.compact_later(log.log_end_offset if high_watermark is None else high_watermark, done.append)
    for _ in range(10_000):
        if done:
            return done[0]
        turn(world)
    raise AssertionError("the pass does not end")


def records(log):
    found = []
    for batch in log.batches_between(log.log_start_offset, log.log_end_offset):
        batch.ensure_valid()
        found += [(r.offset, r.key, r.value) for r in batch.records()]
    return found


def replayed(log):
    """What the log says in the end: key → value."""
    state = {key: value for _, key, value in records(log)}
    return {key: value for key, value in state.items() if value is not None}


def contiguous(log):
    expected = log.log_start_offset
    for batch in log.batches_between(log.log_start_offset, log.log_end_offset):
        assert batch.base_offset == expected
        expected = batch.end_offset
    assert expected == log.log_end_offset


def test_the_last_record_of_each_key_stays_at_its_offset(world, compacted_config):
    log = world.open(compacted_config)
    for n in range(40):
        put(log, b"k%d" % (n % 4), b"v%d" % n)
    before = records(log)
    segments, size = log.segment_count, log.size_in_bytes
    reached = compact(world, log)
    active = [r for r in before if r[0] >= reached]
    gone = [r for r in before if r not in records(log)]
    assert records(log)[-len(active) :] == active, "the active segment stays as it is"
    assert len(records(log)) < len(active) + 5
    assert all(any(k == key and o > offset for o, k, _ in before) for offset, key, _ in gone)
    assert log.segment_count == segments
    assert log.size_in_bytes < size
    contiguous(log)


def test_every_offset_can_still_be_read_from(world, compacted_config):
    log = world.open(compacted_config)
    for n in range(60):
        put(log, b"k%d" % (n % 3), b"v%d" % n)
    compact(world, log)
    for offset in range(60):
        first = next(iter_batches(log.read(offset, 1)))
        assert first.base_offset <= offset <= first.last_offset


def test_what_is_not_committed_counts_for_nothing(world, compacted_config):
    log = world.open(compacted_config)
    for n in range(40):
        put(log, b"k", b"v%d" % n)
    compact(world, log, high_watermark=20)
    assert [r[0] for r in records(log)][-20:] == list(range(20, 40)), "nothing above the HW is touched"
    assert 19 in [r[0] for r in records(log)], "what replaces it is not committed"
    assert 0 not in [r[0] for r in records(log)]


@pytest.mark.parametrize("value", [b"new", None])
def test_what_is_not_durable_replaces_nothing(world, compacted_config, value):
    """If all replicas lose power, a record that was durable is not gone for one that nobody has any more."""
    log = world.open(compacted_config)
    put(log, b"k", b"old")
    while log.segment_count < 2:
        put(log, b"other", b"v")
    log.flush()
    put(log, b"k", value)
    done = []
    log.compact_later(log.log_end_offset, done.append)
    while not done:
        turn(world)
    world.lose_power("none")
    assert replayed(world.open(compacted_config))[b"k"] == b"old"


@pytest.mark.parametrize("clean", [True, False])
def test_a_compacted_log_is_opened_again_as_it_is(world, compacted_config, clean):
    log = world.open(compacted_config)
    for n in range(60):
        put(log, b"k%d" % (n % 3), b"v%d" % n)
    compact(world, log)
    before = records(log)
    if clean:
        log.close()
        world.restart()
        again = world.open(compacted_config, clean=True, recovery_point=60)
        assert again.recovery.reason == "clean"
    else:
        world.lose_power("none")
        again = world.open(compacted_config, recovery_point=60)
        assert again.recovery.cuts == ()
    assert records(again) == before
    contiguous(again)


def test_a_follower_copies_a_compacted_log(world, make_world, compacted_config):
    log = world.open(compacted_config)
    for n in range(60):
        put(log, b"k%d" % (n % 3), b"v%d" % n, epoch=1 + n // 25)
    compact(world, log)
    other = make_world(1).open(compacted_config)
    while other.log_end_offset < log.log_end_offset:
        other.append_as_follower(log.read(other.log_end_offset, 1000))
    assert records(other) == records(log)
    assert other.epoch_entries == log.epoch_entries == [(1, 0), (2, 25), (3, 50)]


def test_a_follower_that_ends_within_joined_batches_copies_the_rest(world, make_world, compacted_config):
    """A follower had fetched a part of what its leader then joined (scenarios/random/long-run.yaml, seed 1)."""
    leader = world.open(compacted_config)
    for value in range(60):
        put(leader, b"k", b"%d" % value)
    follower = make_world(1).open(compacted_config)
    while follower.log_end_offset < 7:
        follower.append_as_follower(leader.read(follower.log_end_offset, 1))
    compact(world, leader)
    assert any(batch.last_offset > batch.base_offset for batch in leader.batches_between(0, 20)), "none were joined"
    while follower.log_end_offset < leader.log_end_offset:
        follower.append_as_follower(leader.read(follower.log_end_offset, 1 << 20))
    contiguous(follower)
    assert replayed(follower) == replayed(leader)


def test_epochs_keep_their_offsets_in_the_batches(world, compacted_config):
    log = world.open(compacted_config)
    for n in range(60):
        put(log, b"k", b"v%d" % n, epoch=1 + n // 7)
    compact(world, log)
    starts = {}
    for batch in log.batches_between(0, 60):
        starts.setdefault(batch.leader_epoch, batch.base_offset)
    assert sorted(starts.items()) == log.epoch_entries


@pytest.mark.parametrize("retention_ms", [DAY, 0, 5000])
def test_a_tombstone_goes_after_its_retention_and_what_it_replaced_before(world, compacted_config, retention_ms):
    """The time counts from the first pass that keeps the tombstone, however old it is then (KIP-534)."""
    log = world.open(replace(compacted_config, delete_retention_ms=retention_ms))
    put(log, b"gone", b"v")
    put(log, b"gone", None)
    for n in range(30):
        put(log, b"other", b"v%d" % n)
    world.clock.advance_ms(3 * DAY)
    for waits_ms in (0, retention_ms - 1) if retention_ms else (0,):
        world.clock.advance_ms(waits_ms)
        compact(world, log)
        assert [(k, v) for _, k, v in records(log) if k == b"gone"] == [(b"gone", None)]
        (batch,) = (one for one in log.batches_between(0, 3) if one.record_count and one.base_offset == 1)
        assert batch.delete_horizon_ms is not None
        assert (batch.max_timestamp, batch.records()[0].timestamp) == (0, 0), "its record keeps its own time"
    world.clock.advance_ms(1)
    compact(world, log)
    assert [k for _, k, _ in records(log) if k == b"gone"] == []


def test_what_cannot_be_read_stays_and_keeps_tombstones(world, compacted_config, compressed):
    log = world.open(compacted_config)
    log.append_as_leader(compressed("gzip", build_batch([Record(key=b"gone", value=b"v")], timestamp_ms=0)), 1, 0)
    put(log, b"gone", None)
    for n in range(30):
        put(log, b"other", b"v%d" % n)
    world.clock.advance_ms(2 * DAY)
    compact(world, log)
    first, second = list(log.batches_between(0, 2))
    assert first.codec == "gzip"
    assert second.records()[0] == Record(1, 0, b"gone", None)


def test_records_without_a_key_stay(world, compacted_config):
    log = world.open()
    for n in range(30):
        put(log, None if n % 3 else b"k", b"v%d" % n)
    log.update_config(compacted_config)  # from now on a producer may not write what has no key
    keyless = [r for r in records(log) if r[1] is None]
    compact(world, log)
    assert [r for r in records(log) if r[1] is None] == keyless


def test_a_retry_of_a_producer_is_known_after_compaction(world, compacted_config):
    log = world.open(compacted_config)
    for n in range(30):
        put(log, b"k", b"v", producer_id=5, producer_epoch=0, base_sequence=n)
    compact(world, log)
    log.close()
    world.restart()
    log = world.open(compacted_config, clean=True)
    again = build_batch(
        [Record(key=b"k", value=b"v")], timestamp_ms=0, producer_id=5, producer_epoch=0, base_sequence=29
    )
    assert log.append_as_leader(again, 1, 0).duplicate
    assert [b.last_sequence for b in log.batches_between(0, 30)] == list(range(30))


def test_an_abandoned_pass_leaves_nothing(world, compacted_config):
    log = world.open(compacted_config)
    for n in range(40):
        put(log, b"k", b"v%d" % n)
    before = records(log)
    log.flush()
    compaction = log.compact_later(40, lambda _: None)
    world.clock.advance_ms(0)
    assert world.files(TEMPORARY), "a segment is made, and waits for the disk"
    compaction.abort()
    world.clock.advance_ms(1)
    assert world.files(TEMPORARY) == []
    assert records(log)[-5:] == before[-5:]
    contiguous(log)


@pytest.mark.parametrize("how", ["abandoned", "truncated"])
def test_an_abandoned_pass_on_a_failing_disk_fails_the_log_alone(world, compacted_config, how):
    log = world.open(compacted_config)
    for n in range(40):
        put(log, b"k%d" % (n % 2), b"v%d" % n)
    log.flush()
    done = []
    compaction = log.compact_later(40, done.append)
    world.clock.advance_ms(0)
    assert world.files(TEMPORARY)
    if how == "truncated":
        log.truncate_to(30)
    world.disk.set_errors("writes")
    if how == "abandoned":
        compaction.abort()
    turn(world)
    assert not log.is_online
    assert done == []


def test_a_truncation_ends_the_pass(world, compacted_config):
    log = world.open(compacted_config)
    for n in range(40):
        put(log, b"k%d" % (n % 2), b"v%d" % n)
    log.flush()
    done = []
    log.compact_later(40, done.append)
    world.clock.advance_ms(0)
    assert world.files(TEMPORARY)
    log.truncate_to(3)
    for _ in range(10):
        turn(world)
    assert done
    assert [r[0] for r in records(log)] == [0, 1, 2]
    assert world.files(TEMPORARY) == []


def test_the_manager_compacts_what_asks_for_it(world):
    high_watermarks = {}
    manager = world.manager(lambda: high_watermarks, log_retention_check_interval_ms=1000, log_retention_ms=1)
    manager.start()
    own = {"segment.bytes": "400", "cleanup.policy": "compact"}
    log = world.create(manager, "state", 0, UUID(int=1), own)
    for n in range(40):
        put(log, b"k%d" % (n % 2), b"v%d" % n, timestamp=n)
    log.flush()
    high_watermarks["state", 0] = 40
    world.clock.advance_ms(3000)
    for _ in range(60):
        turn(world)
    assert log.log_start_offset == 0, "nothing is deleted for its age"
    assert len(records(log)) < 15
    assert world.metrics.counts["highwater_log_compactions_total"] == 1
    world.clock.advance_ms(10_000)
    assert world.metrics.counts["highwater_log_compactions_total"] == 1, "nothing new is dirty"
    assert replayed(log) == {b"k0": b"v38", b"k1": b"v39"}


steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 4), st.integers(1, 30)),
        st.tuples(st.just("put"), st.integers(0, 4), st.integers(1, 30)),
        st.tuples(st.just("tombstone"), st.integers(0, 4)),
        st.tuples(st.just("compact"), st.integers(1, 12)),
        st.tuples(st.just("day")),
        st.tuples(st.just("power-loss"), st.sampled_from(["none", "prefix", "torn", "all"])),
        st.tuples(st.just("kill")),
    ),
    max_size=25,
)


@settings(max_examples=120)
@example([("put", 0, 11), ("compact", 1), ("day",), ("kill",)], 0, 1)  # killed with an fsync under way
@given(steps, st.integers(0, 2**32), st.integers(0, 60))
def test_no_failure_on_the_way_changes_what_the_log_says(make_world, small_config, steps, seed, cut_at):
    """After a power loss at any disk operation, replaying what was flushed gives what it gave before."""
    world = make_world(seed)
    config = replace(small_config, compacts=True, deletes=False)
    log, state, count, running = world.open(config), {}, 0, None
    for kind, *arguments in [*steps, ("compact", cut_at), ("power-loss", "torn")]:
        match kind:
            case "put":
                for _ in range(arguments[1]):
                    count += 1
                    put(log, b"k%d" % arguments[0], b"v%d" % count, timestamp=world.clock.wall_ms())
                    state[b"k%d" % arguments[0]] = b"v%d" % count
            case "tombstone":
                put(log, b"k%d" % arguments[0], None, timestamp=world.clock.wall_ms())
                state.pop(b"k%d" % arguments[0], None)
            case "day":
                world.clock.advance_ms(DAY + 1)
            case "compact":
                log.flush()
                if running is not None:
                    running.abort()
                running = log.compact_later(log.log_end_offset, lambda _: None)
                for _ in range(arguments[0]):
                    turn(world)
            case "power-loss" | "kill":
                log.flush()
                recovery_point, end = log.recovery_point, log.log_end_offset
                if kind == "kill":
                    world.restart()
                else:
                    world.disk.cut_power_at(1 + cut_at)
                    with suppress(PowerCutError):
                        if running is not None:
                            running.abort()
                        log.compact_later(log.log_end_offset, lambda _: None)
                        for _ in range(40):
                            turn(world)
                    world.disk.cut_power_at(None)
                    world.lose_power(arguments[0])
                log, running = world.open(config, recovery_point=recovery_point), None
                assert log.log_end_offset == end
                assert log.recovery.cuts == ()
                assert world.files(TEMPORARY) == []
        assert replayed(log) == state
        contiguous(log)
