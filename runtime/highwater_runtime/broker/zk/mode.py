"""ZooKeeper mode: the broker does what the controller commands, and writes to ZooKeeper what is its own to write.

::

    ensemble ◄──session──► Membership (/brokers/ids/N) ──► broker epoch
        ▲                                                      │ fences
        │ ISR, producer ids                                    ▼
        ├──────────────── IsrWrites ◄── ReplicaManager ◄── Commands ◄── controller (LeaderAndIsr, StopReplica,
        └── /config ────► Configs ───► ClusterImage ◄──────────┘         UpdateMetadata)

The controller is one of the brokers, perhaps this one; its part is given to the mode and gets the session's events and
the requests that are its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from highwater_runtime.broker.apis import api_versions
from highwater_runtime.broker.controller_channel import ControllerChannel
from highwater_runtime.broker.mode import BrokerContext
from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.broker.zk.cluster_image import ClusterImage
from highwater_runtime.broker.zk.commands import COMMANDS, Commands
from highwater_runtime.broker.zk.configs import Configs
from highwater_runtime.broker.zk.isr_writer import IsrWrites
from highwater_runtime.broker.zk.lost_logs import FailedBroker
from highwater_runtime.broker.zk.membership import Membership
from highwater_runtime.broker.zk.producer_ids import WrittenBlocks
from highwater_runtime.metadata import ConfigResource, MetadataImage
from highwater_runtime.metadata.registrations import ALL_BROKERS_RESOURCE
from highwater_runtime.ports import MS, Endpoint, InboundRequest, RpcFailure
from highwater_runtime.ports.coordination import Coordination, Session, SessionEvent
from highwater_runtime.ports.trace import BrokerStateChanged
from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.controlled_shutdown_request import ControlledShutdownRequest

SHUTDOWN_RETRY_NS: Final = 500 * MS
"""Until ControlledShutdown is sent again while partitions remain (Kafka's ``controlled.shutdown.retry.backoff.ms``)."""

_SHUTDOWN_VERSION: Final = 3
_NOT_OFFERED: Final = (
    ApiKey.ALTER_CONFIGS,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey.UPDATE_FEATURES,
    ApiKey.UNREGISTER_BROKER,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
)
OFFERED: Final[Mapping[ApiKey, tuple[int, int]]] = {
    key: versions for key, versions in api_versions.OFFERED.items() if key not in _NOT_OFFERED
}
"""API → lowest and highest version that a broker offers in ZooKeeper mode."""

_WITHOUT_TOPIC_IDS: Final = 12
"""The last version of Fetch that names topics."""


class ControllerPart(Protocol):
    """The controller that a broker is while it is elected."""

    @property
    def controller_id(self) -> int | None:
        """The controller as this broker last read it; None if it knows none."""

    def on_session_event(self, event: SessionEvent) -> None:
        """Take note of an event of the broker's session; a new session begins with CONNECTED."""

    def handles(self, request: InboundRequest) -> bool:
        """Whether :meth:`on_request` must get ``request``."""

    def on_request(self, request: InboundRequest) -> None:
        """Serve ``request``, or refuse it with NOT_CONTROLLER."""

    def configured(self, of_all_brokers: Mapping[str, str]) -> None:
        """Take note of the configuration of all brokers, each time it was read; first before a session begins."""

    def close(self) -> None:
        """Stop at once, sending and writing nothing more."""

    def refresh_metrics(self) -> None:
        """Bring the gauges up to date."""


MakeController = Callable[[Callable[[], Session | None]], ControllerPart]
"""Makes the controller's part; gets what gives the session of the moment."""


class ZooKeeperMode:
    """A :class:`~highwater_runtime.broker.mode.Mode`."""

    has_features = False

    def __init__(self, context: BrokerContext, coordination: Coordination, make_controller: MakeController) -> None:
        self._context = context
        self._channels: list[ControllerChannel] = []
        self._membership = Membership(
            context,
            coordination,
            prepare=self._prepare,
            on_registered=self._registered,
            on_event=self._session_event,
        )
        self.controller = make_controller(lambda: self.session)
        self._cluster = ClusterImage(context.options.node_id)
        self._configs = Configs(self._membership, self._configured)
        controller_epochs: dict[PartitionKey, int] = {}
        self._commands = Commands(
            context,
            self._cluster,
            self._configs,
            controller_epochs,
            broker_epoch=lambda: self.broker_epoch,
            publish=self._publish,
        )
        self.isr_writer = IsrWrites(context, self._membership, controller_epochs)
        self.lost_logs = FailedBroker()
        self.producer_id_blocks = WrittenBlocks(self._membership, context.options.node_id)
        self._has_topic_ids = context.options.config.has_topic_ids
        self._is_leaving = False

    @property
    def broker_epoch(self) -> int:
        return self._membership.broker_epoch

    @property
    def session(self) -> Session | None:
        """The session of the moment; None before the start."""
        return self._membership.session

    @property
    def is_registered(self) -> bool:
        """Whether the broker is registered in that session."""
        return self._membership.is_registered

    @property
    def fetch_version(self) -> int:
        return 15 if self._has_topic_ids else _WITHOUT_TOPIC_IDS

    @property
    def offered(self) -> Mapping[ApiKey, tuple[int, int]]:
        if self._has_topic_ids:
            return OFFERED
        return {**OFFERED, ApiKey.FETCH: (OFFERED[ApiKey.FETCH][0], _WITHOUT_TOPIC_IDS)}

    def channel(self, name: str, timeout_ms: int) -> ControllerChannel:
        channel = ControllerChannel(name, self._active_controller, self._context.ports, timeout_ns=timeout_ms * MS)
        self._channels.append(channel)
        return channel

    def _active_controller(self) -> Endpoint | None:
        controller_id = self.controller.controller_id
        return None if controller_id is None else self._context.replicas.image.endpoint_of(controller_id)

    def controller_for_clients(self, image: MetadataImage) -> int:
        """The active controller, as ``/controller`` names it."""
        controller_id = self.controller.controller_id
        return controller_id if controller_id is not None and controller_id in image.brokers else -1

    # --- life -----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._report("starting")
        self._membership.start()

    def logs_loaded(self) -> None:
        self._membership.logs_loaded()
        self._context.after_event()

    def replicas_loaded(self) -> None:
        if not self._is_leaving:
            self._report("running")

    def shut_down(self, on_leave: Callable[[], None]) -> None:
        """Have the controller move leaderships away (ControlledShutdown), within ``controlled.shutdown.timeout.ms``."""
        timeout_ms = self._context.options.config.controlled_shutdown_timeout_ms
        clock = self._context.ports.clock
        left = False

        def leave() -> None:
            nonlocal left
            if not left:
                left = True
                on_leave()

        if self.broker_epoch < 0 or timeout_ms == 0:
            leave()
            return
        self._is_leaving = True
        self._report("controlled-shutdown")
        channel = self.channel("controlled-shutdown", timeout_ms)
        end_ns = clock.now_ns() + timeout_ms * MS
        clock.call_later(timeout_ms * MS, leave)

        def build() -> tuple[ControlledShutdownRequest, int]:
            request = ControlledShutdownRequest(
                broker_id=self._context.options.node_id, broker_epoch=self._membership.broker_epoch
            )
            return request, _SHUTDOWN_VERSION

        def ask() -> None:
            if not left:
                channel.ask(build, answered, give_up_at_ns=end_ns)

        def answered(response: Any) -> None:
            if isinstance(response, RpcFailure) or (
                response.error_code == ErrorCode.NONE and not response.remaining_partitions
            ):
                leave()
            else:
                clock.call_later(SHUTDOWN_RETRY_NS, ask)

        ask()

    def close(self, on_closed: Callable[[], None]) -> None:
        self.controller.close()
        for channel in self._channels:
            channel.close()
        self._membership.close(on_closed)

    def stopped(self) -> None:
        self._report("stopped")

    def refresh_metrics(self) -> None:
        self.controller.refresh_metrics()

    def _report(self, state: str) -> None:
        self._context.ports.trace.emit(
            BrokerStateChanged(broker=self._context.options.node_id, broker_epoch=self.broker_epoch, reason=state)
        )

    # --- session and metadata -------------------------------------------------------------------------------------

    def _session_event(self, event: SessionEvent) -> None:
        if event is SessionEvent.EXPIRED and not self._is_leaving:
            self._report("fenced")
        self.controller.on_session_event(event)

    def _prepare(self, then: Callable[[], None]) -> None:
        self._configs.read_all(then)

    def _registered(self) -> None:
        if not self._is_leaving:
            self._report("registered")
            if self._context.replicas.is_loaded:
                self._report("running")
        self._commands.open()

    def _configured(self, resource: ConfigResource, values: Mapping[str, str]) -> None:
        self._cluster.configure(resource, values)
        if resource == ALL_BROKERS_RESOURCE:
            self.controller.configured(values)
        if self._context.replicas.is_loaded:
            self._publish()
            self._context.replicas.begin()

    def _publish(self) -> None:
        self._context.publish(self._cluster.image, self._cluster.take_delta())

    # --- requests -------------------------------------------------------------------------------------------------

    def handle_at_once(self, request: InboundRequest) -> bool:
        """What the controller commands, and what brokers ask of it."""
        if request.api_key in COMMANDS:
            self._commands.handle(request)
            return True
        if request.api_key == ApiKey.CONTROLLED_SHUTDOWN:
            self.controller.on_request(request)
            return True
        return False

    def handle(self, request: InboundRequest) -> bool:
        """Administration: this broker serves it if it is the controller."""
        if not self.controller.handles(request):
            return False
        self.controller.on_request(request)
        return True
