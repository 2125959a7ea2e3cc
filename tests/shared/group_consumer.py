"""A member of a group on a simulated cluster, and what it commits."""

from __future__ import annotations

from highwater_runtime.broker.groups.group import NO_GENERATION
from highwater_runtime.ports import RpcFailure
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from highwater_runtime.wire.messages.heartbeat_request import HeartbeatRequest
from highwater_runtime.wire.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from highwater_runtime.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from highwater_runtime.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from highwater_runtime.wire.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from highwater_runtime.wire.versioned import encode_versioned

NONE = ErrorCode.NONE


def commit_request(
    offset, *, group="readers", member="", generation=NO_GENERATION, topic="orders", index=0, metadata=""
):
    partition = OffsetCommitRequestPartition(
        partition_index=index, committed_offset=offset, committed_leader_epoch=3, committed_metadata=metadata
    )
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member,
        topics=[OffsetCommitRequestTopic(name=topic, partitions=[partition])],
    )


def commit(cluster, offset, *, to=None, version=8, **fields):
    """Commit and return the partition's error, or the failure of the request."""
    to = cluster.coordinator(fields.get("group", "readers")) if to is None else to
    response = cluster.ask(to, commit_request(offset, **fields), version)
    return response if isinstance(response, RpcFailure) else ErrorCode(response.topics[0].partitions[0].error_code)


def fetch(cluster, *, to=None, group="readers", topic="orders", stable=False):
    """(error, offset, leader epoch, metadata) of what the group has committed."""
    to = cluster.coordinator(group) if to is None else to
    asked = OffsetFetchRequestGroup(
        group_id=group, topics=[OffsetFetchRequestTopics(name=topic, partition_indexes=[0])]
    )
    response = cluster.ask(to, OffsetFetchRequest(groups=[asked], require_stable=stable), 8)
    (answer,) = response.groups
    if answer.error_code != NONE:
        return ErrorCode(answer.error_code)
    (p,) = answer.topics[0].partitions
    return ErrorCode(p.error_code), p.committed_offset, p.committed_leader_epoch, p.metadata


class Consumer:
    """A member of a group, as far as the group can see it."""

    def __init__(self, cluster, group="readers", *, topics=("orders",), instance=None):
        self.cluster, self.group, self.instance = cluster, group, instance
        self.member_id, self.generation, self.assignment = "", NO_GENERATION, None
        self.subscription = encode_versioned(ConsumerProtocolSubscription(topics=list(topics)), 1)
        self.to = cluster.coordinator(group)

    def join(self):
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=6000,
            rebalance_timeout_ms=10_000,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=self.subscription)],
        )
        response = self.cluster.ask(self.to, request, 9, channel=f"member-{id(self)}")
        self.member_id = response.member_id
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            return self.join()
        self.generation = response.generation_id
        self.leader = response.leader == self.member_id
        self.members = [m.member_id for m in response.members]
        return ErrorCode(response.error_code)

    def sync(self):
        assignments = [SyncGroupRequestAssignment(member_id=m, assignment=m.encode()) for m in self.members]
        request = SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocol_name="range",
            assignments=assignments,
        )
        response = self.cluster.ask(self.to, request, 5)
        self.assignment = response.assignment
        return ErrorCode(response.error_code)

    def enter(self):
        assert self.join() is NONE
        assert self.sync() is NONE
        return self

    def heartbeat(self):
        request = HeartbeatRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
        )
        response = self.cluster.ask(self.to, request, 4)
        return response if isinstance(response, RpcFailure) else ErrorCode(response.error_code)

    def commit(self, offset):
        return commit(self.cluster, offset, to=self.to, member=self.member_id, generation=self.generation)
