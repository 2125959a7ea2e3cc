"""``highwater campaign``: thousands of seeds, on this machine's cores or on Spark."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from highwater_chaos.backends import make_backend
from highwater_chaos.campaign import (
    RANDOM,
    CampaignDirectory,
    Outcome,
    Plan,
    Progress,
    Row,
    Series,
    on_processes,
    rate_of_mutants,
    row_of,
    series_of_file,
    series_of_mutant,
    series_of_random,
)
from highwater_chaos.campaign.dimensions import drawn_by
from highwater_chaos.campaign.examples import Example, shrink_example, write_example
from highwater_chaos.campaign.mutants import SETS, Mutant, mutant_named
from highwater_chaos.campaign.on_spark import SparkGone, batch_size, on_spark
from highwater_chaos.campaign.page import facts_of, sentence_of, why_of, write_page
from highwater_chaos.campaign.plan import Engine
from highwater_chaos.campaign.remote import Copy, copied_to
from highwater_chaos.cli.choices import Engine as EngineName
from highwater_chaos.cli.choices import MutantSet
from highwater_chaos.cli.exits import Exit, UsageError
from highwater_chaos.cli.output import check_output
from highwater_chaos.cli.progress import Progress as ProgressShown
from highwater_chaos.cli.run import switch_values
from highwater_chaos.cli.shipped import files_of, shipped_names_beginning
from highwater_chaos.cli.watching import Metrics, served
from highwater_chaos.experiment import ExperimentError, load_experiment
from highwater_chaos.experiment.consistency import switch_problem
from highwater_chaos.monitoring import CampaignMetrics
from highwater_chaos.refusals import refusals
from highwater_pipeline.java import JavaNotFound
from highwater_pipeline.remote import AnyPath, BadAddress, NotReached, located
from highwater_pipeline.transitions import CATALOGUE, unreached
from highwater_runtime.compiled import SETTING, in_force
from highwater_runtime.switches import SWITCHES

_LINE_SECONDS: Final = 10.0
"""Time between two lines of progress where there is no terminal."""
_MOST_SEEDS: Final = 10_000_000
_MOST_PATIENCE: Final = 1_000_000
"""More than a week; what a timer of the system takes."""


def campaign(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="EXPERIMENT|random",
            autocompletion=shipped_names_beginning,
            help="Experiment files, names of shipped experiments, or 'random': each seed draws an experiment.",
        ),
    ] = None,
    seeds: Annotated[str, typer.Option(metavar="A..B", help="Run these seeds, the last one included.")] = "1..100",
    switch: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="Set a switch.")] = None,
    engine: Annotated[
        EngineName, typer.Option(help="Run seeds on processes of this machine, or in tasks of Spark.")
    ] = "process",
    master: Annotated[
        str | None,
        typer.Option(metavar="URL", show_default=False, help="Use this Spark master, not this machine's cores."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", show_default=False, help="Processes; by default one a core.")
    ] = None,
    until_failure: Annotated[
        bool, typer.Option("--until-failure", help="Stop each experiment at its first failing seed.")
    ] = False,
    guided: Annotated[
        bool,
        typer.Option("--guided", help="Let 'random' keep and change experiments that reached something new."),
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the campaign that is in --out.")] = False,
    out: Annotated[
        str | None,
        typer.Option(metavar="DIR", show_default=False, help="Write here, or to s3://…; by default below campaigns/."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(metavar="DIR", show_default=False, help="Keep every run in this store, for 'check'; or s3://…."),
    ] = None,
    keep: Annotated[
        int, typer.Option(min=0, metavar="N", help="Write the run directories of N failing seeds of each experiment.")
    ] = 1,
    shrink: Annotated[
        int, typer.Option(min=0, metavar="RUNS", help="Shrink these failing seeds, with at most so many runs each.")
    ] = 0,
    patience: Annotated[
        int,
        typer.Option(min=1, max=_MOST_PATIENCE, metavar="SECONDS", help="Processor time that one seed may take."),
    ] = 300,
    mutants: Annotated[
        bool, typer.Option("--mutants", help="Run with bugs put in on purpose: does a campaign find them?")
    ] = False,
    which: Annotated[
        MutantSet | None,
        typer.Option("--set", show_default=False, help="Which mutants: known (default), or held out from all files."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this mutant; may be given several times.")
    ] = None,
    wire: Annotated[bool, typer.Option("--wire", help="Encode and decode every message of the simulator.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    metrics: Metrics = None,
) -> int:
    """Run many seeds of experiments in the simulator, and count.

    A seed that raises, hangs or ends its process is counted as an error, and the others go on. Exits 0 if all seeds
    came out as expected; if a fail is expected, or a bug was put in, one failing seed is enough.
    """
    switches = {name: values[0] for name, values in switch_values(switch or [], several=False)}
    if not mutants and (which or only):
        raise UsageError(f"--{'set' if which else 'only'} names mutants; it needs --mutants")
    plan = Plan(
        _series(
            experiments or [],
            switches,
            mutants=_mutants(which, only or []) if mutants else None,
            until_failure=until_failure,
            guided=guided,
        ),
        _seeds(seeds),
        tuple(sorted(switches.items())),
        wire=wire,
        patience=patience,
        store="" if store is None else str(_place(store).absolute()),
    )
    if store is not None and mutants:
        raise UsageError("--store keeps one run of each seed; leave it out, or leave out --mutants")
    if engine == "process" and master is not None:
        raise UsageError("--master needs --engine spark; leave it out, or add it")
    if resume and out is None:
        raise UsageError("--resume needs --out: the directory of the campaign to go on with")
    title = "mutants" if mutants else plan.series[0].experiment if len(plan.series) == 1 else "campaign"
    place = _place(out or f"campaigns/{title}-{datetime.now(UTC).strftime('%Y%m%dT%H%M%SZ')}")
    options = _Options(engine, master, jobs, keep, shrink, resume, guided, as_json)
    try:
        if isinstance(place, Path):
            check_output(place.parent, "--out")
            return _campaign(plan, title, place, None, options, metrics)
        with copied_to(place, resume=resume) as copy:
            return _campaign(plan, title, copy.here, copy, options, metrics)
    except NotReached as error:
        raise UsageError(f"{error}; what was known until then is kept: {_resume(place)}") from error


@dataclass(frozen=True, slots=True)
class _Options:
    """How a campaign is run, and what is made of it."""

    engine: EngineName
    master: str | None
    jobs: int | None
    keep: int
    shrink: int
    resume: bool
    guided: bool
    as_json: bool


def _place(path: str) -> AnyPath:
    try:
        return located(path)
    except BadAddress as error:
        raise UsageError(str(error)) from error


def _campaign(plan: Plan, title: str, out: Path, copy: Copy | None, options: _Options, metrics: str | None) -> int:
    """Run a campaign in the directory ``out``, of which there may be a copy elsewhere."""
    shown: AnyPath = out if copy is None else copy.there
    try:
        return _counted(plan, title, out, copy, options, metrics)
    except (KeyboardInterrupt, SparkGone) as end:
        what = "" if isinstance(end, KeyboardInterrupt) else f"{end}; "
        print(f"highwater: {what}to go on: {_resume(shown)}", file=sys.stderr)
        if copy is not None:
            copy.flush()
        if isinstance(end, KeyboardInterrupt):
            raise
        return Exit.HARNESS


def _counted(plan: Plan, title: str, out: Path, copy: Copy | None, options: _Options, metrics: str | None) -> int:
    shown: AnyPath = out if copy is None else copy.there
    directory = CampaignDirectory.open(out, plan.describe(), resume=options.resume)
    if copy is not None:
        copy.copy_plan()
        directory.on_line = copy.add
    began = time.monotonic()
    progress = Progress(plan, directory.known)
    seeds_in_all = len(plan.seeds) * len(plan.series)
    watched = CampaignMetrics(title, list(dict.fromkeys(one.experiment for one in plan.series)), seeds_in_all)
    with directory, served(metrics, watched.exposition):
        with _engine(options.engine, options.master, options.jobs, seeds_in_all) as run:
            _run(plan, progress, directory, run, title, watched)
        outcomes = progress.outcomes()
        directory.finish(outcomes)
        rows = [row_of(*series.key, series.expected, progress.of_series(series)) for series in plan.series]
        examples = _examples(plan, rows, progress, out, options.keep, options.shrink)
        with directory.writing():
            page = write_page(out, title, _command(shown), rows, outcomes, examples, drawn_by(plan, outcomes))
    if copy is not None:
        copy.finish()

    def place_of(path: Path) -> AnyPath:
        return path if copy is None else copy.there / path.relative_to(out).as_posix()

    missing = unreached({name for one in outcomes for name in one.transitions})
    combinations = len({name for one in outcomes for name in one.combinations})
    wall = time.monotonic() - began
    stored = _stored(plan.store, outcomes) if plan.store else []
    if options.as_json:
        print(
            json.dumps(
                {
                    "dir": str(shown),
                    "rows": [row.to_dict() for row in rows],
                    **({"mutants": rate_of_mutants(rows).to_dict()} if rows and rows[0].mutant else {}),
                    "transitions": {
                        "reached": len(CATALOGUE) - len(missing),
                        "of": len(CATALOGUE),
                        "unreached": [row.name for row in missing],
                        **({"combinations": combinations} if options.guided else {}),
                    },
                    "drawn": [one.to_dict() for one in drawn_by(plan, outcomes)],
                    **({"stored": len(stored)} if plan.store else {}),
                    "examples": [_example_row(*one, place_of) for one in examples],
                    "wallSeconds": round(wall, 1),
                },
                indent=2,
            )
        )
    else:
        for row in rows:
            _print_row(row, progress.of_series(next(s for s in plan.series if s.key == (row.experiment, row.mutant))))
        for example, outcome in examples:
            _print_example(example, outcome, place_of)
        print(f"{sentence_of(rows)} {facts_of(outcomes)}, {wall:.0f} s")
        reached = f"{len(CATALOGUE) - len(missing)} of {len(CATALOGUE)} transitions"
        if plan.store:
            print(f"{len(stored)} of {len(outcomes)} runs stored in {plan.store}")
        print(
            f"{reached}{f' and {combinations} combinations' if options.guided else ''} reached; page {place_of(page)}"
        )
    return _status(rows)


def _stored(store: str, outcomes: Sequence[Outcome]) -> list[str]:
    """Return the names of the runs that are in the store, which holds no registers.

    Raises :class:`UsageError` if workers wrote runs where this machine does not find them.
    """
    written = [one.stored for one in outcomes if one.stored]
    place = located(store)
    there = {one.name for one in place.iterdir()} if written and place.exists() else set()
    if missing := [name for name in written if name not in there]:
        raise UsageError(
            f"--store {store}: expected {len(written)} runs, found {len(written) - len(missing)}: the workers have"
            " another directory of that name; give an address that all share, such as s3://BUCKET/PATH"
        )
    return written


def _series(
    given: Sequence[str],
    switches: Mapping[str, str],
    *,
    mutants: Sequence[Mutant] | None,
    until_failure: bool,
    guided: bool,
) -> tuple[Series, ...]:
    if guided and any(name != RANDOM for name in given):
        raise UsageError("--guided changes what 'random' draws; leave out the files, or leave out --guided")
    if not given and mutants is None:
        raise UsageError("expected an experiment, or 'random'; see 'highwater campaign --help'")
    files = files_of([name for name in given if name != RANDOM])
    found: list[Series] = []
    errors: list[str] = []
    for file in files:
        try:
            experiment = load_experiment(file)
        except ExperimentError as error:
            errors.append(str(error))
            continue
        errors += [f"{file}: {problem}" for problem in refusals(experiment, make_backend("sim"))]
        errors += [
            f"--switch {name}={value}: {experiment.metadata.name}: {problem}"
            for name, value in switches.items()
            if (problem := switch_problem(name, value, experiment.cluster))
        ]
        if experiment.metadata.name in (RANDOM, *(one.experiment for one in found)):
            errors.append(f"{file}: metadata.name: {experiment.metadata.name!r} is taken; give each experiment its own")
        found.append(series_of_file(experiment, switches, until_failure=until_failure))
    if errors:
        raise UsageError("\n".join(errors))
    if RANDOM in given or (mutants is not None and not given):
        modes = [mode for mode in ("kraft", "zookeeper") if all(mode in SWITCHES[name].modes for name in switches)]
        if not modes:
            raise UsageError(f"--switch: no mode has both of {', '.join(switches)}; run a campaign for each")
        found.append(series_of_random(switches, until_failure=until_failure, guided=guided))
    if mutants is None:
        return tuple(found)
    mutated = [series_of_mutant(series, mutant) for mutant in mutants for series in found]
    if not any(mutated):
        raise UsageError("--mutants: none of these bugs can be in clusters of these experiments; see docs/campaigns.md")
    return tuple(series for series in mutated if series is not None)


def _mutants(which: MutantSet | None, only: Sequence[str]) -> list[Mutant]:
    """Those of a set, or those named: of that set, or of any where none is asked for."""
    if made_by := in_force():
        raise UsageError(
            f"--mutants: bugs are put into Python, and the runtime is compiled by {made_by}; unset {SETTING}"
        )
    if not only:
        return list(SETS[which or "known"].values())
    known = {name for one in SETS if which in (None, one) for name in SETS[one]}
    for name in only:
        if name not in known:
            of_set = f" in the set {which}" if which else ""
            raise UsageError(f"--only {name!r}: there is no such mutant{of_set}; docs/campaigns.md says where they are")
    return [mutant_named(name) for name in dict.fromkeys(only)]


def _seeds(text: str) -> range:
    first, dots, last = text.partition("..")
    if not first.isdecimal() or (dots and not last.isdecimal()):
        raise UsageError(f"--seeds {text!r}: expected A..B, such as 1..200, or one seed")
    seeds = range(int(first), int(last or first) + 1)
    if not seeds or len(seeds) > _MOST_SEEDS or seeds[-1] >= 2**63:
        raise UsageError(f"--seeds {text!r}: expected A..B with A at most B, and at most {_MOST_SEEDS} seeds")
    return seeds


@contextmanager
def _engine(name: str, master: str | None, jobs: int | None, seeds: int) -> Iterator[Engine]:
    if name == "process":
        yield lambda units: on_processes(units, jobs or os.cpu_count() or 1)
        return
    try:
        from highwater_pipeline.spark import SparkFailed, open_session  # noqa: PLC0415 - takes a second to import
    except ModuleNotFoundError as error:
        raise UsageError("--engine spark needs PySpark: pip install 'highwater[pipeline]'") from error
    if jobs is not None and master is not None:
        raise UsageError("--jobs counts processes of this machine; with --master leave it out")
    try:
        with open_session(master or (f"local[{jobs}]" if jobs else None)) as spark:
            size = batch_size(seeds, spark.sparkContext.defaultParallelism)
            yield lambda units: on_spark(units, spark, size)
    except (JavaNotFound, SparkFailed) as error:
        raise UsageError(str(error)) from error


def _run(
    plan: Plan, progress: Progress, directory: CampaignDirectory, run: Engine, title: str, watched: CampaignMetrics
) -> None:
    everything = len(plan.seeds) * len(plan.series)
    count, failing = len(directory.known), 0
    last = time.monotonic()
    terminal = sys.stderr.isatty()
    with ProgressShown(title) as say:
        for units in progress.rounds():
            with closing(run(units)) as outcomes:  # type: ignore[type-var]
                for outcome in outcomes:
                    directory.add(outcome)
                    progress.add(outcome)
                    watched.add(
                        outcome.experiment,
                        outcome.verdict,
                        outcome.anomalies,
                        faults=outcome.faults,
                        acknowledged=outcome.acknowledged,
                        cpu_seconds=outcome.cpu_seconds,
                    )
                    count += 1
                    failing += outcome.verdict == "fail"
                    if outcome.verdict != "pass" and not terminal:
                        why = why_of(outcome).rpartition("\n")[2]
                        print(f"{_name(outcome)}: {outcome.verdict}: {why}", file=sys.stderr)
                    if terminal or time.monotonic() - last >= _LINE_SECONDS:
                        last = time.monotonic()
                        say(f"{count} of {everything} seeds, {failing} failed")


def _name(outcome: Outcome) -> str:
    return f"{outcome.experiment}{' ' if outcome.mutant else ''}{outcome.mutant} seed {outcome.seed}"


def _examples(
    plan: Plan, rows: Sequence[Row], progress: Progress, out: Path, keep: int, shrink: int
) -> list[tuple[Example, Outcome]]:
    """Of bugs put in on purpose there is a run only where a single one was asked for."""
    if len({row.mutant for row in rows}) > 1:
        return []
    written: list[tuple[Example, Outcome]] = []
    for series in plan.series:
        failing = [one for one in progress.of_series(series) if one.verdict == "fail"][:keep]
        for outcome in failing:
            with ProgressShown(f"{_name(outcome)}") as say:
                say("writing its run directory")
                example = write_example(progress.unit(series, outcome.seed), outcome, out)
                if shrink:
                    say(f"shrinking, at most {shrink} runs")
                    example = shrink_example(example, outcome, out, shrink)
            written.append((example, outcome))
    return written


def _example_row(example: Example, outcome: Outcome, place_of: Callable[[Path], AnyPath]) -> dict[str, Any]:
    return {
        "experiment": outcome.experiment,
        "seed": outcome.seed,
        "run": str(place_of(example.directory)),
        "sameAgain": example.same,
        "shrunk": None if example.shrunk is None else str(place_of(example.shrunk)),
        "sizes": example.sizes,
    }


def _print_example(example: Example, outcome: Outcome, place_of: Callable[[Path], AnyPath]) -> None:
    print(f"  {_name(outcome)}: {place_of(example.directory / 'report.html')}")
    if not example.same:
        print("    a second run was NOT the same: the simulator is at fault")
    if example.shrunk is not None:
        print(f"    shrunk: {example.sizes}: highwater run {place_of(example.shrunk)}")
    elif example.sizes:
        print(f"    not shrunk: {example.sizes}")


def _print_row(row: Row, outcomes: Sequence[Outcome]) -> None:
    name = f"{row.experiment}{' ' if row.mutant else ''}{row.mutant}"
    verdicts = ", ".join(f"{verdict} {count}" for verdict, count in row.verdicts.items())
    if row.expected == "fail" and row.until_found is not None:
        anomalies = next(one.anomalies for one in outcomes if one.verdict == "fail")
        print(
            f"FOUND: {name}: after {row.until_found} seeds (seed {row.first_failing}), {row.seconds_until_found:.1f} s,"
            f" by {', '.join(anomalies)}; {verdicts}"
        )
    elif row.expected == "fail":
        breaks = f"; {mutant_named(row.mutant).breaks}" if row.mutant else ""
        reached = f", reached in {row.reached}, changed {row.changed}" if row.mutant else ""
        print(f"NOT FOUND: {name}: {row.seeds} seeds{reached}, {row.seconds:.1f} s{breaks}")
    elif row.mutant and row.as_expected:
        print(
            f"HARMLESS: {name}: {row.seeds} seeds, reached in {row.reached}, {row.seconds:.1f} s:"
            f" {mutant_named(row.mutant).harmless}"
        )
    else:
        print(f"{'OK' if row.as_expected else row.verdict.upper()}: {name}: {row.seeds} seeds: {verdicts}")
    for outcome in [one for one in outcomes if one.verdict in ("error", "inconclusive")][:5]:
        print(f"  seed {outcome.seed}: {outcome.verdict}: {why_of(outcome).rpartition(chr(10))[2]}")


def _command(out: AnyPath) -> str:
    given = [argument for argument in sys.argv[1:] if argument != "--resume"]
    return shlex.join(["highwater", *given]) if given else f"highwater campaign … --out {out}"


def _resume(out: AnyPath) -> str:
    return f"add --resume --out {shlex.quote(str(out))}"


def _status(rows: Sequence[Row]) -> Exit:
    wrong = [row for row in rows if not row.as_expected]
    if not wrong:
        return Exit.OK
    if any(row.errors for row in wrong) and not any(row.found and row.expected == "pass" for row in wrong):
        return Exit.HARNESS
    unclear = all(row.expected == "pass" and not row.found for row in wrong)
    return Exit.INCONCLUSIVE if unclear else Exit.FAIL
