"""KRaft mode: the quorum's metadata log says who this broker is and what it leads and follows (KIP-500, KIP-631).

::

    metadata log ──► Raft observer ──► MetadataLoader ──► roles and image ──► ReplicaManager
                                            │                                     │
      controller ◄── Lifecycle ◄────────────┘        AlterPartitionManager ◄──────┘ ISR proposals
                     (registration, heartbeats)              └──► controller

Nothing is published before the logs are loaded and the registration of this very incarnation has come back through the
metadata log; then the controller is asked to unfence the broker.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from highwater_runtime.broker import metrics
from highwater_runtime.broker.apis import api_versions, forward
from highwater_runtime.broker.apis.metadata import live_brokers
from highwater_runtime.broker.controller_channel import ControllerChannel
from highwater_runtime.broker.delta import Delta
from highwater_runtime.broker.kraft.alter_partition import AlterPartitionManager
from highwater_runtime.broker.kraft.lifecycle import Identity, Lifecycle
from highwater_runtime.broker.kraft.lost_logs import LostLogs
from highwater_runtime.broker.kraft.metadata_loader import MetadataLoader
from highwater_runtime.broker.kraft.producer_ids import AllocatedBlocks
from highwater_runtime.broker.mode import BrokerContext
from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.broker.replica_role import Role
from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.log import Log
from highwater_runtime.log.names import METADATA_LOG_DIR
from highwater_runtime.metadata import MetadataImage
from highwater_runtime.metadata.reading import handle_metadata_read
from highwater_runtime.ports import MS, Endpoint, InboundRequest
from highwater_runtime.ports.trace import TransitionTaken
from highwater_runtime.raft import RaftReplica
from highwater_runtime.raft.metadata_log import close_metadata_log
from highwater_runtime.wire.api_keys import ApiKey


class KraftMode:
    """A :class:`~highwater_runtime.broker.mode.Mode`."""

    offered = api_versions.OFFERED
    has_features = True

    def __init__(self, context: BrokerContext) -> None:
        self._context = context
        self._options = options = context.options
        self._ports = ports = context.ports
        config = options.config
        self._stopping = False
        self._loader = MetadataLoader(self._may_publish, self._publish)
        self._channels: list[ControllerChannel] = []
        self._raft: RaftReplica | None = None
        self._metadata_log: Log | None = None
        self._lifecycle: Lifecycle | None = None
        timeout_ms = config.controller_socket_timeout_ms
        self._forwarding = self.channel("forwarding", timeout_ms)
        self.producer_id_blocks = AllocatedBlocks(
            self.channel("producer-ids", timeout_ms), options.node_id, lambda: self.broker_epoch
        )
        self.isr_writer = AlterPartitionManager(
            self.channel("alter-partition", timeout_ms),
            ports.clock,
            options.node_id,
            broker_epoch=lambda: self.broker_epoch,
            version=lambda: context.replicas.image.metadata_version.alter_partition_version,
            count_failure=lambda: ports.metrics.counter(metrics.FAILED_ISR_UPDATES),
            retried=lambda: ports.trace.emit(TransitionTaken(reason="alter-partition-retried")),
        )
        self.lost_logs = LostLogs(
            self.channel("lost-logs", timeout_ms),
            ports.clock,
            options.node_id,
            lambda: self.broker_epoch,
        )

    def channel(self, name: str, timeout_ms: int) -> ControllerChannel:
        channel = ControllerChannel(name, self._active_controller, self._ports, timeout_ns=timeout_ms * MS)
        self._channels.append(channel)
        return channel

    def _active_controller(self) -> Endpoint | None:
        leader = None if self._raft is None else self._raft.leader_id
        return None if leader is None else self._options.controllers.get(leader)

    @property
    def broker_epoch(self) -> int:
        return -1 if self._lifecycle is None else self._lifecycle.broker_epoch

    @property
    def fetch_version(self) -> int:
        return self._context.replicas.image.metadata_version.fetch_version

    # --- life -----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Observe the metadata log, register."""
        options, config = self._options, self._options.config
        self._metadata_log = Log.open(self._ports.disk, METADATA_LOG_DIR, LogConfig.of(config), self._ports.clock)
        self._raft = RaftReplica(
            options.node_id,
            options.controllers,
            options.cluster_id,
            self._ports,
            config,
            self._metadata_log,
            self,
            switches=options.switches,
        )
        self._lifecycle = Lifecycle(
            Identity(
                broker_id=options.node_id,
                cluster_id=options.cluster_id,
                listeners=options.all_listeners,
                rack=options.rack,
                incarnation_id=UUID(int=self._ports.random.getrandbits(128), version=4),
                previous_epoch=self._context.logs.previous_broker_epoch,
            ),
            # A heartbeat that hangs must leave time for another one within the session.
            self.channel("heartbeat", max(1, config.broker_session_timeout_ms // 2)),
            self._ports,
            config,
            metadata_offset=lambda: self._loader.applied_offset,
            on_registered=self._registered,
        )
        self._raft.start()
        self._lifecycle.start()

    def logs_loaded(self) -> None:
        if self._lifecycle is not None and not self._stopping:  # else the start is still under way
            self._loader.try_first_publication()
            self._tell_if_caught_up()
            self._context.after_event()

    def replicas_loaded(self) -> None:
        """Set aside what no replica has taken up, and ask to be unfenced.

        The metadata is at least that of this incarnation's registration. Whatever was assigned to this broker in an
        earlier one, and holds still, is in it.
        """
        replicas = self._context.replicas
        replicas.set_strays_aside({key: role.topic for key, role in replicas.roles.items()})
        self._tell_if_caught_up()

    def shut_down(self, on_leave: Callable[[], None]) -> None:
        assert self._lifecycle is not None

        def leave() -> None:
            self._stopping = True
            on_leave()

        self._lifecycle.shut_down(leave)

    def close(self, on_closed: Callable[[], None]) -> None:

        def close_log() -> None:
            assert self._metadata_log is not None
            close_metadata_log(self._metadata_log)
            on_closed()

        for channel in self._channels:
            channel.close()
        assert self._raft is not None
        self._raft.stop(close_log)

    def stopped(self) -> None:
        assert self._lifecycle is not None
        self._lifecycle.stopped()

    def refresh_metrics(self) -> None:
        if self._raft is not None:
            self._raft.refresh_metrics()

    # --- metadata -------------------------------------------------------------------------------------------------

    def on_commit(self, base_offset: int, epoch: int, records: list[bytes], last_offset: int) -> None:  # noqa: ARG002
        """From Raft: a batch of the metadata log is committed."""
        if not self._stopping:
            self._loader.on_commit(base_offset, records, last_offset)
            self._tell_if_caught_up()
            # A disk completion may have led here, behind which nothing else looks for wake-ups.
            self._context.after_event()

    def on_load_snapshot(self, end_offset: int, epoch: int, records: list[bytes]) -> None:  # noqa: ARG002
        """From Raft: a snapshot stands for all below ``end_offset``."""
        if not self._stopping:
            self._loader.on_load_snapshot(end_offset, records)
            self._tell_if_caught_up()
            self._context.after_event()

    def on_leader_change(self, leader_id: int | None, epoch: int) -> None:
        """From Raft: channels ask for the leader when they need it, so there is nothing to do."""

    def _may_publish(self, image: MetadataImage) -> bool:
        return self._context.logs.is_loaded and self._has_own_registration(image)

    def _has_own_registration(self, image: MetadataImage) -> bool:
        own = image.brokers.get(self._options.node_id)
        return own is not None and own.epoch == self.broker_epoch

    def _publish(self, image: MetadataImage, delta: Delta) -> None:
        node_id, replicas = self._options.node_id, self._context.replicas
        roles: dict[PartitionKey, Role] = {}
        stopped: dict[PartitionKey, None] = {}
        for topic in delta.deleted:
            stopped.update(dict.fromkeys((topic.id, index) for index in topic.partitions))
        for key in delta.partitions:
            topic_now = image.topics_by_id.get(key[0])
            state = None if topic_now is None else topic_now.partitions.get(key[1])
            if topic_now is None or state is None or node_id not in state.replicas:
                stopped[key] = None
            else:
                roles[key] = Role(topic_now.name, state, image.endpoint_of(state.leader))
        replicas.stop(stopped)
        replicas.apply_roles(roles)
        self._context.publish(image, delta)
        replicas.begin()
        own = image.brokers.get(node_id)
        if node_id in delta.brokers and own is not None and own.epoch == self.broker_epoch:
            assert self._lifecycle is not None
            self._lifecycle.metadata_shows_fenced(own.fenced)

    def _registered(self) -> None:
        self._loader.try_first_publication()
        self._tell_if_caught_up()

    def _tell_if_caught_up(self) -> None:
        assert self._lifecycle is not None
        if (
            self._context.replicas.is_loaded
            and self._lifecycle.waits_for_metadata
            and self._has_own_registration(self._context.replicas.image)
        ):
            self._lifecycle.caught_up()

    # --- requests -------------------------------------------------------------------------------------------------

    def handle_at_once(self, request: InboundRequest) -> bool:
        """The quorum's own APIs, and reads of metadata, which have rules of their own for what is current enough."""
        key = request.api_key
        if self._raft is not None and self._raft.handles(request):
            self._raft.on_request(request)
            return True
        if key == ApiKey.METADATA_READ:
            self._read_metadata(request)
            return True
        return False

    def handle(self, request: InboundRequest) -> bool:
        """Pass administrative requests on to the active controller."""
        if request.api_key not in forward.FORWARDED:
            return False
        timeout_ms = self._options.config.request_timeout_ms
        forward.handle(request, self._forwarding, self._ports.clock, timeout_ms=timeout_ms)
        return True

    def controller_for_clients(self, image: MetadataImage) -> int:
        """This broker if it is live, else another one: each forwards to the active controller."""
        live = [broker.id for broker in live_brokers(image)]
        return self._options.node_id if self._options.node_id in live or not live else live[0]

    def _read_metadata(self, request: InboundRequest) -> None:
        # From what has been replayed, published or not: it is the cluster's state whatever this broker may act on.
        assert self._raft is not None, "the broker has not been started"
        handle_metadata_read(
            request,
            self._raft.read_when_current,
            lambda: (self._loader.image, self._loader.applied_offset),
            longest_ms=self._options.config.request_timeout_ms,
        )
