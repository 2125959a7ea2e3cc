"""Runs proposals and keeps each one that still shows the anomaly, until none does or no run is left."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from typing import Final

from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.shrink import reductions
from highwater_chaos.shrink.explicit import Steps, explicit_steps
from highwater_chaos.shrink.reductions import Path, schedule_of, with_schedule, without
from highwater_chaos.shrink.size import Size, size_of
from highwater_chaos.shrink.trial import Data, anomalies_of, as_data, experiment_of, run_quietly
from highwater_chaos.user_error import UserError
from highwater_runtime.sim import freeze_collector

_FEW: Final = 12
"""From this many steps on, each proposal is run with several seeds."""
_SEEDS: Final = 3
"""Removing a step moves everything after it a little. Another seed often shows the anomaly then."""

Progress = Callable[[int, Size], None]
"""Gets the number of runs so far and the smallest size that was reached."""


class CannotShrink(UserError):  # noqa: N818 - reads as what happened
    """The run cannot be shrunk; the message says why."""


@dataclass(frozen=True, slots=True)
class Shrunk:
    """``experiment`` shows ``anomaly``. ``before`` is the size with the drawn steps written out."""

    experiment: ChaosExperiment
    anomaly: str
    before: Size
    after: Size
    runs: int
    finished: bool
    """Whether no smaller experiment was left to try; otherwise the runs were used up."""


def shrink(
    experiment: ChaosExperiment,
    anomaly: str,
    *,
    most_runs: int,
    wire: bool,
    progress: Progress = lambda _runs, _size: None,
    jobs: int | None = None,
) -> Shrunk:
    """Find a small experiment that shows ``anomaly``, as ``experiment`` does.

    The same arguments give the same result; ``jobs`` (None: one for each core) changes only how long it takes.

    Raises:
        CannotShrink: the experiment does not show the anomaly in the simulator.
        BackendCannotError: the simulator cannot run it.
    """
    result, anomalies = run_quietly(experiment, wire=wire)
    if anomaly not in anomalies:
        raise CannotShrink(
            f"expected the simulator to show {anomaly} again; found {', '.join(sorted(anomalies)) or 'no anomaly'}."
            " Was the run recorded by another version?"
        )
    data = as_data(experiment)
    data["spec"]["assertions"] = []
    data["spec"]["expect"] = [{"verdict": "fail", "anomalies": [anomaly]}]
    data = with_schedule(data, explicit_steps(experiment.spec.schedule, result.random_parts))
    jobs = jobs or os.cpu_count() or 1
    with ProcessPoolExecutor(jobs, initializer=freeze_collector) as pool:
        search = _Search(
            lambda proposal: pool.submit(anomalies_of, proposal, wire=wire), jobs, anomaly, most_runs, progress
        )
        try:
            search.run(data)
        finally:
            pool.shutdown(cancel_futures=True)
    smallest = experiment_of(search.smallest)
    assert smallest is not None, "it was run"
    return Shrunk(smallest, anomaly, _size(data), size_of(smallest), search.runs, search.finished)


class _NoRunLeft(Exception):  # noqa: N818 - no error
    pass


class _Search:
    """``submit`` runs an experiment elsewhere and promises the names of its anomalies."""

    def __init__(
        self,
        submit: Callable[[Data], Future[frozenset[str]]],
        jobs: int,
        anomaly: str,
        most_runs: int,
        progress: Progress,
    ) -> None:
        self.smallest: Data = {}
        self.runs = 1  # the one that was written out
        self.finished = False
        """Whether no proposal is left."""
        self._submit = submit
        self._jobs = jobs
        self._anomaly = anomaly
        self._most_runs = most_runs
        self._progress = progress
        self._failed: set[str] = set()
        """Proposals that do not show the anomaly, so that none is run twice."""

    def run(self, data: Data) -> None:
        """Leave the smallest experiment in ``smallest``."""
        if self._take([data], seeds=1) is None:
            raise CannotShrink(
                f"the drawn faults, written out as steps, do not show {self._anomaly}: it depends on the exact timing"
                " of the random step"
            )
        try:
            self._remove(reductions.branches)
            before: Data = {}
            while before != self.smallest:
                before = self.smallest
                self._remove(reductions.single_steps)
                self._take(reductions.one_after_the_other(self.smallest))
                self._take(reductions.rounded(self.smallest))
                while self._take(reductions.smaller(self.smallest)) is not None:
                    pass
                while self._take(reductions.shorter(self.smallest)) is not None:
                    pass
            self.finished = True
        except _NoRunLeft:
            pass

    def _remove(self, pieces_of: Callable[[Steps], list[Path]]) -> None:
        """Remove pieces of the schedule: large groups of them first, then smaller ones (Zeller's ddmin)."""
        base = self.smallest
        steps = schedule_of(base)
        left, groups = pieces_of(steps), 2
        every = frozenset(left)
        while left:
            size = -(-len(left) // groups)
            chunks = [left[at : at + size] for at in range(0, len(left), size)]
            rests = [[piece for piece in left if piece not in chunk] for chunk in chunks]
            proposals = [with_schedule(base, without(steps, every - set(rest))) for rest in rests]
            if (number := self._take(proposals)) is not None:
                left, groups = rests[number], max(groups - 1, 2)
            elif size == 1:
                return
            else:
                groups = min(groups * 2, len(left))

    def _take(self, proposals: Iterable[Data], *, seeds: int | None = None) -> int | None:
        """Keep the first proposal that shows the anomaly; return its number, or None if none does."""
        waiting = self._new(proposals, seeds)
        running: deque[tuple[int, Data, Future[frozenset[str]]]] = deque()
        try:
            while True:
                # Later proposals are run ahead, and forgotten if an earlier one shows the anomaly.
                while len(running) < self._jobs and (following := next(waiting, None)) is not None:
                    running.append((*following, self._submit(following[1])))
                if not running:
                    return None
                number, data, outcome = running.popleft()
                if self.runs >= self._most_runs:
                    raise _NoRunLeft
                self.runs += 1
                if self._anomaly in outcome.result():
                    self.smallest = data
                    self._progress(self.runs, _size(data))
                    return number
                self._failed.add(_key(data))
        finally:
            for _, _, outcome in running:
                outcome.cancel()

    def _new(self, proposals: Iterable[Data], seeds: int | None) -> Iterator[tuple[int, Data]]:
        """The proposals that were not run yet, each with its number, and with each seed."""
        for number, data in enumerate(proposals):
            few = len(reductions.single_steps(schedule_of(data))) <= _FEW
            first = data["spec"]["seed"]
            for seed in range(first, first + (seeds or (_SEEDS if few else 1))):
                seeded = {**data, "spec": {**data["spec"], "seed": seed}}
                if seeded != self.smallest and _key(seeded) not in self._failed and experiment_of(seeded) is not None:
                    yield number, seeded


def _key(data: Data) -> str:
    return json.dumps(data, sort_keys=True)


def _size(data: Data) -> Size:
    experiment = experiment_of(data)
    assert experiment is not None, "it was run"
    return size_of(experiment)
