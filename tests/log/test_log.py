"""What a log takes and refuses, when it rolls, what it deletes, what it vouches for."""

from dataclasses import replace

import pytest

from highwater_runtime.log import Log, LogConfig, Record, build_batch, iter_batches
from highwater_runtime.log.config import TOPIC_PROPERTIES
from highwater_runtime.log.control import build_leader_change
from highwater_runtime.log.errors import (
    CorruptRecordError,
    EpochRegressionError,
    InvalidProducerEpochError,
    InvalidRecordError,
    LogError,
    OffsetOutOfRangeError,
    OutOfOrderSequenceError,
    RecordBatchTooLargeError,
    RecordTooLargeError,
    TruncationPendingError,
    UnexpectedAppendOffsetError,
    UnsupportedMessageFormatError,
)
from highwater_runtime.ports.trace import LogAppended, LogLoaded, LogTruncated
from highwater_runtime.wire.errors import ErrorCode

HOUR = 3_600_000


def changed(data, position, value):
    data = bytearray(data)
    data[position] = value
    return bytes(data)


ONE = build_batch([b"a"], timestamp_ms=1)


@pytest.mark.parametrize(
    ("records", "error"),
    [
        (b"", InvalidRecordError),
        (b"too short", CorruptRecordError),
        (ONE[:-1], CorruptRecordError),
        (ONE + b"x", CorruptRecordError),
        (changed(ONE, 16, 1), UnsupportedMessageFormatError),
        (changed(ONE, 65, 7), CorruptRecordError),
        (build_leader_change(1, [1], [1]), InvalidRecordError),
        (build_batch([Record(offset=3, value=b"sparse")], last_offset=5), InvalidRecordError),
        (build_batch([], last_offset=0), InvalidRecordError),
        (build_batch([b"a"], producer_id=1, producer_epoch=0), InvalidRecordError),
        (build_batch([b"a"], producer_id=1, base_sequence=0), InvalidRecordError),
        (ONE + build_batch([b"a"], producer_id=1, producer_epoch=0, base_sequence=0), InvalidRecordError),
        (ONE + ONE, InvalidRecordError),
        (build_batch([b"a" * 500]), RecordTooLargeError),
        (build_batch([b"a" * 400]), RecordBatchTooLargeError),
    ],
)
def test_a_leader_refuses_and_stays_as_it_was(world, small_config, fill, records, error):
    log = world.open(replace(small_config, max_message_bytes=500))
    fill(log, 2)
    before = log.read(0, 10_000)
    world.trace.events.clear()
    with pytest.raises(error):
        log.append_as_leader(records, 2, 0)
    assert (log.log_end_offset, log.latest_epoch, log.read(0, 10_000)) == (2, 1, before)
    assert world.trace.events == []


def test_a_producer_out_of_order_or_fenced_changes_nothing(world, fill):
    log = world.open()
    fill(log, 1, producer_id=1, producer_epoch=4, base_sequence=0)
    with pytest.raises(OutOfOrderSequenceError):
        fill(log, 1, producer_id=1, producer_epoch=4, base_sequence=2)
    with pytest.raises(InvalidProducerEpochError):
        fill(log, 1, producer_id=1, producer_epoch=3, base_sequence=1)
    assert log.log_end_offset == 1


def test_the_bytes_behind_base_offset_and_epoch_are_the_producers_own(world):
    log = world.open()
    data = [build_batch([b"a", b"b"]), build_batch([b"c"])]
    for _ in range(2):
        for one in data:
            log.append_as_leader(one, 7, 0)
    stored = log.read(3, 1000)
    for mine, theirs in zip(iter_batches(stored), iter_batches(b"".join(data)), strict=True):
        assert mine.bytes_of()[16:] == theirs.bytes_of()[16:]
        assert mine.leader_epoch == 7
        assert mine.crc == theirs.crc
    assert [b.base_offset for b in iter_batches(stored)] == [3, 5]


def test_the_answer_to_an_append(world):
    log = world.open()
    batches = build_batch([b"a", b"b"], timestamp_ms=5) + build_batch([b"c"], timestamp_ms=3)
    info = log.append_as_leader(batches, 2, 9, origin="raft")
    assert (info.first_offset, info.last_offset, info.end_offset) == (0, 2, 3)
    assert (info.max_timestamp, info.duplicate, info.log_start_offset) == (5, False, 0)
    assert [(m.base_offset, m.end_offset, m.epoch) for m in info.marks] == [(0, 2, 2), (2, 3, 2)]
    assert [m.crc for m in info.marks] == [b.crc for b in log.batches_between(0, 3)]
    assert list(info.marks) == log.batch_marks(0, 3)


def test_raft_may_append_a_batch_that_is_larger_than_a_segment(world, small_config, values):
    """``log.segment.bytes`` is for topics; a controller that obeyed it with 700 bytes ended at its first records."""
    log = world.open(small_config)
    for _ in range(2):
        log.append_as_leader(build_batch([b"a" * small_config.segment_bytes]), 3, 0, origin="raft")
    assert (len(values(log)), log.segment_count) == (2, 2)


def test_raft_may_append_control_batches(world):
    log = world.open()
    log.append_as_leader(build_leader_change(1, [1], [1]), 3, 0, origin="raft")
    (batch,) = log.batches_between(0, 1)
    assert batch.is_control
    batch.ensure_valid()


def test_compressed_and_sparse_batches_pass_through(world, compressed):
    log = world.open()
    log.append_as_leader(compressed("zstd", build_batch([b"a", b"b", b"c"])), 1, 0)
    sparse = build_batch([Record(offset=4, value=b"kept")], base_offset=3, last_offset=9, leader_epoch=1)
    log.append_as_follower(sparse + build_batch([b"next"], base_offset=10, leader_epoch=1))
    assert log.log_end_offset == 11
    assert [b.codec for b in log.batches_between(0, 11)] == ["zstd", "none", "none"]
    assert log.read(7, 1) == sparse, "the batch that holds an offset, though no record has it"
    assert log.offset_for_timestamp(-1) is None or log.offset_for_timestamp(0) is None


@pytest.mark.parametrize(
    ("records", "error"),
    [
        (build_batch([b"x"], base_offset=4, leader_epoch=3), UnexpectedAppendOffsetError),
        (build_batch([b"x"], base_offset=2, leader_epoch=3), UnexpectedAppendOffsetError),
        (build_batch([b"x"], base_offset=3, leader_epoch=2), EpochRegressionError),
        (
            build_batch([b"x"], base_offset=3, leader_epoch=4) + build_batch([b"x"], base_offset=5),
            UnexpectedAppendOffsetError,
        ),
        (
            build_batch([b"x"], base_offset=3, leader_epoch=4) + build_batch([b"x"], base_offset=4, leader_epoch=3),
            EpochRegressionError,
        ),
        (changed(build_batch([b"x"], base_offset=3, leader_epoch=3), 62, 9), CorruptRecordError),
        (build_batch([b"x"], base_offset=3, leader_epoch=3)[:-1], InvalidRecordError),
    ],
)
def test_a_follower_refuses_and_stays_as_it_was(world, fill, records, error):
    log = world.open()
    fill(log, 3, epoch=3)
    with pytest.raises(error):
        log.append_as_follower(records)
    assert (log.log_end_offset, log.latest_epoch) == (3, 3)


def test_an_epoch_in_which_it_wrote_nothing_does_not_bind_a_former_leader(world, fill):
    log = world.open()
    fill(log, 3, epoch=3)
    log.assign_epoch_start(5, 3)
    assert log.epoch_end_offset(3) == (3, 3)
    log.append_as_follower(build_batch([b"x"], base_offset=3, leader_epoch=4))
    assert log.epoch_entries == [(3, 0), (4, 3)]


def test_a_truncation_to_the_end_forgets_an_epoch_without_records(world, fill):
    """Its leader may know of another epoch there (see Kafka's UnifiedLog.truncateTo)."""
    log = world.open()
    fill(log, 3, epoch=3)
    log.assign_epoch_start(5, 3)
    assert not log.truncate_to(3)
    assert log.latest_epoch == 3


@pytest.mark.parametrize("offset", [-1, 1, 7])
def test_reads_outside_are_refused(world, fill, offset):
    log = world.open()
    fill(log, 6)
    log.advance_log_start_offset(2)
    with pytest.raises(OffsetOutOfRangeError, match=r"\[2, 6\]"):
        log.read(offset, 100)
    assert log.read(6, 100) == b""


# --- segments -------------------------------------------------------------------------------------------------------


def test_it_rolls_by_size_age_and_index(world):
    def segments(config, times):
        world.directory += "x"
        log = world.open(config)
        for t in times:
            log.append_as_leader(build_batch([b"v" * 20], timestamp_ms=t), 1, t if t >= 0 else world.clock.wall_ms())
            if t < 0:
                world.clock.advance_ms(600)
        log.flush()
        return [int(n.removesuffix(".log")) for n in world.files(".log")]

    size = len(build_batch([b"v" * 20]))
    assert segments(LogConfig(segment_bytes=2 * size), [1] * 5) == [0, 2, 4]
    assert segments(LogConfig(segment_ms=1000), [5, 500, 1005, 1006, 2006, 2007]) == [0, 3, 5]
    assert segments(LogConfig(segment_ms=1000), [-1] * 5) == [0, 2, 4]
    assert segments(LogConfig(index_interval_bytes=1, index_max_bytes=24), [1] * 9) == [0, 4, 8], "three entries fit"


def test_it_rolls_before_a_relative_offset_overflows(world):
    log = world.open(LogConfig())
    far = build_batch([b"x"], base_offset=0, last_offset=2**31 - 1, leader_epoch=1)
    log.append_as_follower(far)
    log.append_as_follower(build_batch([b"y"], base_offset=2**31, leader_epoch=1))
    assert log.segment_count == 2
    assert log.read(2**31, 100)
    assert log.read(2**31 - 5, 10_000) == far


def test_a_truncation_removes_whole_segments_and_the_batch_that_holds_the_offset(world):
    log = world.open()
    for i in range(10):
        log.append_as_leader(build_batch([b"%d" % i, b"v" * 60, b"w"]), 1, 0)
    assert log.segment_count > 3
    world.trace.events.clear()
    assert log.truncate_to(13, leader_epoch=4)
    assert log.log_end_offset == 12
    (event,) = world.trace.events
    assert event == LogTruncated(
        partition="orders-0", leader_epoch=4, offset=12, end_offset=30, reason="diverging-epoch"
    )
    deleted = world.files(".deleted")
    assert deleted
    world.advance(100)
    assert world.files(".deleted") == []
    assert len(world.files(".log")) == log.segment_count


def test_a_truncation_below_the_first_segment_begins_anew(world, fill):
    log = world.open()
    log.truncate_fully_and_start_at(50, leader_epoch=2)
    assert world.trace.of(LogTruncated)[0].reason == "restart-at"
    fill(log, 3)
    log.advance_log_start_offset(51)
    log.truncate_to(20)
    assert (log.log_start_offset, log.log_end_offset, log.epoch_entries) == (20, 20, [])
    assert world.files(".log") == [f"{20:020d}.log"]


def test_nothing_is_left_of_producers_where_a_log_begins_anew(world, fill):
    fill(log := world.open(), 3)
    log.close()
    assert len(world.files(".snapshot")) == 1
    log = world.open(clean=True, recovery_point=10**9)
    log.truncate_fully_and_start_at(50)
    assert world.files(".snapshot") == []


def test_beginning_anew_where_it_began_before(world, fill, values):
    log = world.open()
    fill(log, 3)
    log.truncate_fully_and_start_at(0)
    fill(log, 1, value=b"again", epoch=2)
    log.truncate_fully_and_start_at(0)
    fill(log, 1, value=b"last", epoch=3)
    world.advance(1000)
    assert values(log) == [(0, 3, b"last0")]
    assert len(world.files(".log")) == 1
    assert world.files(".deleted") == []


# --- retention ------------------------------------------------------------------------------------------------------


@pytest.fixture
def aged(world, fill):
    """Segments of five batches, one batch an hour."""
    log = world.open(LogConfig(segment_bytes=360, index_interval_bytes=100, retention_ms=-1, delete_delay_ms=100))
    for i in range(20):
        fill(log, 1, timestamp=i * HOUR, epoch=1 + i // 10)
    return log


def bases(world):
    return [int(n.removesuffix(".log")) for n in world.files(".log")]


def test_nothing_is_deleted_without_a_limit(aged):
    assert aged.delete_old_segments(10**12, 20) == 0


def test_old_segments_go_in_order_and_the_active_one_stays(world, aged):
    before = bases(world)
    aged.update_config(replace(aged.config, retention_ms=9 * HOUR))
    assert aged.delete_old_segments(19 * HOUR, 20) > 0
    first = aged.log_start_offset
    assert first in before
    assert 5 < first <= 10, "its last record is not yet nine hours old"
    assert bases(world) == [b for b in before if b >= first]
    assert aged.epoch_end_offset(1) == (1, 10)
    assert aged.delete_old_segments(1000 * HOUR, 20) > 0
    assert aged.segment_count == 1
    assert aged.log_end_offset == 20
    assert aged.epoch_entries == [(2, aged.log_start_offset)]


def test_nothing_above_the_high_watermark_is_deleted(aged):
    aged.update_config(replace(aged.config, retention_ms=1, retention_bytes=0))
    aged.delete_old_segments(1000 * HOUR, 7)
    assert aged.log_start_offset <= 7
    assert aged.read(7, 100)


def test_as_many_bytes_stay_as_are_to_be_retained(aged):
    total = aged.size_in_bytes
    aged.update_config(replace(aged.config, retention_bytes=total - 1))
    assert aged.delete_old_segments(0, 20) == 0, "a whole segment too much, or none goes"
    aged.update_config(replace(aged.config, retention_bytes=500))
    aged.delete_old_segments(0, 20)
    assert 500 <= aged.size_in_bytes < 500 + 360


def test_a_higher_start_offset_lets_segments_go(world, aged):
    _first, second, third = bases(world)[:3]
    aged.advance_log_start_offset(third - 1)
    assert aged.delete_old_segments(0, 20) == 1
    assert bases(world)[0] == second
    assert aged.log_start_offset == third - 1, "not the segment's base"
    with pytest.raises(OffsetOutOfRangeError):
        aged.advance_log_start_offset(21)


def test_deleted_files_go_later_or_with_the_next_start(world, aged):
    aged.update_config(replace(aged.config, retention_bytes=0))
    aged.delete_old_segments(0, 20)
    assert world.files(".deleted")
    aged.close()
    world.restart()
    world.open(clean=True, recovery_point=20, log_start_offset=aged.log_start_offset)
    assert world.files(".deleted") == []


# --- flushing -------------------------------------------------------------------------------------------------------


def test_a_flush_ends_later_and_vouches_for_what_was_there_when_it_began(world, fill):
    log, done = world.open(LogConfig()), []
    fill(log, 3)
    log.flush_later(done.append)
    fill(log, 2)
    assert (done, log.recovery_point) == ([], 0)
    world.disk.complete_fsyncs()
    assert (done, log.recovery_point) == ([None], 3)


def test_a_second_flush_waits_for_what_the_first_has_not_ended(world, fill):
    log, done = world.open(LogConfig()), []
    fill(log, 3)
    log.flush_later(lambda error: done.append(1))
    log.flush_later(lambda error: done.append(2))
    world.clock.advance_ms(0)
    assert done == []
    world.disk.complete_fsyncs()
    assert done == [1, 2]


def test_with_nothing_to_flush_it_ends_in_an_event_of_its_own(world):
    log, done = world.open(), []
    log.flush_later(done.append)
    assert done == []
    world.clock.advance_ms(0)
    assert done == [None]


def test_a_truncation_takes_back_what_a_flush_would_vouch_for(world, fill):
    log = world.open(LogConfig())
    fill(log, 10)
    log.flush_later(lambda error: None)
    log.truncate_to(4)
    fill(log, 10, epoch=2)
    world.disk.complete_fsyncs()
    assert log.recovery_point == 4


def test_the_owner_lowers_the_checkpoint_of_the_recovery_point_before_the_cut(world, fill):
    log, heard, lowered = world.open(LogConfig()), [], False
    fill(log, 10)
    log.flush()

    def lower(offset):
        heard.append((offset, log.recovery_point, log.log_end_offset))
        return lowered

    log.lower_recovery_point = lower
    with pytest.raises(TruncationPendingError):
        log.truncate_to(6)
    lowered = True
    log.truncate_to(6)
    assert heard == [(6, 6, 10), (6, 6, 10)]


def test_flush_messages_makes_an_append_wait_for_the_disk(world, fill, values):
    log = world.open(LogConfig(flush_messages=1))
    fill(log, 5)
    world.lose_power("none")
    assert len(values(world.open())) == 5


def test_rolling_flushes_what_was_sealed(world, fill):
    log = world.open()
    fill(log, 12)
    world.disk.complete_fsyncs()
    assert log.recovery_point == bases(world)[-1] > 0


# --- what it reports ------------------------------------------------------------------------------------------------


def test_every_change_of_offsets_is_reported_once(world):
    log = world.open()
    assert world.trace.events == [
        LogLoaded(partition="orders-0", topic_id="", offset=0, end_offset=0, reason="created")
    ]
    world.trace.events.clear()
    log.append_as_leader(build_batch([b"a", b"b"]), 3, 0)
    log.append_as_follower(build_batch([b"c"], base_offset=2, leader_epoch=4), leader_epoch=5)
    log.truncate_to(1, leader_epoch=5)
    log.truncate_to(0, leader_epoch=5)
    assert world.trace.events == [
        LogAppended(partition="orders-0", leader_epoch=3, offset=0, end_offset=2, reason="leader"),
        LogAppended(partition="orders-0", leader_epoch=5, offset=2, end_offset=3, reason="follower"),
        LogTruncated(partition="orders-0", leader_epoch=5, offset=0, end_offset=3, reason="diverging-epoch"),
    ]


def test_the_metadata_log_can_be_silent(world, fill):
    log = Log.open(world.disk, "silent-0", LogConfig(), world.clock)
    fill(log, 2)
    log.truncate_to(0)
    heard = Log.open(world.disk, "half-0", LogConfig(), world.clock, trace=world.trace, trace_appends=False)
    fill(heard, 2)
    heard.truncate_to(1)
    assert [type(event) for event in world.trace.events] == [LogLoaded]


# --- the rest -------------------------------------------------------------------------------------------------------


def test_every_error_is_one_of_kafkas():
    def below(cls):
        return [cls, *(c for sub in cls.__subclasses__() for c in below(sub))]

    for error in below(LogError):
        assert error.KAFKA_ERROR in ErrorCode.__members__, error


def test_topic_properties_override_the_nodes():
    from highwater_runtime.config import NodeConfig

    node = NodeConfig(log_segment_bytes=1000, log_retention_ms=77)
    config = LogConfig.of(node, {"segment.bytes": "500", "cleanup.policy": "delete", "flush.messages": "1"})
    assert (config.segment_bytes, config.retention_ms, config.flush_messages) == (500, 77, 1)
    assert LogConfig.of(NodeConfig()) == LogConfig()
    assert set(TOPIC_PROPERTIES.values()) <= set(LogConfig.__slots__)
