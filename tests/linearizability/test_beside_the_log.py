"""A run with records and registers gets one verdict of both, or of what was asked for."""

from __future__ import annotations

from typing import Any

import pytest

from highwater_pipeline.anomalies import CHECKS, REGISTER_CHECKS
from highwater_pipeline.in_process import check_log_and_registers, check_run
from highwater_pipeline.linearizability import check_registers
from highwater_pipeline.verdict import NO_CHECKS


@pytest.fixture
def stale(story: Any) -> Any:
    """A stale read, and not one record."""
    return story.done(0, "write", 1).done(0, "write", 2).done(1, "read", 1).tables()


@pytest.fixture
def sound(story: Any) -> Any:
    """A register that behaves, and not one record."""
    return story.done(0, "write", 1).done(1, "read", 1).tables()


def test_all_checks_are_those_of_the_log_and_those_of_registers(stale: Any) -> None:
    both = check_log_and_registers(stale)
    assert list(both.checks) == [*CHECKS, *REGISTER_CHECKS]
    assert both.verdict == "fail", "what was found was found, though nothing can be said of the log"
    assert both.anomalies == check_registers(stale).anomalies
    assert set(check_run(stale).reasons) <= set(both.reasons)
    assert check_log_and_registers(stale, ["all"]) == both


def test_a_doubt_about_the_log_is_one_about_the_run(sound: Any) -> None:
    assert check_registers(sound).verdict == "pass"
    assert check_log_and_registers(sound).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("checks", "verdict"),
    [(["stale-read"], "fail"), (["nonlinearizable"], "pass"), (["lost-write"], "inconclusive"),
     (["lost-write", "stale-read"], "fail")],
)  # fmt: skip
def test_only_what_was_asked_for_counts(stale: Any, checks: list[str], verdict: str) -> None:
    run_verdict = check_log_and_registers(stale, checks)
    assert list(run_verdict.checks) == checks
    assert run_verdict.verdict == verdict
    assert list(run_verdict.anomalies) == [name for name in checks if name == "stale-read"]
    assert verdict == "fail" or not any("stale-read" in reason for reason in run_verdict.reasons)


def test_a_name_that_is_no_check_s(sound: Any) -> None:
    with pytest.raises(ValueError, match="nonsense"):
        check_log_and_registers(sound, ["nonsense"])


def test_an_invariant_that_no_table_has_leaves_the_rest_to_count(sound: Any, stale: Any) -> None:
    asked_for = ["raft-election-safety", "stale-read"]
    run_verdicts = [check_log_and_registers(tables, asked_for) for tables in (sound, stale)]
    assert [(one.verdict, list(one.checks)) for one in run_verdicts] == [
        ("pass", ["stale-read"]),
        ("fail", ["stale-read"]),
    ]
    alone = check_log_and_registers(sound, asked_for[:1])
    assert (alone.verdict, alone.reasons) == ("inconclusive", [NO_CHECKS])
