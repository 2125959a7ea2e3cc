"""The rules of the specification by name, and a step that one of them does not permit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

RULES: Final[dict[str, str]] = {
    # --- decisions on the partition ---
    "epochs-advance": "a decision has a higher partition epoch and no lower leader epoch; a new leader has a new"
    " one, and so has a change that takes a replica away",
    "isr-of-replicas": "the ISR is not empty and a part of the replicas, and the leader is a member",
    "leader-from-isr": "a new leader is a member of the ISR of the decision before",
    "leader-alive": "a new leader is registered and unfenced (KRaft mode)",
    "fenced-leaves-isr": "a fenced broker does not lead, and is in no ISR of more than one (KRaft mode)",
    "isr-grows-by-proposal": "a replica joins the ISR only by a proposal of the leader, based on the decision before",
    "join-incarnation": "a replica joins the ISR under the broker epoch that it has then (KIP-903; KRaft mode)",
    "proposal-judged": "a controller judges what the leader proposed, by the broker epochs that are registered (KRaft"
    " mode)",
    "reassignment-in-sync": "a reassignment takes a replica away when all that it leaves are in the ISR (KRaft mode)",
    # --- the log of a replica ---
    "load": "a log is loaded with what it held, or less after an unclean stop, but with all that had been flushed",
    "append": "an append begins at the log end offset, by a leader or a follower in its leader epoch",
    "append-of-leader": "a follower appends what the leader of its epoch has appended",
    "log-matching": "a follower appends only when its last record is of the epoch that the leader's log has there",
    "truncate": "only a follower truncates, at its log end offset, and in its leader epoch",
    "truncate-diverging": "a follower truncates to the first record that differs from the leader's, and no further",
    "log-start": "a log start moves forward, and on a leader no further than its high watermark",
    # --- roles ---
    "role": "a broker takes a role that was decided, and no older one than it has",
    "one-leader": "a leader epoch has one leader",
    "role-keeps-log": "a new role changes neither log end offset nor, beyond it, high watermark",
    "follower-high-watermark": "a follower takes over its leader's high watermark, and nothing above the true one",
    # --- the leader ---
    "high-watermark": "a leader moves its high watermark forward, at most to its log end offset and not below that of a"
    " leader before",
    "high-watermark-min-isr": "the high watermark stands still while the ISR is below min.insync.replicas",
    "high-watermark-isr": "each member of the ISR, and each that is proposed, has fetched up to the high watermark in"
    " this leader epoch",
    "commit": "batches are committed one behind the other, as they stand in the leader's log",
    "proposal": "a leader proposes one ISR at a time, based on the decision that it knows",
    "proposal-caught-up": "a replica that is proposed has fetched, in this leader epoch, up to the high watermark and"
    " to the start of the epoch",
    "proposal-end": "a proposal ends when it is committed, superseded, or refused by the controller",
    "acknowledge": "acks=all is acknowledged by the leader, below its high watermark, with min.insync.replicas in sync,"
    " under a decision of its leader epoch, and reported with the state that the leader knows",
    "records-deleted": "DeleteRecords is answered by the leader, when each replica that lives has moved its log start",
    # --- clients ---
    "read-committed": "a consumer reads records below the high watermark",
    "acknowledge-committed": "a producer's acks=all write is acknowledged when a leader has moved the high watermark"
    " beyond it",
}
"""What each rule permits, by its name."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A step that is not permitted. ``what`` says what happened, ``state`` what the state was, ``permitted`` which
    steps were; ``row`` is the event's, and ``because`` are rows that show the state."""

    rule: str
    what: str
    row: int
    state: dict[str, Any]
    permitted: tuple[str, ...]
    because: tuple[int, ...] = ()
