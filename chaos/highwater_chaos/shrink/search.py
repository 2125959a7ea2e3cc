"""Runs proposals and keeps each one that still shows the anomaly, until none does or no run is left."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import cycle, islice, starmap
from typing import Final

from highwater_chaos.base.user_error import UserError
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.shrink import reductions
from highwater_chaos.shrink.explicit import timeline_of_run
from highwater_chaos.shrink.probdd import Share, fewest
from highwater_chaos.shrink.reductions import Path, Piece, schedule_of, with_schedule, without
from highwater_chaos.shrink.size import Size, size_of
from highwater_chaos.shrink.timeline import Steps, timeline_of
from highwater_chaos.shrink.trial import Data, Trial, Tried, as_data, at_defaults, experiment_of, run_quietly
from highwater_chaos.verdict.verdict import switches_in_force
from highwater_runtime.sim import freeze_collector

_SEEDS_OF_ENDS: Final = 3
"""Each end of the schedule is tried with so many seeds. Its run is short."""
_PARTS: Final = 20
"""So many short parts of the schedule are tried."""
_FEW: Final = 5
"""A schedule of so few steps is not worth more than one try of each."""
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


class CannotShrinkError(UserError):
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
        CannotShrinkError: the experiment does not show the anomaly in the simulator, or there are less than LEAST_RUNS.
        BackendCannotError: the simulator cannot run it.
    """
    if most_runs < LEAST_RUNS:
        raise CannotShrinkError(f"expected at least {LEAST_RUNS} runs, found {most_runs}")
    result, anomalies = run_quietly(experiment, wire=wire)
    if anomaly not in anomalies:
        raise CannotShrinkError(
            f"expected the simulator to show {anomaly} again; found {', '.join(sorted(anomalies)) or 'no anomaly'}."
            " Was the run recorded by another version?"
        )
    data = as_data(experiment)
    data["spec"]["assertions"] = []
    data["spec"]["expect"] = [{"verdict": "fail", "anomalies": [anomaly]}]
    data = with_schedule(data, timeline_of_run(result).side_by_side())
    trial, runs = Trial(anomaly, wire), 1
    if switches_in_force(experiment.cluster.switches) != switches_in_force({}):
        needs_switches = not trial(at_defaults(as_data(experiment))).shows
        trial, runs = replace(trial, only_with_switches=needs_switches), 2
    jobs = jobs or os.cpu_count() or 1
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork"), initializer=freeze_collector) as pool:
        search = Search(
            lambda proposal, most_ns: pool.submit(trial, proposal, most_ns), jobs, most_runs, progress, runs=runs
        )
        try:
            shown = search.run(data)
        finally:
            pool.shutdown(cancel_futures=True)
    if not shown:
        raise CannotShrinkError(
            f"what the run did, written out step by step, does not show {anomaly}: it depends on the exact timing"
        )
    smallest = experiment_of(search.smallest)
    assert smallest is not None, "it was run"
    return Shrunk(smallest, anomaly, _size(data), size_of(smallest), search.runs, search.finished)


class _NoRunLeftError(Exception):
    pass


class Search:
    """``submit`` tries an experiment in another process, for at most so much simulated time (ns; None: to its end).

    Proposals that make the following runs shorter come first, then those that make the schedule shorter, then all
    others. ``runs``: the number of runs before the search.
    """

    def __init__(
        self,
        submit: Callable[[Data, int | None], Future[Tried]],
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
        self._shown_ns: int | None = None
        """How far into its schedule ``smallest`` shows the anomaly, if that is known."""
        self._most_ns: int | None = None
        """How long a proposal may take."""
        self._took_ns = 0
        """How long a run of ``smallest`` takes."""
        self._share = Share()
        """How often the anomaly shows if no step that is needed was removed."""
        self._tried: set[str] = set()
        """Proposals that were run, so that none is run twice, and the search cannot go round in circles."""

    def run(self, data: Data) -> bool:
        """Leave the smallest experiment in ``smallest``; returns False if ``data`` does not fail in the same way."""
        if self._take([data]) is None:
            return False
        try:
            self._cut_off_the_end()
            self._take(reductions.shorter_timeout(self.smallest, self._took_ns))
            self._cut_off_the_beginning()
            self._keep_a_part()
            before: Data = {}
            while before != self.smallest:
                before = self.smallest
                self._shorten_the_schedule()
                self._take(reductions.in_a_row(self.smallest))
                self._take(reductions.rounded(self.smallest))
                for propose in _ALL_ELSE:
                    while self._take(propose(self.smallest)) is not None:
                        pass
                self._remove(reductions.waits)
            self.finished = True
        except _NoRunLeftError:
            pass
        return True

    def _cut_off_the_end(self) -> None:
        """Cut off what comes after the last step that matters. Halving finds that step, if it is not known when the
        anomaly showed. All steps stand side by side from here on, so cutting moves none of the others."""
        timeline = timeline_of(schedule_of(self.smallest))
        needless, enough = 0, len(timeline.steps)
        while needless + 1 < enough and self._shown_ns is None:
            middle = (needless + enough) // 2
            shorter = with_schedule(self.smallest, timeline.first_steps(middle).side_by_side())
            if self._take([shorter]) is None:
                needless = middle
            else:
                enough = middle
        if self._shown_ns is not None:
            enough = sum(1 for one in timeline.steps[:enough] if one.at_ns <= self._shown_ns)
        self._take(reductions.sooner_over(with_schedule(self.smallest, timeline.first_steps(enough).side_by_side())))

    def _cut_off_the_beginning(self) -> None:
        """Keep the shortest end that shows it. Everything begins at another time then, so several seeds are tried."""
        while (
            self._take(
                _with_seed(shorter, self._seed + more)
                for more in range(_SEEDS_OF_ENDS)
                for shorter in reductions.only_the_end(self.smallest)
            )
            is not None
        ):
            pass

    def _keep_a_part(self) -> None:
        """Keep a few steps that follow each other. If the anomaly is a matter of luck, to remove steps one after the
        other needs the same luck each time. A few steps need it once, and their runs are short: each has a seed of its
        own."""
        if len(reductions.pieces(schedule_of(self.smallest))) <= _FEW:
            return
        every = [*reductions.parts(self.smallest, _FEW)] or [self.smallest]
        self._take(_with_seed(part, self._seed + 1 + n) for n, part in enumerate(islice(cycle(every), _PARTS)))

    def _shorten_the_schedule(self) -> None:
        """Remove whole kinds of faults, then all that hits a node, then single steps."""
        self._remove(reductions.kinds)
        self._remove(reductions.nodes)
        self._remove(reductions.topics)
        few = len(reductions.pieces(schedule_of(self.smallest))) <= _FEW
        self._remove(reductions.pieces, None if few else self._share, late_ones_count=True)

    def _remove(
        self, pieces_of: Callable[[Steps], list[Piece]], share: Share | None = None, *, late_ones_count: bool = False
    ) -> None:
        """Remove the pieces of the schedule that are not needed. Without a ``share`` none is tried alone twice.

        With the same seed all is as it was up to the first step that is gone. But which steps are needed may depend
        on what the seed draws, such as the brokers that a topic gets. So with a ``share`` every second attempt has a
        seed of its own; nothing is as it was then, so no time is spent before its first step or after its last one.
        ``late_ones_count``: the later a piece, the nearer to the anomaly, and the more likely to be needed.
        """
        base = self.smallest
        steps = schedule_of(base)
        timeline = timeline_of(steps)
        every = pieces_of(steps)

        def without_the_others(number: int, kept: Sequence[Piece]) -> Data:
            removed = frozenset[Path]().union(*set(every).difference(kept))
            less = with_schedule(_with_seed(base, self._seed), without(steps, removed))
            if share is None or number % 2 == 0:
                return less
            return _with_seed(reductions.tightened(less, timeline), self._seed + (number + 1) // 2)

        def first(selections: Iterator[list[Piece]]) -> int | None:
            return self._take(starmap(without_the_others, enumerate(selections)), again=True)

        weights = [1 / rank for rank in range(len(every), 0, -1)] if late_ones_count else None
        fewest(every, first, share or Share.certain(), weights)

    @property
    def _seed(self) -> int:
        seed: int = self.smallest["spec"]["seed"]
        return seed

    def _take(self, proposals: Iterable[Data], *, again: bool = False) -> int | None:
        """Keep the first proposal that fails in the same way; return its number, or None if none does.

        What was run already is passed over, or, ``again``, run with another seed.
        """
        waiting = self._new(proposals, again)
        running: deque[tuple[int, Data, Future[Tried]]] = deque()
        try:
            while True:
                # Later proposals are run ahead, and forgotten if an earlier one is kept.
                while len(running) < self._jobs and (following := next(waiting, None)) is not None:
                    running.append((*following, self._submit(following[1], self._most_ns)))
                if not running:
                    return None
                number, data, outcome = running.popleft()
                tried = outcome.result()
                if self.runs + tried.runs > self._most_runs:
                    raise _NoRunLeftError
                self.runs += tried.runs
                self._tried.add(_key(data))
                if tried.shows:
                    self.smallest, self._shown_ns, self._took_ns = data, tried.shown_ns, tried.took_ns
                    if tried.shown_ns is None:  # otherwise it was ended early
                        self._most_ns = _LONGER * tried.took_ns
                    self._progress(self.runs, _size(data))
                    return number
        finally:
            for _, _, outcome in running:
                outcome.cancel()

    def _new(self, proposals: Iterable[Data], again: bool) -> Iterator[tuple[int, Data]]:
        """What is to be run of the proposals, each with its number."""
        given: set[str] = set()  # what is run ahead has not been tried yet: the number of jobs must make no difference
        for number, data in enumerate(proposals):
            if experiment_of(data) is None:
                continue
            seeded = data
            while (known := _key(seeded) in self._tried | given) and again:
                seeded = _with_seed(seeded, seeded["spec"]["seed"] + 1)
            if not known:
                given.add(_key(seeded))
                yield number, seeded


def _with_seed(data: Data, seed: int) -> Data:
    return {**data, "spec": {**data["spec"], "seed": seed}}


def _key(data: Data) -> str:
    return json.dumps(data, sort_keys=True)


def _size(data: Data) -> Size:
    experiment = experiment_of(data)
    assert experiment is not None, "it was run"
    return size_of(experiment)
