"""DescribeConfigs: the values in force for a topic or for this broker, and the source of each value.

Any broker answers for topics, with its own defaults. Only the broker itself answers for a broker. Any broker answers
for all brokers (empty name), with what is set dynamically for all, and no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from highwater_runtime.broker.work_queue import answer_in_slices
from highwater_runtime.config import NodeConfig
from highwater_runtime.metadata import MetadataImage
from highwater_runtime.metadata.effective_config import (
    ALL_BROKERS,
    ConfigEntry,
    describe_all_brokers,
    describe_broker,
    describe_topic,
)
from highwater_runtime.metadata.registrations import BROKER_RESOURCE, TOPIC_RESOURCE
from highwater_runtime.metadata.topic_names import is_legal
from highwater_runtime.ports import Clock, InboundRequest
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from highwater_runtime.wire.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

_Found = list[ConfigEntry] | tuple[ErrorCode, str]


def handle(
    request: InboundRequest,
    image: MetadataImage,
    node: NodeConfig,
    broker_id: int,
    properties: Mapping[str, str],
    clock: Clock,
) -> None:
    """Answer a DescribeConfigsRequest. ``properties``: the broker's properties that are not in ``node``.

    A resource that is named several times gets one answer, with all keys that were asked for: each answer is a hundred
    times as large as its question. (Kafka answers each.)
    """
    body: DescribeConfigsRequest = request.body

    def describe(resource: DescribeConfigsResource) -> DescribeConfigsResult:
        result = DescribeConfigsResult(
            resource_type=resource.resource_type, resource_name=resource.resource_name, error_message=None
        )
        found = _described(resource, image, node, broker_id, properties)
        if isinstance(found, tuple):
            result.error_code, result.error_message = int(found[0]), found[1]
        else:
            wanted = frozenset(resource.configuration_keys or ())
            result.configs = [_result(entry, body) for entry in found if not wanted or entry.name in wanted]
        return result

    answer_in_slices(
        clock,
        _distinct(body.resources),
        describe,
        lambda results: request.reply(DescribeConfigsResponse(results=results)),
    )


def _distinct(resources: list[DescribeConfigsResource]) -> Iterable[DescribeConfigsResource]:
    """Each resource once, with the keys that were asked for in any place; none: all of them."""
    keys: dict[tuple[int, str], dict[str, None] | None] = {}
    for resource in resources:
        name = resource.resource_type, resource.resource_name
        known = keys.setdefault(name, {})
        if not resource.configuration_keys:
            keys[name] = None
        elif known is not None:
            known.update(dict.fromkeys(resource.configuration_keys))
    return [
        DescribeConfigsResource(
            resource_type=kind, resource_name=name, configuration_keys=None if asked is None else list(asked)
        )
        for (kind, name), asked in keys.items()
    ]


def _described(
    resource: DescribeConfigsResource,
    image: MetadataImage,
    node: NodeConfig,
    broker_id: int,
    properties: Mapping[str, str],
) -> _Found:
    name = resource.resource_name
    if resource.resource_type == TOPIC_RESOURCE:
        if not is_legal(name):
            return ErrorCode.INVALID_TOPIC_EXCEPTION, f"no topic can have the name {name!r}"
        if name not in image.topics_by_name:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}"
        return describe_topic(image, node, broker_id, image.topic_config(name))
    if resource.resource_type == BROKER_RESOURCE:
        if name == ALL_BROKERS:
            return describe_all_brokers(image)
        if name != str(broker_id):
            message = f"unexpected broker id, expected {broker_id} or empty string, but received {name!r}"
            return ErrorCode.INVALID_REQUEST, message
        return describe_broker(image, node, broker_id, properties)
    return ErrorCode.INVALID_REQUEST, (
        f"only topics (type {TOPIC_RESOURCE}) and brokers (type {BROKER_RESOURCE}) have configuration here, "
        f"not resources of type {resource.resource_type}"
    )


def _result(entry: ConfigEntry, body: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    result = DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=int(entry.source),
        is_sensitive=entry.sensitive,
        config_type=int(entry.kind),
        documentation=entry.documentation if body.include_documentation else None,
    )
    if body.include_synonyms:
        result.synonyms = [
            DescribeConfigsSynonym(name=s.name, value=s.value, source=int(s.source)) for s in entry.synonyms
        ]
    return result
