"""Brokers, controllers and the simulator together: what clients are promised, told as stories."""

from __future__ import annotations

from dataclasses import replace

import pytest

from highwater_runtime.broker.apis.api_versions import LOWEST_SERVED, OFFERED
from highwater_runtime.log.records import iter_batches
from highwater_runtime.ports import RpcFailure
from highwater_runtime.ports.trace import (
    BecameLeader,
    BrokerStateChanged,
    LogLoaded,
    LogTruncated,
)
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.api_versions_request import ApiVersionsRequest
from highwater_runtime.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from highwater_runtime.wire.messages.fetch_request import ReplicaState
from highwater_runtime.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from highwater_runtime.wire.messages.init_producer_id_request import InitProducerIdRequest
from highwater_runtime.wire.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from highwater_runtime.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from highwater_runtime.wire.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from highwater_runtime.wire.registry import api_of

NONE = ErrorCode.NONE


def isr_is(cluster, *members, name="orders-0"):
    return lambda: sorted(cluster.leader(name).committed_isr) == sorted(members)


# --- produce and fetch --------------------------------------------------------------------------------------------


def test_an_acknowledged_record_is_on_every_member_of_the_isr(make_cluster, record_values):
    c = make_cluster(controllers=3)
    topic_id = c.create_topic([0, 1, 2])
    answer = c.produce(b"1", b"2")
    assert (answer.error_code, answer.base_offset) == (NONE, 0)
    assert [c.replica(b).log.log_end_offset for b in range(3)] == [2, 2, 2]
    fetched = c.fetch(topic_id, 0)
    assert (record_values(fetched.records), fetched.high_watermark) == ([b"1", b"2"], 2)


def test_consumers_see_what_is_below_the_hw_only(make_cluster):
    c = make_cluster()
    topic_id = c.create_topic([0, 1])
    c.produce(b"1")
    c.sim.faults.cut("broker-0", "broker-1")
    assert c.produce(b"2", acks=1).base_offset == 1
    below, at_hw = c.fetch(topic_id, 0), c.fetch(topic_id, 1)
    assert [b.last_offset for b in iter_batches(below.records)] == [0]
    assert (at_hw.error_code, at_hw.records, at_hw.high_watermark) == (NONE, b"", 1)
    assert c.fetch(topic_id, 2).error_code == NONE, "the LEO itself is in range"
    assert c.fetch(topic_id, 3).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_fetch_waits_for_data_and_no_longer_than_it_says(make_cluster, record_values):
    c = make_cluster()
    topic_id = c.create_topic([0, 1])
    answers = []
    c.send("broker-0", c.fetch_request(topic_id, 0, max_wait_ms=2000), 15, answers.append, channel="long-poll")
    c.run(1)
    assert answers == []
    c.produce(b"1")
    c.until(lambda: bool(answers), 0.1)
    assert record_values(answers[0].responses[0].partitions[0].records) == [b"1"]
    before = c.sim.now_ns
    assert c.fetch(topic_id, 1, max_wait_ms=700).records == b""
    assert 0.7e9 <= c.sim.now_ns - before < 0.75e9


def test_a_fetch_for_many_bytes_waits_for_many(make_cluster):
    c = make_cluster()
    topic_id = c.create_topic([0, 1])
    answers = []
    c.send("broker-0", c.fetch_request(topic_id, 0, max_wait_ms=5000, min_bytes=300), 15, answers.append, channel="x")
    c.produce(b"x" * 100)
    c.run(0.2)
    assert answers == []
    c.produce(b"x" * 100)
    c.until(lambda: bool(answers), 0.5)
    assert len(answers[0].responses[0].partitions[0].records) >= 300


def test_a_waiting_fetch_is_told_at_once_that_leadership_has_gone(make_cluster):
    c = make_cluster()
    topic_id = c.create_topic([0, 1])
    answers = []
    c.send("broker-0", c.fetch_request(topic_id, 0, max_wait_ms=60_000), 15, answers.append, within_s=90, channel="x")
    c.run(0.5)
    c.sim.stop("broker-0")
    c.until(lambda: bool(answers), 2)
    assert answers[0].responses[0].partitions[0].error_code in (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
    )


def test_acks_all_needs_min_isr_before_the_append(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1], configs={"min.insync.replicas": "2"})
    c.produce(b"1")
    c.sim.kill("broker-1")
    c.until(isr_is(c, 0))
    end = c.leader().log.log_end_offset
    assert c.produce(b"2").error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert c.leader().log.log_end_offset == end
    assert c.produce(b"3", acks=1).error_code == NONE
    assert c.leader().high_watermark == 1, "below min ISR nothing is committed"


def test_acks_all_that_loses_its_isr_after_the_append_is_told_or_times_out(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1], configs={"min.insync.replicas": "2"})
    c.sim.faults.cut("broker-0", "broker-1")
    answer = c.produce(b"1", timeout_ms=500)
    assert answer.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert c.leader().log.log_end_offset == 1


def test_raising_min_isr_after_the_append_is_told(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1])
    cut = c.sim.faults.cut("broker-0", "broker-1")
    answers = []
    c.send("broker-0", c.produce_request(b"1", timeout_ms=20_000), 9, answers.append)
    c.run(0.5)
    setting = AlterableConfig(name="min.insync.replicas", config_operation=0, value="2")
    resource = AlterConfigsResource(resource_type=2, resource_name="orders", configs=[setting])
    response = c.ask("broker-2", IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert response.responses[0].error_code == NONE
    c.until(isr_is(c, 0), 10)
    c.run(1)
    assert answers == [], "an ISR below the minimum commits nothing"
    c.sim.faults.heal(cut)
    c.until(lambda: bool(answers))
    assert answers[0].responses[0].partition_responses[0].error_code == NONE


def test_bad_requests_are_refused_before_the_log(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1])
    assert c.produce(b"1", acks=2).error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert c.produce(b"1", to=1).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert c.produce(b"1", to=2).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert c.produce(b"1", to=0, topic="nothing").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    corrupt = c.produce_request(b"1")
    data = corrupt.topic_data[0].partition_data[0]
    data.records = data.records[:-1] + bytes([data.records[-1] ^ 1])
    answer = c.ask("broker-0", corrupt, 9).responses[0].partition_responses[0]
    assert answer.error_code == ErrorCode.CORRUPT_MESSAGE
    two = c.produce_request(b"1")
    data = two.topic_data[0].partition_data[0]
    data.records = data.records * 2
    assert c.ask("broker-0", two, 9).responses[0].partition_responses[0].error_code == ErrorCode.INVALID_RECORD
    assert c.leader().log.log_end_offset == 0


# --- fail-over ----------------------------------------------------------------------------------------------------


def test_a_new_leader_has_all_that_was_acknowledged_and_the_old_one_cuts_the_rest(make_cluster):
    c = make_cluster(controllers=3)
    c.create_topic([0, 1, 2])
    c.produce(b"1")
    c.sim.faults.isolate("broker-0")
    unacknowledged = []
    client = c.sim.node("client").core
    c.sim.faults.heal_all()
    c.sim.faults.cut("broker-0", ["broker-1", "broker-2", "controller-0", "controller-1", "controller-2"])
    c.send("broker-0", c.produce_request(b"lost", acks=1), 9, unacknowledged.append)
    c.until(lambda: bool(unacknowledged))
    assert client is not None
    c.until(lambda: c.leads(1) or c.leads(2))
    assert c.leader().leader_id in (1, 2)
    assert c.produce(b"2").base_offset == 1
    c.sim.faults.heal_all()
    c.until(isr_is(c, 0, 1, 2))
    assert c.values(0) == c.values(1) == c.values(2) == [b"1", b"2"]
    (cut,) = [e for _, node, e in c.of_kind(LogTruncated) if node == "broker-0"]
    assert (cut.offset, cut.end_offset, cut.reason) == (1, 2, "diverging-epoch")


def test_a_duplicate_is_recognised_by_the_next_leader(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1, 2])
    producer_id = c.ask("broker-0", InitProducerIdRequest(transactional_id=None), 4).producer_id
    assert c.produce(b"1", producer_id=producer_id, sequence=0).base_offset == 0
    assert c.produce(b"2", producer_id=producer_id, sequence=1).base_offset == 1
    assert c.produce(b"1", producer_id=producer_id, sequence=0).base_offset == 0, "at the same leader"
    c.sim.kill("broker-0")
    c.until(lambda: c.leads(1) or c.leads(2))
    again = c.produce(b"2", producer_id=producer_id, sequence=1)
    assert (again.error_code, again.base_offset) == (NONE, 1)
    assert c.values(c.leader().leader_id) == [b"1", b"2"]
    assert c.produce(b"4", producer_id=producer_id, sequence=3).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_producer_ids_are_unique_over_brokers(make_cluster):
    c = make_cluster()
    ids = [c.ask(f"broker-{b}", InitProducerIdRequest(transactional_id=None), 4).producer_id for b in (0, 1, 0, 2, 1)]
    assert len(set(ids)) == 5
    refused = c.ask("broker-0", InitProducerIdRequest(transactional_id="t"), 4)
    assert refused.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_controlled_shutdown_moves_leadership_first_and_the_next_start_is_clean(make_cluster):
    c = make_cluster(controllers=3)
    c.create_topic([0, 1])
    c.produce(b"1")
    stopped = []
    at = c.sim.now_ns
    c.sim.stop("broker-0", lambda: stopped.append(c.sim.now_ns))
    c.until(lambda: c.leads(1), 1)
    c.until(lambda: bool(stopped), 2)
    assert c.produce(b"2").error_code == NONE
    own = [e.reason for t, node, e in c.of_kind(BrokerStateChanged) if node == "broker-0" and t >= at]
    assert own == ["controlled-shutdown", "stopped"]
    c.sim.start("broker-0")
    c.until(isr_is(c, 0, 1))
    loaded = [e for t, node, e in c.of_kind(LogLoaded) if node == "broker-0" and t > at]
    assert [(e.reason, e.end_offset) for e in loaded] == [("clean", 1)]
    assert c.values(0) == c.values(1) == [b"1", b"2"]


# --- restarts -----------------------------------------------------------------------------------------------------


def test_a_restarted_broker_does_not_act_on_its_past(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1])
    c.produce(b"1")
    c.sim.kill("broker-0")
    c.until(lambda: c.leads(1), 10)
    at = c.sim.now_ns
    c.sim.start("broker-0")
    c.until(lambda: c.unfenced(0), 10)
    c.until(isr_is(c, 0, 1), 10)
    assert [e for t, node, e in c.of_kind(BecameLeader) if node == "broker-0" and t >= at] == []


def test_a_whole_cluster_that_loses_power_keeps_what_its_disks_kept(make_cluster):
    c = make_cluster(controllers=3)
    c.create_topic([0, 1, 2])
    for n in range(20):
        c.produce(str(n).encode())
    names = [name for name in c.sim.nodes if name != "client"]
    for name in names:
        c.sim.power_loss(name, keep="all")
    for name in names:
        c.sim.start(name)
    c.until(lambda: all(c.unfenced(b) for b in range(3)), 30)
    c.until(isr_is(c, 0, 1, 2), 30)
    assert c.produce(b"20").base_offset == 20
    assert [c.values(b) for b in range(3)] == [[str(n).encode() for n in range(21)]] * 3


# --- topics -------------------------------------------------------------------------------------------------------


def test_a_deleted_topic_goes_from_every_disk_and_a_new_one_of_its_name_is_empty(make_cluster):
    c = make_cluster()
    first = c.create_topic([0, 1])
    c.produce(b"1")
    c.sim.kill("broker-1")
    deletion = DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=5000)
    assert c.ask("broker-2", deletion, 6).responses[0].error_code == NONE
    c.until(lambda: c.replica(0) is None, 5)
    assert c.fetch(first, 0, to=0).error_code == ErrorCode.UNKNOWN_TOPIC_ID
    second = c.create_topic([0, 1])
    c.sim.start("broker-1")
    c.until(lambda: c.replica(1) is not None and c.unfenced(1), 15)
    c.until(isr_is(c, 0, 1), 15)
    assert first != second
    assert [c.values(b) for b in (0, 1)] == [[], []]
    assert c.replica(1).log.topic_id == second


def test_metadata_by_name_and_by_id(make_cluster):
    c = make_cluster()
    topic_id = c.create_topic([0, 1])
    everything = c.ask("broker-2", MetadataRequest(topics=None), 12)
    assert [(b.node_id, b.host, b.port) for b in everything.brokers] == [(b, f"broker-{b}", 9092) for b in range(3)]
    (topic,) = everything.topics
    (partition,) = topic.partitions
    assert (topic.name, topic.topic_id, partition.leader_id, partition.isr_nodes) == ("orders", topic_id, 0, [0, 1])
    by_id = c.ask("broker-2", MetadataRequest(topics=[MetadataRequestTopic(topic_id=topic_id, name=None)]), 12)
    assert by_id.topics[0].name == "orders"
    unknown = c.ask("broker-2", MetadataRequest(topics=[MetadataRequestTopic(name="nothing")]), 12)
    assert unknown.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert c.ask("broker-2", MetadataRequest(topics=[]), 12).topics == []
    c.sim.kill("broker-1")
    c.until(isr_is(c, 0), 10)
    after = c.ask("broker-2", MetadataRequest(topics=None), 12)
    assert [b.node_id for b in after.brokers] == [0, 2]
    assert after.topics[0].partitions[0].offline_replicas == [1]


def test_offsets_by_place_time_and_epoch(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1])
    for n in range(3):
        c.produce(str(n).encode())

    def offset(timestamp, **options):
        partition = ListOffsetsPartition(partition_index=0, timestamp=timestamp, **options)
        request = ListOffsetsRequest(topics=[ListOffsetsTopic(name="orders", partitions=[partition])])
        return c.ask("broker-0", request, 7).topics[0].partitions[0]

    assert (offset(-1).offset, offset(-2).offset) == (3, 0)
    assert offset(0).offset == 0
    assert offset(2_000).offset == -1, "no record is that new"
    assert offset(-3).timestamp == 1_000
    assert offset(-1, current_leader_epoch=5).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    asked = OffsetForLeaderPartition(partition=0, leader_epoch=0)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="orders", partitions=[asked])])
    end = c.ask("broker-0", request, 4).topics[0].partitions[0]
    assert (end.error_code, end.leader_epoch, end.end_offset) == (NONE, 0, 3)


# --- odds and ends ------------------------------------------------------------------------------------------------


def test_unknown_versions_are_answered(make_cluster):
    c = make_cluster()
    offered = c.ask("broker-0", ApiVersionsRequest(), 3)
    assert offered.error_code == NONE
    ranges = {v.api_key: (v.min_version, v.max_version) for v in offered.api_keys}
    assert ranges[0] == (0, 12), "Produce is offered from version 0"
    assert 56 not in ranges, "AlterPartition is not for clients"


@pytest.mark.parametrize("max_wait_ms", [0, 500])
def test_a_fetch_of_a_stranger_teaches_the_leader_nothing(make_cluster, max_wait_ms):
    c = make_cluster()
    topic_id = c.create_topic([0, 1])
    c.produce(b"1")
    request = c.fetch_request(topic_id, 0, max_wait_ms=max_wait_ms)
    request.replica_state = ReplicaState(replica_id=2, replica_epoch=c.broker(2).broker_epoch)
    answer = c.ask("broker-0", request, 15).responses[0].partitions[0]
    assert (answer.error_code, answer.records or b"") == (ErrorCode.UNKNOWN_LEADER_EPOCH, b"")
    assert sorted(c.leader().leading.followers) == [1]


def test_a_fetch_of_a_former_incarnation_moves_nothing(make_cluster):
    """KAFKA-15221. The HW and the ISR would count on records that went with the previous incarnation's disk."""
    c = make_cluster()
    topic_id = c.create_topic([0, 1])
    former = c.broker(1).broker_epoch
    c.sim.power_loss("broker-1", wipe=True)
    c.sim.start("broker-1")
    c.until(lambda: c.unfenced(1), 15)
    c.until(isr_is(c, 0, 1), 10)
    c.sim.faults.cut("broker-0", "broker-1")
    c.run(1)
    assert c.produce(b"1", acks=1).error_code == NONE
    leader = c.leader()
    before = replace(leader.leading.followers[1])
    request = c.fetch_request(topic_id, 1)
    request.replica_state = ReplicaState(replica_id=1, replica_epoch=former)
    answer = c.ask("broker-0", request, 15).responses[0].partitions[0]
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (leader.leading.followers[1], leader.high_watermark) == (before, 0)


def test_no_wake_up_is_lost_under_load(make_cluster):
    """Every acks=all produce in a healthy cluster is answered within a few round trips, never by a time-out."""
    c = make_cluster(seed=5)
    c.create_topic([0, 1, 2])
    assert c.produce(b"all replicas are there", acks=-1).error_code == NONE
    latencies: list[int] = []
    for n in range(300):
        sent = c.sim.now_ns
        c.send(
            "broker-0",
            c.produce_request(str(n).encode()),
            9,
            lambda r, sent=sent: (
                latencies.append(c.sim.now_ns - sent)
                if not isinstance(r, RpcFailure) and r.responses[0].partition_responses[0].error_code == NONE
                else latencies.append(10**12)
            ),
            channel=f"producer-{n % 7}",
        )
        c.run(0.003)
    c.until(lambda: len(latencies) == 300, 1)
    assert max(latencies) < 100_000_000, "a lost wake-up would wait for the next fetch time-out, 500 ms"
    assert c.leader().high_watermark == 301


def test_equal_seeds_give_equal_runs(make_cluster):
    def run() -> str:
        c = make_cluster(seed=11, controllers=3)
        c.create_topic([0, 1, 2])
        for n in range(5):
            c.produce(str(n).encode())
        c.sim.power_loss("broker-0")
        c.until(lambda: c.leads(1) or c.leads(2))
        c.sim.start("broker-0")
        c.until(isr_is(c, 0, 1, 2))
        return c.sim.digest()

    assert run() == run()


def _requests(c, topic_id) -> dict:
    """One request for each API that is offered, by key."""
    from highwater_runtime.wire.api_keys import ApiKey
    from highwater_runtime.wire.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
    from highwater_runtime.wire.messages.create_partitions_request import CreatePartitionsRequest
    from highwater_runtime.wire.messages.create_topics_request import CreateTopicsRequest
    from highwater_runtime.wire.messages.describe_cluster_request import DescribeClusterRequest
    from highwater_runtime.wire.messages.elect_leaders_request import ElectLeadersRequest
    from highwater_runtime.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
    from highwater_runtime.wire.messages.update_features_request import UpdateFeaturesRequest

    fetch = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    place = ListOffsetsPartition(partition_index=0, timestamp=-1)
    epoch = OffsetForLeaderPartition(partition=0, leader_epoch=0)
    return {
        ApiKey.PRODUCE: lambda v: c.produce_request(b"1", acks=1),
        ApiKey.FETCH: lambda v: FetchRequest(
            max_wait_ms=0, max_bytes=1000, topics=[FetchTopic(topic="orders", topic_id=topic_id, partitions=[fetch])]
        ),
        ApiKey.LIST_OFFSETS: lambda v: ListOffsetsRequest(topics=[ListOffsetsTopic(name="orders", partitions=[place])]),
        ApiKey.METADATA: lambda v: MetadataRequest(topics=[MetadataRequestTopic(name="orders")]),
        ApiKey.API_VERSIONS: lambda v: ApiVersionsRequest(),
        ApiKey.CREATE_TOPICS: lambda v: CreateTopicsRequest(topics=[], timeout_ms=1000),
        ApiKey.DELETE_TOPICS: lambda v: DeleteTopicsRequest(timeout_ms=1000),
        ApiKey.INIT_PRODUCER_ID: lambda v: InitProducerIdRequest(transactional_id=None),
        ApiKey.OFFSET_FOR_LEADER_EPOCH: lambda v: OffsetForLeaderEpochRequest(
            topics=[OffsetForLeaderTopic(topic="orders", partitions=[epoch])]
        ),
        ApiKey.CREATE_PARTITIONS: lambda v: CreatePartitionsRequest(timeout_ms=1000),
        ApiKey.ELECT_LEADERS: lambda v: ElectLeadersRequest(timeout_ms=1000, topic_partitions=[]),
        ApiKey.INCREMENTAL_ALTER_CONFIGS: lambda v: IncrementalAlterConfigsRequest(),
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: lambda v: AlterPartitionReassignmentsRequest(),
        ApiKey.UPDATE_FEATURES: lambda v: UpdateFeaturesRequest(),
        ApiKey.DESCRIBE_CLUSTER: lambda v: DescribeClusterRequest(),
    }


def test_everything_that_is_offered_is_served_in_every_version_by_leader_and_follower(make_cluster):
    c = make_cluster(codec="all")
    topic_id = c.create_topic([0, 1])
    requests = _requests(c, topic_id)
    for key, (lowest, highest) in OFFERED.items():
        for version in range(max(lowest, LOWEST_SERVED.get(key, 0)), highest + 1):
            for broker in ("broker-0", "broker-1"):
                request = requests[key](version) if key in requests else api_of(key).request()
                answer = c.ask(broker, request, version, within_s=5)
                assert not isinstance(answer, RpcFailure), f"{key.name} v{version}: {answer}"


def test_a_broker_that_lost_its_session_says_that_it_is_fenced_and_that_it_runs_again(make_cluster):
    cluster = make_cluster()
    cluster.events.clear()
    cluster.sim.pause("broker-1")
    cluster.until(lambda: cluster.broker(0).image.brokers[1].fenced)
    cluster.sim.resume("broker-1")
    cluster.until(lambda: cluster.unfenced(1))
    cluster.run(1)
    states = [event.reason for _, node, event in cluster.of_kind(BrokerStateChanged) if node == "broker-1"]
    assert states == ["fenced", "running"]
