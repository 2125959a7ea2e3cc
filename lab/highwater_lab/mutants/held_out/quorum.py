"""The quorum of the metadata log: votes, leaders, fetches, snapshots, linearizable reads.

The simulated ZooKeeper has such a quorum too, but stands for another program: all of these are bugs of KRaft mode.
"""

from __future__ import annotations

from typing import Final

from highwater_lab.mutants.mutant import Mutant

QUORUM: Final = (
    Mutant(
        "raft-one-voter-is-a-quorum",
        "raft.progress:LeaderProgress.majority_heard_ns",
        "return heard[self._majority - 2]",
        "return heard[0]",
        "a leader stays as long as it hears of one other voter, of however many",
        "kraft",
    ),
    Mutant(
        "raft-resigned-leader-never-stands",
        "raft.resigning:Resigning.start",
        "        self.scope.later(self._shared.election_timer.renew(), lambda: self._actions.stand(0))\n",
        "",
        "a leader that has resigned never stands for election again by itself",
        "kraft",
    ),
    Mutant(
        "raft-election-time-out-starts-over",
        "raft.election_timer:ElectionTimer.left_ns",
        "if self._deadline_ns is None:",
        "if self._deadline_ns is None or self._deadline_ns >= self._clock.now_ns():",
        "each new epoch of another candidate restarts a voter's election time-out",
        "kraft",
    ),
    Mutant(
        "raft-candidate-without-time-out",
        "raft.campaign:Campaign.start",
        "        self.scope.later(shared.election_timer.renew(), self._lost)\n",
        "",
        "a candidate waits for votes for ever",
        "kraft",
    ),
    Mutant(
        "raft-leader-calls-voters-once",
        "raft.leading:Leading._call_voters",
        "        self.scope.later(self._call_interval_ns, self._call_voters)\n",
        "",
        "a new leader sends BeginQuorumEpoch once, whether it arrives or not",
        "kraft",
    ),
    Mutant(
        "raft-high-watermark-is-no-news",
        "raft.leading:Leading.answer_fetch",
        "            or (progress is not None and progress.sent_high_watermark < self._actions.high_watermark)\n",
        "",
        "a waiting fetch is not answered when only the high watermark has moved",
        "kraft",
    ),
    Mutant(
        "raft-leader-change-not-flushed",
        "raft.leading:Leading.start",
        "        self._shared.log.flush_soon()\n",
        "",
        "a new leader does not make its first record durable",
        "kraft",
    ),
    Mutant(
        "raft-observer-asks-former-leader-only",
        "raft.fetching:Fetching._target",
        "if leader is not None and (quorum.is_voter or (failures % 2 == 0 and leader != self._unanswered)):",
        "if leader is not None:",
        "a broker goes on to ask a leader of the quorum that does not answer",
        "kraft",
    ),
    Mutant(
        "raft-hand-over-ignored",
        "raft.answering:Answering._end_epoch",
        "                self._replica.role.stand_after(timing.successor_backoff_ns(position, len(line)))\n",
        "",
        "voters do nothing when their leader resigns",
        "kraft",
    ),
    Mutant(
        "metadata-snapshot-counts-last-batch",
        "controller.kraft.quorum_controller:QuorumController.on_commit",
        "self._bytes_since_snapshot += sum(len(record) for record in records)",
        "self._bytes_since_snapshot = sum(len(record) for record in records)",
        "a snapshot of the metadata is written only if one batch is as large as its limit",
        "kraft",
    ),
    Mutant(
        "snapshot-forgets-adding-replicas",
        "metadata.snapshot:_partition",
        "        adding_replicas=list(state.adding_replicas),\n",
        "",
        "a snapshot does not hold which replicas a reassignment adds",
        "kraft",
    ),
    Mutant(
        "snapshot-forgets-controlled-shutdown",
        "metadata.snapshot:_registration",
        "        in_controlled_shutdown=broker.in_controlled_shutdown,\n",
        "",
        "a snapshot does not hold which brokers are shutting down",
        "kraft",
    ),
    Mutant(
        "read-confirmed-by-one-voter",
        "raft.read_index:Confirmations.__init__",
        "self._others_needed = (len(others) + 1) // 2",
        "self._others_needed = min(len(others), 1)",
        "a linearizable read is confirmed by one other voter, of however many",
        "kraft",
    ),
    Mutant(
        "read-confirmations-never-count",
        "raft.read_index:Confirmations.confirm",
        "max(self._spoke_for[voter], number)",
        "min(self._spoke_for[voter], number)",
        "no answer of another voter ever confirms a linearizable read",
        "kraft",
    ),
    Mutant(
        "read-waits-for-the-next-commit",
        "raft.read_barrier:ReadBarrier._answered",
        "        self._evaluated_at = -1\n",
        "",
        "a read whose offset is applied already waits for another commit",
        "kraft",
    ),
)
