"""The response that refuses a request as a whole, in the shape of that request.

Most responses have an error at the top. Those of some administrative requests have one for each item only, so the same
error goes to every item that was asked for.
"""

from __future__ import annotations

from typing import Any

from highwater_runtime.ports import ApiMessage
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.alter_configs_request import AlterConfigsRequest
from highwater_runtime.wire.messages.alter_configs_response import (
    AlterConfigsResourceResponse as ReplacedConfigsResponse,
)
from highwater_runtime.wire.messages.alter_configs_response import AlterConfigsResponse
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
from highwater_runtime.wire.messages.list_offsets_request import ListOffsetsRequest
from highwater_runtime.wire.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from highwater_runtime.wire.messages.produce_request import ProduceRequest
from highwater_runtime.wire.messages.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from highwater_runtime.wire.registry import api_of


def refusal(body: Any, error: ErrorCode, message: str | None = None) -> ApiMessage:
    """The response that says ``error`` of everything in the request ``body``; ``message`` where there is a place."""
    code = int(error)
    match body:
        case ProduceRequest():
            return ProduceResponse(
                responses=[
                    TopicProduceResponse(
                        name=topic.name,
                        partition_responses=[
                            PartitionProduceResponse(
                                index=p.index, error_code=code, error_message=message, base_offset=-1
                            )
                            for p in topic.partition_data
                        ],
                    )
                    for topic in body.topic_data
                ]
            )
        case ListOffsetsRequest():
            return ListOffsetsResponse(
                topics=[
                    ListOffsetsTopicResponse(
                        name=topic.name,
                        partitions=[
                            ListOffsetsPartitionResponse(partition_index=p.partition_index, error_code=code)
                            for p in topic.partitions
                        ],
                    )
                    for topic in body.topics
                ]
            )
        case CreateTopicsRequest():
            return CreateTopicsResponse(
                topics=[
                    CreatableTopicResult(name=topic.name, error_code=code, error_message=message, configs=None)
                    for topic in body.topics
                ]
            )
        case DeleteTopicsRequest():
            named = [DeletableTopicResult(name=name, error_code=code) for name in body.topic_names]
            listed = [
                DeletableTopicResult(name=t.name, topic_id=t.topic_id, error_code=code, error_message=message)
                for t in body.topics
            ]
            return DeleteTopicsResponse(responses=named + listed)
        case CreatePartitionsRequest():
            return CreatePartitionsResponse(
                results=[
                    CreatePartitionsTopicResult(name=topic.name, error_code=code, error_message=message)
                    for topic in body.topics
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
                    for resource in body.resources
                ]
            )
        case AlterConfigsRequest():
            return AlterConfigsResponse(
                responses=[
                    ReplacedConfigsResponse(
                        resource_type=resource.resource_type,
                        resource_name=resource.resource_name,
                        error_code=code,
                        error_message=message,
                    )
                    for resource in body.resources
                ]
            )
        case _:
            # The others have the error at the top, or (Metadata of old versions, OffsetForLeaderEpoch) no place for
            # it: an empty answer then says nothing of what was asked for, and nothing wrong.
            response: Any = api_of(body.API_KEY).response()
            if hasattr(response, "error_code"):
                response.error_code = code
            if message is not None and hasattr(response, "error_message"):
                response.error_message = message
            answer: ApiMessage = response
            return answer
