"""Events that nodes report, as types: the ``node_event`` table of the pipeline.

Checks judge a run by these events, so they are part of the protocol's contract with the harness: an event is emitted
in the same step in which the thing happened, by the code that made it happen, and never for a thing that did not.
The host adds ``time_ns`` (run time), ``node_time_ns`` (the node's clock), ``node`` (name) and ``incarnation``.

All fields are drawn from one vocabulary, so that every event is a row of one wide table:

=================== ================================================================================
partition           ``"orders-0"``: topic name, dash, partition index
topic_id            the topic's uuid as 32 hex digits
broker              a broker id (the subject, not the node that speaks)
broker_epoch        epoch of ``broker``'s registration = offset of its registration record, or czxid of its znode
leader, leader_epoch, partition_epoch, replicas, isr   as in Kafka's metadata; ``leader`` −1: none
isr_epochs          broker epochs that belong to ``isr``, same order; −1: unknown
offset, end_offset  log offsets, ``end_offset`` exclusive
epoch               leader epoch of a batch, the quorum's epoch, or that of a controller of ZooKeeper mode
crc                 CRC-32C of a record batch (covers neither base offset nor leader epoch: equal on all replicas)
producer_id, producer_epoch   of a record batch; −1: its producer is not idempotent
metadata_offset     position in the metadata that made it so: offset in ``__cluster_metadata``, or zxid
min_isr             ``min.insync.replicas`` in force, at most the number of replicas
retention_ms, retention_bytes   settings in force for a log; −1: no limit
age_ms, size_left   evidence of a deletion by retention
reason              short stable word(s); of a crash: the exception in one line
stack               where the exception of a crash was raised, several lines
=================== ================================================================================
"""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec


class NodeEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """Base of all events; ``kind`` on the wire is the tag of the subclass."""


# --- the host: emitted for a node, not by its core ----------------------------------------------------------------


class NodeStarted(NodeEvent, frozen=True, kw_only=True, tag="node-started"):
    """The host began to run this incarnation; first of its events."""


class NodeStopped(NodeEvent, frozen=True, kw_only=True, tag="node-stopped"):
    """This incarnation is over. ``reason``: ``kill`` (page cache kept), ``power-loss`` (page cache lost), ``stop``
    (clean) or ``crash`` (it ended by itself: its disk failed, or see :class:`NodeCrashed`); ``offset``: bytes that were
    readable before and are not any more."""

    reason: str
    offset: int = 0


class NodeCrashed(NodeEvent, frozen=True, kw_only=True, tag="node-crashed"):
    """This incarnation ended by an exception of its own: a bug, or a broken promise that made it halt. Comes before
    its :class:`NodeStopped`. ``reason``: the exception in one line; ``stack``: where it was raised, or the end of the
    node's log if nothing else is known."""

    reason: str
    stack: str


# --- broker: the log of one replica -------------------------------------------------------------------------------


class LogLoaded(NodeEvent, frozen=True, kw_only=True, tag="log-loaded"):
    """A replica's log was opened or created (``offset`` start, ``end_offset`` LEO). First event of a log's life in an
    incarnation. ``reason``: ``created``, ``clean`` or ``recovered`` (after an unclean stop)."""

    partition: str
    topic_id: str
    offset: int
    end_offset: int
    reason: str


class LogFlushed(NodeEvent, frozen=True, kw_only=True, tag="log-flushed"):
    """A flush has ended: everything of the log below ``offset`` is durable, which it was not known to be before."""

    partition: str
    offset: int


class LogRemoved(NodeEvent, frozen=True, kw_only=True, tag="log-removed"):
    """A replica's log was taken away: no reader and no restart sees it any more. Last event of a log's life.
    ``reason``: ``deleted`` (by request, or because the broker's metadata no longer has the replica; the files are
    deleted after a delay), ``stray`` (found at a start, and not assigned to this broker)."""

    partition: str
    topic_id: str
    reason: str


class LogCut(NodeEvent, frozen=True, kw_only=True, tag="log-cut"):
    """Recovery dropped bytes behind the last valid batch. ``end_offset`` is the LEO left, ``offset`` the bytes dropped;
    ``reason``: ``bad-crc``, ``short-batch``, ``gap`` … Never silent."""

    partition: str
    offset: int
    end_offset: int
    reason: str


class LogAppended(NodeEvent, frozen=True, kw_only=True, tag="log-appended"):
    """Batches were appended: [``offset``, ``end_offset``), by a leader or follower in ``leader_epoch``.
    ``reason``: ``leader`` or ``follower``."""

    partition: str
    leader_epoch: int
    offset: int
    end_offset: int
    reason: str


class LogTruncated(NodeEvent, frozen=True, kw_only=True, tag="log-truncated"):
    """The replica cut its log back from LEO ``end_offset`` to LEO ``offset``.
    ``reason``: ``diverging-epoch``, ``high-watermark``, ``restart-at`` (log emptied and restarted at ``offset``)."""

    partition: str
    leader_epoch: int
    offset: int
    end_offset: int
    reason: str


class RecordsDeletionAsked(NodeEvent, frozen=True, kw_only=True, tag="records-deletion-asked"):
    """A client asked this leader (DeleteRecords) to delete the records below ``offset``; −1: all that is committed."""

    partition: str
    topic_id: str
    offset: int


class RecordsDeleted(NodeEvent, frozen=True, kw_only=True, tag="records-deleted"):
    """The leader's answer to DeleteRecords: the records below ``offset`` are gone from the log of each broker in
    ``replicas``, those that live."""

    partition: str
    topic_id: str
    leader_epoch: int
    offset: int
    replicas: list[int]


class LogStartMoved(NodeEvent, frozen=True, kw_only=True, tag="log-start-moved"):
    """The log start offset of this replica moved from ``offset`` to ``end_offset``: what lies between is gone.

    ``reason``: ``retention-time`` or ``retention-size`` (one event for each segment that retention deleted),
    ``delete-records`` (DeleteRecords, on the leader) or ``leader`` (a follower takes over its leader's log start).
    ``retention_ms`` and ``retention_bytes`` are in force on this log. Of retention: ``age_ms`` is the age of the newest
    record in the segment by this node's wall clock (−1: it has no timestamp), ``size_left`` the bytes of the log
    without the segment.
    """

    partition: str
    topic_id: str
    offset: int
    end_offset: int
    reason: str
    retention_ms: int
    retention_bytes: int
    age_ms: int = -1
    size_left: int = -1


# --- broker: leading and following --------------------------------------------------------------------------------


class BecameLeader(NodeEvent, frozen=True, kw_only=True, tag="became-leader"):
    """This broker began to lead ``partition`` in ``leader_epoch``; ``end_offset`` is its LEO then (the epoch's start
    offset), ``offset`` the HW it began with."""

    partition: str
    topic_id: str
    leader_epoch: int
    partition_epoch: int
    offset: int
    end_offset: int
    isr: list[int]
    replicas: list[int]


class BecameFollower(NodeEvent, frozen=True, kw_only=True, tag="became-follower"):
    """This broker began to follow ``leader`` (−1: none) in ``leader_epoch``; ``end_offset`` its LEO, ``offset``
    its HW."""

    partition: str
    topic_id: str
    leader: int
    leader_epoch: int
    offset: int
    end_offset: int


class BatchCommitted(NodeEvent, frozen=True, kw_only=True, tag="batch-committed"):
    """The leader of ``leader_epoch`` saw the batch [``offset``, ``end_offset``) of ``epoch`` pass its HW. One event a
    batch, in offset order, before the :class:`HighWatermarkAdvanced` that covers it."""

    partition: str
    leader_epoch: int
    offset: int
    end_offset: int
    epoch: int
    crc: int
    producer_id: int = -1
    producer_epoch: int = -1


class HighWatermarkAdvanced(NodeEvent, frozen=True, kw_only=True, tag="high-watermark"):
    """The *leader's* HW moved to ``offset`` (exclusive end of what is committed). Followers' copies are not
    reported."""

    partition: str
    leader_epoch: int
    offset: int


class WriteAcknowledged(NodeEvent, frozen=True, kw_only=True, tag="write-acknowledged"):
    """The leader acknowledged the batch [``offset``, ``end_offset``) of an ``acks=all`` producer, while ``isr`` was the
    committed ISR and ``min_isr`` was in force.

    One event for the first acknowledgement under each pair of partition epoch and ``min_isr``: it stands for all
    acknowledgements that follow under the same pair.
    """

    partition: str
    topic_id: str
    leader_epoch: int
    partition_epoch: int
    offset: int
    end_offset: int
    isr: list[int]
    min_isr: int


class IsrProposed(NodeEvent, frozen=True, kw_only=True, tag="isr-proposed"):
    """The leader sent AlterPartition. ``isr_epochs`` are the replica epochs it knows from Fetch (−1: unknown).
    ``reason``: ``expand``, ``shrink`` or ``expand-shrink``."""

    partition: str
    leader_epoch: int
    partition_epoch: int
    isr: list[int]
    isr_epochs: list[int]
    reason: str


class IsrProposalEnded(NodeEvent, frozen=True, kw_only=True, tag="isr-proposal-ended"):
    """The leader's proposal came to an end. ``reason``: ``committed``, or the error's name that dropped it
    (``INELIGIBLE_REPLICA`` …), or ``superseded``; ``isr`` is the committed ISR from now on."""

    partition: str
    leader_epoch: int
    partition_epoch: int
    isr: list[int]
    reason: str


class IsrTaken(NodeEvent, frozen=True, kw_only=True, tag="isr-taken"):
    """The leader took over a committed ISR that it had not proposed, in the same leader epoch: ``isr`` is in force for
    it from now on. (With a proposal under way, :class:`IsrProposalEnded` says so, and in a new leader epoch
    :class:`BecameLeader`.)"""

    partition: str
    leader_epoch: int
    partition_epoch: int
    isr: list[int]


class MinIsrSet(NodeEvent, frozen=True, kw_only=True, tag="min-isr-set"):
    """From now on ``min_isr`` is in force for this replica: at its start, and when the topic's configuration or its
    replicas have changed it."""

    partition: str
    min_isr: int


class BrokerStateChanged(NodeEvent, frozen=True, kw_only=True, tag="broker-state"):
    """This broker's own life: ``reason`` is ``starting``, ``registered``, ``recovery``, ``running``,
    ``fenced`` (it was running), ``controlled-shutdown``, ``stopped``; ``broker_epoch`` −1 before it registered."""

    broker: int
    broker_epoch: int
    reason: str


# --- controllers ---------------------------------------------------------------------------------------------------
# Every controller emits these when the record commits in its own view, so each appears once per controller: readers
# keep the first for each metadata_offset. In ZooKeeper mode the servers of the ensemble emit them, each when it applies
# the transaction (``zookeeper/transaction_events.py``): nobody has to believe what a controller says of itself.


class BrokerRegistered(NodeEvent, frozen=True, kw_only=True, tag="broker-registered"):
    """``broker`` registered under ``broker_epoch``; ``reason`` is its incarnation id (32 hex digits)."""

    broker: int
    broker_epoch: int
    metadata_offset: int
    reason: str


class BrokerRegistrationChanged(NodeEvent, frozen=True, kw_only=True, tag="broker-registration-changed"):
    """``reason``: ``fenced``, ``unfenced``, ``controlled-shutdown`` or ``unregistered``."""

    broker: int
    broker_epoch: int
    metadata_offset: int
    reason: str


class PartitionChanged(NodeEvent, frozen=True, kw_only=True, tag="partition-changed"):
    """The committed state of a partition from ``metadata_offset`` on. ``reason``: ``created``, ``changed``,
    ``deleted``."""

    partition: str
    topic_id: str
    replicas: list[int]
    isr: list[int]
    leader: int
    leader_epoch: int
    partition_epoch: int
    metadata_offset: int
    reason: str


class AlterPartitionHandled(NodeEvent, frozen=True, kw_only=True, tag="alter-partition-handled"):
    """The active controller judged a leader's proposal. ``isr_epochs`` as claimed by the leader (−1: unknown),
    ``registered_epochs`` those in force, same order (−1: not registered); ``reason`` the error's name or ``NONE``;
    ``metadata_offset`` of the change it wrote, −1 where it wrote none."""

    partition: str
    broker: int
    leader_epoch: int
    partition_epoch: int
    isr: list[int]
    isr_epochs: list[int]
    registered_epochs: list[int]
    metadata_offset: int
    reason: str


class ControllerChanged(NodeEvent, frozen=True, kw_only=True, tag="controller-changed"):
    """ZooKeeper mode: from ``metadata_offset`` on, ``broker`` is the controller, elected as that of ``epoch`` (−1:
    nobody is; ``epoch`` is the last one's)."""

    broker: int
    epoch: int
    metadata_offset: int


# --- raft ----------------------------------------------------------------------------------------------------------


class RaftStateChanged(NodeEvent, frozen=True, kw_only=True, tag="raft-state"):
    """``reason``: ``unattached``, ``voted``, ``follower``, ``prospective``, ``candidate``, ``leader``, ``resigned``,
    ``observer``; ``epoch`` the quorum's, ``leader`` −1 where unknown, ``broker`` the id voted for or −1."""

    epoch: int
    leader: int
    broker: int
    reason: str


class RaftAppended(NodeEvent, frozen=True, kw_only=True, tag="raft-appended"):
    """The metadata log grew by the batch [``offset``, ``end_offset``) of ``epoch``."""

    offset: int
    end_offset: int
    epoch: int
    crc: int


class RaftTruncated(NodeEvent, frozen=True, kw_only=True, tag="raft-truncated"):
    """The metadata log was cut from ``end_offset`` back to ``offset`` while in ``epoch``."""

    offset: int
    end_offset: int
    epoch: int


class RaftHighWatermark(NodeEvent, frozen=True, kw_only=True, tag="raft-high-watermark"):
    """This replica's HW of the metadata log moved to ``offset`` (exclusive) in ``epoch``, as ``leader`` reported it."""

    offset: int
    epoch: int
    leader: int


class RaftSnapshot(NodeEvent, frozen=True, kw_only=True, tag="raft-snapshot"):
    """A snapshot of the metadata log below ``offset``, the last record of which is of ``epoch``. ``reason``:
    ``written`` (from the node's own image) or ``fetched`` (from the leader), durable then; ``loaded`` (by the state
    machine, which jumps to it); ``ignored`` (found on the disk, not whole). ``crc``: CRC-32C of the file."""

    offset: int
    epoch: int
    crc: int
    reason: str


class RaftBroken(NodeEvent, frozen=True, kw_only=True, tag="raft-broken"):
    """This replica has found that the quorum broke an invariant, and halts: a message in ``epoch`` contradicts its
    state. ``leader``: the node that it follows or followed (−1: none). ``reason``: the name of the invariant."""

    epoch: int
    leader: int
    reason: str


# --- transitions that change nothing a check judges by --------------------------------------------------------------

Transition = Literal[
    # log
    "segment-rolled",
    "producer-snapshot-written",
    "producer-snapshot-loaded",
    "segments-below-start-deleted",
    "compaction-begun",
    "compacted",
    "log-offline",
    "directory-deleted",
    "stray-set-aside",
    # a broker's session
    "heartbeats-late",
    "registration-refused",
    "registration-refused-as-duplicate",
    "registration-epoch-went-back",
    "registration-unanswered",
    # produce
    "duplicate-answered",
    "duplicate-answered-by-new-leader",
    "out-of-order-sequence-refused",
    "not-enough-replicas",
    "not-enough-replicas-after-append",
    "produce-expired",
    "produce-lost-leadership",
    # fetch
    "fetch-refused-fenced-epoch",
    "fetch-refused-unknown-epoch",
    "fetch-refused-not-leader",
    "fetch-refused-other",
    "fetch-offset-repaired-to-leader-end",
    "fetch-offset-repaired-to-leader-start",
    "fetch-session-evicted",
    "fetch-session-refused",
    "alter-partition-retried",
    "isr-write-retried",
    "isr-write-refused",
    "stale-command-refused",
    "leader-not-alive",
    # controller
    "session-expired",
    # groups
    "group-rebalance-begun",
    "group-generation-begun",
    "group-stable",
    "group-member-expired",
    "group-loaded",
    "group-offsets-committed",
    # raft
    "vote-granted",
    "vote-refused",
    "pre-vote-granted",
    "pre-vote-refused",
    "quorum-lost",
    "read-offset-timed-out",
    "leader-response-refused",
]
"""Steps of the protocol that no other event names; ``highwater_pipeline.transitions`` says what each means."""


class TransitionTaken(NodeEvent, frozen=True, kw_only=True, tag="transition"):
    """This node took a step that only the report of reached transitions asks for. ``reason`` is its name,
    ``partition`` the one that it is about, where it is about one. Such steps are rare (never one for each record), so
    that they cost next to nothing."""

    reason: Transition
    partition: str = ""


class Trace(Protocol):
    """Takes the node events of a core."""

    @property
    def follows_records(self) -> bool:
        """Whether anybody reads events that come with each batch: ``LogAppended``, ``BatchCommitted`` and
        ``HighWatermarkAdvanced``. If not, a core need not make them."""

    def emit(self, event: NodeEvent) -> None:
        """Record ``event`` as having happened now, on this node."""
