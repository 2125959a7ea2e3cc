"""A partition's name outlives its topic: if a topic was deleted and created again, each generation is judged alone.

With a new topic offsets and leader epochs start at 0 again, which must not look like a loss. Each generation has its
own topic id. Some events have the topic id; the others belong to the generation of their node's last event that had
one.

*Topics without ids* (ZooKeeper mode before KIP-516) are known by their name alone: events have no id, or all
generations have the same. A topic that gets its id by an upgrade has two. :func:`with_ids` gives each generation one
id. A generation begins with the committed state that creates the partition after it was deleted. Brokers cannot tell
generations apart, so what they report is read in this way:

* A log that a broker creates belongs to the generation that exists then. A log that it loads is the one that it had.
* A leader or follower has a role that was committed: by leader, leader epoch and, of a leader, partition epoch and ISR
  too. From then on its log belongs to the newest generation that had this role. Only its
  role shows that the log of a broker belongs to another topic now.
* If a broker or its disk fails while a log is made, the log is loaded later without the id that its topic has, or by a
  broker that had deleted the log before. Such a log belongs to the topic for which its broker gets a role next; without
  a role, to the newest topic of which this broker was a replica by then.
* The dump of a replica that is assigned at the end belongs to the last generation, as it does for the cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from highwater_pipeline.arrow.arrays import Ints, distinct
from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks.columns import broker_of, codes, ints, is_any, is_zookeeper, last_known
from highwater_pipeline.partitions.partition_tables import CLUSTER_EVENTS, PartitionTables

_ROLES = ("became-leader", "became-follower")


def generations(unit: PartitionTables) -> list[PartitionTables]:
    """The unit itself where it has one topic id or none, else one unit for each, in the order in which they came up."""
    topics = list(dict.fromkeys([*unit.events.words("topic_id"), *unit.replica_log.words("topic_id")]))
    if len(topics) < 2:
        return [unit]
    spoken_of = topic_of_events(unit.events, topics)
    of_cluster = is_any(unit.events, "kind", *CLUSTER_EVENTS)
    return [
        replace(
            unit,
            events=unit.events.where((spoken_of == number) | of_cluster),
            replica_log=unit.replica_log.where(is_any(unit.replica_log, "topic_id", topic)),
            is_only_topic=False,
        )
        for number, topic in enumerate(topics)
    ]


def topic_of_events(events: View, topics: list[str]) -> Ints:
    """For every event its topic's place in ``topics``; −1 where its node has not named one yet."""
    named, order = codes(events, "topic_id")
    renumber = np.array([*map(topics.index, order), -1])
    named = renumber[named]  # null is −1, and so the last
    node, nodes = codes(events, "node")
    topic = np.full(len(named), -1, np.int64)
    for number in range(len(nodes)):
        mine = np.flatnonzero(node == number)
        at = last_known(named[mine] >= 0)
        topic[mine] = np.where(at >= 0, named[mine][at], -1)
    return topic


def with_ids(unit: PartitionTables) -> PartitionTables:
    """The unit with one topic id for each generation. Where generations share one: ``ID``, ``ID#2``, …"""
    named = {*unit.events.words("topic_id"), *unit.replica_log.words("topic_id")}
    changes = unit.events.where(is_any(unit.events, "kind", "partition-changed"))
    ids = codes(changes, "topic_id")[1]
    created = len(distinct(ints(changes, "metadata_offset")[is_any(changes, "reason", "created")]))
    if not ids or (named == {*ids} and (created == len(ids) or (created < len(ids) and not is_zookeeper(unit.events)))):
        return unit
    found = _Generations(changes, unit.facts.settings.largest_clock_error_ns)
    speaks = unit.events.is_known("topic_id")
    events = unit.events.where(speaks)
    numbers = found.of_events(events.to_pylist())
    every = unit.events.values("topic_id")
    for position, number in zip(np.flatnonzero(speaks).tolist(), numbers, strict=True):
        every[position] = found.ids[number]
    last = dict(zip(events.values("node"), numbers, strict=True))
    dumped = [found.ids[found.of_dump(broker, last)] for broker in ints(unit.replica_log, "broker").tolist()]
    return replace(
        unit,
        events=unit.events.with_words("topic_id", every),
        replica_log=unit.replica_log.with_words("topic_id", dumped),
    )


@dataclass(frozen=True, slots=True)
class _State:
    """A committed state, from when on it was known to be, and its generation."""

    generation: int
    time_ns: int
    event: dict[str, Any]


class _Generations:
    """The topics of one name, by its committed states. ``ids``: one for each. ``clock_error_ns``: how far the time of
    any event may be from the true one."""

    def __init__(self, changes: View, clock_error_ns: int) -> None:
        self._apart_ns = 2 * clock_error_ns
        by_offset: dict[int, dict[str, Any]] = {}
        for event in changes.to_pylist():
            by_offset.setdefault(event["metadata_offset"], event)
        self.ids: list[str] = []
        self._offsets: list[int] = []
        self._states: list[_State] = []
        self._of_id: dict[str, set[int]] = {}
        was_deleted = False
        for offset in sorted(by_offset):
            event, topic_id = by_offset[offset], by_offset[offset]["topic_id"]
            # Only a new node begins with version 0; an order to delete may also have been taken back.
            is_new = was_deleted and event["reason"] == "created" and event["partition_epoch"] == 0
            if is_new or not self.ids:
                self._offsets.append(offset)
                self.ids.append(f"{topic_id}#{len(self.ids) + 1}" if topic_id in self._of_id else topic_id)
            was_deleted = event["reason"] == "deleted"
            self._states.append(_State(len(self.ids) - 1, event["time_ns"], event))
            self._of_id.setdefault(topic_id, set()).add(len(self.ids) - 1)

    def of_events(self, events: Sequence[dict[str, Any]]) -> list[int]:
        """The generation of each event that names the topic."""
        has: dict[str, int] = {}
        without: set[str] = set()
        """Nodes that have deleted their log."""
        numbers = []
        for place, event in enumerate(events):
            node, generations_of_id = event["node"], self._of_id.get(event["topic_id"], ())
            if event["kind"] == "partition-changed":
                number = int(np.searchsorted(self._offsets, event["metadata_offset"], "right")) - 1
            elif len(generations_of_id) == 1:
                (number,) = generations_of_id
            elif event["kind"] == "log-loaded" and event["reason"] == "created":
                number = self._existing(event["time_ns"])
            elif event["kind"] == "log-loaded" and not generations_of_id and (self._have_ids or node in without):
                number = self._made_for(event, events[place + 1 :], has.get(node, 0))
            elif event["kind"] in _ROLES:
                number = self._with_role(event, has.get(node, 0))
            else:
                number = has.get(node, 0)
            if event["kind"] == "log-removed":
                without.add(node)
            elif event["kind"] == "log-loaded":
                without.discard(node)
            has[node] = number
            numbers.append(number)
        return numbers

    def of_dump(self, broker: int, last: dict[str, int]) -> int:
        """The generation that a broker's dump belongs to; ``last``: the one that each node spoke of last."""
        state = self._states[-1]
        if state.event["reason"] != "deleted" and broker in state.event["replicas"]:
            return state.generation
        return last.get(f"broker-{broker}", 0)

    @property
    def _have_ids(self) -> bool:
        return len(self._of_id) == len(self.ids)

    def _made_for(self, loaded: dict[str, Any], later: Sequence[dict[str, Any]], otherwise: int) -> int:
        """The generation for which a broker had begun to make a log that it loads."""
        now = loaded["time_ns"]
        for event in later:
            if event["node"] != loaded["node"]:
                continue
            if event["kind"] == "log-removed" or (event["kind"] == "log-loaded" and event["reason"] == "created"):
                break
            if event["kind"] in _ROLES:
                of_id = self._of_id.get(event["topic_id"], set())
                return min(of_id) if len(of_id) == 1 else self._with_role(event, otherwise)
        broker = broker_of(loaded["node"])
        replica_of = [
            state.generation
            for state in self._states
            if state.time_ns <= now and state.event["reason"] != "deleted" and broker in state.event["replicas"]
        ]
        return max(replica_of, default=otherwise)

    def _existing(self, time_ns: int) -> int:
        return max((state.generation for state in self._states if state.time_ns <= time_ns + self._apart_ns), default=0)

    def _with_role(self, role: dict[str, Any], otherwise: int) -> int:
        """The newest generation that had this role by then; ``otherwise`` where none had."""
        fitting = (
            state.generation
            for state in reversed(self._states)
            if state.time_ns <= role["time_ns"] + self._apart_ns and _is_role(state.event, role)
        )
        return next(fitting, otherwise)


def _is_role(state: dict[str, Any], role: dict[str, Any]) -> bool:
    broker = broker_of(role["node"])
    if state["reason"] == "deleted" or state["leader_epoch"] != role["leader_epoch"]:
        return False
    if role["kind"] == "became-follower":
        return bool(state["leader"] == role["leader"] and broker in state["replicas"])
    return bool(
        state["leader"] == broker
        and state["partition_epoch"] == role["partition_epoch"]
        and state["isr"] == role["isr"]
    )
