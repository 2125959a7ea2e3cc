"""Judges one run in this process: for ``highwater run``, and for simulator workers that judge thousands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from highwater_pipeline.anomalies import REGISTER_CHECKS
from highwater_pipeline.checks import check_partition, check_partitions
from highwater_pipeline.partitions.partition_tables import split
from highwater_pipeline.partitions.store import StoredRun, read_unit
from highwater_pipeline.tables.run_tables import RunParts, RunTables
from highwater_pipeline.verdict import RunVerdict, Verdict, merge

_FOR_PROCESSES: Final = 8_000_000
"""Rows of a run beyond which several processes judge it: below, their start takes longer than they save."""


def check_run(run: RunTables | RunParts, checks: Sequence[str] | None = None) -> RunVerdict:
    """The verdict of one run by the checks asked for (None: all). Needs no Java and no Spark.

    Raises ``ValueError`` for a name in ``checks`` that is not a check's; of a run that is read part by part,
    :class:`~highwater_pipeline.tables.files.BadTableError` for the first thing in its files that is wrong.
    """
    facts, units = split(run)
    return merge(facts, check_partitions(units, checks), checks)


def check_stored(run: StoredRun, jobs: int = 1) -> RunVerdict:
    """The verdict of a run of a store, by the checks that it was stored with.

    One unit is in memory at a time; of a large run ``jobs`` units, each in a process of its own.

    Raises:
        BadTableError: a table is not the one that was written.
        OSError: a table cannot be read, or one of the processes ended.
    """
    rows = sum(sum(unit.rows.values()) for unit in run.units)
    if jobs > 1 and len(run.units) > 1 and rows > _FOR_PROCESSES:
        from highwater_pipeline.processes import findings_of  # noqa: PLC0415 - few runs are so large

        return merge(run.facts, findings_of(run, jobs), run.checks)
    return merge(run.facts, (check_partition(read_unit(run.facts, unit), run.checks) for unit in run.units), run.checks)


def check_log_and_registers(tables: RunTables, checks: Sequence[str] | None = None) -> RunVerdict:
    """The verdict of a run whose clients wrote and read records and operated on registers (``workload.metadata``).

    ``checks`` as for :func:`check_run`, names of register checks included.
    """
    from highwater_pipeline.linearizability import check_registers  # noqa: PLC0415 - few runs have registers

    return check_both(tables.run_id, checks, lambda of_log: check_run(tables, of_log), lambda: check_registers(tables))


def check_both(
    run_id: str,
    checks: Sequence[str] | None,
    judge_log: Callable[[Sequence[str] | None], RunVerdict],
    judge_registers: Callable[[], RunVerdict],
) -> RunVerdict:
    """One verdict from those of the log and of the registers, in whichever way each is come by.

    Registers are not judged where none of their checks is named in ``checks`` (None or ``["all"]``: every one). The log
    always is, if only for nodes that crashed.
    """
    everything = checks is None or "all" in checks
    of_log = None if everything else [name for name in checks or () if name not in REGISTER_CHECKS]
    of_registers = [name for name in REGISTER_CHECKS if everything or name in (checks or ())]
    log = judge_log(of_log or ["node-crash"] if of_log is not None else None)
    run_verdicts = [_only(judge_registers(), of_registers)] if of_registers else []
    if log.anomalies or not run_verdicts or (of_log != [] and log.checks):
        run_verdicts.insert(0, log)
    verdicts = [run_verdict.verdict for run_verdict in run_verdicts]
    worst: Verdict = "fail" if "fail" in verdicts else "inconclusive" if "inconclusive" in verdicts else "pass"
    return RunVerdict(
        run_id,
        worst,
        list(dict.fromkeys(reason for run_verdict in run_verdicts for reason in run_verdict.reasons)),
        {name: report for run_verdict in run_verdicts for name, report in run_verdict.anomalies.items()},
        {name: state for run_verdict in run_verdicts for name, state in run_verdict.checks.items()},
        log.stats,
        log.removed,
        log.lost,
    )


def _only(run_verdict: RunVerdict, names: Sequence[str]) -> RunVerdict:
    """What a verdict says of some of its checks."""
    others = [name for name in run_verdict.checks if name not in names]
    states = {name: run_verdict.checks[name] for name in names}
    reasons = [reason for reason in run_verdict.reasons if not reason.startswith(tuple(f"{name}: " for name in others))]
    verdict = run_verdict.verdict
    if verdict == "fail" and "failed" not in states.values():
        verdict = "inconclusive" if reasons else "pass"
    anomalies = {name: report for name, report in run_verdict.anomalies.items() if name in names}
    return RunVerdict(run_verdict.run_id, verdict, reasons, anomalies, states)
