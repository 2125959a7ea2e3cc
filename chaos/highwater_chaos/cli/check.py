"""``highwater check``: judge a run again, on Spark."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from highwater_chaos.assertions import judge_assertions
from highwater_chaos.cli.choices import Model
from highwater_chaos.cli.exits import Exit, UsageError
from highwater_chaos.experiment import load_experiment
from highwater_chaos.judged_run import judge_on_spark, write_verdict
from highwater_chaos.report import BadRunFile
from highwater_chaos.run_summary import BadSummary, RunSummary, ensure_judgeable, is_run_directory, read_summary
from highwater_chaos.verdict import verdict_of
from highwater_pipeline.anomalies import ON_REQUEST, REGISTER_CHECKS
from highwater_pipeline.files import BadTable
from highwater_pipeline.java import JavaNotFound
from highwater_pipeline.judgement import Judgement
from highwater_pipeline.settings import EVERY_TOPIC, Acks, Settings

_STATUS = {"pass": Exit.OK, "fail": Exit.FAIL, "inconclusive": Exit.INCONCLUSIVE}
T = TypeVar("T")


def check(
    history: Annotated[Path, typer.Argument(metavar="DIR_OR_FILE", help="A run directory or an operations file.")],
    model: Annotated[
        Model | None,
        typer.Option(
            show_default=False,
            help="Judge as a log, or as registers (linearizability). By default as what the run recorded, and a file"
            " as a log.",
        ),
    ] = None,
    acks: Annotated[
        Acks | None,
        typer.Option(show_default=False, help="The acks of the producers, if there is no run.json."),
    ] = None,
    idempotence: Annotated[
        bool | None,
        typer.Option(show_default=False, help="Whether producers were idempotent, if there is no run.json."),
    ] = None,
    retention: Annotated[
        bool, typer.Option("--retention", help="Old records may have been deleted, if there is no run.json.")
    ] = False,
    master: Annotated[
        str | None,
        typer.Option(metavar="URL", show_default=False, help="Use this Spark master, not this machine's cores."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Judge a recorded run again, on Spark.

    Takes a run directory or the history of any run. Exits by the verdict: 0 pass, 1 fail, 2 inconclusive.
    """
    if not history.exists():
        raise UsageError(f"{history}: no such file or directory")
    settings = _settings(acks, idempotence, retention=retention)
    if is_run_directory(history):
        _refuse(lambda: ensure_judgeable(history))  # before Spark judges for minutes
        if settings is not None:
            raise UsageError(
                f"{history}: its run.json says what was promised; leave out --acks, --idempotence, --retention"
            )
    began = time.monotonic()
    print(f"judging {history} on Spark", file=sys.stderr)
    judgement = _judge(history, model, master, settings)
    print(f"judged in {time.monotonic() - began:.1f} s, Spark's start included", file=sys.stderr)
    found = _verdict(history, judgement, model)
    if as_json:
        shown = {name: found[name] for name in ("verdict", "reasons", "anomalies", "checks", "assertions")}
        print(json.dumps({"run_id": judgement.run_id, **shown}, indent=2))
    else:
        _print(judgement.run_id, found)
    return _STATUS[found["verdict"]]


def _settings(acks: Acks | None, idempotence: bool | None, *, retention: bool) -> Settings | None:
    """What the options say was promised; None: nothing."""
    if acks is None and idempotence is None and not retention:
        return None
    if idempotence and acks != "all":
        raise UsageError(f"--idempotence needs --acks all; found {acks or 'none'}")
    deleting = (EVERY_TOPIC,) if retention else ()
    return Settings(acks, idempotence, retention=deleting, compaction=())


def _verdict(history: Path, judgement: Judgement, model: str | None) -> dict[str, Any]:
    """As ``verdict.json`` has it: of a run directory by what ``run`` knew too, its inconclusive_reasons and broken
    invariants.

    A run directory that was never judged has its verdict and report from now on.
    """
    if not is_run_directory(history):
        return _of_recordings(judgement)
    summary = _refuse(lambda: read_summary(history))
    if model is not None:  # of one model alone, whatever else the run was asked
        return of_one_model(judgement, summary)
    experiment = load_experiment(history / "experiment.yaml")
    if not (history / "verdict.json").exists():
        found = _refuse(lambda: write_verdict(history, experiment, judgement))
        print(f"written: {history}/verdict.json, junit.xml and report.html", file=sys.stderr)
        return found
    return verdict_of(experiment, summary, judgement, judge_assertions(experiment.spec, history))


def of_one_model(judgement: Judgement, summary: RunSummary) -> dict[str, Any]:
    """A run directory's judgement by one model: no pass of a run that is inconclusive, or in which an invariant was
    broken."""
    broken = [one for one in summary.violations if one.name not in ON_REQUEST]
    elsewhere = [f"{one.name}, which no model looks for, was found while it ran: {one.what}" for one in broken]
    return _of_recordings(judgement, [*summary.inconclusive_reasons, *elsewhere])


def _refuse(look: Callable[[], T]) -> T:
    """What ``look`` returns; what is wrong with the run directory is the user's to mend."""
    try:
        return look()
    except (BadSummary, BadRunFile) as error:
        raise UsageError(str(error)) from error


def _of_recordings(judgement: Judgement, inconclusive_reasons: Sequence[str] = ()) -> dict[str, Any]:
    """The judgement as a verdict; ``inconclusive_reasons`` of the run turn a pass into inconclusive."""
    verdict = "inconclusive" if inconclusive_reasons and judgement.verdict == "pass" else judgement.verdict
    because = [*inconclusive_reasons, *(judgement.reasons if judgement.verdict == "inconclusive" else [])]
    reasons = [*inconclusive_reasons, *judgement.reasons]
    found = json.loads(judgement.to_json())
    return {**found, "verdict": verdict, "reasons": reasons, "inconclusiveReasons": because, "assertions": []}


def _judge(history: Path, model: str | None, master: str | None, settings: Settings | None) -> Judgement:
    from highwater_pipeline import spark  # noqa: PLC0415 - PySpark takes a second to import

    try:
        if model == "register" and history.is_dir():  # it is not known what a crashed node withstood
            return spark.check_log_and_registers_on_spark(history, master, list(REGISTER_CHECKS))
        if model == "register":
            return spark.check_registers_on_spark(history, master)
        if model is None and (history / "experiment.yaml").is_file():
            # As ``run`` judged it.
            return judge_on_spark(load_experiment(history / "experiment.yaml"), history, master)
        return spark.check_on_spark(history, master, settings=settings)
    except (BadTable, FileNotFoundError, JavaNotFound, spark.SparkFailed) as error:
        raise UsageError(str(error)) from error


def _print(run_id: str, found: Mapping[str, Any]) -> None:
    print(f"{found['verdict'].upper()}: {run_id}")
    for one in found["assertions"]:
        if one["holds"] is False:
            print(f"  {one['reason']}")
    for name, report in found["anomalies"].items():
        print(f"  {name}: {report['count']}")
        for example in report["examples"][:3]:
            print(f"    {example['story']}")
    for reason in found["inconclusiveReasons"]:
        print(f"  because {reason}")
