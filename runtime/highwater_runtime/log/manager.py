"""The owner of a data directory: every partition's log, and the files that speak of all of them.

Nothing here waits for the disk while the broker runs: logs are made, deleted and closed, and checkpoints are written,
as tasks behind the broker's back (:mod:`.write_behind`), in the order in which they were asked for.

* On start it takes the clean-shutdown marker away (durably, before anything else: a marker that outlives its truth
  would switch recovery off), then opens every log (:mod:`.loading`), with recovery unless the marker was there. All
  recovery points are written after loading: stale and too high, one would vouch for bytes that have been written again.
  Until then nothing is written, so a stop or a crash in between leaves things as they were.
* From time to time it writes the recovery points, log start offsets and high watermarks (:mod:`.offset_checkpoints`).
* Retention and compaction leave a log alone until the settings of its topic are known: the node's may keep less. (In
  Kafka ``LogManager.startup`` has the topics' settings before it loads a log.)
* A log is created off the broker's events, many in one batch, and is there once it is durable.
* A partition that is deleted is renamed first (``orders-0.<uuid>-delete``), forgotten by the checkpoints, and removed
  after ``log.segment.delete.delay.ms``; a start finishes what an earlier incarnation began. A new log of the same name
  waits until the old name and its offsets are durably gone.
* A log that fails is passed over from then on, and ``on_failed`` is called once for it, in an event of its own. An
  error in a file that all logs share (checkpoints, marker, the directory itself) is another matter: that is the
  failure of the only log directory, an ``OSError`` that ends the node, as it does in Kafka.
* On shutdown everything is flushed and closed, then the checkpoints are written, then the marker. Logs that nothing was
  written to need nothing. Where a log has failed there is no marker, and the next start recovers.

``__cluster_metadata-0`` lies in the same directory but belongs to the quorum's replica (:mod:`highwater_runtime.raft`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final
from uuid import UUID

from highwater_runtime.config import NodeConfig
from highwater_runtime.log.checkpoints import (
    CLEAN_SHUTDOWN,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    encode_clean_shutdown,
    ensure_meta_properties,
    take_clean_shutdown,
)
from highwater_runtime.log.compaction import Compaction
from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.creation import Creation
from highwater_runtime.log.departures import Departures
from highwater_runtime.log.errors import CorruptCheckpointError, LogOfflineError
from highwater_runtime.log.loading import FoundLog, Loading, LogPlace
from highwater_runtime.log.log import Log
from highwater_runtime.log.names import DELETE_DIR, METADATA_LOG_DIR, STRAY_DIR, TopicPartition, parse_partition_dir
from highwater_runtime.log.offset_checkpoints import OffsetCheckpoints
from highwater_runtime.log.write_behind import RemoveTree, Replace, SetAside, WriteBehind
from highwater_runtime.ports import MS, Ports, Timer
from highwater_runtime.ports.trace import LogRemoved, TransitionTaken

_NEVER: Final = 2**63 - 1
_LONGEST_NAME: Final = 255
_INITIAL_RETENTION_DELAY_MS: Final = 30_000
_CLEANED_TOGETHER: Final = 200
"""Logs that one event looks through for what retention deletes."""
_KEPT_CONFIGS: Final = 256
_LEAST_DIRTY_SHARE: Final = 0.5
"""A log is compacted when so much of it was written since (Kafka's ``min.cleanable.dirty.ratio``)."""


class LogManager:
    """Logs by partition, in ``logs``. ``high_watermarks`` returns the current HW of the broker's partitions.

    A caller sets ``on_failed`` to hear of logs that go offline because of their files.

    ``keeps_strays``: logs that are set aside (:meth:`set_aside`) are never deleted.

    ``clean_start``: the last incarnation was shut down cleanly, in broker epoch ``previous_broker_epoch`` (−1:
    unknown). Both are known after :meth:`start`. ``is_loaded``: every log that was there is in ``logs``.
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
        keeps_strays: bool = True,
    ) -> None:
        self.logs: dict[TopicPartition, Log] = {}
        self.departures = Departures(self.logs)
        self.is_loaded = False
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
        self._removed_dirs = (DELETE_DIR,) if keeps_strays else (DELETE_DIR, STRAY_DIR)
        """Ends of the names of directories that are removed after a delay."""
        self._checkpointed_hw: dict[TopicPartition, int] = {}
        self._behind = WriteBehind(ports.disk)
        self._checkpoints = OffsetCheckpoints(ports.disk, self._behind)
        self._configs: dict[tuple[tuple[str, str], ...], LogConfig] = {}
        self._timers: dict[str, Timer] = {}
        self._configured: set[TopicPartition] = set()
        """Logs that have the settings of their topics."""
        self._flushed_regularly: dict[TopicPartition, None] = {}
        """Logs that have a timer by ``flush.ms``: few or none."""
        self._loading: Loading | None = None
        self._compacting: tuple[TopicPartition, Compaction] | None = None
        self._cleaning: list[TopicPartition] | None = None
        """Logs that the present pass of retention has still to look through, the next one last."""
        self._is_shut_down = False
        self._compacted_to: dict[TopicPartition, int] = {}
        """Up to where a pass of this incarnation has compacted a log; a restart looks at everything once more."""

    # --- start -------------------------------------------------------------------------------------------------------

    def start(self, on_loaded: Callable[[], None] = lambda: None) -> None:
        """Load every log, then begin the periodic work. Until :meth:`configure` a log has the node's settings.

        ``on_loaded`` is called once :attr:`is_loaded` holds: within this call if there are few logs, or later.

        Raises:
            InconsistentMetaPropertiesError: the directory belongs to another node or cluster.
            OSError: the disk failed. Of logs that are loaded later, it is raised in the event in which it comes.
        """
        ensure_meta_properties(self._disk, self._cluster_id, self._node_id)
        marker = take_clean_shutdown(self._disk)
        self.clean_start = marker is not None
        self.previous_broker_epoch = -1 if marker is None else marker
        recovery_points = self._read(RECOVERY_POINTS)
        start_offsets = self._read(LOG_START_OFFSETS)
        self._checkpointed_hw = self._read(HIGH_WATERMARKS)
        places = []
        for name in self._disk.list():
            if name.endswith(self._removed_dirs) and self._disk.is_dir(name):
                self._remove_dir_later(name)
                continue
            tp = parse_partition_dir(name)
            if tp is None or name == METADATA_LOG_DIR or not self._disk.is_dir(name):
                continue
            place = LogPlace(
                partition=tp,
                config=self._log_config({}),
                now_ms=self._ports.clock.wall_ms(),
                clean=self.clean_start,
                recovery_point=recovery_points.get(tp, 0),
                log_start_offset=start_offsets.get(tp, 0),
            )
            places.append(place)

        def loaded() -> None:
            self._all_loaded(start_offsets)
            on_loaded()

        self._loading = Loading(self._disk, places, self._take_in, loaded)
        self._loading.begin()

    def _take_in(self, tp: TopicPartition, found: FoundLog) -> None:
        self.logs[tp] = Log.loaded(found, self._ports.clock, self._ports.trace)
        self._adopt(tp)

    def _all_loaded(self, start_offsets: Mapping[TopicPartition, int]) -> None:
        self.is_loaded = True
        self._checkpointed_hw = {tp: hw for tp, hw in self._checkpointed_hw.items() if tp in self.logs}
        # A recovered log may end before the point to which it was durable once; nothing may vouch for what comes there.
        # None rises by that, so the leader epochs need not be durable first.
        self._checkpoints.write_now(RECOVERY_POINTS, {tp: log.recovery_point for tp, log in self.logs.items()})
        # A crash may have left the offsets of a deleted partition: the next one of its name must not inherit them.
        self._checkpoints.write_now(LOG_START_OFFSETS, {tp: o for tp, o in start_offsets.items() if tp in self.logs})
        self._checkpoints.write_now(HIGH_WATERMARKS, dict(self._checkpointed_hw))
        config = self._config
        self._every("recovery-points", config.log_flush_checkpoint_interval_ms, self.checkpoint_recovery_points)
        self._every("start-offsets", config.log_flush_checkpoint_interval_ms, self.checkpoint_start_offsets)
        self._every("hw", config.high_watermark_checkpoint_interval_ms, self.checkpoint_high_watermarks)
        first = min(_INITIAL_RETENTION_DELAY_MS, config.log_retention_check_interval_ms)
        self._every("retention", config.log_retention_check_interval_ms, self.clean_up, first_ms=first)

    def _read(self, path: str) -> dict[TopicPartition, int]:
        try:
            return self._checkpoints.read(path)
        except CorruptCheckpointError:
            # Nothing known is always safe to begin with (recover everything, HW 0), and costs only time.
            self._ports.metrics.counter("highwater_log_corrupt_checkpoints_total", file=path)
            return {}

    def _every(self, key: str, interval_ms: int, action: Callable[[], None], *, first_ms: int | None = None) -> None:
        def tick() -> None:
            self._timers[key] = self._ports.clock.call_later(interval_ms * MS, tick)
            action()

        delay = interval_ms if first_ms is None else first_ms
        self._timers[key] = self._ports.clock.call_later(delay * MS, tick)

    def _adopt(self, tp: TopicPartition) -> None:
        log = self.logs[tp]
        log.lower_recovery_point = partial(self._checkpoints.lower, tp)
        log.on_failure = lambda: self._failed(tp, log)
        self._flush_regularly(tp, log)

    def _flush_regularly(self, tp: TopicPartition, log: Log) -> None:
        """Begin the intervals of ``flush.ms`` anew, as long as they are by now."""
        self._stop_flushing(tp)
        if log.config.flush_ms < _NEVER:
            self._every(f"flush {tp}", max(1, log.config.flush_ms), lambda: self._flush_if_needed(log))
            self._flushed_regularly[tp] = None

    def _stop_flushing(self, tp: TopicPartition) -> None:
        if tp in self._flushed_regularly:
            del self._flushed_regularly[tp]
            self._timers.pop(f"flush {tp}").cancel()

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
            except LogOfflineError:
                return  # this log's failure, which _failed has noted

    def _log_config(self, properties: Mapping[str, str] | None) -> LogConfig:
        """Many logs have the same settings, and share them."""
        key = () if properties is None else tuple(properties.items())
        config = self._configs.get(key)
        if config is None:
            if len(self._configs) >= _KEPT_CONFIGS:
                self._configs.clear()
            config = replace(LogConfig.of(self._config, properties), truncation_sync=self._truncation_sync)
            self._configs[key] = config
        return config

    # --- partitions --------------------------------------------------------------------------------------------------

    def get(self, topic: str, partition: int) -> Log | None:
        """The log of a partition, if this node has one."""
        return self.logs.get(TopicPartition(topic, partition))

    def create(
        self,
        topic: str,
        partition: int,
        topic_id: UUID | None,
        on_created: Callable[[Log], None],
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Make the log of a partition that has none; ``on_created`` runs, later, when it is there and durable.

        ``properties``: the topic's own settings. An error of the disk is raised in the event in which it comes.
        """
        tp = TopicPartition(topic, partition)
        assert tp not in self.logs, f"{tp} has a log already"
        # A deleted topic of the same name may have left offsets, which must be gone before this log is there.
        self._checkpoints.write_stale()

        def done(error: OSError | None) -> None:
            if error is not None:
                raise error
            if not self._is_shut_down:
                log = self.logs[tp] = Log.created(task, self._ports.clock, self._ports.trace)
                self.departures.created(tp, log)
                self._configured.add(tp)
                self._adopt(tp)
                on_created(log)

        task = Creation(
            self._disk,
            str(tp),
            self._log_config(properties),
            topic_id=topic_id,
            now_ms=self._ports.clock.wall_ms(),
            done=done,
        )
        self.departures.create(tp, task)
        self._behind.add(task)

    def configure(self, topic: str, partition: int, properties: Mapping[str, str]) -> None:
        """Let a partition's log obey its topic's settings from now on."""
        tp = TopicPartition(topic, partition)
        log, config = self.logs[tp], self._log_config(properties)
        if config is not log.config:
            log.update_config(config)
        self._configured.add(tp)
        self._flush_regularly(tp, log)

    def delete(self, topic: str, partition: int) -> None:
        """Take a partition away: gone for every reader and every restart now, from the disk after a delay.

        An error of the disk is raised in the event in which it comes.

        Raises:
            KeyError: there is no such log.
        """
        self._remove_dir_later(self._take_away(TopicPartition(topic, partition), DELETE_DIR, "deleted"))

    def set_aside(self, topic: str, partition: int) -> None:
        """Take the log of a stray partition away (``orders-0.<uuid>-stray``). No later start looks at it. It leaves the
        disk after the same delay as that of a deleted partition, unless strays are kept (:class:`LogManager`).

        Raises:
            KeyError: there is no such log.
        """
        tp = TopicPartition(topic, partition)
        name = self._take_away(tp, STRAY_DIR, "stray")
        self._ports.trace.emit(TransitionTaken(reason="stray-set-aside", partition=str(tp)))
        if STRAY_DIR in self._removed_dirs:
            self._remove_dir_later(name)

    def _take_away(self, tp: TopicPartition, kind: str, reason: str) -> str:
        """Rename its directory, and return the name."""
        if self._compacting is not None and self._compacting[0] == tp:
            self._abort_compaction()
        self._compacted_to.pop(tp, None)
        self._configured.discard(tp)
        log = self.logs.pop(tp)
        topic_id = log.topic_id.hex if log.topic_id else ""
        self._ports.trace.emit(LogRemoved(partition=str(tp), topic_id=topic_id, reason=reason))
        log.lower_recovery_point = log.on_failure = None
        log.abandon("deleted")
        self._stop_flushing(tp)
        self._checkpointed_hw.pop(tp, None)
        suffix = f".{self._ports.random.getrandbits(128):032x}{kind}"
        name = f"{str(tp)[: _LONGEST_NAME - len(suffix)]}{suffix}"
        self.departures.begin(name, tp, log)
        self._behind.add(SetAside(str(tp), name, partial(self._has_left, name)))
        self._checkpoints.forget(tp)
        return name

    def _has_left(self, name: str, error: OSError | None) -> None:
        _raise(error)
        self.departures.end(name)

    def _remove_dir_later(self, name: str) -> None:
        def removed(error: OSError | None) -> None:
            _raise(error)
            self._ports.trace.emit(TransitionTaken(reason="directory-deleted"))

        def remove() -> None:
            del self._timers[name]
            self._behind.add(RemoveTree(name, removed))

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
        """Have it written how far each log is durable."""
        self._checkpoints.save_recovery_points(self.logs)

    def checkpoint_start_offsets(self) -> None:
        """Have it written where each log begins, where that is not 0."""
        self._checkpoints.write(
            LOG_START_OFFSETS, {tp: log.log_start_offset for tp, log in self.logs.items() if log.log_start_offset > 0}
        )

    def checkpoint_high_watermarks(self) -> None:
        """Have the HW of each partition written: of those the broker runs, and for the others what was known before."""
        self._checkpoints.write(HIGH_WATERMARKS, dict(self._current_high_watermarks()))

    def _current_high_watermarks(self) -> dict[TopicPartition, int]:
        current = self._high_watermarks()
        self._checkpointed_hw.update((tp, hw) for tp, hw in current.items() if tp in self.logs)
        return self._checkpointed_hw

    def clean_up(self) -> None:
        """Retention by time and size, and forgetting producers, in every log; compaction of those that ask for it."""
        if self._cleaning is None:
            self._cleaning = list(reversed(self.logs))
            self._clean_slice()

    def _clean_slice(self) -> None:
        if self._is_shut_down or self._cleaning is None:
            return
        now_ms = self._ports.clock.wall_ms()
        high_watermarks = self._current_high_watermarks()
        for _ in range(min(_CLEANED_TOGETHER, len(self._cleaning))):
            tp = self._cleaning.pop()
            log = self.logs.get(tp)
            if log is None or not log.is_online or tp not in self._configured:
                continue
            try:
                log.delete_old_segments(now_ms, high_watermarks.get(tp, 0))
                log.remove_expired_producers(now_ms)
            except LogOfflineError:
                continue  # this log's failure, which _failed has noted: the others go on
        if self._cleaning:
            self._ports.clock.call_later(0, self._clean_slice)
            return
        self._cleaning = None
        self.checkpoint_start_offsets()
        if self._compacting is not None and not self.logs[self._compacting[0]].is_online:
            self._compacting = None  # it went no further than the log did
        if self._compacting is None:
            self._compact_next()

    def _compact_next(self) -> None:
        """Begin to compact the first log that needs it; when that is done, the next one. One at a time."""
        for tp, log in self.logs.items():
            if not log.config.compacts or not log.is_online or tp not in self._configured:
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

        With an error, or if a log has failed or is not loaded yet, there is no marker: the next start recovers. The
        error is that of a file that all logs share. The logs must not be used after this call.
        """
        self._is_shut_down = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        if not self.is_loaded:
            if self._loading is not None:
                self._loading.stop()
            for log in self.logs.values():
                log.abandon("shut down")
            on_done(None)
            return
        self._abort_compaction()
        waiting = 1

        def finished() -> None:
            nonlocal waiting
            waiting -= 1
            if waiting == 0:
                self._write_last(on_done, broker_epoch)

        for log in self.logs.values():
            if log.epochs_are_stale:
                waiting += 1
                self._behind.add(log.save_epochs_later(finished))
        for log in self.logs.values():
            if log.is_online and log.is_touched:
                waiting += 1
                self._behind.add(log.close_later(finished))
        finished()

    def _write_last(self, on_done: Callable[[OSError | None], None], broker_epoch: int) -> None:
        clean = all(log.failure is None for log in self.logs.values())
        for log in self.logs.values():
            log.abandon("shut down")

        def written(error: OSError | None) -> None:
            if error is not None or not clean:
                on_done(error)
            else:
                self._behind.add(Replace(CLEAN_SHUTDOWN, partial(encode_clean_shutdown, broker_epoch), on_done))

        self._checkpoints.write_recovery_points(self.logs)
        self.checkpoint_start_offsets()
        self.checkpoint_high_watermarks()
        self._checkpoints.when_written(written)


def _raise(error: OSError | None) -> None:
    if error is not None:
        raise error
