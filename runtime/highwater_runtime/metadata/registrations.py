"""The values of the metadata image: one broker's registration, one partition's state, one topic.

``BrokerRegistration`` and ``PartitionRegistration`` are frozen, so that copies of an image share them. Each change of a
partition makes one of the latter on every node, so it is a struct of msgspec: a frozen dataclass takes a microsecond.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType
from typing import Final, NamedTuple
from uuid import UUID

import msgspec

from highwater_runtime.ports import Endpoint

NO_LEADER: Final = -1
"""``leader`` of a partition that has none."""

NO_LEADER_CHANGE: Final = -2
"""``leader`` in a PartitionChangeRecord that leaves leader and leader epoch as they are."""


class LeaderRecoveryState(IntEnum):
    """Whether a leader that was elected from outside the ISR has recovered (KIP-704)."""

    RECOVERED = 0
    RECOVERING = 1


class ConfigResource(NamedTuple):
    """What a configuration belongs to."""

    type: int
    name: str


LOST_DIRECTORY: Final = UUID(int=1)
"""The directory id of a replica that is in no log directory that is online (Kafka's ``DirectoryId.LOST``)."""

TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
ALL_BROKERS_RESOURCE: Final = ConfigResource(BROKER_RESOURCE, "")


class BrokerListener(NamedTuple):
    """One listener of a broker, as its registration has it. ``security_protocol``: 0 PLAINTEXT, 1 SSL,
    2 SASL_PLAINTEXT, 3 SASL_SSL."""

    name: str
    endpoint: Endpoint
    security_protocol: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistration:
    """One broker as the metadata log has it. ``epoch`` is the offset of its registration record.

    ``endpoint`` is where other brokers reach it; it is that of the first of ``listeners``, where those are known.
    ``features`` maps feature names to the inclusive range of levels that the broker understands.
    """

    id: int
    epoch: int
    incarnation_id: UUID
    endpoint: Endpoint
    listeners: tuple[BrokerListener, ...] = ()
    fenced: bool = True
    in_controlled_shutdown: bool = False
    rack: str | None = None
    features: Mapping[str, tuple[int, int]] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def active(self) -> bool:
        """Whether it may lead and be placed in an ISR: unfenced and not shutting down."""
        return not self.fenced and not self.in_controlled_shutdown

    def endpoint_for(self, listener: str) -> Endpoint | None:
        """Where a client that came by ``listener`` of some broker reaches this one; None if it has no such listener.

        ``""`` stands for the listener of the brokers among themselves.
        """
        if not listener or not self.listeners:
            return self.endpoint
        return next((known.endpoint for known in self.listeners if known.name == listener), None)


def reachable(brokers: Iterable[BrokerRegistration], listener: str) -> list[tuple[BrokerRegistration, Endpoint]]:
    """Those of ``brokers`` that a client of ``listener`` can reach, each with where, in the same order."""
    return [(broker, at) for broker in brokers if (at := broker.endpoint_for(listener)) is not None]


class PartitionRegistration(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One partition's state. ``partition_epoch`` grows with every change, ``leader_epoch`` as
    :mod:`highwater_runtime.controller.partition_change` says. ``replicas[0]`` is the preferred leader."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    leader_recovery_state: LeaderRecoveryState = LeaderRecoveryState.RECOVERED
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()

    @property
    def reassigning(self) -> bool:
        """Whether a reassignment is under way."""
        return bool(self.adding_replicas or self.removing_replicas)


@dataclass(slots=True)
class TopicImage:
    """A topic and its partitions by index. Owned by one image, which alone changes ``partitions``."""

    name: str
    id: UUID
    partitions: dict[int, PartitionRegistration] = field(default_factory=dict)
