"""What clients of Kafka expect of a cluster beside produce and fetch: each API as a story, with its refusals."""

from __future__ import annotations

from struct import pack, pack_into

import cramjam
import pytest
from crc32c import crc32c

from highwater_runtime.log.records import HEADER_SIZE, LOG_OVERHEAD, Record, assemble_batch, build_batch, iter_batches
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from highwater_runtime.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from highwater_runtime.wire.messages.describe_cluster_request import DescribeClusterRequest
from highwater_runtime.wire.messages.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from highwater_runtime.wire.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from highwater_runtime.wire.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from highwater_runtime.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from highwater_runtime.wire.messages.init_producer_id_request import InitProducerIdRequest
from highwater_runtime.wire.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from highwater_runtime.wire.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from highwater_runtime.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from highwater_runtime.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData

NONE = ErrorCode.NONE


def list_offset(c, timestamp, *, to=None, version=7, topic="orders"):
    asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name=topic, partitions=[asked])])
    leader = c.leader(f"{topic}-0").leader_id if to is None else to
    return c.ask(f"broker-{leader}", request, version).topics[0].partitions[0]


# --- fetch sessions -----------------------------------------------------------------------------------------------


def test_a_consumer_in_a_session_waits_for_news_and_is_told_only_that(make_cluster, record_values):
    c = make_cluster()
    ids = [c.create_topic([0, 1], name=f"t{i}") for i in range(3)]

    def fetch(session_id, epoch, topics=(), max_wait_ms=0, then=None):
        request = FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_bytes=1 << 20,
            session_id=session_id,
            session_epoch=epoch,
            topics=[
                FetchTopic(
                    topic_id=topic,
                    partitions=[FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)],
                )
                for topic, offset in topics
            ],
        )
        if then is None:
            return c.ask("broker-0", request, 17, channel="consumer")
        return c.send("broker-0", request, 17, then, channel="consumer")

    def told(response):
        assert response.error_code == NONE
        return {t.topic_id: record_values(t.partitions[0].records) for t in response.responses}

    opened = fetch(0, 0, [(topic, 0) for topic in ids])
    assert told(opened) == {topic: [] for topic in ids}
    answers = []
    fetch(opened.session_id, 1, max_wait_ms=10_000, then=answers.append)
    c.run(1)
    assert answers == []
    c.produce(b"1", topic="t1")
    c.until(lambda: bool(answers), 0.5)
    assert told(answers[0]) == {ids[1]: [b"1"]}
    assert told(fetch(opened.session_id, 2, [(ids[1], 1)])) == {}
    assert fetch(opened.session_id, 2).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert fetch(opened.session_id + 1, 3).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_read_committed_sees_up_to_the_hw_as_there_are_no_transactions(make_cluster, record_values):
    c = make_cluster()
    topic_id = c.create_topic([0, 1])
    c.produce(b"1")
    request = c.fetch_request(topic_id, 0)
    request.isolation_level = 1
    data = c.ask("broker-0", request, 15).responses[0].partitions[0]
    assert (data.last_stable_offset, data.aborted_transactions, data.preferred_read_replica) == (1, [], -1)
    assert record_values(data.records) == [b"1"]
    assert c.fetch(topic_id, 0).aborted_transactions is None


def test_no_fetch_is_answered_with_more_than_the_broker_gives(make_cluster):
    c = make_cluster(config={"fetch.max.bytes": 1024})
    topic_id = c.create_topic([0, 1])
    for _ in range(4):
        c.produce(b"x" * 500)
    records = c.fetch(topic_id, 0, min_bytes=1 << 20, max_wait_ms=10_000).records
    assert 500 < len(records) <= 1024


@pytest.mark.parametrize(("version", "error"), [(9, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE), (10, NONE)])
def test_zstd_is_for_clients_that_know_it(make_cluster, version, error):
    c = make_cluster()
    c.create_topic([0, 1])
    assert send(c, compressed(4)).error_code == NONE
    fetch = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    request = FetchRequest(max_wait_ms=0, max_bytes=1000, topics=[FetchTopic(topic="orders", partitions=[fetch])])
    data = c.ask("broker-0", request, version).responses[0].partitions[0]
    assert (data.error_code, bool(data.records)) == (error, error is NONE)


def test_who_asks_the_wrong_broker_is_told_where_the_leader_is(make_cluster):
    c = make_cluster()
    topic_id = c.create_topic([0, 1])
    for broker in (1, 2):  # a follower, and a broker without a replica
        fetched = c.ask(f"broker-{broker}", c.fetch_request(topic_id, 0), 16, channel="fetch")
        produced = c.ask(f"broker-{broker}", c.produce_request(b"1"), 10)
        for data in (fetched.responses[0].partitions[0], produced.responses[0].partition_responses[0]):
            assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (0, 0)
        for response in (fetched, produced):
            assert [(e.node_id, e.host) for e in response.node_endpoints] == [(0, "broker-0")]


# --- produce ------------------------------------------------------------------------------------------------------


def with_attributes(batch, attributes):
    data = bytearray(batch)
    pack_into(">h", data, 21, attributes)
    pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    return bytes(data)


ONE = build_batch([b"1"], timestamp_ms=1000)


def compressed(codec):
    compress = {1: cramjam.gzip, 4: cramjam.zstd}[codec].compress
    batch = ONE[:HEADER_SIZE] + bytes(compress(ONE[HEADER_SIZE:]))
    return with_attributes(batch[:8] + pack(">i", len(batch) - LOG_OVERHEAD) + batch[12:], codec)


def send(c, records, *, version=9, topic="orders"):
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=records)])
    response = c.ask("broker-0", ProduceRequest(acks=-1, timeout_ms=3000, topic_data=[data]), version)
    return response.responses[0].partition_responses[0]


def test_what_no_producer_may_write(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1])
    transactional = build_batch([b"1"], producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    assert send(c, transactional).error_code == ErrorCode.INVALID_TXN_STATE
    assert send(c, with_attributes(ONE, 0x08)).error_code == ErrorCode.INVALID_TIMESTAMP
    unknown = send(c, with_attributes(ONE, 5))
    assert unknown.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert "codec-5" in unknown.error_message
    assert send(c, compressed(4), version=6).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert send(c, compressed(1), version=6).error_code == NONE, "gzip is as old as Produce"
    assert c.leader().log.log_end_offset == 1


def test_a_refusal_names_the_records_and_leaves_the_partition_readable(make_cluster, record_values):
    c = make_cluster()
    topic_id = c.create_topic([0, 1], configs={"cleanup.policy": "compact"})
    keyless = send(c, build_batch([Record(key=b"k", value=b"1"), b"2"], timestamp_ms=1000))
    assert (keyless.error_code, keyless.base_offset) == (ErrorCode.INVALID_RECORD, -1)
    assert [error.batch_index for error in keyless.record_errors] == [1]
    five = assemble_batch(
        ONE[HEADER_SIZE:], record_count=5, attributes=0, base_offset=0, last_offset=4, leader_epoch=-1
    )
    assert (len(five), send(c, five).error_code) == (69, ErrorCode.INVALID_RECORD)
    assert send(c, build_batch([Record(key=b"k", value=b"3")], timestamp_ms=1000)).base_offset == 0
    assert record_values(c.fetch(topic_id, 0).records) == [b"3"]


def test_a_leader_dates_records_where_the_topic_says_so(make_cluster):
    c = make_cluster()
    topic_id = c.create_topic([0, 1], configs={"message.timestamp.type": "LogAppendTime"})
    now = c.sim.node("broker-0").core._ports.clock.wall_ms()
    answer = c.produce(b"1", b"2")
    assert now <= answer.log_append_time_ms <= now + 100
    (batch,) = iter_batches(c.fetch(topic_id, 0).records)
    batch.ensure_valid()
    assert [r.timestamp for r in batch.records()] == [answer.log_append_time_ms] * 2
    assert c.replica(0).log.batch_marks(0, 2) == c.replica(1).log.batch_marks(0, 2)
    assert list_offset(c, answer.log_append_time_ms).offset == 0
    c.create_topic([0, 1], name="dated")
    assert c.produce(b"1", topic="dated").log_append_time_ms == -1


def test_a_producer_that_wants_a_newer_epoch_gets_a_new_id(make_cluster):
    c = make_cluster()
    first = c.ask("broker-0", InitProducerIdRequest(transactional_id=None), 5).producer_id
    again = c.ask("broker-0", InitProducerIdRequest(transactional_id=None, producer_id=first, producer_epoch=3), 5)
    assert (again.error_code, again.producer_epoch, again.producer_id == first) == (NONE, 0, False)
    half = c.ask("broker-0", InitProducerIdRequest(transactional_id=None, producer_id=first), 5)
    assert half.error_code == ErrorCode.INVALID_REQUEST


# --- offsets ------------------------------------------------------------------------------------------------------


def test_special_timestamps_mean_what_they_meant_when_the_version_was_made(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1])
    c.produce(b"1")
    c.produce(b"2")
    assert [list_offset(c, t, version=9).offset for t in (-1, -2, -3, -4, -5)] == [2, 0, 0, 0, -1]
    for timestamp, version in ((-3, 6), (-4, 7), (-5, 8), (-6, 10)):
        assert list_offset(c, timestamp, version=version).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_a_partition_that_is_named_twice_is_refused(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1])
    asked = [ListOffsetsPartition(partition_index=index, timestamp=0) for index in (0, 1, 0)]
    answer = c.ask("broker-0", ListOffsetsRequest(topics=[ListOffsetsTopic(name="orders", partitions=asked)]), 7)
    assert [partition.error_code for partition in answer.topics[0].partitions] == [
        ErrorCode.INVALID_REQUEST,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_REQUEST,
    ]


# --- deleting records ---------------------------------------------------------------------------------------------


def delete_records(c, offset, *, to=0, topic="orders", timeout_ms=5000):
    partition = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=topic, partitions=[partition])], timeout_ms=timeout_ms
    )
    answer = c.ask(f"broker-{to}", request, 2).topics[0].partitions[0]
    return ErrorCode(answer.error_code), answer.low_watermark


def test_deleted_records_are_gone_on_every_replica_and_stay_so_under_the_next_leader(make_cluster, record_values):
    c = make_cluster(controllers=3)
    topic_id = c.create_topic([0, 1, 2])
    for value in (b"0", b"1", b"2", b"3"):
        c.produce(value)
    assert delete_records(c, 2) == (NONE, 2)
    assert [replica.log.log_start_offset for replica in c.replicas()] == [2, 2, 2]
    assert c.fetch(topic_id, 1).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    data = c.fetch(topic_id, 2)
    assert (data.log_start_offset, record_values(data.records)) == (2, [b"2", b"3"])
    assert list_offset(c, -2).offset == 2
    assert delete_records(c, 1) == (NONE, 2), "it never goes back"
    c.sim.kill("broker-0")
    c.until(lambda: c.leads(1) or c.leads(2))
    assert list_offset(c, -2).offset == 2
    assert delete_records(c, -1, to=c.leader().leader_id) == (NONE, 4)
    c.sim.start("broker-0")
    c.until(lambda: c.replica(0) is not None and c.replica(0).log.log_start_offset == 4, 15)


def test_a_deletion_waits_for_followers_that_live_and_for_no_others(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1, 2])
    c.produce(b"0")
    c.produce(b"1")
    cut = c.sim.faults.cut("broker-0", "broker-1")
    assert delete_records(c, 1, timeout_ms=1000) == (ErrorCode.REQUEST_TIMED_OUT, 0)
    assert c.replica(0).log.log_start_offset == 1, "on the leader it has happened"
    c.sim.faults.heal(cut)
    c.until(lambda: c.replica(1).log.log_start_offset == 1, 10)
    c.sim.kill("broker-1")
    answers = []
    partition = DeleteRecordsPartition(partition_index=0, offset=2)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name="orders", partitions=[partition])], timeout_ms=60_000
    )
    c.send("broker-0", request, 2, answers.append, within_s=90)
    c.until(lambda: bool(answers), 10)
    assert answers[0].topics[0].partitions[0].low_watermark == 2, "answered when the broker was fenced"


def test_a_replica_that_starts_over_where_the_leaders_log_begins_within_a_batch_joins(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1])
    c.produce(b"0", b"1", b"2")
    assert delete_records(c, 1) == (ErrorCode.NONE, 1)
    c.sim.kill("broker-1")
    c.until(lambda: c.leader().committed_isr == (0,), 10)
    c.sim.node("broker-1").disk.remove_tree("orders-0")
    c.sim.start("broker-1")
    c.until(lambda: sorted(c.leader().committed_isr) == [0, 1], 20)
    assert (c.replica(1).log.log_start_offset, c.values(1)) == (1, c.values(0))


def test_deletions_that_are_refused(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1])
    c.produce(b"0")
    assert delete_records(c, 2) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert delete_records(c, -2) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert delete_records(c, 0, to=1) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    assert delete_records(c, 0, topic="nothing") == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert delete_records(c, 0, topic="__consumer_offsets") == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)
    assert c.leader().log.log_start_offset == 0
    for name, policy, answer in (
        ("latest", "compact", (ErrorCode.POLICY_VIOLATION, -1)),
        ("both", "compact,delete", (NONE, 0)),
    ):
        c.create_topic([0, 1], name=name, configs={"cleanup.policy": policy})
        assert delete_records(c, 0, topic=name) == answer


# --- metadata -----------------------------------------------------------------------------------------------------


def metadata(c, *names, version=12, to="broker-0", **fields):
    topics = [MetadataRequestTopic(name=name) for name in names]
    return c.ask(to, MetadataRequest(topics=topics, **fields), version)


def test_a_topic_that_is_asked_for_is_created_once(make_cluster):
    c = make_cluster(config={"num.partitions": 2, "default.replication.factor": 2})
    for _ in range(2):
        assert metadata(c, "new").topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    c.until(lambda: "new" in c.broker(0).image.topics_by_name, 2)
    found = metadata(c, "new").topics[0]
    assert (found.error_code, len(found.partitions)) == (NONE, 2)
    assert {len(p.replica_nodes) for p in found.partitions} == {2}


def test_no_topic_is_created_where_the_broker_does_not_want_it(make_cluster):
    c = make_cluster(config={"auto.create.topics.enable": False})
    metadata(c, "new", allow_auto_topic_creation=True)
    c.run(2)
    assert c.broker(0).image.topics_by_name == {}


def test_topics_that_are_not_created_by_asking(make_cluster):
    c = make_cluster()
    answer = metadata(c, "no such name", "__consumer_offsets", "__cluster_metadata")
    assert [t.error_code for t in answer.topics] == [
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert [t.is_internal for t in answer.topics] == [False, True, False]
    metadata(c, "unwanted", allow_auto_topic_creation=False)
    c.run(2)
    assert c.broker(0).image.topics_by_name == {}


def test_a_topic_that_is_named_twice_is_described_once(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1])
    assert [topic.name for topic in metadata(c, "orders", "none", "orders").topics] == ["orders", "none"]


def test_operations_are_told_to_who_asks_for_them(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1])
    unasked = metadata(c, "orders", version=10)
    assert unasked.topics[0].topic_authorized_operations == unasked.cluster_authorized_operations == -(2**31)
    told = metadata(
        c,
        "orders",
        "nothing",
        version=10,
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    # READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS; bits as Kafka numbers operations
    assert told.topics[0].topic_authorized_operations == 0b1101_1111_1000
    assert told.topics[1].topic_authorized_operations == -(2**31)
    # CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE
    assert told.cluster_authorized_operations == 0b1_1111_1010_0000


def test_a_cluster_is_described_by_brokers_as_one_of_brokers(make_cluster):
    c = make_cluster()
    c.sim.kill("broker-2")
    c.until(lambda: c.broker(0).image.brokers[2].fenced, 10)
    live = c.ask("broker-0", DescribeClusterRequest(), 1)
    assert (live.controller_id, [b.broker_id for b in live.brokers]) == (0, [0, 1])
    everybody = c.ask("broker-0", DescribeClusterRequest(include_fenced_brokers=True), 2)
    assert [(b.broker_id, b.is_fenced) for b in everybody.brokers] == [(0, False), (1, False), (2, True)]
    controllers = c.ask("broker-0", DescribeClusterRequest(endpoint_type=2), 1)
    assert controllers.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
    assert c.ask("broker-0", DescribeClusterRequest(endpoint_type=3), 1).error_code == (
        ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
    )


# --- what the controller does for the clients of brokers ----------------------------------------------------------


def test_the_quorum_is_described_through_any_broker_across_a_change_of_leader(make_cluster):
    c = make_cluster(controllers=3)
    asked = TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])

    def described():
        return c.ask("broker-1", DescribeQuorumRequest(topics=[asked]), 2)

    before = described()
    leader = before.topics[0].partitions[0].leader_id
    assert [n.node_id for n in before.nodes] == [1000, 1001, 1002]
    assert {n.listeners[0].host for n in before.nodes} == {f"controller-{i}" for i in range(3)}
    c.sim.kill(f"controller-{leader - 1000}")
    after = described().topics[0].partitions[0]
    assert (after.error_code, after.leader_id == leader) == (NONE, False)
    assert [v.replica_id for v in after.current_voters] == [1000, 1001, 1002]


def test_reassignments_are_listed_through_a_broker(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1])
    answer = c.ask("broker-2", ListPartitionReassignmentsRequest(topics=None, timeout_ms=1000), 0)
    assert (answer.error_code, answer.topics) == (NONE, [])


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_preferred_election_is_forwarded_in_every_version(make_cluster, version):
    c = make_cluster(codec="all")
    c.create_topic([0, 1])
    request = ElectLeadersRequest(topic_partitions=[TopicPartitions(topic="orders", partitions=[0])], timeout_ms=3000)
    answer = c.ask("broker-1", request, version)
    assert answer.replica_election_results[0].partition_result[0].error_code == ErrorCode.ELECTION_NOT_NEEDED


@pytest.mark.parametrize("version", [0, 1])
def test_forwarding_ends_with_the_patience_of_the_client(make_cluster, version):
    c = make_cluster(codec="all")
    c.create_topic([0, 1])
    c.sim.kill("controller-0")
    request = ElectLeadersRequest(topic_partitions=[TopicPartitions(topic="orders", partitions=[0])], timeout_ms=700)
    before = c.sim.now_ns
    answer = c.ask("broker-1", request, version)
    assert 0.5e9 < c.sim.now_ns - before < 1e9
    error = answer.replica_election_results[0].partition_result[0].error_code if version == 0 else answer.error_code
    assert error == ErrorCode.REQUEST_TIMED_OUT


def test_topics_stay_where_deletion_is_off(make_cluster):
    c = make_cluster(config={"delete.topic.enable": False})
    c.create_topic([0, 1])
    asked = DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=3000)
    assert c.ask("broker-0", asked, 6).responses[0].error_code == ErrorCode.TOPIC_DELETION_DISABLED
    assert "orders" in c.broker(0).image.topics_by_name


def test_log_directories_are_described_with_their_sizes(make_cluster):
    c = make_cluster()
    c.create_topic([0, 1])
    c.create_topic([0, 1], name="other")
    c.until(lambda: len(c.broker(1).partitions) == 2)
    c.produce(b"x" * 1000)
    (everything,) = c.ask("broker-1", DescribeLogDirsRequest(topics=None), 4).results
    assert sorted(t.name for t in everything.topics) == ["orders", "other"]
    asked = DescribableLogDirTopic(topic="orders", partitions=[0, 7])
    (one,) = c.ask("broker-1", DescribeLogDirsRequest(topics=[asked]), 4).results
    assert [(t.name, [p.partition_index for p in t.partitions]) for t in one.topics] == [("orders", [0])]
    assert one.topics[0].partitions[0].partition_size == c.replica(1).log.size_in_bytes > 1000
    assert (one.error_code, one.total_bytes) == (NONE, -1)
