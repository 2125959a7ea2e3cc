"""A history that is plain has no anomaly that a client can see: the checks, asked all the same, find nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_pipeline.anomalies import CLIENT_CHECKS, CLIENT_CHECKS_ON_REQUEST
from highwater_pipeline.checks import client
from highwater_pipeline.checks.plain_history import not_plain
from highwater_pipeline.partitions.partition_tables import PartitionTables, alone, split
from highwater_pipeline.tables.rows import MicroOp

P0 = "orders-0"
Step = tuple[Any, ...]

GOOD: list[Step] = [
    ("assign", 100, 0),
    ("send", 0, 10, 0, "ok"),
    ("send", 1, 11, 1, "ok"),
    ("poll", 100, ((0, 10), (1, 11)), "ok"),
    ("send", 0, 12, 2, "ok"),
    ("poll", 100, ((2, 12),), "ok"),
    ("assign", 101, 0),
    ("poll", 101, ((0, 10), (1, 11)), "ok"),
    ("poll", 101, ((2, 12),), "ok"),
]


def _unit(story: Any, steps: list[Step]) -> PartitionTables:
    for step in steps:
        match step:
            case "send", process, value, offset, outcome:
                story.send(value, at=offset, process=process, outcome=outcome, attempts=1)
            case "poll", process, records, outcome:
                story.poll(*records, process=process, outcome=outcome)
            case "assign", process, offset:
                story.assign(process, orders_0=offset)
            case "txn", process, ops:
                for kind in ("invoke", "ok"):
                    story.operation(
                        process, kind, "txn", *(MicroOp(op, P0, offset, value) for op, offset, value in ops)
                    )
    (unit,) = split(story.tables())[1]
    return unit


def _is_plain(unit: PartitionTables) -> bool:
    return not not_plain(alone(unit)).any()


def _found(unit: PartitionTables) -> dict[str, tuple[int, int]]:
    """What the checks of clients find."""
    found = client.client_anomalies(unit, [*CLIENT_CHECKS, *CLIENT_CHECKS_ON_REQUEST])
    return {name: (one.count, one.unknown) for name, one in found.items() if one.count or one.unknown}


def test_a_plain_history(story: Any) -> None:
    unit = _unit(story, GOOD)
    assert _is_plain(unit)
    assert _found(unit) == {}


@pytest.mark.parametrize(
    ("steps", "anomaly"),
    [
        ([GOOD[0], ("send", 0, 10, 0, "fail"), *GOOD[2:]], "aborted-read"),
        ([*GOOD[:6], ("send", 0, 13, 3, "ok"), *GOOD[6:]], "unseen"),
        (
            [*GOOD[:4], ("send", 0, 12, 2, "ok"), ("send", 0, 13, 3, "ok"), ("poll", 101, ((3, 13),), "ok")],
            "lost-write",
        ),
        (
            [GOOD[0], GOOD[1], ("send", 0, 10, 1, "ok"), ("assign", 100, 1), ("poll", 100, ((1, 10),), "ok")],
            "duplicate",
        ),
        ([("assign", 102, 3), ("poll", 102, ((3, 10),), "ok"), *GOOD], "duplicate"),
        ([*GOOD[:5], ("poll", 100, ((2, 12),), "info"), *GOOD[6:8]], "unseen"),
        ([*GOOD, ("poll", 101, ((3, 10),), "ok")], "duplicate"),
        (
            [*GOOD, ("send", 1, 13, 2, "ok"), ("assign", 100, 2), ("poll", 100, ((2, 13),), "ok")],
            "inconsistent-offsets",
        ),
        ([*GOOD, ("assign", 102, 0), ("poll", 102, ((0, 99),), "ok")], "inconsistent-offsets"),
        ([*GOOD, ("assign", 102, 0), ("poll", 102, ((1, 11),), "ok")], "poll-skip"),
        ([*GOOD, ("poll", 101, ((0, 10),), "ok")], "nonmonotonic-poll"),
        ([*GOOD[:-2], ("poll", 101, ((0, 10), (2, 12)), "ok")], "int-poll-skip"),
        ([*GOOD[:-2], ("poll", 101, ((0, 10), (1, 11), (0, 10)), "ok")], "int-nonmonotonic-poll"),
        ([*GOOD[:1], ("send", 0, 11, 1, "ok"), ("send", 0, 10, 0, "ok"), *GOOD[3:]], "nonmonotonic-send"),
        ([*GOOD[:1], ("txn", 0, (("send", 1, 11), ("send", 0, 10))), *GOOD[3:]], "int-nonmonotonic-send"),
        ([*GOOD[:1], ("txn", 0, (("send", 0, 10), ("send", 2, 12))), *GOOD[2:4], *GOOD[5:]], "int-send-skip"),
        ([*GOOD, ("assign", 5, 3), ("txn", 5, (("send", 3, 13), ("poll", 3, 13)))], "precommitted-read"),
    ],
)
def test_what_is_not_plain(story: Any, steps: list[Step], anomaly: str) -> None:
    unit = _unit(story, steps)
    assert anomaly in _found(unit)
    assert not _is_plain(unit)


def test_a_process_that_acts_for_two_clients(story: Any) -> None:
    """Sends of a producer without idempotence are in order by process."""
    _unit(story.under(idempotence=False), [GOOD[0], ("send", 0, 11, 1, "ok"), ("send", 0, 10, 0, "ok"), *GOOD[3:]])
    for operation in story.operations[4:6]:
        operation.client = "another"
    (unit,) = split(story.tables())[1]
    assert "nonmonotonic-send" in _found(unit)
    assert not _is_plain(unit)


@st.composite
def nearly_good(draw: Any) -> list[Step]:
    """The good history with up to two steps changed, moved, doubled or left out."""
    steps = list(GOOD)
    offsets, values, outcomes = st.integers(0, 3), st.integers(10, 13), st.sampled_from(["ok", "ok", "fail", "info"])
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(steps) - 1))
        match draw(st.sampled_from(["change", "move", "double", "leave out", "together"])):
            case "change":
                of_poll = st.lists(st.tuples(offsets, values), min_size=1, max_size=3).map(tuple)
                steps[at] = draw(
                    st.tuples(st.just("send"), st.integers(0, 1), values, offsets, outcomes)
                    | st.tuples(st.just("poll"), st.integers(100, 101), of_poll, outcomes)
                    | st.tuples(st.just("assign"), st.integers(100, 101), offsets)
                )
            case "move":
                steps.insert(draw(st.integers(0, len(steps) - 1)), steps.pop(at))
            case "double":
                steps.insert(at, steps[at])
            case "leave out":
                del steps[at]
            case "together":
                kinds = st.sampled_from(["send", "poll"])
                steps[at] = ("txn", 5, tuple(draw(st.lists(st.tuples(kinds, offsets, values), min_size=1, max_size=2))))
    # A process whose operation has no known outcome never acts again.
    ended: set[int] = set()
    kept = []
    for step in steps:
        if step[1] not in ended:
            kept.append(step)
        if step[-1] == "info":
            ended.add(step[1])
    return kept


@settings(max_examples=300, deadline=None)
@given(nearly_good(), st.sampled_from([True, False, None]), st.sampled_from(["all", "1", None]))
def test_in_a_plain_history_the_checks_find_nothing(
    new_story: Any, steps: list[Step], idempotence: bool | None, acks: str | None
) -> None:
    unit = _unit(new_story().under(idempotence=idempotence, acks=acks), steps)
    if _is_plain(unit):
        assert _found(unit) == {}
