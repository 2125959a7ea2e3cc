"""The names of all checks, with what each one says when it fails: one vocabulary for experiments, verdicts and reports.

A check is named after the anomaly that it looks for. This module imports nothing, so that an experiment file can be
validated without Arrow.
"""

from __future__ import annotations

from typing import Final, Literal

Need = Literal["history", "events", "replica-log", "dump-marks"]

CLIENT_CHECKS: Final[dict[str, str]] = {
    "lost-write": "a value whose writer must have committed was never read, though a reader read past it",
    "duplicate": "one value is at two or more offsets",
    "inconsistent-offsets": "two or more values are at one offset",
    "never-sent": "a record was read, or is in a log, that no client had sent to its partition before",
    "altered": "a record was read, or is in a log, with another value, key, header or time stamp than was sent",
    "aborted-read": "a value was read although its writer failed (G1a)",
    "unseen": "an acknowledged value had not been read when the final reads were complete",
    "precommitted-read": "an operation read a value that it had sent itself",
    "poll-skip": "a consumer read on past a record that it had not read",
    "nonmonotonic-poll": "a consumer read an offset at or below the one that it had read before",
    "int-poll-skip": "one poll went past a record without reading it",
    "int-nonmonotonic-poll": "one poll read an offset at or below the one that it had read before",
    "nonmonotonic-send": "a producer's record was written at or below the offset of one that it had sent before",
    "int-nonmonotonic-send": "one operation's record was written at or below the offset of one that it sent before",
}
"""What clients can see, by Jepsen's definitions."""

CLIENT_CHECKS_ON_REQUEST: Final[dict[str, str]] = {
    "int-send-skip": "a record of another operation lies between two of one operation",
}
"""What clients can see and a replicated log does not promise: only looked for where ``checks`` names it."""

OF_ACKNOWLEDGED: Final = (
    "lost-write",
    "unseen",
    "nonmonotonic-send",
    "int-nonmonotonic-send",
    "int-send-skip",
)
"""Checks on clients that judge acknowledged records alone."""

INSIDE_CHECKS: Final[dict[str, str]] = {
    "committed-loss": "a record once below the true high watermark is missing from, or different on, a later leader",
    "divergence": "two replicas differ below both their high watermarks, or at equal offset and leader epoch",
    "isr-incomplete": "a registered member of the controller's ISR lacks a record below the high watermark",
    "stale-isr-join": "a replica entered the ISR under a broker epoch that was no longer its own",
    "two-leaders": "two nodes, or two incarnations of one, appended as leader in one leader epoch",
    "leader-not-in-isr": "the controller committed a leader that is not a member of the ISR",
    "hw-regression": "a leader's high watermark lies below one of the same or a lower leader epoch seen before",
    "min-isr": "a leader acknowledged an acks=all write while the committed ISR was below min.insync.replicas",
    "replica-incomplete": "an in-sync replica's log ends early, begins late, has a gap or a corrupt batch below the HW",
    "sequence-gap": "a batch of an idempotent producer was accepted out of sequence",
    "producer-id-reused": "records of two clients have one producer id and epoch",
    "retention-too-greedy": "a log start moved further than the settings allow",
    "stray-partition": "a broker kept the log of a replica long after the replica was removed from it",
    "live-partition-deleted": "a broker deleted or set aside a replica's log although the replica was assigned to it",
    "deleted-topic-records": "a topic that was created again holds records of the deleted topic of its name",
    "model-step": "an event that the executable specification of replication does not permit",
    "node-crash": "a node ended by an exception of its own",
}
"""What only node events and replica dumps can show."""

CHECKS: Final[dict[str, str]] = {**CLIENT_CHECKS, **INSIDE_CHECKS}
"""Every check by name, in the order of reports."""

REGISTER_CHECKS: Final[dict[str, str]] = {
    "stale-read": "a read returned a state that had been replaced before the read began",
    "nonlinearizable": "operations on a register took effect in no order that respects real time",
}
"""What operations on registers can show (``highwater_pipeline.linearizability``)."""

GROUP_CHECKS: Final[dict[str, str]] = {
    "lost-commit": "a fetch of a group's offsets returned neither the last acknowledged commit nor a later one",
}
"""What clients of consumer groups can see, of a run as a whole: looked for where the history has commits."""

LOOKUP_CHECKS: Final[dict[str, str]] = {
    "wrong-lookup": "a look-up of an offset by time stamp did not return the first record that is not earlier",
}
"""What clients that look up offsets can see, of a run as a whole: looked for where the history has look-ups."""

RUN_CHECKS: Final[dict[str, str]] = {**GROUP_CHECKS, **LOOKUP_CHECKS}
"""Checks of a run as a whole."""

QUORUM_INVARIANTS: Final[dict[str, str]] = {
    "raft-election-safety": "two controllers led the quorum in one epoch",
    "raft-log-matching": "two controllers' logs hold different batches of one epoch at one offset",
    "raft-leader-completeness": "a controller leads without a record that an earlier epoch had committed",
    "raft-committed-data": "what was committed to the metadata log differs on, or was cut from, a controller",
    "raft-epoch-regression": "a controller's epoch went back although it kept its disk",
    "raft-hw-regression": "a controller's high watermark of the metadata log went back within one incarnation",
    "raft-commit-majority": "a leader called committed what no majority of the voters held",
    "raft-commit-durable": "a leader called committed what no majority of the voters had on disk",
    "raft-commit-own-epoch": "a leader called records of earlier epochs committed before one of its own epoch",
    "raft-leader-loads-snapshot": "the quorum's leader loaded a snapshot",
}
"""What the simulator looks at after every event of the quorum; a violation is an anomaly under its name."""

STATE_INVARIANTS: Final[dict[str, str]] = {
    "raft-overdue": "a voter without a leader did not stand for election in time, or one led on without a majority",
    "overdue": "a node did not do, or answer, in time what its own clock and what it knows asked of it",
    "failed-log-online": "a broker went on with a log after a call on one of its files had failed",
    "unfencing-refused": "a controller kept a broker fenced that had followed the metadata up to its registration",
    "unfencing-early": "a broker asked to be unfenced before it had opened its replicas",
    "shutdown-early": "a broker that was told to stop did not wait for the controller's leave",
    "new-partition-isr": "a new partition's ISR lacks a replica that was active",
    "isr-not-assigned": "a committed ISR has a member that is not among the replicas",
    "isr-empty": "a committed ISR has no member, so no replica may ever lead the partition again",
    "reassignment-open": "a reassignment goes on although all replicas that it leaves are in the committed ISR",
    "leader-epoch-kept": "a partition got another leader, or lost a replica, without a new leader epoch",
    "false-report": "what a node reported is not what live nodes have, or contradicts other reports",
    "silent-isr-join": "a leader proposed a replica for the ISR that had not fetched since it left",
    "controller-epoch-reused": "a controller was elected in an epoch that is not above that of every one before it",
    "recovery-point-durable": "a log has a recovery point above what a power loss would leave, or above its end",
    "leader-epoch-cache": "the leader-epoch cache of a log has another epoch than a batch, or does not ascend",
    "producer-state": "a log's producer state has another last batch of a producer than the log",
    "compaction-lost-record": "compaction removed the last record of a key",
    "compaction-left-record": "compaction kept an earlier record of a key in what it went through",
    "log-start-back": "a log was loaded that begins below where it began before",
    "group-offset-uncommitted": "a coordinator has offsets whose record is not committed in __consumer_offsets",
    "group-offset-stale": "a coordinator has offsets although later ones are committed, or they were deleted",
    "group-commit-fenced": "a coordinator accepted a commit of another generation than that of its group",
    "group-coordinator-epoch": "a broker coordinates groups for another leader epoch than that in which it leads",
    "metadata-image": "nodes have different metadata of one offset, or a snapshot of it lacks something",
    "replica-state": "with the cluster at rest, a replica differs from the metadata, its settings or its leader",
    "disk-leftover": "with the cluster at rest, a broker's disk or checkpoints hold what belongs to none of its logs",
    "group-state": "a coordinator keeps members that have gone, or waits for nobody, or answers against its state",
    "fetch-session": "a fetch session is not what its client asks for, or a response has what nobody asked for",
    "peer-forgotten": "a leader forgot what a replica had fetched, or a follower ignored what a response says",
    "throttle": "a replica was held back by less than the throttle that was set, or by more",
    "deleted-too-early": "a topic's nodes were deleted while a broker still had a replica of it (ZooKeeper mode)",
    "clean-shutdown-marker": "a broker wrote to its logs while its clean-shutdown marker could still come back",
}
"""What the simulator alone looks at after every event: the live state of nodes, which no table of a run shows."""

SIMULATED_INVARIANTS: Final = ("raft-commit-durable", *STATE_INVARIANTS)
"""Those that no event shows: the simulator alone sees what is on disk, or in memory, while a node runs."""

AVAILABILITY: Final[dict[str, str]] = {
    "unavailable": "no progress for longer than the experiment allows, although a majority was healthy",
}
"""What the harness saw at the end of the run; no table shows it."""

ON_REQUEST: Final[dict[str, str]] = {
    "epoch-inflation": "a controller bumped the quorum's epoch although a majority heard a live leader",
    "stable-leadership": "the quorum elected another leader, although the experiment demands that it keeps the first",
}
"""Invariants that not every run must keep: only looked at where ``checks`` names them (``all`` does not)."""

MEANINGS: Final[dict[str, str]] = {
    **CHECKS,
    **RUN_CHECKS,
    **REGISTER_CHECKS,
    **QUORUM_INVARIANTS,
    **STATE_INVARIANTS,
    **CLIENT_CHECKS_ON_REQUEST,
    **ON_REQUEST,
    **AVAILABILITY,
}
"""What each anomaly that a verdict may have means."""

BY_WEIGHT: Final[tuple[str, ...]] = tuple(dict.fromkeys(("lost-write", "committed-loss", "unseen", *MEANINGS)))
"""Anomalies, the gravest for clients first: what was lost, before how it showed."""

NEEDS: Final[dict[str, tuple[Need, ...]]] = {
    **dict.fromkeys([*CLIENT_CHECKS, *CLIENT_CHECKS_ON_REQUEST], ("history",)),
    **dict.fromkeys(INSIDE_CHECKS, ("events",)),
    "committed-loss": ("events", "replica-log"),
    "divergence": ("replica-log",),
    "deleted-topic-records": ("events", "replica-log"),
    "replica-incomplete": ("events", "dump-marks"),
    "sequence-gap": ("dump-marks",),
    "producer-id-reused": ("history", "replica-log"),
}
"""The tables without which a check cannot be done; ``dump-marks``: a dump that says how reading each replica ended."""

BY_SOME_STEPS: Final = (
    "alter-partition-handled",
    "became-follower",
    "became-leader",
    "broker-registered",
    "broker-registration-changed",
    "high-watermark",
    "isr-proposal-ended",
    "isr-proposed",
    "isr-taken",
    "log-appended",
    "log-cut",
    "log-loaded",
    "log-removed",
    "log-start-moved",
    "log-truncated",
    "node-started",
    "node-stopped",
    "partition-changed",
)
"""Events by which ``model-step`` judges less, of other software: no flushes, batches and acknowledgements, and nothing
of which settings nodes obey."""

NEEDED_EVENTS: Final[dict[str, tuple[str, ...]]] = {
    "committed-loss": (
        "batch-committed",
        "became-leader",
        "log-loaded",
        "log-start-moved",
        "log-truncated",
        "partition-changed",
        "transition",
    ),
    "isr-incomplete": (
        "became-follower",
        "became-leader",
        "broker-registered",
        "high-watermark",
        "log-appended",
        "log-cut",
        "log-loaded",
        "log-truncated",
        "partition-changed",
    ),
    "stale-isr-join": ("alter-partition-handled", "broker-registered", "isr-proposed", "partition-changed"),
    "two-leaders": ("log-appended", "partition-changed"),
    "leader-not-in-isr": ("partition-changed",),
    "hw-regression": ("high-watermark",),
    "min-isr": ("partition-changed", "write-acknowledged"),
    "replica-incomplete": ("broker-registered", "node-started", "node-stopped", "partition-changed"),
    "retention-too-greedy": (
        "high-watermark",
        "log-appended",
        "log-loaded",
        "log-start-moved",
        "log-truncated",
        "records-deletion-asked",
    ),
    "stray-partition": ("broker-state", "node-started", "node-stopped", "partition-changed"),
    "live-partition-deleted": (
        "became-follower",
        "became-leader",
        "broker-state",
        "log-loaded",
        "log-removed",
        "node-started",
        "node-stopped",
        "partition-changed",
    ),
    "deleted-topic-records": ("became-leader", "log-appended", "partition-changed"),
    "model-step": (
        *BY_SOME_STEPS,
        "batch-committed",
        "log-flushed",
        "min-isr-set",
        "records-deleted",
        "transition",
        "write-acknowledged",
    ),
    "node-crash": ("node-crashed",),
}
"""The kinds of node events that a check reads: if one of them was not recorded in full, nothing follows from what was.
A test records what the kernels really read. Our own nodes report all kinds; of other software only some can be seen.

``stray-partition`` reads events of logs (:data:`OF_LOGS`) if all kinds of them were recorded, otherwise what the dumps
show. Checks on clients, ``divergence``, ``sequence-gap``, and ``replica-incomplete`` beside these kinds, read others
only if they were recorded. Otherwise they judge by settings and by what clients saw, or do not know.
``producer-id-reused`` reads none."""

BY_OFFSETS: Final = ("became-leader", "high-watermark", "log-loaded", "log-truncated", "partition-changed")
"""Events by which ``committed-loss`` judges less, of other software: which offsets were committed, and no batches."""

BY_MOVES: Final = ("high-watermark", "log-appended", "log-loaded", "log-start-moved", "log-truncated")
"""Events by which ``retention-too-greedy`` judges less, of other software: not what clients asked to delete."""

BY_VIEWS: Final = (
    "became-follower",
    "became-leader",
    "isr-proposal-ended",
    "isr-taken",
    "log-appended",
    "log-removed",
    "node-stopped",
    "partition-changed",
)
"""Events by which ``min-isr`` judges less, of other software: which ISR leaders knew, and no acknowledgements."""

BY_FEWER: Final[dict[str, tuple[str, ...]]] = {
    "committed-loss": BY_OFFSETS,
    "min-isr": BY_VIEWS,
    "retention-too-greedy": BY_MOVES,
    "model-step": BY_SOME_STEPS,
}
"""Checks that judge less of other software than our own, with the events that they need for it."""

OF_LOGS: Final = ("became-follower", "became-leader", "log-loaded", "log-removed")
"""Events that say which logs a broker has, and for which topics it uses them."""
