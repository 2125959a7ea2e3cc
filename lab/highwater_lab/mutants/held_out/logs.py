"""One replica's log: recovery, truncation, leader epochs, producers, retention, compaction, checkpoints."""

from __future__ import annotations

from typing import Final

from highwater_lab.mutants.mutant import Mutant

LOGS: Final = (
    Mutant(
        "epochs-outlive-deleted-records",
        "log.log:Log._begin_at",
        "        self._epochs.truncate_from_start(offset)\n",
        "",
        "leader epochs of deleted records stay in the cache",
    ),
    Mutant(
        "segment-of-recovery-point-trusted",
        "log.recovery:Loader._load_segments",
        "trust = trust and (self.clean or (following is not None and following <= self.recovery_point))",
        "trust = trust and (self.clean or base <= self.recovery_point)",
        "recovery does not read the segment that holds the recovery point",
    ),
    Mutant(
        "later-segments-survive-a-cut",
        "log.recovery:Loader._load_segments",
        "self._drop(reason, dropped, following)",
        "self._drop(reason, dropped, None)",
        "recovery cuts a damaged segment and leaves those behind it on the disk",
    ),
    Mutant(
        "producer-snapshot-of-lost-batches",
        "log.recovery:load_producers",
        "if segments[0].base_offset <= offset <= trusted_end]",
        "if segments[0].base_offset <= offset]",
        "recovery takes producers from a snapshot that lies beyond what it trusts",
    ),
    Mutant(
        "producers-of-a-begun-segment-lost",
        "log.recovery:load_producers",
        "if segment.end_offset > begin:",
        "if segment.base_offset >= begin:",
        "recovery leaves out the batches behind a snapshot that lies within a segment",
    ),
    Mutant(
        "bumped-producer-keeps-sequences",
        "log.producer_state:ProducerStates.update",
        "            entry.batches.clear()\n",
        "",
        "a producer's batches of a former epoch still count as duplicates in the next one",
    ),
    Mutant(
        "duplicate-answered-as-newest",
        "log.producer_state:ProducerStates.check",
        "                return known\n",
        "                return entry.batches[-1]\n",
        "a duplicate is answered with the offsets of the producer's newest batch",
    ),
    Mutant(
        "retention-counts-from-first-record",
        "log.retention:deletable",
        "if 0 <= segment.max_timestamp < oldest:",
        "if 0 <= segment.first_timestamp < oldest:",
        "a segment is deleted as soon as its first record is too old",
    ),
    Mutant(
        "retention-asks-by-another-key",
        "log.manager:LogManager._clean_slice",
        "high_watermarks.get(tp, 0)",
        "high_watermarks.get(str(tp), 0)",
        "retention finds no high watermark, and so never deletes anything",
    ),
    Mutant(
        "compaction-notes-first-occurrence",
        "log.compaction:Compaction._note_keys",
        "self._last_of[record.key] = record.offset",
        "self._last_of.setdefault(record.key, record.offset)",
        "compaction takes the first record of each key for its last, and so removes none",
    ),
    Mutant(
        "deleted-partition-keeps-checkpoints",
        "log.manager:LogManager._take_away",
        "        self._checkpoints.forget(tp)\n",
        "",
        "the checkpoints keep the offsets of a deleted partition for the next one of its name",
    ),
    Mutant(
        "log-start-forgotten-at-restart",
        "log.manager:LogManager.start",
        "log_start_offset=start_offsets.get(tp, 0),",
        "log_start_offset=0,",
        "a restarted broker begins its logs with their first segment, whatever was deleted",
    ),
    Mutant(
        "clean-marker-despite-failed-log",
        "log.manager:LogManager._write_last",
        "if error is not None or not clean:",
        "if error is not None:",
        "a broker with a failed log leaves the marker of a clean shutdown",
    ),
    Mutant(
        "empty-epoch-survives-truncation",
        "log.log:Log.truncate_to",
        "            self._epochs.truncate_from_end(offset)\n            return False",
        "            return False",
        "the epoch of a leadership that wrote nothing stays when its log follows another leader",
    ),
    Mutant(
        "epoch-of-first-offset-is-the-former",
        "log.epoch_cache:EpochCache.epoch_of",
        "index = bisect_right(self._starts, offset)",
        "index = bisect_right(self._starts, offset - 1)",
        "the first offset of a leader epoch counts to the one before",
    ),
    Mutant(
        "deleted-segments-stay-on-disk",
        "log.segments:SegmentChain._remover",
        "            self._disk.run_later(steps(), removed)\n",
        "",
        "files of deleted segments stay until the broker restarts",
    ),
    Mutant(
        "high-watermark-never-checkpointed",
        "log.manager:LogManager._all_loaded",
        '        self._every("hw", config.high_watermark_checkpoint_interval_ms, self.checkpoint_high_watermarks)\n',
        "",
        "high watermarks are written down at a clean shutdown only",
        harmless="no log is cut to it since KIP-101, and a new leader learns it from its followers' fetches",
    ),
)
