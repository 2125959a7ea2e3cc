"""Which seeds count does not depend on how many ran at a time, nor in which order they ended."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest

from highwater_chaos.campaign.draw import draw_experiment
from highwater_chaos.campaign.page import write_page
from highwater_chaos.campaign.plan import Plan, Progress, Series
from highwater_chaos.campaign.rows import Row, rate_of, seeds_needed
from highwater_chaos.campaign.seed import Outcome
from highwater_chaos.experiment import dump_experiment, parse_experiment
from highwater_chaos.experiment.faults import drawn_kinds

SERIES = Series("x", "fail", until_failure=True)
PLAN = Plan((SERIES,), range(1, 6))


def outcome(seed: int) -> Outcome:
    return Outcome("x", seed, "", "fail" if seed in (3, 5) else "pass", cpu_seconds=1.0)


@pytest.mark.parametrize("order", list(itertools.permutations(range(1, 6))))
def test_until_failure_gives_what_one_after_the_other_would(order: tuple[int, ...]) -> None:
    progress = Progress(PLAN)
    for seed in order:  # all of them had begun before the first one ended
        progress.add(outcome(seed))
    assert [one.seed for one in progress.of_series(SERIES)] == [1, 2, 3]
    assert list(progress.units()) == []
    row = Row.of("x", "", "fail", progress.of_series(SERIES))
    assert (row.first_failing, row.until_found, row.seconds_until_found, row.as_expected) == (3, 3, 3.0, True)


def test_a_resumed_campaign_runs_what_is_missing() -> None:
    plan = Plan((Series("x", "pass"), Series("y", "pass")), range(1, 4))
    progress = Progress(plan, [Outcome("x", 1, "", "pass"), Outcome("y", 3, "", "fail")])
    assert [unit.key for unit in progress.units()] == [("y", "", 1), ("x", "", 2), ("y", "", 2), ("x", "", 3)]


def test_a_failing_seed_of_an_earlier_part_stops_no_other_seeds(tmp_path: Path) -> None:
    """``--resume`` with other seeds: what failed is none of them."""
    earlier = [Outcome("x", seed, "", "fail" if seed == 3 else "pass") for seed in (1, 2, 3)]
    progress = Progress(Plan((SERIES,), range(4, 6)), earlier)
    assert [unit.seed for unit in progress.units()] == [4, 5]
    assert progress.of_series(SERIES) == []
    assert not Row.of("x", "", "pass", []).as_expected, "no seed says nothing"
    bug = Row.of("x", "", "fail", [])
    assert bug.line([]) == "NOT RUN: x: 0 seeds, 0.0 s"
    page = write_page(tmp_path, "x", "highwater campaign", [bug], [], []).read_text(encoding="utf-8")
    assert "not run, expected fail" in page


def test_a_row_has_what_its_seeds_lost_as_far_as_that_is_known() -> None:
    outcomes = [Outcome("x", seed, "", "fail", lost=lost) for seed, lost in enumerate((None, 3, 4))]
    assert Row.of("x", "", "fail", outcomes).lost == 7
    assert Row.of("x", "", "fail", outcomes[:1]).lost is None, "it is not known, which is not 0"


def test_an_error_is_never_as_expected() -> None:
    outcomes = [Outcome("x", 1, "", "fail"), Outcome("x", 2, "", "error")]
    assert not Row.of("x", "", "fail", outcomes).as_expected
    assert not Row.of("x", "", "pass", [Outcome("x", 1, "", "inconclusive")]).as_expected
    assert not Row.of("x", "", "fail", [Outcome("x", 1, "", "pass")]).as_expected


def test_intervals_are_wilsons() -> None:
    """Newcombe 1998, table I: 15 of 148, and 0 of 20."""
    assert [round(one, 4) for one in rate_of(15, 148)] == [0.1014, 0.0624, 0.1605]
    assert [round(one, 4) for one in rate_of(0, 20)] == [0.0, 0.0, 0.1611]
    assert seeds_needed(0, 20).most == math.inf
    assert seeds_needed(5, 10).estimate == 2


def test_each_seed_draws_one_valid_experiment() -> None:
    kinds: set[str] = set()
    modes: set[str] = set()
    for seed in range(1, 101):
        experiment = draw_experiment(seed)
        text = dump_experiment(experiment)
        assert text == dump_experiment(draw_experiment(seed))
        assert dump_experiment(parse_experiment(text, f"seed {seed}")) == text, "it is what a file may say"
        assert draw_experiment(seed, "zookeeper").cluster.mode == "zookeeper"
        modes.add(experiment.cluster.mode)
        for step in experiment.spec.schedule:
            for branch in step.parallel or []:
                for drawn in (one.random for one in branch if one.random is not None):
                    assert drawn.spare == "lastInSync"
                    kinds |= drawn.faults.keys()
    assert modes == {"kraft", "zookeeper"}
    assert set(drawn_kinds()) <= kinds, "every kind of fault is drawn by some seed"
