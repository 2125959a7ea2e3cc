"""Histories of thousands of operations: valid ones pass, one stale read is found, and both ways agree."""

from __future__ import annotations

from typing import Any

import pytest

from highwater_pipeline.linearizability import check_registers
from highwater_pipeline.linearizability.decide import decide
from highwater_pipeline.linearizability.registers import by_key, register_history, register_of


@pytest.mark.parametrize("clients", [10, 50])
@pytest.mark.parametrize("keys", [1, 20])
def test_one_stale_read_among_thousands(benchmark_history: Any, keys: int, clients: int) -> None:
    valid = benchmark_history(3000, keys, clients, values="unique", stale=False)
    assert check_registers(valid).verdict == "pass"
    stale = benchmark_history(3000, keys, clients, values="unique", stale=True)
    judgement = check_registers(stale)
    assert (judgement.verdict, list(judgement.anomalies)) == ("fail", ["stale-read"])
    (example,) = judgement.anomalies["stale-read"].examples
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
    assert by_zones.answer == by_search.answer == ("nonlinearizable" if stale else "linearizable")
    assert by_zones.misfit == by_search.misfit


@pytest.mark.parametrize("values", ["twice", "few"])
def test_values_that_come_again(benchmark_history: Any, values: str) -> None:
    assert check_registers(benchmark_history(5000, 1, 50, values=values, stale=False)).verdict == "pass"


def test_a_stale_read_of_a_value_that_comes_again(benchmark_history: Any) -> None:
    judgement = check_registers(benchmark_history(2000, 1, 10, values="twice", stale=True))
    assert (judgement.verdict, list(judgement.anomalies)) == ("fail", ["stale-read"])
