"""Which configuration holds, and where each value comes from (DescribeConfigs; KIP-226, KIP-569).

A topic's property is, in this order: its own; that of the broker's dynamic configuration; that of all brokers' dynamic
configuration; what the node was started with; Kafka's default. A broker's property the same from the second on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any, Final

from highwater_runtime.config import NodeConfig
from highwater_runtime.metadata.image import MetadataImage
from highwater_runtime.metadata.registrations import (
    ALL_BROKERS_RESOURCE,
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
    ConfigResource,
)
from highwater_runtime.metadata.topic_config import (
    DYNAMIC_BROKER_PROPERTIES,
    MIN_INSYNC_REPLICAS,
    THROTTLED_RATES,
    TOPIC_PROPERTIES,
    UNCLEAN_LEADER_ELECTION,
    Kind,
    is_dynamic,
    of_broker,
)

ALL_BROKERS: Final = ""
"""Name of the broker resource that stands for all brokers."""

_SENSITIVE: Final = ("password", "jaas", "ssl.keystore.key", "secret")
"""A property with one of these in its name is described without its value."""

_FIELDS: Final[Mapping[str, Any]] = {f.metadata["property"]: f for f in fields(NodeConfig)}
"""Property of a node → the field that holds it."""


class Source(IntEnum):
    """Where a value comes from, by Kafka's number (``DescribeConfigsResponse.ConfigSource``)."""

    TOPIC = 1
    BROKER = 2
    ALL_BROKERS = 3
    STATIC_BROKER = 4
    DEFAULT = 5


@dataclass(frozen=True, slots=True)
class Synonym:
    """One place that could give a value, and the value that it gives."""

    name: str
    value: str | None
    source: Source


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One property with what holds (``synonyms[0]``), and in order of precedence what else would."""

    name: str
    kind: Kind
    synonyms: tuple[Synonym, ...]
    read_only: bool
    sensitive: bool
    documentation: str | None

    @property
    def value(self) -> str | None:
        """Return the value in force; None if it is sensitive."""
        return self.synonyms[0].value

    @property
    def source(self) -> Source:
        """Return the source of :attr:`value`."""
        return self.synonyms[0].source


def text(value: str | int | bool) -> str:
    """A property's value as Kafka writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def topic_properties(image: MetadataImage, topic: str, broker_id: int) -> Mapping[str, str]:
    """What a log of ``topic`` on this broker obeys beyond the node's own configuration, by topic property."""
    own = image.topic_config(topic)
    dynamic = broker_overrides(image, broker_id)
    return {**dynamic, **own} if dynamic else own


def broker_overrides(image: MetadataImage, broker_id: int) -> dict[str, str]:
    """The dynamic configuration of this broker, over that of all brokers, by *topic* property."""
    overrides: dict[str, str] = {}
    if not image.configs:
        return overrides
    for name in (ALL_BROKERS, str(broker_id)):
        for key, value in image.configs.get(ConfigResource(BROKER_RESOURCE, name), {}).items():
            if key in DYNAMIC_BROKER_PROPERTIES:
                overrides[DYNAMIC_BROKER_PROPERTIES[key]] = value
    return overrides


def min_insync_replicas(image: MetadataImage, node: NodeConfig, topic: str, broker_id: int) -> int:
    """The topic's own setting, else that of this broker, else that of all brokers, else what the node has."""
    if not image.configs:
        return node.min_insync_replicas
    for resource in (
        ConfigResource(TOPIC_RESOURCE, topic),
        ConfigResource(BROKER_RESOURCE, str(broker_id)),
        ALL_BROKERS_RESOURCE,
    ):
        configured = image.configs.get(resource, {}).get(MIN_INSYNC_REPLICAS)
        if configured is not None:
            return int(configured)
    return node.min_insync_replicas


def allows_unclean_election(image: MetadataImage, node: NodeConfig, topic: str) -> bool:
    """Whether a replica outside the ISR of a topic's partition may lead it, if no member can.

    The topic's own value, or that of all brokers, or what the controller was started with (Apache Kafka 4.0).
    """
    of_all = image.configs.get(ALL_BROKERS_RESOURCE, {})
    value = image.topic_config(topic).get(UNCLEAN_LEADER_ELECTION, of_all.get(UNCLEAN_LEADER_ELECTION))
    return node.unclean_leader_election if value is None else value == "true"


def describe_topic(
    image: MetadataImage, node: NodeConfig, broker_id: int | None, own: Mapping[str, str]
) -> list[ConfigEntry]:
    """Every topic property as it holds for a topic with ``own`` properties; ``broker_id`` None: on brokers at large."""
    entries = []
    for name, known in TOPIC_PROPERTIES.items():
        synonyms = [Synonym(name, own[name], Source.TOPIC)] if name in own else []
        if known.broker_property is None:
            synonyms.append(Synonym(name, known.default, Source.DEFAULT))
        else:
            synonyms.extend(_broker_synonyms(image, node, broker_id, known.broker_property))
        entries.append(ConfigEntry(name, known.kind, tuple(synonyms), False, False, known.documentation))
    return entries


def describe_broker(
    image: MetadataImage, node: NodeConfig, broker_id: int, properties: Mapping[str, str]
) -> list[ConfigEntry]:
    """Every property of this broker. ``properties``: those of its configuration file that are not in ``node``."""
    entries = []
    for name in _FIELDS:
        default = _FIELDS[name].default
        documentation = None
        if name in DYNAMIC_BROKER_PROPERTIES:
            documentation = of_broker(name).documentation
        entries.append(
            ConfigEntry(
                name,
                _kind(name, default),
                tuple(_broker_synonyms(image, node, broker_id, name)),
                read_only=name not in DYNAMIC_BROKER_PROPERTIES,
                sensitive=False,
                documentation=documentation,
            )
        )
    for name, rate in THROTTLED_RATES.items():
        synonyms = tuple(_dynamic_synonyms(image, broker_id, name))
        if synonyms:
            entries.append(ConfigEntry(name, rate.kind, synonyms, False, False, rate.documentation))
    for name, value in properties.items():
        if name not in _FIELDS:
            hidden = any(part in name for part in _SENSITIVE)
            synonym = Synonym(name, None if hidden else value, Source.STATIC_BROKER)
            entries.append(ConfigEntry(name, Kind.STRING, (synonym,), True, hidden, None))
    return entries


def describe_all_brokers(image: MetadataImage) -> list[ConfigEntry]:
    """The dynamic configuration of all brokers: what is set, and nothing else, as Kafka answers."""
    return [
        ConfigEntry(
            name,
            of_broker(name).kind,
            (Synonym(name, value, Source.ALL_BROKERS),),
            read_only=False,
            sensitive=False,
            documentation=of_broker(name).documentation,
        )
        for name, value in image.configs.get(ALL_BROKERS_RESOURCE, {}).items()
        if is_dynamic(name)
    ]


def _broker_synonyms(image: MetadataImage, node: NodeConfig, broker_id: int | None, name: str) -> Iterator[Synonym]:
    if name in DYNAMIC_BROKER_PROPERTIES:
        yield from _dynamic_synonyms(image, broker_id, name)
    field = _FIELDS[name]
    started_with = text(getattr(node, field.name))
    if started_with != text(field.default):
        yield Synonym(name, started_with, Source.STATIC_BROKER)
    yield Synonym(name, text(field.default), Source.DEFAULT)


def _dynamic_synonyms(image: MetadataImage, broker_id: int | None, name: str) -> Iterator[Synonym]:
    for resource, source in ((str(broker_id), Source.BROKER), (ALL_BROKERS, Source.ALL_BROKERS)):
        value = image.configs.get(ConfigResource(BROKER_RESOURCE, resource), {}).get(name)
        if value is not None:
            yield Synonym(name, value, source)


def _kind(name: str, default: object) -> Kind:
    if name in DYNAMIC_BROKER_PROPERTIES:
        return TOPIC_PROPERTIES[DYNAMIC_BROKER_PROPERTIES[name]].kind
    match default:
        case bool():
            return Kind.BOOLEAN
        case int():
            return Kind.INT if -(2**31) <= default < 2**31 else Kind.LONG
        case _:
            return Kind.STRING
