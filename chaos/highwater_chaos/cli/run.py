"""``highwater run``: from experiment files to judged run directories."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from highwater_chaos.backends import ELSEWHERE, REAL, make_backend
from highwater_chaos.backends.protocol import Backend as RunsExperiments
from highwater_chaos.cli.attach import Attachment, Bootstrap, ClientConfig, attached
from highwater_chaos.cli.choices import Backend
from highwater_chaos.cli.exits import Exit, UsageError
from highwater_chaos.cli.interrupts import EarlyEnd, EndedEarlyError, ending_early, raised_as_interruption
from highwater_chaos.cli.on_kubernetes import cluster_commands
from highwater_chaos.cli.output import check_files, check_output, writing
from highwater_chaos.cli.plan import AllowExternal, Kafka, MetadataVersion, Planned, plan, switch_values, versions_of
from highwater_chaos.cli.progress import Progress
from highwater_chaos.cli.shipped import Experiments, files_of
from highwater_chaos.cli.side_by_side import side_by_side
from highwater_chaos.cli.watching import Grafana, Metrics, annotated, served
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.monitoring import Annotations, RunMetrics
from highwater_chaos.records.removed import acknowledged_text
from highwater_chaos.run.exercised import exercised_text, warning_texts
from highwater_chaos.run.live import LiveRun
from highwater_chaos.run.load import Load
from highwater_chaos.run.table_format import TableFormat
from highwater_chaos.verdict.checked_run import CheckedRun, run_and_check
from highwater_chaos.verdict.job_summary import append_summary
from highwater_chaos.verdict.junit import write_junit
from highwater_chaos.verdict.verdict import without_run

if TYPE_CHECKING:  # it comes with PyArrow, which few runs need here
    from highwater_chaos.report.comparison import Comparison

Summary = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Append the verdicts of all runs to this file as Markdown, for a CI job's page."),
]
Tables = Annotated[
    TableFormat | None,
    typer.Option(
        show_default=False, help="Write the large tables in this format. By default by the amount of recordings."
    ),
]


def run(
    experiments: Experiments,
    backend: Annotated[
        Backend,
        typer.Option(
            help="Where to run: in the simulator, on real processes, on Kubernetes, or on a cluster that you have."
        ),
    ] = "sim",
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**63 - 1, metavar="N", show_default=False, help="Use this seed, not the file's."),
    ] = None,
    switch: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE[,VALUE]", help="Set a switch. With several values, run once for each value."),
    ] = None,
    kafka: Kafka = None,
    metadata_version: MetadataVersion = None,
    against: Annotated[
        Literal["apache-kafka"] | None,
        typer.Option(show_default=False, help="Run each file here too, on the newest release or on those of --kafka."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Write run directories below this one.")] = Path("runs"),
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the verdicts of all runs to this file as JUnit XML.")
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, metavar="N", help="Run so many at once, in the simulator, each in its own process.")
    ] = 1,
    wire: Annotated[bool, typer.Option("--wire", help="Encode and decode every message of the simulator.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    namespace: Annotated[str | None, typer.Option(metavar="NS", help="Run in this namespace of Kubernetes.")] = None,
    context: Annotated[str | None, typer.Option(metavar="NAME", help="Use this context of the kubeconfig.")] = None,
    bootstrap: Bootstrap = None,
    client_config: ClientConfig = None,
    allow_external: AllowExternal = False,
    metrics: Metrics = None,
    summary: Summary = None,
    grafana: Grafana = None,
    tables: Tables = None,
) -> int:
    """Run experiments and judge them. Exits 0 if every run came out as its file expects."""
    place = context if namespace is None else namespace
    _check_backend(backend, place, wire=wire, tables=tables, metrics=metrics, grafana=grafana)
    if jobs > 1 and (backend != "sim" or kafka or against or metrics is not None):
        raise UsageError("--jobs is for the simulator, without --kafka, --against and --metrics; leave it out")
    check_output(out, "--out")
    check_files({"--junit": junit, "--summary": summary})
    if backend not in REAL:
        _refuse("commands of a file run with --backend attach or local only", {"--allow-external": allow_external})
    attachment: Attachment | None = None
    if backend == "attach":
        given = {"--switch": switch, "--kafka": kafka, "--metadata-version": metadata_version, "--against": against}
        _refuse("--backend attach takes the cluster as it is", given)
        attachment, planned = attached(
            files_of(experiments), seed, bootstrap, client_config, allow_external=allow_external
        )
    else:
        _refuse("they need --backend attach", {"--bootstrap": bootstrap, "--client-config": client_config})
        versions = versions_of(kafka, metadata_version)
        values = switch_values(switch or [])
        planned = plan(files_of(experiments), seed, values, versions, backend, against, allow_external=allow_external)
    finished = _Finished(as_json, backend)
    interrupted = ended_early = False
    watched = None if metrics is None else RunMetrics()
    try:
        with (
            raised_as_interruption(),
            served(metrics, lambda: b"" if watched is None else watched.exposition()),
            annotated(grafana) as annotations,
        ):
            if jobs > 1:
                together = [(experiment, varied) for experiment, varied, _ in planned]
                finished.add_as_they_come(together, side_by_side(together, jobs, out, wire=wire, tables=tables))
                planned = []
            watchers = [one for one in (watched, annotations) if one is not None]

            def judged(one: Planned, progress: Progress, early: EarlyEnd) -> CheckedRun | str:
                experiment, varied, commands_in = one
                if backend in ELSEWHERE:
                    return _on_kubernetes(experiment, out, progress, namespace, context)
                return run_and_check(
                    experiment,
                    backend,
                    out,
                    progress,
                    varied=varied,
                    wire=wire,
                    on_turn=_all_of([progress.on_turn, *(watcher.turn for watcher in watchers)]),
                    ends_early=early,
                    tables=tables,
                    make=partial(_made, backend, attachment, wire, commands_in),
                )

            ended_early = _one_after_the_other(planned, finished, judged, watchers, on_real_nodes=backend in REAL)
    except KeyboardInterrupt:  # of the runs before it all is reported as if there had been no further ones
        interrupted = True
    verdicts = [verdict for verdict, _ in finished.rows]
    compared = [] if against is None else _compared(finished.rows)
    if as_json:
        beside = {} if against is None else {"comparisons": [one.to_dict() for one in compared]}
        print(json.dumps({"runs": [_row(*one) for one in finished.rows], **beside}, indent=2))
    elif compared:
        from highwater_chaos.cli.compare import print_comparison  # noqa: PLC0415

        for comparison in compared:
            print_comparison(comparison)
    elif len(verdicts) > 1:
        print(_tally(verdicts))
    try:
        _write(finished, junit, summary)
    except UsageError as error:
        if interrupted:
            print(error, file=sys.stderr)
        else:
            raise
    if interrupted:
        raise KeyboardInterrupt
    if ended_early:
        raise EndedEarlyError
    return exit_status(verdicts) if against is None else _status_beside(verdicts)


def _one_after_the_other(
    planned: Sequence[Planned],
    finished: _Finished,
    judged: Callable[[Planned, Progress, EarlyEnd], CheckedRun | str],
    watchers: Sequence[RunMetrics | Annotations],
    *,
    on_real_nodes: bool,
) -> bool:
    """Return whether the last of these runs was ended early. A simulated run can be run again; one of real nodes is
    kept as far as it went."""
    for number, one in enumerate(planned, start=1):
        title = _title(*one[:2])
        with Progress(f"[{number}/{len(planned)}] {title}") as progress, ending_early(on_real_nodes) as early:
            done = judged(one, progress, early)
        for watcher in watchers:
            if isinstance(done, CheckedRun):
                watcher.judged(done.verdict)
        finished.add(*one[:2], done)
        if early.why is not None:
            return True
    return False


@dataclass
class _Finished:
    """What has been run so far; prints each run when it is added, unless all are printed as one document.

    ``rows``: of each run its verdict, and its directory if it left one.
    """

    as_json: bool
    backend: str
    rows: list[tuple[dict[str, Any], Path | None]] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)

    def add(self, experiment: ChaosExperiment, varied: Mapping[str, str], done: CheckedRun | str) -> None:
        """Take a run, or why there is none."""
        title = _title(experiment, varied)
        self.titles.append(title)
        if isinstance(done, str):
            self.rows.append((without_run(experiment, self.backend, done), None))
            print(f"INCONCLUSIVE: {title}: {done}", file=sys.stderr if self.as_json else sys.stdout)
            return
        self.rows.append((done.verdict, done.directory))
        if not self.as_json:
            print_run(done, title)

    def add_as_they_come(
        self,
        planned: Sequence[tuple[ChaosExperiment, Mapping[str, str]]],
        results: Iterator[tuple[int, CheckedRun | str]],
    ) -> None:
        """Take results of these runs in the order of ``planned``; after an interruption those that have come."""
        waiting: dict[int, CheckedRun | str] = {}
        at = 0
        try:
            for place, found in results:
                waiting[place] = found
                while at in waiting:
                    self.add(*planned[at], waiting.pop(at))
                    at += 1
        finally:
            for place in sorted(waiting):
                self.add(*planned[place], waiting[place])


def _title(experiment: ChaosExperiment, varied: Mapping[str, str]) -> str:
    return " ".join([experiment.metadata.name, *(f"{name}={value}" for name, value in varied.items())])


def _tally(verdicts: Sequence[dict[str, Any]]) -> str:
    """How many of several runs came out as expected, and with which verdicts."""
    counts = Counter(verdict["verdict"] for verdict in verdicts)
    found = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    expected = sum(verdict["asExpected"] for verdict in verdicts)
    return f"{len(verdicts)} runs: {expected} as expected, {len(verdicts) - expected} not ({found})"


def _compared(rows: Sequence[tuple[dict[str, Any], Path | None]]) -> list[Comparison]:
    """Each run of Apache Kafka beside the run of our own runtime before it."""
    from highwater_chaos.report.comparison import compare  # noqa: PLC0415

    found: list[Comparison] = []
    ours: Path | None = None
    for verdict, directory in rows:
        if verdict["software"]["runtime"] == "highwater":
            ours = directory
        elif ours is not None and directory is not None:
            found.append(compare(ours, directory))
    return found


def _status_beside(verdicts: Sequence[dict[str, Any]]) -> Exit:
    """Runs on Kafka expect nothing, but one that came to nothing can be compared with nothing."""
    status = exit_status([verdict for verdict in verdicts if verdict["software"]["runtime"] == "highwater"])
    unclear = any(verdict["verdict"] == "inconclusive" for verdict in verdicts)
    return Exit.INCONCLUSIVE if unclear and status == Exit.OK else status


def _made(backend: Backend, attachment: Attachment | None, wire: bool, commands_in: Path | None) -> RunsExperiments:
    if attachment is not None:
        return attachment.backend(commands_in)
    return make_backend(backend, wire=wire, commands_in=commands_in)


def _refuse(why: str, options: Mapping[str, object]) -> None:
    """Raises :class:`UsageError` if any of these options is given."""
    if given := [name for name, value in options.items() if value]:
        raise UsageError(f"{', '.join(given)}: {why}: leave {'it' if len(given) == 1 else 'them'} out")


def _check_backend(
    backend: Backend,
    place: str | None,
    *,
    wire: bool,
    tables: TableFormat | None,
    metrics: str | None,
    grafana: str | None,
) -> None:
    """Raises :class:`UsageError` for options that are not of this backend; ``place``: where on Kubernetes."""
    if backend not in ELSEWHERE and place is not None:
        raise UsageError("--namespace and --context need --backend kubernetes; leave them out, or add it")
    if wire and backend != "sim":
        raise UsageError("--wire is for the simulator: real messages always go through the codec")
    if tables is not None and backend in ELSEWHERE:
        raise UsageError("--tables: a pod of Kubernetes decides how it writes a run; leave it out")
    if metrics is not None and backend in ELSEWHERE:
        raise UsageError("--metrics: on Kubernetes operator, agents and pods have /metrics; leave it out")
    if grafana is not None and backend not in REAL:
        raise UsageError("--grafana: annotations are of runs in real time on this machine; add --backend local")


def _write(finished: _Finished, junit: Path | None, summary: Path | None) -> None:
    if junit is not None:
        with writing(junit, "--junit"):
            write_junit(junit, [verdict for verdict, _ in finished.rows], finished.titles)
    if summary is not None:
        with writing(summary, "--summary"):
            append_summary(summary, finished.rows)


def _all_of(observers: Sequence[Callable[[LiveRun], None]]) -> Callable[[LiveRun], None]:
    """What shows the run to each of them."""

    def turn(run: LiveRun) -> None:
        for observer in observers:
            observer(run)

    return turn


def _on_kubernetes(
    experiment: ChaosExperiment,
    out: Path,
    progress: Progress,
    namespace: str | None,
    context: str | None,
) -> CheckedRun | str:
    """Run on Kubernetes; returns the judged run, or why there is no run directory."""
    cluster = cluster_commands("run --backend kubernetes")
    try:
        done: CheckedRun = cluster.run_on_kubernetes(
            experiment, out, progress, progress.on_status, namespace=namespace, context=context
        )
        return done
    except cluster.NoRunDirectoryError as error:
        return str(error)


def exit_status(verdicts: Sequence[dict[str, Any]]) -> Exit:
    """0 if all are as expected; else 1, or 2 where nothing but inconclusive runs is to blame."""
    wrong = [verdict["verdict"] for verdict in verdicts if not verdict["asExpected"]]
    if not wrong:
        return Exit.OK
    return Exit.INCONCLUSIVE if all(verdict == "inconclusive" for verdict in wrong) else Exit.FAIL


def print_run(done: CheckedRun, title: str) -> None:
    """One run in two or three lines on stdout: verdict, what was found, where the report is."""
    verdict = done.verdict
    anomalies = ", ".join(f"{name} {found['count']}" for name, found in verdict["anomalies"].items())
    expected = "as expected" if verdict["asExpected"] else f"NOT as expected: {verdict['expected']['whyNot']}"
    ran, took = verdict["timing"]["runSeconds"], verdict["timing"]["wallSeconds"]
    timing = f"{ran:.1f} s simulated in {took:.1f} s" if verdict["backend"] == "sim" else f"{took:.1f} s"
    print(f"{verdict['verdict'].upper()} {expected}: {title} (seed {verdict['seed']}, {timing})")
    found = f"found {anomalies}" if anomalies else "no anomaly"
    if explanation := verdict.get("explanation"):
        print(f"  {explanation}")
    print(f"  {acknowledged_text(verdict)}; {found}")
    if (load := verdict.get("load")) is not None:
        print(f"  {Load.from_dict(load).sentence()}")
    if (exercised := verdict.get("exercised")) is not None:
        print(f"  exercised: {exercised_text(exercised)}")
    for warning in warning_texts(exercised):
        print(f"  warning: {warning}")
    for assertion in verdict["assertions"]:
        if assertion["holds"] is False:
            print(f"  {assertion['reason']}")
    if verdict["verdict"] == "inconclusive":
        for reason in verdict["reasons"]:
            print(f"  because {reason}")
    elif unknown := [name for name, state in verdict["checks"].items() if state == "not-available"]:
        print(f"  not available here: {', '.join(unknown)}")
    print(f"  report {done.directory / 'report.html'}")


def _row(verdict: Mapping[str, Any], directory: Path | None) -> dict[str, Any]:
    kept = ("name", "seed", "backend", "switches", "verdict", "asExpected")
    ours = verdict["software"]["runtime"] == "highwater"
    return {
        **{name: verdict[name] for name in kept},
        "anomalies": {name: found["count"] for name, found in verdict["anomalies"].items()},
        "reasons": verdict["reasons"],
        "assertions": verdict["assertions"],
        "acknowledged": verdict["acknowledged"],
        "load": verdict["load"],
        "lost": verdict.get("lost"),
        "explanation": verdict.get("explanation"),
        "exercised": verdict.get("exercised"),
        "dir": None if directory is None else str(directory),
        **({} if ours else {"software": verdict["software"]}),
    }
