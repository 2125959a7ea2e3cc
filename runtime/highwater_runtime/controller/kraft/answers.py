"""Which requests a controller serves, and what each response looks like when the request as a whole is refused.

Every request gets an answer in its own shape: an error at the top where the response has one, else the same error for
every item that was asked for.
"""

from __future__ import annotations

from typing import Any, Final

from highwater_runtime.metadata import MetadataImage, MetadataVersion
from highwater_runtime.metadata.metadata_version import FEATURE_NAME
from highwater_runtime.ports import ApiMessage
from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from highwater_runtime.wire.messages.create_partitions_request import CreatePartitionsRequest
from highwater_runtime.wire.messages.create_partitions_response import (
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from highwater_runtime.wire.messages.create_topics_request import CreateTopicsRequest
from highwater_runtime.wire.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from highwater_runtime.wire.messages.delete_topics_request import DeleteTopicsRequest
from highwater_runtime.wire.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from highwater_runtime.wire.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from highwater_runtime.wire.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from highwater_runtime.wire.registry import APIS, api_of

SERVED: Final = (
    ApiKey.FETCH,
    ApiKey.API_VERSIONS,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.ELECT_LEADERS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
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
)
"""The APIs of a controller's listener, by key."""

API_VERSIONS_VERSIONS: Final = range(APIS[ApiKey.API_VERSIONS].min_version, APIS[ApiKey.API_VERSIONS].max_version + 1)


def error_answer(request: Any, error: ErrorCode, message: str) -> ApiMessage:
    """``request``'s response that says ``error`` for all of it."""
    code = int(error)
    match request:
        case CreateTopicsRequest():
            return CreateTopicsResponse(
                topics=[
                    CreatableTopicResult(name=topic.name, error_code=code, error_message=message, configs=None)
                    for topic in request.topics
                ]
            )
        case DeleteTopicsRequest():
            named = [DeletableTopicResult(name=name, error_code=code) for name in request.topic_names]
            listed = [
                DeletableTopicResult(name=t.name, topic_id=t.topic_id, error_code=code, error_message=message)
                for t in request.topics
            ]
            return DeleteTopicsResponse(responses=named + listed)
        case CreatePartitionsRequest():
            return CreatePartitionsResponse(
                results=[
                    CreatePartitionsTopicResult(name=topic.name, error_code=code, error_message=message)
                    for topic in request.topics
                ]
            )
        case IncrementalAlterConfigsRequest():
            return IncrementalAlterConfigsResponse(
                responses=[
                    AlterConfigsResourceResponse(
                        resource_type=resource.resource_type,
                        resource_name=resource.resource_name,
                        error_code=code,
                        error_message=message,
                    )
                    for resource in request.resources
                ]
            )
        case _:
            # All others have the error at the top. Of those that a controller does not serve, some have none at all
            # (Metadata, Produce): an empty response then says nothing of what was asked for, and nothing wrong.
            response: Any = api_of(request.API_KEY).response()
            if hasattr(response, "error_code"):
                response.error_code = code
            if hasattr(response, "error_message"):
                response.error_message = message
            answer: ApiMessage = response
            return answer


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
