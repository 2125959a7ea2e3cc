"""Mutants of the metadata quorum: votes, commit rule, log matching, snapshots, linearizable reads."""

from __future__ import annotations

from typing import Final

from highwater_lab.mutants.mutant import Mutant

_VOTE: Final = "raft.election:grants_vote"
_PROGRESS: Final = "raft.progress:LeaderProgress.high_watermark"
_LOG: Final = "raft.metadata_log:MetadataLog"
_FETCHING: Final = "raft.fetching:Fetching"
_STORE: Final = "raft.snapshots:SnapshotStore"

VOTES: Final = (
    Mutant(
        "vote-ignores-log",
        _VOTE,
        "return candidate_log.at_least(own_log)",
        "return True",
        "a voter refuses a candidate whose log lacks records of its own",
        mode="kraft",
    ),
    Mutant(
        "vote-for-newer-epoch-ignores-log",
        _VOTE,
        "return epoch > state.epoch and candidate_log.at_least(own_log)",
        "return epoch > state.epoch",
        "a voter that has a leader refuses a candidate of a newer epoch whose log lacks records of its own",
        mode="kraft",
    ),
    Mutant(
        "vote-by-offset-only",
        "raft.election:LogEnd.at_least",
        "return (self.epoch, self.offset) >= (other.epoch, other.offset)",
        "return self.offset >= other.offset",
        "the log with the later epoch is the more complete one",
        mode="kraft",
    ),
    Mutant(
        "vote-for-everybody",
        _VOTE,
        "The log was judged then.\n            return voted_id == candidate_id",
        "The log was judged then.\n            return True",
        "a voter has one vote in each epoch",
        mode="kraft",
    ),
    Mutant(
        "vote-forgotten-at-restart",
        "raft.states:state_after_restart",
        "return Voted(epoch, voted_id)",
        "return Unattached(epoch)",
        "a voter remembers its vote after a restart",
        mode="kraft",
    ),
    Mutant(
        "vote-not-written",
        "raft.quorum:Quorum._enter",
        "if durable != self.saved:",
        "if durable.epoch != self.saved.epoch:",
        "a vote is on the disk before it is given",
        mode="kraft",
    ),
    Mutant(
        "vote-in-former-epoch",
        "raft.answering:Answering._vote",
        "if ballot.epoch < self._quorum.epoch:",
        "if False:",
        "a voter refuses candidates of former epochs",
        mode="kraft",
    ),
    Mutant(
        "pre-vote-against-living-leader",
        "raft.election:grants_pre_vote",
        "case Follower() if hears_leader:",
        "case Follower() if False:",
        "a voter that hears from its leader refuses pre-votes (KIP-650)",
        mode="kraft",
    ),
    Mutant(
        "elected-by-half",
        "raft.election:VoteTally.is_won",
        "return len(self.granting) > len(self.voters) // 2",
        "return len(self.granting) >= len(self.voters) // 2",
        "a candidate needs a majority of all voters",
        mode="kraft",
    ),
    Mutant(
        "leader-without-quorum-goes-on",
        "raft.leading:Leading.start",
        "self._check_quorum()",
        "pass",
        "a leader from which no majority fetches resigns",
        mode="kraft",
    ),
)

COMMIT: Final = (
    Mutant(
        "commits-without-majority",
        _PROGRESS,
        "reached = ends[self._majority - 1]",
        "reached = ends[max(0, self._majority - 2)]",
        "a record is committed when a majority of the voters holds it",
        mode="kraft",
    ),
    Mutant(
        "commits-before-fsync",
        "raft.leading:Leading._advance",
        "self.progress.high_watermark(self._shared.log.flushed_end)",
        "self.progress.high_watermark(self._shared.log.end_offset)",
        "the leader counts only records on its disk",
        mode="kraft",
    ),
    Mutant(
        "commits-former-epochs",
        _PROGRESS,
        "return reached if reached > self.epoch_start else None",
        "return reached",
        "a leader commits records of earlier epochs only with one of its own",
        mode="kraft",
    ),
    Mutant(
        "voter-fetches-before-fsync",
        f"{_FETCHING}._fetch_when_durable",
        "if log.flushed_end < log.end_offset:",
        "if False:",
        "a voter fetches, which acknowledges its records, only after these are on its disk",
        mode="kraft",
    ),
    Mutant(
        "diverging-voter-counts",
        "raft.leading:Leading.on_fetch",
        "and log.diverging_epoch(params.offset, params.last_epoch) is None",
        "and params.offset <= log.end_offset",
        "a voter whose log diverges does not count for a commit",
        mode="kraft",
    ),
    Mutant(
        "fetch-of-former-epoch-counts",
        "raft.answering:Answering._fetch",
        "and params.epoch == self._quorum.epoch",
        "and params.epoch <= self._quorum.epoch",
        "a leader counts only fetches of its own epoch",
        mode="kraft",
    ),
    Mutant(
        "controller-answers-before-commit",
        "controller.kraft.quorum_controller:QuorumController._judge",
        "if latest.offset > self._committed_offset:",
        "if False:",
        "a controller responds when its decision is committed",
        mode="kraft",
    ),
    Mutant(
        "metadata-divergence-by-offset-only",
        f"{_LOG}.diverging_epoch",
        "if end.epoch == last_fetched_epoch and fetch_offset <= end.offset:",
        "if fetch_offset <= end.offset:",
        "the leader compares a voter's last epoch with its own log",
        mode="kraft",
    ),
    Mutant(
        "metadata-truncation-ignores-leader",
        f"{_LOG}.truncate_to_diverging",
        "target = min(own.offset, diverging.offset) if own.epoch == diverging.epoch else own.offset",
        "target = own.offset",
        "a voter truncates its log to the end of the leader's epoch",
        mode="kraft",
    ),
    Mutant(
        "high-watermark-taken-over-divergence",
        f"{_FETCHING}._take",
        "return  # what is left may diverge too",
        "pass  # what is left may diverge too",
        "a voter that has just truncated its log takes no HW from that response",
        mode="kraft",
    ),
)

SNAPSHOTS: Final = (
    Mutant(
        "snapshot-content-not-synced",
        f"{_STORE}.save",
        "file.fsync()",
        "pass",
        "a snapshot is on the disk before the log below it is deleted",
        mode="kraft",
    ),
    Mutant(
        "snapshot-name-not-synced",
        f"{_STORE}.save",
        "self._disk.fsync_dir(self._directory)",
        "pass",
        "a snapshot's name is on the disk before the log below it is deleted",
        mode="kraft",
    ),
    Mutant(
        "snapshot-never-offered",
        f"{_LOG}.is_behind",
        "fetch_offset < base.offset",
        "fetch_offset < 0",
        "a replica that is behind the log start gets a snapshot",
        mode="kraft",
    ),
    Mutant(
        "older-snapshot-taken",
        "raft.replica:RaftReplica.take_snapshot",
        "if snapshot_id.end_offset <= self._high_watermark:",
        "if False:",
        "a snapshot that arrives late does not replace a newer state",
        mode="kraft",
        harmless="a replica asks for one whose end its HW has not reached, and fetches nothing until it has it",
    ),
    Mutant(
        "snapshot-epoch-not-compared",
        "raft.snapshotting:Snapshots._holds",
        "return end <= log.end_offset and log.log.epoch_of(end - 1) == snapshot_id.epoch",
        "return end <= log.end_offset",
        "a log that diverges from the snapshot is replaced by it",
        mode="kraft",
    ),
    Mutant(
        "snapshot-loses-leader-epochs",
        "metadata.snapshot:_partition",
        "leader_epoch=state.leader_epoch",
        "leader_epoch=max(0, state.leader_epoch - 1)",
        "a snapshot has the whole state of each partition",
        mode="kraft",
    ),
    Mutant(
        "snapshot-unfences-brokers",
        "metadata.snapshot:_registration",
        "fenced=broker.fenced",
        "fenced=False",
        "a snapshot contains which brokers are fenced",
        mode="kraft",
    ),
)

READS: Final = (
    Mutant(
        "read-before-own-epoch",
        "raft.read_index:ReadIndex._committed_offset",
        "return committed_end - 1 if committed_end > self._epoch_start else None",
        "return committed_end - 1 if committed_end > 0 else None",
        "a new leader responds to reads once a record of its own epoch is committed",
        mode="kraft",
    ),
    Mutant(
        "read-confirmed-by-earlier-call",
        "raft.read_index:ReadIndex._call",
        "self._confirmations.confirm(voter, speaks_for)",
        "self._confirmations.confirm(voter, self._confirmations.arrived)",
        "a voter's response confirms only reads that arrived before the request was sent",
        mode="kraft",
    ),
    Mutant(
        "read-covered-by-earlier-answer",
        "raft.read_barrier:ReadBarrier._answered",
        "if number <= covers and held.offset is None:",
        "if held.offset is None:",
        "an offset from the leader is valid only for reads that arrived before it was requested",
        mode="kraft",
    ),
    Mutant(
        "read-one-record-early",
        "raft.read_barrier:ReadBarrier.recheck",
        "held.offset < applied_end",
        "held.offset <= applied_end",
        "a read waits until the record at its offset is applied",
        mode="kraft",
    ),
)

QUORUM: Final = (*VOTES, *COMMIT, *SNAPSHOTS, *READS)
