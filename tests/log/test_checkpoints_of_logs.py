"""Checkpoints of recovery points and high watermarks never vouch for more than is on disk."""

from uuid import UUID

import pytest

from highwater_runtime.log import TopicPartition
from highwater_runtime.log.checkpoints import (
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_offsets,
    write_atomically,
    write_offsets,
)
from highwater_runtime.log.errors import (
    CorruptCheckpointError,
    TruncationPendingError,
)
from highwater_runtime.sim import PowerCutError

TOPIC = UUID("01234567-89ab-cdef-0123-456789abcdef")


def test_checkpoints_are_written_from_time_to_time(world, start, fill):
    high_watermarks = {("orders", 0): 1}
    manager = start(lambda: high_watermarks)
    log = world.create(manager, "orders", 0, TOPIC)
    fill(log, 5)
    log.advance_log_start_offset(1)
    world.advance(5_000)
    assert read_offsets(world.disk, HIGH_WATERMARKS) == {("orders", 0): 1}
    high_watermarks["orders", 0] = 4
    log.flush()
    world.advance(60_000)
    assert read_offsets(world.disk, HIGH_WATERMARKS) == {("orders", 0): 4}
    assert read_offsets(world.disk, RECOVERY_POINTS) == {("orders", 0): 5}
    assert read_offsets(world.disk, LOG_START_OFFSETS) == {("orders", 0): 1}
    world.lose_power("none")
    manager = start()
    assert manager.checkpointed_high_watermark("orders", 0) == 4
    assert manager.get("orders", 0).log_start_offset == 1


def test_a_checkpoint_that_did_not_change_is_not_written_again(world, start):
    world.create(start(lambda: {("orders", 0): 1}), "orders", 0, TOPIC)
    world.advance(120_000)
    before = world.disk.operations
    world.advance(600_000)
    assert world.disk.operations == before


def test_a_high_watermark_is_brought_within_its_log(world, start, fill):
    fill(world.create(start(), "orders", 0, TOPIC), 3)
    world.restart()
    write_offsets(world.disk, HIGH_WATERMARKS, {TopicPartition("orders", 0): 10, TopicPartition("gone", 3): 5})
    manager = start()
    assert manager.checkpointed_high_watermark("orders", 0) == 3
    assert manager.checkpointed_high_watermark("gone", 3) == 0
    manager.get("orders", 0).truncate_fully_and_start_at(20)
    assert manager.checkpointed_high_watermark("orders", 0) == 20


def test_the_high_watermark_of_a_partition_that_does_not_run_yet_is_not_forgotten(world, start, fill):
    fill(world.create(start(lambda: {("orders", 0): 2}), "orders", 0, TOPIC), 3)
    world.advance(5_000)
    world.restart()
    start()
    world.advance(5_000)
    world.restart()
    assert start().checkpointed_high_watermark("orders", 0) == 2


@pytest.mark.parametrize("path", [HIGH_WATERMARKS, RECOVERY_POINTS, LOG_START_OFFSETS])
@pytest.mark.parametrize("content", [b"", b"\x00" * 50, b"0\n1\norders 0\n", b"0\n2\norders 0 3\n"])
def test_a_checkpoint_that_cannot_be_read_says_nothing(world, start, fill, values, path, content):
    fill(world.create(start(), "orders", 0, TOPIC), 3)
    world.restart()
    write_atomically(world.disk, path, content)
    with pytest.raises(CorruptCheckpointError):
        read_offsets(world.disk, path)
    manager = start()
    assert len(values(manager.get("orders", 0))) == 3
    assert manager.checkpointed_high_watermark("orders", 0) == 0
    assert world.metrics.counts == {"highwater_log_corrupt_checkpoints_total": 1}


def test_after_a_recovery_no_checkpoint_vouches_for_more_than_is_there(world, start, fill):
    log = world.create(start(), "orders", 0, TOPIC)
    fill(log, 3)
    log.flush()
    world.restart()
    write_offsets(world.disk, RECOVERY_POINTS, {TopicPartition("orders", 0): 50})
    start()
    assert read_offsets(world.disk, RECOVERY_POINTS)["orders", 0] <= 3


def test_a_truncation_waits_until_no_checkpoint_vouches_for_what_it_cuts(world, start, fill):
    """Else it would vouch, after a power loss, for what was appended since and never flushed."""
    manager = start()
    log = world.create(manager, "orders", 0, TOPIC)
    fill(log, 9)
    log.flush()
    manager.checkpoint_recovery_points()
    world.disk.complete_fsyncs()
    for _ in range(2):
        with pytest.raises(TruncationPendingError):
            log.truncate_to(4)
        assert (log.log_end_offset, log.recovery_point) == (9, 4)
    world.disk.complete_fsyncs()
    log.truncate_to(4)
    world.lose_power("none")
    assert read_offsets(world.disk, RECOVERY_POINTS) == {("orders", 0): 4}


def test_a_truncation_lowers_what_waits_for_its_epochs_to_be_written(world, start, fill):
    manager = start()
    log = world.create(manager, "orders", 0, TOPIC)
    fill(log, 9)
    log.flush()
    manager.checkpoint_recovery_points()
    log.truncate_to(4)
    fill(log, 9, epoch=2)
    log.flush()
    world.disk.complete_fsyncs()
    assert read_offsets(world.disk, RECOVERY_POINTS) == {("orders", 0): 4}


def test_a_truncation_above_the_recovery_point_does_not_wait(world, start, fill):
    manager = start()
    log = world.create(manager, "orders", 0, TOPIC)
    fill(log, 9)
    log.truncate_to(4)
    log.flush()
    manager.checkpoint_recovery_points()
    world.disk.complete_fsyncs()
    fill(log, 9, epoch=2)
    log.truncate_to(4)
    assert log.log_end_offset == 4


def test_a_recovery_point_is_checkpointed_behind_the_epochs_below_it(world, start, fill):
    """Whichever step of that a power loss lets happen: the recovered epochs are those of the batches."""
    for operation in range(1, 30):
        world = type(world)(operation)
        manager = world.manager(log_segment_bytes=400)
        manager.start()
        log = world.create(manager, "orders", 0, TOPIC)
        for epoch in (1, 2, 4):
            log.assign_epoch_start(epoch, log.log_end_offset)
            fill(log, 20, epoch=epoch)
            if epoch == 1:
                manager.checkpoint_recovery_points()
                world.disk.complete_fsyncs()
        log.flush()
        manager.checkpoint_recovery_points()
        world.disk.cut_power_at(operation)
        try:
            world.disk.complete_fsyncs()
        except PowerCutError:
            cut = True
        else:
            cut = False
        world.disk.cut_power_at(None)
        world.lose_power("by-seed")
        points = read_offsets(world.disk, RECOVERY_POINTS)
        manager = world.manager()
        manager.start()
        assert manager.get("orders", 0).epoch_entries == [(1, 0), (2, 20), (4, 40)], f"operation {operation}, {points}"
        if not cut:
            assert points == {("orders", 0): 60}
            return
    raise AssertionError("it never ends")
