"""Altering configuration: IncrementalAlterConfigs (KIP-339) and AlterConfigs, of topics and of brokers (KIP-226).

Rules in words: a resource is named once in a request; its changes are made as a whole or not at all; what is refused
for one resource says nothing of the others. Topics take the properties of
:mod:`highwater_runtime.metadata.topic_config`. Brokers, one (by id) or all (empty name), take those among them that a
broker has as well, and the rates of KIP-73; everything else is read when a broker starts. AlterConfigs names the whole
new configuration: what it leaves out is deleted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from highwater_runtime.controller.decision import Decision, RefusedError
from highwater_runtime.metadata import ConfigResource, MetadataImage
from highwater_runtime.metadata.registrations import BROKER_RESOURCE, TOPIC_RESOURCE
from highwater_runtime.metadata.topic_config import (
    DYNAMIC_BROKER_PROPERTIES,
    THROTTLED_RATES,
    TOPIC_PROPERTIES,
    Kind,
    check_broker_property,
    check_topic_property,
    is_dynamic,
)
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.alter_configs_request import AlterConfigsRequest
from highwater_runtime.wire.messages.alter_configs_request import AlterConfigsResource as ReplacedResource
from highwater_runtime.wire.messages.alter_configs_response import AlterConfigsResourceResponse as ReplacedResponse
from highwater_runtime.wire.messages.alter_configs_response import AlterConfigsResponse
from highwater_runtime.wire.messages.config_record import ConfigRecord
from highwater_runtime.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from highwater_runtime.wire.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)

_SET: Final = 0
_DELETE: Final = 1
_APPEND: Final = 2
_SUBTRACT: Final = 3

_Values = dict[str, str | None]
"""Property → its new value; None deletes it."""
_Resource = TypeVar("_Resource", AlterConfigsResource, ReplacedResource)
_Answer = TypeVar("_Answer", AlterConfigsResourceResponse, ReplacedResponse)


def incremental_alter_configs(
    image: MetadataImage, request: IncrementalAlterConfigsRequest
) -> Decision[IncrementalAlterConfigsResponse]:
    """Set and delete properties, or only say whether one could (``validate_only``)."""
    answers, records = _altered(image, request.resources, AlterConfigsResourceResponse, _incremental)
    return Decision(IncrementalAlterConfigsResponse(responses=answers), [] if request.validate_only else records)


def alter_configs(image: MetadataImage, request: AlterConfigsRequest) -> Decision[AlterConfigsResponse]:
    """Replace whole configurations, or only say whether one could (``validate_only``)."""
    answers, records = _altered(image, request.resources, ReplacedResponse, _replacement)
    return Decision(AlterConfigsResponse(responses=answers), [] if request.validate_only else records)


def _altered(
    image: MetadataImage,
    resources: Sequence[_Resource],
    answer_type: Callable[..., _Answer],
    values_of: Callable[[_Resource, Mapping[str, str]], _Values],
) -> tuple[list[_Answer], list[Any]]:
    """What to answer for each resource, and the records that alter those which are not refused."""
    answers: list[_Answer] = []
    records: list[Any] = []
    times = Counter((resource.resource_type, resource.resource_name) for resource in resources)
    for resource in resources:
        answer = answer_type(
            resource_type=resource.resource_type, resource_name=resource.resource_name, error_message=None
        )
        try:
            present = _present(image, resource, times)
            records += _records(resource, present, values_of(resource, present))
        except RefusedError as refused:
            answer.error_code, answer.error_message = int(refused.code), refused.message
        answers.append(answer)
    return answers, records


def _present(
    image: MetadataImage, resource: AlterConfigsResource | ReplacedResource, times: Counter[tuple[int, str]]
) -> Mapping[str, str]:
    """What is configured now of a resource that can be altered."""
    kind, name = resource.resource_type, resource.resource_name
    if times[kind, name] > 1:
        raise RefusedError(ErrorCode.INVALID_REQUEST, f"{name!r} is named more than once")
    match kind:
        case int(topic) if topic == TOPIC_RESOURCE:
            if name not in image.topics_by_name:
                raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")
        case int(broker) if broker == BROKER_RESOURCE:
            if name and not (name.isascii() and name.isdigit()):
                raise RefusedError(
                    ErrorCode.INVALID_REQUEST, f"a broker is named by its id, or '' for all, not {name!r}"
                )
        case _:
            raise RefusedError(
                ErrorCode.INVALID_REQUEST,
                f"only topics (type {TOPIC_RESOURCE}) and brokers (type {BROKER_RESOURCE}) can be altered, not {kind}",
            )
    return image.configs.get(ConfigResource(kind, name), {})


def _records(
    resource: AlterConfigsResource | ReplacedResource, present: Mapping[str, str], values: _Values
) -> list[ConfigRecord]:
    for name, value in values.items():
        if value is not None:
            _check(resource.resource_type, name, value)
    return [
        ConfigRecord(resource_type=resource.resource_type, resource_name=resource.resource_name, name=name, value=value)
        for name, value in values.items()
        if present.get(name) != value
    ]


def _check(resource_type: int, name: str, value: str) -> None:
    try:
        if resource_type == TOPIC_RESOURCE:
            check_topic_property(name, value)
        elif is_dynamic(name):
            check_broker_property(name, value)
        else:
            raise RefusedError(
                ErrorCode.INVALID_REQUEST,
                f"broker property {name!r} cannot be altered while brokers run; "
                f"those that can are {', '.join([*DYNAMIC_BROKER_PROPERTIES, *THROTTLED_RATES])}",
            )
    except ValueError as error:
        raise RefusedError(ErrorCode.INVALID_CONFIG, str(error)) from None


def _incremental(resource: AlterConfigsResource, present: Mapping[str, str]) -> _Values:
    values: _Values = {}
    for config in resource.configs:
        name = config.name
        if name in values:
            raise RefusedError(ErrorCode.INVALID_REQUEST, f"property {name!r} is altered more than once")
        match config.config_operation, config.value:
            case (int(operation), str(value)) if operation == _SET:
                values[name] = value
            case (int(operation), _) if operation == _DELETE:
                values[name] = None
            case (int(operation), str()) if operation in (_APPEND, _SUBTRACT):
                values[name] = _changed_list(config, present)
            case (operation, value):
                raise RefusedError(
                    ErrorCode.INVALID_CONFIG,
                    f"property {name!r} can be set (0) or deleted (1), and a list appended to (2) or subtracted "
                    f"from (3); found {operation} with {value!r}",
                )
    return values


def _changed_list(config: AlterableConfig, present: Mapping[str, str]) -> str:
    """A list with what ``config`` appends to or takes from it. Such a list begins with its default."""
    topic_property = DYNAMIC_BROKER_PROPERTIES.get(config.name, config.name)
    known = TOPIC_PROPERTIES.get(topic_property)
    if known is None or known.kind is not Kind.LIST:
        raise RefusedError(
            ErrorCode.INVALID_CONFIG, f"property {config.name!r} is not a list to append to or subtract from"
        )
    assert config.value is not None
    asked = dict.fromkeys(config.value.split(","))
    now = dict.fromkeys(entry for entry in present.get(config.name, known.default).split(",") if entry)
    if config.config_operation == _APPEND:
        return ",".join(now | asked)
    return ",".join(entry for entry in now if entry not in asked)


def _replacement(resource: ReplacedResource, present: Mapping[str, str]) -> _Values:
    values: _Values = {}
    for config in resource.configs:
        if config.name in values:
            raise RefusedError(ErrorCode.INVALID_REQUEST, f"property {config.name!r} is altered more than once")
        if config.value is None:
            raise RefusedError(ErrorCode.INVALID_CONFIG, f"property {config.name!r} has no value")
        values[config.name] = config.value
    return values | {name: None for name in present if name not in values}
