"""Logs that outlive their assignment, and logs that are deleted while they are assigned (KAFKA-7362).

Example: broker 2 is down while its replica of a partition is moved to broker 1. It restarts, and its directory stays
forever (``stray-partition``). If topics have no ids, a later topic of the same name starts with the old records. The
opposite bug is worse: a broker deletes a log that is assigned to it (``live-partition-deleted``).

The trap: a deletion takes time, and commands may be late.

* ``stray-partition`` judges only brokers that run at the end, by the last committed state of the partition. A broker
  has :data:`PROMISED_NS` from the moment when the replica was removed from it, or when it was running again. If a
  response to the controller may have been lost, add the time that the controller waits for it before the next command.
  A log that is set aside (``-stray``) does not count: no reader and no restart sees it.
* Without topic ids a name has one directory. If a broker gets a role in the next topic of the name, its log belongs to
  that topic from then on. Until then it was a stray, and had the same time to go. But if faults of the file may lose
  commands, a broker may have heard of neither topic before, and then this is not judged.
* If nodes do not report which logs they have, the dumps of their disks show it. A log counts there if no topic of its
  name is assigned to the broker: which topic uses it is not known.
* ``live-partition-deleted``: a removal is allowed if some committed state did not assign the log or deleted the topic:
  one since the broker got the log, or since the state that made it get the log. (A broker whose disk is slow carries
  out commands one after the other, long after the states that they are about.) It is never allowed for a member of the
  ISR in the state in force: that broker has fetched under a newer command than the one that it carries out. Only if an
  unclean election made it the ISR, it may have heard of nothing yet. A log that was created and has had no role holds
  nothing, and may go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Any, Final

from highwater_pipeline.anomalies import NEEDED_EVENTS
from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks.columns import NOTHING, broker_of, finding, is_any, of_kind, once, rows_of
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.verdict import Example, Finding, has_log_events

PROMISED_NS: Final = 10_000_000_000
"""How long a broker that runs may take to take away what is not assigned to it."""

_KINDS: Final = (
    "log-loaded",
    "log-removed",
    "became-leader",
    "became-follower",
    "partition-changed",
    "node-started",
    "node-stopped",
    "broker-state",
)
_READ: Final = (
    "kind",
    "node",
    "row",
    "time_ns",
    "reason",
    "topic_id",
    "end_offset",
    "metadata_offset",
    "leader_epoch",
    "leader",
    "partition_epoch",
    "replicas",
    "isr",
)
"""Columns that are read of :func:`_relevant` events."""


def stray_partition(unit: PartitionTables) -> Finding:
    """Counts replicas' logs that are left at the end, of all topics of the partition's name."""
    if not has_log_events(unit.facts):
        return _strays_of_dumps(unit)
    events = _relevant(unit.events)
    logs = _logs_of_present_incarnations(events)
    states = [event for event in events if event["kind"] == "partition-changed"]
    if not states or not logs:
        return NOTHING
    histories: dict[str, list[dict[str, Any]]] = {}
    for state in sorted(states, key=lambda state: state["metadata_offset"]):
        histories.setdefault(state["topic_id"], []).append(state)
    settings = unit.facts.settings
    promised_ns = PROMISED_NS + settings.lost_command_ms * 1_000_000 + 2 * settings.largest_clock_error_ns
    strays: list[tuple[_Log, dict[str, Any]]] = []
    for log in logs:
        if log.used_by is not None and settings.lost_command_ms:
            continue
        before = [event for event in events if event["row"] < log.used_by["row"]] if log.used_by else events
        until_ns = log.used_by["time_ns"] if log.used_by else unit.facts.last_event_ns
        since = _unassigned_since(histories.get(log.topic_id, []), log.broker)
        running = _running_since(before, log.broker)
        if since is None or running is None:
            continue
        if until_ns - max(since["time_ns"], running) > promised_ns:
            strays.append((log, since))

    def examples() -> Iterator[Example]:
        for log, since in strays:
            loaded, role = log.loaded, log.used_by
            left = ((role["time_ns"] if role else unit.facts.last_event_ns) - since["time_ns"]) / 1e9
            what = f"still has a log of {unit.partition}"
            if role is not None:
                what = f"uses its log of {unit.partition} for the next topic of that name"
            yield {
                "partition": unit.partition,
                "broker": log.broker,
                "topic_id": log.topic_id,
                "replicas": since["replicas"],
                "time_ns": since["time_ns"],
                "rows": rows_of("node_event", [loaded["row"], since["row"], *([role["row"]] if role else [])]),
                "story": (
                    f"Broker {log.broker} {what}, {left:.1f} s after {_what(since)}; it was loaded with log end offset"
                    f" {loaded['end_offset']} ({loaded['reason']})."
                ),
            }

    return finding(len(strays), examples())


def _strays_of_dumps(unit: PartitionTables) -> Finding:
    """Counts logs on the disks of brokers to which no topic of the partition's name is assigned."""
    events = of_kind(unit.events, *NEEDED_EVENTS["stray-partition"]).to_pylist(*_READ)
    histories: dict[str, list[dict[str, Any]]] = {}
    for state in sorted(
        (event for event in events if event["kind"] == "partition-changed"), key=lambda state: state["metadata_offset"]
    ):
        histories.setdefault(state["topic_id"], []).append(state)
    if not histories:
        return NOTHING
    settings, last_ns = unit.facts.settings, unit.facts.last_event_ns
    promised_ns = PROMISED_NS + settings.lost_command_ms * 1_000_000 + 2 * settings.largest_clock_error_ns
    strays: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for mark in unit.replica_log.find_any("ended", ("end",), "broker", "offset", "row").to_pylist():
        states = [_unassigned_since(history, mark["broker"]) for history in histories.values()]
        running = _running_since(events, mark["broker"])
        if running is None or None in states:
            continue
        since = max((state for state in states if state is not None), key=lambda state: state["metadata_offset"])
        if last_ns - max(since["time_ns"], running) > promised_ns:
            strays.append((mark, since))

    def examples() -> Iterator[Example]:
        for mark, since in strays:
            yield {
                "partition": unit.partition,
                "broker": mark["broker"],
                "topic_id": since["topic_id"],
                "replicas": since["replicas"],
                "time_ns": since["time_ns"],
                "rows": rows_of("replica_log", [mark["row"]]) + rows_of("node_event", [since["row"]]),
                "story": (
                    f"Broker {mark['broker']} still has a log of {unit.partition} with log end offset {mark['offset']},"
                    f" {(last_ns - since['time_ns']) / 1e9:.1f} s after {_what(since)}."
                ),
            }

    return finding(len(strays), examples())


def live_partition_deleted(unit: PartitionTables) -> Finding:
    """Counts removals of logs that were assigned."""
    if not is_any(unit.events, "kind", "log-removed").any():
        return NOTHING
    may_be_unclean = unit.facts.settings.elects_uncleanly(unit.partition) is True
    wrong: list[tuple[dict[str, Any], dict[str, Any]]] = []
    committed: list[dict[str, Any]] = []
    began: dict[str, int] = {}
    """By node with a log: the place in ``committed`` from which on states count."""
    without_role: dict[str, str] = {}
    """By node whose log has had no role since it was loaded: why it was loaded."""
    for event in _relevant(unit.events):
        node = event["node"]
        match event["kind"]:
            case "partition-changed":
                if not committed or event["metadata_offset"] > committed[-1]["metadata_offset"]:
                    committed.append(event)
            case "log-loaded":
                if node not in began:
                    began[node] = max(0, len(committed) - 1)
                    without_role[node] = event["reason"]
            case "became-leader" | "became-follower" if node in without_role:
                del without_role[node]
                while began[node] and (committed[began[node] - 1]["leader_epoch"] or 0) >= event["leader_epoch"]:
                    began[node] -= 1
            case "log-removed" if without_role.pop(node, "") == "created":
                del began[node]  # it was no longer wanted when the disk was through, and holds nothing
            case "log-removed":
                states = committed[began.pop(node, len(committed)) :]
                if states and not _in_order(broker_of(node), states, may_be_unclean=may_be_unclean):
                    wrong.append((event, states[-1]))

    def examples() -> Iterator[Example]:
        for removal, state in wrong:
            broker = broker_of(removal["node"])
            yield {
                "partition": unit.partition,
                "broker": broker,
                "topic_id": removal["topic_id"],
                "replicas": state["replicas"],
                "isr": state["isr"],
                "time_ns": removal["time_ns"],
                "rows": rows_of("node_event", [removal["row"], state["row"]]),
                "story": (
                    f"Broker {broker} took its log of {unit.partition} away ({removal['reason']}), though by partition"
                    f" epoch {state['partition_epoch']} it is one of the replicas {state['replicas']}, with ISR"
                    f" {state['isr']}."
                ),
            }

    return finding(len(wrong), examples())


@once
def _relevant(events: View) -> list[dict[str, Any]]:
    """The events on logs and assignments, in order: a few for each partition."""
    return events.where(is_any(events, "kind", *_KINDS)).to_pylist(*_READ)


@dataclass(frozen=True, slots=True)
class _Log:
    """A log of a broker that lives at the end. ``used_by``: the broker's first role in the next topic of the name, if
    it took the log for that; None: the broker still has it as a log of this topic."""

    broker: int
    topic_id: str
    loaded: dict[str, Any]
    used_by: dict[str, Any] | None = None


def _logs_of_present_incarnations(events: list[dict[str, Any]]) -> list[_Log]:
    """The logs that brokers have at the end, and those that became logs of other topics in the present incarnation."""
    logs: dict[int, list[_Log]] = {}
    for event in events:
        broker = broker_of(event["node"])
        mine = logs.setdefault(broker, [])
        match event["kind"]:
            case "log-loaded":
                mine.append(_Log(broker, event["topic_id"], event))
            case "became-leader" | "became-follower" if mine and _is_next(event["topic_id"], mine[-1].topic_id):
                mine[-1] = replace(mine[-1], used_by=event)
                mine.append(_Log(broker, event["topic_id"], mine[-1].loaded))
            case "log-removed" if mine:
                mine.pop()
            case "node-started" | "node-stopped":
                # Logs that an earlier incarnation loaded do not count: the disk may have been replaced.
                mine.clear()
    return [log for mine in logs.values() for log in mine]


def _is_next(topic_id: str, before: str) -> bool:
    """Whether two topics have one id or none, and so one directory (:func:`generations.with_ids`)."""
    return topic_id != before and topic_id.partition("#")[0] == before.partition("#")[0]


def _unassigned_since(history: list[dict[str, Any]], broker: int) -> dict[str, Any] | None:
    """The first of the last states that do not assign the replica to ``broker``; None: the last one assigns it."""
    since: dict[str, Any] | None = None
    for state in history:
        since = None if _assigns(state, broker) else since or state
    return since


def _running_since(events: list[dict[str, Any]], broker: int) -> int | None:
    """When the broker's present incarnation ran, or was registered again; None: it does not run."""
    since: int | None = None
    for event in events:
        if broker_of(event["node"]) != broker:
            continue
        if event["kind"] in ("node-started", "node-stopped"):
            since = None
        elif event["kind"] == "broker-state" and event["reason"] in ("registered", "running"):
            since = event["time_ns"]
    return since


def _in_order(broker: int, states: list[dict[str, Any]], *, may_be_unclean: bool) -> bool:
    in_force = states[-1]
    if all(_assigns(state, broker) for state in states):
        return False
    if not _assigns(in_force, broker) or broker not in in_force["isr"]:
        return True
    joined = (state for state, before in pairwise(reversed(states)) if broker not in before["isr"])
    return may_be_unclean and any(state["leader"] == broker and state["isr"] == [broker] for state in islice(joined, 1))


def _assigns(state: dict[str, Any], broker: int) -> bool:
    return state["reason"] != "deleted" and broker in state["replicas"]


def _what(state: dict[str, Any]) -> str:
    return "the topic was deleted" if state["reason"] == "deleted" else f"its replicas became {state['replicas']}"
