"""Runs a campaign, whatever its seeds run on, and prints what came of it."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, NamedTuple

from highwater_chaos.base.distribution import installing
from highwater_chaos.campaign.definition import Campaign
from highwater_chaos.campaign.dimensions import drawn_by
from highwater_chaos.campaign.examples import RUNS, Example, kept_example, shrink_example, write_example
from highwater_chaos.campaign.for_ci import campaign_junit, campaign_summary
from highwater_chaos.campaign.on_spark import SparkGoneError, batch_size, on_spark
from highwater_chaos.campaign.page import facts_of, sentence_of, why_of, write_page
from highwater_chaos.campaign.plan import Engine, Progress
from highwater_chaos.campaign.processes import on_processes
from highwater_chaos.campaign.real import jobs_here, run_on_this_machine
from highwater_chaos.campaign.remote import Copy, copied_to
from highwater_chaos.campaign.rows import Row
from highwater_chaos.campaign.seed import Outcome
from highwater_chaos.campaign.store import CampaignDirectory
from highwater_chaos.cli.campaign_options import Options, check_place, place_of
from highwater_chaos.cli.exits import Exit, UsageError
from highwater_chaos.cli.interrupts import raised_as_interruption
from highwater_chaos.cli.output import writing
from highwater_chaos.cli.progress import Progress as ProgressShown
from highwater_chaos.cli.watching import served
from highwater_chaos.monitoring import CampaignMetrics
from highwater_pipeline.java import JavaNotFoundError
from highwater_pipeline.partitions.store import runs_of
from highwater_pipeline.tables.remote import AnyPath, NotReachedError, located
from highwater_pipeline.transitions import CATALOGUE, unreached

_INTERRUPTED: Final = " The campaign was interrupted."
_TIMELY: Final = 2
"""Seeds of a task of Spark where there is a time after which none begins: tasks that wait for a core run later."""
_LINE_SECONDS: Final = 10.0
"""Time between two lines of progress where there is no terminal."""


def run_campaign(campaign: Campaign, options: Options) -> int:
    """Run a campaign and print its results; returns the exit status. Raises :class:`UsageError`."""
    options.check(campaign.plan)
    place = place_of(options.out or f"campaigns/{campaign.title}-{datetime.now(UTC).strftime('%Y%m%dT%H%M%SZ')}")
    check_place(place)
    try:
        if isinstance(place, Path):
            return _resumable(campaign, place, None, options)
        with copied_to(place, resume=options.resume) as copy:
            return _resumable(campaign, copy.here, copy, options)
    except NotReachedError as error:
        raise UsageError(f"{error}; what was known until then is kept: {_resume(place)}") from error


def _resumable(campaign: Campaign, out: Path, copy: Copy | None, options: Options) -> int:
    """Run a campaign in the directory ``out``, of which there may be a copy elsewhere."""
    try:
        return _counted(campaign, out, copy, options)
    except (KeyboardInterrupt, SparkGoneError) as end:
        what = "" if isinstance(end, KeyboardInterrupt) else f"{end}; "
        print(f"highwater: {what}to go on: {_resume(out if copy is None else copy.there)}", file=sys.stderr)
        if copy is not None:
            copy.flush()
        if isinstance(end, KeyboardInterrupt):
            raise
        return Exit.HARNESS


class _Results(NamedTuple):
    """What a campaign came to. ``rows`` and ``of_rows`` belong together: a row, and the outcomes that it counts."""

    rows: list[Row]
    of_rows: list[list[Outcome]]
    outcomes: list[Outcome]
    examples: list[tuple[Example, Outcome]]
    page: Path
    remark: str
    wall_seconds: float


def _counted(campaign: Campaign, out: Path, copy: Copy | None, options: Options) -> int:
    shown, budget = out if copy is None else copy.there, options.budget_seconds
    directory = CampaignDirectory.open(out, campaign.plan.describe(), resume=options.resume)
    plan = replace(campaign.plan, run_id=directory.run_id)
    campaign = replace(campaign, plan=plan)
    if copy is not None:
        copy.copy_plan()
        directory.on_line = copy.add
    began = time.monotonic()
    progress = Progress(campaign.plan, directory.known)
    seeds_in_all = len(plan.seeds) * len(plan.series)
    end: BaseException | None = None
    watched = CampaignMetrics(campaign.title, list(dict.fromkeys(one.experiment for one in plan.series)), seeds_in_all)
    with directory, served(options.metrics, watched.exposition):
        try:
            with raised_as_interruption(), _engine(campaign, options, seeds_in_all, out) as run:
                _run(progress, directory, run, campaign.title, watched, None if budget is None else began + budget)
        except (KeyboardInterrupt, SparkGoneError) as error:
            end = error
        outcomes = progress.outcomes()
        directory.finish(outcomes)
        of_rows = [progress.of_series(series) for series in plan.series]
        rows = [campaign.row(series, of_row) for series, of_row in zip(plan.series, of_rows, strict=True)]
        examples: list[tuple[Example, Outcome]] = []
        try:
            if end is None:
                with raised_as_interruption():
                    examples += _examples(campaign, rows, progress, out, options)
        except KeyboardInterrupt as error:
            end = error
        remark = f"{campaign.remark(rows)}{_INTERRUPTED if end is not None else ''}"
        with directory.writing():
            page = write_page(
                out,
                campaign.title,
                _command(campaign, shown),
                rows,
                outcomes,
                examples,
                drawn_by(plan, outcomes),
                remark,
                is_simulated=not plan.is_real,
            )
    if copy is not None:
        copy.finish()

    def place(path: Path) -> AnyPath:
        return path if copy is None else copy.there / path.relative_to(out).as_posix()

    results = _Results(rows, of_rows, outcomes, examples, page, remark, time.monotonic() - began)
    if end is not None:
        print(_sentence(campaign, results), file=sys.stderr)
        try:
            _write_for_ci(campaign, results, options, place)
        except UsageError as error:
            print(error, file=sys.stderr)
        raise end
    stored = _stored(plan.store, outcomes) if plan.store else []
    if options.as_json:
        print(json.dumps(_document(campaign, results, stored, shown, place), indent=2))
    else:
        _print(campaign, results, stored, place)
    _write_for_ci(campaign, results, options, place)
    return _status(rows)


def _document(
    campaign: Campaign, results: _Results, stored: Sequence[str], shown: AnyPath, place: Callable[[Path], AnyPath]
) -> dict[str, Any]:
    """The results as ``--json`` has them."""
    plan, outcomes = campaign.plan, results.outcomes
    missing = unreached({name for one in outcomes for name in one.transitions})
    return {
        "dir": str(shown),
        "rows": [row.to_dict() for row in results.rows],
        **campaign.summary(results.rows),
        "transitions": {
            "reached": len(CATALOGUE) - len(missing),
            "of": len(CATALOGUE),
            "unreached": [row.name for row in missing],
        },
        "drawn": [one.to_dict() for one in drawn_by(plan, outcomes)],
        **({"stored": len(stored)} if plan.store else {}),
        "examples": [_example_row(*one, place) for one in results.examples],
        "wallSeconds": round(results.wall_seconds, 1),
    }


def _print(campaign: Campaign, results: _Results, stored: Sequence[str], place: Callable[[Path], AnyPath]) -> None:
    plan, outcomes = campaign.plan, results.outcomes
    for row, of_row in zip(results.rows, results.of_rows, strict=True):
        print(row.line(of_row))
        for outcome in [one for one in of_row if one.verdict in ("error", "inconclusive")][:5]:
            print(f"  seed {outcome.seed}: {outcome.verdict}: {why_of(outcome).rpartition(chr(10))[2]}")
    for example, outcome in results.examples:
        _print_example(example, outcome, place)
    print(_sentence(campaign, results))
    if plan.store:
        print(f"{len(stored)} of {len(outcomes)} runs stored in {plan.store}")
    if plan.is_real:
        print(f"page {place(results.page)}")
        return
    missing = unreached({name for one in outcomes for name in one.transitions})
    reached = f"{len(CATALOGUE) - len(missing)} of {len(CATALOGUE)} transitions"
    print(f"{reached} reached; page {place(results.page)}")


def _sentence(campaign: Campaign, results: _Results) -> str:
    facts = facts_of(results.outcomes, is_simulated=not campaign.plan.is_real)
    return f"{sentence_of(results.rows, results.remark)} {facts}, {results.wall_seconds:.0f} s"


def _write_for_ci(campaign: Campaign, results: _Results, options: Options, place: Callable[[Path], AnyPath]) -> None:
    """The files that ``--junit`` and ``--summary`` name."""
    plan, counted = campaign.plan, list(zip(results.rows, results.of_rows, strict=True))
    if options.junit is not None:
        with writing(options.junit, "--junit"):
            options.junit.parent.mkdir(parents=True, exist_ok=True)
            options.junit.write_bytes(campaign_junit(counted, dict(plan.switches), "local" if plan.is_real else "sim"))
    if options.summary is not None:
        sentence = sentence_of(results.rows, results.remark)
        facts = facts_of(results.outcomes, is_simulated=not plan.is_real)
        page = str(place(results.page))
        with writing(options.summary, "--summary"):
            options.summary.parent.mkdir(parents=True, exist_ok=True)
            with options.summary.open("a", encoding="utf-8") as file:
                file.write(campaign_summary(campaign.title, sentence, facts, counted, results.examples, page))


def _stored(store: str, outcomes: Sequence[Outcome]) -> list[str]:
    """Return the names of the runs that are in the store, which holds no registers.

    Raises :class:`UsageError` if workers wrote runs where this machine does not find them.
    """
    written = [one.stored for one in outcomes if one.stored]
    place = located(store)
    there = {one.name for one in runs_of(place)} if written and place.exists() else set()
    if missing := [name for name in written if name not in there]:
        raise UsageError(
            f"--store {store}: expected {len(written)} runs, found {len(written) - len(missing)}: the workers have"
            " another directory of that name; give an address that all share, such as s3://BUCKET/PATH"
        )
    return written


@contextmanager
def _engine(campaign: Campaign, options: Options, seeds: int, out: Path) -> Iterator[Engine]:
    jobs, master = options.jobs, options.master
    if campaign.plan.is_real:
        run_here = partial(run_on_this_machine, runs=out / RUNS)
        yield lambda units: on_processes(units, jobs or jobs_here(campaign.plan), run_here)
        return
    if options.engine == "process":
        yield lambda units: on_processes(units, jobs or os.cpu_count() or 1, campaign.run)
        return
    try:
        from highwater_pipeline.spark import SparkFailedError, open_session  # noqa: PLC0415 - takes a second to import
    except ModuleNotFoundError as error:
        raise UsageError(f"--engine spark needs PySpark: {installing('pipeline')}") from error
    if jobs is not None and master is not None:
        raise UsageError("--jobs counts processes of this machine; with --master leave it out")
    try:
        here = f"local[{jobs}]" if jobs else None
        name = f"highwater campaign {campaign.title}"
        with open_session(master or here, name=name, conf=options.conf) as spark:
            size = batch_size(seeds, spark.sparkContext.defaultParallelism) if options.budget is None else _TIMELY
            yield lambda units: on_spark(units, spark, size, campaign.run)
    except (JavaNotFoundError, SparkFailedError) as error:
        raise UsageError(str(error)) from error


def _run(
    progress: Progress,
    directory: CampaignDirectory,
    run: Engine,
    title: str,
    watched: CampaignMetrics,
    until: float | None,
) -> None:
    """Run what is to be run still; no seed begins at or after ``until`` of the monotonic clock."""
    everything = "" if until is not None else f" of {len(progress.plan.seeds) * len(progress.plan.series)}"
    count, failing = len(directory.known), 0
    last = time.monotonic()
    terminal = sys.stderr.isatty()
    with ProgressShown(title) as say:
        timely = takewhile(lambda _: until is None or time.monotonic() < until, progress.units())
        with closing(run(timely)) as outcomes:  # type: ignore[type-var]
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
                    say(f"{count}{everything} seeds, {failing} failed")


def _name(outcome: Outcome) -> str:
    return f"{outcome.experiment}{' ' if outcome.variant else ''}{outcome.variant} seed {outcome.seed}"


def _examples(
    campaign: Campaign, rows: Sequence[Row], progress: Progress, out: Path, options: Options
) -> list[tuple[Example, Outcome]]:
    """Of several variants of the runtime none is looked at more closely."""
    if len({row.variant for row in rows}) > 1:
        return []
    written: list[tuple[Example, Outcome]] = []
    for series in campaign.plan.series:
        failing = [one for one in progress.of_series(series) if one.verdict == "fail"][: options.keep]
        if campaign.plan.is_real:
            written += [(kept_example(campaign.plan.unit(series, one.seed), one, out), one) for one in failing]
            continue
        for outcome in failing:
            with ProgressShown(f"{_name(outcome)}") as say:
                say("writing its run directory")
                unit = campaign.plan.unit(series, outcome.seed)
                example = write_example(unit, outcome, out, campaign.around(unit))
                if options.shrink:
                    say(f"shrinking, at most {options.shrink} runs")
                    example = shrink_example(example, outcome, out, options.shrink, campaign.around(unit))
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


def _command(campaign: Campaign, out: AnyPath) -> str:
    given = [argument for argument in sys.argv[1:] if argument != "--resume"]
    program = shlex.join(campaign.program)
    return f"{program} {shlex.join(given)}" if given else f"{program} campaign … --out {out}"


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
