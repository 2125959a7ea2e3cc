"""ApiVersions, and the list of what a broker offers to clients.

Traps from practice: Produce is offered from version 0, though versions below 3 are refused, because librdkafka takes
the absence of the old ones for an old broker and silently drops compression; so does it with SaslHandshake, without
whose version 0 it does not even try to authenticate. A version of ApiVersions that is not known
is answered with UNSUPPORTED_VERSION in the form of version 0 (the host writes it so), which every client can read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from highwater_runtime.metadata import MetadataImage, MetadataVersion
from highwater_runtime.metadata.metadata_version import FEATURE_NAME
from highwater_runtime.ports import InboundRequest
from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

OFFERED: Final[Mapping[ApiKey, tuple[int, int]]] = {
    ApiKey.PRODUCE: (0, 12),
    ApiKey.FETCH: (4, 17),
    ApiKey.LIST_OFFSETS: (1, 10),
    ApiKey.METADATA: (0, 13),
    ApiKey.OFFSET_COMMIT: (2, 9),
    ApiKey.OFFSET_FETCH: (1, 9),
    ApiKey.FIND_COORDINATOR: (0, 4),
    ApiKey.JOIN_GROUP: (0, 9),
    ApiKey.HEARTBEAT: (0, 4),
    ApiKey.LEAVE_GROUP: (0, 5),
    ApiKey.SYNC_GROUP: (0, 5),
    ApiKey.DESCRIBE_GROUPS: (0, 6),
    ApiKey.LIST_GROUPS: (0, 5),
    ApiKey.SASL_HANDSHAKE: (0, 1),
    ApiKey.API_VERSIONS: (0, 4),
    ApiKey.CREATE_TOPICS: (2, 7),
    ApiKey.DELETE_TOPICS: (1, 6),
    ApiKey.DELETE_RECORDS: (0, 2),
    ApiKey.INIT_PRODUCER_ID: (0, 5),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (2, 4),
    ApiKey.DESCRIBE_CONFIGS: (1, 4),
    ApiKey.ALTER_CONFIGS: (0, 2),
    ApiKey.DESCRIBE_LOG_DIRS: (1, 4),
    ApiKey.SASL_AUTHENTICATE: (0, 2),
    ApiKey.CREATE_PARTITIONS: (0, 3),
    ApiKey.DELETE_GROUPS: (0, 2),
    ApiKey.ELECT_LEADERS: (0, 2),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (0, 1),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (0, 0),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (0, 0),
    ApiKey.DESCRIBE_QUORUM: (0, 2),
    ApiKey.OFFSET_DELETE: (0, 0),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (0, 0),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (0, 0),
    ApiKey.UPDATE_FEATURES: (0, 1),
    ApiKey.DESCRIBE_CLUSTER: (0, 2),
    ApiKey.UNREGISTER_BROKER: (0, 0),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (0, 0),
}
"""API → lowest and highest version that a broker offers in KRaft mode."""

LOWEST_SERVED: Final[Mapping[ApiKey, int]] = {
    ApiKey.PRODUCE: 3,
    ApiKey.SASL_HANDSHAKE: 1,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: 0,
}
"""Where the lowest version served is not the lowest one offered. OffsetForLeaderEpoch v0 and v1 are for followers
(switch ``truncation``)."""

Offer = Mapping[ApiKey, tuple[int, int]]
"""API → lowest and highest version."""


def served(offered: Offer, api_key: int, version: int) -> bool:
    """Whether a broker that offers ``offered`` serves this version of this API."""
    # Keys are numbers, and found by them: to look up the name of each request's API would cost more than all of this.
    versions = offered.get(api_key)  # type: ignore[call-overload]
    if versions is None:
        return False
    low, high = versions
    return bool(LOWEST_SERVED.get(api_key, low) <= version <= high)  # type: ignore[call-overload]


def handle(request: InboundRequest, offered: Offer, image: MetadataImage | None) -> None:
    """Answer an ApiVersionsRequest, also one of an unknown version. Feature levels are those of ``image``, if any."""
    low, high = offered[ApiKey.API_VERSIONS]
    known = low <= request.version <= high
    response = ApiVersionsResponse(
        error_code=ErrorCode.NONE if known else ErrorCode.UNSUPPORTED_VERSION,
        api_keys=[ApiVersion(api_key=key, min_version=lo, max_version=hi) for key, (lo, hi) in offered.items()],
    )
    if image is not None:
        level = int(image.metadata_version)
        response.supported_features = [
            SupportedFeatureKey(
                name=FEATURE_NAME,
                min_version=int(MetadataVersion.minimum()),
                max_version=int(MetadataVersion.latest()),
            )
        ]
        response.finalized_features_epoch = image.offset
        response.finalized_features = [
            FinalizedFeatureKey(name=FEATURE_NAME, max_version_level=level, min_version_level=level)
        ]
    request.reply(response)
