"""The owner of a data directory: start and stop, checkpoints, creation and deletion."""

from uuid import UUID

import pytest

from highwater_runtime.log import Record, build_batch, ensure_meta_properties
from highwater_runtime.log.checkpoints import (
    CLEAN_SHUTDOWN,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    META_PROPERTIES,
    PARTITION_METADATA,
    RECOVERY_POINTS,
    read_offsets,
    read_partition_metadata,
)
from highwater_runtime.log.errors import (
    InconsistentMetaPropertiesError,
    InconsistentTopicIdError,
    LogOfflineError,
)
from highwater_runtime.log.names import parse_partition_dir
from highwater_runtime.ports.trace import LogLoaded

TOPIC = UUID("01234567-89ab-cdef-0123-456789abcdef")


def test_what_an_earlier_attempt_left_is_looked_through(world, start, fill):
    """Kafka loads the directory of a new log, too. A torn batch must not lie before what is appended."""
    manager = start()
    world.disk.mkdir("orders-0")
    file = world.disk.open("orders-0/00000000000000000000.log", create=True)
    file.append(build_batch([b"whole"], timestamp_ms=1) + build_batch([b"torn"], timestamp_ms=1)[:-3])
    log = world.create(manager, "orders", 0, TOPIC)
    assert log.log_end_offset == 1
    fill(log, 3)
    assert world.stop(manager) is None
    assert start().get("orders", 0).log_end_offset == 4


def test_a_new_directory_in_kafkas_layout(world, start, fill):
    manager = start(lambda: {("orders", 0): 2})
    fill(world.create(manager, "orders", 0, TOPIC), 3)
    fill(world.create(manager, "a-b", 12, TOPIC), 1)
    assert world.stop(manager, broker_epoch=42) is None
    assert world.disk.list() == [
        CLEAN_SHUTDOWN,
        "a-b-12",
        META_PROPERTIES,
        "orders-0",
        RECOVERY_POINTS,
        HIGH_WATERMARKS,
    ]
    assert world.disk.list("orders-0") == [
        "00000000000000000000.index",
        "00000000000000000000.log",
        "00000000000000000000.timeindex",
        "00000000000000000003.snapshot",
        "leader-epoch-checkpoint",
        "partition.metadata",
    ]
    assert world.content(RECOVERY_POINTS) == b"0\n2\na-b 12 1\norders 0 3\n"
    assert world.content(HIGH_WATERMARKS) == b"0\n1\norders 0 2\n"
    assert world.content(META_PROPERTIES) == b"#\ncluster.id=cluster\nnode.id=0\nversion=1\n"
    assert world.content("orders-0/partition.metadata") == b"version: 0\ntopic_id: ASNFZ4mrze8BI0VniavN7w"
    assert world.content(CLEAN_SHUTDOWN) == b'{"version":0,"brokerEpoch":42}'


def test_a_clean_stop_and_start(world, start, fill, values):
    manager = start(lambda: {("orders", 0): 2})
    assert not manager.clean_start
    fill(world.create(manager, "orders", 0, TOPIC), 3)
    world.stop(manager, broker_epoch=42)
    manager = start()
    assert (manager.clean_start, manager.previous_broker_epoch) == (True, 42)
    assert not world.disk.exists(CLEAN_SHUTDOWN)
    log = manager.get("orders", 0)
    assert (log.topic_id, len(values(log)), log.recovery_point) == (TOPIC, 3, 3)
    assert manager.checkpointed_high_watermark("orders", 0) == 2
    assert world.trace.of(LogLoaded) == [
        LogLoaded(partition="orders-0", topic_id=TOPIC.hex, offset=0, end_offset=3, reason="clean")
    ]


def test_the_marker_is_gone_for_good_before_anything_is_written(world, start, fill):
    manager = start()
    fill(world.create(manager, "orders", 0, TOPIC), 3)
    world.stop(manager)
    start()
    world.lose_power("none")
    assert not start().clean_start


def test_the_marker_of_an_older_kafka_is_empty(world, start):
    world.disk.open(CLEAN_SHUTDOWN, create=True)
    manager = start()
    assert (manager.clean_start, manager.previous_broker_epoch) == (True, -1)


def test_a_killed_node_recovers(world, start, fill, values):
    fill(world.create(start(), "orders", 0, TOPIC), 3)
    world.restart()
    manager = start()
    assert not manager.clean_start
    assert len(values(manager.get("orders", 0))) == 3
    assert world.trace.of(LogLoaded)[0].reason == "recovered"


def test_a_new_partition_survives_a_power_loss_as_an_empty_log(world, start, fill):
    fill(world.create(start(), "orders", 0, TOPIC), 3)
    world.lose_power("none")
    log = start().get("orders", 0)
    assert (log.log_end_offset, log.topic_id) == (0, TOPIC)


def test_another_topic_id_is_refused(world, start):
    manager = start()
    log = world.create(manager, "orders", 0, TOPIC)
    log.assign_topic_id(TOPIC)
    with pytest.raises(InconsistentTopicIdError):
        log.assign_topic_id(UUID(int=1))


def test_a_partition_without_topic_id_takes_the_first_one_told(world, start):
    world.create(start(), "orders", 0, TOPIC)
    world.restart()
    world.disk.unlink(f"orders-0/{PARTITION_METADATA}")
    manager = start()
    assert manager.get("orders", 0).topic_id is None
    manager.get("orders", 0).assign_topic_id(UUID(int=1))
    assert read_partition_metadata(world.disk, "orders-0") == UUID(int=1)


def test_a_deleted_partition_is_gone_at_once_and_its_files_later(world, start, fill):
    manager = start(lambda: {("orders", 0): 2}, log_segment_delete_delay_ms=500)
    log = world.create(manager, "orders", 0, TOPIC)
    fill(log, 3)
    log.flush()
    log.advance_log_start_offset(1)
    world.advance(60_000)
    manager.delete("orders", 0)
    assert manager.get("orders", 0) is None
    world.disk.complete_fsyncs()
    with pytest.raises(LogOfflineError, match="deleted"):
        log.read(1, 1)
    for path in (HIGH_WATERMARKS, RECOVERY_POINTS, LOG_START_OFFSETS):
        assert read_offsets(world.disk, path) == {}, path
    (name,) = [n for n in world.disk.list() if n.endswith("-delete")]
    assert parse_partition_dir(name) is None
    assert len(name) == len("orders-0..-delete") - 1 + 32
    again = world.create(manager, "orders", 0, UUID(int=1))
    assert (again.log_start_offset, again.log_end_offset) == (0, 0)
    assert manager.checkpointed_high_watermark("orders", 0) == 0
    world.advance(500)
    assert not world.disk.exists(name)


def test_a_deletion_that_was_begun_is_finished_by_the_next_start(world, start, fill):
    manager = start()
    fill(world.create(manager, "orders", 0, TOPIC), 3)
    manager.delete("orders", 0)
    world.disk.complete_fsyncs()
    world.lose_power("none")
    manager = start()
    assert manager.get("orders", 0) is None
    world.advance(60_000)
    assert [n for n in world.disk.list() if "orders" in n] == []


def test_a_name_too_long_for_the_disk_is_cut(world, start):
    manager = start()
    topic = "t" * 249
    world.create(manager, topic, 0, TOPIC)
    manager.delete(topic, 0)
    world.disk.complete_fsyncs()
    assert max(len(name) for name in world.disk.list()) == 255


def test_what_is_not_a_partition_is_left_alone(world, start):
    for path in ("__cluster_metadata-0", "lost+found", "plain"):
        world.disk.mkdir(path)
    world.disk.open("a-0", create=True)
    assert start().logs == {}
    assert world.disk.exists("lost+found")


def test_a_directory_of_another_node_or_cluster_is_refused(world, start):
    ensure_meta_properties(world.disk, "cluster", 1)
    with pytest.raises(InconsistentMetaPropertiesError, match=r"node\.id is '1', this node's is '0'"):
        start()


def test_retention_and_forgetting_producers_run_by_the_clock(world, start):
    manager = start(
        lambda: {("orders", 0): 20},
        log_segment_bytes=400,
        log_retention_ms=60_000,
        log_retention_check_interval_ms=10_000,
        producer_id_expiration_ms=20_000,
    )
    log = world.create(manager, "orders", 0, TOPIC)
    for i in range(20):
        data = build_batch([b"x"], timestamp_ms=0, producer_id=1, producer_epoch=0, base_sequence=i)
        log.append_as_leader(data, 1, 0)
    world.clock.advance_ms(60_000)
    assert log.log_start_offset == 0
    anything = build_batch([b"x"], timestamp_ms=60_000, producer_id=1, producer_epoch=0, base_sequence=777)
    assert not log.append_as_leader(anything, 1, 60_000).duplicate
    world.advance(10_000)
    assert log.log_start_offset > 0
    assert read_offsets(world.disk, LOG_START_OFFSETS) == {("orders", 0): log.log_start_offset}


def test_flush_ms_is_obeyed_as_soon_as_it_is_told(world, start, fill):
    manager = start(log_flush_interval_ms=1000)
    log = world.create(manager, "orders", 0, TOPIC)
    fill(log, 3)
    world.clock.advance_ms(1000)
    world.disk.complete_fsyncs()
    assert log.recovery_point == 3
    manager.configure("orders", 0, {"flush.ms": "50"})
    fill(log, 1)
    world.clock.advance_ms(50)
    world.disk.complete_fsyncs()
    assert log.recovery_point == 4


@pytest.mark.parametrize("end", ["delete", "set_aside", "never", "shutdown"])
def test_the_timer_of_flush_ms_ends_with_what_it_is_for(world, start, fill, end):
    """None is left that flushes a log which has gone, or which another setting holds for: a broker with many logs that
    come and go would collect them."""
    manager = start()
    before = world.clock.armed()
    log = world.create(manager, "orders", 0, TOPIC, {"flush.ms": "50"})
    assert world.clock.armed() == before + 1
    manager.configure("orders", 0, {"flush.ms": "60", "segment.bytes": "100"})
    assert world.clock.armed() == before + 1, "the new interval is in the place of the old one"
    fill(log, 1)
    fill(log, 1)
    assert len(world.files(".log")) == 2
    world.advance(60)
    assert log.recovery_point == 2
    assert world.clock.armed() == before + 1, "it goes on, on the segment that is new"
    fill(log, 1)
    match end:
        case "delete":
            manager.delete("orders", 0)
            assert world.clock.armed() == before + 1, "what removes the directory"
        case "set_aside":
            manager.set_aside("orders", 0)
            assert world.clock.armed() == before
        case "never":
            manager.configure("orders", 0, {"segment.bytes": "100"})
            assert world.clock.armed() == before
            flushed = log.recovery_point
            world.advance(1000)
            assert log.recovery_point == flushed
        case "shutdown":
            manager.shutdown(lambda _: None)
            assert world.clock.armed() == 0


def test_a_log_that_is_made_again_has_the_timer_of_its_own_settings(world, start, fill):
    manager = start()
    fill(world.create(manager, "orders", 0, TOPIC, {"flush.ms": "50"}), 1)
    manager.delete("orders", 0)
    world.advance(0)
    log = world.create(manager, "orders", 0, UUID(int=9), {"flush.ms": "200"})
    fill(log, 1)
    world.advance(199)
    assert log.recovery_point == 0
    world.advance(1)
    assert log.recovery_point == 1


def test_a_topics_own_settings_hold_from_the_start(world, start):
    manager = start()
    world.create(manager, "orders", 0, TOPIC, {"segment.bytes": "777"})
    assert manager.get("orders", 0).config.segment_bytes == 777
    world.restart()
    manager = world.manager()
    manager.start()
    manager.configure("orders", 0, {"segment.bytes": "888"})
    assert manager.get("orders", 0).config.segment_bytes == 888


@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_a_restart_removes_nothing_until_the_topics_settings_are_known(world, fill, policy):
    nodes = {"log_cleanup_policy": policy, "log_retention_ms": 5000, "log_retention_check_interval_ms": 1000}
    own = {"segment.bytes": "300", "retention.ms": "-1", "cleanup.policy": "delete"}
    manager = world.manager(**nodes)
    manager.start()
    log = world.create(manager, "orders", 0, TOPIC, own)
    for n in range(20):
        log.append_as_leader(build_batch([Record(key=b"k", value=b"v")], timestamp_ms=n + 1), 1, n + 1)
    assert world.stop(manager) is None
    manager = world.manager(lambda: {("orders", 0): 20}, **nodes)
    manager.start()

    def passes():
        for _ in range(80):
            world.advance(1000)
        return manager.get("orders", 0).log_start_offset, world.metrics.counts.get("highwater_log_compactions_total", 0)

    assert passes() == (0, 0)
    manager.configure("orders", 0, own)
    assert passes() == (0, 0)
    manager.configure("orders", 0, {**own, "retention.ms": "5000"})
    assert passes()[0] > 0


def test_a_stop_without_partitions(world, start):
    assert world.stop(start()) is None
    assert start().clean_start


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_stop_on_a_failing_disk_leaves_no_marker(world, start, fill, when):
    manager = start()
    fill(world.create(manager, "orders", 0, TOPIC), 3)
    answers = []
    if when == "before":
        world.disk.set_errors("fsync")
        manager.shutdown(answers.append)
        world.disk.complete_fsyncs()
    else:
        manager.shutdown(answers.append)
        world.disk.set_errors("writes")
        world.disk.complete_fsyncs()
    assert isinstance(answers[0], OSError)
    assert len(answers) == 1
    world.disk.heal()
    assert not world.disk.exists(CLEAN_SHUTDOWN)


def test_a_stop_with_a_log_offline_leaves_no_marker(world, start, fill):
    manager = start()
    fill(world.create(manager, "orders", 0, TOPIC), 3)
    world.disk.set_errors("writes")
    with pytest.raises(LogOfflineError, match="Errno 5"):
        fill(manager.get("orders", 0), 1)
    world.disk.heal()
    world.create(manager, "orders", 1, TOPIC)
    assert world.stop(manager) is None, "the broker stops as it should, though one log has failed"
    assert not start().clean_start


def test_a_log_that_fails_in_the_periodic_work_is_passed_over_and_the_others_go_on(world, start, fill):
    committed = {("orders", 0): 9, ("orders", 1): 9}
    manager = start(lambda: committed, log_segment_bytes=400, log_retention_ms=1000, log_flush_interval_ms=500)
    failed = []
    manager.on_failed = failed.append
    for index in (0, 1):
        fill(world.create(manager, "orders", index, TOPIC), 9)
    world.clock.advance_ms(0)
    world.disk.unlink("orders-0/00000000000000000000.log")
    manager.checkpoint_high_watermarks()
    world.advance(60_000)
    assert failed == [("orders", 0)]
    assert manager.logs["orders", 1].log_start_offset > 0, "retention went on"
    assert manager.get("orders", 0).failure is not None


def rolled(world, start, fill):
    """A log of four segments, of which only the periodic fsyncs know."""
    manager = start(log_segment_bytes=400)
    log = world.create(manager, "orders", 0, TOPIC)
    fill(log, 20)
    assert log.segment_count > 2
    return manager


def test_a_clean_stop_makes_every_segment_durable(world, start, fill):
    """Also those that were rolled in an earlier incarnation, whose fsyncs ended with the process."""
    rolled(world, start, fill)
    world.disk.forget_fsyncs()
    world.restart()  # SIGKILL: the page cache stays
    manager = start(log_segment_bytes=400)
    assert world.stop(manager) is None
    world.lose_power("none")
    manager = start(log_segment_bytes=400)
    log = manager.get("orders", 0)
    assert manager.clean_start
    assert (log.log_start_offset, log.log_end_offset) == (0, 20)


def test_a_stop_waits_for_the_fsyncs_under_way(world, start, fill):
    manager = rolled(world, start, fill)
    held = world.disk.forget_fsyncs()
    answers = []
    manager.shutdown(answers.append)
    for _ in range(4):
        world.disk.complete_fsyncs()
        world.clock.advance_ms(0)
    assert held
    assert answers == []
    assert not world.disk.exists(CLEAN_SHUTDOWN)


def test_a_crash_amid_a_deletion_leaves_the_successor_no_offsets(world, start, fill):
    high_watermarks = {}
    manager = start(lambda: high_watermarks)
    log = world.create(manager, "orders", 0, TOPIC)
    fill(log, 60)
    high_watermarks["orders", 0] = 60
    log.flush()
    log.advance_log_start_offset(50)
    world.advance(61_000)
    manager.delete("orders", 0)
    high_watermarks.clear()
    world.disk.run_one_job()  # the directory is renamed; the checkpoints are not written yet
    assert b"orders" in world.content(LOG_START_OFFSETS)
    world.restart()
    manager = start(dict)
    world.disk.complete_fsyncs()
    log = world.create(manager, "orders", 0, UUID(int=2))
    fill(log, 55)
    log.flush()
    world.restart()
    log = start(dict).get("orders", 0)
    assert (log.topic_id, log.log_start_offset, log.log_end_offset) == (UUID(int=2), 0, 55)
