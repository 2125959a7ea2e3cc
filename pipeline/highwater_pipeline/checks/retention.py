"""retention-too-greedy: a log start moved further than the settings allow.

Example: ``retention.ms`` is an hour, and a segment goes whose newest record is ten minutes old. A record below the log
start is not lost, so no other check misses it: this one asks whether it had to go.

Replicas report every move of their log start with the evidence (``log-start-moved``). A move is allowed if nothing goes
that is not committed, and:

* ``retention-time``: the newest record that went was older than ``retention.ms``, by the clock of the replica;
* ``retention-size``: what is left is not smaller than ``retention.bytes``;
* ``delete-records``: somebody asked for it;
* ``leader``: another replica has reported that its own log begins there or later.
"""

from __future__ import annotations

import pyarrow as pa

from highwater_pipeline.checks.columns import NOTHING, finding, ints, is_any, of_kind, rows_of
from highwater_pipeline.judgement import Example, Finding
from highwater_pipeline.units import Unit


def retention_too_greedy(unit: Unit) -> Finding:
    """Counts moves. A log start moves once a segment at most, so moves are gone through one by one."""
    moves = of_kind(unit.events, "log-start-moved").to_pylist()
    if not moves:
        return NOTHING
    committed = ints(of_kind(unit.events, "high-watermark"), "offset")
    high_watermark = int(committed.max()) if len(committed) else None
    starts = _starts(unit.events)
    found = []
    for move in moves:
        why = _why_not(move, high_watermark, starts)
        if why:
            found.append(_example(unit, move, why))
    return finding(len(found), found)


def _starts(events: pa.Table) -> dict[str, int]:
    """The furthest log start that each node has reported."""
    starts: dict[str, int] = {}
    loaded = of_kind(events, "log-loaded", "log-truncated")
    loaded = loaded.filter(pa.array(is_any(loaded, "kind", "log-loaded") | is_any(loaded, "reason", "restart-at")))
    for table, column in ((loaded, "offset"), (of_kind(events, "log-start-moved"), "end_offset")):
        for node, offset in zip(table["node"].to_pylist(), ints(table, column).tolist(), strict=True):
            starts[node] = max(starts.get(node, 0), offset)
    return starts


def _why_not(move: Example, high_watermark: int | None, starts: dict[str, int]) -> str:
    """Why a move is not allowed; empty if it is."""
    to = move["end_offset"]
    if high_watermark is not None and to > high_watermark:
        return f"only records up to {high_watermark - 1} were committed"
    match move["reason"]:
        case "retention-time":
            limit, age = move["retention_ms"], move["age_ms"]
            return "" if 0 <= limit < age else f"the newest of them was {age} ms old, and retention.ms is {limit}"
        case "retention-size":
            limit, left = move["retention_bytes"], move["size_left"]
            return "" if 0 <= limit <= left else f"{left} bytes are left, and retention.bytes is {limit}"
        case "leader":
            others = [start for node, start in starts.items() if node != move["node"]]
            return "" if to <= max(others, default=0) else "no other replica's log begins so late"
        case "delete-records":
            return ""
        case other:
            return f"{other} is no reason to remove records"


def _example(unit: Unit, move: Example, why: str) -> Example:
    keys = ("node", "offset", "end_offset", "reason", "retention_ms", "retention_bytes", "age_ms", "size_left")
    return {
        "partition": unit.partition,
        **{key: move[key] for key in keys},
        "rows": rows_of("node_event", [move["row"]]),
        "story": (
            f"{move['node']} removed records {move['offset']} to {move['end_offset'] - 1} of {unit.partition}"
            f" ({move['reason']}), but {why}."
        ),
    }
