"""The runs of one command: each file with each value of the switches and versions that are given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from highwater_chaos.backends import ELSEWHERE, make_backend
from highwater_chaos.cli.exits import UsageError
from highwater_chaos.experiment import ChaosExperiment, ExperimentError, load_experiment
from highwater_chaos.experiment.consistency import problems_of, switch_problem
from highwater_chaos.experiment.on_apache_kafka import on_apache_kafka, with_assignments
from highwater_chaos.experiment.software import KAFKA, METADATA_VERSION
from highwater_chaos.schedule.capability import missing_capabilities

Kafka = Annotated[
    str | None,
    typer.Option(
        metavar="RELEASE[,RELEASE]",
        show_default=False,
        help="Run these releases of Apache Kafka, one after the other, not the file's.",
    ),
]
MetadataVersion = Annotated[
    str | None,
    typer.Option(
        metavar="VERSION[,VERSION]",
        show_default=False,
        help="Begin with these values of metadata.version, one after the other, not with the file's.",
    ),
]


class Versions(NamedTuple):
    """Releases of Apache Kafka and values of metadata.version to run with; empty: what the file says."""

    kafka: Sequence[str] = ()
    metadata: Sequence[str] = ()


NO_VERSIONS = Versions()

AllowExternal = Annotated[
    bool,
    typer.Option(
        "--allow-external", help="With --backend attach or local: let external faults run the files' own commands."
    ),
]


class Planned(NamedTuple):
    """An experiment, and what it differs in from the other runs of its file: name and value. ``commands_in``: the
    directory in which commands of the file may run; None: they may not."""

    experiment: ChaosExperiment
    varied: dict[str, str]
    commands_in: Path | None = None


def commands_of(file: Path, *, allowed: bool) -> Path | None:
    """The directory in which the commands of an experiment's file run: its own; None: they may not."""
    return file.resolve().parent if allowed else None


def plan(
    files: Sequence[Path],
    seed: int | None,
    switches: Sequence[tuple[str, list[str]]],
    versions: Versions,
    backend: str,
    against: str | None = None,
    *,
    allow_external: bool = False,
) -> list[Planned]:
    """Every run, validated before the first one starts. ``against``: each run of our own runtime is followed by those
    of the same experiment on Apache Kafka, of the versions given. Raises :class:`UsageError`."""
    if against is not None and backend != "local":
        raise UsageError("--against: Apache Kafka runs in real processes only: add --backend local")
    planned: list[Planned] = []
    errors: list[str] = []
    for file in files:
        commands_in = commands_of(file, allowed=allow_external)
        try:
            loaded = load_experiment(file, references=backend in ELSEWHERE)
            if against is not None and loaded.cluster.runtime == against:
                raise UsageError(f"{file}: --against {against}: the file runs that already")
            variants = (
                list(with_versions(file, loaded, versions)) if against is None else [(with_assignments(loaded), {})]
            )
            for experiment, varied in variants:
                if backend not in ELSEWHERE:  # there the operator refuses, and says why
                    title = " ".join([str(file), *(f"{name}={value}" for name, value in varied.items())])
                    made = make_backend(backend, commands_in=commands_in)
                    errors += [f"{title}: {problem}" for problem in missing_capabilities(experiment, made)]
                planned.append(Planned(experiment, varied, commands_in))
            if switches and loaded.spec.cluster is None:
                errors.append(f"{file}: spec.clusterRef: a LogCluster that runs keeps its switches: leave --switch out")
        except ExperimentError as error:
            errors.append(str(error))
    if errors:
        raise UsageError("\n".join(errors))
    ours = [one for run in planned for one in _with_switches(run, seed, switches)]
    return ours if against is None else [each for one in ours for each in (one, *_on_apache_kafka(one, versions))]


def _on_apache_kafka(run: Planned, versions: Versions) -> Iterator[Planned]:
    experiment, varied, commands_in = run
    name = Path(experiment.metadata.name)
    for changed, versioned in with_versions(name, on_apache_kafka(experiment), versions):
        problems = [f"{one.path}: {one.message}" for one in problems_of(changed)]
        if problems := problems or missing_capabilities(changed, make_backend("local", commands_in=commands_in)):
            raise UsageError("\n".join(f"{name} on Apache Kafka: {problem}" for problem in problems))
        yield Planned(changed, {**varied, KAFKA: changed.cluster.kafka or "", **versioned}, commands_in)


def with_versions(
    file: Path, experiment: ChaosExperiment, versions: Versions
) -> Iterator[tuple[ChaosExperiment, dict[str, str]]]:
    """Yield the experiment with each of these versions. Raises ExperimentError: it cannot be one of them."""
    cluster = experiment.spec.cluster
    if versions.kafka and (cluster is None or cluster.kafka is None):
        raise UsageError(f"{file}: --kafka needs spec.cluster.runtime: apache-kafka")
    if versions.metadata and (cluster is None or cluster.mode == "zookeeper"):
        raise UsageError(f"{file}: --metadata-version needs spec.cluster in mode kraft")
    nothing: Sequence[str | None] = (None,)
    for kafka, metadata in product(versions.kafka or nothing, versions.metadata or nothing):
        given = {KAFKA: kafka, METADATA_VERSION: metadata}
        varied = {name: value for name, value in given.items() if value is not None}
        changed = experiment.with_versions(kafka, metadata)
        if varied and (problems := problems_of(changed)):
            title = " ".join([str(file), *(f"{name}={value}" for name, value in varied.items())])
            raise ExperimentError(title, problems)
        yield changed, varied


def _with_switches(run: Planned, seed: int | None, switches: Sequence[tuple[str, list[str]]]) -> Iterator[Planned]:
    experiment, versions, commands_in = run
    for name, wanted in switches:
        for value in wanted:
            if problem := switch_problem(name, value, experiment.spec.cluster):
                raise UsageError(f"--switch {name}={value}: {experiment.metadata.name}: {problem}")
    names = [name for name, _ in switches]
    for values in product(*(values for _, values in switches)):
        varied = dict(zip(names, values, strict=True))
        yield Planned(experiment.with_seed_and_switches(seed, varied), {**versions, **varied}, commands_in)


def versions_of(kafka: str | None, metadata_version: str | None) -> Versions:
    """The values of ``--kafka`` and ``--metadata-version``. Raises :class:`UsageError`."""
    return Versions(_values_of("--kafka", kafka), _values_of("--metadata-version", metadata_version))


def _values_of(option: str, given: str | None) -> list[str]:
    """The values of an option, separated by commas. Raises :class:`UsageError`."""
    if given is None:
        return []
    values = [one.strip() for one in given.split(",")]
    if not all(values):
        raise UsageError(f"{option} {given!r}: expected a version, or several separated by commas")
    if len(set(values)) < len(values):
        raise UsageError(f"{option} {given!r}: a version is given twice")
    return values


def switch_values(given: Sequence[str], *, several: bool = True) -> list[tuple[str, list[str]]]:
    """The values of each switch; with ``several`` there may be more than one. Raises :class:`UsageError`."""
    parsed: dict[str, list[str]] = {}
    for text in given:
        name, equals, values = text.partition("=")
        if not equals or not values:
            raise UsageError(f"--switch {text!r}: expected NAME=VALUE or NAME=VALUE,VALUE")
        if name in parsed:
            raise UsageError(f"--switch {name!r} is given twice; give its values at once: {name}=off,on")
        parsed[name] = values.split(",")
        if not several and len(parsed[name]) > 1:
            raise UsageError(f"--switch {text!r}: expected one value; run a campaign for each")
        for value in parsed[name]:
            if problem := switch_problem(name, value):
                raise UsageError(f"--switch {text!r}: {problem}")
    return list(parsed.items())
