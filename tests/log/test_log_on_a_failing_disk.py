"""A log whose disk fails: what it does not know to be on disk it does not serve."""

import errno

import pytest

from highwater_runtime.log import LogConfig
from highwater_runtime.log.errors import (
    LogOfflineError,
)


def test_after_a_failed_write_the_log_is_offline_until_the_restart(world, fill, values):
    log = world.open(LogConfig())
    fill(log, 3)
    world.disk.set_errors("writes")
    with pytest.raises(LogOfflineError, match="Errno 5") as refusal:
        fill(log, 1)
    assert refusal.value.__cause__.errno == errno.EIO
    world.disk.heal()
    for use in (lambda: fill(log, 1), lambda: log.read(0, 1), log.flush, log.close, lambda: log.truncate_to(0)):
        with pytest.raises(LogOfflineError, match="disk error"):
            use()
    assert not log.is_online
    world.restart()
    assert len(values(world.open())) == 3


def test_after_a_failed_flush_nothing_is_vouched_for(world, fill):
    log, done = world.open(LogConfig()), []
    fill(log, 3)
    log.flush_later(done.append)
    world.disk.set_errors("fsync")
    world.disk.complete_fsyncs()
    assert isinstance(done[0], OSError)
    assert log.recovery_point == 0
    assert not log.is_online


def test_a_full_disk_leaves_half_a_batch_that_recovery_removes(world, fill, values):
    log = world.open(LogConfig())
    fill(log, 3)
    world.disk.set_quota(world.disk.used_bytes() + 40)
    with pytest.raises(LogOfflineError, match=f"Errno {errno.ENOSPC}"):
        fill(log, 1)
    world.disk.heal()
    world.restart()
    log = world.open()
    assert len(values(log)) == 3
    fill(log, 1)


def test_a_file_that_somebody_else_cut_is_noticed(world, fill):
    log = world.open()
    fill(log, 9)
    world.disk.open(world.path(world.files(".log")[0])).truncate(20)
    for read in (lambda: log.read(1, 1000), lambda: list(log.batches_between(1, 9))):
        with pytest.raises(LogOfflineError, match="expected"):
            read()


def test_a_closed_log_is_closed(world, fill):
    log = world.open()
    fill(log, 3)
    log.close()
    with pytest.raises(LogOfflineError, match="closed"):
        log.read(0, 1)
