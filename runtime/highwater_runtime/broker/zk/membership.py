"""This broker's session with the ensemble, and its registration (Detailed Replication Design V3, paths 2 and E).

* ``/brokers/ids/N`` is ephemeral; its czxid is the broker epoch (KIP-380). It is created once every log is loaded, so
  that the controller sends no command to a broker that does not know its logs.
* A node of the same id that belongs to another session is that of an earlier incarnation. The broker waits until that
  session ends and the node is gone. (Apache Kafka's broker exits and must be started again.)
* A session that has expired is replaced by a new one, in which the broker registers again, under a new epoch. Until it
  gets a new command it goes on to lead what it led, as Kafka's does; it cannot shrink an ISR, because the versions have
  moved (discussion 3 of the document).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from highwater_runtime.broker.mode import BrokerContext
from highwater_runtime.metadata.znodes import PERSISTENT, BrokerNode, broker_path, encode_node
from highwater_runtime.ports.coordination import (
    Coordination,
    Create,
    Created,
    Data,
    Failure,
    Get,
    Operation,
    Session,
    SessionEvent,
    WatchEvent,
)

R = TypeVar("R")


class Membership:
    """One broker's sessions.

    Args:
        prepare: called in each connection before the broker registers, with what to call when it may go on.
        on_registered: called each time there is a broker epoch; it may be the one of before.
        on_event: the events of the sessions. CONNECTED comes once the broker is registered in that connection.
    """

    def __init__(
        self,
        context: BrokerContext,
        coordination: Coordination,
        *,
        prepare: Callable[[Callable[[], None]], None],
        on_registered: Callable[[], None],
        on_event: Callable[[SessionEvent], None],
    ) -> None:
        self.session: Session | None = None
        self.broker_epoch = -1
        self.is_registered = False
        """In the present session."""
        self._context = context
        self._coordination = coordination
        self._prepare = prepare
        self._on_registered = on_registered
        self._on_event = on_event
        self._connection = 0
        """Numbers the connections; results of an earlier one mean nothing."""
        self._is_connected = False
        self._is_closed = False

    def start(self) -> None:
        self._open()

    def logs_loaded(self) -> None:
        """Register, if only that was waited for."""
        if self._is_connected:
            self._begin()

    def close(self, on_closed: Callable[[], None]) -> None:
        """End the session, and the registration with it."""
        self._is_closed = True
        self._connection += 1
        if self.session is None:
            on_closed()
        else:
            self.session.close(on_closed)

    def submit(
        self,
        operation: Operation[R],
        on_result: Callable[[R | Failure], None],
        *,
        watch: Callable[[WatchEvent], None] | None = None,
    ) -> None:
        """As :meth:`.Session.submit`, in the present session; what follows is an event of the broker."""
        assert self.session is not None, "the broker has not been started"
        after = self._context.after_event

        def finish(result: R | Failure) -> None:
            if not self._is_closed:
                on_result(result)
                after()

        def fire(event: WatchEvent) -> None:
            if not self._is_closed and watch is not None:
                watch(event)
                after()

        self.session.submit(operation, finish, watch=None if watch is None else fire)

    def _open(self) -> None:
        config = self._context.options.config
        self.session = self._coordination.open(config.zookeeper_session_timeout_ms, self._event)

    def _event(self, event: SessionEvent) -> None:
        if self._is_closed:
            return
        self._connection += 1
        self._is_connected = event is SessionEvent.CONNECTED
        match event:
            case SessionEvent.CONNECTED:
                self._begin()
            case SessionEvent.SUSPENDED:
                self._on_event(event)
            case SessionEvent.EXPIRED:
                self.is_registered = False
                self._on_event(event)
                self._open()
        self._context.after_event()

    # --- registration ---------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if not self._context.logs.is_loaded:
            return
        connection = self._connection

        def go_on() -> None:
            if connection == self._connection:
                self._register()

        def made(path: str, result: Created | Failure) -> None:
            if connection == self._connection and path == PERSISTENT[-1] and result is not Failure.CONNECTION_LOSS:
                self._prepare(go_on)

        for path in PERSISTENT:
            self.submit(Create(path), lambda result, path=path: made(path, result))  # type: ignore[misc]

    def _register(self) -> None:
        options, connection = self._context.options, self._connection
        listeners = options.all_listeners
        node = BrokerNode(
            endpoints={name: str(endpoint) for name, endpoint, _ in listeners},
            security_protocols={name: protocol for name, _, protocol in listeners},
            rack=options.rack,
        )
        path = broker_path(options.node_id)

        def created(result: Created | Failure) -> None:
            if connection != self._connection:
                return
            if isinstance(result, Created):
                self._registered(result.stat.czxid)
            elif result is Failure.NODE_EXISTS:
                self.submit(Get(path), found, watch=ended)

        def found(result: Data | Failure) -> None:
            if connection != self._connection:
                return
            assert self.session is not None
            key = self.session.key
            if isinstance(result, Data) and key is not None and result.stat.ephemeral_owner == key.id:
                self._registered(result.stat.czxid)
            elif result is Failure.NO_NODE:
                self._register()

        def ended(_: WatchEvent) -> None:
            if connection == self._connection and not self.is_registered:
                self._register()

        self.submit(Create(path, encode_node(node), ephemeral=True), created)

    def _registered(self, epoch: int) -> None:
        self.is_registered = True
        self.broker_epoch = epoch
        self._on_registered()
        self._on_event(SessionEvent.CONNECTED)
