"""Signatures: which transitions a run's events show."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from highwater_pipeline.transitions import CATALOGUE, transitions_of, unreached
from highwater_runtime.ports.trace import NodeEvent, Transition


def reached(lines: Any) -> tuple[str, ...]:
    return transitions_of(lines)


FOLDED = sorted(name for name, row in CATALOGUE.items() if not row.event)


def line(kind: str, node: str = "controller-0", incarnation: int = 1, **fields: Any) -> bytes:
    return json.dumps(
        {"seq": 0, "time_ns": 0, "node_time_ns": 0, "node": node, "incarnation": incarnation, "kind": kind, **fields},
        separators=(",", ":"),
    ).encode()


def partition(offset: int, reason: str = "changed", name: str = "orders-0", **fields: Any) -> bytes:
    state = {"topic_id": "a", "replicas": [0, 1], "isr": [0, 1], "leader": 0, "leader_epoch": 0} | fields
    return line("partition-changed", partition=name, metadata_offset=offset, reason=reason, **state)


CREATED = partition(1, "created")

STORIES: dict[str, list[bytes]] = {
    "leader-changed": [CREATED, partition(2, leader=1, leader_epoch=1, isr=[1])],
    "preferred-leader-elected": [partition(1, "created", leader=1), partition(2, leader=0, leader_epoch=1)],
    "partition-leaderless": [CREATED, partition(2, leader=-1, leader_epoch=1)],
    "leaderless-partition-revived": [partition(1, "created", leader=-1), partition(2, leader=0, leader_epoch=1)],
    "leader-epoch-bumped": [CREATED, partition(2, leader_epoch=1)],
    "isr-shrunk": [CREATED, partition(2, isr=[0])],
    "isr-of-one": [CREATED, partition(2, isr=[0])],
    "isr-expanded": [partition(1, "created", isr=[0]), partition(2)],
    "topic-recreated": [CREATED, partition(2, "deleted"), partition(9, "created", topic_id="b")],
    "partitions-added": [CREATED, partition(2, "created", "orders-1"), partition(9, "created", "orders-2")],
    "reassignment-begun": [CREATED, partition(2, replicas=[2, 0, 1])],
    "reassignment-completed": [CREATED, partition(2, replicas=[2, 0, 1]), partition(3, replicas=[2], isr=[2])],
    "reassignment-cancelled": [CREATED, partition(2, replicas=[2, 0, 1]), partition(3)],
    "broker-reregistered": [line("broker-registered", broker=0, metadata_offset=at) for at in (1, 5)],
    "registration-replaced": [
        line("broker-state", "broker-0", reason="registered", broker=0, broker_epoch=epoch) for epoch in (1, 5)
    ],
    "ensemble-leader-changed": [line("raft-state", f"zookeeper-{index}", reason="leader") for index in (0, 1)],
    "controller-changed": [line("raft-state", f"controller-{index}", reason="leader") for index in (0, 1)],
}
"""The least that shows each transition that needs more than one event. The last event is the one that shows it."""


def tags(base: type[NodeEvent] = NodeEvent) -> Iterator[str]:
    for event in base.__subclasses__():
        yield str(event.__struct_config__.tag)


def test_each_step_that_nodes_report_has_a_row_and_each_row_an_event() -> None:
    assert sorted(get_args(Transition)) == sorted(name for name, row in CATALOGUE.items() if row.event == "transition")
    assert {row.event.partition(" ")[0] for row in CATALOGUE.values() if row.event} <= set(tags())
    assert sorted(STORIES) == FOLDED


@pytest.mark.parametrize("name", [name for name in CATALOGUE if name not in FOLDED])
def test_a_transition_is_recognised_by_its_event(name: str) -> None:
    kind, _, reason = CATALOGUE[name].event.partition(" ")
    shown = line(kind, reason=name if kind == "transition" else reason, partition="orders-0", metadata_offset=1)
    assert name in reached([shown])
    assert name not in reached([line(kind, reason="another")]) or not reason


@pytest.mark.parametrize("name", FOLDED)
def test_a_transition_is_recognised_by_its_story(name: str) -> None:
    *before, last = STORIES[name]
    assert name not in reached(before)
    assert name in reached([*before, last])


def test_what_a_second_controller_reports_or_replays_is_no_second_transition() -> None:
    shrunk = partition(2, isr=[0])
    assert "isr-expanded" not in reached([CREATED, shrunk, CREATED, shrunk])
    assert "topic-recreated" not in reached([CREATED, partition(2, "deleted"), CREATED])
    registered = line("broker-registered", broker=0, metadata_offset=1)
    assert "broker-reregistered" not in reached([registered, registered])


def test_a_reassignment_that_is_cancelled_is_not_completed() -> None:
    assert "reassignment-completed" not in reached(STORIES["reassignment-cancelled"])
    assert "reassignment-cancelled" not in reached(STORIES["reassignment-completed"])


def test_what_is_unreached_is_the_rest_of_the_catalogue() -> None:
    names = reached(STORIES["isr-of-one"])
    assert names == tuple(sorted(names))
    assert {row.name for row in unreached(names)} == set(CATALOGUE) - set(names)


def test_a_broker_that_is_elected_in_zookeeper_mode_is_another_controller() -> None:
    """The same report by another server is none, nor is a leader of the ensemble."""

    def elected(broker: int, zxid: int, server: int = 0) -> bytes:
        return line("controller-changed", f"zookeeper-{server}", broker=broker, epoch=zxid, metadata_offset=zxid)

    same = [elected(0, 5), line("raft-state", "zookeeper-1", reason="leader"), elected(0, 5, server=1)]
    assert "controller-changed" not in reached(same)
    assert "controller-changed" in reached([*same, elected(-1, 6), elected(1, 7)])
