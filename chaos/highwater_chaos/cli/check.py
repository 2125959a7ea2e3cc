"""``highwater check``: judge a run again, on Spark."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from highwater_chaos.assertions import Outcome, changed_verdict, judge_assertions, reasons_of
from highwater_chaos.cli.exits import Exit, UsageError
from highwater_chaos.experiment import load_experiment
from highwater_pipeline.files import BadTable
from highwater_pipeline.java import JavaNotFound
from highwater_pipeline.judgement import Judgement

_STATUS = {"pass": Exit.OK, "fail": Exit.FAIL, "inconclusive": Exit.INCONCLUSIVE}
_FORMATS = ("highwater",)
_MODELS = ("log", "register")


def check(
    history: Annotated[Path, typer.Argument(metavar="DIR_OR_FILE", help="A run directory or an operations file.")],
    format_: Annotated[str, typer.Option("--format", help="highwater (jepsen-edn is not built yet).")] = "highwater",
    model: Annotated[
        str | None,
        typer.Option(help="log, or register: linearizability. By default what the run recorded; log for a file."),
    ] = None,
    master: Annotated[str | None, typer.Option(help="Spark master; this machine's cores by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Judge a run directory again, or the history of any run, on Spark. Exits by the verdict: 0, 1 or 2."""
    for option, value, built in (("format", format_, _FORMATS), ("model", model, _MODELS)):
        if value is not None and value not in built:
            why = "is not built yet" if value == "jepsen-edn" else "is unknown"
            raise UsageError(f"--{option} {value!r} {why}; expected {' or '.join(map(repr, built))}")
    if not history.exists():
        raise UsageError(f"{history}: no such file or directory")
    began = time.monotonic()
    print(f"judging {history} on Spark", file=sys.stderr)
    judgement = _judge(history, model, master)
    print(f"judged in {time.monotonic() - began:.1f} s, Spark's start included", file=sys.stderr)
    outcomes = _assertions(history) if model is None else []
    verdict = changed_verdict(judgement.verdict, outcomes)
    if as_json:
        told = json.loads(judgement.to_json())
        told["reasons"] = [*reasons_of(outcomes, False), *told["reasons"], *reasons_of(outcomes, None)]
        print(json.dumps({**told, "verdict": verdict, "assertions": [one.to_dict() for one in outcomes]}, indent=2))
    else:
        _print(judgement, verdict, outcomes)
    return _STATUS[verdict]


def _assertions(history: Path) -> list[Outcome]:
    """What became of a run directory's assertions; a history alone has none."""
    experiment = history / "experiment.yaml"
    return judge_assertions(load_experiment(experiment).spec, history) if experiment.is_file() else []


def _judge(history: Path, model: str | None, master: str | None) -> Judgement:
    from highwater_pipeline import spark  # noqa: PLC0415 - PySpark takes a second to import

    try:
        if model == "register":
            return spark.check_registers_on_spark(history, master)
        if model is None and (history / "experiment.yaml").is_file():
            # As ``run`` judged it.
            spec = load_experiment(history / "experiment.yaml").spec
            judge = spark.check_on_spark if spec.workload.metadata is None else spark.check_log_and_registers_on_spark
            return judge(history, master, spec.checks)
        return spark.check_on_spark(history, master)
    except (BadTable, FileNotFoundError, JavaNotFound, spark.SparkFailed) as error:
        raise UsageError(str(error)) from error


def _print(judgement: Judgement, verdict: str, outcomes: Sequence[Outcome]) -> None:
    print(f"{verdict.upper()}: {judgement.run_id}")
    for reason in reasons_of(outcomes, False):
        print(f"  {reason}")
    for name, report in judgement.anomalies.items():
        print(f"  {name}: {report.count}")
        for example in report.examples[:3]:
            print(f"    {example['story']}")
    for reason in judgement.reasons if judgement.verdict == "inconclusive" else []:
        print(f"  because {reason}")
    for reason in reasons_of(outcomes, None):
        print(f"  because {reason}")
