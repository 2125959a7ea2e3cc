"""OffsetCommit, OffsetFetch and OffsetDelete as requests and responses.

Rules in words:

* Members commit in their generation. Another generation is ILLEGAL_GENERATION; between JoinGroup and the assignment it
  is REBALANCE_IN_PROGRESS. So the earlier owner of a partition cannot overwrite an offset.
* A client that assigns its partitions itself sends no generation and no member id. It may commit while the group is
  Empty.
* A commit keeps the session of its member alive.
* Old offsets are read while newer ones are being written, unless the reader asks for stable ones
  (UNSTABLE_OFFSET_COMMIT).
* Offsets of topics that members of the group subscribe to are not deleted (GROUP_SUBSCRIBED_TO_TOPIC).
"""

from __future__ import annotations

from typing import Final

from highwater_runtime.broker.groups.coordinator import GroupCoordinator
from highwater_runtime.broker.groups.group import CONSUMER_PROTOCOL_TYPE, Group
from highwater_runtime.broker.groups.offsets import NO_OFFSET, CommittedOffset, TopicPartition
from highwater_runtime.broker.groups.states import GroupState
from highwater_runtime.metadata import MetadataImage
from highwater_runtime.ports import InboundRequest
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.offset_commit_request import OffsetCommitRequest
from highwater_runtime.wire.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from highwater_runtime.wire.messages.offset_delete_request import OffsetDeleteRequest
from highwater_runtime.wire.messages.offset_delete_response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from highwater_runtime.wire.messages.offset_fetch_request import OffsetFetchRequest
from highwater_runtime.wire.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

MANY_GROUPS_SINCE: Final = 8
"""OffsetFetch: the version from which on one request asks for several groups."""
TOP_LEVEL_ERROR_SINCE: Final = 2
"""OffsetFetch: in earlier versions, an error of the whole request is in each partition."""

Asked = list[tuple[str, list[int]]]
"""Topics, each with partition indexes."""


class OffsetsApi:
    """What clients do with committed offsets."""

    def __init__(self, coordinator: GroupCoordinator, metadata_max_bytes: int) -> None:
        self._coordinator = coordinator
        self._metadata_max_bytes = metadata_max_bytes

    # --- commit ---------------------------------------------------------------------------------------------------

    def commit(self, request: InboundRequest, image: MetadataImage, now_ms: int) -> None:
        """Answer an OffsetCommitRequest, at once or when the offsets are committed."""
        body: OffsetCommitRequest = request.body
        errors: dict[TopicPartition, ErrorCode] = {}
        offsets: dict[TopicPartition, CommittedOffset] = {}
        for topic in body.topics:
            for p in topic.partitions:
                key = (topic.name, p.partition_index)
                metadata = p.committed_metadata or ""
                if image.partition(topic.name, p.partition_index) is None:
                    errors[key] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                elif len(metadata.encode()) > self._metadata_max_bytes:
                    errors[key] = ErrorCode.OFFSET_METADATA_TOO_LARGE
                else:
                    offsets[key] = CommittedOffset(
                        offset=p.committed_offset,
                        leader_epoch=p.committed_leader_epoch,
                        metadata=metadata,
                        commit_ms=now_ms,
                        expire_ms=now_ms + body.retention_time_ms if body.retention_time_ms >= 0 else None,
                    )

        def answer(error: ErrorCode) -> None:
            request.reply(
                OffsetCommitResponse(
                    topics=[
                        OffsetCommitResponseTopic(
                            name=topic.name,
                            partitions=[
                                OffsetCommitResponsePartition(
                                    partition_index=p.partition_index,
                                    error_code=errors.get((topic.name, p.partition_index), error),
                                )
                                for p in topic.partitions
                            ],
                        )
                        for topic in body.topics
                    ]
                )
            )

        here = self._coordinator.shard_for(body.group_id)
        if isinstance(here, ErrorCode):
            # Before anything of the topics: a broker that has just started knows none, and must not say so.
            errors.clear()
            answer(here)
            return
        if not offsets:
            answer(ErrorCode.NONE)
            return
        found = self._group_to_commit(body)
        if isinstance(found, ErrorCode):
            answer(found)
        else:
            self._coordinator.commit(found, offsets, answer)

    def _group_to_commit(self, body: OffsetCommitRequest) -> Group | ErrorCode:
        """The group, if this member may commit in it now."""
        found = self._coordinator.find(body.group_id)
        generation, member_id, instance_id = body.generation_id_or_member_epoch, body.member_id, body.group_instance_id
        if found is None:
            # A group without members begins with its first commit.
            return self._coordinator.find_or_create(body.group_id) if generation < 0 else ErrorCode.ILLEGAL_GENERATION
        if isinstance(found, ErrorCode):
            return found
        if generation < 0 and found.state is GroupState.EMPTY:
            return found
        error = found.check_member(member_id, instance_id)
        if error is not ErrorCode.NONE:
            return error
        if generation != found.generation:
            return ErrorCode.ILLEGAL_GENERATION
        self._coordinator.membership.heard_of(found, member_id)
        # It has joined this generation and does not know yet what it is to read.
        return ErrorCode.REBALANCE_IN_PROGRESS if found.state is GroupState.COMPLETING_REBALANCE else found

    # --- fetch ----------------------------------------------------------------------------------------------------

    def fetch(self, request: InboundRequest) -> None:
        body: OffsetFetchRequest = request.body
        if request.version >= MANY_GROUPS_SINCE:
            groups = []
            for asked in body.groups:
                wanted = None if asked.topics is None else [(t.name, t.partition_indexes) for t in asked.topics]
                groups.append(self._fetch_group(asked.group_id, wanted, body.require_stable))
            request.reply(OffsetFetchResponse(groups=groups))
            return
        wanted = None if body.topics is None else [(t.name, t.partition_indexes) for t in body.topics]
        group = self._fetch_group(body.group_id, wanted, body.require_stable)
        topics = [
            OffsetFetchResponseTopic(
                name=t.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=p.partition_index,
                        committed_offset=p.committed_offset,
                        committed_leader_epoch=p.committed_leader_epoch,
                        metadata=p.metadata,
                        error_code=p.error_code,
                    )
                    for p in t.partitions
                ],
            )
            for t in group.topics
        ]
        if group.error_code != ErrorCode.NONE and request.version < TOP_LEVEL_ERROR_SINCE:
            topics = [
                OffsetFetchResponseTopic(
                    name=name,
                    partitions=[
                        OffsetFetchResponsePartition(
                            partition_index=index,
                            committed_offset=NO_OFFSET,
                            metadata="",
                            error_code=group.error_code,
                        )
                        for index in indexes
                    ],
                )
                for name, indexes in wanted or []
            ]
        request.reply(OffsetFetchResponse(error_code=group.error_code, topics=topics))

    def _fetch_group(self, group_id: str, wanted: Asked | None, stable: bool) -> OffsetFetchResponseGroup:
        """What one group has committed; everything where ``wanted`` is None."""
        found = self._coordinator.find(group_id)
        if isinstance(found, ErrorCode):
            return OffsetFetchResponseGroup(group_id=group_id, error_code=found)
        if wanted is None:
            by_topic: dict[str, list[int]] = {}
            for (topic, index), _ in [] if found is None else found.offsets.items():
                by_topic.setdefault(topic, []).append(index)
            wanted = list(by_topic.items())
        topics = [
            OffsetFetchResponseTopics(name=name, partitions=[_committed(found, (name, i), stable) for i in indexes])
            for name, indexes in wanted
        ]
        return OffsetFetchResponseGroup(group_id=group_id, topics=topics, error_code=ErrorCode.NONE)

    # --- delete ---------------------------------------------------------------------------------------------------

    def delete(self, request: InboundRequest) -> None:
        """Answer an OffsetDeleteRequest, at once or when the offsets are gone for good."""
        body: OffsetDeleteRequest = request.body
        found = self._coordinator.find(body.group_id)
        if not isinstance(found, Group):
            request.reply(OffsetDeleteResponse(error_code=ErrorCode.GROUP_ID_NOT_FOUND if found is None else found))
            return
        if found.state is not GroupState.EMPTY and found.protocol_type != CONSUMER_PROTOCOL_TYPE:
            request.reply(OffsetDeleteResponse(error_code=ErrorCode.NON_EMPTY_GROUP))
            return
        subscribed = frozenset[str]() if found.state is GroupState.EMPTY else found.subscribed_topics()
        may_go = [
            (t.name, p.partition_index)
            for t in body.topics
            for p in t.partitions
            if subscribed is not None and t.name not in subscribed
        ]

        def answer(error: ErrorCode) -> None:
            topics = [
                OffsetDeleteResponseTopic(
                    name=t.name,
                    partitions=[
                        OffsetDeleteResponsePartition(
                            partition_index=p.partition_index,
                            error_code=error
                            if (t.name, p.partition_index) in may_go
                            else ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
                        )
                        for p in t.partitions
                    ],
                )
                for t in body.topics
            ]
            request.reply(OffsetDeleteResponse(error_code=ErrorCode.NONE, topics=topics))

        self._coordinator.forget_offsets(found, may_go, answer)


def _committed(group: Group | None, partition: TopicPartition, stable: bool) -> OffsetFetchResponsePartitions:
    committed, error = None, ErrorCode.NONE
    if group is not None:
        if stable and group.offsets.is_pending(partition):
            error = ErrorCode.UNSTABLE_OFFSET_COMMIT
        else:
            committed = group.offsets.get(partition)
    return OffsetFetchResponsePartitions(
        partition_index=partition[1],
        committed_offset=NO_OFFSET if committed is None else committed.offset,
        committed_leader_epoch=-1 if committed is None else committed.leader_epoch,
        metadata="" if committed is None else committed.metadata,
        error_code=error,
    )
