"""Histories of thousands of operations: valid ones pass, one stale read is found, and both ways agree."""

from __future__ import annotations

from typing import Any

import pytest

from highwater_pipeline.linearizability import Limits, check_key, check_registers
from highwater_pipeline.linearizability.decide import decide
from highwater_pipeline.linearizability.registers import by_key, register_history, register_of
from highwater_pipeline.linearizability.search import search


@pytest.mark.parametrize("clients", [10, 50])
@pytest.mark.parametrize("keys", [1, 20])
def test_one_stale_read_among_thousands(benchmark_history: Any, keys: int, clients: int) -> None:
    valid = benchmark_history(3000, keys, clients, values="unique", stale=False)
    assert check_registers(valid).verdict == "pass"
    stale = benchmark_history(3000, keys, clients, values="unique", stale=True)
    run_verdict = check_registers(stale)
    assert (run_verdict.verdict, list(run_verdict.anomalies)) == ("fail", ["stale-read"])
    (example,) = run_verdict.anomalies["stale-read"].examples
    (changed,) = (
        row
        for row, (was, now) in enumerate(
            zip(valid.operations["value"].to_pylist(), stale.operations["value"].to_pylist(), strict=True)
        )
        if was != now
    )
    assert example["operation"]["row"] == changed


@pytest.mark.parametrize("stale", [False, True])
def test_search_and_zones_agree(benchmark_history: Any, stale: bool) -> None:
    tables = benchmark_history(2000, 1, 20, values="unique", stale=stale)
    ((_, table),) = by_key(register_history(tables.operations))
    by_zones, by_search = decide(register_of(table)), decide(register_of(table), zones=False)
    assert by_zones.outcome == by_search.outcome == ("nonlinearizable" if stale else "linearizable")
    assert by_zones.misfit == by_search.misfit


@pytest.mark.parametrize("values", ["twice", "few"])
def test_values_that_come_again(benchmark_history: Any, values: str) -> None:
    assert check_registers(benchmark_history(5000, 1, 50, values=values, stale=False)).verdict == "pass"


def test_a_stale_read_of_a_value_that_comes_again(benchmark_history: Any) -> None:
    run_verdict = check_registers(benchmark_history(2000, 1, 10, values="twice", stale=True))
    assert (run_verdict.verdict, list(run_verdict.anomalies)) == ("fail", ["stale-read"])


def test_refuted_but_not_where(benchmark_history: Any) -> None:
    """Where the limit leaves no steps to find the longest prefix, nobody is named; that it fails stands."""
    tables = benchmark_history(2000, 1, 10, values="twice", stale=True)
    ((key, table),) = by_key(register_history(tables.operations))
    refuted_in = search(register_of(table), 10**6).steps
    verdict = check_key(key, table, Limits(steps=refuted_in, steps_per_operation=0, seconds=None))
    assert (verdict.state, verdict.anomaly) == ("failed", "nonlinearizable")
    assert verdict.example is not None
    assert (verdict.example["operation"], verdict.example["prefix"]["is_longest"]) == (None, False)
    assert "was not found within the limits" in verdict.example["story"]


def test_time_is_bounded_too(benchmark_history: Any) -> None:
    tables = benchmark_history(5000, 1, 10, values="few", stale=False)
    run_verdict = check_registers(tables, Limits(seconds=0.0))
    assert (run_verdict.verdict, set(run_verdict.checks.values())) == ("inconclusive", {"unknown"})
