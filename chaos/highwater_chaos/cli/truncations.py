"""``highwater truncations``: what became of the replicas' logs when leaders changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from highwater_chaos.cli.exits import Exit, UsageError
from highwater_chaos.cli.recorded import recorded_verdict
from highwater_chaos.report.leader_changes import ReplicaChange, last_epochs, leader_changes
from highwater_pipeline.tables.export import rows_of
from highwater_pipeline.tables.files import parquet_parts
from highwater_pipeline.tables.recordings import NODE_EVENTS_FILE
from highwater_pipeline.tables.rows import NODE_EVENT_ROWS

_HEAD: Final = ("run", "truncation", "partition", "epoch", "broker", "role", "before", "cut to", "after", "divergence")


def truncations(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories.")],
    every: Annotated[bool, typer.Option("--all", help="Show every leader epoch, not only the last one.")] = False,
) -> int:
    """Show what truncations did to the replicas of recorded runs.

    The columns 'before' and 'after' are log end offsets when the leader epoch began and when it was over.
    """
    table = [list(_HEAD)]
    for run in runs:
        verdict = recorded_verdict(run)
        rows = leader_changes(_events(run))
        table += [_line(verdict, row) for row in (rows if every else last_epochs(rows))]
    for line in _aligned(table):
        print(line)
    return Exit.OK


def _events(run: Path) -> Iterator[dict[str, Any]]:
    path = run / f"{NODE_EVENTS_FILE}.parquet"
    try:
        if path.exists():
            for part in parquet_parts(path, NODE_EVENT_ROWS):
                yield from rows_of(part)
            return
        path = run / f"{NODE_EVENTS_FILE}.jsonl"
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error


def _line(verdict: dict[str, Any], row: ReplicaChange) -> list[str]:
    examples = verdict.get("anomalies", {}).get("divergence", {}).get("examples", [])
    diverged = any(example["partition"] == row.partition for example in examples)
    return [
        str(verdict.get("name", "")),
        str(verdict.get("switches", {}).get("truncation", "")),
        row.partition,
        str(row.leader_epoch),
        str(row.broker),
        row.role,
        str(row.before),
        "-" if row.cut_to is None else str(row.cut_to),
        str(row.after),
        "found" if diverged else "no",
    ]


def _aligned(table: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
