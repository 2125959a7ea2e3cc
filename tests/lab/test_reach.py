"""Which mutants a run reaches: what is not reached changes nothing, and what is reached is noticed."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cache
from pathlib import Path

import msgspec
import pytest

from highwater_chaos.campaign.seed import Outcome, SeedJob, run_seed_job
from highwater_lab import mutated
from highwater_lab.mutants import CATALOGUE, SETS, applied, mutant_named, watching
from highwater_lab.mutated import run_mutated
from highwater_runtime.broker import isr
from highwater_runtime.broker.follower_state import FollowerState

SEEDS = {"kraft": 8, "zookeeper": 25}
"""Short seeds of ``random``, one of each mode."""
TINY = (Path(__file__).parents[1] / "tiny-experiment.yaml").read_text(encoding="utf-8")
"""Enough where one mutant is looked at."""


@cache
def _plain(mode: str) -> Outcome:
    return run_seed_job(SeedJob("random", SEEDS[mode], mode=mode))


def _tiny(variant: str = "") -> SeedJob:
    return SeedJob("tiny", 1, text=TINY, variant=variant, mode="kraft")


@cache
def _plain_tiny() -> Outcome:
    return run_seed_job(_tiny())


@cache
def _watched(mode: str, which: str) -> tuple[Outcome, frozenset[str]]:
    with watching(SETS[which].values()) as reached:
        outcome = run_seed_job(SeedJob("random", SEEDS[mode], mode=mode))
    return outcome, frozenset(reached)


def _digest(seed: int, mode: str, *mutants: str) -> str:
    """Of a run with mutants that :func:`run_seed_job` would not even try if it thinks that they are not reached."""
    with ExitStack() as stack:
        for name in mutants:
            stack.enter_context(applied(mutant_named(name)))
        return run_seed_job(SeedJob("random", seed, mode=mode)).trace_digest


@pytest.mark.thorough
@pytest.mark.parametrize("which", SETS)
@pytest.mark.parametrize("mode", SEEDS)
def test_a_run_with_all_mutants_that_it_does_not_reach_is_the_same_run(mode: str, which: str) -> None:
    plain = _plain(mode)
    watched, reached = _watched(mode, which)
    assert watched.trace_digest == plain.trace_digest, "watching changed the run"
    functions: set[str] = set()
    left_out = []
    for mutant in SETS[which].values():
        if mutant.name not in reached and mutant.mode in ("", mode) and mutant.where not in functions:
            functions.add(mutant.where)  # two mutants of one function cannot be in it at a time
            left_out.append(mutant.name)
    assert len(left_out) > 10
    assert _digest(SEEDS[mode], mode, *left_out) == plain.trace_digest


def test_a_mutant_is_reached_when_its_expression_would_differ() -> None:
    def high_watermark(end: int) -> int:
        return (
            isr.next_high_watermark(
                [FollowerState(1, log_end_offset=end)],
                isr.IsrState((0, 1)),
                leader_end_offset=7,
                min_isr=1,
                now_ns=0,
                lag_max_ns=1,
                eligible=lambda _: True,
            )
            or -1
        )

    own = isr.next_high_watermark.__code__
    with watching(CATALOGUE.values()) as reached:
        assert high_watermark(7) == 7
        assert "hw-is-leader-end" not in reached
        assert high_watermark(3) == 3
        assert "hw-is-leader-end" in reached
        assert "hw-ignores-min-isr" not in reached
    assert isr.next_high_watermark.__code__ is own
    assert "__mutant_probe__" not in vars(isr)


def test_a_mutant_that_is_not_reached_is_not_run() -> None:
    missed = run_mutated(_tiny("zk-writes-unguarded"))
    assert not missed.reached
    assert not missed.changed
    assert missed == msgspec.structs.replace(
        _plain_tiny(),
        variant="zk-writes-unguarded",
        reached=False,
        changed=False,
        cpu_seconds=missed.cpu_seconds,
        wall_seconds=missed.wall_seconds,
    )


def test_a_mutant_that_is_reached_is_found() -> None:
    found = run_mutated(_tiny("hw-is-leader-end"))
    assert (found.reached, found.verdict, "isr-incomplete" in found.anomalies) == (True, "fail", True)
    assert found.changed


@pytest.mark.quick("known")
@pytest.mark.parametrize("which", SETS)
def test_a_seed_is_run_with_what_it_reaches_of_either_set(which: str) -> None:
    with watching(SETS[which].values()) as reached:
        run_seed_job(_tiny())
    name = next(name for name in SETS[which] if name in reached)
    assert run_mutated(_tiny(name)).reached


def test_a_mutant_that_is_reached_may_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one whose statement is executed in vain: here one of the other mode."""
    name = "zk-writes-unguarded"
    monkeypatch.setattr(mutated, "_watched", lambda *_: (_plain_tiny(), frozenset({name})))
    same = run_mutated(_tiny(name))
    assert (same.reached, same.changed) == (True, False)
    assert same.trace_digest == _plain_tiny().trace_digest


@pytest.mark.parametrize("reached", [True, False])
def test_a_seed_that_fails_without_the_bug_finds_none(monkeypatch: pytest.MonkeyPatch, reached: bool) -> None:
    """A fail of it says nothing of the bug, which is neither found nor missed."""
    name = "hw-is-leader-end"
    failing = Outcome("", 7, "", "fail", ("lost-write",))
    monkeypatch.setattr(mutated, "_watched", lambda *_: (failing, frozenset({name} if reached else ())))
    found = run_mutated(SeedJob("random", 7, variant=name))
    assert (found.verdict, found.anomalies, found.reached) == ("inconclusive", (), reached)
    assert found.reasons == ("it fails without the bug, too: lost-write",)
