"""retention-too-greedy: a log start moved further than the settings allow.

Example: ``retention.ms`` is an hour, and a segment is deleted whose newest record is ten minutes old. Other checks do
not miss records below the log start. This one judges whether the log start was allowed to move there.

Replicas report every move of their log start with the evidence (``log-start-moved``). A move is allowed if it removes
committed records only, and:

* ``retention-time``: the newest removed record was older than ``retention.ms``, by the clock of the replica and by the
  true one. A clock that is wrong, that of the replica or the one that set the records' timestamps, lets a node believe
  that records are old. So a removed record must not have been sent less than ``retention.ms`` ago in run time: its
  send's invocation is the earliest moment at which it can have got a timestamp. Only where clocks go wrong by a fault
  that was drawn, which no file can expect, it may be as much younger as two of them may differ;
* ``retention-size``: what is left is not smaller than ``retention.bytes``;
* ``delete-records``: a client had asked this leader for it (``records-deletion-asked``), at least up to there, as the
  experiment's may;
* ``leader`` (a follower takes over its leader's log start), and a log that was emptied and restarted (``restart-at``)
  or loaded: a log has begun there or later for one of the reasons above. The log start of a node's
  first event counts as well.

A replica that obeys other limits than it should reports those. So the ``retention.ms``, ``retention.bytes`` and
``cleanup.policy`` that the experiment sets count too, where they keep more.

Software of others does not report what clients asked for. Then a ``delete-records`` is an anomaly only if the
experiment asks for none.

The trap: a node may be killed between a deletion and its report. So a log that starts too late when it is loaded is an
anomaly only if the topic's settings allow no deletion. Otherwise the check is undecided.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks.columns import NOTHING, bools, codes, first_per, ints, is_any, of_kind, rows_of
from highwater_pipeline.checks.promises import Appends
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.tables.micro_operations import OK
from highwater_pipeline.tables.settings import SLACK_NS, stricter_limit
from highwater_pipeline.verdict import MAX_EXAMPLES, Example, Finding, judges_less

ALL_COMMITTED: Final = -1
"""DeleteRecords of that offset asks for everything below the high watermark."""

UNTOLD: Final = -1
"""An age or a size that was not told: no evidence, then."""

_EVIDENCE: Final = (
    "node",
    "offset",
    "end_offset",
    "reason",
    "retention_ms",
    "retention_bytes",
    "age_ms",
    "size_left",
)
_MS: Final = 1_000_000
_EXACT_NS: Final = 2 * _MS
"""Timestamps are milliseconds."""


def retention_too_greedy(unit: PartitionTables) -> Finding:
    """Counts moves. A log start moves once a segment at most, so moves are gone through one by one."""
    moves = _moves(unit.events)
    if all(move["kind"] == "log-loaded" and move["offset"] <= 0 for move in moves):
        return NOTHING  # every log begins where logs begin
    committed = ints(of_kind(unit.events, "high-watermark"), "offset")
    high_watermark = int(committed.max()) if len(committed) else None
    furthest = _furthest(unit.events)
    unreported = 0
    if unit.facts.settings.deletes(unit.partition) is not False:
        loaded = ints(of_kind(unit.events, "log-loaded"), "offset")
        unreported = int((loaded > furthest).sum())
        furthest = max([furthest, *loaded.tolist()])
    asked = None
    if not judges_less("retention-too-greedy", unit.facts):
        asked = of_kind(unit.events, "records-deletion-asked").to_pylist("node", "offset", "row")
    found = []
    sent = _newest_sent(unit, moves)
    settings = unit.facts.settings
    slack_ns = settings.largest_clock_error_ns + (_EXACT_NS if settings.exact_order else SLACK_NS)
    slack_ns += 2 * settings.drawn_clocks_off_ms * _MS
    promises = settings.promises(unit.partition)
    for move in moves:
        move["promised"] = promises.at(move["time_ns"])
        why = _why_not(move, high_watermark, furthest, asked) or _too_young(move, sent.get(move["row"]), slack_ns)
        if why:
            found.append(_example(unit, move, why))
    why_unknown = "a node that ended in the middle of a deletion may not have reported it" if unreported else ""
    return Finding(len(found), found[:MAX_EXAMPLES], unreported, why_unknown)


def _moves(events: View) -> list[Example]:
    """Every event by which a log begins elsewhere, or may."""
    table = of_kind(events, "log-start-moved", "log-loaded", "log-truncated")
    moves = []
    for move in table.to_pylist("kind", "row", "time_ns", *_EVIDENCE):
        for evidence in ("age_ms", "size_left"):
            if move[evidence] is None:
                move[evidence] = UNTOLD
        match move["kind"]:
            case "log-loaded":
                move |= {"end_offset": move["offset"], "reason": "restart"}
            case "log-truncated" if move["reason"] == "restart-at":
                move["end_offset"] = move["offset"]
            case "log-truncated":
                continue
        moves.append(move)
    return moves


def _furthest(events: View) -> int:
    """The furthest log start that has a reason of its own: retention, DeleteRecords, or the log was so when its node
    was first heard of. All others must follow."""
    moved = of_kind(events, "log-start-moved")
    moved = moved.where(~is_any(moved, "reason", "leader"))
    of_logs = of_kind(events, "log-loaded", "log-appended", "log-truncated", "log-start-moved")
    node, _ = codes(of_logs, "node")
    first = of_logs.where(first_per(node))
    return int(max([0, *ints(moved, "end_offset"), *ints(of_kind(first, "log-loaded"), "offset")]))


def _why_not(move: Example, high_watermark: int | None, furthest: int, asked: list[Example] | None) -> str:
    """Why a move is not allowed; empty if it is. ``asked``: what clients asked DeleteRecords for; None: not known."""
    to = move["end_offset"]
    if move["kind"] == "log-start-moved" and high_watermark is not None and to > high_watermark:
        return f"only records up to {high_watermark - 1} were committed"
    match move["reason"]:
        case "retention-time" | "retention-size" if move["promised"].deletes is False:
            return "the experiment sets a cleanup.policy without delete"
        case "retention-time":
            limit, age = _limit(move, "retention_ms"), move["age_ms"]
            return "" if 0 <= limit < age else f"the newest of them was {age} ms old, and {_said(move, 'retention_ms')}"
        case "retention-size":
            limit, left = _limit(move, "retention_bytes"), move["size_left"]
            return "" if 0 <= limit <= left else f"{left} bytes are left, and {_said(move, 'retention_bytes')}"
        case "leader" | "restart" | "restart-at":
            return "" if to <= furthest else "no log had a reason to begin so late"
        case "delete-records" if move["promised"].deletes_records is False:
            return "the experiment asks for no DeleteRecords"
        case "delete-records" if asked is not None:
            earlier = [one["offset"] for one in asked if one["node"] == move["node"] and one["row"] < move["row"]]
            if ALL_COMMITTED in earlier or max(earlier, default=0) >= to:
                return ""
            return f"no client had asked {move['node']} to delete records so far"
        case "delete-records":
            return ""
        case other:
            return f"{other} is no reason to remove records"


def _limit(move: Example, name: str) -> int:
    """The limit that counts: the one that the replica obeyed, or the one that the experiment sets."""
    return stricter_limit(move[name], getattr(move["promised"], name))


def _said(move: Example, name: str) -> str:
    limit, setting = _limit(move, name), name.replace("_", ".")
    if limit == move[name]:
        return f"{setting} is {limit}"
    return f"the experiment sets {setting} {limit}; {move['node']} reported {move[name]}"


def _newest_sent(unit: PartitionTables, moves: list[Example]) -> dict[int, int]:
    """For each move of retention by time, by its row: when the newest acknowledged record that it removed was sent, in
    run time. Without those of which no such record is known."""
    by_time = [move for move in moves if move["reason"] == "retention-time"]
    newest: dict[int, int] = {}
    if not by_time:
        return newest
    appends = Appends.of(unit)
    logs = {move["row"]: _log_before(unit, move) for move in by_time}
    for _, part in unit.history.by_range("row"):
        sends = np.flatnonzero(bools(part, "is_send") & (ints(part, "outcome") == OK) & (ints(part, "offset") >= 0))
        offset, began = ints(part, "offset")[sends], ints(part, "invoke_time")[sends]
        for move in by_time:
            there = np.flatnonzero((offset >= move["offset"]) & (offset < move["end_offset"]))
            last = logs[move["row"]].last_at(offset[there])
            # A leader of this topic appended it, before the log that was cut got its record at that offset, and in no
            # later epoch: after an unclean election another record may get the offset of one that an old log still
            # has, or gets from a former leader that was paused.
            until = np.where(last < 0, move["time_ns"], last)
            first, end = appends.between(part, sends[there], began[there], until)
            epoch = np.append(appends.epoch, np.iinfo(np.int64).max)[first]  # of the first of them
            removed = began[there[(end > first) & (epoch <= logs[move["row"]].last_epoch_at(offset[there]))]]
            if len(removed):
                newest[move["row"]] = max(int(removed.max()), newest.get(move["row"], 0))
    return newest


def _log_before(unit: PartitionTables, move: Example) -> Appends:
    """What a node had appended to its log before it moved the log start."""
    appended = of_kind(unit.events, "log-appended")
    before = is_any(appended, "node", move["node"]) & (ints(appended, "row") < move["row"])
    return Appends.among(appended.where(before), unit.facts.settings.largest_clock_error_ns)


def _too_young(move: Example, sent_ns: int | None, slack_ns: int) -> str:
    """Why a move by time went too far by the true clock; empty if it did not, or if that is not known."""
    if sent_ns is None:
        return ""
    age_ms, limit = (move["time_ns"] - sent_ns + slack_ns) // _MS, _limit(move, "retention_ms")
    if age_ms > limit:
        return ""
    return (
        f"the newest of them had been sent {(move['time_ns'] - sent_ns) // _MS} ms ago by the true clock, and"
        f" {_said(move, 'retention_ms')}; by the clock of {move['node']} it was {move['age_ms']} ms old"
    )


def _example(unit: PartitionTables, move: Example, why: str) -> Example:
    return {
        "partition": unit.partition,
        **{key: move[key] for key in _EVIDENCE},
        "rows": rows_of("node_event", [move["row"]]),
        "story": f"{move['node']} {_what(move)} of {unit.partition} ({move['reason']}), but {why}.",
    }


def _what(move: Example) -> str:
    if move["kind"] == "log-start-moved":
        return f"removed records {move['offset']} to {move['end_offset'] - 1}"
    return f"has no records below {move['end_offset']}"
