"""MetadataRead at brokers and controllers: stale or linearizable, as the client chooses (KIP-650)."""

from __future__ import annotations

import pytest

from highwater_runtime.broker.apis.api_versions import OFFERED
from highwater_runtime.controller.kraft.answers import SERVED
from highwater_runtime.ports import MS
from highwater_runtime.wire.api_keys import PRIVATE_KEYS_FROM
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from highwater_runtime.wire.messages.metadata_read_request import MetadataReadRequest, MetadataReadTopic

NODES = ["broker-0", "broker-1", "controller-0", "controller-1", "controller-2"]


def read(c, node: str, *topics: str, linearizable: bool = True, timeout_ms: int = 1000):
    named = [MetadataReadTopic(name=topic) for topic in topics] if topics else None
    request = MetadataReadRequest(linearizable=linearizable, timeout_ms=timeout_ms, topics=named)
    return c.ask(node, request, 0, channel="reads")


def set_retention(c, value: str, by: str = "broker-0") -> None:
    resource = AlterConfigsResource(
        resource_type=2,
        resource_name="orders",
        configs=[AlterableConfig(name="retention.ms", config_operation=0, value=value)],
    )
    answer = c.ask(by, IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert answer.responses[0].error_code == ErrorCode.NONE


def retention(answer) -> str | None:
    (topic,) = answer.topics
    return {config.name: config.value for config in topic.configs}.get("retention.ms")


@pytest.fixture
def cluster(make_cluster):
    c = make_cluster(brokers=2, controllers=3)
    c.create_topic([0, 1], configs={"retention.ms": "1000"})
    return c


def lagging(cluster, name: str = "broker-1") -> None:
    """``name`` hears of no further commit."""
    cluster.sim.faults.hold("Fetch", from_nodes=[name], to_nodes=NODES[2:], direction="response")


@pytest.mark.parametrize("node", NODES)
def test_any_node_answers_what_was_acknowledged(cluster, node: str) -> None:
    set_retention(cluster, "2000")
    answer = read(cluster, node, "orders")
    assert answer.error_code == ErrorCode.NONE
    assert retention(answer) == "2000"
    assert [topic.name for topic in read(cluster, node, "orders", "none", "orders").topics] == ["orders", "none"]
    (partition,) = answer.topics[0].partitions
    registered = cluster.broker(0).image.partition("orders", 0)
    assert (partition.leader_id, partition.leader_epoch) == (registered.leader, registered.leader_epoch)
    assert partition.partition_epoch == registered.partition_epoch
    assert (partition.isr, partition.replicas) == ([0, 1], [0, 1])


def test_the_answer_names_the_offset_that_it_stands_for(cluster) -> None:
    before = read(cluster, "broker-0").applied_offset
    set_retention(cluster, "2000")
    after = read(cluster, "broker-0").applied_offset
    assert before < after


def test_all_topics_or_those_named(cluster) -> None:
    cluster.create_topic([1, 0], name="payments")
    assert [topic.name for topic in read(cluster, "broker-1").topics] == ["orders", "payments"]
    known, unknown = read(cluster, "broker-1", "payments", "nothing").topics
    assert (known.name, known.error_code) == ("payments", ErrorCode.NONE)
    assert (unknown.name, unknown.error_code) == ("nothing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


@pytest.mark.parametrize("node", ["broker-1", "a standby controller"])
def test_a_stale_read_is_the_client_s_choice(cluster, node: str) -> None:
    if node != "broker-1":
        node = next(n for n in NODES[2:] if not cluster.sim.node(n).core.is_active)
    lagging(cluster, node)
    set_retention(cluster, "2000")
    assert retention(read(cluster, node, "orders", linearizable=False)) == "1000"
    timed_out = read(cluster, node, "orders", timeout_ms=200)
    assert timed_out.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert timed_out.topics == []
    assert "held too long" in timed_out.error_message


def test_a_read_is_held_until_the_broker_has_caught_up(cluster) -> None:
    lagging(cluster)
    set_retention(cluster, "2000")
    answers = []
    cluster.send("broker-1", MetadataReadRequest(linearizable=True, timeout_ms=3000, topics=None), 0, answers.append)
    cluster.run(0.3)
    assert answers == []
    cluster.sim.faults.heal_all()
    cluster.until(lambda: bool(answers))
    assert retention(answers[0]) == "2000"


def test_no_read_is_held_for_longer_than_a_request_may_take(cluster) -> None:
    lagging(cluster)
    set_retention(cluster, "2000")
    began = cluster.sim.now_ns
    answer = read(cluster, "broker-1", timeout_ms=60_000)
    assert answer.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert 3000 * MS <= cluster.sim.now_ns - began < 3100 * MS, "request.timeout.ms"


def test_it_is_not_offered_to_kafka_clients(cluster) -> None:
    assert all(key < PRIVATE_KEYS_FROM for key in (*OFFERED, *SERVED))
