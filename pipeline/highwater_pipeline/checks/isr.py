"""isr-incomplete: a member of the controller's ISR lacks a record below the HW (LeaderCandidateCompleteness).

Every member of the ISR may be elected, so every member must have all committed records. Members are
judged once their *current incarnation* has registered: before that the controller cannot know that the broker came back
with less, and at that moment it must take it out of the ISR. An instance is a member and the time for which it lacks
records.

In ZooKeeper mode a broker registers by itself, and the controller takes it out of the ISR when it has noticed. It then
sends the broker its roles. So members are judged there from the first role of their current incarnation on. Who is a
leader until then leads no more: the incarnation has no role.

If the clocks of nodes may be off, a lack counts only if it lasts: see :func:`_lasting`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from highwater_pipeline.arrow.arrays import Bools, Ints
from highwater_pipeline.checks.columns import NOTHING, codes, finding, ints, last_known, rows_of
from highwater_pipeline.checks.replay import Replay, log_end_offset
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.verdict import Example, Finding


def isr_incomplete(unit: PartitionTables) -> Finding:
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
        if unit.facts.settings.has_clock_errors:
            lacks = _lasting(unit, replay, lacks, ends[log_end])
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


def _lasting(unit: PartitionTables, replay: Replay, lacks: Bools, ends: Ints) -> Bools:
    """Where a replica has lacked for long what was below the HW when that time began.

    Its log, the ISR and the HW are reported by different nodes. The time of each report may be wrong by the error of a
    clock, and it was moved by as much again when causes were put before effects. What lasts for longer than that, of
    two nodes, was so at some time by any clock.
    """
    settings = unit.facts.settings
    error_ns = max(settings.clock_error_ns(node) for node in codes(replay.events, "node")[1])
    time = np.maximum.accumulate(ints(replay.events, "time_ns"))
    ends_ns = np.append(time[1:], max(int(time[-1]), unit.facts.last_event_ns))  # when the state after an event ends
    before = np.searchsorted(time, ends_ns - 4 * error_ns, "right") - 1
    began = last_known(lacks & ~np.append(False, lacks[:-1]))
    lasting: Bools = lacks & (began <= before) & (ends < replay.high_watermark[before])
    return lasting


def _example(
    unit: PartitionTables, replay: Replay, position: int, broker: int, log_end: int, registered: int
) -> Example:
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
