"""isr-incomplete: a member of the controller's ISR lacks a record below the HW (LeaderCandidateCompleteness).

Every member of the ISR may be elected, so every member must have all committed records. Members are
judged once their *current incarnation* has registered: before that the controller cannot know that the broker came back
with less, and at that moment it must take it out of the ISR. An instance is a member and the time for which it lacks
records.

In ZooKeeper mode a broker registers by itself, and the controller takes it out of the ISR when it has noticed. It then
sends the broker its roles. So members are judged there from the first role of their current incarnation on. Who is a
leader until then leads no more: the incarnation has no role.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from highwater_pipeline.checks.columns import NOTHING, finding, rows_of
from highwater_pipeline.checks.replay import Replay, log_end_offset
from highwater_pipeline.judgement import Example, Finding
from highwater_pipeline.units import Unit


def isr_incomplete(unit: Unit) -> Finding:
    """Counts (member, stretch of time) pairs."""
    if unit.events.num_rows == 0:
        return NOTHING
    replay = Replay(unit.events)
    ends = log_end_offset(unit.events)
    onsets: list[tuple[int, int, int, int]] = []
    for broker in replay.brokers():
        log_end = replay.log_end(broker)
        lacks = (log_end >= 0) & (ends[log_end] < replay.high_watermark)
        if not lacks.any():
            continue
        registered = replay.registered(broker)
        lacks &= replay.member(broker) & (registered >= 0) & replay.instructed(broker)
        settled = np.flatnonzero(replay.settled)
        at = lacks[settled]
        began = at.copy()
        began[1:] &= ~at[:-1]
        onsets += [(int(p), broker, int(log_end[p]), int(registered[p])) for p in settled[began]]
    onsets.sort()

    def examples() -> Iterator[Example]:
        for position, broker, log_end, registered in onsets:
            yield _example(unit, replay, position, broker, log_end, registered)

    return finding(len(onsets), examples())


def _example(unit: Unit, replay: Replay, position: int, broker: int, log_end: int, registered: int) -> Example:
    def event(at: int) -> Example:
        return unit.events.row(at)

    high_watermark = int(replay.high_watermark[position])
    state, log, registration = event(int(replay.state[position])), event(log_end), event(registered)
    moved = event(int(np.argmax(replay.high_watermark == high_watermark)))
    leo = log["offset"] if log["kind"] == "log-truncated" else log["end_offset"]
    return {
        "partition": unit.partition,
        "broker": broker,
        "incarnation": log["incarnation"],
        "broker_epoch": registration["broker_epoch"],
        "log_end_offset": leo,
        "high_watermark": high_watermark,
        "isr": state["isr"],
        "leader_epoch": state["leader_epoch"],
        "partition_epoch": state["partition_epoch"],
        "time_ns": event(position)["time_ns"],
        "rows": rows_of("node_event", [state["row"], log["row"], registration["row"], moved["row"]]),
        "story": (
            f"Broker {broker}, registered under epoch {registration['broker_epoch']}, is in the ISR {state['isr']} of"
            f" {unit.partition} with log end offset {leo} ({log['kind']}), though records up to {high_watermark - 1}"
            f" had passed the high watermark of {moved['node']}."
        ),
    }
