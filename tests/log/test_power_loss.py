"""Power loss at any moment: what comes back is a state that the log really had, not older than its last flush.

The one rule, said once: let S0, S1, … be the logs that were, S0 the one last flushed. After a power loss the log is a
prefix of one of them, and it is cut no shorter than the shortest point to which it was truncated since S0, or S0's end.
"""

from contextlib import suppress
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_runtime.log import LogConfig, build_batch
from highwater_runtime.log.checkpoints import LOG_START_OFFSETS, RECOVERY_POINTS, read_offsets
from highwater_runtime.log.errors import TruncationPendingError
from highwater_runtime.ports.trace import LogCut
from highwater_runtime.sim import PowerCutError
from highwater_runtime.sim.page_cache import PAGE

KEEPS = ["none", "prefix", "torn", "all"]


class Past:
    """The states that a log went through since it was last durable."""

    def __init__(self):
        self.states = [[]]
        self.durable = 0
        """How many records from the beginning (offset 0) are surely there."""

    def changed(self, state):
        """The log is, or is about to be, in ``state``."""
        common = next((i for i, (a, b) in enumerate(zip(self.states[-1], state, strict=False)) if a != b), None)
        shared = min(len(self.states[-1]), len(state)) if common is None else common
        self.durable = min(self.durable, shared)
        self.states.append(state)

    def flushed(self):
        self.states = self.states[-1:]
        self.durable = len(self.states[-1])

    def judge(self, found):
        assert any(found == state[: len(found)] for state in self.states), "never was"
        assert len(found) >= self.durable, f"{len(found)} records left of {self.durable} that were durable"


steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 40), st.sampled_from([3, 59, 59, 700, 5000])),
        st.tuples(st.just("append"), st.integers(1, 40), st.sampled_from([3, 59, 59, 700, 5000])),
        st.tuples(st.just("truncate"), st.integers(1, 60)),
        st.tuples(st.just("begin-flush")),
        st.tuples(st.just("flush")),
        st.tuples(st.just("fsyncs-end")),
        st.tuples(st.just("power-loss"), st.sampled_from(KEEPS)),
        st.tuples(st.just("kill")),
    ),
    max_size=20,
)


@settings(max_examples=150)
@given(steps, st.integers(0, 2**32), st.sampled_from([2000, 9000, 2**30]))
def test_power_losses_and_crashes(make_world, values, steps, seed, segment_bytes):
    """Batch sizes of 59 + 69 bytes divide a page, so that whole batches are torn out too."""
    world = make_world(seed)
    small = replace(
        world.open().config, segment_bytes=segment_bytes, index_interval_bytes=1000, max_message_bytes=10**6
    )
    log = world.open(small)
    epoch, past = 1, Past()
    begun = []
    for kind, *arguments in [*steps, ("power-loss", "torn")]:
        match kind:
            case "append":
                count, size = arguments[0], min(arguments[1], segment_bytes - 100)
                for i in range(min(count, 30_000 // size)):
                    value = b"%08d" % (seed + i) + b"x" * size
                    log.append_as_leader(build_batch([value[:size]]), epoch, 0)
                past.changed(values(log))
            case "truncate":
                target = max(0, log.log_end_offset - arguments[0])
                past.changed(past.states[-1][:target])
                log.truncate_to(target)
                assert values(log) == past.states[-1]
                epoch += 1
                begun.clear()
            case "begin-flush":
                log.flush_later(lambda error: None)
                begun.append(log.log_end_offset)
            case "fsyncs-end":
                world.disk.complete_fsyncs()
                if begun:
                    past.durable = max(past.durable, begun[-1])
                    assert log.recovery_point >= begun[-1]
                    begun.clear()
            case "flush":
                log.flush()
                past.flushed()
            case "power-loss" | "kill":
                point = log.recovery_point
                past.durable = max(past.durable, point)  # rolls flush, too, and the log has to keep its word
                if kind == "kill":
                    world.restart()
                else:
                    world.lose_power(arguments[0])
                log = world.open(small, recovery_point=point)
                begun.clear()
                found = values(log)
                if kind == "kill":
                    assert found == past.states[-1]
                else:
                    past.judge(found)
                    past.states, past.durable = [found], len(found)
                epoch = max(epoch, log.latest_epoch) + 1
                firsts = {}
                for offset, e, _ in found:
                    firsts.setdefault(e, offset)
                assert dict(log.epoch_entries) == firsts


def life(manager, world, past, values):
    """What one incarnation does to one partition: everything that a crash could come between."""
    log = world.create(manager, "orders", 0, UUID(int=5))
    past.changed(values(log))

    def append(count, epoch):
        for _i in range(count):
            value = b"%d/%d" % (epoch, log.log_end_offset)
            data = build_batch([value], producer_id=3, producer_epoch=0, base_sequence=log.log_end_offset)
            past.changed([*past.states[-1], (log.log_end_offset, epoch, value)])
            log.append_as_leader(data, epoch, 0)

    append(7, 1)
    log.flush()
    past.flushed()
    manager.checkpoint_recovery_points()
    append(6, 2)
    log.flush_later(lambda error: None)
    world.disk.complete_fsyncs()
    past.flushed()
    manager.checkpoint_recovery_points()
    past.changed(past.states[-1][:5])
    world.cut(log, 5)
    append(9, 3)
    manager.checkpoint_recovery_points()
    manager.checkpoint_high_watermarks()
    errors = []
    manager.shutdown(errors.append)
    while not errors:
        world.disk.complete_fsyncs()
        world.clock.advance_ms(0)
    assert errors == [None]
    past.flushed()


@pytest.mark.parametrize("keep", KEEPS)
def test_power_fails_at_every_operation_of_a_life(make_world, values, keep):
    properties = {"log_segment_bytes": 400, "log_index_interval_bytes": 100}
    operation, finished = 0, False
    while not finished:
        operation += 1
        world, past = make_world(operation), Past()
        manager = world.manager(**properties)
        manager.start()
        world.disk.cut_power_at(operation)
        with suppress(PowerCutError):
            life(manager, world, past, values)
            finished = True
        world.disk.cut_power_at(None)
        world.lose_power(keep)
        manager = world.manager(lambda: {("orders", 0): 3}, **properties)
        if operation % 3 == 0:  # and once more, while it starts
            world.disk.cut_power_at(1 + operation // 3 % 17)
            with suppress(PowerCutError):
                manager.start()
            world.disk.cut_power_at(None)
            world.lose_power(keep)
            manager = world.manager(lambda: {("orders", 0): 3}, **properties)
        manager.start()
        log = manager.get("orders", 0)
        found = [] if log is None else values(log)
        past.judge(found)
        assert manager.clean_start or not finished or operation % 3 == 0
        assert not manager.clean_start or found == past.states[-1]
        if log is None:
            continue
        assert not (manager.clean_start and world.trace.of(LogCut)), "a clean stop loses nothing"
        assert read_offsets(world.disk, RECOVERY_POINTS).get(("orders", 0), 0) <= max(past.durable, len(found))
        assert read_offsets(world.disk, LOG_START_OFFSETS) == {}
        # the idempotent producer goes on where the log ends, and its last batch is known
        if found:
            last = len(found) - 1
            retry = build_batch([b"retry"], producer_id=3, producer_epoch=0, base_sequence=last)
            assert log.append_as_leader(retry, 9, 0) == (last, last, -1, 0, True, ())
        following = build_batch([b"next"], producer_id=3, producer_epoch=0, base_sequence=len(found))
        log.append_as_leader(following, 9, 0)
        log.flush()
        manager.checkpoint_recovery_points()
        world.lose_power("none")
        manager = world.manager(**properties)
        manager.start()
        assert values(manager.get("orders", 0)) == [*found, (len(found), 9, b"next")]
    assert operation > 100, "the life has so many moments"


@pytest.mark.parametrize(("sync", "found"), [(True, False), (False, True)])
def test_a_truncation_that_is_not_synced_makes_a_log_that_never_was(make_world, values, sync, found):
    """The switch ``truncation-sync``. Three pages of batches of the old leader, two of which are cut and filled by the
    new one: with a page of each after the power loss, the old leader's batches stand before the new one's, and every
    check passes, the comparison of epochs with the leader as well."""
    config = LogConfig(truncation_sync=sync, index_interval_bytes=1000)
    bad = 0
    for seed in range(60):
        world = make_world(seed)
        log, page = world.open(config), PAGE // 128

        def write(epoch, count, log=log):
            for n in range(count):
                batch = build_batch([b"%02d/%08d" % (epoch, n) + b"x" * 48])
                assert len(batch) == 128
                log.append_as_leader(batch, epoch, 0)

        write(1, 3 * page)
        log.flush()
        log.truncate_to(page)
        world.clock.advance_ms(0)
        write(2, 2 * page)
        written, point = values(log), log.recovery_point
        world.lose_power("torn")
        log = world.open(config, recovery_point=point)
        left = values(log)
        bad += log.latest_epoch == 2 and left != written[: len(left)]
    assert bool(bad) is found


lives = st.lists(
    st.lists(
        st.one_of(
            st.tuples(st.just("append"), st.integers(1, 9)),
            st.tuples(st.just("append"), st.integers(1, 9)),
            st.tuples(st.just("lead")),
            st.tuples(st.just("truncate"), st.integers(1, 12)),
            st.tuples(st.just("flush")),
            st.tuples(st.just("begin-flush")),
            st.tuples(st.just("checkpoint")),
            st.tuples(st.just("checkpoint")),
            st.tuples(st.just("disk-works")),
        ),
        max_size=12,
    ),
    min_size=1,
    max_size=4,
)
"""What incarnations of a broker do to one partition, each until the power fails."""


@settings(max_examples=400)
@given(lives, st.integers(1, 14), st.sampled_from(KEEPS), st.integers(0, 2**32))
def test_epochs_are_those_of_the_batches_whatever_was_written_of_the_checkpoints(
    make_world, values, lives, operation, keep, seed
):
    """The checkpoint of epochs is written behind, and the power fails before, between and in the midst of its steps.

    What recovery finds is a log that was, as long as it was durable, and its epochs are those of its batches: so a
    truncation to the end of an epoch cuts where the batches say.
    """
    world, past, epoch = make_world(seed), Past(), 0
    properties = {"log_segment_bytes": 400, "log_index_interval_bytes": 100}
    manager = world.manager(**properties)
    manager.start()
    log = world.create(manager, "orders", 0, UUID(int=5))
    for life in lives:
        with suppress(PowerCutError):
            for kind, *arguments in [*life, ("power-fails",)]:
                match kind:
                    case "power-fails":
                        world.disk.cut_power_at(operation)
                        world.disk.complete_fsyncs()
                    case "lead":
                        epoch += 1
                        log.assign_epoch_start(epoch, log.log_end_offset)
                    case "append":
                        epoch = max(epoch, 1)
                        for _ in range(arguments[0]):
                            value = b"%d/%d" % (epoch, log.log_end_offset)
                            past.changed([*past.states[-1], (log.log_end_offset, epoch, value)])
                            log.append_as_leader(build_batch([value]), epoch, 0)
                    case "truncate":
                        target = max(0, log.log_end_offset - arguments[0])
                        before = past.durable
                        past.changed(past.states[-1][:target])
                        try:
                            log.truncate_to(target)
                        except TruncationPendingError:
                            past.states.pop()
                            past.durable = before
                        else:
                            epoch += 1
                    case "flush":
                        log.flush()
                        past.flushed()
                    case "begin-flush":
                        log.flush_later(lambda error: None)
                    case "checkpoint":
                        manager.checkpoint_recovery_points()
                    case "disk-works":
                        world.disk.complete_fsyncs()
        world.disk.cut_power_at(None)
        past.durable = max(past.durable, log.recovery_point)
        world.lose_power(keep)
        manager = world.manager(**properties)
        manager.start()
        log = manager.get("orders", 0)
        found = values(log)
        past.judge(found)
        past.states, past.durable = [found], len(found)
        firsts = {}
        for offset, e, _ in found:
            firsts.setdefault(e, offset)
        assert dict(log.epoch_entries) == firsts
        ends = {e: log.epoch_end_offset(e).end_offset for e in firsts}
        assert ends == {e: 1 + max(offset for offset, other, _ in found if other == e) for e in firsts}
        world.settle()
        epoch = max(epoch, log.latest_epoch) + 1
