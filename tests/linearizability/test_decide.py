"""The answers are right: against trying everything, and of the two ways against each other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_pipeline.linearizability.decide import Decision, Limits, decide


def history(model: Any, draw: Any, *, unique: bool) -> tuple[Any, ...]:
    """A few operations of a few processes that overlap in many ways, with any outcomes; events have distinct times."""
    size = draw(st.integers(1, 9))
    events = draw(st.permutations([op for op in range(size) for _ in range(2)]))
    begins, ends = {}, {}
    for time, op in enumerate(events):
        (ends if op in begins else begins)[op] = time
    # Half of the histories are nearly sequential: there real time says much.
    if draw(st.booleans()):
        width = draw(st.integers(2, 5))
        begins = {op: op * 4 for op in range(size)}
        ends = {op: op * 4 + 2 * draw(st.integers(0, width)) * 2 + 1 + 2 * (op % 2) for op in range(size)}
        taken: set[int] = set()
        for op in range(size):
            while ends[op] in taken or ends[op] in begins.values():
                ends[op] += 1
            taken.add(ends[op])
    ops, written = [], 0
    for op in range(size):
        kind = draw(st.sampled_from(["read", "read", "write", "cas"]))
        value = draw(st.integers(0, 4 if unique else 2))
        if kind != "read":
            written += 1
            value = written if unique else max(1, value)
        expected = draw(st.integers(0, 3)) if kind == "cas" else -1
        if expected == value:
            expected = 0
        unknown = draw(st.integers(0, 3)) == 0
        ops.append(model.Op(kind, value, begins[op], None if unknown else ends[op], expected))
    return tuple(ops)


def check(model: Any, ops: tuple[Any, ...], decision: Decision) -> None:
    assert decision.outcome == ("linearizable" if model.brute_force(ops) else "nonlinearizable")
    if decision.outcome == "linearizable":
        cut, missing = None, set()
    else:
        cut = ops[decision.misfit].ends
        missing = {decision.misfit}
        assert decision.misfit >= 0
        assert not model.brute_force(until(model, ops, cut)), "with the misfit it is not linearizable"
        assert model.brute_force(until(model, ops, cut - 1)), "without, it is"
    shown = [int(row) for row in decision.order]
    known = {i for i, op in enumerate(ops) if op.ends is not None and (cut is None or op.ends < cut)}
    assert len(set(shown)) == len(shown)
    assert known <= set(shown), "what is known to have happened is in the order"
    assert not missing & known
    cut_off = until(model, ops, cut - 1) if cut is not None else ops
    by_begin = {op.begins: op for op in cut_off}
    assert model.is_linearization([by_begin[ops[row].begins] for row in shown])


def until(model: Any, ops: tuple[Any, ...], time: int) -> tuple[Any, ...]:
    return tuple(
        model.Op(
            op.kind, op.value, op.begins, op.ends if op.ends is not None and op.ends <= time else None, op.expected
        )
        for op in ops
        if op.begins <= time
    )


@pytest.mark.parametrize("zones", [True, False])
@pytest.mark.parametrize("unique", [True, False])
@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_decisions_are_those_of_brute_force(model: Any, unique: bool, zones: bool, data: Any) -> None:
    ops = history(model, data.draw, unique=unique)
    check(model, ops, decide(model.register(ops), Limits(seconds=None), zones=zones))
