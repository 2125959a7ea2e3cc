"""Which requests a controller serves, and in which versions it says so."""

from __future__ import annotations

from typing import Final

from highwater_runtime.metadata import MetadataImage, MetadataVersion
from highwater_runtime.metadata.metadata_version import FEATURE_NAME
from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from highwater_runtime.wire.registry import APIS

SERVED: Final = (
    ApiKey.FETCH,
    ApiKey.SASL_HANDSHAKE,
    ApiKey.API_VERSIONS,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.SASL_AUTHENTICATE,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.ELECT_LEADERS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey.VOTE,
    ApiKey.BEGIN_QUORUM_EPOCH,
    ApiKey.END_QUORUM_EPOCH,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.ALTER_PARTITION,
    ApiKey.UPDATE_FEATURES,
    ApiKey.BROKER_REGISTRATION,
    ApiKey.BROKER_HEARTBEAT,
    ApiKey.UNREGISTER_BROKER,
    ApiKey.ALLOCATE_PRODUCER_IDS,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS,
)
"""The APIs of a controller's listener, by key."""

API_VERSIONS_VERSIONS: Final = range(APIS[ApiKey.API_VERSIONS].min_version, APIS[ApiKey.API_VERSIONS].max_version + 1)


def api_versions(image: MetadataImage, version: int) -> ApiVersionsResponse:
    """What this listener speaks, and the finalized features as of ``image``.

    A ``version`` that is not known is answered UNSUPPORTED_VERSION (the host encodes that in version 0), as KIP-35
    has it.
    """
    keys = [
        ApiVersion(api_key=int(key), min_version=APIS[key].min_version, max_version=APIS[key].max_version)
        for key in SERVED
    ]
    if version not in API_VERSIONS_VERSIONS:
        own = [entry for entry in keys if entry.api_key == ApiKey.API_VERSIONS]
        return ApiVersionsResponse(error_code=int(ErrorCode.UNSUPPORTED_VERSION), api_keys=own)
    level = int(image.metadata_version)
    return ApiVersionsResponse(
        api_keys=keys,
        supported_features=[
            SupportedFeatureKey(
                name=FEATURE_NAME,
                min_version=int(MetadataVersion.minimum()),
                max_version=int(MetadataVersion.latest()),
            )
        ],
        finalized_features_epoch=image.offset,
        finalized_features=[FinalizedFeatureKey(name=FEATURE_NAME, max_version_level=level, min_version_level=level)],
    )
