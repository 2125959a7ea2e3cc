"""Writes a judged run into a store: what checks read, split by partition, and the other tables of the run.

Imports of what judges are late: few campaigns have a store.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import highwater_pipeline
from highwater_chaos import assertions
from highwater_chaos.base.user_error import UserError
from highwater_chaos.experiment import ExperimentSpec, load_experiment
from highwater_chaos.run.summary import RunSummary, read_summary
from highwater_chaos.verdict.verdict import is_judged
from highwater_pipeline.tables.remote import AnyPath

if TYPE_CHECKING:
    import pyarrow as pa

    from highwater_pipeline.partitions.partition_tables import RunFacts


class HasRegistersError(UserError):
    """A run whose clients operated on registers, which a store does not hold."""


def store_run(
    directory: Path, store: AnyPath, verdict: Mapping[str, Any] | None = None, *, again: bool = False
) -> AnyPath:
    """Split a run directory by partition and write it into a store; returns the directory of its row in the store's
    table of runs.

    ``verdict``: the content of ``verdict.json``; None: the file's, if there is one. ``again``: the same run, by its
    key, may be there already, for it may have been run twice.

    Raises:
        HasRegistersError: a store does not hold them.
        FileExistsError: the store has that run already.
        BadSummaryError, BadTableError: the run directory is not whole.
    """
    from highwater_pipeline.partitions.partition_tables import split  # noqa: PLC0415
    from highwater_pipeline.partitions.store import Home, RunName, open_run_at, write_units  # noqa: PLC0415

    spec = load_experiment(directory / "experiment.yaml").spec
    if spec.workload.metadata is not None:
        raise HasRegistersError(f"{directory}: has registers, which a store does not hold; give check the run itself")
    summary = read_summary(directory)
    known = tuple(_known_to_the_run(spec, directory, summary))
    called = RunName(summary.name, summary.seed, summary.backend, summary.switches)

    def complete(facts: RunFacts) -> RunFacts:
        return replace(facts, inconclusive_reasons=tuple(dict.fromkeys((*facts.inconclusive_reasons, *known))))

    run = highwater_pipeline.open_run(directory)
    whole = whole_tables(directory, summary, None if verdict is None else _explained(directory, verdict))
    try:
        return write_units(run, store, tuple(spec.checks), complete, called, whole)
    except FileExistsError:
        there = Home.in_store(store, run.run_id)
        if again and open_run_at(there).facts == complete(split(highwater_pipeline.open_run(directory))[0]):
            return there.directory("runs")
        raise


def _explained(directory: Path, verdict: Mapping[str, Any]) -> Mapping[str, Any]:
    """The content of ``verdict.json`` with its explanation, which a campaign leaves out."""
    if not verdict or "explanation" in verdict:
        return verdict
    if not verdict["anomalies"] and not verdict.get("lost"):
        return {**verdict, "explanation": ""}
    from highwater_chaos.report.explanation import explained  # noqa: PLC0415 - few runs fail
    from highwater_chaos.report.files import RunFiles  # noqa: PLC0415

    return {**verdict, "explanation": explained(RunFiles.read(directory, verdict)).sentence}


def explanation_of_stored(directory: AnyPath, found: Mapping[str, Any]) -> str | None:
    """The explanation that a run of a store was stored with; None unless its verdict then, what it lost and its
    anomalies are those that were ``found`` again.

    Raises:
        BadTableError: a table of the store is not the one that was written.
    """
    from highwater_pipeline.partitions.store import read_whole  # noqa: PLC0415

    rows, states, examples = (read_whole(directory, name).to_pylist() for name in ("runs", "verdicts", "findings"))
    anomalies = found["anomalies"]
    if not rows or (rows[0]["verdict"], rows[0]["lost"]) != (found["verdict"], found.get("lost")):
        return None
    counts = {name: anomaly["count"] for name, anomaly in anomalies.items()}
    stories = [(name, one["story"]) for name, anomaly in anomalies.items() for one in anomaly["examples"]]
    same = {row["check"]: row["count"] for row in states if row["count"]} == counts
    same = same and sorted((row["check"], row["story"]) for row in examples) == sorted(stories)
    return rows[0]["explanation"] if same else None


def whole_tables(
    directory: Path, summary: RunSummary, verdict: Mapping[str, Any] | None
) -> dict[str, Iterable[pa.Table]]:
    """The tables of a run directory that are not split by partition
    (:data:`~highwater_pipeline.tables.schemas.WHOLE`); ``verdict`` as in :func:`store_run`."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    from highwater_pipeline.tables.schemas import METRIC_SAMPLES, WHOLE  # noqa: PLC0415

    file = directory / "verdict.json"
    if verdict is None:
        verdict = json.loads(file.read_bytes()) if file.exists() else {}
    faults = highwater_pipeline.open_run(directory).faults
    rows: dict[str, list[dict[str, Any]]] = {
        "runs": [_run_row(summary, verdict)],
        "verdicts": list(_verdict_rows(verdict)),
        "findings": list(_finding_rows(verdict)),
        "phases": [{"name": one.name, "start_ns": one.start_ns, "end_ns": one.end_ns} for one in summary.phases],
    }
    tables: dict[str, Iterable[pa.Table]] = {
        name: [pa.Table.from_pylist(found, schema=WHOLE[name])] for name, found in rows.items()
    }
    if faults is not None:
        tables["faults"] = [faults.select(WHOLE["faults"].names)]
    samples = directory / "metrics" / "samples.parquet"

    def sampled() -> Iterator[pa.Table]:
        with pq.ParquetFile(samples) as opened:
            for batch in opened.iter_batches():
                yield pa.Table.from_batches([batch]).cast(METRIC_SAMPLES)

    if samples.exists():
        tables["metric_samples"] = sampled()
    return tables


def _run_row(summary: RunSummary, verdict: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": summary.name,
        "seed": summary.seed,
        "backend": summary.backend,
        "switches": sorted(summary.switches.items()),
        "verdict": verdict.get("verdict"),
        "explanation": verdict.get("explanation"),
        "reasons": verdict.get("reasons", []),
        "acknowledged": summary.acknowledged,
        "lost": verdict.get("lost"),
        "run_ns": summary.run_ns,
        "wall_seconds": summary.wall_seconds,
        "began_unix_ns": summary.began_unix_ns,
    }


def _verdict_rows(verdict: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    anomalies = verdict.get("anomalies", {})
    for check, state in verdict.get("checks", {}).items():
        yield {"check": check, "state": state, "count": anomalies.get(check, {"count": 0})["count"]}


def _finding_rows(verdict: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for check, anomaly in verdict.get("anomalies", {}).items():
        for number, example in enumerate(anomaly["examples"]):
            yield {
                "check": check,
                "number": number,
                "partition": example.get("partition"),
                "time_ns": example.get("time_ns"),
                "story": example["story"],
                "detail": json.dumps(example),
            }


def _known_to_the_run(spec: ExperimentSpec, directory: Path, summary: RunSummary) -> Iterator[str]:
    """Yield a sentence for each problem that is not in the tables and that rules out a pass."""
    yield from summary.inconclusive_reasons
    for one in summary.violations:
        if is_judged(one.name, spec):
            yield f"{one.name}, which a store does not hold, was found while it ran: {one.what}"
    for assertion in assertions.check_assertions(spec, directory):
        if assertion.holds is not True:
            yield f"an assertion, which a store does not hold, is not met: {assertion.reason}"
