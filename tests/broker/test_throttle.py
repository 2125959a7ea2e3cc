"""Replication throttles (KIP-73): who is held back, who is not, and for how long."""

from __future__ import annotations

from uuid import UUID

import pytest
from following import BACKOFF_NS, Follower, batch

from highwater_runtime.broker.delta import Delta
from highwater_runtime.broker.replication_quota import WINDOW_NS, WINDOWS, ReplicationQuota, ReplicationQuotas
from highwater_runtime.metadata import MetadataImage
from highwater_runtime.ports import MS, SECOND
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from highwater_runtime.wire.messages.config_record import ConfigRecord
from highwater_runtime.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from highwater_runtime.wire.messages.remove_topic_record import RemoveTopicRecord
from highwater_runtime.wire.messages.topic_record import TopicRecord

TOPIC_CONFIG, BROKER_CONFIG = 2, 4
REPLICAS = {"leader": "leader.replication.throttled.replicas", "follower": "follower.replication.throttled.replicas"}
RATES = {"leader": "leader.replication.throttled.rate", "follower": "follower.replication.throttled.rate"}


def test_a_rate_counts_the_last_eleven_windows():
    now = 0
    quota = ReplicationQuota(lambda: now)
    quota.record(1)
    quota.throttle("orders", frozenset({0}))
    assert not quota.is_exceeded, "there is no rate to exceed"
    quota.rate = 1000
    quota.record(4000)
    for now, exceeded in ((0, True), (4 * SECOND, True), (4001 * MS, False)):
        assert quota.is_exceeded is exceeded, now
    quota.record(20_000)
    now = 4001 * MS + WINDOWS * WINDOW_NS - 1
    assert quota.is_exceeded, "20,000 bytes in eleven seconds"
    now += 1
    assert not quota.is_exceeded, "they are forgotten"
    quota.record(1001)
    assert quota.is_exceeded, "a young window counts as a whole one"
    quota.throttle("orders", frozenset())
    assert not quota.is_exceeded, "nothing is throttled any more"


def test_a_follower_that_is_not_in_sync_leaves_a_throttled_partition_out(bench):
    follower = Follower(bench)
    follower.quota.rate = 10
    follower.quota.throttle("orders", frozenset({0}))
    follower.follow(2, 4)
    records = batch(0, 2, 4)
    follower.answer(records=records, high_watermark=5)
    asked = len(follower.wire.sent)
    seconds = len(records) // 10
    follower.pass_time((seconds - 1) * SECOND)
    assert len(follower.wire.sent) == asked, "nothing is asked while the quota is exceeded"
    follower.pass_time(SECOND + BACKOFF_NS)
    assert follower.asked.fetch_offset == 2
    follower.answer(records=batch(2, 3, 4), high_watermark=5)
    assert follower.asked.fetch_offset == 5, "at the high watermark it is in sync, and not held back"


def test_a_partition_that_is_not_throttled_is_fetched_on(bench):
    follower = Follower(bench)
    follower.quota.rate = 10
    follower.quota.throttle("orders", frozenset({1}))
    follower.follow(2, 4)
    follower.answer(records=batch(0, 2, 4), high_watermark=5)
    assert follower.asked.fetch_offset == 2
    assert not follower.quota.is_exceeded


def _alter(cluster, changes):
    """``changes``: (resource type, name) → property → value (None deletes it)."""
    resources = [
        AlterConfigsResource(
            resource_type=kind,
            resource_name=name,
            configs=[
                AlterableConfig(name=key, config_operation=0 if value is not None else 1, value=value)
                for key, value in values.items()
            ],
        )
        for (kind, name), values in changes.items()
    ]
    response = cluster.ask("broker-0", IncrementalAlterConfigsRequest(resources=resources), 1)
    assert {one.error_code for one in response.responses} == {ErrorCode.NONE}, response


def _reassign(cluster, replicas):
    partition = ReassignablePartition(partition_index=0, replicas=replicas)
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name="orders", partitions=[partition])], timeout_ms=10_000
    )
    response = cluster.ask("broker-0", request, 0)
    assert response.responses[0].partitions[0].error_code == ErrorCode.NONE, response


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_a_throttled_move_is_held_back_and_members_of_the_isr_are_not(make_cluster, side):
    """Some 40,000 bytes at 1,000 a second take forty seconds, by either of the two quotas."""
    cluster = make_cluster(config={"replica.fetch.max.bytes": 2000})
    cluster.create_topic([0, 1])
    for index in range(40):
        assert cluster.produce(bytes([index]) * 1000).error_code == ErrorCode.NONE
    limited = "0" if side == "leader" else "2"
    brokers = {(BROKER_CONFIG, limited): {RATES[side]: "1000"}}
    _alter(cluster, {(TOPIC_CONFIG, "orders"): {REPLICAS[side]: f"0:{limited}"}, **brokers})
    began = cluster.sim.now_ns
    _reassign(cluster, [0, 2])
    cluster.run(20)
    assert cluster.leader().isr.committed == (0, 1), "the new replica is held back"
    for index in range(10):
        assert cluster.produce(bytes([index]) * 1000).error_code == ErrorCode.NONE, "the ISR is not"
    cluster.until(lambda: cluster.leader().isr.committed == (0, 2), 120)
    assert cluster.sim.now_ns - began > 35 * SECOND
    assert len(cluster.values(2)) == 50


def test_a_throttle_ends_with_its_configuration(make_cluster):
    cluster = make_cluster(config={"replica.fetch.max.bytes": 2000})
    cluster.create_topic([0, 1])
    for index in range(40):
        cluster.produce(bytes([index]) * 1000)
    everybody = {(BROKER_CONFIG, ""): {RATES["leader"]: "10", RATES["follower"]: "10"}}
    _alter(cluster, {(TOPIC_CONFIG, "orders"): dict.fromkeys(REPLICAS.values(), "*"), **everybody})
    _reassign(cluster, [0, 2])
    cluster.run(30)
    assert cluster.leader().isr.committed == (0, 1)
    gone = {
        (BROKER_CONFIG, ""): dict.fromkeys(RATES.values()),
        (TOPIC_CONFIG, "orders"): dict.fromkeys(REPLICAS.values()),
    }
    _alter(cluster, gone)
    cluster.until(lambda: cluster.leader().isr.committed == (0, 2), 10)


def test_a_throttle_ends_with_its_topic():
    """Its name may return, as another topic without one."""
    image, now = MetadataImage(), 0
    quotas, topic_id = ReplicationQuotas(0, lambda: now), UUID(int=7)

    def publish(*records):
        delta = Delta()
        for record in records:
            delta.note(image.apply(record, image.offset + 1))
        quotas.configure(image, delta.configs)

    created = TopicRecord(name="orders", topic_id=topic_id)
    publish(created, ConfigRecord(resource_type=2, resource_name="orders", name=REPLICAS["leader"], value="0:0"))
    assert quotas.leader.is_throttled("orders", 0)
    publish(RemoveTopicRecord(topic_id=topic_id), TopicRecord(name="orders", topic_id=UUID(int=8)))
    assert not quotas.leader.is_throttled("orders", 0)


def test_a_cancelled_move_leaves_the_old_replicas_and_no_log_of_the_new_ones(make_cluster):
    cluster = make_cluster(config={"replica.fetch.max.bytes": 2000})
    cluster.create_topic([0, 1])
    for index in range(40):
        cluster.produce(bytes([index]) * 1000)
    _alter(
        cluster,
        {(TOPIC_CONFIG, "orders"): {REPLICAS["leader"]: "*"}, (BROKER_CONFIG, ""): {RATES["leader"]: "10"}},
    )
    _reassign(cluster, [2])
    cluster.until(lambda: cluster.replica(2) is not None)
    _reassign(cluster, None)
    cluster.until(lambda: cluster.replica(2) is None)
    _alter(cluster, {(BROKER_CONFIG, ""): {RATES["leader"]: None}})
    cluster.run(10)
    assert (cluster.leader().replicas, cluster.leader().isr.committed) == ((0, 1), (0, 1))
    assert cluster.replica(2) is None
