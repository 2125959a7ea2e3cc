"""replica-incomplete: an in-sync replica's log ends early, begins late, has a gap or a corrupt batch below the HW.

Example: three replicas are in sync, the HW is 500, and the dump of broker 2 ends at offset 300. A consumer that reads
from the leader sees nothing of that, but broker 2 may be elected next. So every replica of the last committed ISR is
compared with the true HW, not only the last leader's.

Traps:

* A broker that is down, or has not registered since it started, is not in sync whatever the ISR says: the controller
  cannot know yet what it lost.
* Retention and DeleteRecords remove the head of a log. A log may begin as late as any replica of the topic has
  reported (``log-start-moved``, ``log-truncated`` with ``restart-at``), and no later.
* Some software does not report high watermarks. What clients read, and what was acknowledged with acks=all, shows up
  to where records were committed, if the final reads are complete. Without any events a gap counts wherever it is.
* Compaction removes records, but keeps the range of offsets of each batch, so the dump sees no gap between batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks.columns import NOTHING, finding, ints, is_any, listing, of_kind, rows_of
from highwater_pipeline.checks.committed_bound import committed_bound
from highwater_pipeline.checks.leadership import committed_states
from highwater_pipeline.checks.log_starts import latest_log_start
from highwater_pipeline.checks.promises import recorded
from highwater_pipeline.checks.replay import Replay
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.tables.settings import INTERNAL_TOPICS
from highwater_pipeline.verdict import Example, Finding

_MARK: Final = ("broker", "ended", "offset", "start_offset", "found", "row")


def replica_incomplete(unit: PartitionTables) -> Finding:
    """Counts replicas of the last ISR that lack something below the true HW."""
    marks = unit.replica_log.find_any("ended", ("end", "gap", "corrupt"), *_MARK)
    if not unit.facts.has_events:
        return _gaps_of_dumps_alone(unit, marks)
    state = _last_state(unit.events)
    if not (unit.facts.has_dump_marks or marks.num_rows) or state is None:
        return NOTHING  # of a dump with marks, no mark means that no replica is left
    committed = _committed(unit)
    if committed is None:
        why = "neither nodes nor final reads show up to where records were committed"
        return Finding(0, [], len(state["isr"]), why)
    if committed["offset"] == 0:
        return NOTHING
    start = latest_log_start(unit)
    replay = Replay(unit.events)
    by_broker: dict[int, list[Example]] = {}
    for mark in marks.to_pylist(*_MARK):
        if mark["ended"] != "gap" or not _may_have_gaps(unit):
            by_broker.setdefault(mark["broker"], []).append(mark)
    found, unknown = [], 0
    for broker in state["isr"]:
        registered = int(replay.registered(broker)[-1])
        if registered < 0 or _is_down(unit.events, broker):
            continue
        mine = by_broker.get(broker, [])
        what, proof = _lacks(mine, 0 if start is None else start, committed["offset"])
        if start is None and any(mark["ended"] == "end" and mark["start_offset"] for mark in mine):
            unknown += 1  # it may begin where retention moved its log start
        elif what:
            found.append(_example(unit, broker, what, proof, state, committed))
    certain = finding(len(found), found)
    return Finding(certain.count, certain.examples, unknown, "it is not known where logs may begin" if unknown else "")


def _may_have_gaps(unit: PartitionTables) -> bool:
    """Whether compaction may leave gaps: that of our own nodes keeps offsets of what it removes, Kafka's does not."""
    is_internal = unit.partition.rpartition("-")[0] in INTERNAL_TOPICS
    compacts = unit.facts.settings.compacts(unit.partition) is not False or is_internal
    return compacts and not recorded(unit.facts, "transition")


def _committed(unit: PartitionTables) -> Example | None:
    """Up to where records were committed, and who says so; None: it is not known. ``offset`` 0: none was."""
    if recorded(unit.facts, "high-watermark"):
        moved = of_kind(unit.events, "high-watermark")
        if moved.num_rows == 0:
            return {"offset": 0}
        reported = moved.row(int(np.argmax(ints(moved, "offset"))), "node", "offset", "row")
        return {**reported, "of": f"had passed the high watermark of {reported['node']}"}
    if not unit.facts.drained:
        return None
    return {"offset": committed_bound(unit), "row": -1, "of": "were read, or acknowledged with acks=all"}


def _gaps_of_dumps_alone(unit: PartitionTables, marks: View) -> Finding:
    """Counts replicas with a gap, where no events say which of them are in sync: a log that no broker compacts has no
    gap, once its broker has recovered it. What lies behind a corrupt batch may not have been recovered yet."""
    by_broker: dict[int, list[Example]] = {}
    for mark in marks.to_pylist(*_MARK):
        by_broker.setdefault(mark["broker"], []).append(mark)
    damaged = {
        broker: gaps
        for broker, mine in by_broker.items()
        if (gaps := [mark for mark in mine if mark["ended"] == "gap"])
        and not any(m["ended"] == "corrupt" for m in mine)
    }
    compacts = unit.facts.settings.compacts(unit.partition)
    if compacts is not False or unit.partition.rpartition("-")[0] in INTERNAL_TOPICS:
        unknown = len(damaged) if compacts is None else 0
        return Finding(0, [], unknown, "it is not known whether the topic is compacted" if unknown else "")

    def examples() -> Iterator[Example]:
        for broker, gaps in damaged.items():
            where = listing([f"{gap['offset']} ({gap['found']})" for gap in gaps])
            yield {
                "partition": unit.partition,
                "broker": broker,
                "what": "has a gap",
                "rows": rows_of("replica_log", [gap["row"] for gap in gaps]),
                "story": f"The log of {unit.partition} on broker {broker} has a gap at offset {where}.",
            }

    return finding(len(damaged), examples())


def _last_state(events: View) -> dict[str, Any] | None:
    states = committed_states(events)
    if states.num_rows == 0:
        return None
    last: dict[str, Any] = states.row(int(np.argmax(ints(states, "metadata_offset"))), "reason", "isr", "row")
    return None if last["reason"] == "deleted" else last


def _is_down(events: View, broker: int) -> bool:
    life = of_kind(events, "node-started", "node-stopped")
    life = life.where(is_any(life, "node", f"broker-{broker}"))
    return bool(life.num_rows and is_any(life, "kind", "node-stopped")[-1])


def _lacks(marks: list[Example], start: int, high_watermark: int) -> tuple[str, list[int]]:
    """What a replica lacks of [``start``, ``high_watermark``), and the rows that say so."""
    problems: list[str] = []
    proof: list[int] = []
    for mark in marks:
        match mark["ended"]:
            case "end" if mark["offset"] < high_watermark:
                problems.append(f"ends at offset {mark['offset']}")
            case "end" if mark["start_offset"] > start:
                problems.append(f"begins at offset {mark['start_offset']}, beyond every reported log start ({start})")
            case "gap" | "corrupt" if mark["offset"] < high_watermark:
                name = "a gap" if mark["ended"] == "gap" else "a corrupt batch"
                problems.append(f"has {name} at offset {mark['offset']} ({mark['found']})")
            case _:
                continue
        proof.append(mark["row"])
    if not marks and high_watermark > start:
        problems.append("is not on its disk")
    return " and ".join(problems), proof


def _example(
    unit: PartitionTables, broker: int, what: str, proof: list[int], state: Example, committed: Example
) -> Example:
    high_watermark = committed["offset"]
    return {
        "partition": unit.partition,
        "broker": broker,
        "what": what,
        "high_watermark": high_watermark,
        "isr": state["isr"],
        "rows": rows_of("node_event", [state["row"], committed["row"]]) + rows_of("replica_log", proof),
        "story": (
            f"Broker {broker} is in the ISR {state['isr']} of {unit.partition}, but its log {what}, though records"
            f" up to {high_watermark - 1} {committed['of']}."
        ),
    }
