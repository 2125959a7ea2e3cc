"""What a broker leaves to the mode of its cluster: who it is, where metadata comes from, whom it asks for what.

The rest of a broker (replicas, fetchers, APIs, groups) does not know the mode. There are two,
:mod:`highwater_runtime.broker.kraft` and :mod:`highwater_runtime.broker.zk`:

======================  ==============================================  ===========================================
what                    KRaft                                           ZooKeeper
======================  ==============================================  ===========================================
membership, epoch       registration and heartbeats                     ephemeral ``/brokers/ids/N``, its czxid
roles                   the metadata image                              LeaderAndIsr, StopReplica
image                   the metadata log                                UpdateMetadata, ``/config``
ISR                     AlterPartition                                  conditional write of ``leaderAndISR``
producer ids            AllocateProducerIds                             ``/latest_producer_id_block``
lost logs               AssignReplicasToDirs                            the broker ends
administration          forwarded to the active controller              served by the broker that is the controller
leave                   heartbeat with ``want_shut_down``               ControlledShutdown
======================  ==============================================  ===========================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from highwater_runtime.broker.controller_channel import ControllerChannel
from highwater_runtime.broker.delta import Delta
from highwater_runtime.broker.options import BrokerOptions
from highwater_runtime.broker.replica_manager import ReplicaManager
from highwater_runtime.broker.replica_role import IsrWriter, LostLogs
from highwater_runtime.log.manager import LogManager
from highwater_runtime.metadata import MetadataImage
from highwater_runtime.ports import InboundRequest, Ports
from highwater_runtime.wire.api_keys import ApiKey


class ProducerIdBlocks(Protocol):
    """Where blocks of producer ids come from."""

    def next_block(self, on_block: Callable[[range | None], None], *, give_up_at_ns: int) -> None:
        """Get a block that belongs to this broker alone; ``on_block(None)`` if that failed: ask again later."""


class Mode(Protocol):
    """One broker's way to its cluster, for one incarnation."""

    @property
    def isr_writer(self) -> IsrWriter:
        """How leaders have their ISR changed."""

    @property
    def lost_logs(self) -> LostLogs:
        """How the controller hears of logs that have failed."""

    @property
    def producer_id_blocks(self) -> ProducerIdBlocks:
        """Where producer ids come from."""

    @property
    def offered(self) -> Mapping[ApiKey, tuple[int, int]]:
        """What clients may ask for: API → lowest and highest version."""

    @property
    def has_features(self) -> bool:
        """Whether the cluster has feature levels (KIP-584)."""

    @property
    def broker_epoch(self) -> int:
        """The epoch of this broker's present registration, −1 before the first."""

    @property
    def fetch_version(self) -> int:
        """Version of Fetch that followers send."""

    def channel(self, name: str, timeout_ms: int) -> ControllerChannel:
        """A way to the active controller for one purpose, closed with the mode."""

    def start(self) -> None:
        """Begin. Raises ``OSError`` where the disk fails."""

    def logs_loaded(self) -> None:
        """Every log of the data directory is there."""

    def replicas_loaded(self) -> None:
        """Take note that the replicas of the first roles have been opened."""

    def shut_down(self, on_leave: Callable[[], None]) -> None:
        """Have leaderships moved away, then call ``on_leave``: once that is done, or takes too long."""

    def close(self, on_closed: Callable[[], None]) -> None:
        """End what asks and is asked; the broker leads and follows nothing any more."""

    def stopped(self) -> None:
        """Called after the logs are closed."""

    def handle_at_once(self, request: InboundRequest) -> bool:
        """Take a request that must not wait for the first metadata; whether it was one. No Produce is."""

    def handle(self, request: InboundRequest) -> bool:
        """Take a request of an offered API that the mode answers; whether it was one. No Produce and no Fetch is."""

    def controller_for_clients(self, image: MetadataImage) -> int:
        """The broker to which clients send what is the controller's to do; −1 if none is known."""

    def refresh_metrics(self) -> None:
        """Bring gauges up to date before they are read."""


@dataclass(frozen=True, slots=True)
class BrokerContext:
    """What a mode gets of the broker that it serves. ``publish`` brings a new image to everything that follows it;
    ``after_event`` must end each event that does not come from the clock or the network."""

    options: BrokerOptions
    ports: Ports
    logs: LogManager
    replicas: ReplicaManager
    publish: Callable[[MetadataImage, Delta], None]
    after_event: Callable[[], None]


ModeFactory = Callable[[BrokerContext], Mode]
