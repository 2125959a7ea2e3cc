"""Cluster-wide settings: feature levels, topic configuration, blocks of producer ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from highwater_runtime.controller.decision import Decision, RefusedError, check_broker_epoch
from highwater_runtime.metadata import MetadataImage, MetadataVersion
from highwater_runtime.metadata.metadata_version import FEATURE_NAME
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from highwater_runtime.wire.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from highwater_runtime.wire.messages.feature_level_record import FeatureLevelRecord
from highwater_runtime.wire.messages.producer_ids_record import ProducerIdsRecord

PRODUCER_ID_BLOCK_SIZE: Final = 1000
"""Producer ids that a broker gets at a time (Kafka's ProducerIdsBlock)."""

_LAST_PRODUCER_ID: Final = 2**63 - 1


def bootstrap(version: MetadataVersion, more: Sequence[Any] = ()) -> list[Any]:
    """The first records of a metadata log: the level of ``metadata.version`` that the cluster begins with, and more."""
    return [FeatureLevelRecord(name=FEATURE_NAME, feature_level=int(version)), *more]


def upgrade_metadata_version(image: MetadataImage, level: int) -> list[Any]:
    """Records that raise ``metadata.version`` to ``level``; none where it is there already.

    Raises:
        RefusedError: INVALID_UPDATE_VERSION for an unknown level, a downgrade, or one that a registered broker does not
            support.
    """
    if level not in [int(version) for version in MetadataVersion]:
        known = ", ".join(str(int(version)) for version in MetadataVersion)
        raise RefusedError(ErrorCode.INVALID_UPDATE_VERSION, f"unknown metadata.version {level}; known are {known}")
    if level < image.metadata_version:
        raise RefusedError(
            ErrorCode.INVALID_UPDATE_VERSION,
            f"metadata.version is at {int(image.metadata_version)} and cannot go back to {level}",
        )
    for broker_id in sorted(image.brokers):
        least, most = image.brokers[broker_id].features.get(FEATURE_NAME, (0, 0))
        if not least <= level <= most:
            raise RefusedError(
                ErrorCode.INVALID_UPDATE_VERSION,
                f"broker {broker_id} supports metadata.version {least} to {most}, not {level}",
            )
    return [] if level == image.metadata_version else bootstrap(MetadataVersion(level))


def allocate_producer_ids(
    image: MetadataImage, request: AllocateProducerIdsRequest
) -> Decision[AllocateProducerIdsResponse]:
    """Give the broker a block of producer ids that nobody else ever gets.

    Raises:
        RefusedError: STALE_BROKER_EPOCH, UNKNOWN_SERVER_ERROR when the ids are used up.
    """
    check_broker_epoch(image, request.broker_id, request.broker_epoch)
    start = image.next_producer_id
    if start > _LAST_PRODUCER_ID - PRODUCER_ID_BLOCK_SIZE:
        raise RefusedError(ErrorCode.UNKNOWN_SERVER_ERROR, "all producer ids have been handed out")
    record = ProducerIdsRecord(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        next_producer_id=start + PRODUCER_ID_BLOCK_SIZE,
    )
    response = AllocateProducerIdsResponse(producer_id_start=start, producer_id_len=PRODUCER_ID_BLOCK_SIZE)
    return Decision(response, [record])
