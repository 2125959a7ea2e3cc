"""A machine that takes stretches at once refuses what one that takes each event alone refuses, and ends in its state.

Every history is taken both ways: those of each rule, and random walks with many records between two decisions, in which
single events are changed, repeated, left out or change places.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pipeline_specification import CASES, History, Row, Walk
from pipeline_specification.history import FIELDS

from highwater_pipeline.schemas import NODE_EVENT, ROW
from highwater_pipeline.settings import NOTHING_PROMISED, PromisedSettings, TopicPromise
from highwater_pipeline.specification import Decisions, Machine, Refusal, StretchMachine, stretches
from highwater_pipeline.view import View

PROMISES = PromisedSettings([0, 300], [TopicPromise(min_isr=2), TopicPromise(min_isr=3)], 10)


@pytest.fixture(autouse=True, params=[1, 3], scope="module")
def least(request: pytest.FixtureRequest) -> Iterator[None]:
    """How long a stretch must be."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stretches, "LEAST", request.param)
        patched.setattr(stretches, "AT_ONCE", 2)
        yield


def view_of(rows: list[Row]) -> View:
    schema = pa.schema([ROW, *(field for field in NODE_EVENT if field.name in FIELDS)])
    return View.of(pa.Table.from_pylist(rows, schema))


class Counting(StretchMachine):
    """``taken``: how many events were taken at once."""

    taken = 0

    def _take(self, groups: Any) -> bool:
        is_taken = super()._take(groups)
        self.taken += is_taken and sum(len(group.at) for group in groups)
        return is_taken


def state(machine: Machine) -> tuple[Any, ...]:
    highest = vars(machine._high_watermarks)
    return machine._replicas, machine._led, machine._high_watermark, highest, machine._leaders.claims


def taken_both_ways(rows: list[Row], **about: Any) -> tuple[list[Refusal], int]:
    """What both refuse, and how many events were taken at once."""
    unclean = about.pop("unclean", False)
    slow, fast = (
        kind(Decisions.of(rows, is_zookeeper=False, unclean=unclean), **about) for kind in (Machine, Counting)
    )
    steps = [row for row in rows if row["kind"] in slow.kinds]
    refused = [refusal for row in steps for refusal in slow.step(row)]
    half = len(steps) // 2  # a partition is read part by part
    parts = [part for part in (steps[:half], steps[half:]) if part]
    assert [refusal for part in parts for refusal in fast.steps(view_of(part), FIELDS)] == refused
    assert state(fast) == state(slow)
    assert isinstance(fast, Counting)
    return refused, fast.taken


@pytest.mark.parametrize("number", range(len(CASES)))
@pytest.mark.parametrize("exact_order", [True, False])
def test_cases(number: int, exact_order: bool) -> None:
    for tail in CASES[number][1:]:
        assert callable(tail)
        history = History()
        tail(history)
        taken_both_ways(history.events.rows, exact_order=exact_order)


def with_commits(rows: list[Row]) -> list[Row]:
    """With the batches that a leader commits when it moves its high watermark."""
    found: list[Row] = []
    committed: dict[str, int] = {}
    for row in rows:
        if row["kind"] == "became-leader":
            committed[row["node"]] = row["offset"]
        elif row["kind"] == "high-watermark":
            start, committed[row["node"]] = committed[row["node"]], row["offset"]
            found.append({**row, "kind": "batch-committed", "offset": start, "end_offset": row["offset"], "epoch": -1})
        found.append(row)
    return numbered(found)


def numbered(rows: list[Row]) -> list[Row]:
    return [{**row, "row": number, "time_ns": row["time_ns"]} for number, row in enumerate(rows)]


STEADY = ("log-appended", "batch-committed", "high-watermark", "write-acknowledged")
NUMBERS = ("offset", "end_offset", "leader_epoch", "partition_epoch", "epoch", "incarnation", "min_isr", "time_ns")


def tampered(rows: list[Row], random: Random) -> list[Row]:
    """With one event of a stretch changed, repeated, left out, or behind one that came later."""
    at = random.choice([n for n, row in enumerate(rows) if row["kind"] in STEADY] or [0])
    row = dict(rows[at])
    match random.choice(["number", "number", "number", "reason", "isr", "node", "again", "gone", "later"]):
        case "number":
            name = random.choice([name for name in NUMBERS if row[name] is not None])
            row[name] += random.choice([-2, -1, 1, 2, 100])
        case "reason" if row["reason"] is not None:
            row["reason"] = {"leader": "follower", "follower": "leader"}.get(row["reason"], row["reason"])
        case "isr" if row["isr"]:
            row["isr"] = random.choice([row["isr"][1:], row["isr"][::-1], [*row["isr"], 7]])
        case "node":
            row["node"] = random.choice(["broker-0", "broker-1", "broker-2", "controller-0"])
        case "again":
            return [*rows[: at + 1], row, *rows[at + 1 :]]
        case "gone":
            return [*rows[:at], *rows[at + 1 :]]
        case "later":
            to = at + random.randint(1, 5)
            return [*rows[:at], *rows[at + 1 : to], row, *rows[to:]]
    return [*rows[:at], row, *rows[at + 1 :]]


@pytest.mark.parametrize("changes", range(5))
def test_walks(changes: int) -> None:
    for seed in range(150):
        random = Random(f"{changes} {seed}")
        rows = with_commits(Walk(seed, 12, busy=60).events.rows)
        for _ in range(changes):
            rows = tampered(rows, random)
        about: dict[str, Any] = {
            "exact_order": random.random() < 0.5,
            "compacted": random.random() < 0.3,
            "unclean": random.random() < 0.3,
        }
        if not changes:
            assert taken_both_ways(rows, **about)[0] == []
        about["promises"] = random.choice([NOTHING_PROMISED, PROMISES])
        for first in (0, random.randint(0, len(rows) // 2)):
            taken_both_ways(numbered(rows[first:]), **about)


def steady(rounds: int) -> History:
    history = History()
    for end in range(11, 11 + rounds):
        history.appends(0, end - 1, end, 0).appends(1, end - 1, end, 0, "follower")
        history.appends(2, end - 1, end, 0, "follower").moves(0, end, 0).acknowledges(0, end)
    return history


def test_a_quiet_leadership_is_one_stretch() -> None:
    refused, taken = taken_both_ways(steady(50).events.rows, exact_order=True)
    assert refused == []
    assert taken > 0.9 * 5 * 50, "but for the first of each kind and node"
