"""One replica's log on disk, in Kafka's format and directory layout.

Who reads this to code against it finds the whole surface here.

**Batches** (:mod:`.records`, :mod:`.control`)::

    build_batch(records: Iterable[Record | bytes], *, base_offset=0, leader_epoch=-1, producer_id=-1,
                producer_epoch=-1, base_sequence=-1, timestamp_ms=-1, last_offset=None, is_control=False) -> bytes
    iter_batches(data) -> Iterator[BatchView]      # a batch cut off at the end is left out
    BatchView: .base_offset .last_offset .end_offset .leader_epoch .crc .producer_id .producer_epoch .base_sequence
               .last_sequence .record_count .base_timestamp .max_timestamp .size_in_bytes .is_control .codec
               .records() -> list[Record] .ensure_valid() .bytes_of()
    Record(offset, timestamp, key, value, headers)
    build_leader_change(leader_id, voters, granting_voters, *, base_offset, leader_epoch, timestamp_ms) -> bytes
    read_leader_change(batch) -> LeaderChange | None

**Log** (:mod:`.log`); offsets are ints, ends are exclusive::

    Log.open(disk, directory, config: LogConfig, clock: Clock, *, topic_id=None, clean=False, recovery_point=0,
             log_start_offset=0, trace=None, trace_appends=True) -> Log      # creates it where there is none
    .partition (the directory's name) .topic_id .log_start_offset .log_end_offset .recovery_point .latest_epoch
    .size_in_bytes
    .append_as_leader(records, leader_epoch, now_ms, *, origin="client") -> AppendInfo
                                                # origin="raft": control batches allowed, no producer checks
    .append_as_follower(records, *, leader_epoch=-1) -> AppendInfo
    .read(offset, max_bytes, *, max_offset=None, min_one_batch=True) -> bytes     # whole batches, first holds offset
    .batches_between(from_offset, to_offset) -> Iterator[BatchView]
    .batch_marks(from_offset, to_offset) -> list[BatchMark]          # headers only: what BatchCommitted needs
    .assign_epoch_start(epoch, start_offset)
    .epoch_end_offset(epoch) -> EpochEnd(epoch, end_offset)          # (-1, -1): not known (KIP-101, KIP-279)
    .epoch_of(offset) -> int
    .truncate_to(offset, *, reason="diverging-epoch", leader_epoch=-1) -> bool      # may raise TruncationPendingError
    .truncate_fully_and_start_at(offset, *, leader_epoch=-1)
    .advance_log_start_offset(offset, *, reason="delete-records") -> bool
    .delete_old_segments(now_ms, high_watermark) -> int
    .offset_for_timestamp(ts) -> TimestampOffset | None    .offset_of_max_timestamp() -> TimestampOffset | None
    .flush() / .flush_later(on_done)   .close()   .abandon(reason)   .is_online   .update_config(config)
    .assign_topic_id(topic_id)   .epoch_entries   .recovery (reason, cuts)   .lower_recovery_point (callback)
    AppendInfo: .first_offset .last_offset .end_offset .duplicate .max_timestamp .log_start_offset .marks

**LogManager** (:mod:`.manager`), owner of a data directory::

    LogManager(ports, config: NodeConfig, cluster_id, node_id, high_watermarks: Callable[[], Mapping[tp, int]])
    .start(topic_properties=None)  # load everything, begin checkpoints, retention and flush timers
    .clean_start .previous_broker_epoch .logs: dict[TopicPartition, Log] (sorted when loaded)
    .get(topic, partition) -> Log | None
    .create(topic, partition, topic_id: UUID, on_created: Callable[[Log], None], properties=None)  # off the events
    .configure(topic, partition, properties)      .delete(topic, partition)
    .checkpointed_high_watermark(topic, partition) -> int            # brought within [log start, LEO]
    .checkpoint_high_watermarks() (and by timer)  .shutdown(on_done: Callable[[OSError | None], None], broker_epoch=-1)

``TopicPartition(topic, partition)`` is a NamedTuple, equal to the plain tuple. A node without partitions (controller)
calls ``ensure_meta_properties(disk, cluster_id, node_id)`` itself.

**Errors** (:mod:`.errors`): each class has ``KAFKA_ERROR``, the name in ``ErrorCode``. Faults of the disk are
``OSError``; after one, and after ``close``, everything raises ``LogOfflineError``.

**Trace.** A log with a ``trace`` emits ``LogLoaded`` and ``LogCut`` when opened and, unless ``trace_appends=False``,
``LogAppended``, ``LogFlushed``, ``LogTruncated`` and ``LogStartMoved`` whenever its offsets changed, with the leader
epoch it was given: callers must not emit them again. A duplicate batch appends nothing and is not reported.
``trace=None`` (metadata log): silent; what recovery cut is then in ``log.recovery``. Reasons of ``LogCut``:
``short-batch``, ``bad-size``, ``bad-magic``, ``bad-crc``, ``gap``, ``epoch-regression``; ``short-log`` (what had been
flushed is gone) and ``behind-log-start`` (the log ended before its start offset)."""

from __future__ import annotations

from highwater_runtime.log.checkpoints import ensure_meta_properties
from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.control import (
    ControlType,
    LeaderChange,
    build_control_batch,
    build_leader_change,
    control_type_of,
    read_leader_change,
)
from highwater_runtime.log.epoch_cache import UNDEFINED_EPOCH, UNDEFINED_OFFSET, EpochEnd
from highwater_runtime.log.errors import LogError
from highwater_runtime.log.log import Log
from highwater_runtime.log.manager import LogManager
from highwater_runtime.log.names import METADATA_LOG_DIR, TopicPartition
from highwater_runtime.log.records import BatchView, Record, build_batch, iter_batches
from highwater_runtime.log.results import AppendInfo, BatchMark, TimestampOffset

__all__ = [
    "METADATA_LOG_DIR",
    "UNDEFINED_EPOCH",
    "UNDEFINED_OFFSET",
    "AppendInfo",
    "BatchMark",
    "BatchView",
    "ControlType",
    "EpochEnd",
    "LeaderChange",
    "Log",
    "LogConfig",
    "LogError",
    "LogManager",
    "Record",
    "TimestampOffset",
    "TopicPartition",
    "build_batch",
    "build_control_batch",
    "build_leader_change",
    "control_type_of",
    "ensure_meta_properties",
    "iter_batches",
    "read_leader_change",
]
