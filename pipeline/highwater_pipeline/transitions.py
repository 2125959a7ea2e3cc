"""Which transitions of the protocol a run reached, from its node events alone.

A seed that finds nothing says little if it never went where bugs live. So the transitions that runs took are compared
and added up, and what no seed has reached is listed.

:data:`CATALOGUE` has one row for each transition: its name, what it means, and how it is recognised. Most are
recognised by an event's kind and reason (``log-cut bad-crc``). The others need two events or more, and
:class:`_Fold` recognises them (no event in their row). A step that no event names is an event of kind ``transition``.

Controllers report each metadata record once each, and once more when they replay their log: only the first report
counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec


class Row(NamedTuple):
    """``event``: kind and reason of the event that shows it; empty where :class:`_Fold` recognises it."""

    name: str
    meaning: str
    event: str = ""


_ROWS: Final = (
    # --- nodes ---
    Row("node-killed", "a process was killed; its page cache stayed", "node-stopped kill"),
    Row("node-lost-power", "a machine lost power, and with it the page cache", "node-stopped power-loss"),
    Row("node-stopped", "a process was stopped cleanly", "node-stopped stop"),
    Row("node-crashed", "a process ended because its disk failed", "node-stopped crash"),
    # --- logs: loading ---
    Row("log-created", "a replica's log was created", "log-loaded created"),
    Row("clean-load", "a log was opened after a clean stop", "log-loaded clean"),
    Row("unclean-load", "a log was opened after an unclean stop, and recovered", "log-loaded recovered"),
    Row("cut-bad-crc", "recovery cut a log at a batch whose bytes do not match its CRC", "log-cut bad-crc"),
    Row("cut-short-batch", "recovery cut a log at a batch that the file's end cuts off", "log-cut short-batch"),
    Row("cut-bad-size", "recovery cut a log at a batch of an impossible size", "log-cut bad-size"),
    Row("cut-bad-magic", "recovery cut a log at a batch of an impossible magic", "log-cut bad-magic"),
    Row("cut-gap", "recovery cut a log where offsets are missing", "log-cut gap"),
    Row("cut-epoch-regression", "recovery cut a log where its epochs go back", "log-cut epoch-regression"),
    Row("cut-short-log", "recovery found a log that ends before its recovery point", "log-cut short-log"),
    Row("cut-behind-log-start", "recovery emptied a log that ends before its start", "log-cut behind-log-start"),
    Row("producer-snapshot-loaded", "the producers' state began with a snapshot", "transition"),
    # --- logs: life ---
    Row("segment-rolled", "a log began a new segment", "transition"),
    Row("producer-snapshot-written", "a snapshot with at least one producer was written", "transition"),
    Row("retention-by-time", "retention deleted a segment for its age", "log-start-moved retention-time"),
    Row("retention-by-size", "retention deleted a segment for the log's size", "log-start-moved retention-size"),
    Row("records-deleted", "a leader deleted records below an offset", "log-start-moved delete-records"),
    Row("segments-below-start-deleted", "a segment below the log start was deleted", "transition"),
    Row("log-start-followed", "a follower moved its log start to its leader's", "log-start-moved leader"),
    Row("compaction-begun", "a log began to be compacted", "transition"),
    Row("compacted", "a pass of compaction came to its end", "transition"),
    Row("log-offline", "a log went offline after a disk error", "transition"),
    Row("directory-deleted", "the directory of a deleted replica left the disk", "transition"),
    Row("stray-set-aside", "a broker that started renamed a log that none of its replicas has", "transition"),
    Row("registration-refused", "a controller answered a broker's registration with an error", "transition"),
    Row(
        "registration-refused-as-duplicate",
        "a broker tried to register while the session of its previous incarnation lasted",
        "transition",
    ),
    Row(
        "registration-epoch-went-back",
        "a controller offered a broker an older epoch than it had: the controllers lost their log",
        "transition",
    ),
    Row("registration-unanswered", "a broker's registration got no response", "transition"),
    Row("heartbeats-late", "a broker had no heartbeat answered for two thirds of its session", "transition"),
    Row(
        "truncated-diverging-epoch",
        "a follower cut its log back to where it parts from its leader's",
        "log-truncated diverging-epoch",
    ),
    Row(
        "truncated-restart-at",
        "a follower emptied its log and began where its leader's begins",
        "log-truncated restart-at",
    ),
    # --- produce ---
    Row("duplicate-answered", "a leader recognised a batch that it had appended itself", "transition"),
    Row(
        "duplicate-answered-by-new-leader",
        "a leader recognised a batch that a former leader had appended",
        "transition",
    ),
    Row("out-of-order-sequence-refused", "a leader refused a batch out of sequence", "transition"),
    Row("not-enough-replicas", "acks=all was refused before the append", "transition"),
    Row("not-enough-replicas-after-append", "acks=all was appended, then the ISR was too small", "transition"),
    Row("produce-expired", "a produce request waited for replication until its time-out", "transition"),
    Row("produce-lost-leadership", "a produce request waited, and the leadership ended", "transition"),
    # --- fetch ---
    Row("fetch-refused-fenced-epoch", "a follower's fetch named an old leader epoch", "transition"),
    Row(
        "fetch-refused-unknown-epoch", "a follower's fetch named a leader epoch its leader does not know", "transition"
    ),
    Row("fetch-refused-not-leader", "a follower's fetch came to a broker that does not lead", "transition"),
    Row("fetch-refused-other", "a follower's fetch got another error for a partition", "transition"),
    Row("fetch-offset-repaired-to-leader-end", "a follower out of range cut its log to its leader's end", "transition"),
    Row(
        "fetch-offset-repaired-to-leader-start",
        "a follower out of range restarted its log at its leader's start",
        "transition",
    ),
    Row("fetch-session-evicted", "a fetch session lost its place to another", "transition"),
    Row("fetch-session-refused", "a request named a fetch session that is not there", "transition"),
    # --- replication ---
    Row("became-leader", "a broker began to lead a partition", "became-leader"),
    Row("became-follower", "a broker began to follow a leader", "became-follower"),
    Row("isr-expand-proposed", "a leader proposed a larger ISR", "isr-proposed expand"),
    Row("isr-shrink-proposed", "a leader proposed a smaller ISR", "isr-proposed shrink"),
    Row("isr-exchange-proposed", "a leader proposed to add and to remove members", "isr-proposed expand-shrink"),
    Row("isr-proposal-committed", "a leader learned that its proposal is committed", "isr-proposal-ended committed"),
    Row(
        "isr-proposal-superseded",
        "a leader learned that newer metadata rules its proposal out",
        "isr-proposal-ended superseded",
    ),
    Row(
        "isr-proposal-ineligible",
        "a leader dropped a proposal after INELIGIBLE_REPLICA",
        "isr-proposal-ended INELIGIBLE_REPLICA",
    ),
    Row("alter-partition-retried", "a leader asked for the same ISR again", "transition"),
    Row("isr-write-retried", "a leader wrote the same ISR to ZooKeeper again", "transition"),
    Row("isr-write-refused", "a leader's ISR write failed, for the controller had written before", "transition"),
    Row(
        "stale-command-refused",
        "a broker refused a command that was older than another, of an old controller or for a previous incarnation",
        "transition",
    ),
    Row("leader-not-alive", "a broker was to follow a leader that its metadata does not have", "transition"),
    Row(
        "alter-partition-ineligible",
        "the controller refused an ISR with a member that may not be in one",
        "alter-partition-handled INELIGIBLE_REPLICA",
    ),
    Row(
        "alter-partition-fenced-epoch",
        "the controller refused an ISR of a former leader epoch",
        "alter-partition-handled FENCED_LEADER_EPOCH",
    ),
    Row(
        "alter-partition-stale-version",
        "the controller refused an ISR based on an old partition epoch",
        "alter-partition-handled INVALID_UPDATE_VERSION",
    ),
    # --- partitions, as the controllers commit them ---
    Row("leader-changed", "a partition got another leader"),
    Row("preferred-leader-elected", "leadership went back to the preferred replica, the old leader in sync"),
    Row("partition-leaderless", "a partition lost its leader and got no other"),
    Row("leaderless-partition-revived", "a partition without leader got one"),
    Row("leader-epoch-bumped", "a partition got a new leader epoch and kept its leader"),
    Row("isr-shrunk", "a smaller ISR was committed"),
    Row("isr-expanded", "a larger ISR was committed"),
    Row("isr-of-one", "an ISR shrank to its last member"),
    Row("topic-created", "a partition was created", "partition-changed created"),
    Row("topic-deleted", "a partition was deleted", "partition-changed deleted"),
    Row("topic-recreated", "a topic was created under the name of a deleted one"),
    Row("partitions-added", "a topic got more partitions"),
    Row("reassignment-begun", "a partition got further replicas"),
    Row("reassignment-completed", "a reassigned partition lost its old replicas"),
    Row("reassignment-cancelled", "a reassigned partition went back to its old replicas"),
    # --- brokers ---
    Row("broker-reregistered", "a broker registered again, as another incarnation"),
    Row("registration-replaced", "a living broker registered again under a new epoch"),
    Row("broker-fenced", "a broker was fenced", "broker-registration-changed fenced"),
    Row("broker-unfenced", "a broker was unfenced", "broker-registration-changed unfenced"),
    Row("session-expired", "the controller fenced a broker whose session had timed out", "transition"),
    Row("controlled-shutdown-begun", "a broker asked for leave to stop", "broker-state controlled-shutdown"),
    Row(
        "controlled-shutdown-granted",
        "the controller moved leaderships away from a stopping broker",
        "broker-registration-changed controlled-shutdown",
    ),
    Row("broker-stopped", "a broker closed all its logs", "broker-state stopped"),
    # --- groups ---
    Row("group-rebalance-begun", "a group asked its members to join again", "transition"),
    Row("group-generation-begun", "a group began a generation", "transition"),
    Row("group-stable", "a group's assignment was committed", "transition"),
    Row("group-member-expired", "a member's session ended", "transition"),
    Row("group-loaded", "a new coordinator loaded a group from its log", "transition"),
    Row("group-offsets-committed", "offsets of a group were committed", "transition"),
    # --- quorum ---
    Row("raft-prospective", "a voter asked for pre-votes", "raft-state prospective"),
    Row("raft-candidate", "a voter stood for election", "raft-state candidate"),
    Row("raft-leader", "a candidate was elected", "raft-state leader"),
    Row("raft-resigned", "a leader resigned", "raft-state resigned"),
    Row("controller-changed", "another controller became the leader"),
    Row("ensemble-leader-changed", "another ZooKeeper server became the leader of the ensemble"),
    Row("vote-granted", "a voter gave its vote", "transition"),
    Row("vote-refused", "a voter refused its vote", "transition"),
    Row("pre-vote-granted", "a voter gave its pre-vote", "transition"),
    Row("pre-vote-refused", "a voter refused its pre-vote", "transition"),
    Row("quorum-lost", "a leader resigned because no majority fetched from it", "transition"),
    Row("read-offset-timed-out", "a linearizable read was not confirmed in time", "transition"),
    Row("leader-response-refused", "a replica refused what the quorum's leader sent, and asked again", "transition"),
    Row("raft-truncated", "a replica cut its metadata log back", "raft-truncated"),
    Row("raft-snapshot-written", "a node wrote a snapshot of the metadata", "raft-snapshot written"),
    Row("raft-snapshot-fetched", "a replica fetched a snapshot from the leader", "raft-snapshot fetched"),
    Row("raft-snapshot-loaded", "a state machine jumped to a snapshot", "raft-snapshot loaded"),
)

CATALOGUE: Final[dict[str, Row]] = {row.name: row for row in sorted(_ROWS)}
"""Every transition by its name, in the order of names."""

BULK: Final = ("log-appended", "batch-committed", "high-watermark", "raft-appended", "raft-high-watermark")
"""The kinds of most of all events; no transition needs them."""
_BULK: Final = re.compile(rb'"kind":"(?:%b)"' % "|".join(BULK).encode())


class _Event(msgspec.Struct):
    """The fields of an event that some transition needs."""

    kind: str
    node: str
    incarnation: int = 0
    reason: str = ""
    partition: str = ""
    topic_id: str = ""
    replicas: list[int] = []
    isr: list[int] = []
    leader: int = -1
    leader_epoch: int = -1
    broker: int = -1
    broker_epoch: int = -1
    metadata_offset: int = -1


_decode = msgspec.json.Decoder(_Event).decode


def _by_event() -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for row in _ROWS:
        kind, _, reason = row.event.partition(" ")
        if kind:
            found[kind, row.name if kind == "transition" else reason] = row.name
    return found


_BY_EVENT: Final = _by_event()
_ANY_REASON: Final = frozenset(kind for kind, reason in _BY_EVENT if not reason)


def transitions_of(lines: Iterable[bytes]) -> tuple[str, ...]:
    """Return the sorted names of what the lines of ``events/nodes.jsonl`` show.

    Raises:
        msgspec.DecodeError: a line is not an event.
    """
    fold = _Fold()
    for line in lines:
        if _BULK.search(line) is None:
            fold.add(_decode(line))
    return tuple(sorted(fold.names))


def transitions_of_rows(rows: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """As :func:`transitions_of`, of events that have been read."""
    fold = _Fold()
    for row in rows:
        if row["kind"] not in BULK:
            fold.add(msgspec.convert(row, _Event))
    return tuple(sorted(fold.names))


def unreached(names: Iterable[str]) -> tuple[Row, ...]:
    """What of the catalogue is not among ``names``."""
    there = frozenset(names)
    return tuple(row for name, row in CATALOGUE.items() if name not in there)


@dataclass(slots=True)
class _Partition:
    """The last committed state of a partition. ``settled``: its replicas when no reassignment was going on."""

    topic_id: str
    offset: int
    replicas: list[int]
    isr: list[int]
    leader: int
    leader_epoch: int
    settled: list[int]


@dataclass(slots=True)
class _Fold:
    """Takes in events in order; ``names`` grows."""

    names: set[str] = field(default_factory=set)
    _partitions: dict[str, _Partition] = field(default_factory=dict)
    _deleted: dict[str, int] = field(default_factory=dict)
    _topics: dict[str, str] = field(default_factory=dict)
    _last_created: dict[str, int] = field(default_factory=dict)
    _registered: dict[int, int] = field(default_factory=dict)
    _epochs: dict[tuple[str, int], int] = field(default_factory=dict)
    _controller: str = ""
    _controller_since: int = -1
    _ensemble_leader: str = ""

    def add(self, event: _Event) -> None:
        name = _BY_EVENT.get((event.kind, "" if event.kind in _ANY_REASON else event.reason))
        if name is not None:
            self.names.add(name)
        match event.kind:
            case "partition-changed":
                self._partition_changed(event)
            case "broker-registered":
                self._broker_registered(event)
            case "broker-state" if event.reason == "registered":
                life = (event.node, event.incarnation)
                if self._epochs.setdefault(life, event.broker_epoch) != event.broker_epoch:
                    self.names.add("registration-replaced")
            case "controller-changed" if event.broker >= 0 and event.metadata_offset > self._controller_since:
                if self._controller not in ("", f"broker-{event.broker}"):
                    self.names.add("controller-changed")
                self._controller, self._controller_since = f"broker-{event.broker}", event.metadata_offset
            case "raft-state" if event.reason == "leader" and event.node.startswith("zookeeper-"):
                if self._ensemble_leader not in ("", event.node):
                    self.names.add("ensemble-leader-changed")
                self._ensemble_leader = event.node
            case "raft-state" if event.reason == "leader":
                if self._controller not in ("", event.node):
                    self.names.add("controller-changed")
                self._controller = event.node

    def _broker_registered(self, event: _Event) -> None:
        before = self._registered.get(event.broker, -1)
        if event.metadata_offset > before:
            self._registered[event.broker] = event.metadata_offset
            if before >= 0:
                self.names.add("broker-reregistered")

    def _partition_changed(self, event: _Event) -> None:
        key, offset = event.partition, event.metadata_offset
        old = self._partitions.get(key)
        if offset <= max(self._deleted.get(key, -1), -1 if old is None else old.offset):
            return
        if event.reason == "deleted":
            self._partitions.pop(key, None)
            self._deleted[key] = offset
            return
        if old is None or old.topic_id != event.topic_id:
            self._created(event)
            settled = event.replicas
        else:
            settled = self._changed(old, event)
        self._partitions[key] = _Partition(
            event.topic_id, offset, event.replicas, event.isr, event.leader, event.leader_epoch, settled
        )

    def _created(self, event: _Event) -> None:
        topic = event.partition.rpartition("-")[0]
        if self._topics.setdefault(topic, event.topic_id) != event.topic_id:
            self.names.add("topic-recreated")
        self._topics[topic] = event.topic_id
        # The partitions of a new topic are records one behind the other; those added later are not.
        before = self._last_created.get(event.topic_id)
        if before is not None and event.metadata_offset > before + 1:
            self.names.add("partitions-added")
        self._last_created[event.topic_id] = event.metadata_offset

    def _changed(self, old: _Partition, event: _Event) -> list[int]:
        """Name what changed; returns the replicas that count as settled from now on."""
        if event.leader != old.leader:
            if event.leader < 0:
                self.names.add("partition-leaderless")
            elif old.leader < 0:
                self.names.add("leaderless-partition-revived")
            else:
                self.names.add("leader-changed")
                if event.leader == event.replicas[0] and old.leader in event.isr:
                    self.names.add("preferred-leader-elected")
        elif event.leader_epoch > old.leader_epoch:
            self.names.add("leader-epoch-bumped")
        if len(event.isr) < len(old.isr):
            self.names.add("isr-shrunk")
            if len(event.isr) == 1:
                self.names.add("isr-of-one")
        elif len(event.isr) > len(old.isr):
            self.names.add("isr-expanded")
        before, now = set(old.replicas), set(event.replicas)
        if now - before:
            self.names.add("reassignment-begun")
        elif before - now:
            cancelled = now == set(old.settled)
            self.names.add("reassignment-cancelled" if cancelled else "reassignment-completed")
            return event.replicas
        return old.settled


__all__ = ["CATALOGUE", "Row", "transitions_of", "transitions_of_rows", "unreached"]
