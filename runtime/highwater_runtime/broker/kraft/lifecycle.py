"""A broker's life in the eyes of the controller: registration, heartbeats, fencing, controlled shutdown (KIP-631).

::

  starting ──register──► registered ──own registration replayed──► recovery ──unfenced──► running
      ▲                                                                                      │ stop
      │        STALE_BROKER_EPOCH, BROKER_ID_NOT_REGISTERED: another one replaced this          ▼
      └──────────────────────── (from anywhere but a shutdown) ─────────────  controlled-shutdown ──► stopped

Rules in words:

* Each process start is an *incarnation* with an id of its own. The controller answers a registration with the broker
  epoch, which is the offset of the registration record. A start while the session of the previous incarnation still
  lasts is refused (DUPLICATE_BROKER_REGISTRATION) and repeated until that session is over.
* A registration names the broker epoch under which this data directory was last shut down cleanly (−1: it was not).
  By that the controller knows whether a restart may have lost records.
* A broker that is answered STALE_BROKER_EPOCH or BROKER_ID_NOT_REGISTERED registers again (Kafka's repeats its
  heartbeat for ever). If it gets the epoch that it has, nothing has changed.
* A broker asks to stay fenced until it has replayed the metadata log up to its own registration and loaded its
  replicas. A session that lapsed later fences it; the next heartbeat unfences it, under the same epoch.
* A heartbeat waits for nothing that this broker does. While an event takes long (a ``write()`` blocks), the host
  repeats the last heartbeat; Kafka's has a thread of its own. Once the broker leaves, nobody does: one that waits for
  its disk while it closes its logs loses its session.
* A broker whose heartbeats have not been answered for two thirds of the session time-out says so: it is still time to
  find out why.
* A registration that is refused is repeated until it is granted. Each reason is reported once, until another one
  comes or the registration is granted.
* A shutdown asks the controller to move leaderships away, and waits for its leave at most
  ``controlled.shutdown.timeout.ms``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any
from uuid import UUID

from highwater_runtime.broker.controller_channel import ControllerChannel, Repeated
from highwater_runtime.config import NodeConfig
from highwater_runtime.metadata import BrokerListener, MetadataVersion
from highwater_runtime.metadata.metadata_version import FEATURE_NAME
from highwater_runtime.ports import MS, Ports, RpcFailure, Timer
from highwater_runtime.ports.trace import BrokerStateChanged, Transition, TransitionTaken
from highwater_runtime.wire.errors import ErrorCode, error_of
from highwater_runtime.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from highwater_runtime.wire.messages.broker_registration_request import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)

REGISTRATION_BACKOFF_NS = 100 * MS
"""Before a refused registration is repeated."""

SHUTDOWN_HEARTBEAT_NS = 50 * MS
"""Between heartbeats while the controller moves leaderships away."""

REGISTRATION_VERSION = 3
HEARTBEAT_VERSION = 0
NO_EPOCH = -1


class LifecycleState(Enum):
    """Where a broker stands; the values are the words of the trace."""

    STARTING = "starting"
    REGISTERED = "registered"
    RECOVERY = "recovery"
    RUNNING = "running"
    FENCED = "fenced"
    """It was running, and has lost its session."""
    CONTROLLED_SHUTDOWN = "controlled-shutdown"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a broker registers with. ``previous_epoch`` is that of the last clean shutdown, −1 where there was none."""

    broker_id: int
    cluster_id: str
    listeners: tuple[BrokerListener, ...]
    rack: str | None
    incarnation_id: UUID
    previous_epoch: int


class Lifecycle:
    """Keeps one incarnation registered and alive.

    Args:
        channel: to the active controller, for this purpose alone.
        metadata_offset: the last offset of the metadata log that this broker has applied.
        on_registered: called each time the controller has granted a broker epoch.
    """

    def __init__(
        self,
        identity: Identity,
        channel: ControllerChannel,
        ports: Ports,
        config: NodeConfig,
        *,
        metadata_offset: Callable[[], int],
        on_registered: Callable[[], None],
    ) -> None:
        self.state = LifecycleState.STARTING
        self.broker_epoch = NO_EPOCH
        self._identity = identity
        self._channel = channel
        self._ports = ports
        self._config = config
        self._metadata_offset = metadata_offset
        self._on_registered = on_registered
        self._caught_up = False
        self._asking = False
        self._soon = False
        self._timer: Timer | None = None
        self._session: Timer | None = None
        """Runs out when no heartbeat has been answered for two thirds of the session time-out."""
        self._runs_out_ns = -1
        self._on_leave: Callable[[], None] | None = None
        self._refusal: Transition | None = None
        """Why the registration was refused last; None once it is granted."""

    def start(self) -> None:
        """Register; then keep the session alive until the shutdown."""
        self._enter(LifecycleState.STARTING)
        self._register()

    @property
    def waits_for_metadata(self) -> bool:
        """Whether the broker is registered but :meth:`caught_up` has not been called for this registration yet."""
        return self.state is LifecycleState.REGISTERED and not self._caught_up

    def caught_up(self) -> None:
        """The metadata is replayed up to this registration, and the replicas are loaded: ask to be unfenced."""
        assert self.waits_for_metadata
        self._caught_up = True
        self._enter(LifecycleState.RECOVERY)
        self._heartbeat_soon()

    def metadata_shows_fenced(self, fenced: bool) -> None:
        """Note whether the metadata has this incarnation fenced. (A heartbeat cannot show it: it ends that.)"""
        if fenced and self.state is LifecycleState.RUNNING:
            self._enter(LifecycleState.FENCED)
        elif not fenced and self.state is LifecycleState.FENCED:
            self._enter(LifecycleState.RUNNING)

    def shut_down(self, on_leave: Callable[[], None]) -> None:
        """Ask the controller for leave; calls ``on_leave`` once it is given, or when the time for that is over."""
        self._on_leave = on_leave
        if self.broker_epoch == NO_EPOCH or self._config.controlled_shutdown_timeout_ms == 0:
            self._leave()
            return
        self._enter(LifecycleState.CONTROLLED_SHUTDOWN)
        self._ports.clock.call_later(self._config.controlled_shutdown_timeout_ms * MS, self._leave)
        self._heartbeat_soon()

    def stopped(self) -> None:
        """The broker has closed everything: the last word of its trace."""
        self._enter(LifecycleState.STOPPED)

    def _enter(self, state: LifecycleState) -> None:
        self.state = state
        self._ports.trace.emit(
            BrokerStateChanged(broker=self._identity.broker_id, broker_epoch=self.broker_epoch, reason=state.value)
        )

    # --- registration ---------------------------------------------------------------------------------------------

    def _register(self) -> None:
        self._channel.ask(self._registration, self._registered)

    def _registration(self) -> tuple[BrokerRegistrationRequest, int]:
        identity = self._identity
        levels = Feature(
            name=FEATURE_NAME,
            min_supported_version=int(MetadataVersion.minimum()),
            max_supported_version=int(MetadataVersion.latest()),
        )
        request = BrokerRegistrationRequest(
            broker_id=identity.broker_id,
            cluster_id=identity.cluster_id,
            incarnation_id=identity.incarnation_id,
            listeners=[
                Listener(name=name, host=endpoint.host, port=endpoint.port, security_protocol=protocol)
                for name, endpoint, protocol in identity.listeners
            ],
            features=[levels],
            rack=identity.rack,
            # Once registered, this process has served under an epoch that it has not shut down cleanly.
            previous_broker_epoch=identity.previous_epoch if self.broker_epoch == NO_EPOCH else NO_EPOCH,
        )
        return request, REGISTRATION_VERSION

    def _registered(self, response: Any) -> None:
        if self.state in (LifecycleState.CONTROLLED_SHUTDOWN, LifecycleState.STOPPED):
            return
        refusal = self._why_refused(response)
        if refusal not in (None, self._refusal):
            self._ports.trace.emit(TransitionTaken(reason=refusal))
        self._refusal = refusal
        if refusal is not None:
            self._ports.clock.call_later(REGISTRATION_BACKOFF_NS, self._register)
            return
        if response.broker_epoch > self.broker_epoch:
            self.broker_epoch = response.broker_epoch
            self._caught_up = False
        # The same epoch: a deposed controller, which did not know this registration, made the broker ask again. It is
        # as caught up as before, and must not ask to be fenced.
        self._enter(LifecycleState.RECOVERY if self._caught_up else LifecycleState.REGISTERED)
        self._heartbeat_soon()
        self._on_registered()

    def _why_refused(self, response: Any) -> Transition | None:
        """Return why a response grants no registration; None if it does."""
        if isinstance(response, RpcFailure):
            return "registration-unanswered"
        if response.error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION:
            return "registration-refused-as-duplicate"
        if response.error_code != ErrorCode.NONE:
            return "registration-refused"
        # No controller gives an epoch that goes back, unless the controllers have lost their log.
        return "registration-epoch-went-back" if response.broker_epoch < max(self.broker_epoch, 0) else None

    # --- heartbeats -----------------------------------------------------------------------------------------------

    def _heartbeat_soon(self) -> None:
        """One heartbeat right away; if one is under way, another right after it, for it may not tell the news."""
        if self._asking:
            self._soon = True
        elif self.broker_epoch != NO_EPOCH and self.state is not LifecycleState.STARTING:
            self._heartbeat()

    def _heartbeat(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._asking, self._soon = True, False
        repeated = Repeated(self._heartbeat_interval_ns(), self._repetition_answered)
        self._channel.ask(self._heartbeat_request, self._heartbeat_answered, repeated=repeated)

    def _heartbeat_request(self) -> tuple[BrokerHeartbeatRequest, int]:
        request = BrokerHeartbeatRequest(
            broker_id=self._identity.broker_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=self._metadata_offset(),
            want_fence=not self._caught_up,
            want_shut_down=self.state is LifecycleState.CONTROLLED_SHUTDOWN,
        )
        return request, HEARTBEAT_VERSION

    def _heartbeat_answered(self, response: Any) -> None:
        self._asking = False
        if self.state is LifecycleState.STOPPED:
            return
        error = ErrorCode.REQUEST_TIMED_OUT if isinstance(response, RpcFailure) else error_of(response.error_code)
        match error:
            case ErrorCode.NONE:
                self._alive(fenced=response.is_fenced, may_leave=response.should_shut_down)
            case ErrorCode.STALE_BROKER_EPOCH | ErrorCode.BROKER_ID_NOT_REGISTERED:
                self._replaced()
                return
            case _:
                self._soon = False
        self._schedule_heartbeat()

    def _repetition_answered(self, sent_ns: int, response: Any) -> None:
        """The session went on then; this is heard later. All else follows from the next heartbeat of this broker's."""
        if self.state is not LifecycleState.STOPPED and response.error_code == ErrorCode.NONE:
            self._watch_session(sent_ns)

    def _schedule_heartbeat(self) -> None:
        if self.state is LifecycleState.STOPPED:
            return
        if self._soon:
            self._heartbeat()
        else:
            self._timer = self._ports.clock.call_later(self._heartbeat_interval_ns(), self._heartbeat)

    def _heartbeat_interval_ns(self) -> int:
        interval_ns = self._config.broker_heartbeat_interval_ms * MS
        leaving = self.state is LifecycleState.CONTROLLED_SHUTDOWN
        return min(SHUTDOWN_HEARTBEAT_NS, interval_ns) if leaving else interval_ns

    def _watch_session(self, since_ns: int) -> None:
        runs_out_ns = since_ns + self._config.broker_session_timeout_ms * MS * 2 // 3
        if runs_out_ns <= self._runs_out_ns:
            return
        if self._session is not None:
            self._session.cancel()
        self._runs_out_ns = runs_out_ns
        delay_ns = max(0, runs_out_ns - self._ports.clock.now_ns())
        self._session = self._ports.clock.call_later(delay_ns, self._session_is_running_out)

    def _session_is_running_out(self) -> None:
        self._session = None
        if self.state in (LifecycleState.RECOVERY, LifecycleState.RUNNING):
            self._ports.trace.emit(TransitionTaken(reason="heartbeats-late"))

    def _alive(self, *, fenced: bool, may_leave: bool) -> None:
        self._watch_session(self._ports.clock.now_ns())
        if self.state is LifecycleState.CONTROLLED_SHUTDOWN:
            if may_leave:
                self._leave()
        elif not fenced and self.state is LifecycleState.RECOVERY:
            self._enter(LifecycleState.RUNNING)

    def _replaced(self) -> None:
        if self.state is LifecycleState.CONTROLLED_SHUTDOWN:
            self._leave()
            return
        self._enter(LifecycleState.STARTING)
        self._register()

    def _leave(self) -> None:
        # Also where the controller has not given leave: Kafka's thread ends here too (beginShutdown).
        self._ports.network.stop_repeating()
        on_leave, self._on_leave = self._on_leave, None
        if on_leave is not None:
            on_leave()
