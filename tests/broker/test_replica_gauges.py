"""Gauges of a broker's replicas: always what a walk over all replicas would find, at the price of what changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from highwater_runtime.broker import metrics as names
from highwater_runtime.broker.replica_gauges import ReplicaGauges
from highwater_runtime.ports.metrics import SERIES_LEFT_OUT
from highwater_runtime.sim.metrics import SimMetrics
from highwater_runtime.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from highwater_runtime.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

TOPIC_ID = UUID(int=5)


class CountingMetrics(SimMetrics):
    """Counts how often a gauge is set or forgotten."""

    __slots__ = ("calls",)

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def gauge(self, name: str, value: float, **labels: str) -> None:
        self.calls += 1
        super().gauge(name, value, **labels)

    def forget(self, name: str, **labels: str) -> None:
        self.calls += 1
        super().forget(name, **labels)

    def of(self, name: str) -> float:
        return self.values[name, ()]

    def own_series(self) -> int:
        return sum(1 for _, labels in self.values if labels)


def walked(cluster: Any, broker_id: int) -> dict[str, float]:
    """The aggregates of a broker, computed from all of its replicas."""
    replicas = list(cluster.broker(broker_id).partitions.values())
    leading = [p for p in replicas if p.is_leader]
    return {
        names.PARTITION_COUNT: len(replicas),
        names.LEADER_COUNT: len(leading),
        names.UNDER_REPLICATED: sum(len(p.isr.committed) < len(p.replicas) for p in leading),
        names.UNDER_MIN_ISR: sum(len(p.isr.committed) < p.min_isr for p in leading),
        names.AT_MIN_ISR: sum(len(p.isr.committed) == p.min_isr for p in leading),
    }


@pytest.mark.parametrize("limit", [500, 1])
def test_after_every_event_the_aggregates_are_those_of_a_walk(make_cluster: Callable[..., Any], limit: int) -> None:
    cluster = make_cluster(config={"metrics.partition.limit": limit})
    compared = 0

    def compare() -> None:
        nonlocal compared
        for b in range(3):
            broker = cluster.broker(b)
            if broker is not None and broker.partitions:
                values = cluster.sim.node(f"broker-{b}").process.metrics.values
                expected = walked(cluster, b)
                assert {name: values[name, ()] for name in expected} == expected, f"broker-{b}"
                own = sum(1 for name, labels in values if labels and name == names.LOG_SIZE)
                assert own == (len(broker.partitions) if len(broker.partitions) <= limit else 0)
                compared += 1

    cluster.sim.after_event.append(compare)
    cluster.create_topic([0, 1, 2])
    cluster.create_topic([1, 2, 0], "payments")
    cluster.create_topic([2, 0], "audit", {"min.insync.replicas": "2"})
    cluster.sim.kill("broker-0")
    cluster.until(lambda: cluster.leads(1) and len(cluster.leader().isr.committed) == 2)
    cluster.sim.start("broker-0")
    cluster.until(lambda: all(len(cluster.leader(f"{t}-0").isr.committed) == 3 for t in ("orders", "payments")))
    change = AlterableConfig(name="min.insync.replicas", config_operation=0, value="3")
    resource = AlterConfigsResource(resource_type=2, resource_name="orders", configs=[change])
    cluster.ask("broker-1", IncrementalAlterConfigsRequest(resources=[resource]), 1)
    cluster.until(lambda: cluster.leader().min_isr == 3)
    cluster.ask("broker-1", DeleteTopicsRequest(topics=[DeleteTopicState(name="payments")], timeout_ms=1000), 6)
    cluster.until(lambda: not cluster.replicas("payments-0"))
    disk = cluster.sim.node("broker-2").disk
    disk.open("orders-0/00000000000000000000.log").truncate(20)
    cluster.produce(b"x", acks=1)
    cluster.until(lambda: cluster.replica(2).log.failure is not None)
    cluster.run(0.0001)  # not after the controller has heard of it, which takes longer
    assert cluster.sim.node("broker-2").process.metrics.values[names.OFFLINE_REPLICAS, ()] == 1
    assert compared > 1000


def test_the_size_of_a_log_is_as_of_the_last_pass_over_the_isrs(make_cluster: Callable[..., Any]) -> None:
    cluster = make_cluster()
    cluster.create_topic([0, 1, 2])
    cluster.produce(b"x" * 1000)
    cluster.run(5)
    for b in range(3):
        values = cluster.sim.node(f"broker-{b}").process.metrics.values
        size = values[names.LOG_SIZE, (("partition", "0"), ("topic", "orders"))]
        assert size == cluster.replica(b).log.size_in_bytes > 1000


def test_a_change_of_one_replica_costs_the_same_whatever_the_number_of_replicas(make_bench: Callable[..., Any]) -> None:
    costs = []
    for count in (10, 1000):
        bench = make_bench()
        bench.become(1)
        replicas = {(TOPIC_ID, index): bench.partition for index in range(count)}
        metrics = CountingMetrics()
        gauges = ReplicaGauges(metrics, replicas, 10_000)
        for key in replicas:
            gauges.mark(key)
        gauges.report(failed=0)
        before = metrics.calls
        gauges.mark((TOPIC_ID, 3))
        gauges.report(failed=0)
        costs.append(metrics.calls - before)
    assert costs[0] == costs[1] < 20


def test_beyond_the_limit_replicas_have_no_series_of_their_own_and_it_says_so(make_bench: Callable[..., Any]) -> None:
    bench = make_bench()
    bench.become(1)
    replicas: dict[Any, Any] = {}
    metrics = CountingMetrics()
    gauges = ReplicaGauges(metrics, replicas, 1)

    def add(topic_id: UUID, replica: Any) -> None:
        replicas[topic_id, 0] = replica
        gauges.mark((topic_id, 0))
        gauges.report(failed=0)
        gauges.report_positions()

    add(UUID(int=1), bench.partition)
    assert metrics.own_series() == len(names.PARTITION_GAUGES)
    assert metrics.of(SERIES_LEFT_OUT) == 0

    add(UUID(int=2), bench.partition)
    assert metrics.own_series() == 0
    assert metrics.of(SERIES_LEFT_OUT) == 2
    assert metrics.of(names.LEADER_COUNT) == 2, "the aggregates go on"

    del replicas[UUID(int=1), 0]
    gauges.mark((UUID(int=1), 0))
    gauges.report(failed=0)
    gauges.report_positions()
    assert metrics.own_series() == len(names.PARTITION_GAUGES), "they are back, of a replica that did not change"
    assert metrics.of(SERIES_LEFT_OUT) == 0
    assert metrics.of(names.LEADER_COUNT) == 1
