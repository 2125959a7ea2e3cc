"""replica-incomplete: an in-sync replica's log ends early, begins late, has a gap or a corrupt batch below the HW.

Example: three replicas are in sync, the HW is 500, and the dump of broker 2 ends at offset 300. A consumer that reads
from the leader sees nothing of that, but broker 2 may be elected next. So every replica of the last committed ISR is
compared with the true HW, not only the last leader's.

Traps:

* A broker that is down, or has not registered since it started, is not in sync whatever the ISR says: the controller
  cannot know yet what it lost.
* Retention and DeleteRecords remove the head of a log. A log may begin as late as any replica of the topic has
  reported (``log-start-moved``, ``log-truncated`` with ``restart-at``), and no later.
* Compaction removes records, but keeps the range of offsets of each batch, so the dump sees no gap between batches.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from highwater_pipeline.checks.columns import NOTHING, finding, ints, is_any, of_kind, rows_of
from highwater_pipeline.checks.leadership import committed_states
from highwater_pipeline.checks.replay import Replay
from highwater_pipeline.judgement import Example, Finding
from highwater_pipeline.units import Unit
from highwater_pipeline.view import View

_MARK: Final = ("broker", "ended", "offset", "start_offset", "found", "row")


def replica_incomplete(unit: Unit) -> Finding:
    """Counts replicas of the last ISR that lack something below the true HW."""
    marks = unit.replica_log.find_any("ended", ("end", "gap", "corrupt"), *_MARK)
    state = _last_state(unit.events)
    moved = of_kind(unit.events, "high-watermark")
    if not (unit.facts.has_dump_marks or marks.num_rows) or state is None or moved.num_rows == 0:
        return NOTHING  # of a dump with marks, no mark means that no replica is left
    furthest = moved.row(int(np.argmax(ints(moved, "offset"))), "node", "offset", "row")
    start = _latest_start(unit.events)
    replay = Replay(unit.events)
    by_broker: dict[int, list[Example]] = {}
    for mark in marks.to_pylist(*_MARK):
        by_broker.setdefault(mark["broker"], []).append(mark)
    found = []
    for broker in state["isr"]:
        registered = int(replay.registered(broker)[-1])
        if registered < 0 or _is_down(unit.events, broker):
            continue
        what, proof = _lacks(by_broker.get(broker, []), start, furthest["offset"])
        if what:
            found.append(_example(unit, broker, what, proof, state, furthest))
    return finding(len(found), found)


def _last_state(events: View) -> dict[str, Any] | None:
    states = committed_states(events)
    if states.num_rows == 0:
        return None
    last: dict[str, Any] = states.row(int(np.argmax(ints(states, "metadata_offset"))), "reason", "isr", "row")
    return None if last["reason"] == "deleted" else last


def _latest_start(events: View) -> int:
    """The latest offset at which a log of this topic may begin."""
    moved = of_kind(events, "log-start-moved")
    restarted = of_kind(events, "log-truncated")
    restarted = restarted.where(is_any(restarted, "reason", "restart-at"))
    return int(max([0, *ints(moved, "end_offset"), *ints(restarted, "offset")]))


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


def _example(unit: Unit, broker: int, what: str, proof: list[int], state: Example, furthest: Example) -> Example:
    high_watermark = furthest["offset"]
    return {
        "partition": unit.partition,
        "broker": broker,
        "what": what,
        "high_watermark": high_watermark,
        "isr": state["isr"],
        "rows": rows_of("node_event", [state["row"], furthest["row"]]) + rows_of("replica_log", proof),
        "story": (
            f"Broker {broker} is in the ISR {state['isr']} of {unit.partition}, but its log {what}, though records"
            f" up to {high_watermark - 1} had passed the high watermark of {furthest['node']}."
        ),
    }
