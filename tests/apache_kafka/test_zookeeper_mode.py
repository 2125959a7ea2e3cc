"""What is seen of Apache Kafka in ZooKeeper mode: its nodes in ZooKeeper, the sessions that brokers log, passwords."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from highwater_chaos.backends.ensemble.kafka_nodes import as_our_nodes
from highwater_chaos.backends.ensemble.sessions import password_of
from highwater_chaos.backends.local.apache_kafka.node_log import LogTail, SessionLog
from highwater_runtime.metadata.znodes import ZnodeError
from highwater_runtime.ports.trace import (
    BrokerRegistered,
    BrokerStateChanged,
    ControllerChanged,
    NodeEvent,
    PartitionChanged,
)
from highwater_runtime.zookeeper.transaction_events import TransactionEvents
from highwater_runtime.zookeeper.tree import Change

TOPIC_ID = UUID("a7b3c5d1-9f02-4e6a-8c11-5d0e7f3b2a90")
"""In base 64 it is ``p7PF0Z8CTmqMEV0OfzsqkA``."""


class Told:
    """Keeps events."""

    follows_records = True

    def __init__(self) -> None:
        self.events: list[NodeEvent] = []

    def emit(self, event: NodeEvent) -> None:
        self.events.append(event)


def changed(path: str, data: Any, version: int = 0, *, czxid: int = 0, owner: int = 0) -> Change:
    return Change(path, None if data is None else json.dumps(data).encode(), version, czxid, owner)


def events_of(*transactions: list[Change]) -> list[NodeEvent]:
    told = Told()
    reading = TransactionEvents(told)
    for zxid, changes in enumerate(transactions, start=1):
        reading.applied(zxid, as_our_nodes(changes))
    return told.events


STATE = {"controller_epoch": 1, "leader": 0, "version": 1, "leader_epoch": 3, "isr": [0, 1]}


@pytest.mark.parametrize(
    ("topic", "topic_id"),
    [
        ({"version": 1, "partitions": {"0": [0, 1]}}, None),  # 1.1.1
        (
            {
                "version": 3,
                "topic_id": "p7PF0Z8CTmqMEV0OfzsqkA",
                "partitions": {"0": [0, 1]},
                "adding_replicas": {},
                "removing_replicas": {},
            },
            TOPIC_ID,
        ),  # 2.8.2
    ],
)
def test_kafkas_nodes_mean_what_ours_do(topic: Any, topic_id: UUID | None) -> None:
    registered, elected, created, shrunk, moved = events_of(
        [changed("/brokers/ids/0", {"host": "10.77.1.1", "port": 9092, "version": 4}, czxid=17, owner=0x1F)],
        [changed("/controller_epoch", 1), changed("/controller", {"version": 1, "brokerid": 0, "timestamp": "1"})],
        [changed("/brokers/topics/orders", topic)],
        [changed("/brokers/topics/orders/partitions/0/state", STATE)],
        [changed("/brokers/topics/orders/partitions/0/state", {**STATE, "isr": [0]}, 1)],
        [changed("/controller", {"version": 2, "brokerid": 1, "timestamp": "2", "kraftControllerEpoch": -1})],
    )
    assert registered == BrokerRegistered(broker=0, broker_epoch=17, metadata_offset=1, reason=f"{0x1F:032x}")
    assert isinstance(elected, ControllerChanged)
    assert (elected.broker, elected.epoch) == (0, 1)
    assert isinstance(created, PartitionChanged)
    assert isinstance(shrunk, PartitionChanged)
    assert (created.partition, created.leader, created.leader_epoch, created.isr) == ("orders-0", 0, 3, [0, 1])
    assert topic_id is None or created.topic_id == topic_id.hex
    assert (shrunk.isr, shrunk.partition_epoch, shrunk.reason) == ([0], 1, "changed")
    assert isinstance(moved, ControllerChanged)
    assert moved.broker == 1


def test_a_deleted_topic_and_a_vacant_controller() -> None:
    *_, deleted, vacant = events_of(
        [changed("/controller", {"brokerid": 0})],
        [changed("/brokers/topics/orders", {"partitions": {"0": [0]}})],
        [changed("/brokers/topics/orders/partitions/0/state", STATE)],
        [changed("/admin/delete_topics/orders", None)._replace(data=b"")],
        [changed("/brokers/topics/orders/partitions/0/state", None), changed("/brokers/topics/orders", None)],
        [changed("/controller", None)],
    )
    assert isinstance(deleted, PartitionChanged)
    assert deleted.reason == "deleted"
    assert isinstance(vacant, ControllerChanged)
    assert vacant.broker == -1


@pytest.mark.parametrize(
    "change",
    [
        changed("/controller", {"broker": 0}),
        changed("/controller", [0]),
        changed("/brokers/topics/orders", {"topic_id": "x" * 30, "partitions": {}}),
        changed("/brokers/topics/orders", {"topic_id": "!", "partitions": {}}),
        changed("/brokers/topics/orders", {"partitions": {"first": [0]}}),
        Change("/brokers/topics/orders", b"[" * 100_000),
    ],
)
def test_what_cannot_be_read_is_named(change: Change) -> None:
    with pytest.raises(ZnodeError, match=change.path):
        as_our_nodes([change])


@pytest.mark.parametrize(
    "path", ["/brokers/topics/orders/partitions/x/state", "/brokers/topics/orders/state", "/state"]
)
def test_other_nodes_stay_what_they_are(path: str) -> None:
    assert as_our_nodes([Change(path, b"?")]) == [Change(path, b"?")]


# --- whose a registration is ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "first", "second"),
    [("1.1.1", 0x1000432B94C0003, 0x1000432B94C0005), ("2.8.2", 0x1000431FCB50003, 0x1000431FCB50005)],
)
def test_a_registration_is_of_the_process_that_logged_its_session(
    recorded: Path, release: str, first: int, second: int
) -> None:
    """Its session expired once; then the broker was killed."""
    log = SessionLog(0)
    assert log.registered(first, 61) is None, "the process has not logged it yet"
    assert log.registered(0x77, 60) is None, "of another process"
    assert log.is_mute
    events = [
        found.event for line in LogTail(recorded / f"broker-{release}.txt").lines() if (found := log.event_of(line))
    ]
    assert events == [
        BrokerStateChanged(broker=0, broker_epoch=61, reason="registered"),
        BrokerStateChanged(broker=0, broker_epoch=61, reason="running"),
    ]
    assert not log.is_mute
    again = log.registered(second, 72)
    assert again == BrokerStateChanged(broker=0, broker_epoch=72, reason="registered")


def test_a_broker_that_is_asked_to_stop_says_so() -> None:
    log = SessionLog(2)
    line = "2026-11-27T20:15:02.376Z INFO kafka.server.KafkaServer - [KafkaServer id=2] Starting controlled shutdown"
    found = log.event_of(line)
    assert found is not None
    assert found.event == BrokerStateChanged(broker=2, broker_epoch=-1, reason="controlled-shutdown")


def test_the_password_of_a_session_is_what_java_makes_of_its_id() -> None:
    assert password_of(0x1000432B94C0003).hex() == "03b3f1984bf7f21cef28e385d9875c50"
