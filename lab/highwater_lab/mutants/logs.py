"""Mutants of logs: recovery, fsync, leader-epoch cache, truncation, producer state, retention."""

from __future__ import annotations

from typing import Final

from highwater_lab.mutants.mutant import Mutant

_LOADER: Final = "log.recovery:Loader"
_PRODUCERS: Final = "log.producer_state:ProducerStates"
_EPOCHS: Final = "log.epoch_cache:EpochCache"
_FLUSHES: Final = "log.flush:Flushes"
_RETENTION: Final = "log.retention:deletable"
_CHECKPOINTS: Final = "log.checkpoints"
_APPEND: Final = "log.appendable_log:AppendableLog"

RECOVERY: Final = (
    Mutant(
        "recovery-skips-crc",
        f"{_LOADER}._scan",
        "if batch.computed_crc() != batch.crc:",
        "if False:",
        "recovery ends a log at a batch whose CRC is wrong",
    ),
    Mutant(
        "recovery-skips-active-segment",
        f"{_LOADER}._load_segments",
        "(following is not None and following <= self.recovery_point)",
        "(following is None or following <= self.recovery_point)",
        "after an unclean stop the active segment is read from its first byte",
    ),
    Mutant(
        "recovery-accepts-gaps",
        "log.recovery:judge_header",
        "if batch.base_offset != expected_offset or batch.last_offset < batch.base_offset:",
        "if batch.last_offset < batch.base_offset:",
        "recovery ends a log where offsets are missing",
        harmless="a file has no such gap: bytes lost in a power loss read as zeros, and truncations are synced",
    ),
    Mutant(
        "recovery-accepts-epoch-regression",
        "log.recovery:judge_header",
        "if 0 <= batch.leader_epoch < last_epoch:",
        "if False:",
        "recovery ends a log where leader epochs go back",
        harmless="no older batch follows a newer one: truncations are synced, and lost bytes read as zeros",
    ),
    Mutant(
        "recovery-accepts-lost-segment",
        f"{_LOADER}._load_segments",
        "if self.segments and base != self.segments[-1].end_offset:",
        "if False:",
        "recovery ends a log where a segment is missing",
    ),
    Mutant(
        "recovery-keeps-later-segments",
        f"{_LOADER}._drop",
        "if from_base is not None:",
        "if False:",
        "segments after a truncation point are deleted too",
    ),
    Mutant(
        "recovery-keeps-epochs-beyond-end",
        f"{_LOADER}.load",
        "self.epochs.truncate_from_end(end_offset)",
        "pass",
        "recovery drops leader epochs that start above the log end",
        harmless="after an unclean stop the active segment is read again with its epochs; a clean stop leaves none",
    ),
    Mutant(
        "recovery-point-at-end",
        f"{_LOADER}.load",
        "self.recovery_point = min(self.recovery_point, trusted_end)",
        "self.recovery_point = end_offset",
        "records that recovery has read are not thereby on the disk",
    ),
    Mutant(
        "recovery-trusts-later-producer-snapshots",
        "log.recovery:load_producers",
        "segments[0].base_offset <= offset <= trusted_end",
        "segments[0].base_offset <= offset",
        "a producer snapshot above the trusted end of the log is dropped",
    ),
    Mutant(
        "recovery-does-not-replay-producers",
        "log.recovery:load_producers",
        "if segment.end_offset > begin:",
        "if False:",
        "the producer state is the snapshot and the batches after it",
    ),
    Mutant(
        "clean-shutdown-marker-kept",
        f"{_CHECKPOINTS}:take_clean_shutdown",
        "disk.unlink(CLEAN_SHUTDOWN)",
        "pass",
        "the marker of a clean shutdown is removed before the first append",
    ),
    Mutant(
        "clean-shutdown-marker-removal-not-synced",
        f"{_CHECKPOINTS}:take_clean_shutdown",
        "disk.fsync_dir()",
        "pass",
        "the removal of the marker is durable before the first append",
    ),
)

FSYNC: Final = (
    Mutant(
        "flush-without-fsync",
        f"{_FLUSHES}.now",
        "file.fsync()",
        "pass",
        "a flush is an fsync",
    ),
    Mutant(
        "recovery-point-before-fsync",
        f"{_FLUSHES}.begin",
        "self._in_flight.append(flush)",
        "self._in_flight.append(flush); self.recovery_point = max(self.recovery_point, target)",
        "the recovery point moves once the fsync has ended",
    ),
    Mutant(
        "flush-under-way-outlives-truncation",
        f"{_FLUSHES}.cut_to",
        "flush.target = min(flush.target, offset)",
        "pass",
        "a flush in progress does not cover records that are truncated meanwhile",
    ),
    Mutant(
        "recovery-point-survives-truncation",
        f"{_FLUSHES}.cut_to",
        "self.recovery_point = min(self.recovery_point, offset)",
        "pass",
        "the recovery point is lowered when the log is truncated",
    ),
    Mutant(
        "checkpoint-content-not-synced",
        f"{_CHECKPOINTS}:write_atomically",
        "file.fsync()",
        "pass",
        "a checkpoint's content is durable before its name is",
    ),
    Mutant(
        "new-segment-name-not-synced",
        f"{_APPEND}._flush_with_directory",
        "self._chain.sync_directory_later(done)",
        "done(None)",
        "a new segment's name is durable before the recovery point passes its start",
    ),
    Mutant(
        "truncation-not-synced",
        "log.segments:SegmentChain.truncate_to",
        "self.active.file.fsync()",
        "pass",
        "a truncation is durable before the next append",
    ),
)

EPOCH_CACHE: Final = (
    Mutant(
        "epoch-end-names-asked-epoch",
        f"{_EPOCHS}.end_offset_for",
        "EpochEnd(epochs[higher - 1] if higher else epoch, self._starts[higher])",
        "EpochEnd(epoch, self._starts[higher])",
        "the response about an epoch that a log lacks has the largest lower epoch (KIP-279)",
    ),
    Mutant(
        "epoch-cache-keeps-later-starts",
        f"{_EPOCHS}.assign",
        "while epochs and (epochs[-1] >= epoch or starts[-1] >= start_offset):",
        "while epochs and epochs[-1] >= epoch:",
        "a new epoch replaces those that start at or above its start",
    ),
    Mutant(
        "epoch-cache-keeps-epoch-at-end",
        f"{_EPOCHS}.truncate_from_end",
        "while self._starts and self._starts[-1] >= end_offset:",
        "while self._starts and self._starts[-1] > end_offset:",
        "an epoch that starts where a log was truncated is removed",
    ),
    Mutant(
        "epoch-cache-survives-truncation",
        "log.log:Log._after_cut",
        "self._epochs.truncate_from_end(end_offset)",
        "pass",
        "the leader-epoch cache is truncated with the log",
    ),
    Mutant(
        "epoch-start-survives-retention",
        f"{_EPOCHS}.truncate_from_start",
        "self._starts[0] = start_offset",
        "pass",
        "the first epoch starts at the log start",
        harmless="no follower asks below the log start, so no response differs",
    ),
    Mutant(
        "truncation-leaves-segments",
        "log.segments:SegmentChain.truncate_to",
        "while self.active.base_offset > offset:",
        "if self.active.base_offset > offset:",
        "a truncation deletes every segment above its offset",
    ),
)

PRODUCERS: Final = (
    Mutant(
        "duplicates-of-last-batch-only",
        f"{_PRODUCERS}.check",
        "for known in entry.batches:",
        "for known in entry.batches[-1:]:",
        "a retry of any of the last five batches is recognised (KAFKA-5494)",
        harmless="a retry of an older one is refused as out of order, so nothing is written twice",
    ),
    Mutant(
        "sequence-gaps-accepted",
        f"{_PRODUCERS}.check",
        "if base_sequence != expected:",
        "if False:",
        "a batch must continue the producer's last one",
    ),
    Mutant(
        "producers-not-checked",
        f"{_APPEND}.append_as_leader",
        "duplicate = self._producers.check(batch) if batch.producer_id >= 0 else None",
        "duplicate = None",
        "a leader recognises retries",
    ),
    Mutant(
        "fenced-producer-accepted",
        f"{_PRODUCERS}.check",
        "if epoch < entry.epoch:",
        "if False:",
        "a producer with an old epoch is refused",
        harmless="a request of the old epoch is out of sequence, too, or repeats sequences of the new one",
    ),
    Mutant(
        "epoch-begins-anywhere",
        f"{_PRODUCERS}.check",
        "if base_sequence != 0 and entry.epoch != NO_PRODUCER_EPOCH:",
        "if False:",
        "a producer's new epoch begins with sequence 0 (KIP-360)",
    ),
    Mutant(
        "followers-forget-producers",
        f"{_APPEND}._write",
        "if batch.producer_id >= 0:",
        'if batch.producer_id >= 0 and role == "leader":',
        "followers keep the producer state, because they may become leader",
    ),
    Mutant(
        "producers-survive-truncation",
        "log.log:Log._after_cut",
        "if len(self._producers):",
        "if False:",
        "the producer state is truncated with the log",
    ),
    Mutant(
        "producers-expire-after-a-second",
        f"{_PRODUCERS}.remove_expired",
        ">= expiration_ms",
        ">= 1000",
        "a producer is remembered for producer.id.expiration.ms",
    ),
    Mutant(
        "snapshot-keeps-last-batch-only",
        f"{_PRODUCERS}.encode",
        "batches = entry.batches or [",
        "batches = entry.batches[-1:] or [",
        "a producer snapshot has all five batches of a producer",
        harmless="Apache Kafka's snapshots have no more; retries of the others are refused as out of order",
    ),
)

RETENTION: Final = (
    Mutant(
        "retention-beyond-hw",
        _RETENTION,
        "if following.base_offset > high_watermark:",
        "if False:",
        "retention deletes committed segments only",
    ),
    Mutant(
        "retention-by-size-deletes-one-too-many",
        _RETENTION,
        "elif segment.size <= excess:",
        "elif excess > 0:",
        "retention by size leaves at least retention.bytes",
    ),
    Mutant(
        "retention-by-time-ignores-age",
        _RETENTION,
        "if 0 <= segment.max_timestamp < oldest:",
        "if 0 <= segment.max_timestamp and oldest >= 0:",
        "retention by time deletes what is older than retention.ms",
    ),
    Mutant(
        "retention-leaves-log-start",
        "log.log:Log.delete_old_segments",
        "self._begin_at(segments[doomed].base_offset)",
        "pass",
        "the log starts after the records that retention deleted",
    ),
)

APPENDS: Final = (
    Mutant(
        "follower-accepts-gaps",
        f"{_APPEND}.append_batches",
        "if batch.base_offset != expected:",
        "if batch.base_offset < expected:",
        "a follower appends where its log ends",
        harmless="no leader's response has a gap at the follower's end; those for former offsets are dropped before",
    ),
    Mutant(
        "follower-skips-crc",
        f"{_APPEND}.append_batches",
        "batch.ensure_valid()",
        "pass",
        "a follower checks each batch's CRC",
        harmless="no fault of the harness changes the bytes of a message",
    ),
    Mutant(
        "batches-stamped-with-former-epoch",
        f"{_APPEND}.append_as_leader",
        "patch_batch(data, batch.position, offset, leader_epoch)",
        "patch_batch(data, batch.position, offset, max(0, leader_epoch - 1))",
        "a leader stamps its leader epoch on what it appends",
    ),
)

LOGS: Final = (*RECOVERY, *FSYNC, *EPOCH_CACHE, *PRODUCERS, *RETENTION, *APPENDS)
