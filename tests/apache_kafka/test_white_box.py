"""What brokers say and what was decided, joined by what brokers knew; what is lost is declared as lost."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from kafka_lines import HEX, ID, REQUEST

from highwater_chaos.backends.local.apache_kafka.event_lines import EventLines
from highwater_chaos.backends.local.apache_kafka.evidence import Declaration, recorded_events
from highwater_chaos.backends.local.apache_kafka.white_box import WhiteBox
from highwater_chaos.backends.local.program import ClusterPlan, NodePlace, Observed, Role
from highwater_chaos.experiment import Cluster
from highwater_pipeline.anomalies import BY_FEWER, NEEDED_EVENTS
from highwater_pipeline.tables.recorded_events import RecordedEvents
from highwater_runtime.ports import Endpoint
from highwater_runtime.ports.trace import (
    AlterPartitionHandled,
    BrokerRegistered,
    LogRemoved,
    NodeEvent,
    PartitionChanged,
)

ROLE_AND_NUMBER: tuple[tuple[Role, int], ...] = (("broker", 0), ("broker", 1), ("controller", 0))
PLAN = ClusterPlan(
    Cluster(runtime="apache-kafka", brokers=2, controllers=1),
    "AAECAwQFBgcICQoLDA0ODw",
    7,
    tuple(
        NodePlace(name, number, role, Endpoint("h", 1), Endpoint("h", 1), Path("/d"), Path("/f"), None)
        for name, number, role in (
            ("broker-0", 0, "broker"),
            ("broker-1", 1, "broker"),
            ("controller-0", 9, "controller"),
        )
    ),
)
BROKERS, CONTROLLERS, ROLES = "kafka.log.LogManager", "kafka.request.logger", "state.change.logger"


class Site:
    """A run of two brokers and a controller, of which only files are there."""

    plan = PLAN

    def enter_network(self) -> None:
        raise AssertionError

    def is_up(self, node: str) -> bool:
        raise AssertionError(node)

    def incarnation(self, node: str) -> int:
        raise AssertionError(node)


class Nodes:
    """Writes lines as nodes do, and reads them."""

    def __init__(self, home: Path) -> None:
        self.declaration = Declaration("4.4.0", "kraft", [home / "recorded.json"])
        self.declaration.write()
        self._home = home
        self._seq: dict[str, int] = {}
        self.box = WhiteBox(
            Site(), lambda place, number: EventLines(self.file(place.name, number)), self.declaration.lose
        )
        for place in PLAN.places:
            self.box.starting(place.name, 1, time.monotonic_ns())

    def file(self, node: str, number: int = 1) -> Path:
        return self._home / f"{node}.{number}"

    def says(self, node: str, logger: str, text: str) -> int:
        self._seq[node] = seq = self._seq.get(node, 0) + 1
        fields = {"seq": seq, "ns": (now := time.monotonic_ns()), "wall": 1, "level": "INFO", "thread": "t"}
        with self.file(node).open("a", encoding="utf-8") as file:
            file.write(json.dumps({**fields, "logger": logger, "text": text}) + "\n")
        return now

    def declared(self) -> RecordedEvents:
        return msgspec.json.decode((self._home / "recorded.json").read_bytes(), type=RecordedEvents)


@pytest.fixture
def nodes(tmp_path: Path) -> Nodes:
    return Nodes(tmp_path)


def decided(event: NodeEvent) -> Observed:
    """What the observer sees now."""
    return Observed(time.monotonic_ns(), 1, "controller-0", 1, event)


def state(
    epoch: int,
    *,
    isr: tuple[int, ...] = (0, 1),
    reason: str = "changed",
    partition: int = 1,
    replicas: tuple[int, ...] = (0, 1),
) -> Observed:
    return decided(
        PartitionChanged(
            partition=f"a.b-c-{partition}",
            topic_id=HEX,
            replicas=list(replicas),
            isr=list(isr),
            leader=0,
            leader_epoch=3,
            partition_epoch=epoch,
            metadata_offset=100 + epoch,
            reason=reason,
        )
    )


def leader_line(epoch: int) -> str:
    return (
        f"[Broker id=0] Leader a.b-c-1 with topic id Some({ID}) starts at leader epoch 3 from offset 0 with partition"
        f" epoch {epoch}, high watermark 0, ISR [0,1], adding replicas [] and removing replicas []. Previous …"
    )


def test_a_decision_has_the_time_at_which_a_broker_knew_it(nodes: Nodes) -> None:
    """Just before it acted; so has all that was decided earlier. What nobody knew has the time at which it was seen."""
    text = "[BrokerLifecycleManager id=0] Successfully registered broker 0 with broker epoch 50"
    nodes.says("broker-0", "kafka.server.BrokerLifecycleManager", text)
    nodes.says("broker-0", ROLES, leader_line(5))
    (led,) = nodes.box.take()
    registered = decided(BrokerRegistered(broker=1, broker_epoch=104, metadata_offset=104, reason=""))
    other, earlier, mine, later = state(3, partition=0), state(4), state(5), state(6)
    found = nodes.box.settled([other, registered, earlier, mine, later])
    assert [one.time_ns for one in found] == [led.time_ns - 1] * 4 + [later.time_ns]
    assert [one.event for one in found] == [one.event for one in (other, registered, earlier, mine, later)]
    again = state(7)
    assert nodes.box.settled([again]) == [again]


def test_a_removal_is_by_the_decision_that_is_seen_soon_after(nodes: Nodes) -> None:
    nodes.says("broker-1", ROLES, f"[Broker id=1] Creating new partition a.b-c-1 with topic id {ID}.")
    text = "Log for partition a.b-c-1 is renamed to /d/a.b-c-1.04e5-delete and is scheduled for deletion"
    nodes.says("broker-1", BROKERS, text)
    (removed,) = nodes.box.take()
    nodes.box.settled([state(4)])
    kept, deleted = state(5), state(5, reason="deleted")
    found = nodes.box.settled([kept, deleted])
    assert removed.event == LogRemoved(partition="a.b-c-1", topic_id=HEX, reason="deleted")
    assert [one.time_ns for one in found] == [removed.time_ns - 1] * 2
    assert [one.event for one in found] == [kept.event, deleted.event]


@pytest.mark.parametrize("is_seen_first", [False, True])
def test_a_removal_is_by_no_decision_after_the_one_that_moved_the_replica(nodes: Nodes, is_seen_first: bool) -> None:
    """A later state of the partition would come before what led to it."""
    nodes.box.settled([state(4)])
    moved, shrunk = state(5, isr=(0,), replicas=(0,)), state(6, isr=(0,), replicas=(0,))
    early = nodes.box.settled([moved]) if is_seen_first else []
    nodes.says("broker-1", ROLES, f"[Broker id=1] Creating new partition a.b-c-1 with topic id {ID}.")
    text = "Log for partition a.b-c-1 is renamed to /d/a.b-c-1.04e5-delete and is scheduled for deletion"
    nodes.says("broker-1", BROKERS, text)
    (removed,) = nodes.box.take()
    shrunk = shrunk._replace(time_ns=time.monotonic_ns())
    found = [*early, *nodes.box.settled([shrunk] if is_seen_first else [moved, shrunk])]
    assert found[0].time_ns == (moved.time_ns if is_seen_first else min(moved.time_ns, removed.time_ns - 1))
    assert found[1] == shrunk


def test_a_judgement_comes_where_its_decision_was_committed(nodes: Nodes) -> None:
    nodes.box.settled([state(1)])
    nodes.says("controller-0", CONTROLLERS, REQUEST % (0, 2))
    nodes.box.take()
    assert nodes.box.settled([]) == []  # the decision has not been seen yet
    registered = decided(BrokerRegistered(broker=2, broker_epoch=77, metadata_offset=77, reason=""))
    judged, *_ = nodes.box.settled([registered, committed := state(2, isr=(0, 2))])
    assert judged.time_ns <= committed.time_ns
    assert isinstance(judged.event, AlterPartitionHandled)
    assert (judged.event.metadata_offset, judged.event.registered_epochs) == (102, [-1, 77])


Breaks = Callable[[Nodes], object]


@pytest.mark.parametrize(
    ("breaks", "lost"),
    [
        (
            lambda nodes: nodes.file("broker-0").write_text("{nothing}\n", encoding="utf-8"),
            {
                "committed-loss",
                "deleted-topic-records",
                "hw-regression",
                "isr-incomplete",
                "live-partition-deleted",
                "min-isr",
                "model-step",
                "retention-too-greedy",
                "stale-isr-join",
                "two-leaders",
            },
        ),
        (
            lambda nodes: nodes.says("controller-0", CONTROLLERS, (REQUEST % (0, 2))[:500]),
            {"model-step", "stale-isr-join"},
        ),
    ],
    ids=["of a broker", "of a controller"],
)
def test_without_the_lines_of_a_node_no_check_that_needs_them_says_ok(
    nodes: Nodes, breaks: Breaks, lost: set[str]
) -> None:
    whole = nodes.declared()
    assert whole == recorded_events("4.4.0", "kraft")
    nodes.box.take()
    assert nodes.declared() == whole
    breaks(nodes)
    nodes.box.take()
    left = nodes.declared()
    kinds_of = {**NEEDED_EVENTS, **BY_FEWER}
    needed = {name for name, kinds in kinds_of.items() if set(kinds) <= {*whole.kinds}}
    assert {*BY_FEWER} <= needed
    assert needed - {name for name in needed if {*kinds_of[name]} <= {*left.kinds}} == lost
    assert {*left.seen} == {*whole.kinds} - {*left.kinds}
    assert "is not whole" in left.why
