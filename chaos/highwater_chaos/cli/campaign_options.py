"""The options of a campaign: how each is written, and what is made of it. The laboratory's command has them too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

import typer

from highwater_chaos.backends import make_backend
from highwater_chaos.base.quantities import parse_duration
from highwater_chaos.campaign.draw import RANDOM
from highwater_chaos.campaign.plan import Plan, Series, series_of_file, series_of_random
from highwater_chaos.campaign.real import drawn_for_this_machine
from highwater_chaos.campaign.store import OWN_FILES
from highwater_chaos.cli.choices import BackendHere
from highwater_chaos.cli.choices import Engine as EngineName
from highwater_chaos.cli.exits import UsageError
from highwater_chaos.cli.output import check_files, check_output
from highwater_chaos.cli.plan import NO_VERSIONS, Versions, switch_values, with_versions
from highwater_chaos.cli.shipped import files_of, shipped_names_beginning
from highwater_chaos.experiment import ExperimentError, load_experiment
from highwater_chaos.experiment.consistency import problems_of, switch_problem
from highwater_chaos.schedule.capability import missing_capabilities
from highwater_pipeline.tables.remote import AnyPath, BadAddressError, located
from highwater_runtime.ports import SECOND
from highwater_runtime.switches import SWITCHES

_MOST_SEEDS: Final = 10_000_000
_MOST_PATIENCE: Final = 1_000_000
"""More than a week; what a timer of the system takes."""

Experiments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="EXPERIMENT|random",
        autocompletion=shipped_names_beginning,
        help="Experiment files, names of shipped experiments, or 'random': each seed draws an experiment.",
    ),
]
Seeds = Annotated[
    str | None,
    typer.Option(
        metavar="A..B",
        show_default=False,
        help="Run these seeds, the last one included. By default 1..100, or with --for as many as there is time for.",
    ),
]
For = Annotated[
    str | None,
    typer.Option(
        "--for", metavar="DURATION", show_default=False, help="Begin no seed after this time, such as 20m; see --seeds."
    ),
]
Junit = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", show_default=False, help="Write a case for each experiment to this file as JUnit XML."
    ),
]
Summary = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", show_default=False, help="Append the results to this file as Markdown, for a CI job's page."
    ),
]
Switch = Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="Set a switch.")]
Engine = Annotated[EngineName, typer.Option(help="Run seeds on processes of this machine, or in tasks of Spark.")]
Jobs = Annotated[
    int | None, typer.Option(min=1, metavar="N", show_default=False, help="Processes; by default one a core.")
]
UntilFailure = Annotated[bool, typer.Option("--until-failure", help="Stop each experiment at its first failing seed.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the campaign that is in --out.")]
Out = Annotated[
    str | None,
    typer.Option(metavar="DIR", show_default=False, help="Write here, or to s3://…; by default below campaigns/."),
]
Store = Annotated[
    str | None,
    typer.Option(metavar="DIR", show_default=False, help="Keep every run in this store, for 'check'; or s3://…."),
]
Keep = Annotated[
    int, typer.Option(min=0, metavar="N", help="Write the run directories of N failing seeds of each experiment.")
]
Shrink = Annotated[
    int, typer.Option(min=0, metavar="RUNS", help="Shrink these failing seeds, with at most so many runs each.")
]
Patience = Annotated[
    int, typer.Option(min=1, max=_MOST_PATIENCE, metavar="SECONDS", help="Processor time that one seed may take.")
]
Wire = Annotated[bool, typer.Option("--wire", help="Encode and decode every message of the simulator.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Where = Annotated[BackendHere, typer.Option("--backend", help="Where to run: in the simulator, or on real processes.")]


@dataclass(frozen=True, slots=True)
class Options:
    """How a campaign is run, and what is made of it."""

    engine: EngineName
    master: str | None
    jobs: int | None
    resume: bool
    out: str | None
    keep: int
    shrink: int
    as_json: bool
    metrics: str | None
    budget: str | None = None
    junit: Path | None = None
    summary: Path | None = None
    conf: Mapping[str, str] = field(default_factory=dict)

    @property
    def budget_seconds(self) -> float | None:
        """The time after which no seed begins; None: there is no such time."""
        return None if self.budget is None else _budget_ns(self.budget) / SECOND

    def check(self, plan: Plan) -> None:
        """Raises :class:`UsageError` for options that do not go together."""
        if plan.is_real and self.engine != "process":
            raise UsageError("--engine spark runs seeds in the simulator; leave it out with --backend local")
        if plan.is_real and self.shrink:
            raise UsageError("--shrink runs seeds again, in the simulator; leave it out with --backend local")
        if self.engine == "process" and self.master is not None:
            raise UsageError("--master needs --engine spark; leave it out, or add it")
        if self.engine == "process" and self.conf:
            raise UsageError("--conf needs --engine spark; leave it out, or add it")
        if self.resume and self.out is None:
            raise UsageError("--resume needs --out: the directory of the campaign to go on with")
        files = {"--junit": self.junit, "--summary": self.summary}
        check_files(files)
        for option, file in files.items():
            if file is not None and file.name in OWN_FILES and file.resolve().parent == Path(self.out or "").resolve():
                raise UsageError(f"{option} {file}: the campaign itself writes that file; choose another name")


def plan_of(
    experiments: Sequence[str],
    seeds: str | None,
    switch: Sequence[str] | None,
    *,
    until_failure: bool,
    wire: bool,
    patience: int,
    store: str | None,
    backend: BackendHere = "sim",
    versions: Versions = NO_VERSIONS,
    budget: str | None = None,
) -> Plan:
    """The plan of a campaign of these experiments. Raises :class:`UsageError`."""
    if wire and backend != "sim":
        raise UsageError("--wire is for the simulator: real messages always go through the codec")
    switches = {name: values[0] for name, values in switch_values(switch or [], several=False)}
    return Plan(
        _series(experiments, switches, versions, backend, until_failure=until_failure),
        _seeds(seeds or ("1..100" if budget is None else f"1..{_MOST_SEEDS}")),
        tuple(sorted(switches.items())),
        wire=wire,
        patience=patience,
        store="" if store is None else str(_place_of_store(store)),
        is_real=backend != "sim",
    )


def place_of(path: str) -> AnyPath:
    """The path or address. Raises :class:`UsageError`."""
    try:
        return located(path)
    except BadAddressError as error:
        raise UsageError(str(error)) from error


def _place_of_store(path: str) -> AnyPath:
    """Raises :class:`UsageError` if it is the place of something else, or cannot be asked."""
    from highwater_chaos.cli.histories import ensure_takes_store  # noqa: PLC0415 - PyArrow; few campaigns have a store

    place = place_of(path).absolute()
    try:
        ensure_takes_store(place)
    except OSError as error:
        raise UsageError(str(error)) from error
    return place


def check_place(place: AnyPath) -> None:
    """Raises :class:`UsageError` if a path of this machine can be no directory to write to."""
    if isinstance(place, Path):
        check_output(place, "--out")


def _series(
    given: Sequence[str], switches: Mapping[str, str], versions: Versions, backend: BackendHere, *, until_failure: bool
) -> tuple[Series, ...]:
    if not given:
        raise UsageError("expected an experiment, or 'random'; see 'highwater campaign --help'")
    files = files_of([name for name in given if name != RANDOM])
    found: list[Series] = []
    errors: list[str] = []
    for file in files:
        try:
            variants = list(with_versions(file, load_experiment(file), versions))
        except ExperimentError as error:
            errors.append(str(error))
            continue
        for experiment, varied in variants:
            errors += [f"{file}: {problem}" for problem in missing_capabilities(experiment, make_backend(backend))]
            errors += [
                f"--switch {name}={value}: {experiment.metadata.name}: {problem}"
                for name, value in switches.items()
                if (problem := switch_problem(name, value, experiment.cluster))
            ]
            name = experiment.metadata.name
            series = series_of_file(
                experiment,
                switches,
                until_failure=until_failure,
                versions=" ".join(f"{what}={version}" for what, version in varied.items()),
            )
            if series.experiment in (RANDOM, *(one.experiment for one in found)):
                errors.append(f"{file}: metadata.name: {name!r} is taken; give each experiment its own")
            found.append(series)
    if errors:
        raise UsageError("\n".join(errors))
    if RANDOM in given:
        modes = [mode for mode in ("kraft", "zookeeper") if all(mode in SWITCHES[name].modes for name in switches)]
        if not modes:
            raise UsageError(f"--switch: no mode has both of {', '.join(switches)}; run a campaign for each")
        if versions.metadata:
            raise UsageError("--metadata-version: 'random' draws it; leave it out, or give files")
        if versions.kafka and backend == "sim":
            raise UsageError("--kafka: the simulator runs no Apache Kafka; add --backend local")
        for release in versions.kafka or [""]:
            series = series_of_random(switches, until_failure=until_failure, release=release)
            found.append(series)
            if backend != "sim":
                drawn = drawn_for_this_machine(1, series.mode, release)
                problems = [f"{one.path}: {one.message}" for one in problems_of(drawn)]
                problems = problems or missing_capabilities(drawn, make_backend(backend))
                errors += [f"{series.experiment}: {problem}" for problem in problems]
        if errors:
            raise UsageError("\n".join(errors))
    return tuple(found)


def _budget_ns(text: str) -> int:
    try:
        budget_ns = parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--for {text!r}: {error}") from error
    if not budget_ns:
        raise UsageError(f"--for {text!r}: expected a time in which a seed can begin, such as 20m")
    return budget_ns


def _seeds(text: str) -> range:
    first, dots, last = text.partition("..")
    if not first.isdecimal() or (dots and not last.isdecimal()):
        raise UsageError(f"--seeds {text!r}: expected A..B, such as 1..200, or one seed")
    seeds = range(int(first), int(last or first) + 1)
    if not seeds or len(seeds) > _MOST_SEEDS or seeds[-1] >= 2**63:
        raise UsageError(f"--seeds {text!r}: expected A..B with A at most B, and at most {_MOST_SEEDS} seeds")
    return seeds
