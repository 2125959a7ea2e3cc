"""Many random seeds of many experiments: what they found, what they cost, which transitions they reached.

    python benchmarks/random_seeds.py                                   # every file of scenarios/random, 20 seeds each
    python benchmarks/random_seeds.py scenarios/random/x.yaml --seeds 1..200 --switch replica-epoch-check=off
    python benchmarks/random_seeds.py --seeds 1..200 --out sweep.jsonl  # a second time, it goes on where it ended

Each seed is run and judged as ``highwater run`` does it, on all cores. A seed that raises, never ends or takes its
process with it is a finding of its own (``error``), and the sweep goes on. Prints, for each file: verdicts, the first
seeds of each verdict but ``pass``, CPU per seed, and which transitions were reached (see
``highwater_pipeline.transitions``); in the end, those that no seed reached.

Exits 1 if a run at the default of every switch is anything but a pass, or if a file shows no anomaly with a switch off.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from highwater_chaos.backends import make_backend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import load_experiment
from highwater_chaos.judged_run import judge_recordings, write_run
from highwater_chaos.run_summary import read_summary
from highwater_chaos.verdict import verdict_of
from highwater_pipeline.transitions import reached, unreached
from highwater_runtime.sim.garbage import freeze_collector

ROOT = Path(__file__).parents[1]
SHOWN = 5
"""How many seeds of each verdict are named."""
WIDTH = 240
"""Characters of a reason that are shown."""


class Task(NamedTuple):
    """One seed of one file; ``patience`` in seconds of real time."""

    file: str
    switches: tuple[tuple[str, str], ...]
    seed: int
    codec: str
    patience: int


class Outcome(msgspec.Struct, frozen=True, rename="camel"):
    """What one seed came to: one line of ``--out``. ``verdict`` is ``error`` where there is none."""

    file: str
    switches: dict[str, str]
    seed: int
    verdict: str
    anomalies: list[str] = []
    reasons: list[str] = []
    transitions: list[str] = []
    faults: int = 0
    acknowledged: int = 0
    run_seconds: float = 0.0
    cpu_seconds: float = 0.0

    @property
    def about(self) -> tuple[str, tuple[tuple[str, str], ...], int]:
        """What a task and its outcome have in common."""
        return self.file, tuple(sorted(self.switches.items())), self.seed


def failed(task: Task, why: str, cpu_seconds: float = 0.0) -> Outcome:
    """The outcome of a seed that has no verdict."""
    return Outcome(task.file, dict(task.switches), task.seed, "error", reasons=[why], cpu_seconds=cpu_seconds)


def run_seed(task: Task) -> Outcome:
    """Run and judge one seed in this process; whatever it raises becomes its outcome."""
    began = time.process_time()
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(task.patience)
    try:
        return _judged(task, began)
    except (Exception, TooLong):  # whatever it is, it is a finding
        return failed(task, traceback.format_exc(limit=-12), time.process_time() - began)
    finally:
        signal.alarm(0)


class TooLong(BaseException):
    """The seed took longer than --patience. No ``Exception``: raised within a node, it must not count as its crash."""


def _too_long(_number: int, _frame: object) -> None:
    raise TooLong("the seed took longer than --patience")


def _judged(task: Task, began: float) -> Outcome:
    wire = task.codec == "all"
    experiment = load_experiment(Path(task.file)).with_seed_and_switches(task.seed, dict(task.switches))
    result = run_experiment(experiment, make_backend("sim", wire=wire))
    with tempfile.TemporaryDirectory() as directory:
        write_run(Path(directory), experiment, result, wire=wire)
        summary = read_summary(Path(directory))
        assert summary is not None, "it was written just now"
        verdict = verdict_of(experiment, summary, judge_recordings(experiment, Path(directory)))
    return Outcome(
        task.file,
        dict(task.switches),
        task.seed,
        verdict["verdict"],
        list(verdict["anomalies"]),
        list(verdict["inconclusiveReasons"]),
        list(reached(result.event_lines)),
        len(result.faults),
        result.acknowledged,
        result.run_ns / 1e9,
        time.process_time() - began,
    )


def outcomes(tasks: Iterable[Task], jobs: int) -> Iterator[Outcome]:
    """Outcomes as they come. Where a process of the pool dies, its seed is found by running each suspect alone."""
    waiting = iter(tasks)
    pool = ProcessPoolExecutor(jobs, initializer=freeze_collector)
    running: dict[Future[Outcome], Task] = {}
    try:
        while True:
            while len(running) < jobs and (task := next(waiting, None)) is not None:
                running[pool.submit(run_seed, task)] = task
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            if any(isinstance(future.exception(), BrokenProcessPool) for future in done):
                suspects, running = list(running.values()), {}
                pool.shutdown()
                yield from map(_alone, suspects)
                pool = ProcessPoolExecutor(jobs, initializer=freeze_collector)
            else:
                for future in done:
                    del running[future]
                    yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _alone(task: Task) -> Outcome:
    with ProcessPoolExecutor(1) as pool:
        try:
            return pool.submit(run_seed, task).result()
        except BrokenProcessPool as error:
            return failed(task, f"the process ended: {error}")


def known(path: Path | None) -> list[Outcome]:
    """Outcomes of an earlier sweep into the same file; a torn last line is left out."""
    if path is None or not path.exists():
        return []
    whole = path.read_bytes().rpartition(b"\n")[0]
    path.write_bytes(whole + b"\n" if whole else b"")
    return [msgspec.json.decode(line, type=Outcome) for line in whole.splitlines()]


def why(outcome: Outcome) -> str:
    """What is wrong, on one line; all of it is in ``--out``."""
    text = ", ".join(outcome.anomalies) or "; ".join(reason.strip().rpartition("\n")[2] for reason in outcome.reasons)
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def report_file(file: str, found: list[Outcome]) -> None:
    """One file's paragraph."""
    verdicts = Counter(one.verdict for one in found)
    cpu = sum(one.cpu_seconds for one in found) / len(found)
    print(
        f"{file}: {len(found)} seeds: "
        + ", ".join(f"{verdict} {count}" for verdict, count in sorted(verdicts.items()))
        + f"; {cpu:.2f} s CPU a seed, {sum(one.faults for one in found)} faults, "
        f"{sum(one.acknowledged for one in found)} records acknowledged"
    )
    for verdict in ("error", "fail", "inconclusive"):
        those = sorted((one for one in found if one.verdict == verdict), key=lambda one: one.seed)
        for one in those[:SHOWN]:
            print(f"  seed {one.seed}: {verdict}: {why(one)}")
        if len(those) > SHOWN:
            print(f"  … {len(those) - SHOWN} more: seeds {', '.join(str(one.seed) for one in those[SHOWN:])}")
    seen = Counter(name for one in found for name in one.transitions)
    print("  reached: " + ", ".join(f"{name} {seen[name]}" for name in sorted(seen)))


def report(done: list[Outcome]) -> None:
    """All files, then what none of them reached."""
    for file in sorted({one.file for one in done}):
        report_file(file, [one for one in done if one.file == file])
    missing = unreached({name for one in done for name in one.transitions})
    print(f"reached by none of {len(done)} seeds:" + ("" if missing else " nothing is missing"))
    for row in missing:
        print(f"  {row.name}: {row.meaning}")


def as_expected(done: list[Outcome], switches: dict[str, str]) -> bool:
    """Every run passed; with a switch set otherwise: every file has a run that failed, and no run is in question."""
    if not switches:
        return all(one.verdict == "pass" for one in done)
    files = {one.file for one in done}
    found = {one.file for one in done if one.verdict == "fail"}
    return files == found and all(one.verdict in ("pass", "fail") for one in done)


def seed_range(text: str) -> range:
    """``1..200`` as a range, its end included."""
    first, _, last = text.partition("..")
    return range(int(first), int(last or first) + 1)


def arguments() -> Any:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    every = sorted((ROOT / "scenarios" / "random").glob("*.yaml"))
    parser.add_argument("files", type=Path, nargs="*", default=every, metavar="FILE")
    parser.add_argument("--seeds", type=seed_range, default=range(1, 21), metavar="A..B")
    parser.add_argument("--switch", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--codec", choices=("some", "all"), default="some")
    parser.add_argument("--out", type=Path, help="JSON lines, one a seed; seeds that it has already are not run again")
    parser.add_argument("--patience", type=int, default=300, help="seconds that one seed may take")
    parser.add_argument("--until-failure", action="store_true", help="stop a file at its first failing seed")
    return parser.parse_args()


def main() -> int:
    """Run what is not known yet, and print the report."""
    given = arguments()
    switches = dict(switch.split("=", 1) for switch in given.switch)
    chosen = tuple(sorted(switches.items()))
    files = [os.path.relpath(file) for file in given.files]
    tasks = [Task(file, chosen, seed, given.codec, given.patience) for seed in given.seeds for file in files]
    wanted = {task[:3] for task in tasks}
    done = [one for one in known(given.out) if one.about in wanted]
    there = {one.about for one in done}
    over = {one.file for one in done if one.verdict == "fail"} if given.until_failure else set()
    began, cores = time.perf_counter(), given.jobs
    first: dict[str, tuple[int, float]] = {}
    todo = (task for task in tasks if task[:3] not in there and task.file not in over)
    for outcome in outcomes(todo, cores):
        done.append(outcome)
        if given.out is not None:
            with given.out.open("ab") as out:
                out.write(msgspec.json.encode(outcome) + b"\n")
        if outcome.verdict != "pass":
            print(f"{outcome.file} seed {outcome.seed}: {outcome.verdict}: {why(outcome)}", file=sys.stderr, flush=True)
        if outcome.verdict == "fail" and outcome.file not in first:
            first[outcome.file] = outcome.seed, time.perf_counter() - began
            if given.until_failure:
                over.add(outcome.file)
    report(done)
    seconds = time.perf_counter() - began
    title = " ".join(given.switch) or "every switch at its default"
    print(f"{title}: {len(done)} seeds, {seconds:.0f} s with {cores} processes")
    for file, (seed, after) in first.items():
        print(f"  {file}: found at seed {seed}, after {after:.0f} s")
    return 0 if as_expected(done, switches) else 1


if __name__ == "__main__":
    sys.exit(main())
