"""Runs proposals and keeps each one that still shows the anomaly, until none does or no run is left."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.shrink import reductions
from highwater_chaos.shrink.ddmin import fewest
from highwater_chaos.shrink.explicit import Steps, explicit_steps
from highwater_chaos.shrink.reductions import Path, Piece, schedule_of, with_schedule, without
from highwater_chaos.shrink.size import Size, size_of
from highwater_chaos.shrink.timeline import timeline_of
from highwater_chaos.shrink.trial import Data, Trial, as_data, at_defaults, experiment_of, run_quietly
from highwater_chaos.user_error import UserError
from highwater_chaos.verdict import switches_in_force
from highwater_runtime.sim import freeze_collector

_SEEDS: Final = (1, 4, 12)
"""Removing a step moves everything after it a little, and another seed may show the anomaly then. So each proposal is
run with several seeds: few while there is much to remove, more for what is left."""
_SEEDS_OF_CHUNKS: Final = 6
"""A chunk of so many steps, or more, is worth so many seeds: to try it again costs less than to remove each alone."""
_ENOUGH: Final = 5
"""A schedule of so few steps is not worth the runs of more seeds."""
LEAST_RUNS: Final = 4
"""As it was and with its drawn steps written out, each with the switches and at their defaults."""
_LONGER: Final = 2
"""A proposal may take so many times as long as the run that it is made from."""
_ALL_ELSE: Final = (
    reductions.fewer_nodes,
    reductions.fewer_partitions,
    reductions.fewer_clients,
    reductions.fewer_records,
    reductions.shorter,
    reductions.fewer_properties,
)

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

    The same arguments give the same result; ``jobs`` (None: one for each core) changes only the duration.

    Raises:
        CannotShrink: the experiment does not show the anomaly in the simulator, or there are less than LEAST_RUNS.
        BackendCannotError: the simulator cannot run it.
    """
    if most_runs < LEAST_RUNS:
        raise CannotShrink(f"expected at least {LEAST_RUNS} runs, found {most_runs}")
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
    trial, runs = Trial(anomaly, wire, _LONGER * result.run_ns), 1
    if switches_in_force(experiment.cluster.switches) != switches_in_force({}):
        needs_switches = not trial(at_defaults(as_data(experiment)))[0]
        trial, runs = replace(trial, only_with_switches=needs_switches), 2
    jobs = jobs or os.cpu_count() or 1
    with ProcessPoolExecutor(jobs, initializer=freeze_collector) as pool:
        search = Search(lambda proposal: pool.submit(trial, proposal), jobs, most_runs, progress, runs=runs)
        try:
            shown = search.run(data)
        finally:
            pool.shutdown(cancel_futures=True)
    if not shown:
        raise CannotShrink(
            f"the drawn faults, written out as steps, do not show {anomaly}: it depends on the exact timing"
            " of the random step"
        )
    smallest = experiment_of(search.smallest)
    assert smallest is not None, "it was run"
    return Shrunk(smallest, anomaly, _size(data), size_of(smallest), search.runs, search.finished)


class _NoRunLeft(Exception):  # noqa: N818 - no error
    pass


class Search:
    """``submit`` tries an experiment in another process: whether it fails in the same way, and after how many runs.

    Proposals that make the following runs shorter come first, then those that make the schedule shorter, then all
    others. ``runs``: the number of runs before the search.
    """

    def __init__(
        self,
        submit: Callable[[Data], Future[tuple[bool, int]]],
        jobs: int,
        most_runs: int,
        progress: Progress = lambda _runs, _size: None,
        *,
        runs: int = 0,
    ) -> None:
        self.smallest: Data = {}
        self.runs = runs
        self.finished = False
        """Whether no proposal is left."""
        self._submit = submit
        self._jobs = jobs
        self._most_runs = most_runs
        self._progress = progress
        self._tried: set[str] = set()
        """Proposals that were run, so that none is run twice, and the search cannot go round in circles."""

    def run(self, data: Data) -> bool:
        """Leave the smallest experiment in ``smallest``; returns False if ``data`` does not fail in the same way."""
        if self._take([data], seeds=1) is None:
            return False
        try:
            self._take(reductions.side_by_side(self.smallest), seeds=1)
            self._cut_off_the_end()
            self._take(reductions.only_the_end(self.smallest), seeds=_SEEDS[0])
            before: Data = {}
            while before != self.smallest:
                before = self.smallest
                self._shorten_the_schedule()
                self._take(reductions.in_a_row(self.smallest), seeds=_SEEDS[0])
                self._take(reductions.rounded(self.smallest), seeds=_SEEDS[0])
                for propose in _ALL_ELSE:
                    while self._take(propose(self.smallest), seeds=_SEEDS[0]) is not None:
                        pass
                self._remove(reductions.waits, _SEEDS[0])
            self.finished = True
        except _NoRunLeft:
            pass
        return True

    def _cut_off_the_end(self) -> None:
        """Find the last step that matters. Steps after it are cut off without moving any before it, so halving does."""
        timeline = timeline_of(schedule_of(self.smallest))
        if timeline is None:
            return
        needless, enough = 0, len(timeline.steps)
        while needless + 1 < enough:
            middle = (needless + enough) // 2
            shorter = with_schedule(self.smallest, timeline.first_steps(middle).side_by_side())
            if self._take([shorter], seeds=1) is None:
                needless = middle
            else:
                enough = middle
        over = timeline.first_steps(enough).until_over()
        self._take([with_schedule(self.smallest, over.side_by_side())], seeds=1)

    def _shorten_the_schedule(self) -> None:
        """Remove whole kinds of faults, then all that hits a node, then single steps; with more and more seeds."""
        for seeds in _SEEDS:
            before: Data = {}
            while before != self.smallest:
                before = self.smallest
                for pieces_of in (reductions.kinds, reductions.nodes, reductions.pieces):
                    self._remove(pieces_of, seeds)
            if len(reductions.pieces(schedule_of(self.smallest))) <= _ENOUGH:
                return

    def _remove(self, pieces_of: Callable[[Steps], list[Piece]], seeds: int) -> None:
        """Remove pieces of the schedule."""
        base = self.smallest
        steps = schedule_of(base)
        every = pieces_of(steps)

        def without_the_others(kept: Sequence[Piece]) -> Data:
            removed = frozenset[Path]().union(*set(every).difference(kept))
            return with_schedule({**base, "spec": {**base["spec"], "seed": self._seed}}, without(steps, removed))

        def first(selections: Iterator[list[Piece]], fewer: int) -> int | None:
            return self._take(map(without_the_others, selections), seeds=max(seeds, min(fewer, _SEEDS_OF_CHUNKS)))

        fewest(every, first)

    @property
    def _seed(self) -> int:
        seed: int = self.smallest["spec"]["seed"]
        return seed

    def _take(self, proposals: Iterable[Data], *, seeds: int) -> int | None:
        """Keep the first proposal that fails in the same way; return its number, or None if none does."""
        waiting = self._new(proposals, seeds)
        running: deque[tuple[int, Data, Future[tuple[bool, int]]]] = deque()
        try:
            while True:
                # Later proposals are run ahead, and forgotten if an earlier one is kept.
                while len(running) < self._jobs and (following := next(waiting, None)) is not None:
                    running.append((*following, self._submit(following[1])))
                if not running:
                    return None
                number, data, outcome = running.popleft()
                shows, runs = outcome.result()
                if self.runs + runs > self._most_runs:
                    raise _NoRunLeft
                self.runs += runs
                self._tried.add(_key(data))
                if shows:
                    self.smallest = data
                    self._progress(self.runs, _size(data))
                    return number
        finally:
            for _, _, outcome in running:
                outcome.cancel()

    def _new(self, proposals: Iterable[Data], seeds: int) -> Iterator[tuple[int, Data]]:
        """The proposals that were not run yet, each with its number, and with each seed."""
        given: set[str] = set()  # what is run ahead has not been tried yet: the number of jobs must make no difference
        for number, data in enumerate(proposals):
            first = data["spec"]["seed"]
            for seed in range(first, first + seeds):
                seeded = {**data, "spec": {**data["spec"], "seed": seed}}
                key = _key(seeded)
                if key not in self._tried and key not in given and experiment_of(seeded) is not None:
                    given.add(key)
                    yield number, seeded


def _key(data: Data) -> str:
    return json.dumps(data, sort_keys=True)


def _size(data: Data) -> Size:
    experiment = experiment_of(data)
    assert experiment is not None, "it was run"
    return size_of(experiment)
