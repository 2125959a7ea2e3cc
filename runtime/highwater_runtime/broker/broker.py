"""The broker: one incarnation of one node, put together from its parts, and the table of what it answers.

::

    metadata log ──► Raft observer ──► MetadataLoader ──► ReplicaManager ──► Partitions ◄── fetches, produces
                                            │                   │  ▲
      controller ◄── Lifecycle ◄────────────┘                   ▼  │ ISR proposals
                     (registration, heartbeats)            Fetchers, AlterPartitionManager ──► controller

Order of a start: open the data directory, observe the metadata log, register. When the logs are loaded and the
registration of this very life has come back through the metadata log, the replicas are taken up as the metadata says,
and the controller is asked to unfence the broker. Order of a clean stop: leaderships are moved away, fetches end, logs
are flushed, and the clean-shutdown marker is written with the broker epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from highwater_runtime.broker import metrics
from highwater_runtime.broker.after_event import with_step_after_events
from highwater_runtime.broker.alter_partition import AlterPartitionManager
from highwater_runtime.broker.apis import (
    api_versions,
    delete_records,
    describe_configs,
    describe_log_dirs,
    describe_topic_partitions,
    fetch,
    forward,
    list_offsets,
    metadata,
    offset_for_leader_epoch,
    produce,
    scram_credentials,
)
from highwater_runtime.broker.apis.init_producer_id import ProducerIds
from highwater_runtime.broker.controller_channel import ControllerChannel
from highwater_runtime.broker.fetch_sessions import FetchSessions
from highwater_runtime.broker.groups.service import GROUP_APIS, Groups
from highwater_runtime.broker.lifecycle import Identity, Lifecycle
from highwater_runtime.broker.lost_logs import LostLogs
from highwater_runtime.broker.metadata_loader import Delta, MetadataLoader
from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.purgatory import PartitionKey, Purgatory, WakeUps
from highwater_runtime.broker.replica_manager import ReplicaManager, ReplicaManagerOptions
from highwater_runtime.broker.topic_creation import TopicCreation
from highwater_runtime.config import NodeConfig
from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.log import Log
from highwater_runtime.log.manager import LogManager
from highwater_runtime.log.names import METADATA_LOG_DIR, TopicPartition
from highwater_runtime.metadata import BrokerListener, MetadataImage
from highwater_runtime.metadata.reading import handle_metadata_read
from highwater_runtime.ports import MS, Endpoint, InboundRequest, Ports
from highwater_runtime.ports.trace import TransitionTaken
from highwater_runtime.raft import RaftReplica
from highwater_runtime.raft.metadata_log import close_metadata_log
from highwater_runtime.switches import Switches
from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.refusal import refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerOptions:
    """What a broker is told when it is set up. ``controllers`` are the quorum's voters by node id.

    ``listeners`` are all that it registers, that of the brokers among themselves (``endpoint``) first; by default there
    is only that one. ``properties`` are those of its configuration file that concern its host (listeners, ``log.dirs``,
    …): the broker only tells of them.

    ``hold_until_published``: a broker that starts lets requests wait until it has metadata to answer them from, as
    Kafka's does. One that answers at once says that there are no brokers, and clients that believe it (librdkafka)
    give up what they had for each of them. Simulated brokers answer at once: recorded seeds are of such.
    """

    node_id: int
    endpoint: Endpoint
    controllers: Mapping[int, Endpoint]
    cluster_id: str
    rack: str | None = None
    switches: Switches = field(default_factory=Switches)
    config: NodeConfig = field(default_factory=NodeConfig)
    listeners: tuple[BrokerListener, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    hold_until_published: bool = False


class Broker:
    """One incarnation of a broker (a :class:`~highwater_runtime.ports.NodeCore`)."""

    def __init__(self, options: BrokerOptions, ports: Ports) -> None:
        self.options = options
        config = options.config
        ports = with_step_after_events(ports, self._after_event)
        self._ports = ports
        self._stopping = False
        self._held: list[InboundRequest] = []
        """Requests that wait for the first metadata."""
        self._loader = MetadataLoader(self._may_publish, self._publish)
        self._logs = LogManager(
            ports,
            config,
            options.cluster_id,
            options.node_id,
            self._high_watermarks,
            truncation_sync=options.switches.truncation_sync == "on",
        )
        produces, fetches, deletions = (Purgatory(ports.clock) for _ in range(3))
        self._fetch_sessions = FetchSessions(
            config.fetch_session_slots,
            ports.random,
            ports.clock.now_ns,
            ports.metrics,
            lambda: ports.trace.emit(TransitionTaken(reason="fetch-session-evicted")),
            waiting=fetches,
        )
        self._replicas = ReplicaManager(
            ReplicaManagerOptions(
                broker_id=options.node_id,
                config=config,
                switches=options.switches,
                broker_epoch=lambda: self.broker_epoch,
            ),
            ports,
            self._logs,
            WakeUps((produces, fetches, deletions), on_append=(fetches,), listener=self._fetch_sessions),
            produces,
            fetches,
            deletions,
        )
        self._channels: list[ControllerChannel] = []
        self._raft: RaftReplica | None = None
        self._metadata_log: Log | None = None
        self._lifecycle: Lifecycle | None = None
        self._forwarding = self._channel("forwarding", config.request_timeout_ms)
        self._topic_creation = TopicCreation(
            self._channel("topic-creation", config.request_timeout_ms),
            ports.clock,
            enabled=config.auto_create_topics,
            timeout_ms=config.request_timeout_ms,
        )
        self._groups = Groups(self._replicas, self._topic_creation)
        self._replicas.on_changed = self._groups.replica_changed
        self._replicas.on_loaded = self._loaded
        self._producer_ids = ProducerIds(
            self._channel("producer-ids", config.request_timeout_ms),
            ports.clock,
            options.node_id,
            lambda: self.broker_epoch,
            give_up_after_ns=config.request_timeout_ms * MS,
        )

    def _channel(self, name: str, timeout_ms: int) -> ControllerChannel:
        channel = ControllerChannel(
            name, self.options.controllers, self._active_controller, self._ports, timeout_ns=timeout_ms * MS
        )
        self._channels.append(channel)
        return channel

    # --- what others may know -------------------------------------------------------------------------------------

    @property
    def partitions(self) -> Mapping[PartitionKey, Partition]:
        """The replicas here, by topic id and partition index."""
        return self._replicas.partitions

    @property
    def broker_epoch(self) -> int:
        """The epoch of this broker's registration, −1 before the first."""
        return -1 if self._lifecycle is None else self._lifecycle.broker_epoch

    @property
    def image(self) -> MetadataImage:
        """The metadata that this broker acts on; empty until it has replayed its own registration."""
        return self._replicas.image

    # --- life -----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Load the data directory, observe the metadata log, register. Raises ``OSError`` where the disk fails."""
        options, config = self.options, self.options.config
        self._logs.start(on_loaded=self._logs_loaded)
        self._replicas.start(
            AlterPartitionManager(
                self._channel("alter-partition", config.request_timeout_ms),
                self._ports.clock,
                options.node_id,
                broker_epoch=lambda: self.broker_epoch,
                version=lambda: self.image.metadata_version.alter_partition_version,
                count_failure=lambda: self._ports.metrics.counter(metrics.FAILED_ISR_UPDATES),
                retried=lambda: self._ports.trace.emit(TransitionTaken(reason="alter-partition-retried")),
            ),
            LostLogs(
                self._channel("lost-logs", config.request_timeout_ms),
                self._ports.clock,
                options.node_id,
                lambda: self.broker_epoch,
            ),
        )
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
                listeners=options.listeners or (BrokerListener("PLAINTEXT", options.endpoint),),
                rack=options.rack,
                incarnation_id=UUID(int=self._ports.random.getrandbits(128), version=4),
                previous_epoch=self._logs.previous_broker_epoch,
            ),
            # A heartbeat that hangs must leave time for another one within the session.
            self._channel("heartbeat", max(1, config.broker_session_timeout_ms // 2)),
            self._ports,
            config,
            metadata_offset=lambda: self._loader.applied_offset,
            on_registered=self._registered,
        )
        self._raft.start()
        self._lifecycle.start()
        self._after_event()

    def _logs_loaded(self) -> None:
        if self._lifecycle is not None and not self._stopping:  # else the start is still under way
            self._loader.try_first_publication()
            self._tell_if_caught_up()
            self._after_event()

    def stop(self, on_stopped: Callable[[], None]) -> None:
        """Shut down with the controller's leave, flush, mark the shutdown as clean."""
        assert self._lifecycle is not None
        lifecycle = self._lifecycle

        def leave() -> None:
            self._stopping = True
            self._groups.close()
            self._replicas.close()
            self._after_event()
            for channel in self._channels:
                channel.close()
            assert self._raft is not None
            self._raft.stop(close_logs)

        def close_logs() -> None:
            assert self._metadata_log is not None
            close_metadata_log(self._metadata_log)
            self._logs.shutdown(closed, broker_epoch=self.broker_epoch)

        def closed(error: OSError | None) -> None:
            if error is not None:
                raise error
            lifecycle.stopped()
            on_stopped()

        lifecycle.shut_down(leave)
        self._after_event()

    def _after_event(self) -> None:
        self._replicas.after_event()

    def refresh_metrics(self) -> None:
        """Bring the gauges that move with every record or with time up to date: for a host that is asked for them."""
        self._replicas.refresh_gauges()
        if self._raft is not None:
            self._raft.refresh_metrics()

    # --- metadata -------------------------------------------------------------------------------------------------

    def on_commit(self, base_offset: int, epoch: int, records: list[bytes], last_offset: int) -> None:  # noqa: ARG002
        """From Raft: a batch of the metadata log is committed."""
        if not self._stopping:
            self._loader.on_commit(base_offset, records, last_offset)
            self._tell_if_caught_up()
            # A disk completion may have led here, behind which nothing else looks for wake-ups.
            self._after_event()

    def on_load_snapshot(self, end_offset: int, epoch: int, records: list[bytes]) -> None:  # noqa: ARG002
        """From Raft: a snapshot stands for all below ``end_offset``."""
        if not self._stopping:
            self._loader.on_load_snapshot(end_offset, records)
            self._tell_if_caught_up()
            self._after_event()

    def on_leader_change(self, leader_id: int | None, epoch: int) -> None:
        """From Raft: channels ask for the leader when they need it, so there is nothing to do."""

    def _active_controller(self) -> int | None:
        return None if self._raft is None else self._raft.leader_id

    def _may_publish(self, image: MetadataImage) -> bool:
        return self._logs.is_loaded and self._has_own_registration(image)

    def _has_own_registration(self, image: MetadataImage) -> bool:
        own = image.brokers.get(self.options.node_id)
        return own is not None and own.epoch == self.broker_epoch

    def _publish(self, image: MetadataImage, delta: Delta) -> None:
        self._replicas.publish(image, delta)
        self._groups.publish(image, delta)
        own = image.brokers.get(self.options.node_id)
        if self.options.node_id in delta.brokers and own is not None and own.epoch == self.broker_epoch:
            assert self._lifecycle is not None
            self._lifecycle.told_whether_fenced(own.fenced)

    def _loaded(self) -> None:
        self._tell_if_caught_up()
        if self._held:
            self._ports.clock.call_later(0, self._answer_held)

    def _registered(self) -> None:
        self._loader.try_first_publication()
        self._tell_if_caught_up()

    def _tell_if_caught_up(self) -> None:
        assert self._lifecycle is not None
        if self._replicas.is_loaded and self._lifecycle.waits_for_metadata and self._has_own_registration(self.image):
            self._lifecycle.caught_up()

    def _high_watermarks(self) -> Mapping[TopicPartition, int]:
        return self._replicas.high_watermarks()

    # --- requests -------------------------------------------------------------------------------------------------

    def on_request(self, request: InboundRequest) -> None:
        """Answer a request, now or when its time has come."""
        if self._raft is not None and self._raft.handles(request):
            self._raft.on_request(request)
        elif self._must_wait(request):
            self._held.append(request)
        else:
            self._dispatch(request)
        self._after_event()

    def _must_wait(self, request: InboundRequest) -> bool:
        """Whether it cannot be answered truthfully yet. What a client needs to connect can; and a read of metadata has
        rules of its own for what is current enough."""
        return (
            self.options.hold_until_published
            and not self._replicas.is_loaded
            and request.api_key not in (ApiKey.API_VERSIONS, ApiKey.METADATA_READ)
        )

    def _answer_held(self) -> None:
        held, self._held = self._held, []
        for request in held:
            self._dispatch(request)

    def _dispatch(self, request: InboundRequest) -> None:
        key = request.api_key
        if key == ApiKey.METADATA_READ:
            self._read_metadata(request)
            return
        if key != ApiKey.API_VERSIONS and not api_versions.served(key, request.version):
            request.reply(refusal(request.body, ErrorCode.UNSUPPORTED_VERSION, version=request.version))
            return
        options = self.options
        match key:
            case ApiKey.PRODUCE:
                produce.handle(request, self._replicas)
            case ApiKey.FETCH:
                fetch.handle(request, self._replicas, self._fetch_sessions)
            case ApiKey.LIST_OFFSETS:
                list_offsets.handle(request, self._replicas)
            case ApiKey.OFFSET_FOR_LEADER_EPOCH:
                offset_for_leader_epoch.handle(request, self._replicas)
            case ApiKey.METADATA:
                metadata.handle(request, self.image, options.cluster_id, options.node_id, self._topic_creation)
            case ApiKey.DESCRIBE_CLUSTER:
                metadata.describe_cluster(request, self.image, options.cluster_id, options.node_id)
            case ApiKey.DESCRIBE_TOPIC_PARTITIONS:
                describe_topic_partitions.handle(request, self.image, options.config.request_partition_limit)
            case ApiKey.DESCRIBE_CONFIGS:
                describe_configs.handle(request, self.image, options.config, options.node_id, options.properties)
            case ApiKey.DESCRIBE_LOG_DIRS:
                describe_log_dirs.handle(request, self._replicas, options.properties.get("log.dirs", "data"))
            case ApiKey.DELETE_RECORDS:
                delete_records.handle(request, self._replicas)
            case ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS:
                scram_credentials.handle(request, self.image)
            case ApiKey.SASL_HANDSHAKE | ApiKey.SASL_AUTHENTICATE:
                # A listener with SASL has taken it out before: this one has none.
                request.reply(refusal(request.body, ErrorCode.ILLEGAL_SASL_STATE, version=request.version))
            case ApiKey.API_VERSIONS:
                api_versions.handle(request, self.image)
            case ApiKey.INIT_PRODUCER_ID:
                self._producer_ids.handle(request)
            case _ if key in GROUP_APIS:
                self._groups.handle(request)
            case _ if key in forward.FORWARDED:
                forward.handle(
                    request, self._forwarding, self._ports.clock, timeout_ms=options.config.request_timeout_ms
                )
            case _:
                raise AssertionError(f"API {key} is offered but has no handler")

    def _read_metadata(self, request: InboundRequest) -> None:
        # From what has been replayed, published or not: it is the cluster's state whatever this broker may act on.
        assert self._raft is not None, "the broker has not been started"
        handle_metadata_read(
            request,
            self._raft.read_when_current,
            lambda: (self._loader.image, self._loader.applied_offset),
            longest_ms=self.options.config.request_timeout_ms,
        )
