"""One statement of each rule: the simulator's monitor, a check and the specification break with it.

Each history breaks one rule. All three say so; and none of them does once the one statement of the rule is taken away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import pytest
from pipeline_specification import History, refusals

from highwater_pipeline.checks import leadership, stale_join
from highwater_pipeline.in_process import check_run
from highwater_pipeline.specification import decisions, machine
from highwater_pipeline.tables.rows import NodeEventRow
from highwater_runtime.model.breaks import Breaks
from highwater_runtime.model.decisions import Decided
from highwater_runtime.model.leaders import HighWatermarks, Leaders
from highwater_runtime.ports import trace
from highwater_runtime.sim.invariants import reported
from highwater_runtime.sim.invariants.violation import Violations

MIN_ISR = import_module("highwater_pipeline.checks.min_isr")
P0 = "orders-0"
TOPIC = "0" * 31 + "1"
KINDS = {kind.__struct_config__.tag: kind for kind in trace.NodeEvent.__subclasses__()}


class Broken(NamedTuple):
    """``statement``: where the rule is looked up, and what takes its place when it is taken away."""

    name: str
    rule: str
    tail: Callable[[History], Any]
    statement: list[tuple[Any, str, Any]]


def everywhere(name: str, instead: Any, *modules: Any) -> list[tuple[Any, str, Any]]:
    return [(module, name, instead) for module in modules]


CASES = [
    Broken(
        "hw-regression",
        "high-watermark",
        lambda h: (
            h.moves(0, 8, 0).decides(1, 1, 1, [1, 2]).leads(1, 1, 1, 10, [1, 2], 5).follows(2, 1, 1, 10).moves(1, 7, 1)
        ),
        [(HighWatermarks, "move", lambda *_: None)],
    ),
    Broken(
        "two-leaders",
        "one-leader",
        lambda h: h.appends(0, 10, 12, 0).appends(3, 10, 12, 0),
        [(Leaders, "append", lambda *_: None)],
    ),
    Broken(
        "leader-not-in-isr",
        "isr-of-replicas",
        lambda h: h.decides(0, 0, 1, [1, 2]),
        everywhere("is_led_from_outside", lambda _: False, leadership, decisions, reported),
    ),
    Broken(
        "stale-isr-join",
        "join-incarnation",
        lambda h: (
            h.shrinks([0, 1])
            .accepts(0, [0, 1, 2], 0, 1, claimed=[11, 13, 9], registered=[11, 13, 15])
            .decides(0, 0, 2, [0, 1, 2])
        ),
        everywhere("joins_stale", lambda *_, **__: False, stale_join, decisions, reported),
    ),
    Broken(
        "min-isr",
        "acknowledge",
        lambda h: h.shrinks([0]).acknowledges(0, 5),
        everywhere("too_few_in_sync", lambda *_: None, MIN_ISR, machine, reported),
    ),
]


def events_of(tail: Callable[[History], Any]) -> list[dict[str, Any]]:
    """The history with ``tail``, each event with all that its kind has."""
    history = History()
    tail(history)
    rows = [{name: value for name, value in row.items() if value not in (None, ())} for row in history.events.rows]
    of_all: dict[str, Any] = {"partition": P0, "topic_id": TOPIC, "broker_epoch": 5, "min_isr": 2}
    unknown = [[-1] * len(row.get("isr", ())) for row in rows]
    return [
        {**of_all, "isr_epochs": epochs, "registered_epochs": epochs, **row}
        for row, epochs in zip(rows, unknown, strict=True)
    ]


def in_simulator(rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> set[str]:
    config = SimpleNamespace(min_insync_replicas=2)
    live = SimpleNamespace(
        topic_of=lambda _node, _event: TOPIC,
        allows_unclean_election=lambda _topic: False,
        latest_image=lambda _node: None,
        broker=lambda _node: SimpleNamespace(image=None),
        replica=lambda *_: SimpleNamespace(context=SimpleNamespace(config=config)),
    )
    monkeypatch.setattr(reported, "topic_properties", lambda *_: {})
    violations = Violations()
    invariants = reported.ReportInvariants(cast(Any, live), violations)
    for row in rows:
        kind = KINDS[row["kind"]]
        fields = {name: row[name] for name in kind.__struct_fields__ if name in row}
        invariants.on_event(row["node"], row["incarnation"], kind(**fields))
    return {one.name for one in violations.found}


def in_check(rows: list[dict[str, Any]], new_story: Any) -> set[str]:
    story = new_story()
    for row in rows:
        names = NodeEventRow.__struct_fields__
        known = KINDS[row["kind"]].__struct_fields__
        fields = {name: row[name] for name in row if name in known and name in names}
        story.event(row["node"], row["kind"], incarnation=row["incarnation"], **fields)
    return set(check_run(story.tables()).anomalies)


@pytest.mark.parametrize("broken", CASES, ids=[one.name for one in CASES])
def test_a_rule_is_broken_everywhere(broken: Broken, new_story: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = events_of(broken.tail)

    def found() -> Iterator[bool]:
        yield broken.name in in_simulator(rows, monkeypatch)
        yield broken.name in in_check(rows, new_story)
        history = History()
        broken.tail(history)
        yield broken.rule in {one.rule for one in refusals(history.events.rows)}

    assert [*found()] == [True, True, True]
    for where, name, instead in broken.statement:
        monkeypatch.setattr(where, name, instead)
    assert [*found()] == [False, False, False]


def test_what_an_unclean_election_or_a_lost_disk_forgets_may_go_back() -> None:
    def rules(tail: Callable[[History], Any], *, unclean: bool) -> set[str]:
        history = History()
        tail(history)
        return {one.rule for one in refusals(history.events.rows, unclean=unclean)}

    def elected(history: History) -> History:
        history.moves(0, 8, 0).shrinks([0, 1]).decides(2, 1, 2, [2]).leads(2, 1, 2, 10, [2], 5)
        return (
            history.broker(2, "min-isr-set", min_isr=1).moves(2, 6, 1).decides(2, 2, 3, [2]).leads(2, 2, 3, 10, [2], 5)
        )

    assert rules(elected, unclean=True) == set()
    assert rules(lambda h: elected(h).moves(2, 6, 2), unclean=True) == set()
    assert rules(lambda h: elected(h).moves(2, 5, 2), unclean=True) == {"high-watermark"}
    assert "high-watermark" in rules(elected, unclean=False)


@pytest.mark.parametrize("accepted", [False, True])
def test_the_election_of_a_replica_that_was_proposed_is_clean(accepted: bool) -> None:
    """A leader's proposal and the election of the replica that it proposed may be one state in KRaft mode."""
    breaks = Breaks([7] if accepted else ())
    assert not breaks.decide(Decided(5, 0, 0, 0, [0], [0, 1], "created"), may_be_unclean=True)
    assert breaks.decide(Decided(7, 1, 1, 1, [1], [0, 1], "changed"), may_be_unclean=True) is not accepted


def test_a_deposed_leaders_high_watermark_counts_for_what_was_before_the_break() -> None:
    live = SimpleNamespace(topic_of=lambda _node, _event: TOPIC)
    violations = Violations()
    invariants = reported.ReportInvariants(cast(Any, live), violations)
    event = trace.HighWatermarkAdvanced(partition=P0, leader_epoch=1, offset=9)
    known = invariants.of("broker-0", event)
    known.end_lineage(2)
    invariants.on_event("broker-0", 1, event)
    assert (known.true_hw, known.highest_hw) == (0, 9)
    invariants.on_event("broker-2", 1, trace.HighWatermarkAdvanced(partition=P0, leader_epoch=2, offset=6))
    assert (known.true_hw, violations.found) == (6, [])
