"""The owner of a data directory: every partition's log, and the files that speak of all of them.

* On start it takes the clean-shutdown marker away (durably, before anything else: a marker that outlives its truth
  would switch recovery off), then opens every log, with recovery unless the marker was there.
* From time to time it writes the recovery points, log start offsets and high watermarks. A recovery point that a
  truncation lowers is written before the truncation (``truncation_sync`` false, as in Kafka: after it), and all of
  them after loading: stale and too high, one would vouch for bytes that were written anew since.
* A partition that is deleted is renamed first (``orders-0.<uuid>-delete``), forgotten by the checkpoints, and removed
  after ``log.segment.delete.delay.ms``; a start finishes what an earlier incarnation began.
* A log that fails is passed over from then on, and ``on_failed`` is called once for it, in an event of its own. An
  error in a file that all logs share (checkpoints, marker, the directory itself) is another matter: that is the
  failure of the only log directory, an ``OSError`` that ends the node, as it does in Kafka.
* On shutdown everything is flushed and closed, then the checkpoints are written, then the marker. Where a log has
  failed there is no marker, and the next start recovers.

``__cluster_metadata-0`` lies in the same directory but belongs to the quorum's replica (:mod:`highwater_runtime.raft`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final
from uuid import UUID

from highwater_runtime.config import NodeConfig
from highwater_runtime.log.checkpoints import (
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    ensure_meta_properties,
    read_offsets,
    take_clean_shutdown,
    write_clean_shutdown,
    write_offsets,
)
from highwater_runtime.log.compaction import Compaction
from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.errors import CorruptCheckpoint, LogOffline
from highwater_runtime.log.log import Log
from highwater_runtime.log.names import DELETE_DIR, METADATA_LOG_DIR, TopicPartition, parse_partition_dir
from highwater_runtime.ports import MS, Ports, Timer
from highwater_runtime.ports.trace import TransitionTaken

_NEVER: Final = 2**63 - 1
_LONGEST_NAME: Final = 255
_INITIAL_RETENTION_DELAY_MS: Final = 30_000
_LEAST_DIRTY_SHARE: Final = 0.5
"""A log is compacted when so much of it was written since (Kafka's ``min.cleanable.dirty.ratio``)."""


class LogManager:
    """Logs by partition, in ``logs``. ``high_watermarks`` tells the current HW of the partitions the broker runs.

    A caller sets ``on_failed`` to hear of logs that go offline because of their files.

    ``clean_start``: the last incarnation was shut down cleanly, in broker epoch ``previous_broker_epoch`` (−1:
    unknown). Both are known after :meth:`start`.
    """

    def __init__(
        self,
        ports: Ports,
        config: NodeConfig,
        cluster_id: str,
        node_id: int,
        high_watermarks: Callable[[], Mapping[TopicPartition, int]],
        *,
        truncation_sync: bool = True,
    ) -> None:
        self.logs: dict[TopicPartition, Log] = {}
        self.clean_start = False
        self.previous_broker_epoch = -1
        self.on_failed: Callable[[TopicPartition], None] | None = None
        self._ports = ports
        self._disk = ports.disk
        self._config = config
        self._cluster_id = cluster_id
        self._node_id = node_id
        self._high_watermarks = high_watermarks
        self._truncation_sync = truncation_sync
        self._checkpointed_hw: dict[TopicPartition, int] = {}
        self._written: dict[str, dict[TopicPartition, int]] = {}
        self._timers: dict[str, Timer] = {}
        self._compacting: tuple[TopicPartition, Compaction] | None = None
        self._compacted_to: dict[TopicPartition, int] = {}
        """Up to where a pass of this incarnation has compacted a log; a restart looks at everything once more."""

    # --- start -------------------------------------------------------------------------------------------------------

    def start(self, topic_properties: Callable[[str], Mapping[str, str]] | None = None) -> None:
        """Load every log and begin the periodic work. ``topic_properties`` gives a topic's own settings, if known.

        Raises:
            InconsistentMetaProperties: the directory belongs to another node or cluster.
            OSError: the disk failed.
        """
        ensure_meta_properties(self._disk, self._cluster_id, self._node_id)
        marker = take_clean_shutdown(self._disk)
        self.clean_start = marker is not None
        self.previous_broker_epoch = -1 if marker is None else marker
        recovery_points = self._read(RECOVERY_POINTS)
        start_offsets = self._read(LOG_START_OFFSETS)
        self._checkpointed_hw = self._read(HIGH_WATERMARKS)
        for name in self._disk.list():
            if name.endswith(DELETE_DIR) and self._disk.is_dir(name):
                self._remove_dir_later(name)
                continue
            tp = parse_partition_dir(name)
            if tp is None or name == METADATA_LOG_DIR or not self._disk.is_dir(name):
                continue
            self.logs[tp] = Log.open(
                self._disk,
                name,
                self._log_config(topic_properties(tp.topic) if topic_properties else None),
                self._ports.clock,
                clean=self.clean_start,
                recovery_point=recovery_points.get(tp, 0),
                log_start_offset=start_offsets.get(tp, 0),
                trace=self._ports.trace,
            )
            self._adopt(tp)
        self._checkpointed_hw = {tp: hw for tp, hw in self._checkpointed_hw.items() if tp in self.logs}
        # A recovered log may end before the point to which it was durable once; nothing may vouch for what comes there.
        self.checkpoint_recovery_points()
        config = self._config
        self._every("recovery-points", config.log_flush_checkpoint_interval_ms, self.checkpoint_recovery_points)
        self._every("start-offsets", config.log_flush_checkpoint_interval_ms, self.checkpoint_start_offsets)
        self._every("hw", config.high_watermark_checkpoint_interval_ms, self.checkpoint_high_watermarks)
        first = min(_INITIAL_RETENTION_DELAY_MS, config.log_retention_check_interval_ms)
        self._every("retention", config.log_retention_check_interval_ms, self.clean_up, first_ms=first)

    def _read(self, path: str) -> dict[TopicPartition, int]:
        try:
            offsets = read_offsets(self._disk, path)
        except CorruptCheckpoint:
            # Nothing known is always safe to begin with (recover everything, HW 0), and costs only time.
            self._ports.metrics.counter("highwater_log_corrupt_checkpoints_total", file=path)
            return {}
        self._written[path] = dict(offsets)
        return offsets

    def _every(self, key: str, interval_ms: int, action: Callable[[], None], *, first_ms: int | None = None) -> None:
        def tick() -> None:
            self._timers[key] = self._ports.clock.call_later(interval_ms * MS, tick)
            action()

        delay = interval_ms if first_ms is None else first_ms
        self._timers[key] = self._ports.clock.call_later(delay * MS, tick)

    def _adopt(self, tp: TopicPartition) -> None:
        log = self.logs[tp]
        log.on_recovery_point_lowered = self.checkpoint_recovery_points
        log.on_failure = lambda: self._failed(tp, log)
        key = f"flush {tp}"
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        if log.config.flush_ms < _NEVER:
            self._every(key, max(1, log.config.flush_ms), lambda: self._flush_if_needed(log))

    def _failed(self, tp: TopicPartition, log: Log) -> None:
        self._ports.metrics.counter("highwater_log_failures_total")

        def tell() -> None:
            if self.logs.get(tp) is log and self.on_failed is not None:
                self.on_failed(tp)

        self._ports.clock.call_later(0, tell)

    def _flush_if_needed(self, log: Log) -> None:
        if log.is_online and log.recovery_point < log.log_end_offset:
            try:
                log.flush_later(lambda _error: None)
            except LogOffline:
                return  # this log's failure, which _failed has noted

    def _log_config(self, properties: Mapping[str, str] | None) -> LogConfig:
        return replace(LogConfig.of(self._config, properties), truncation_sync=self._truncation_sync)

    # --- partitions --------------------------------------------------------------------------------------------------

    def get(self, topic: str, partition: int) -> Log | None:
        """The log of a partition, if this node has one."""
        return self.logs.get(TopicPartition(topic, partition))

    def get_or_create(
        self, topic: str, partition: int, topic_id: UUID, properties: Mapping[str, str] | None = None
    ) -> Log:
        """The log of a partition; created, durably, where there is none. ``properties``: the topic's own settings.

        The log may have failed, also just now.

        Raises:
            InconsistentTopicId: the partition's directory belongs to another topic id.
            OSError: the disk failed, and there is no log.
        """
        tp = TopicPartition(topic, partition)
        log = self.logs.get(tp)
        if log is not None:
            try:
                log.assign_topic_id(topic_id)
            except LogOffline:
                return log  # as it is: the caller sees to a log that has failed
            return log
        log = self.logs[tp] = Log.open(
            self._disk,
            str(tp),
            self._log_config(properties),
            self._ports.clock,
            topic_id=topic_id,
            trace=self._ports.trace,
        )
        self._adopt(tp)
        return log

    def configure(self, topic: str, partition: int, properties: Mapping[str, str]) -> None:
        """Let a partition's log obey its topic's settings from now on."""
        tp = TopicPartition(topic, partition)
        self.logs[tp].update_config(self._log_config(properties))
        self._adopt(tp)

    def delete(self, topic: str, partition: int) -> None:
        """Take a partition away: gone for every reader and every restart now, from the disk after a delay.

        Raises:
            KeyError: there is no such log.
            OSError: the disk failed.
        """
        tp = TopicPartition(topic, partition)
        if self._compacting is not None and self._compacting[0] == tp:
            self._abort_compaction()
        self._compacted_to.pop(tp, None)
        log = self.logs.pop(tp)
        log.on_recovery_point_lowered = log.on_failure = None
        log.abandon("deleted")
        timer = self._timers.pop(f"flush {tp}", None)
        if timer is not None:
            timer.cancel()
        self._checkpointed_hw.pop(tp, None)
        suffix = f".{self._ports.random.getrandbits(128):032x}{DELETE_DIR}"
        name = f"{str(tp)[: _LONGEST_NAME - len(suffix)]}{suffix}"
        self._disk.rename(str(tp), name)
        self._disk.fsync_dir()
        # A topic of the same name must not inherit these offsets.
        for path, written in self._written.items():
            if tp in written:
                self._write(path, {other: offset for other, offset in written.items() if other != tp})
        self._remove_dir_later(name)

    def _remove_dir_later(self, name: str) -> None:
        def remove() -> None:
            del self._timers[name]
            self._disk.remove_tree(name)
            self._disk.fsync_dir()
            self._ports.trace.emit(TransitionTaken(reason="directory-deleted"))

        self._timers[name] = self._ports.clock.call_later(self._config.log_segment_delete_delay_ms * MS, remove)

    # --- checkpoints and retention -----------------------------------------------------------------------------------

    def checkpointed_high_watermark(self, topic: str, partition: int) -> int:
        """The HW that this replica last wrote down, brought within its log; 0 or the log start where it never did."""
        tp = TopicPartition(topic, partition)
        log = self.logs.get(tp)
        if log is None:
            return 0
        return max(log.log_start_offset, min(self._checkpointed_hw.get(tp, 0), log.log_end_offset))

    def checkpoint_recovery_points(self) -> None:
        """Write down how far each log is durable."""
        self._write(RECOVERY_POINTS, {tp: log.recovery_point for tp, log in self.logs.items()})

    def checkpoint_start_offsets(self) -> None:
        """Write down where each log begins, where that is not 0."""
        self._write(
            LOG_START_OFFSETS, {tp: log.log_start_offset for tp, log in self.logs.items() if log.log_start_offset > 0}
        )

    def checkpoint_high_watermarks(self) -> None:
        """Write down the HW of each partition: those the broker runs, and for the others what was known before."""
        self._write(HIGH_WATERMARKS, self._current_high_watermarks())

    def _current_high_watermarks(self) -> dict[TopicPartition, int]:
        current = self._high_watermarks()
        self._checkpointed_hw.update((tp, hw) for tp, hw in current.items() if tp in self.logs)
        return self._checkpointed_hw

    def _write(self, path: str, offsets: Mapping[TopicPartition, int]) -> None:
        if offsets != self._written.get(path, {}):
            write_offsets(self._disk, path, offsets)
            self._written[path] = dict(offsets)

    def clean_up(self) -> None:
        """Retention by time and size, and forgetting producers, in every log; compaction of those that ask for it."""
        now_ms = self._ports.clock.wall_ms()
        high_watermarks = self._current_high_watermarks()
        for tp, log in self.logs.items():
            if not log.is_online:
                continue
            try:
                log.delete_old_segments(now_ms, high_watermarks.get(tp, 0))
                log.remove_expired_producers(now_ms)
            except LogOffline:
                continue  # this log's failure, which _failed has noted: the others go on
        self.checkpoint_start_offsets()
        if self._compacting is not None and not self.logs[self._compacting[0]].is_online:
            self._compacting = None  # it went no further than the log did
        if self._compacting is None:
            self._compact_next()

    def _compact_next(self) -> None:
        """Begin to compact the first log that needs it; when that is done, the next one. One at a time."""
        for tp, log in self.logs.items():
            if not log.config.compacts or not log.is_online:
                continue
            high_watermark = max(log.log_start_offset, min(self._checkpointed_hw.get(tp, 0), log.log_end_offset))
            if log.dirty_share(high_watermark, self._compacted_to.get(tp, 0)) < _LEAST_DIRTY_SHARE:
                continue

            def done(offset: int, tp: TopicPartition = tp) -> None:
                self._compacting = None
                self._compacted_to[tp] = offset
                self._ports.metrics.counter("highwater_log_compactions_total")
                self._compact_next()

            self._compacting = (tp, log.compact_later(high_watermark, done))
            return

    def _abort_compaction(self) -> None:
        if self._compacting is not None:
            self._compacting[1].abort()
            self._compacting = None

    # --- stop --------------------------------------------------------------------------------------------------------

    def shutdown(self, on_done: Callable[[OSError | None], None], *, broker_epoch: int = -1) -> None:
        """Flush and close everything, then leave the marker; ``on_done`` runs once, within this call or later.

        With an error, or if a log has failed, there is no marker: the next start recovers. The error is that of a file
        that all logs share. The logs must not be used after this call.
        """
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._abort_compaction()
        flushing = [log for log in self.logs.values() if log.is_online]
        waiting = len(flushing)

        def flushed(_failure: OSError | None) -> None:
            nonlocal waiting
            waiting -= 1
            if waiting == 0:
                on_done(self._finish(broker_epoch))

        if not flushing:
            on_done(self._finish(broker_epoch))
        for log in flushing:
            try:
                log.flush_later(flushed)
            except LogOffline:
                flushed(None)  # whether a log has failed, _finish sees

    def _finish(self, broker_epoch: int) -> OSError | None:
        for log in self.logs.values():
            if log.is_online:
                try:
                    log.close()
                except LogOffline:
                    continue  # it has failed now, which is looked at below
        clean = all(log.failure is None for log in self.logs.values())
        for log in self.logs.values():
            log.abandon("shut down")
        try:
            self.checkpoint_recovery_points()
            self.checkpoint_start_offsets()
            self.checkpoint_high_watermarks()
            if clean:
                write_clean_shutdown(self._disk, broker_epoch)
        except OSError as failure:
            return failure
        return None
