"""Topics: CreateTopics, DeleteTopics, CreatePartitions, with Kafka's validations and errors.

A request is judged topic by topic; one topic's refusal is its own. The records of all that are accepted make one
atomic batch. New partitions begin with leader epoch 0 and partition epoch 0, led by the first replica that may lead,
with the replicas that may join as ISR.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

from highwater_runtime.config import NodeConfig
from highwater_runtime.controller.decision import Decision, RefusedError
from highwater_runtime.controller.placement import PlacedPartition, check_assignment, place
from highwater_runtime.metadata import MetadataImage, TopicImage
from highwater_runtime.metadata.effective_config import describe_topic
from highwater_runtime.metadata.registrations import TOPIC_RESOURCE
from highwater_runtime.metadata.topic_config import check_topic_property
from highwater_runtime.metadata.topic_names import METADATA_TOPIC, collision_key, is_legal
from highwater_runtime.wire.codec import ZERO_UUID
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.config_record import ConfigRecord
from highwater_runtime.wire.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from highwater_runtime.wire.messages.create_partitions_response import (
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from highwater_runtime.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from highwater_runtime.wire.messages.create_topics_response import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsResponse,
)
from highwater_runtime.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from highwater_runtime.wire.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from highwater_runtime.wire.messages.partition_record import PartitionRecord
from highwater_runtime.wire.messages.remove_topic_record import RemoveTopicRecord
from highwater_runtime.wire.messages.topic_record import TopicRecord

_DEFAULT: Final = -1

MOST_PARTITIONS: Final = 10_000
"""How many partitions one request may make (Kafka's MAX_RECORDS_PER_USER_OP), so that no batch grows too large."""


def create_topics(
    image: MetadataImage, request: CreateTopicsRequest, *, config: NodeConfig, new_uuid: Callable[[], UUID]
) -> Decision[CreateTopicsResponse]:
    """Create each topic of the request, or only say whether one could (``validate_only``)."""
    decision = Decision(CreateTopicsResponse())
    times = Counter(topic.name for topic in request.topics)
    taken: dict[str, str] = {}
    described: dict[tuple[tuple[str, str | None], ...], list[CreatableTopicConfigs]] = {}
    partitions_before = image.index.partitions
    made = 0
    for topic in {topic.name: topic for topic in request.topics}.values():
        try:
            if times[topic.name] > 1:
                raise RefusedError(ErrorCode.INVALID_REQUEST, f"topic {topic.name!r} is named more than once")
            check_topic_name(image, topic.name, taken)
            placed = _placed(image, topic, config, first=partitions_before + made, made=made)
            configs = _configs(topic)
        except RefusedError as refused:
            result = CreatableTopicResult(
                name=topic.name, error_code=int(refused.code), error_message=refused.message, configs=None
            )
        else:
            taken[collision_key(topic.name)] = topic.name
            made += len(placed)
            own = tuple((record.name, record.value) for record in configs)
            if own not in described:
                described[own] = _described(image, config, configs)
            topic_id = ZERO_UUID if request.validate_only else new_uuid()
            result = CreatableTopicResult(
                name=topic.name,
                topic_id=topic_id,
                num_partitions=len(placed),
                replication_factor=len(placed[0].replicas),
                error_message=None,
                configs=described[own],
            )
            if not request.validate_only:
                decision.records.append(TopicRecord(name=topic.name, topic_id=topic_id))
                decision.records.extend(configs)
                decision.records.extend(_partition_records(topic_id, 0, placed))
        decision.response.topics.append(result)
    return decision


def check_topic_name(image: MetadataImage, name: str, taken: Mapping[str, str]) -> None:
    """Raise :class:`RefusedError` (INVALID_TOPIC_EXCEPTION, TOPIC_ALREADY_EXISTS) unless a new topic may have this
    name.

    ``taken``: names of topics that are being made, by :func:`.collision_key`.
    """
    if not is_legal(name):
        raise RefusedError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"topic name {name!r} is not 1 to 249 of ASCII letters, digits, '.', '_' and '-', or is '.' or '..'",
        )
    if name == METADATA_TOPIC:
        raise RefusedError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{METADATA_TOPIC} is the quorum's own")
    other = image.index.colliding(name) or taken.get(collision_key(name))
    if other == name:
        raise RefusedError(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {name!r} already exists")
    if other is not None:
        raise RefusedError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"topic {name!r} collides with existing topic {other!r}")


def _check_size(partitions: int) -> None:
    if partitions > MOST_PARTITIONS:
        raise RefusedError(ErrorCode.POLICY_VIOLATION, f"one request may make at most {MOST_PARTITIONS} partitions")


def _placed(
    image: MetadataImage, topic: CreatableTopic, config: NodeConfig, *, first: int, made: int
) -> list[PlacedPartition]:
    if topic.assignments:
        _check_size(len(topic.assignments) + made)
        return _placed_by_hand(image, topic)
    if topic.replication_factor != _DEFAULT and topic.replication_factor < 1:
        raise RefusedError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"replication factor must be at least 1, or -1 for the default, not {topic.replication_factor}",
        )
    if topic.num_partitions != _DEFAULT and topic.num_partitions < 1:
        raise RefusedError(
            ErrorCode.INVALID_PARTITIONS,
            f"number of partitions must be at least 1, or -1 for the default, not {topic.num_partitions}",
        )
    partitions = config.num_partitions if topic.num_partitions == _DEFAULT else topic.num_partitions
    factor = config.default_replication_factor if topic.replication_factor == _DEFAULT else topic.replication_factor
    _check_size(partitions + made)
    return place(image, partitions, factor, first=first)


def _placed_by_hand(image: MetadataImage, topic: CreatableTopic) -> list[PlacedPartition]:
    if topic.replication_factor != _DEFAULT or topic.num_partitions != _DEFAULT:
        raise RefusedError(
            ErrorCode.INVALID_REQUEST,
            "with a manual partition assignment, number of partitions and replication factor must be -1",
        )
    by_index: dict[int, PlacedPartition] = {}
    factor: int | None = None
    for assignment in topic.assignments:
        if assignment.partition_index in by_index:
            raise RefusedError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"partition {assignment.partition_index} is assigned twice"
            )
        by_index[assignment.partition_index] = check_assignment(image, assignment.broker_ids, factor)
        factor = len(assignment.broker_ids)
    if sorted(by_index) != list(range(len(by_index))):
        raise RefusedError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"partitions must be numbered 0, 1, 2 …, not {sorted(by_index)}"
        )
    return [by_index[index] for index in range(len(by_index))]


def _configs(topic: CreatableTopic) -> list[ConfigRecord]:
    values: dict[str, str] = {}
    for config in topic.configs:
        if config.value is None:
            raise RefusedError(ErrorCode.INVALID_CONFIG, f"topic property {config.name!r} has no value")
        try:
            check_topic_property(config.name, config.value)
        except ValueError as error:
            raise RefusedError(ErrorCode.INVALID_CONFIG, str(error)) from None
        values[config.name] = config.value
    return [
        ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name=topic.name, name=name, value=value)
        for name, value in values.items()
    ]


def _described(image: MetadataImage, node: NodeConfig, configs: list[ConfigRecord]) -> list[CreatableTopicConfigs]:
    own = {record.name: record.value for record in configs if record.value is not None}
    return [
        CreatableTopicConfigs(
            name=entry.name,
            value=entry.value,
            read_only=entry.read_only,
            config_source=int(entry.source),
            is_sensitive=entry.sensitive,
        )
        for entry in describe_topic(image, node, None, own)
    ]


def _partition_records(topic_id: UUID, first_index: int, placed: list[PlacedPartition]) -> list[PartitionRecord]:
    return [
        PartitionRecord(
            partition_id=first_index + number,
            topic_id=topic_id,
            replicas=list(partition.replicas),
            isr=list(partition.isr),
            leader=partition.isr[0],
            leader_epoch=0,
            partition_epoch=0,
        )
        for number, partition in enumerate(placed)
    ]


def delete_topics(
    image: MetadataImage, request: DeleteTopicsRequest, version: int, *, config: NodeConfig
) -> Decision[DeleteTopicsResponse]:
    """Delete each topic of the request, by name or (from version 6 on) by id.

    Raises:
        RefusedError: TOPIC_DELETION_DISABLED where ``delete.topic.enable`` is false.
    """
    if not config.delete_topic_enable:
        raise RefusedError(ErrorCode.TOPIC_DELETION_DISABLED, "topics cannot be deleted: delete.topic.enable is false")
    asked = (
        request.topics
        if version >= 6
        else [DeleteTopicState(name=name, topic_id=ZERO_UUID) for name in request.topic_names]
    )
    decision = Decision(DeleteTopicsResponse())
    gone: dict[UUID, None] = {}
    for state in asked:
        try:
            topic = _to_delete(image, state)
            if topic.id in gone:
                raise RefusedError(ErrorCode.INVALID_REQUEST, f"topic {topic.name!r} is named more than once")
        except RefusedError as refused:
            decision.response.responses.append(
                DeletableTopicResult(
                    name=state.name,
                    topic_id=state.topic_id,
                    error_code=int(refused.code),
                    error_message=refused.message,
                )
            )
        else:
            gone[topic.id] = None
            decision.records.append(RemoveTopicRecord(topic_id=topic.id))
            decision.response.responses.append(DeletableTopicResult(name=topic.name, topic_id=topic.id))
    return decision


def _to_delete(image: MetadataImage, state: DeleteTopicState) -> TopicImage:
    if (state.name is None) == (state.topic_id == ZERO_UUID):
        raise RefusedError(ErrorCode.INVALID_REQUEST, "a topic must be named by its name or its id, and not by both")
    if state.name is None:
        found = image.topics_by_id.get(state.topic_id)
        if found is None:
            raise RefusedError(ErrorCode.UNKNOWN_TOPIC_ID, f"there is no topic with id {state.topic_id}")
        return found
    found = image.topics_by_name.get(state.name)
    if found is None:
        raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {state.name!r}")
    return found


def create_partitions(image: MetadataImage, request: CreatePartitionsRequest) -> Decision[CreatePartitionsResponse]:
    """Add partitions to each topic of the request, or only say whether one could (``validate_only``)."""
    decision = Decision(CreatePartitionsResponse())
    made = 0
    times = Counter(topic.name for topic in request.topics)
    for asked in {topic.name: topic for topic in request.topics}.values():
        result = CreatePartitionsTopicResult(name=asked.name)
        try:
            if times[asked.name] > 1:
                raise RefusedError(ErrorCode.INVALID_REQUEST, f"topic {asked.name!r} is named more than once")
            records = _more_partitions(image, asked, made)
            made += len(records)
        except RefusedError as refused:
            result.error_code, result.error_message = int(refused.code), refused.message
        else:
            if not request.validate_only:
                decision.records.extend(records)
        decision.response.results.append(result)
    return decision


def _more_partitions(image: MetadataImage, asked: CreatePartitionsTopic, made: int) -> list[Any]:
    topic = image.topics_by_name.get(asked.name)
    if topic is None:
        raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {asked.name!r}")
    present = len(topic.partitions)
    more = asked.count - present
    if more <= 0:
        raise RefusedError(
            ErrorCode.INVALID_PARTITIONS,
            f"topic {asked.name!r} has {present} partition(s) already; {asked.count} asked",
        )
    _check_size(more + made)
    first = max(topic.partitions) + 1  # not the number of partitions: ZooKeeper mode can remove any of them
    factor = len(topic.partitions[min(topic.partitions)].replicas)
    if asked.assignments is None:
        placed = place(image, more, factor, first=first)
    elif len(asked.assignments) != more:
        raise RefusedError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{more} additional partition(s) asked, {len(asked.assignments)} assignment(s) given",
        )
    else:
        placed = [check_assignment(image, assignment.broker_ids, factor) for assignment in asked.assignments]
    return list(_partition_records(topic.id, first, placed))
