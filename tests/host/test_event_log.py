"""The log of a node: one line for a batch, with counts and examples, never one line a partition."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from highwater_runtime.host.event_log import WINDOW_S, EventLog
from highwater_runtime.host.files.trace import NoTrace
from highwater_runtime.host.logs import NodeLog
from highwater_runtime.ports.trace import (
    BecameFollower,
    BecameLeader,
    BrokerRegistrationChanged,
    BrokerStateChanged,
    IsrProposalEnded,
    IsrProposed,
    NodeEvent,
    PartitionChanged,
    RaftSnapshot,
    RaftStateChanged,
    TransitionTaken,
)

MANY = 10_000


class Lines(logging.Handler):
    """Keeps (level, event, fields)."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[tuple[str, str, dict[str, Any]]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append((record.levelname, record.getMessage(), record.fields))  # type: ignore[attr-defined]


@pytest.fixture
def lines() -> Iterator[Lines]:
    handler, logger = Lines(), logging.getLogger("highwater.node")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(level)


class Loop:
    """A loop whose only timer the test fires."""

    def __init__(self) -> None:
        self.timer: Callable[[], None] | None = None

    def call_later(self, delay: float, callback: Callable[[], None]) -> Loop:
        assert delay == WINDOW_S
        assert self.timer is None, "one window at a time"
        self.timer = callback
        return self

    def cancel(self) -> None:
        self.timer = None

    def window_ends(self) -> None:
        timer, self.timer = self.timer, None
        assert timer is not None
        timer()


@pytest.fixture
def loop() -> Loop:
    return Loop()


@pytest.fixture
def told(loop: Any) -> EventLog:
    return EventLog(NoTrace(), NodeLog("n"), loop, lambda: [("orders-1", 1, 3)])


def leads(partition: str, epoch: int = 1) -> NodeEvent:
    return BecameLeader(
        partition=partition,
        topic_id="t",
        leader_epoch=epoch,
        partition_epoch=1,
        offset=0,
        end_offset=0,
        isr=[0],
        replicas=[0],
    )


def follows(partition: str, leader: int) -> NodeEvent:
    return BecameFollower(partition=partition, topic_id="t", leader=leader, leader_epoch=2, offset=0, end_offset=0)


def changed(partition: str, leader: int, isr: list[int], reason: str = "changed") -> NodeEvent:
    return PartitionChanged(
        partition=partition,
        topic_id="t",
        replicas=[0, 1, 2],
        isr=isr,
        leader=leader,
        leader_epoch=1,
        partition_epoch=1,
        metadata_offset=1,
        reason=reason,
    )


def quorum(reason: str) -> NodeEvent:
    return RaftStateChanged(epoch=3, leader=1000, broker=-1, reason=reason)


def test_leaderships_of_a_batch_are_one_line_each_way(told: EventLog, loop: Loop, lines: Lines) -> None:
    for index in range(MANY):
        told.emit(leads(f"orders-{index}"))
    loop.window_ends()
    assert lines.lines == [
        ("INFO", "leaderships gained", {"count": MANY, "examples": "orders-0, orders-1, orders-2 …"})
    ]
    lines.lines.clear()

    for index in range(MANY):
        told.emit(leads(f"orders-{index}", epoch=2))
    assert loop.timer is None, "it led them before"

    for index in range(MANY):
        told.emit(follows(f"orders-{index}", leader=1 + index % 2))
    loop.window_ends()
    assert [(line, fields["count"]) for _, line, fields in lines.lines] == [
        ("leaderships lost", MANY),
        ("following", MANY),
    ]
    assert lines.lines[1][2]["leaders"] == "1:5000 2:5000"


def test_isr_changes_and_what_became_of_proposals(told: EventLog, loop: Loop, lines: Lines) -> None:
    for index, outcome in enumerate(["committed", "committed", "INELIGIBLE_REPLICA"]):
        common = {"partition": f"orders-{index}", "leader_epoch": 1, "partition_epoch": 1, "isr": [0]}
        told.emit(IsrProposed(**common, isr_epochs=[1], reason="shrink"))
        told.emit(IsrProposalEnded(**common, reason=outcome))
    loop.window_ends()
    assert lines.lines == [
        ("INFO", "ISR changed", {"count": 2, "changes": "shrink:2", "examples": "orders-0 [0], orders-1 [0]"}),
        ("INFO", "ISR proposals dropped", {"count": 1, "reasons": "INELIGIBLE_REPLICA:1", "examples": "orders-2"}),
    ]


def test_the_active_controller_tells_of_elections_and_fencing(told: EventLog, loop: Loop, lines: Lines) -> None:
    told.emit(quorum("leader"))
    for index in range(MANY):
        told.emit(changed(f"orders-{index}", 0, [0, 1, 2], "created"))
    told.emit(changed("alone-0", 0, [0], "created"))
    loop.window_ends()
    lines.lines.clear()

    for index in range(MANY):
        told.emit(changed(f"orders-{index}", 1 + index % 2, [1, 2]))
    told.emit(changed("alone-0", -1, [0]))
    told.emit(BrokerRegistrationChanged(broker=0, broker_epoch=7, metadata_offset=1, reason="fenced"))
    loop.window_ends()
    assert [(level, line, fields["count"]) for level, line, fields in lines.lines] == [
        ("INFO", "leaders elected", MANY),
        ("INFO", "ISR changed", MANY),
        ("WARNING", "partitions left without a leader", 1),
        ("WARNING", "brokers fenced", 1),
    ]
    assert lines.lines[0][2]["leaders"] == "1:5000 2:5000"
    assert lines.lines[3][2]["examples"] == "0 (epoch 7)"


def test_a_standby_says_none_of_that_at_info(told: EventLog, loop: Loop, lines: Lines) -> None:
    told.emit(quorum("follower"))
    told.emit(changed("orders-0", 0, [0, 1, 2], "created"))
    told.emit(BrokerRegistrationChanged(broker=0, broker_epoch=7, metadata_offset=1, reason="fenced"))
    loop.window_ends()
    assert lines.lines == [("INFO", "quorum state", {"state": "follower", "epoch": 3, "leader": "1000"})]


def test_what_a_snapshot_held_is_known_when_it_changes(told: EventLog, loop: Loop, lines: Lines) -> None:
    told.emit(quorum("leader"))
    told.emit(RaftSnapshot(offset=5, epoch=1, crc=0, reason="loaded"))
    told.flush()
    lines.lines.clear()
    told.emit(changed("orders-1", 1, [1, 2]))
    loop.window_ends()
    assert [line for _, line, _ in lines.lines] == ["ISR changed"], "leader 1 led it before"


def test_a_fenced_broker_says_so_as_a_warning(told: EventLog, lines: Lines) -> None:
    told.emit(BrokerStateChanged(broker=0, broker_epoch=7, reason="fenced"))
    told.emit(BrokerStateChanged(broker=0, broker_epoch=7, reason="running"))
    assert [(level, fields["state"]) for level, _, fields in lines.lines] == [
        ("WARNING", "fenced"),
        ("INFO", "running"),
    ]


def test_what_was_counted_is_logged_when_the_node_ends(told: EventLog, loop: Loop, lines: Lines) -> None:
    told.emit(leads("orders-0"))
    told.close()
    assert [line for _, line, _ in lines.lines] == ["leaderships gained"]
    assert loop.timer is None


def test_what_an_operator_must_look_into_is_a_warning(told: EventLog, lines: Lines) -> None:
    told.emit(TransitionTaken(reason="stray-set-aside", partition="orders-0"))
    told.emit(TransitionTaken(reason="leader-response-refused"))
    told.emit(TransitionTaken(reason="registration-epoch-went-back"))
    told.close()
    assert [(level, line) for level, line, _ in lines.lines] == [
        ("WARNING", "registration is tried again until it is granted"),
        ("WARNING", "logs that no replica has, renamed to -stray"),
        ("WARNING", "responses of the quorum's leader refused"),
    ]


def test_deleted_partitions_are_forgotten(told: EventLog, loop: Loop) -> None:
    for name in ("orders-0", "orders-1"):  # the core knows orders-1
        told.emit(leads(name))
        told.emit(
            IsrProposed(partition=name, leader_epoch=1, partition_epoch=1, isr=[1], isr_epochs=[7], reason="shrink")
        )
    told.emit(TransitionTaken(reason="directory-deleted"))
    told.flush()
    assert list(told._leads) == ["orders-1"]
    assert list(told._proposed) == ["orders-1"]
