"""One seed: its experiment is drawn or read from a file, run in the simulator and judged; the result is one row.

A seed may raise, hang, or end its process. The first two become an outcome here; the third is handled by the parent
process.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import math
import os
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import msgspec

from highwater_chaos.campaign.draw import draw_experiment
from highwater_chaos.experiment import ChaosExperiment, parse_experiment
from highwater_chaos.verdict.checked_run import run_and_forget
from highwater_chaos.verdict.stored import HasRegistersError, store_run
from highwater_pipeline.tables.remote import located
from highwater_pipeline.transitions import transitions_of
from highwater_runtime.sim import freeze_collector
from highwater_runtime.sim.garbage import THRESHOLDS

_REAL_TIME: Final = 10
"""A seed may take so many times its processor time: other programs use the processor, too."""
_GRACE_SECONDS: Final = 10
"""How long a seed that was interrupted may take to stop, before its process is ended."""
_IMPORTED_LATE: Final = (
    "highwater_chaos.backends.sim_cluster",
    "highwater_pipeline.partitions.store",
    "highwater_pipeline.checks",
)
"""What the first seed would import, with NumPy and PyArrow."""


class SeedJob(msgspec.Struct, frozen=True, rename="camel"):
    """One seed of one experiment, everything included that another process needs to run it.

    ``text`` is the experiment as a file has it; it is empty for experiments that the seed draws (``mode`` may
    restrict them; ``release``: on this release of Apache Kafka). ``variant``: on which variant of the runtime (see
    :mod:`.definition`); empty: on the runtime as it is. ``patience``: seconds of processor time. ``store``: where the
    run is kept, as a path or an address that every worker can open; empty: nowhere.
    """

    experiment: str
    seed: int
    text: str = ""
    switches: tuple[tuple[str, str], ...] = ()
    variant: str = ""
    mode: str = ""
    wire: bool = False
    patience: int = 300
    store: str = ""
    release: str = ""
    run_id: str = ""
    """The key of its run; empty: it has none."""

    @property
    def key(self) -> Key:
        """What tells a unit from the others of its campaign."""
        return self.experiment, self.variant, self.seed


Key = tuple[str, str, int]
"""Experiment, variant and seed."""


class Outcome(msgspec.Struct, frozen=True, rename="camel"):
    """What a unit came to. ``verdict`` is ``error`` if there is none: the seed raised, hung or ended its process.

    ``reached``: whether the variant could make a difference; if not, the run is the one without it. ``changed``:
    whether it made one, to what the nodes did or to the verdict. Both are True where there is no variant. All but
    ``attempts`` and the times depends on the unit alone. Files have other names for the three (see :mod:`.store`).
    """

    experiment: str
    seed: int
    variant: str = msgspec.field(name="mutant")
    verdict: str
    anomalies: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    transitions: tuple[str, ...] = ()
    faults: int = 0
    acknowledged: int = 0
    lost: int | None = None
    """Acknowledged records that are gone; None: not known."""
    run_seconds: float = 0.0
    trace_digest: str = ""
    reached: bool = msgspec.field(default=True, name="mutantReached")
    changed: bool = msgspec.field(default=True, name="mutantChanged")
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    attempts: int = 1
    stored: str = ""
    directory: str = ""
    """The name of its run directory, where the seed cannot be run again to have one."""

    @property
    def key(self) -> Key:
        return self.experiment, self.variant, self.seed


ASSERTION: Final = "assertion "
"""What stands before the name of an assertion that failed, among the anomalies of an outcome."""

Run = Callable[[SeedJob], Outcome]


class TooLongError(BaseException):
    """The seed took longer than its patience. No ``Exception``: raised within a node, it must not count as a crash."""


def prepare_process() -> None:
    """Make a process ready to run many seeds; calling it again does nothing."""
    if gc.get_threshold() != THRESHOLDS:
        prepare_new_process()


def prepare_new_process() -> None:
    """As :func:`prepare_process`, for a process that has run no seed yet, whatever its parent was made ready for.

    Garbage of the parent is frozen at once. What the first seed would import is imported and frozen too: the collector
    does not look at it after each seed.
    """
    freeze_collector()
    for module in _IMPORTED_LATE:
        importlib.import_module(module)
    freeze_collector()


def run_seed_job(unit: SeedJob) -> Outcome:
    """Run and judge one seed in this process, as :func:`bounded`."""
    return bounded(unit, _judged)


def bounded(unit: SeedJob, judged: Run) -> Outcome:
    """What ``judged`` makes of one seed in this process, whose main thread this must be, within the unit's patience.

    Whatever it raises becomes the outcome. A seed that does not return to Python when its time is over ends the
    process.
    """
    began, began_cpu = time.perf_counter(), time.process_time()
    with _interrupted_after(unit.patience):
        try:
            outcome = judged(unit)
        except (Exception, TooLongError):  # whatever it is, it is a finding
            outcome = failed(unit, traceback.format_exc(limit=-12))
    return msgspec.structs.replace(
        outcome, cpu_seconds=time.process_time() - began_cpu, wall_seconds=time.perf_counter() - began
    )


@contextmanager
def _interrupted_after(seconds: int) -> Iterator[None]:
    """Raise :class:`TooLongError` after so much processor time, or ``_REAL_TIME`` times as much real time.

    A seed that only waits for a busy machine is no error. If Python does not get to raise it, the kernel ends the
    process for its processor time, and a thread of C for its real time.
    """
    in_real_time = seconds * _REAL_TIME
    before = {number: signal.signal(number, _too_long) for number in (signal.SIGPROF, signal.SIGALRM)}
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    most = math.ceil(time.process_time()) + seconds + _GRACE_SECONDS
    lowest = min((limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY), default=most)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123 - a device
        faulthandler.dump_traceback_later(in_real_time + _GRACE_SECONDS, exit=True, file=nowhere)
        resource.setrlimit(resource.RLIMIT_CPU, (min(most, lowest), hard))
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, in_real_time)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
            faulthandler.cancel_dump_traceback_later()
            for number, handler in before.items():
                signal.signal(number, handler)


def failed(unit: SeedJob, why: str, attempts: int = 1) -> Outcome:
    """The outcome of a seed without a verdict."""
    return Outcome(unit.experiment, unit.seed, unit.variant, "error", reasons=(why,), attempts=attempts)


def experiment_of(unit: SeedJob) -> ChaosExperiment:
    """The experiment that a unit runs, with its seed and switches."""
    experiment = parsed(unit.text, unit.experiment) if unit.text else draw_experiment(unit.seed, unit.mode)
    return experiment.with_seed_and_switches(unit.seed, dict(unit.switches))


@lru_cache(maxsize=32)
def parsed(text: str, source: str) -> ChaosExperiment:
    """The experiment of a file's text, which is read once for all its seeds."""
    return parse_experiment(text, source)


def _judged(unit: SeedJob) -> Outcome:
    return check_experiment(unit, experiment_of(unit))


def check_experiment(unit: SeedJob, experiment: ChaosExperiment) -> Outcome:
    """Run and judge the experiment of a unit, without bounds, on the runtime as it is now."""
    stored = ""

    def keep(directory: Path, verdict: Mapping[str, Any]) -> None:
        nonlocal stored
        with suppress(HasRegistersError):
            stored = store_run(directory, located(unit.store), verdict, again=True).name

    kept = keep if unit.store else lambda _directory, _verdict: None
    result, verdict = run_and_forget(experiment, wire=unit.wire, run_id=unit.run_id, keep=kept)
    return outcome_of(
        unit,
        verdict,
        transitions=transitions_of(result.event_lines),
        faults=len(result.faults),
        acknowledged=result.acknowledged,
        run_seconds=result.run_ns / 1e9,
        trace_digest=result.trace_digest,
        stored=stored,
    )


def outcome_of(unit: SeedJob, verdict: Mapping[str, Any], **known: Any) -> Outcome:
    """What a unit whose run has this verdict came to; ``known``: further fields of the outcome."""
    return Outcome(
        unit.experiment,
        unit.seed,
        unit.variant,
        verdict["verdict"],
        (*verdict["anomalies"], *(ASSERTION + one["name"] for one in verdict["assertions"] if one["holds"] is False)),
        tuple(verdict["inconclusiveReasons"]),
        lost=verdict["lost"],
        **known,
    )


def _too_long(number: int, _frame: object) -> None:
    time_of = "processor time" if number == signal.SIGPROF else f"real time, {_REAL_TIME} times over"
    raise TooLongError(f"the seed took longer than --patience ({time_of})")
