"""The track record: bugs of Apache Kafka, each found in the release that has it and not in the one that has its fix.

A file of ``scenarios/track-record`` is one experiment. Its annotations say which bug it shows, what is lost, and which
releases to run. Its ``expect`` says which verdict each of them must have, and which line of a node's log shows why. A
row of the table counts if every run of both sides came out so.

Each run is an ordinary one (``highwater run FILE --kafka RELEASE``) and leaves its directory. So a command that was
interrupted goes on where it was: a finished run of the same experiment is not done again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import typer

from highwater_chaos.cli.exits import Exit, UsageError
from highwater_chaos.cli.run import run
from highwater_chaos.experiment import ChaosExperiment, Expectation, dump_experiment, load_experiment
from highwater_chaos.experiment.software import KAFKA, METADATA_VERSION
from highwater_chaos.verdict.verdict import expectation_for

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "scenarios" / "track-record"
_PREFIX: Final = "highwater.dev/"
_BUG: Final = "bug"
_LOST: Final = "lost"
_RUNS: Final = "runs"
SIDES: Final = ("has-bug", "has-fix")
"""Annotations that name the versions to run: ``kafka=4.0.2, metadataVersion=3.4-IV0``. A file with several pairs has
each side of them here, separated by semicolons."""


@dataclass(frozen=True)
class Side:
    """One file with one release. ``kafka`` and ``metadata_version`` are what ``highwater run`` is given."""

    file: Path
    experiment: ChaosExperiment
    kafka: str
    metadata_version: str | None

    @property
    def software(self) -> str:
        """The versions."""
        return self.kafka + (f" at {self.metadata_version}" if self.metadata_version is not None else "")

    @property
    def shown(self) -> str:
        """The versions and the mode, as the tables show them."""
        return self.software + (" with ZooKeeper" if self.experiment.cluster.mode == "zookeeper" else "")

    @property
    def expected(self) -> Expectation:
        """What the file expects of them."""
        return expectation_for(self.experiment.spec, self.experiment.cluster.switches)


@dataclass(frozen=True)
class Bug:
    """A row of the table. ``runs``: how many runs a side it takes."""

    name: str
    lost: str
    runs: int
    has_bug: Side
    has_fix: Side

    @property
    def files(self) -> list[Path]:
        """One, or one for each side where these are of different modes."""
        return list(dict.fromkeys((self.has_bug.file, self.has_fix.file)))


def bugs_in(folder: Path = FOLDER) -> list[Bug]:
    """Every bug of a folder of experiments, by the names of files.

    Raises:
        UsageError: an annotation is missing or wrong, or no file of a bug has one of its sides.
    """
    sides: dict[str, dict[str, list[Side]]] = {}
    facts: dict[str, tuple[str, int]] = {}
    for file in sorted(folder.glob("*.yaml")):
        experiment = load_experiment(file)
        name = _annotation(file, experiment, _BUG)
        facts.setdefault(name, (_annotation(file, experiment, _LOST), int(_annotation(file, experiment, _RUNS))))
        for kind in SIDES:
            if _PREFIX + kind in experiment.metadata.annotations:
                if kind in sides.setdefault(name, {}):
                    raise UsageError(f"{file}: {_PREFIX}{kind} of {name} is in two files; expected one")
                sides[name][kind] = list(_sides(file, experiment, kind))
    for name, found in sides.items():
        if missing := [kind for kind in SIDES if kind not in found]:
            raise UsageError(f"{folder}: no file of {name} has {_PREFIX}{missing[0]}")
        if len({len(found[kind]) for kind in SIDES}) > 1:
            raise UsageError(
                f"{folder}: {name}: expected as many {_PREFIX}{SIDES[1]} as {SIDES[0]}, found another number"
            )
    return [
        Bug(name, *facts[name], *pair)
        for name, found in sides.items()
        for pair in zip(*(found[kind] for kind in SIDES), strict=True)
    ]


def _annotation(file: Path, experiment: ChaosExperiment, name: str) -> str:
    value = experiment.metadata.annotations.get(_PREFIX + name)
    if not value:
        raise UsageError(f"{file}: metadata.annotations: {_PREFIX}{name} is required")
    return value


def _sides(file: Path, experiment: ChaosExperiment, kind: str) -> Iterator[Side]:
    for text in _annotation(file, experiment, kind).split(";"):
        given = dict(part.strip().partition("=")[::2] for part in text.split(","))
        if KAFKA not in given or not given.keys() <= {KAFKA, METADATA_VERSION}:
            form = f"{KAFKA}=RELEASE[, {METADATA_VERSION}=VERSION]"
            raise UsageError(f"{file}: {_PREFIX}{kind}: expected {form}; found {text.strip()!r}")
        kafka, metadata_version = given[KAFKA], given.get(METADATA_VERSION)
        yield Side(file, experiment.with_versions(kafka, metadata_version), kafka, metadata_version)


# --- runs -----------------------------------------------------------------------------------------------------------


class Tally(NamedTuple):
    """What the runs of one side came to."""

    as_expected: int = 0
    otherwise: tuple[str, ...] = ()
    inconclusive: int = 0
    seconds: float = 0.0

    @property
    def judged(self) -> int:
        """Runs that have a verdict."""
        return self.as_expected + len(self.otherwise)

    def text(self, side: Side) -> str:
        """As the table shows it: ``1.1.1: fail 10 of 10 (divergence)``."""
        expected = side.expected
        anomalies = f" ({', '.join(expected.anomalies)})" if expected.anomalies else ""
        parts = [f"{side.shown}: {expected.verdict} {self.as_expected} of {self.judged}{anomalies}"]
        if self.inconclusive:
            parts.append(f"{self.inconclusive} inconclusive")
        return ", ".join([*parts, *dict.fromkeys(self.otherwise)])


def tally(side: Side, folder: Path) -> Tally:
    """The finished runs of this very experiment below ``folder``."""
    wanted = dump_experiment(side.experiment)
    found = [
        json.loads((directory / "verdict.json").read_bytes())
        for directory in sorted(path.parent for path in folder.glob("*/verdict.json"))
        if (directory / "experiment.yaml").read_text(encoding="utf-8") == wanted
    ]
    # One that was interrupted may be a fail already, and lack what its side is expected to show.
    judged: list[dict[str, Any]] = [
        one
        for one in found
        if one["verdict"] != "inconclusive" and (one["asExpected"] or not one["inconclusiveReasons"])
    ]
    seconds = [one["timing"]["wallSeconds"] for one in judged]
    return Tally(
        as_expected=sum(one["asExpected"] for one in judged),
        otherwise=tuple(one["expected"]["whyNot"] for one in judged if not one["asExpected"]),
        inconclusive=len(found) - len(judged),
        seconds=sum(seconds) / len(seconds) if seconds else 0.0,
    )


def _place(out: Path, side: Side) -> Path:
    return out / side.file.stem / side.software.replace(" ", "-")


def _run_missing(bug: Bug, runs: int, out: Path) -> None:
    """Run each side until it has ``runs`` runs; one that is inconclusive is not tried again before the next command."""
    for side in (bug.has_bug, bug.has_fix):
        for _ in range(runs - tally(side, _place(out, side)).judged):
            run(
                [str(side.file)],
                backend="local",
                kafka=side.kafka,
                metadata_version=side.metadata_version,
                out=_place(out, side),
            )


# --- tables ---------------------------------------------------------------------------------------------------------


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def page_table(bugs: Sequence[Bug]) -> str:
    """The table of docs/track-record.md: what the files say."""
    head = (
        "bug",
        "what is lost",
        "release that has it",
        "release that has the fix",
        "what shows why it passes",
        "file",
    )
    return table(head, map(_page_row, bugs))


def _page_row(bug: Bug) -> list[str]:
    files = [f"[{file.stem}](../{file.relative_to(ROOT).as_posix()})" for file in bug.files]
    lines = [f"`{one.line}`" for one in bug.has_fix.expected.logged]
    return [bug.name, bug.lost, _expected(bug.has_bug), _expected(bug.has_fix), ", ".join(lines), ", ".join(files)]


def _expected(side: Side) -> str:
    anomalies = ", ".join(f"`{name}`" for name in side.expected.anomalies)
    return f"{side.shown}: {side.expected.verdict}" + (f" ({anomalies})" if anomalies else "")


def readme_table(bugs: Sequence[Bug]) -> str:
    """The table of README.md."""
    head = ("bug of Apache Kafka", "what is lost", "found in", "not found in")
    return table(head, ([bug.name, bug.lost, bug.has_bug.shown, bug.has_fix.shown] for bug in bugs))


def result_table(bugs: Sequence[Bug], out: Path) -> str:
    """What the runs below ``out`` came to."""
    head = ("bug", "what is lost", "release with it", "release without", "seconds a pair", "file")
    return table(head, (_result_row(bug, *_tallies(bug, out)) for bug in bugs))


def _tallies(bug: Bug, out: Path) -> tuple[Tally, Tally]:
    return tally(bug.has_bug, _place(out, bug.has_bug)), tally(bug.has_fix, _place(out, bug.has_fix))


def _result_row(bug: Bug, with_it: Tally, without: Tally) -> list[str]:
    files = ", ".join(file.relative_to(ROOT).as_posix() for file in bug.files)
    seconds = f"{with_it.seconds + without.seconds:.0f}"
    return [bug.name, bug.lost, with_it.text(bug.has_bug), without.text(bug.has_fix), seconds, files]


# --- the command ----------------------------------------------------------------------------------------------------


def track_record(
    bugs: Annotated[
        list[str] | None, typer.Argument(metavar="BUG", help="Names of bugs or of their files. By default all.")
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", show_default=False, help="Runs a side. By default as each file says."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Keep the run directories below this one.")] = Path(
        "build/track-record"
    ),
    page: Annotated[bool, typer.Option("--page", help="Run nothing; print the tables of the documents.")] = False,
) -> int:
    """Run bugs of Apache Kafka on the releases that have them and on those that have the fix.

    Exits 0 if every run came out as its file expects. Runs that finished are not done again.
    """
    chosen = list(_chosen(bugs_in(), bugs or []))
    if page:
        print(page_table(chosen))
        print(readme_table(chosen))
        return Exit.OK
    for bug in chosen:
        _run_missing(bug, runs or bug.runs, out)
    text = result_table(chosen, out)
    print(text)
    (out / "track-record.md").write_text(text, encoding="utf-8")
    return _status([(bug, one) for bug in chosen for one in _tallies(bug, out)], runs)


def _status(tallies: Sequence[tuple[Bug, Tally]], runs: int | None) -> Exit:
    if any(one.otherwise for _, one in tallies):
        return Exit.FAIL
    return Exit.OK if all(one.judged >= (runs or bug.runs) for bug, one in tallies) else Exit.INCONCLUSIVE


def _chosen(bugs: Sequence[Bug], names: Sequence[str]) -> Iterator[Bug]:
    """Those named, in the order of the table. Raises UsageError: one is not there."""
    known = {name.lower(): bug.name for bug in bugs for name in (bug.name, *(file.stem for file in bug.files))}
    for name in names:
        if name.lower() not in known:
            there = ", ".join(dict.fromkeys(bug.name for bug in bugs))
            raise UsageError(f"{name!r} is no bug of the track record; these are: {there}")
    wanted = [known[name.lower()] for name in names]
    yield from (bug for bug in bugs if not names or bug.name in wanted)
