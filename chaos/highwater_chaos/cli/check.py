"""``highwater check``: judge recorded runs again, in this process or on Spark."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, TypeVar

import typer

from highwater_chaos.assertions import check_assertions
from highwater_chaos.base.machine_record import machine_troubles, new_disks
from highwater_chaos.base.scratch import ScratchDirectory
from highwater_chaos.base.user_error import UserError
from highwater_chaos.cli.check_document import row_of, row_of_refused, valid
from highwater_chaos.cli.choices import Engine, Format, Model
from highwater_chaos.cli.exits import Exit, UsageError
from highwater_chaos.cli.histories import at_hand, bytes_of, histories_of
from highwater_chaos.cli.spark_options import Conf, Master, spark_properties, start_spark
from highwater_chaos.experiment import load_experiment
from highwater_chaos.records.removed import acknowledged_text
from highwater_chaos.report.explanation import explained, sentence_without_causes
from highwater_chaos.report.files import BadRunFileError, RunFiles
from highwater_chaos.report.vacuity import exercised
from highwater_chaos.run.exercised import warning_texts
from highwater_chaos.run.manifest import UNVERIFIED, BadSummaryError, has_manifest
from highwater_chaos.run.summary import RunSummary, ensure_judgeable, is_run_directory, read_summary
from highwater_chaos.verdict.check import check_recordings, check_recordings_on_spark, write_verdict
from highwater_chaos.verdict.stored import explanation_of_stored
from highwater_chaos.verdict.verdict import verdict_of
from highwater_pipeline.anomalies import ON_REQUEST, REGISTER_CHECKS
from highwater_pipeline.in_process import check_log_and_registers, check_run, check_stored
from highwater_pipeline.java import JavaNotFoundError
from highwater_pipeline.jepsen.history import open_jepsen
from highwater_pipeline.linearizability import check_registers
from highwater_pipeline.partitions.store import Home, RunName, is_stored_run, open_run_at, open_stored_run
from highwater_pipeline.tables.files import BadTableError, write_parquet
from highwater_pipeline.tables.recordings import UNITS, run_label
from highwater_pipeline.tables.remote import AnyPath
from highwater_pipeline.tables.run_tables import in_memory, load_run, open_run
from highwater_pipeline.tables.settings import EVERY_TOPIC, UNKNOWN, Acks, Settings
from highwater_pipeline.verdict import RunVerdict

_STATUS = {"pass": Exit.OK, "fail": Exit.FAIL, "inconclusive": Exit.INCONCLUSIVE}
_WORST: Final = (Exit.OK, Exit.INCONCLUSIVE, Exit.FAIL, Exit.USAGE)
_MOST_JOBS: Final = 4
"""Each process may take half a gigabyte or more."""
_FOR_SPARK: Final = 256 << 20
"""Bytes of recordings beyond which Spark judges: below, its start takes longer than it saves."""
T = TypeVar("T")


class _How(NamedTuple):
    """How the command line says that histories are judged."""

    written: Format
    model: Model | None
    engine: Engine
    master: str | None
    settings: Settings | None
    jobs: int | None


ModelOption = Annotated[
    Model | None,
    typer.Option(
        show_default=False,
        help="Judge as a log, or as registers (linearizability). By default by what the run recorded; a file is"
        " judged as a log.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        show_default=False,
        help="So many processes judge a large run of a store; by default one a core, at most 4.",
    ),
]
UnrecordedSends = Annotated[
    bool,
    typer.Option(
        "--unrecorded-sends",
        help="Clients whose sends the history does not have may have written too, if there is no run.json.",
    ),
]


def check(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...",
            help="Run directories, directories of them, stores, operations files, patterns, or addresses (s3://…).",
        ),
    ],
    written: Annotated[
        Format, typer.Option("--format", help="How operations files are written: by runs, or by Jepsen.")
    ] = "highwater",
    model: ModelOption = None,
    engine: Annotated[
        Engine | None,
        typer.Option(show_default=False, help="Judge in this process or on Spark. By default by the size of the run."),
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
    unrecorded_sends: UnrecordedSends = False,
    master: Master = None,
    conf: Conf = None,
    jobs: Jobs = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Judge recorded runs again.

    Takes run directories and the history of any run. Exits by the verdicts: 0 if all pass, 1 if one fails, else 2 if
    one is inconclusive. What cannot be judged is named, the rest is judged, and the status is 254.
    """
    for option, given in (("--master", master), ("--conf", conf)):
        if given and engine == "process":
            raise UsageError(f"{option} is for Spark: leave out --engine process")
    properties = spark_properties(conf)
    if master is not None and jobs is not None:
        raise UsageError("--jobs counts processes of this machine; with --master leave it out")
    settings = _settings(acks, idempotence, retention=retention, unrecorded_sends=unrecorded_sends)
    asked, refused = _asked(paths, settings, written, model)
    found: dict[str, tuple[AnyPath, RunVerdict, dict[str, Any]]] = {}
    with ExitStack() as session:
        together: dict[str, RunVerdict] = {}
        for history in (one for one in asked if not isinstance(one, str)):
            chosen: Engine = engine or ("spark" if master or conf or bytes_of(history) > _FOR_SPARK else "process")
            began = time.monotonic()
            print(f"judging {history}{' on Spark' if chosen == 'spark' else ''}", file=sys.stderr)
            try:
                if chosen == "spark":
                    here = None if engine or conf else "local[*]"  # nobody asked for the user's own cluster
                    where = master or (f"local[{jobs}]" if jobs else here)
                    start_spark(session, where, f"highwater check {shlex.join(paths)}", properties)
                    if str(history) not in together and settings is None:
                        together |= _judge_stored_together(asked, history)
                how = _How(written, model, chosen, master, settings, jobs)
                run_verdict, verdict = _found(history, how, together.get(str(history)))
            except UserError as error:
                refused[str(history)] = str(error)
                print(error, file=sys.stderr)
                continue
            start = ", Spark's start included" if chosen == "spark" and not found else ""
            print(f"judged in {time.monotonic() - began:.1f} s{start}", file=sys.stderr)
            found[str(history)] = history, run_verdict, verdict
            if not as_json:
                _print(run_verdict.run_id, verdict)
    if as_json:
        names = [str(one) for one in asked]
        rows = [row_of(*found[name]) if name in found else row_of_refused(name, refused[name]) for name in names]
        print(json.dumps(rows[0] if len(rows) == 1 else {"valid": valid(rows), "runs": rows}, indent=2))
    statuses = [_STATUS[verdict["verdict"]] for *_, verdict in found.values()]
    return max([*statuses, *(Exit.USAGE for _ in refused)], key=_WORST.index)


def _asked(
    paths: Sequence[str], settings: Settings | None, written: Format, model: Model | None
) -> tuple[list[AnyPath | str], dict[str, str]]:
    """Return what ``paths`` name, each once and in order, and why some of it cannot be judged, by its name.

    A string is a name that is refused already. That is said before anything is judged, which may take minutes.
    """
    asked: dict[str, AnyPath | str] = {}
    refused: dict[str, str] = {}

    def refuse(name: str, error: UserError) -> None:
        asked[name], refused[name] = name, str(error)
        print(error, file=sys.stderr)

    for path in paths:
        try:
            histories = histories_of(path)
        except UserError as error:
            refuse(path, error)
            continue
        for history in histories:
            if (name := str(history)) in asked:
                continue
            asked[name] = history
            try:
                _refuse_early(history, settings, written, model)
            except UserError as error:
                refuse(name, error)
    return list(asked.values()), refused


def _refuse_early(history: AnyPath, settings: Settings | None, written: Format, model: Model | None) -> None:
    """Raise :class:`UsageError` for what is seen to be wrong without reading the history."""
    stored = is_stored_run(history)
    if stored and model == "register":
        raise UsageError(f"{history}: a store has no registers; give check the run itself")
    if not stored and history.is_file():
        return
    if written != "highwater":
        raise UsageError(f"{history}: is a directory; --format {written} needs a file")
    if not stored and is_run_directory(history):
        if isinstance(history, Path):  # else as soon as its files are here
            _refuse(lambda: ensure_judgeable(history))
        if settings is not None:
            raise UsageError(
                f"{history}: its run.json says what was promised; leave out --acks, --idempotence, --retention and"
                " --unrecorded-sends"
            )


def _settings(
    acks: Acks | None, idempotence: bool | None, *, retention: bool, unrecorded_sends: bool
) -> Settings | None:
    """What the options say was promised; None: nothing."""
    if acks is None and idempotence is None and not (retention or unrecorded_sends):
        return None
    if idempotence and acks != "all":
        raise UsageError(f"--idempotence needs --acks all; found {acks or 'none'}")
    deleting = (EVERY_TOPIC,) if retention else ()
    return Settings(acks, idempotence, retention=deleting, compaction=(), unrecorded_sends=unrecorded_sends)


def _verdict(history: AnyPath, run_verdict: RunVerdict, model: str | None, *, keep: bool = True) -> dict[str, Any]:
    """As ``verdict.json`` has it: of a run directory by what ``run`` knew too, its inconclusive_reasons and broken
    invariants.

    A run directory that was never judged has its verdict and report from now on; with ``keep`` false it is a copy.
    """
    if not isinstance(history, Path) or not is_run_directory(history):
        found = _of_recordings(run_verdict)
        known, called = None, RunName()
        if is_stored_run(history):
            known, called = explanation_of_stored(history, found), open_run_at(Home.of_run(history)).called
        return {**found, **_called(called), "explanation": sentence_without_causes(found) if known is None else known}
    summary = _refuse(lambda: read_summary(history))
    called = RunName(summary.name, summary.seed, summary.backend, summary.switches)
    if model is not None:  # of one model alone, whatever else the run was asked
        return {**of_one_model(run_verdict, summary), **_called(called), "verified": has_manifest(history)}
    experiment = load_experiment(history / "experiment.yaml")
    if keep and not (history / "verdict.json").exists():
        found = _refuse(lambda: write_verdict(history, experiment, run_verdict))
        print(f"written: {history}/verdict.json, junit.xml and report.html", file=sys.stderr)
    else:
        outcomes = check_assertions(experiment.spec, history)
        troubles, disks = machine_troubles(history), new_disks(history)
        found = verdict_of(experiment, summary, run_verdict, outcomes, troubles, disks, history)
        run = _refuse(lambda: RunFiles.read(history, found))
        found["explanation"] = _refuse(lambda: explained(run)).sentence
        found["exercised"] = _refuse(lambda: exercised(run, experiment)).to_dict()
    return {**found, **_called(called), "asRecorded": as_recorded(found, summary), "verified": has_manifest(history)}


def _called(run: RunName) -> dict[str, Any]:
    """What ``--json`` calls a run, beside its key; null: not known."""
    return {"name": run.name or None, "seed": run.seed, "backend": run.backend or None, "switches": run.switches}


def as_recorded(found: Mapping[str, Any], summary: RunSummary) -> list[str]:
    """The anomalies that no recording shows: what the harness or the simulator saw while the run went on."""
    names = dict.fromkeys(violation.name for violation in summary.violations)
    return [name for name in names if name in found["anomalies"] and not _has_rows(found["anomalies"][name])]


def _has_rows(anomaly: Mapping[str, Any]) -> bool:
    return any(example["rows"] for example in anomaly["examples"])


def of_one_model(run_verdict: RunVerdict, summary: RunSummary) -> dict[str, Any]:
    """A run directory's verdict by one model: no pass of a run that is inconclusive, or in which an invariant was
    broken."""
    broken = [one for one in summary.violations if one.name not in ON_REQUEST]
    elsewhere = [f"{one.name}, which no model looks for, was found while it ran: {one.what}" for one in broken]
    return _of_recordings(run_verdict, [*summary.inconclusive_reasons, *elsewhere])


def _refuse(look: Callable[[], T]) -> T:
    """What ``look`` returns; what is wrong with the run directory is the user's to mend."""
    try:
        return look()
    except (BadSummaryError, BadRunFileError) as error:
        raise UsageError(str(error)) from error


def _of_recordings(run_verdict: RunVerdict, inconclusive_reasons: Sequence[str] = ()) -> dict[str, Any]:
    """What ``--json`` has; ``inconclusive_reasons`` of the run turn a pass into inconclusive."""
    verdict = "inconclusive" if inconclusive_reasons and run_verdict.verdict == "pass" else run_verdict.verdict
    because = [*inconclusive_reasons, *(run_verdict.reasons if run_verdict.verdict == "inconclusive" else [])]
    reasons = [*inconclusive_reasons, *run_verdict.reasons]
    found = json.loads(run_verdict.to_json())
    return {
        **found,
        "verdict": verdict,
        "reasons": reasons,
        "inconclusiveReasons": because,
        "assertions": [],
        "acknowledged": run_verdict.stats.get("acknowledged", 0),
    }


def _judge_stored_together(asked: Sequence[AnyPath | str], first: AnyPath) -> dict[str, RunVerdict]:
    """Judge all runs of a store, ``first`` one of them, in one job; nothing if one of them cannot be judged, so that
    each says what is wrong with it."""
    if not is_stored_run(first):
        return {}
    from highwater_pipeline import spark  # noqa: PLC0415 - PySpark takes a second to import

    names = [one for one in asked if not isinstance(one, str) and one.parent == first.parent and is_stored_run(one)]
    try:
        return dict(zip(map(str, names), spark.spark_check_stored_at(names), strict=True))
    except (BadTableError, OSError):
        return {}


def _found(history: AnyPath, how: _How, judged: RunVerdict | None) -> tuple[RunVerdict, dict[str, Any]]:
    """Check a history, unless it is ``judged`` already; return the verdict, and what ``--json`` has of it.

    Of what is elsewhere, a copy is judged here; of a run directory Spark judges the recordings where they are.
    """
    try:
        stored = is_stored_run(history)
        here_alone = how.engine == "process" or how.written != "highwater" or is_run_directory(history)
        if stored or not here_alone:
            run_verdict = judged or _judge(history, history, how)
            return run_verdict, _verdict(history, run_verdict, how.model)
        with at_hand(history) as here:
            run_verdict = _judge(history, here, how)
            return run_verdict, _verdict(here, run_verdict, how.model, keep=here == history)
    except OSError as error:
        raise UsageError(str(error)) from error


def _judge(history: AnyPath, here: AnyPath, how: _How) -> RunVerdict:
    """Judge a history, of which ``here`` is a copy or itself."""
    try:
        if is_stored_run(history):
            return _judge_stored(history, how)
        if how.written == "jepsen-edn":
            return _judge_jepsen(Path(str(here)), how._replace(model=how.model or "log"))
        if how.engine == "process":
            return _judge_here(here, how.model, how.settings)
        return _judge_on_spark(history, here, how)
    except (BadTableError, OSError, JavaNotFoundError) as error:
        raise UsageError(str(error)) from error


def _judge_stored(history: AnyPath, how: _How) -> RunVerdict:
    run = open_stored_run(history)
    if how.settings is not None:
        if run.facts.settings != UNKNOWN:
            raise UsageError(
                f"{history}: the store says what was promised; leave out --acks, --idempotence, --retention"
            )
        run = replace(run, facts=replace(run.facts, settings=how.settings))
    if how.engine == "process":
        return check_stored(run, how.jobs or min(_MOST_JOBS, os.cpu_count() or 1))
    from highwater_pipeline import spark  # noqa: PLC0415 - PySpark takes a second to import

    try:
        return spark.check_stored_on_spark(run, how.master)
    except spark.SparkFailedError as error:
        raise UsageError(str(error)) from error


def _judge_here(history: AnyPath, model: Model | None, settings: Settings | None) -> RunVerdict:
    if model == "register" and history.is_dir():  # it is not known what a crashed node withstood
        return check_log_and_registers(load_run(history), list(REGISTER_CHECKS))
    if model == "register":
        return check_registers(load_run(history))
    if model is None and isinstance(history, Path) and (history / "experiment.yaml").is_file():
        # As ``run`` judged it.
        _ensure_units(history)
        return check_recordings(load_experiment(history / "experiment.yaml"), history)
    return check_run(open_run(history, settings))


def _judge_on_spark(history: AnyPath, here: AnyPath, how: _How) -> RunVerdict:
    from highwater_pipeline import spark  # noqa: PLC0415 - PySpark takes a second to import

    try:
        if how.model == "register" and history.is_dir():
            return spark.check_log_and_registers_on_spark(history, how.master, list(REGISTER_CHECKS))
        if how.model == "register":
            return spark.check_registers_on_spark(history, how.master)
        if how.model is None and isinstance(here, Path) and (here / "experiment.yaml").is_file():
            _ensure_units(here)
            return check_recordings_on_spark(load_experiment(here / "experiment.yaml"), history, how.master)
        return spark.check_on_spark(history, how.master, settings=how.settings)
    except spark.SparkFailedError as error:
        raise UsageError(str(error)) from error


def _ensure_units(directory: Path) -> None:
    """Raise :class:`UsageError` if units are not what the run wrote: a check may not be able to read others at all."""
    if (directory / UNITS).exists():
        _refuse(lambda: read_summary(directory))


def _judge_jepsen(history: Path, how: _How) -> RunVerdict:
    assert how.model is not None
    run = open_jepsen(history, how.model, how.settings)
    if how.engine == "process":
        return check_registers(in_memory(run)) if how.model == "register" else check_run(run)
    with ScratchDirectory("jepsen") as folder:
        # Spark reads tables; the file's name is the run's.
        table = Path(folder) / f"{history.stem}.parquet"
        write_parquet(table, in_memory(run).operations)
        return _judge_on_spark(table, table, how)


def _print(run_id: str, found: Mapping[str, Any]) -> None:
    title = run_label(found["name"], found["seed"], found["switches"]) if found["name"] else run_id
    print(f"{found['verdict'].upper()}: {title}{f' ({run_id})' if title != run_id else ''}")
    if found.get("explanation"):
        print(f"  {found['explanation']}")
    if found.get("verified") is False:
        print(f"  {UNVERIFIED}")
    if found["removed"]:  # of registers nothing can be
        print(f"  {acknowledged_text(found)}")
    for warning in warning_texts(found.get("exercised")):
        print(f"  warning: {warning}")
    for one in found["assertions"]:
        if one["holds"] is False:
            print(f"  {one['reason']}")
    for name, report in found["anomalies"].items():
        recorded = ", as the run recorded it: no table shows it" if name in found.get("asRecorded", ()) else ""
        print(f"  {name}: {report['count']}{recorded}")
        for example in report["examples"][:3]:
            print(f"    {example['story']}")
    for reason in found["inconclusiveReasons"]:
        print(f"  because {reason}")
