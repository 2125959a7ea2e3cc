"""The controller of ZooKeeper mode: one of the brokers, elected on ``/controller`` (Detailed Replication Design V3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from highwater_runtime.controller.partition_counts import PartitionCounts
from highwater_runtime.controller.zk.active import UNCLEAN, ActiveController
from highwater_runtime.controller.zk.admin import Admin, refuse
from highwater_runtime.controller.zk.context import ControllerContext
from highwater_runtime.controller.zk.election import ControllerElection, Elected
from highwater_runtime.controller.zk.options import ZkControllerOptions
from highwater_runtime.metadata import MetadataImage
from highwater_runtime.ports import InboundRequest, Ports
from highwater_runtime.ports.coordination import Session, SessionEvent
from highwater_runtime.wire.api_keys import ApiKey

_PREFIX: Final = "kafka_controller_kafkacontroller_"


class ZkController:
    """The part of a broker that is the controller while it is elected.

    ``session_of`` gives the broker's session of the moment; its events must be passed on to :meth:`on_session_event`.
    """

    APIS: ClassVar[frozenset[int]] = frozenset(
        map(
            int,
            (
                ApiKey.CONTROLLED_SHUTDOWN,
                ApiKey.CREATE_TOPICS,
                ApiKey.DELETE_TOPICS,
                ApiKey.CREATE_PARTITIONS,
                ApiKey.ELECT_LEADERS,
                ApiKey.INCREMENTAL_ALTER_CONFIGS,
                ApiKey.ALTER_PARTITION_REASSIGNMENTS,
                ApiKey.LIST_PARTITION_REASSIGNMENTS,
            ),
        )
    )
    """The APIs that a broker passes on to its controller."""

    def __init__(self, options: ZkControllerOptions, session_of: Callable[[], Session | None], ports: Ports) -> None:
        self.options = options
        self._session_of = session_of
        self._ports = ports
        self._election: ControllerElection | None = None
        self._session: Session | None = None
        self._active: ActiveController | None = None
        self._admin: Admin | None = None
        self._of_all_brokers: Mapping[str, str] = {}

    @property
    def is_active(self) -> bool:
        """Whether this broker takes itself for the controller."""
        return self._active is not None

    @property
    def epoch(self) -> int:
        """The controller epoch while :attr:`is_active`, else −1."""
        return -1 if self._active is None else self._active.elected.epoch

    @property
    def context(self) -> ControllerContext | None:
        """What it knows of the cluster while :attr:`is_active`, for observers."""
        return None if self._active is None else self._active.context

    @property
    def controller_id(self) -> int | None:
        """The controller as this broker last read it."""
        return None if self._election is None else self._election.controller

    def handles(self, request: InboundRequest) -> bool:
        """Whether :meth:`on_request` must get ``request``."""
        return request.api_key in self.APIS

    def on_request(self, request: InboundRequest) -> None:
        """Serve ``request``, or refuse it with NOT_CONTROLLER."""
        if self._admin is None:
            refuse(request)
        else:
            self._admin.serve(request)

    def on_session_event(self, event: SessionEvent) -> None:
        """Take note of an event of the broker's session; a new session begins with CONNECTED."""
        session = self._session_of()
        if session is not None and session is not self._session:
            self._deposed()
            self._session = session
            self._election = ControllerElection(self.options.node_id, session, self._elected, self._deposed)
        if self._election is None:
            return
        if self._active is not None and event is SessionEvent.SUSPENDED:
            self._active.suspended()
        self._election.on_session_event(event)
        if self._active is not None and event is SessionEvent.CONNECTED:
            self._active.connected()

    def configured(self, of_all_brokers: Mapping[str, str]) -> None:
        """Take note of the configuration of all brokers, each time it was read; first before a session begins."""
        self._of_all_brokers = of_all_brokers
        if self._active is not None:
            self._active.configured(of_all_brokers)

    def close(self) -> None:
        """Stop at once, sending and writing nothing more."""
        self._deposed()
        self._election = None

    def refresh_metrics(self) -> None:
        """Bring the gauges up to date."""
        gauge, active = self._ports.metrics.gauge, self._active
        image = MetadataImage() if active is None else active.context.image
        counted = PartitionCounts(self.options.config.min_insync_replicas)
        counted.load(image)
        for name, value in (
            ("activecontrollercount", float(active is not None)),
            ("activebrokercount", len(image.brokers)),
            ("globaltopiccount", len(image.topics_by_name)),
            ("globalpartitioncount", image.index.partitions),
            ("offlinepartitionscount", len(image.index.leaderless())),
            ("preferredreplicaimbalancecount", sum(1 for _ in image.index.not_preferred())),
        ):
            gauge(_PREFIX + name, float(value))
        gauge("highwater_controller_under_replicated_partitions", float(counted.now.under_replicated))
        gauge("highwater_controller_under_min_isr_partitions", float(counted.now.under_min_isr))
        self._ports.metrics.counter(UNCLEAN, 0)  # it exists before the first one

    def _elected(self, elected: Elected) -> None:
        assert self._session is not None, "an election is held in a session"
        self._active = ActiveController(
            self.options, elected, self._session, self._ports, self._of_all_brokers, self._deposed, self._after_event
        )
        self._admin = Admin(self._active, self._ports.clock)
        self._active.begin()

    def _deposed(self) -> None:
        active, admin = self._active, self._admin
        self._active = self._admin = None
        if active is not None:
            active.drop()
        if admin is not None:
            admin.drop()

    def _after_event(self) -> None:
        if self._admin is not None:
            self._admin.after_event()
