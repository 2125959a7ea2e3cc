"""The response that refuses a request as a whole, in the shape of that request.

Most responses have an error at the top. Some have one for each item only, and then the same error goes to every item
that was asked for; where versions differ in this, the version decides. Requests about one group, topic or user at a
time are in ``_BY_ITEM``; a request that is not there has its error at the top, or no place for one at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from highwater_runtime.ports import ApiMessage
from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages import (
    alter_configs_response,
    alter_user_scram_credentials_response,
    create_partitions_response,
    create_topics_response,
    delete_groups_response,
    delete_records_response,
    delete_topics_response,
    describe_configs_response,
    describe_groups_response,
    describe_topic_partitions_response,
    elect_leaders_response,
    fetch_response,
    find_coordinator_response,
    incremental_alter_configs_response,
    list_offsets_response,
    metadata_response,
    offset_commit_response,
    offset_fetch_response,
    offset_for_leader_epoch_response,
    produce_response,
)
from highwater_runtime.wire.registry import api_of

_Shape = Callable[[Any, int, str | None, int], Any]
"""Request body, error code, message, version of the request -> response."""


def refusal(body: Any, error: ErrorCode, message: str | None = None, *, version: int | None = None) -> ApiMessage:
    """Return the response with ``error`` for everything in the request ``body``, and with ``message`` if it has a
    field for it.

    ``version`` is the request's, by default the newest one. It matters to those few requests whose versions have the
    error in different places.
    """
    api = api_of(body.API_KEY)
    version = api.max_version if version is None else version
    shape = _BY_ITEM.get(body.API_KEY)
    response: ApiMessage | None = None if shape is None else shape(body, int(error), message, version)
    return _at_the_top(api.response(), int(error), message) if response is None else response


def _at_the_top(response: Any, code: int, message: str | None) -> Any:
    if hasattr(response, "error_code"):
        response.error_code = code
    if message is not None and hasattr(response, "error_message"):
        response.error_message = message
    return response


def _produce(body: Any, code: int, message: str | None, _version: int) -> Any:
    m = produce_response
    return m.ProduceResponse(
        responses=[
            m.TopicProduceResponse(
                name=topic.name,
                partition_responses=[
                    m.PartitionProduceResponse(index=p.index, error_code=code, error_message=message, base_offset=-1)
                    for p in topic.partition_data
                ],
            )
            for topic in body.topic_data
        ]
    )


def _fetch(body: Any, code: int, _message: str | None, version: int) -> Any:
    m = fetch_response
    if version >= 7:
        return m.FetchResponse(error_code=code)
    return m.FetchResponse(
        responses=[
            m.FetchableTopicResponse(
                topic=topic.topic,
                partitions=[
                    m.PartitionData(partition_index=p.partition, error_code=code, high_watermark=-1, records=b"")
                    for p in topic.partitions
                ],
            )
            for topic in body.topics
        ]
    )


def _list_offsets(body: Any, code: int, _message: str | None, _version: int) -> Any:
    m = list_offsets_response
    return m.ListOffsetsResponse(
        topics=[
            m.ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    m.ListOffsetsPartitionResponse(partition_index=p.partition_index, error_code=code)
                    for p in topic.partitions
                ],
            )
            for topic in body.topics
        ]
    )


def _metadata(body: Any, code: int, _message: str | None, version: int) -> Any:
    m = metadata_response
    named = [
        m.MetadataResponseTopic(
            name=t.name if t.name is not None or version >= 12 else "", topic_id=t.topic_id, error_code=code
        )
        for t in body.topics or ()
    ]
    return m.MetadataResponse(error_code=code, topics=named)


def _offset_for_leader_epoch(body: Any, code: int, _message: str | None, _version: int) -> Any:
    m = offset_for_leader_epoch_response
    return m.OffsetForLeaderEpochResponse(
        topics=[
            m.OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[m.EpochEndOffset(partition=p.partition, error_code=code) for p in topic.partitions],
            )
            for topic in body.topics
        ]
    )


def _create_topics(body: Any, code: int, message: str | None, _version: int) -> Any:
    m = create_topics_response
    return m.CreateTopicsResponse(
        topics=[
            m.CreatableTopicResult(name=topic.name, error_code=code, error_message=message, configs=None)
            for topic in body.topics
        ]
    )


def _delete_topics(body: Any, code: int, message: str | None, _version: int) -> Any:
    m = delete_topics_response
    named = [m.DeletableTopicResult(name=name, error_code=code) for name in body.topic_names]
    listed = [
        m.DeletableTopicResult(name=t.name, topic_id=t.topic_id, error_code=code, error_message=message)
        for t in body.topics
    ]
    return m.DeleteTopicsResponse(responses=named + listed)


def _create_partitions(body: Any, code: int, message: str | None, _version: int) -> Any:
    m = create_partitions_response
    return m.CreatePartitionsResponse(
        results=[
            m.CreatePartitionsTopicResult(name=topic.name, error_code=code, error_message=message)
            for topic in body.topics
        ]
    )


def _delete_records(body: Any, code: int, _message: str | None, _version: int) -> Any:
    m = delete_records_response
    return m.DeleteRecordsResponse(
        topics=[
            m.DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[
                    m.DeleteRecordsPartitionResult(partition_index=p.partition_index, low_watermark=-1, error_code=code)
                    for p in topic.partitions
                ],
            )
            for topic in body.topics
        ]
    )


def _elect_leaders(body: Any, code: int, message: str | None, version: int) -> Any:
    m = elect_leaders_response
    if version >= 1:
        return m.ElectLeadersResponse(error_code=code)
    return m.ElectLeadersResponse(
        replica_election_results=[
            m.ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    m.PartitionResult(partition_id=p, error_code=code, error_message=message) for p in topic.partitions
                ],
            )
            for topic in body.topic_partitions or ()
        ]
    )


def _describe_topic_partitions(body: Any, code: int, _message: str | None, _version: int) -> Any:
    m = describe_topic_partitions_response
    return m.DescribeTopicPartitionsResponse(
        topics=[m.DescribeTopicPartitionsResponseTopic(name=t.name, error_code=code) for t in body.topics]
    )


def _describe_configs(body: Any, code: int, message: str | None, _version: int) -> Any:
    m = describe_configs_response
    return m.DescribeConfigsResponse(results=_of_resources(m.DescribeConfigsResult, body, code, message))


def _alter_configs(body: Any, code: int, message: str | None, _version: int) -> Any:
    m = alter_configs_response
    return m.AlterConfigsResponse(responses=_of_resources(m.AlterConfigsResourceResponse, body, code, message))


def _incremental_alter_configs(body: Any, code: int, message: str | None, _version: int) -> Any:
    m = incremental_alter_configs_response
    return m.IncrementalAlterConfigsResponse(
        responses=_of_resources(m.AlterConfigsResourceResponse, body, code, message)
    )


def _of_resources(result: Callable[..., Any], body: Any, code: int, message: str | None) -> list[Any]:
    return [
        result(resource_type=r.resource_type, resource_name=r.resource_name, error_code=code, error_message=message)
        for r in body.resources
    ]


def _find_coordinator(body: Any, code: int, message: str | None, version: int) -> Any:
    m = find_coordinator_response
    if version < 4:
        return None
    return m.FindCoordinatorResponse(
        coordinators=[
            m.Coordinator(key=key, node_id=-1, port=-1, error_code=code, error_message=message)
            for key in body.coordinator_keys
        ]
    )


def _offset_commit(body: Any, code: int, _message: str | None, _version: int) -> Any:
    m = offset_commit_response
    return m.OffsetCommitResponse(
        topics=[
            m.OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    m.OffsetCommitResponsePartition(partition_index=p.partition_index, error_code=code)
                    for p in topic.partitions
                ],
            )
            for topic in body.topics
        ]
    )


def _offset_fetch(body: Any, code: int, _message: str | None, version: int) -> Any:
    m = offset_fetch_response
    if version >= 8:
        return m.OffsetFetchResponse(
            groups=[m.OffsetFetchResponseGroup(group_id=group.group_id, error_code=code) for group in body.groups]
        )
    if version >= 2:
        return m.OffsetFetchResponse(error_code=code)
    return m.OffsetFetchResponse(
        topics=[
            m.OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    m.OffsetFetchResponsePartition(partition_index=p, committed_offset=-1, metadata="", error_code=code)
                    for p in topic.partition_indexes
                ],
            )
            for topic in body.topics or ()
        ]
    )


def _describe_groups(body: Any, code: int, message: str | None, version: int) -> Any:
    m = describe_groups_response
    shown = message if version >= 6 else None
    return m.DescribeGroupsResponse(
        groups=[m.DescribedGroup(group_id=group, error_code=code, error_message=shown) for group in body.groups]
    )


def _delete_groups(body: Any, code: int, _message: str | None, _version: int) -> Any:
    m = delete_groups_response
    return m.DeleteGroupsResponse(
        results=[m.DeletableGroupResult(group_id=group, error_code=code) for group in body.groups_names]
    )


def _alter_user_scram_credentials(body: Any, code: int, message: str | None, _version: int) -> Any:
    m = alter_user_scram_credentials_response
    users = dict.fromkeys(change.name for change in (*body.deletions, *body.upsertions))
    return m.AlterUserScramCredentialsResponse(
        results=[m.AlterUserScramCredentialsResult(user=user, error_code=code, error_message=message) for user in users]
    )


_BY_ITEM: Final[dict[int, _Shape]] = {
    ApiKey.PRODUCE: _produce,
    ApiKey.FETCH: _fetch,
    ApiKey.LIST_OFFSETS: _list_offsets,
    ApiKey.METADATA: _metadata,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _offset_for_leader_epoch,
    ApiKey.CREATE_TOPICS: _create_topics,
    ApiKey.DELETE_TOPICS: _delete_topics,
    ApiKey.CREATE_PARTITIONS: _create_partitions,
    ApiKey.DELETE_RECORDS: _delete_records,
    ApiKey.ELECT_LEADERS: _elect_leaders,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: _describe_topic_partitions,
    ApiKey.DESCRIBE_CONFIGS: _describe_configs,
    ApiKey.ALTER_CONFIGS: _alter_configs,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _incremental_alter_configs,
    ApiKey.FIND_COORDINATOR: _find_coordinator,
    ApiKey.OFFSET_COMMIT: _offset_commit,
    ApiKey.OFFSET_FETCH: _offset_fetch,
    ApiKey.DESCRIBE_GROUPS: _describe_groups,
    ApiKey.DELETE_GROUPS: _delete_groups,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _alter_user_scram_credentials,
}
