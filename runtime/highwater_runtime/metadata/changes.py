"""What one metadata record changed, so that a node that replays the log can react to just that.

``match`` on these. Each carries the state before and after; ``None`` if there was or is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import msgspec

from highwater_runtime.metadata.registrations import (
    BrokerRegistration,
    ConfigResource,
    PartitionRegistration,
    TopicImage,
)
from highwater_runtime.metadata.scram import ScramMechanism


@dataclass(frozen=True, slots=True)
class NothingChanged:
    """A record without effect on the image."""


@dataclass(frozen=True, slots=True)
class BrokerChanged:
    """A broker registered (new ``epoch`` in ``after``), changed state, or unregistered (``after`` is ``None``)."""

    broker_id: int
    before: BrokerRegistration | None
    after: BrokerRegistration | None


@dataclass(frozen=True, slots=True)
class TopicCreated:
    """A topic exists now; its partitions follow as :class:`PartitionChanged`."""

    name: str
    topic_id: UUID


@dataclass(frozen=True, slots=True)
class TopicDeleted:
    """``topic`` and its partitions, as they were last, are gone."""

    topic: TopicImage


class PartitionChanged(msgspec.Struct, frozen=True, gc=False):
    """A partition was created (``before`` is ``None``) or changed."""

    topic: str
    topic_id: UUID
    partition: int
    before: PartitionRegistration | None
    after: PartitionRegistration


@dataclass(frozen=True, slots=True)
class ConfigChanged:
    """``key`` of ``resource`` was set to ``value``, or removed (``None``)."""

    resource: ConfigResource
    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class FeatureChanged:
    """Feature ``name`` is at ``level`` from now on."""

    name: str
    level: int


@dataclass(frozen=True, slots=True)
class ProducerIdsChanged:
    """Producer ids below ``next_producer_id`` are handed out."""

    next_producer_id: int


@dataclass(frozen=True, slots=True)
class ScramCredentialChanged:
    """The SCRAM credential of ``user`` for ``mechanism`` was set or removed."""

    user: str
    mechanism: ScramMechanism


Change = (
    NothingChanged
    | BrokerChanged
    | TopicCreated
    | TopicDeleted
    | PartitionChanged
    | ConfigChanged
    | FeatureChanged
    | ProducerIdsChanged
    | ScramCredentialChanged
)
