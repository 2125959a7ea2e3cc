"""A start that finds many logs: they are loaded in jobs, and whatever ends the node meanwhile changes nothing."""

from uuid import UUID

import pytest

from highwater_runtime.log import loading
from highwater_runtime.ports.trace import LogLoaded

TOPIC = UUID("01234567-89ab-cdef-0123-456789abcdef")


@pytest.fixture
def many(world, start, fill, monkeypatch):
    """Five logs, of which a start loads two at once, and then one a job."""
    monkeypatch.setattr(loading, "AT_ONCE", 2)
    monkeypatch.setattr(loading, "IN_A_JOB", 1)
    high_watermarks = {}
    manager = start(lambda: high_watermarks)
    for index in range(5):
        log = world.create(manager, "orders", index, TOPIC)
        fill(log, 30)
        high_watermarks["orders", index] = 30
        log.flush()
        log.advance_log_start_offset(20)
        high_watermarks["orders", index] = 25
    assert world.stop(manager, broker_epoch=7) is None
    return world


def offsets(manager):
    return {
        tp.partition: (log.log_start_offset, manager.checkpointed_high_watermark(*tp), log.log_end_offset)
        for tp, log in manager.logs.items()
    }


AS_BEFORE = dict.fromkeys(range(5), (20, 25, 30))


def test_many_logs_are_loaded_in_jobs(many):
    manager, loaded = many.manager(), []
    manager.start(on_loaded=lambda: loaded.append(len(manager.logs)))
    assert (sorted(offsets(manager)), manager.is_loaded, loaded) == ([0, 1], False, [])
    assert (manager.clean_start, manager.previous_broker_epoch) == (True, 7)
    many.disk.run_one_job()
    assert sorted(offsets(manager)) == [0, 1, 2]
    many.disk.complete_fsyncs()
    assert (offsets(manager), manager.is_loaded, loaded) == (AS_BEFORE, True, [5])
    assert [event.partition for event in many.trace.events if isinstance(event, LogLoaded)] == [
        f"orders-{index}" for index in range(5)
    ]


@pytest.mark.parametrize("jobs", range(4))
@pytest.mark.parametrize("how", ["stop", "kill", "power"])
def test_what_ends_a_node_while_it_loads_changes_nothing(many, start, how, jobs):
    manager, loaded = many.manager(), []
    manager.start(on_loaded=lambda: loaded.append(True))
    for _ in range(min(jobs, 2)):
        many.disk.run_one_job()
    if jobs == 3:  # all but what is written behind the last log
        many.disk.run_one_job()
    is_loaded = bool(loaded)
    match how:
        case "stop":
            stopped = []
            manager.shutdown(stopped.append, broker_epoch=8)
            many.disk.complete_fsyncs()
            many.clock.advance_ms(0)
            many.disk.complete_fsyncs()
            assert stopped == [None]
            many.restart()
        case "kill":
            many.restart()
        case "power":
            many.lose_power()
    manager = start()
    assert manager.clean_start == (is_loaded and how == "stop")
    many.disk.complete_fsyncs()
    assert offsets(manager) == AS_BEFORE


def test_a_disk_that_fails_while_logs_are_loaded_ends_the_node(many):
    manager = many.manager()
    manager.start()
    many.disk.set_errors("all")
    with pytest.raises(OSError, match="Input/output error"):
        many.disk.complete_fsyncs()
    assert not manager.is_loaded
