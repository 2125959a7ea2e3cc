"""Cluster-wide settings: feature levels, topic configuration, blocks of producer ids."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from highwater_runtime.controller.kraft.decision import Decision, Refused, check_broker_epoch
from highwater_runtime.metadata import MetadataImage, MetadataVersion
from highwater_runtime.metadata.metadata_version import FEATURE_NAME
from highwater_runtime.metadata.registrations import TOPIC_RESOURCE
from highwater_runtime.metadata.topic_config import check_topic_property
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from highwater_runtime.wire.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from highwater_runtime.wire.messages.config_record import ConfigRecord
from highwater_runtime.wire.messages.feature_level_record import FeatureLevelRecord
from highwater_runtime.wire.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from highwater_runtime.wire.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from highwater_runtime.wire.messages.producer_ids_record import ProducerIdsRecord

PRODUCER_ID_BLOCK_SIZE: Final = 1000
"""Producer ids that a broker gets at a time (Kafka's ProducerIdsBlock)."""

_LAST_PRODUCER_ID: Final = 2**63 - 1
_SET: Final = 0
_DELETE: Final = 1


def bootstrap(version: MetadataVersion) -> list[Any]:
    """The first records of a metadata log: the level of ``metadata.version`` that the cluster begins with."""
    return [FeatureLevelRecord(name=FEATURE_NAME, feature_level=int(version))]


def upgrade_metadata_version(image: MetadataImage, level: int) -> list[Any]:
    """Records that raise ``metadata.version`` to ``level``; none where it is there already.

    Raises:
        Refused: INVALID_UPDATE_VERSION for an unknown level, a downgrade, or one that a registered broker does not
            support.
    """
    if level not in [int(version) for version in MetadataVersion]:
        known = ", ".join(str(int(version)) for version in MetadataVersion)
        raise Refused(ErrorCode.INVALID_UPDATE_VERSION, f"unknown metadata.version {level}; known are {known}")
    if level < image.metadata_version:
        raise Refused(
            ErrorCode.INVALID_UPDATE_VERSION,
            f"metadata.version is at {int(image.metadata_version)} and cannot go back to {level}",
        )
    for broker_id in sorted(image.brokers):
        least, most = image.brokers[broker_id].features.get(FEATURE_NAME, (0, 0))
        if not least <= level <= most:
            raise Refused(
                ErrorCode.INVALID_UPDATE_VERSION,
                f"broker {broker_id} supports metadata.version {least} to {most}, not {level}",
            )
    return [] if level == image.metadata_version else bootstrap(MetadataVersion(level))


def allocate_producer_ids(
    image: MetadataImage, request: AllocateProducerIdsRequest
) -> Decision[AllocateProducerIdsResponse]:
    """Give the broker a block of producer ids that nobody else ever gets.

    Raises:
        Refused: STALE_BROKER_EPOCH, UNKNOWN_SERVER_ERROR when the ids are used up.
    """
    check_broker_epoch(image, request.broker_id, request.broker_epoch)
    start = image.next_producer_id
    if start > _LAST_PRODUCER_ID - PRODUCER_ID_BLOCK_SIZE:
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "all producer ids have been handed out")
    record = ProducerIdsRecord(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        next_producer_id=start + PRODUCER_ID_BLOCK_SIZE,
    )
    response = AllocateProducerIdsResponse(producer_id_start=start, producer_id_len=PRODUCER_ID_BLOCK_SIZE)
    return Decision(response, [record])


def incremental_alter_configs(
    image: MetadataImage, request: IncrementalAlterConfigsRequest
) -> Decision[IncrementalAlterConfigsResponse]:
    """Set and delete topic properties, or only say whether one could (``validate_only``)."""
    decision = Decision(IncrementalAlterConfigsResponse())
    times = Counter((resource.resource_type, resource.resource_name) for resource in request.resources)
    for resource in request.resources:
        answer = AlterConfigsResourceResponse(
            resource_type=resource.resource_type, resource_name=resource.resource_name, error_message=None
        )
        try:
            if times[resource.resource_type, resource.resource_name] > 1:
                raise Refused(ErrorCode.INVALID_REQUEST, f"{resource.resource_name!r} is named more than once")
            records = _alter_topic(image, resource)
        except Refused as refused:
            answer.error_code, answer.error_message = int(refused.code), refused.message
        else:
            if not request.validate_only:
                decision.records.extend(records)
        decision.response.responses.append(answer)
    return decision


def _alter_topic(image: MetadataImage, resource: AlterConfigsResource) -> list[ConfigRecord]:
    if resource.resource_type != TOPIC_RESOURCE:
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"only topics (type {TOPIC_RESOURCE}) have configuration that can be altered"
        )
    if resource.resource_name not in image.topics_by_name:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {resource.resource_name!r}")
    present = image.topic_config(resource.resource_name)
    values: dict[str, str | None] = {}
    for config in resource.configs:
        if config.name in values:
            raise Refused(ErrorCode.INVALID_REQUEST, f"topic property {config.name!r} is altered more than once")
        match config.config_operation, config.value:
            case (int(operation), str(value)) if operation == _SET:
                try:
                    check_topic_property(config.name, value)
                except ValueError as error:
                    raise Refused(ErrorCode.INVALID_CONFIG, str(error)) from None
                values[config.name] = value
            case (int(operation), _) if operation == _DELETE:
                values[config.name] = None
            case (operation, value):
                raise Refused(
                    ErrorCode.INVALID_CONFIG,
                    f"topic property {config.name!r} can be set (0) or deleted (1), not {operation} with {value!r}",
                )
    return [
        ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name=resource.resource_name, name=name, value=value)
        for name, value in values.items()
        if present.get(name) != value
    ]
