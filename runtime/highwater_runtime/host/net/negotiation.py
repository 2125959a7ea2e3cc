"""Choose the version of each request by what the server supports, as Apache Kafka's clients do (KIP-35).

A node of ours and its peers are one build or agree by ``metadata.version``, so they send what they want. A client of
software of any release asks each server first, on each connection (ApiVersions version 0, which all since 0.10 answer),
and sends each request in the highest version that both know and that is not above the one that it asked for. Each API
is negotiated by itself: 2.8 has topic ids in Metadata, but not yet in Fetch.

Most fields that a version lacks are simply left out. What later versions have in another field is put where the older
version has it (:func:`as_of`), and taken from there in the response (:func:`as_asked`). So a core writes and reads the
version that it asked for, and must only do without what the older one does not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, Final

from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.api_versions_request import ApiVersionsRequest
from highwater_runtime.wire.messages.api_versions_response import ApiVersionsResponse
from highwater_runtime.wire.messages.delete_topics_request import DeleteTopicsRequest
from highwater_runtime.wire.messages.describe_cluster_request import DescribeClusterRequest
from highwater_runtime.wire.messages.fetch_request import FetchRequest, ReplicaState
from highwater_runtime.wire.messages.find_coordinator_request import FindCoordinatorRequest
from highwater_runtime.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from highwater_runtime.wire.messages.leave_group_request import LeaveGroupRequest
from highwater_runtime.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from highwater_runtime.wire.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from highwater_runtime.wire.registry import api_of

ASK: Final = ApiVersionsRequest()
ASK_VERSION: Final = 0

_FETCH_WITH_REPLICA_STATE: Final = 15
_FIND_COORDINATOR_OF_SEVERAL: Final = 4
_LEAVE_GROUP_OF_SEVERAL: Final = 3
_OFFSET_FETCH_OF_SEVERAL: Final = 8
_DELETE_TOPICS_WITH_IDS: Final = 6
_DESCRIBE_FENCED: Final = 2


@dataclass(frozen=True, slots=True)
class ServerVersions:
    """What one server supports: lowest and highest version by API key."""

    ranges: Mapping[int, tuple[int, int]]

    @classmethod
    def of(cls, response: ApiVersionsResponse) -> ServerVersions | None:
        """None: the server refused to say it."""
        if response.error_code != ErrorCode.NONE:
            return None
        return cls({one.api_key: (one.min_version, one.max_version) for one in response.api_keys})

    def version_of(self, api_key: int, wanted: int) -> int | None:
        """The highest version up to ``wanted`` that both support; None: there is none."""
        if api_key not in self.ranges:
            return None
        lowest, highest = self.ranges[api_key]
        version = min(wanted, highest)
        return version if version >= max(lowest, api_of(api_key).min_version) else None


def as_of(request: Any, version: int) -> Any:
    """The request with the fields that ``version`` has; the same object where nothing moved."""
    match request:
        case FetchRequest() if version < _FETCH_WITH_REPLICA_STATE and request.replica_state.replica_id >= 0:
            older = copy(request)
            older.replica_id, older.replica_state = request.replica_state.replica_id, ReplicaState()
            return older
        case FindCoordinatorRequest() if version < _FIND_COORDINATOR_OF_SEVERAL:
            (key,) = request.coordinator_keys
            return FindCoordinatorRequest(key=key, key_type=request.key_type)
        case LeaveGroupRequest() if version < _LEAVE_GROUP_OF_SEVERAL:
            (member,) = request.members
            return LeaveGroupRequest(group_id=request.group_id, member_id=member.member_id)
        case OffsetFetchRequest() if version < _OFFSET_FETCH_OF_SEVERAL:
            (group,) = request.groups
            topics = None if group.topics is None else [_offsets_of(topic) for topic in group.topics]
            return OffsetFetchRequest(group_id=group.group_id, topics=topics)
        case DeleteTopicsRequest() if version < _DELETE_TOPICS_WITH_IDS:
            names = [one.name for one in request.topics if one.name is not None]
            return DeleteTopicsRequest(topic_names=names, timeout_ms=request.timeout_ms)
        case DescribeClusterRequest() if version < _DESCRIBE_FENCED:
            return DescribeClusterRequest()
        case _:
            return request


def as_asked(response: Any, version: int) -> Any:
    """A response in ``version``, which is not above the one that was asked for, as the latter has it."""
    match response:
        case FindCoordinatorResponse() if version < _FIND_COORDINATOR_OF_SEVERAL:
            found = Coordinator(
                node_id=response.node_id, host=response.host, port=response.port, error_code=response.error_code
            )
            return FindCoordinatorResponse(coordinators=[found])
        case OffsetFetchResponse() if version < _OFFSET_FETCH_OF_SEVERAL:
            topics = [
                OffsetFetchResponseTopics(name=topic.name, partitions=[_committed(one) for one in topic.partitions])
                for topic in response.topics
            ]
            return OffsetFetchResponse(groups=[OffsetFetchResponseGroup(topics=topics, error_code=response.error_code)])
        case _:
            return response


def _offsets_of(topic: OffsetFetchRequestTopics) -> OffsetFetchRequestTopic:
    return OffsetFetchRequestTopic(name=topic.name, partition_indexes=topic.partition_indexes)


def _committed(one: OffsetFetchResponsePartition) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=one.partition_index,
        committed_offset=one.committed_offset,
        committed_leader_epoch=one.committed_leader_epoch,
        metadata=one.metadata,
        error_code=one.error_code,
    )
