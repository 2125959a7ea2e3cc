"""A machine that takes stretches at once refuses what one that takes each event alone refuses, and ends in its state.

Every history is taken both ways: those of each rule, and random walks with many records between two decisions, in which
events are changed, repeated, left out or change places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from operator import itemgetter
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pipeline_specification import CASES, History, Row, Walk
from pipeline_specification.history import FIELDS

from highwater_pipeline.arrow.view import View
from highwater_pipeline.specification import Decisions, Machine, Refusal, StretchMachine, stretches
from highwater_pipeline.tables.schemas import NODE_EVENT, ROW
from highwater_pipeline.tables.settings import NOTHING_PROMISED, PromisedSettings, TopicPromise

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
    return [{**row, "row": number} for number, row in enumerate(rows)]


STEADY = ("log-appended", "batch-committed", "high-watermark", "write-acknowledged")
CHANGES = ("number", "number", "number", "reason", "isr", "node", "again", "twin", "gone", "late")
SEEDS = 100
NUMBERS = ("offset", "end_offset", "leader_epoch", "partition_epoch", "epoch", "incarnation", "min_isr", "time_ns")


def tampered(rows: list[Row], random: Random) -> list[Row]:
    """With one event, or those of its node from then on, changed, repeated, also by another node, left out, or late."""
    at = random.choice([number for number, row in enumerate(rows) if row["kind"] in STEADY] or [0])
    until, kinds = at + random.choice([1, 1, 40, len(rows)]), random.choice([STEADY, (rows[at]["kind"],)])
    what, other = random.choice(CHANGES), random.choice(["broker-0", "broker-1", "broker-2", "controller-0"])
    name, by, late = random.choice(NUMBERS), random.choice([-2, -1, 1, 2, 100]), random.randint(1, 5)
    found: list[tuple[float, Row]] = []
    for number, row in enumerate(rows):
        is_it = at <= number < until and row["kind"] in kinds and row["node"] == rows[at]["node"]
        if not is_it or what != "gone":
            found.append((number + (late if is_it and what == "late" else 0), row))
        if not is_it:
            continue
        match what:
            case "number" if row[name] is not None:
                found[-1] = number, {**row, name: row[name] + by}
            case "reason" if row["reason"] is not None:
                found[-1] = number, {**row, "reason": "follower" if row["reason"] == "leader" else "leader"}
            case "isr" if row["isr"]:
                found[-1] = number, {**row, "isr": random.choice([row["isr"][1:], [*row["isr"][1:], 7]])}
            case "node":
                found[-1] = number, {**row, "node": other}
            case "again":
                found.append((number, row))
            case "twin":
                found.append((number, {**row, "node": other}))
    return [row for _, row in sorted(found, key=itemgetter(0))]


def shuffled(rows: list[Row], random: Random) -> list[Row]:
    """With nodes that are ahead of others."""
    ahead = {node: random.randint(0, 40) for node in sorted({row["node"] for row in rows})}
    return sorted(rows, key=lambda row: row["row"] - ahead[row["node"]])


@pytest.mark.parametrize("changes", range(5))
def test_walks(changes: int) -> None:
    for seed in range(SEEDS):
        random = Random(f"{changes} {seed}")
        rows = with_commits(Walk(seed, 12, busy=60).events.rows)
        exact_order = random.random() < 0.5
        if not exact_order:
            rows = shuffled(rows, random)
        for _ in range(changes):
            rows = tampered(rows, random)
        about: dict[str, Any] = {
            "exact_order": exact_order,
            "compacted": random.random() < 0.3,
            "unclean": random.random() < 0.3,
        }
        if not changes:
            assert taken_both_ways(numbered(rows), **about)[0] == []
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


STRANGERS: list[Callable[[History, int], History]] = [
    lambda h, at: h.appends(7, 3 * at, 3 * at + 3, 0),
    lambda h, at: h.appends(7, at, at + 1, 0, "follower").moves(7, at + 1, 0),
    lambda h, at: h.appends(7, at, at + 1, 5, "follower"),
    lambda h, at: h.appends(0, 3 * at, at, 0).moves(0, 3 * at + 1, 0).appends(7, at, at + 1, 0, "follower"),
    lambda h, at: h.appends(7, at, at + 1, 0, "follower").acknowledges(0, at, isr=[0, 1, at % 3]),
]
"""What a broker of which nothing is known may add to each round, or a leader that is out of its mind."""


@pytest.mark.parametrize("stranger", STRANGERS)
@pytest.mark.parametrize("exact_order", [True, False])
def test_strangers(stranger: Callable[[History, int], History], exact_order: bool) -> None:
    history = History()
    for at in range(11, 60):
        history.appends(0, at - 1, at, 0).appends(1, at - 1, at, 0, "follower").moves(0, at, 0).acknowledges(0, at)
        if at > 20:
            stranger(history, at)
    taken_both_ways(history.events.rows, exact_order=exact_order)


@pytest.mark.parametrize("exact_order", [True, False])
def test_the_high_watermark_of_an_earlier_leader(exact_order: bool) -> None:
    """The new leader's moves ascend, and are below one that a leader before had reported."""
    history = steady(20)
    history.decides(1, 1, 1, [1, 2]).moves(0, 200, 0).leads(1, 1, 1, 30, [1, 2], 10)
    history.follows(2, 1, 1, 30)
    for at in range(31, 60):
        history.appends(1, at - 1, at, 1).appends(2, at - 1, at, 1, "follower").moves(1, at - 20, 1)
    refused, _ = taken_both_ways(history.events.rows, exact_order=exact_order)
    assert len(refused) >= 1


def test_a_deposed_leader_reports_a_higher_high_watermark() -> None:
    """The leader's next move is below that one, and its further moves ascend from there."""
    history = steady(20)
    history.decides(1, 1, 1, [1, 2]).leads(1, 1, 1, 30, [1, 2], 30).follows(2, 1, 1, 30)
    for at in range(31, 110):
        history.appends(1, at - 1, at, 1).appends(2, at - 1, at, 1, "follower")
        if at in (60, 75):
            history.moves(0, 30 if at == 60 else 500, 0)
        history.moves(1, at, 1)
    refused, _ = taken_both_ways(history.events.rows, exact_order=True)
    assert [refusal.what for refusal in refused if "500" in refusal.what][1:] == [
        "the high watermark moved to 75, though a leader of epoch 0 moved it to 500"
    ]


def test_what_a_member_fetches_from_another_leader_does_not_count() -> None:
    """Broker 2 follows another leader, and the leader moves its high watermark as if it had fetched from it."""
    history = steady(5)
    history.follows(2, 1, 5, 15, hw=15)
    for at in range(16, 60):
        history.appends(0, at - 1, at, 0).appends(1, at - 1, at, 0, "follower").appends(2, at - 1, at, 5, "follower")
        history.moves(0, at, 0)
    refused, _ = taken_both_ways(history.events.rows, exact_order=True)
    assert len(refused) == 44


def alike(rows: list[Row], known: set[tuple[str, str]]) -> int:
    """How many of the first events are of kinds that are taken at once, alike within their kind and node, and of one
    of those that are ``known``."""
    seen: dict[tuple[str, str], tuple[Any, ...]] = {}
    for count, row in enumerate(rows):
        of = row["kind"], row["node"]
        common = (*(row[name] for name in stretches._EQUAL), *(row[name] is None for name in stretches._MANY))
        is_taken = row["kind"] in stretches._SETS and of in known
        if not is_taken or seen.setdefault(of, common) != common:
            return count
    return len(rows)


@pytest.mark.parametrize("changes", range(3))
def test_any_range_of_events_is_taken_as_it_should_be_or_not_at_all(changes: int) -> None:
    """Also one that begins behind an event of another kind, or with an event that differs from those before."""
    taken = 0
    for seed in range(SEEDS):
        random = Random(f"ranges {changes} {seed}")
        rows = with_commits(Walk(seed, 8, busy=40).events.rows)
        for _ in range(changes):
            rows = tampered(rows, random)
        rows = numbered(rows[random.choice([0, random.randint(0, len(rows) // 2)]) :])
        decisions = Decisions.of(rows, is_zookeeper=False, unclean=False)
        slow, fast = (
            kind(decisions, exact_order=changes < 2, promises=PROMISES if changes else NOTHING_PROMISED)
            for kind in (Machine, StretchMachine)
        )
        steps = [row for row in rows if row["kind"] in slow.kinds]
        by_group, at = stretches._Events(view_of(steps)), 0
        known: set[tuple[str, str]] = set()
        while at < len(steps):
            size = alike(steps[at : at + random.choice([1, 2, 5, 20, 60])], known)
            before = deepcopy(state(fast))
            is_taken = size > 0 and fast._take(by_group.groups(at, at + size))
            part = steps[at : at + max(size, 1)]
            known |= {(row["kind"], row["node"]) for row in part if row["node"].startswith("broker-")}
            refused = [refusal for row in part for refusal in slow.step(row)]
            if is_taken:
                taken += size
                assert refused == []
            else:
                assert state(fast) == before
                assert [refusal for row in part for refusal in fast.step(row)] == refused
            assert state(fast) == state(slow)
            at += len(part)
    assert taken > 1000


@pytest.mark.parametrize("exact_order", [True, False])
def test_a_leader_whose_end_has_gone_back(exact_order: bool) -> None:
    """What a follower must know of the high watermark is searched for in ends that do not ascend."""
    for rounds in range(1, 50):
        history = steady(15)
        history.appends(0, 25, 125, 0).moves(0, 26, 0)
        for end in range(27, 27 + rounds):
            history.appends(0, end - 1, end, 0).appends(1, end - 1, end, 0, "follower").moves(0, end, 0)
        history.appends(1, 26 + rounds, 27 + rounds, 0, "follower").appends(1, 27 + rounds, 28 + rounds, 0, "follower")
        taken_both_ways(history.events.rows, exact_order=exact_order)
