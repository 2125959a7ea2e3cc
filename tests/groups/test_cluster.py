"""Groups on a cluster in the simulator: the offsets topic, commits, and coordinators that fail."""

from __future__ import annotations

import pytest
from group_consumer import NONE, Consumer, commit, commit_request, fetch

from highwater_runtime.broker.groups.records import partition_for
from highwater_runtime.log.records import build_batch
from highwater_runtime.metadata.topic_names import GROUP_OFFSETS_TOPIC
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.delete_groups_request import DeleteGroupsRequest
from highwater_runtime.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from highwater_runtime.wire.messages.describe_groups_request import DescribeGroupsRequest
from highwater_runtime.wire.messages.find_coordinator_request import FindCoordinatorRequest
from highwater_runtime.wire.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from highwater_runtime.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from highwater_runtime.wire.messages.list_groups_request import ListGroupsRequest
from highwater_runtime.wire.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from highwater_runtime.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
)
from highwater_runtime.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData

# --- the coordinator and its topic ----------------------------------------------------------------------------------


def test_there_is_no_offsets_topic_before_somebody_asks_for_a_coordinator(cluster):
    cluster.run(30)
    assert GROUP_OFFSETS_TOPIC not in cluster.broker(0).image.topics_by_name
    (answer,) = cluster.ask(1, FindCoordinatorRequest(coordinator_keys=["readers"], key_type=0), 4).coordinators
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    cluster.until(lambda: GROUP_OFFSETS_TOPIC in cluster.broker(0).image.topics_by_name, 2)
    topic = cluster.broker(0).image.topics_by_name[GROUP_OFFSETS_TOPIC]
    assert [len(p.replicas) for p in topic.partitions.values()] == [3, 3, 3, 3]
    assert cluster.broker(0).image.topic_config(GROUP_OFFSETS_TOPIC)["cleanup.policy"] == "compact"


def test_every_broker_names_the_leader_of_the_groups_partition(cluster):
    cluster.coordinator()
    cluster.run(1)
    topic = cluster.broker(0).image.topics_by_name[GROUP_OFFSETS_TOPIC]
    for group in ("readers", "writers", "", "ünïcode-группа"):
        leader = topic.partitions[partition_for(group, 4)].leader
        assert [cluster.coordinator(group, at=b) for b in range(3)] == [leader] * 3


def test_before_v4_one_coordinator_is_asked_for(cluster):
    to = cluster.coordinator()
    response = cluster.ask(0, FindCoordinatorRequest(key="readers"), 3)
    assert (response.error_code, response.node_id, response.host, response.port) == (NONE, to, f"broker-{to}", 9092)


def test_transactions_have_no_coordinator(cluster):
    response = cluster.ask(0, FindCoordinatorRequest(coordinator_keys=["t"], key_type=1), 4)
    assert response.coordinators[0].error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_one_broker_needs_a_replication_factor_of_one(make_cluster):
    alone = make_cluster(brokers=1)
    for _ in range(3):
        (answer,) = alone.ask(0, FindCoordinatorRequest(coordinator_keys=["readers"], key_type=0), 4).coordinators
        assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        alone.run(1)
    alone = make_cluster(brokers=1, config={"offsets.topic.replication.factor": 1})
    assert alone.coordinator(within_s=2) == 0


def test_who_is_not_the_coordinator_says_so(cluster):
    other = (cluster.coordinator() + 1) % 3
    assert commit(cluster, 1, to=other) is ErrorCode.NOT_COORDINATOR
    assert fetch(cluster, to=other) is ErrorCode.NOT_COORDINATOR
    consumer = Consumer(cluster)
    consumer.to = other
    assert consumer.join() is ErrorCode.NOT_COORDINATOR
    assert consumer.heartbeat() is ErrorCode.NOT_COORDINATOR


def test_clients_do_not_write_to_the_offsets_topic(cluster):
    to = cluster.coordinator()
    data = PartitionProduceData(index=partition_for("readers", 4), records=build_batch([b"x"], timestamp_ms=1))
    request = ProduceRequest(
        acks=1, timeout_ms=1000, topic_data=[TopicProduceData(name=GROUP_OFFSETS_TOPIC, partition_data=[data])]
    )
    response = cluster.ask(to, request, 9)
    assert response.responses[0].partition_responses[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


# --- offsets --------------------------------------------------------------------------------------------------------


def test_an_offset_without_a_group_is_committed_and_fetched(cluster):
    assert fetch(cluster) == (NONE, -1, -1, "")
    assert commit(cluster, 42, metadata="half way") is NONE
    assert fetch(cluster) == (NONE, 42, 3, "half way")
    assert commit(cluster, 41) is NONE, "an application may go back"
    assert fetch(cluster) == (NONE, 41, 3, "")


@pytest.mark.parametrize("version", range(1, 10))
def test_offsets_are_fetched_in_every_version(cluster, version):
    to = cluster.coordinator()
    commit(cluster, 42)
    if version >= 8:
        asked = OffsetFetchRequestGroup(group_id="readers", topics=None)
        (group,) = cluster.ask(to, OffsetFetchRequest(groups=[asked]), version).groups
        topics = group.topics
    else:
        wanted = None if version >= 2 else [OffsetFetchRequestTopic(name="orders", partition_indexes=[0])]
        topics = cluster.ask(to, OffsetFetchRequest(group_id="readers", topics=wanted), version).topics
    assert [(t.name, [(p.partition_index, p.committed_offset) for p in t.partitions]) for t in topics] == [
        ("orders", [(0, 42)])
    ]


@pytest.mark.parametrize("version", range(2, 10))
def test_offsets_are_committed_in_every_version(cluster, version):
    assert commit(cluster, 42, version=version) is NONE
    assert fetch(cluster)[:3] == (NONE, 42, 3 if version >= 6 else -1)


def test_version_1_tells_an_error_of_each_partition(cluster):
    other = (cluster.coordinator() + 1) % 3
    wanted = [OffsetFetchRequestTopic(name="orders", partition_indexes=[0, 1])]
    response = cluster.ask(other, OffsetFetchRequest(group_id="readers", topics=wanted), 1)
    assert [p.error_code for p in response.topics[0].partitions] == [ErrorCode.NOT_COORDINATOR] * 2


def test_what_may_not_be_committed(cluster):
    assert commit(cluster, 1, topic="nowhere") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert commit(cluster, 1, index=99) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert commit(cluster, 1, metadata="x" * 4097) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert commit(cluster, 1, generation=5, member="old") is ErrorCode.ILLEGAL_GENERATION
    member = Consumer(cluster).enter()
    assert commit(cluster, 1) is ErrorCode.UNKNOWN_MEMBER_ID, "the group has members now"
    assert commit(cluster, 1, generation=member.generation - 1, member=member.member_id) is ErrorCode.ILLEGAL_GENERATION
    assert member.commit(7) is NONE
    assert fetch(cluster)[1] == 7


def test_a_commit_between_join_and_assignment_is_refused(cluster):
    member = Consumer(cluster)
    assert member.join() is NONE
    assert member.commit(1) is ErrorCode.REBALANCE_IN_PROGRESS
    assert member.sync() is NONE
    assert member.commit(1) is NONE


def test_a_commit_waits_for_its_followers(cluster):
    to = cluster.coordinator()
    commit(cluster, 1)
    others = [b for b in range(3) if b != to]
    for other in others:
        cluster.sim.faults.cut(f"broker-{to}", f"broker-{other}")
    answers = cluster.send(to, commit_request(2), 8, channel="waiting")
    cluster.run(0.5)
    assert answers == []
    assert fetch(cluster, to=to)[1] == 1, "not committed yet"
    assert fetch(cluster, to=to, stable=True)[0] is ErrorCode.UNSTABLE_OFFSET_COMMIT
    cluster.until(lambda: bool(answers), 10)
    error = ErrorCode(answers[0].topics[0].partitions[0].error_code)
    # Either the others left the ISR, so that it is committed without them, or time was up, or another leads.
    assert error in (NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)


def test_too_small_an_isr_takes_no_commits(make_cluster):
    cluster = make_cluster(config={"min.insync.replicas": 2})
    cluster.create_topic()
    to = cluster.coordinator()
    assert commit(cluster, 1) is NONE
    for other in range(3):
        if other != to:
            cluster.sim.kill(f"broker-{other}")
    cluster.run(10)
    assert commit(cluster, 2, to=to) is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_offsets_are_deleted_unless_somebody_subscribes(cluster):
    cluster.create_topic("payments")
    to = cluster.coordinator()
    for topic in ("orders", "payments"):
        assert commit(cluster, 5, topic=topic) is NONE
    Consumer(cluster, topics=["orders"]).enter()
    request = OffsetDeleteRequest(
        group_id="readers",
        topics=[
            OffsetDeleteRequestTopic(name=t, partitions=[OffsetDeleteRequestPartition(partition_index=0)])
            for t in ("orders", "payments")
        ],
    )
    response = cluster.ask(to, request, 0)
    assert [t.partitions[0].error_code for t in response.topics] == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, NONE]
    assert (fetch(cluster)[1], fetch(cluster, topic="payments")[1]) == (5, -1)
    assert cluster.ask(to, OffsetDeleteRequest(group_id="x" + "readers"), 0).error_code in (
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.NOT_COORDINATOR,
    )


def test_the_offsets_of_a_deleted_topic_go_with_it(cluster):
    assert commit(cluster, 5) is NONE
    cluster.ask(0, DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=5000), 6)
    cluster.run(1)
    assert fetch(cluster)[1] == -1


def test_offsets_expire_once_the_group_is_empty_for_long(make_cluster):
    cluster = make_cluster(config={"offsets.retention.minutes": 1, "offsets.retention.check.interval.ms": 1000})
    cluster.create_topic(replication_factor=3)
    member = Consumer(cluster).enter()
    assert member.commit(5) is NONE
    for _ in range(25):
        cluster.run(4)
        assert member.heartbeat() is NONE
    assert fetch(cluster)[1] == 5, "the group has a member that subscribes to the topic"
    cluster.run(20)
    assert fetch(cluster)[1] == 5
    cluster.run(60)
    assert fetch(cluster)[1] == -1
    listed = cluster.ask(member.to, ListGroupsRequest(), 4)
    assert (listed.error_code, listed.groups) == (NONE, []), "and so is the group"
    # The next coordinator does not know it either.
    cluster.sim.power_loss(f"broker-{member.to}")
    cluster.until(lambda: cluster.coordinator(at=(member.to + 1) % 3) != member.to, 20)
    assert fetch(cluster, to=cluster.coordinator(at=(member.to + 1) % 3))[1] == -1


# --- groups ---------------------------------------------------------------------------------------------------------


def test_a_group_is_listed_described_left_and_deleted(cluster):
    member = Consumer(cluster, instance="static").enter()
    to = member.to
    listed = cluster.ask(to, ListGroupsRequest(states_filter=["Stable"]), 5).groups
    assert [(g.group_id, g.protocol_type, g.group_state, g.group_type) for g in listed] == [
        ("readers", "consumer", "Stable", "classic")
    ]
    assert cluster.ask(to, ListGroupsRequest(states_filter=["Empty"]), 4).groups == []
    (described,) = cluster.ask(to, DescribeGroupsRequest(groups=["readers"]), 5).groups
    assert (described.group_state, described.protocol_data) == ("Stable", "range")
    (described_member,) = described.members
    assert (described_member.member_id, described_member.group_instance_id) == (member.member_id, "static")
    assert described_member.member_assignment == member.member_id.encode()
    assert described_member.client_host.startswith("/")
    delete = DeleteGroupsRequest(groups_names=["readers"])
    assert cluster.ask(to, delete, 2).results[0].error_code == ErrorCode.NON_EMPTY_GROUP
    leaving = [MemberIdentity(member_id="", group_instance_id="static"), MemberIdentity(member_id="nobody")]
    leave = LeaveGroupRequest(group_id="readers", members=leaving)
    left = cluster.ask(to, leave, 5)
    assert [m.error_code for m in left.members] == [NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    assert cluster.ask(to, DescribeGroupsRequest(groups=["readers"]), 5).groups[0].group_state == "Empty"
    assert cluster.ask(to, delete, 2).results[0].error_code == NONE
    assert cluster.ask(to, delete, 2).results[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert cluster.ask(to, DescribeGroupsRequest(groups=["readers"]), 5).groups[0].group_state == "Dead"
    missing = cluster.ask(to, DescribeGroupsRequest(groups=["readers"]), 6).groups[0]
    assert missing.error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_without_a_name_is_refused(cluster):
    consumer = Consumer(cluster, group="")
    assert consumer.join() is ErrorCode.INVALID_GROUP_ID
    assert consumer.heartbeat() is ErrorCode.INVALID_GROUP_ID


def test_a_session_time_out_out_of_bounds_is_refused(cluster):
    request = JoinGroupRequest(
        group_id="readers",
        session_timeout_ms=5999,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    assert cluster.ask(cluster.coordinator(), request, 5).error_code == ErrorCode.INVALID_SESSION_TIMEOUT


@pytest.mark.parametrize("version", range(10))
def test_groups_are_joined_in_every_version(cluster, version):
    to = cluster.coordinator()
    request = JoinGroupRequest(
        group_id="readers",
        session_timeout_ms=6000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    response = cluster.ask(to, request, version)
    if version >= 4:
        assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED
        request.member_id = response.member_id
        response = cluster.ask(to, request, version)
    assert (response.error_code, response.generation_id, response.protocol_name) == (NONE, 1, "range")
