"""The broker: one incarnation of one node, put together from its parts, and the table of what it answers.

::

         the mode of the cluster (membership, roles, metadata, ISR writes, the active controller)
              │ roles, image                ▲ ISR proposals, lost logs
              ▼                             │
        ReplicaManager ──► Partitions ──────┘ ◄── fetches, produces ── clients and followers
              └──► Fetchers ──► leaders

What the broker leaves to the mode is in :mod:`highwater_runtime.broker.mode`; a broker of a mode is a
:class:`~highwater_runtime.broker.kraft.KraftBroker` or a ``ZooKeeperBroker`` (:mod:`highwater_runtime.nodes`).

Order of a start: open the data directory, join the cluster. When the logs are loaded and the membership of this very
life is known, the replicas are taken up as the cluster says. Order of a clean stop: leaderships are moved away, fetches
end, logs are flushed, and the clean-shutdown marker is written with the broker epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from highwater_runtime.broker.after_event import with_step_after_events
from highwater_runtime.broker.apis import (
    api_versions,
    delete_records,
    describe_configs,
    describe_log_dirs,
    describe_topic_partitions,
    fetch,
    list_offsets,
    metadata,
    offset_for_leader_epoch,
    produce,
    scram_credentials,
)
from highwater_runtime.broker.apis.init_producer_id import ProducerIds
from highwater_runtime.broker.delta import Delta
from highwater_runtime.broker.fetch_sessions import FetchSessions
from highwater_runtime.broker.groups.coordinator import GroupCoordinator
from highwater_runtime.broker.groups.service import GROUP_APIS, Groups
from highwater_runtime.broker.mode import BrokerContext, ModeFactory
from highwater_runtime.broker.options import BrokerOptions
from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.purgatory import PartitionKey, Purgatory, WakeUps
from highwater_runtime.broker.replica_manager import ReplicaManager
from highwater_runtime.broker.replica_role import ReplicaManagerOptions
from highwater_runtime.broker.replication_quota import ReplicationQuotas
from highwater_runtime.broker.topic_creation import TopicCreation
from highwater_runtime.log.log import Log
from highwater_runtime.log.manager import LogManager
from highwater_runtime.log.names import TopicPartition
from highwater_runtime.metadata import MetadataImage
from highwater_runtime.ports import MS, InboundRequest, Ports
from highwater_runtime.ports.trace import TransitionTaken
from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.refusal import refusal

_PRODUCE: Final = int(ApiKey.PRODUCE)


class Broker:
    """One incarnation of a broker (a :class:`~highwater_runtime.ports.NodeCore`)."""

    keeps_strays = True
    """Whether logs that are assigned no more stay on the disk, renamed. Apache Kafka keeps them: if the controllers
    have lost their metadata, every log is a stray."""

    def __init__(self, options: BrokerOptions, ports: Ports, make_mode: ModeFactory) -> None:
        self.options = options
        config = options.config
        ports = with_step_after_events(ports, self._after_event)
        self._ports = ports
        self._held: list[InboundRequest] = []
        """Requests that wait for the first metadata."""
        self._is_unsettled = False
        self._logs = LogManager(
            ports,
            config,
            options.cluster_id,
            options.node_id,
            self._high_watermarks,
            truncation_sync=options.switches.truncation_sync == "on",
            keeps_strays=self.keeps_strays,
        )
        produces, fetches, deletions = (Purgatory(ports.clock) for _ in range(3))
        self.fetch_sessions = FetchSessions(
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
                fetch_version=lambda: self._mode.fetch_version,
            ),
            ports,
            self._logs,
            WakeUps((produces, fetches, deletions), on_append=(fetches,), listener=self.fetch_sessions),
            produces,
            fetches,
            deletions,
        )
        self._mode = make_mode(
            BrokerContext(options, ports, self._logs, self._replicas, self._publish, self._after_event)
        )
        self._partition_answers = metadata.PartitionAnswers()
        self._topic_creation = TopicCreation(
            self._mode.channel("topic-creation", config.controller_socket_timeout_ms),
            ports.clock,
            enabled=config.auto_create_topics,
            timeout_ms=config.request_timeout_ms,
        )
        self._groups = Groups(self._replicas, self._topic_creation)
        self._replicas.on_changed = self._groups.replica_changed
        self._replicas.on_loaded = self._loaded
        self._producer_ids = ProducerIds(
            self._mode.producer_id_blocks, ports.clock, give_up_after_ns=config.request_timeout_ms * MS
        )

    # --- what others may know -------------------------------------------------------------------------------------

    @property
    def partitions(self) -> Mapping[PartitionKey, Partition]:
        """The replicas here, by topic id and partition index."""
        return self._replicas.partitions

    @property
    def coordinator(self) -> GroupCoordinator:
        """The coordinator of the groups here."""
        return self._groups.coordinator

    @property
    def producer_ids(self) -> range:
        """The block of producer ids that this broker gives out now, whole; empty before the first."""
        return self._producer_ids.block

    @property
    def logs(self) -> Mapping[TopicPartition, Log]:
        """The logs here, of replicas that have a role and of others."""
        return self._logs.logs

    @property
    def quotas(self) -> ReplicationQuotas:
        """How much replication traffic this broker allows."""
        return self._replicas.quotas

    @property
    def replicas_are_loaded(self) -> bool:
        """Whether this incarnation has opened the replicas of its first roles."""
        return self._replicas.is_loaded

    @property
    def broker_epoch(self) -> int:
        """The epoch of this broker's registration, −1 before the first."""
        return self._mode.broker_epoch

    @property
    def image(self) -> MetadataImage:
        """The metadata that this broker acts on; empty until the first publication of this incarnation."""
        return self._replicas.image

    # --- life -----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Load the data directory, join the cluster. Raises ``OSError`` where the disk fails."""
        self._logs.start(on_loaded=self._mode.logs_loaded)
        self._replicas.start(self._mode.isr_writer, self._mode.lost_logs)
        self._mode.start()
        self._after_event()

    def stop(self, on_stopped: Callable[[], None]) -> None:
        """Shut down with the controller's leave, flush, mark the shutdown as clean."""

        def leave() -> None:
            self._groups.close()
            self._replicas.close()
            self._after_event()
            self._mode.close(close_logs)

        def close_logs() -> None:
            self._logs.shutdown(closed, broker_epoch=self.broker_epoch)

        def closed(error: OSError | None) -> None:
            if error is not None:
                raise error
            self._mode.stopped()
            on_stopped()

        self._mode.shut_down(leave)
        self._after_event()

    def _after_event(self) -> None:
        self._replicas.after_event()

    def refresh_metrics(self, *, of_records: bool = True) -> None:
        if of_records:
            self._replicas.refresh_gauges()
        self._mode.refresh_metrics()

    # --- metadata -------------------------------------------------------------------------------------------------

    def _publish(self, image: MetadataImage, delta: Delta) -> None:
        self._replicas.apply_cluster(image, delta)
        self._groups.publish(image, delta)

    def _loaded(self) -> None:
        self._mode.replicas_loaded()
        if self._held:
            self._ports.clock.call_later(0, self._answer_held)

    def _high_watermarks(self) -> Mapping[TopicPartition, int]:
        return self._replicas.high_watermarks()

    # --- requests -------------------------------------------------------------------------------------------------

    def on_request(self, request: InboundRequest) -> None:
        """Answer a request, now or when its time has come."""
        self.take(request)
        self.settle()

    def take(self, request: InboundRequest) -> None:
        """See :class:`~highwater_runtime.ports.TakesRequestsTogether`.

        Requests that wait are tried once for all Produce requests that come together. Any other request settles those
        before it, so that it sees what they have changed.
        """
        is_produce = request.body.API_KEY == _PRODUCE
        if self._is_unsettled and not is_produce:
            self.settle()
        self._is_unsettled = True
        if not is_produce and self._mode.handle_at_once(request):
            pass
        elif not self._replicas.is_loaded and self._must_wait(request):
            self._held.append(request)
        else:
            self._dispatch(request)

    def settle(self) -> None:
        self._is_unsettled = False
        self._after_event()

    def _must_wait(self, request: InboundRequest) -> bool:
        """Whether the truthful answer needs the replicas to be loaded. What a client needs to connect does not."""
        return self.options.hold_until_published and request.api_key != ApiKey.API_VERSIONS

    def _answer_held(self) -> None:
        held, self._held = self._held, []
        for request in held:
            self._dispatch(request)

    def _dispatch(self, request: InboundRequest) -> None:
        key, mode = request.body.API_KEY, self._mode
        if key != ApiKey.API_VERSIONS and not api_versions.served(mode.offered, key, request.version):
            request.reply(refusal(request.body, ErrorCode.UNSUPPORTED_VERSION, version=request.version))
            return
        options = self.options
        match key:
            case ApiKey.PRODUCE:
                produce.handle(request, self._replicas)
            case ApiKey.FETCH:
                fetch.handle(request, self._replicas, self.fetch_sessions)
            case _ if mode.handle(request):
                pass
            case ApiKey.LIST_OFFSETS:
                list_offsets.handle(request, self._replicas)
            case ApiKey.OFFSET_FOR_LEADER_EPOCH:
                offset_for_leader_epoch.handle(request, self._replicas)
            case ApiKey.METADATA:
                metadata.handle(
                    request,
                    self.image,
                    options.cluster_id,
                    mode.controller_for_clients(self.image),
                    self._topic_creation,
                    self._partition_answers,
                )
            case ApiKey.DESCRIBE_CLUSTER:
                metadata.describe_cluster(
                    request, self.image, options.cluster_id, mode.controller_for_clients(self.image)
                )
            case ApiKey.DESCRIBE_TOPIC_PARTITIONS:
                describe_topic_partitions.handle(request, self.image, options.config.request_partition_limit)
            case ApiKey.DESCRIBE_CONFIGS:
                describe_configs.handle(
                    request, self.image, options.config, options.node_id, options.properties, self._ports.clock
                )
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
                api_versions.handle(request, mode.offered, self.image if mode.has_features else None)
            case ApiKey.INIT_PRODUCER_ID:
                self._producer_ids.handle(request)
            case _ if key in GROUP_APIS:
                self._groups.handle(request)
            case _:
                raise AssertionError(f"API {key} is offered but has no handler")
