"""The executable specification: each rule by one history that keeps it and one that breaks it, and random walks."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_pipeline.specification import RULES, Decisions, Machine, Refusal, judge_decisions
from highwater_pipeline.specification.lineage import Lineage


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


walk = _load("specification_walk")
cases = _load("specification_cases")
CASES, History, Tail = cases.CASES, cases.History, cases.Tail
Row = dict[str, Any]


def refusals(
    rows: list[Row],
    *,
    exact_order: bool = True,
    is_zookeeper: bool = False,
    compacted: bool = False,
    unclean: bool = False,
) -> list[Refusal]:
    decisions = Decisions.of(rows, is_zookeeper=is_zookeeper, unclean=unclean)
    machine = Machine(decisions, exact_order=exact_order, compacted=compacted)
    return [*judge_decisions(decisions), *(refusal for row in rows for refusal in machine.step(row))]


@pytest.mark.parametrize(("rule", "kept", "broken"), CASES, ids=[f"{n}-{case[0]}" for n, case in enumerate(CASES)])
def test_rule(rule: str, kept: Tail, broken: Tail) -> None:
    permitted, refused = History(), History()
    kept(permitted)
    assert refusals(permitted.events.rows) == []
    broken(refused)
    found = refusals(refused.events.rows)
    assert {refusal.rule for refusal in found} == {rule}
    assert all(refusal.permitted and refusal.state for refusal in found)


def test_every_rule_has_a_case() -> None:
    assert {rule for rule, _, _ in CASES} | {"read-committed"} == {*RULES}


COMPACTED: list[tuple[Tail, set[str]]] = [
    (lambda h: h.appends(0, 12, 13, 0), set()),
    (lambda h: h.appends(0, 9, 13, 0), {"append"}),
    (lambda h: h.fails_over().truncates(0, 9, 12, 1), set()),
    (lambda h: h.commits(0, 0).broker(0, "batch-committed", leader_epoch=0, offset=7, end_offset=9, epoch=0), set()),
    (lambda h: h.fails_over().appends(1, 12, 13, 1).appends(0, 12, 13, 1, "follower"), set()),
]
"""After compaction logs have gaps, and a batch may have gone on one replica and not yet on the other."""


@pytest.mark.parametrize(("tail", "found"), COMPACTED)
def test_compacted_logs(tail: Tail, found: set[str]) -> None:
    history = History()
    tail(history)
    assert {refusal.rule for refusal in refusals(history.events.rows, compacted=True)} == found
    assert refusals(history.events.rows) != []


ONLY_EXACT: list[Tail] = [
    lambda h: h.left_behind().restarts_at(11),
    lambda h: h.broker(2, "log-loaded", 2, offset=0, end_offset=11, reason="recovered"),
    lambda h: h.stops(2, 1, "kill").loads(2, 2, 9),
    lambda h: h.appends(1, 10, 12, 0, "follower").appends(0, 10, 12, 0),
    lambda h: h.appends(0, 10, 11, 0).appends(1, 10, 11, 0, "follower").moves(0, 11, 0),
    lambda h: h.left_behind().proposes(1, [1, 2, 0], 1, 1),
    lambda h: h.deletes_below(4, 0, 1).answers_deletion(4),
    lambda h: h.elects().leads(1, 1, 1, 10, [1], hw=6),
]


@pytest.mark.parametrize("tail", ONLY_EXACT)
def test_replicas_at_one_moment_are_compared_only_in_an_exact_order(tail: Tail) -> None:
    history = History()
    tail(history)
    assert refusals(history.events.rows) != []
    assert refusals(history.events.rows, exact_order=False) == []


def test_what_is_no_step_of_a_broker() -> None:
    history = History()
    history.events.add("controller-0", "log-appended", leader_epoch=0, offset=3, end_offset=4, reason="leader")
    history.broker(0, "fenced").proposes(0, [0, 1], 0, 0).ends(0, [0, 1, 2], 0, 0, "INELIGIBLE_REPLICA")
    assert {one.rule for one in refusals(history.events.rows)} == {"proposal-end"}
    assert refusals(history.events.rows, is_zookeeper=True) == [], "there the leader writes its ISR itself"


def test_zookeeper_mode_needs_a_proposal_and_no_judgement_of_it() -> None:
    def found(tail: Tail, **how: bool) -> set[str]:
        history = History()
        tail(history)
        return {one.rule for one in refusals(history.events.rows, **how)}

    smaller = [0, 1]
    grown: Tail = lambda h: h.decides(0, 0, 1, smaller).proposes(0, [0, 1, 2], 0, 1).decides(0, 0, 2, [0, 1, 2])  # noqa: E731
    of_itself: Tail = lambda h: h.decides(0, 0, 1, smaller).decides(0, 0, 2, [0, 1, 2])  # noqa: E731
    moved: Tail = lambda h: h.moves_to(1, [0, 1, 2], 3, 0, 1, 2).moves_to(2, [0], 3, 0, epoch=1)  # noqa: E731
    assert "isr-grows-by-proposal" not in found(grown, is_zookeeper=True)
    assert found(of_itself, is_zookeeper=True) == {"isr-grows-by-proposal"}
    assert found(moved, is_zookeeper=True) == set(), "the controller learns of the ISR later"
    unclean: Tail = lambda h: h.decides(0, 0, 1, smaller).decides(2, 1, 2, [2])  # noqa: E731
    with_another: Tail = lambda h: h.decides(0, 0, 1, smaller).decides(2, 1, 2, [2, 1])  # noqa: E731
    assert (found(unclean), found(unclean, unclean=True)) == ({"leader-from-isr"}, set())
    assert found(with_another, unclean=True) == {"leader-from-isr"}, "what is elected so is alone in the ISR"


def test_a_decision_says_what_it_was_judged_against() -> None:
    history = History().decides(0, 0, 0, [0, 1])
    (refusal,) = refusals(history.events.rows)
    proposal = "an ISR that broker 0 proposes in leader epoch 0, based on partition epoch 0"
    assert refusal.permitted[2:] == (proposal,)
    (created,) = (row["row"] for row in history.events.rows if row["reason"] == "created" and row["leader"] == 0)
    assert (refusal.because, refusal.state["isr"]) == ((created,), [0, 1, 2])
    history = History().decides(-1, 1, 1, [0, 1]).decides(-1, 1, 1, [0])
    (refusal,) = refusals(history.events.rows)
    assert len(refusal.permitted) == 2, "nobody leads who might propose"
    history = History()
    history.events.decided(0, 0, 0, [0, 4, 5], "created")
    (refusal,) = refusals(history.events.rows)
    assert (refusal.because, len(refusal.permitted), refusal.state["isr"]) == ((), 2, [0, 4, 5])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["extend", "cut", "forget"]), st.integers(0, 6), st.booleans())))
def test_a_lineage_is_a_list_of_epochs(steps: list[tuple[str, int, bool]]) -> None:
    """Two logs of one beginning, record by record, and what they have in common."""
    logs, lists, lows = [Lineage(), Lineage()], [[0, 0], [0, 0]], [0, 0]
    for log in logs:
        log.extend(0, 0)
    for epoch, (what, number, which) in enumerate(steps, 1):
        log, epochs = logs[which], lists[which]
        if what == "extend":
            log.extend(len(epochs), epoch)
            epochs += [epoch] * (number + 1)
        elif what == "cut" and number < len(epochs):
            log.cut(max(number, lows[which]))
            del epochs[max(number, lows[which]) :]
        elif what == "forget" and lows[which] <= number < len(epochs):
            log.forget_below(number)
            lows[which] = number
    known = [[-1] * low + epochs[low:] for low, epochs in zip(lows, lists, strict=True)]
    for log, epochs, low in zip(logs, known, lows, strict=True):
        if low < len(epochs):
            assert [log.at(offset) for offset in range(len(epochs))] == epochs
    if any(low >= len(epochs) for low, epochs in zip(lows, known, strict=True)):
        return
    end = min(map(len, known))
    differ = [n for n in range(end) if -1 not in (known[0][n], known[1][n]) and known[0][n] != known[1][n]]
    for upto in range(end + 1):
        expected = min([upto, *differ])
        assert logs[0].common_end(logs[1], upto) == expected
    copied = logs[0].copy()
    copied.cut(end)
    copied.extend_from(logs[1], end, len(known[1]))
    assert [copied.at(n) for n in range(end, len(known[1]))] == known[1][end:]
    assert [logs[0].at(n) for n in range(len(known[0]))] == known[0], "a copy is a copy"


def test_what_is_permitted_is_said() -> None:
    def permitted(*tails: Tail) -> tuple[str, ...]:
        history = History()
        for tail in tails:
            tail(history)
        return refusals(history.events.rows)[-1].permitted

    assert permitted(lambda h: h.appends(0, 11, 12, 0)) == (
        "take a role that was decided, of leader epoch 0 or higher",
        "append at 10 in leader epoch 0",
        "move the high watermark above 5, up to 10",
        "acknowledge what ends at 5 or below",
        "propose an ISR based on partition epoch 0",
    )
    assert permitted(lambda h: h.shrinks([0]).appends(0, 11, 12, 0))[2] == (
        "no move of the high watermark: the ISR is below min.insync.replicas, 2"
    )
    assert permitted(lambda h: h.proposes(0, [0, 1], 0, 0).moves(0, 10, 0).appends(0, 11, 12, 0))[2:] == (
        "no move of the high watermark: the ISR has fetched up to 10",
        "acknowledge what ends at 10 or below",
    )
    assert permitted(lambda h: h.appends(2, 11, 12, 0, "follower")) == (
        "take a role that was decided, of leader epoch 0 or higher",
        "append at 10 what broker 0 has, in leader epoch 0, up to 10",
        "truncate to the first record that differs from the leader's",
    )
    assert permitted(lambda h: h.stops(2, 1).loads(2, 2, 9)) == (
        "take a role that was decided",
        "load its log with log end offset 10 or less",
    )


def _kept() -> list[list[Row]]:
    histories = []
    for _, kept, _ in CASES:
        history = History()
        kept(history)
        histories.append(history.events.rows)
    return histories


def test_what_is_not_known_is_not_refused() -> None:
    """A recording that begins in the middle: the first event of each kind says what the state is."""
    before = len(History().events.rows)
    too_far = History().fails_over().truncates(0, 9, 12, 1).events.rows
    assert refusals(too_far) != []
    assert refusals(too_far[before:]) == [], "it is not known what either had there"
    for rows in [*_kept(), History().fails_over().truncates(0, 10, 12, 1).events.rows]:
        for first in range(len(rows)):
            assert refusals(rows[first:]) == [], rows[first]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_a_walk_of_the_protocol_is_permitted(seed: int, exact_order: bool) -> None:
    rows = walk.Walk(seed, 150).events.rows
    assert refusals(rows, exact_order=exact_order) == []


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_without_an_exact_order_nodes_may_be_shuffled_among_each_other(seed: int) -> None:
    """Only each node's own order is kept, as of nodes with clocks of their own."""
    rows, random = walk.Walk(seed, 100).events.rows, Random(seed)
    of_node: dict[str, list[Row]] = {}
    for row in rows:
        of_node.setdefault(row["node"], []).append(row)
    shuffled = []
    while of_node:
        node = random.choice(sorted(of_node))
        shuffled.append(of_node[node].pop(0))
        if not of_node[node]:
            del of_node[node]
    assert refusals(shuffled, exact_order=False) == []


def _wrong(row: Row) -> dict[str, Any]:
    """One field of an event, changed so that no state permits it."""
    match row["kind"]:
        case "log-appended":
            return {"offset": row["offset"] + 1, "end_offset": row["end_offset"] + 1}
        case "high-watermark":
            return {"offset": row["offset"] + 1000}
        case "write-acknowledged":
            return {"end_offset": row["end_offset"] + 1}
        case "became-leader" | "became-follower":
            return {"end_offset": row["end_offset"] + 1}
        case "log-truncated":
            return {"leader_epoch": row["leader_epoch"] + 1}
        case "isr-proposed":
            return {"partition_epoch": row["partition_epoch"] + 1}
        case "partition-changed" if row["reason"] == "changed":
            return {"partition_epoch": 0}
    return {}


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.data())
def test_a_walk_with_one_wrong_step_is_refused(seed: int, data: st.DataObject) -> None:
    rows = walk.Walk(seed, 150).events.rows
    able = [row for row in rows if _wrong(row)]
    row = data.draw(st.sampled_from(able)) if able else None
    if row is not None:
        rows[row["row"]] = {**row, **_wrong(row)}
        assert row["row"] in [refusal.row for refusal in refusals(rows)], row
