"""Coordination by a real ZooKeeper ensemble, through kazoo.

Kazoo runs one thread for each session. This handler passes results and watches to the node's loop, in the order in
which the server sent them. There each becomes an event of the node. Kazoo's own handler has two queues, one for results
and one for watches, which would break that order; this one has none.

What a turn of the node submits leaves at the end of the turn, behind the node events that explain it (:mod:`.turn`).

Kazoo's request objects are used with ``KazooClient._call``, as its own recipes do: its public methods wait for one
another in callbacks, and return other things for each operation.

A server may leave a request without an answer and answer a later one: it drops what a session asks that is being taken
over or closed (``MissingSessionException`` in ``ZooKeeperServer.submitRequestNow``). Kazoo then ends its thread with an
error of its own ("xids do not match"), and with it the session's only connection. ZooKeeper's own client takes such a
connection for lost, and goes on with the session on another one (``ClientCnxn.SendThread.readResponse``, "Xid out of
order"); :class:`_Connection` does the same.
"""

from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from kazoo import exceptions
from kazoo.client import KazooClient
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol import serialization
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.states import EventType, KazooState, KeeperState, ZnodeStat
from kazoo.security import OPEN_ACL_UNSAFE

from highwater_runtime.host.turn import Sender
from highwater_runtime.ports import Endpoint
from highwater_runtime.ports.coordination import (
    Aborted,
    Check,
    Children,
    Create,
    Created,
    Data,
    Delete,
    Exists,
    Failure,
    Get,
    Listing,
    Multi,
    Operation,
    SessionEvent,
    SessionKey,
    Set,
    Stat,
    Step,
    StepResult,
    WatchEvent,
    WatchKind,
    check_submitted,
)

R = TypeVar("R")

_FAILURES: Final[dict[type[Exception], Failure]] = {
    exceptions.NoNodeError: Failure.NO_NODE,
    exceptions.NodeExistsError: Failure.NODE_EXISTS,
    exceptions.BadVersionError: Failure.BAD_VERSION,
    exceptions.NotEmptyError: Failure.NOT_EMPTY,
    exceptions.NoChildrenForEphemeralsError: Failure.NO_CHILDREN_FOR_EPHEMERALS,
    exceptions.BadArgumentsError: Failure.BAD_ARGUMENTS,
    exceptions.SessionExpiredError: Failure.SESSION_EXPIRED,
    exceptions.ConnectionLoss: Failure.CONNECTION_LOSS,
    exceptions.ConnectionClosedError: Failure.CONNECTION_LOSS,
    exceptions.SessionMovedError: Failure.CONNECTION_LOSS,
}
_WATCH_KINDS: Final = {
    EventType.CREATED: WatchKind.CREATED,
    EventType.CHANGED: WatchKind.CHANGED,
    EventType.DELETED: WatchKind.DELETED,
    EventType.CHILD: WatchKind.CHILDREN,
}
_EPHEMERAL: Final = 1
_SEQUENTIAL: Final = 2
_RECONNECT: Final = {"max_tries": -1, "delay": 0.1, "max_delay": 1.0}


class ZooKeeperError(RuntimeError):
    """ZooKeeper or kazoo did what no node can go on with."""


class KazooCoordination:
    """The way of one node to the ZooKeeper ensemble at ``servers``.

    Args:
        loop: the node's.
        run: runs a callback as an event of the node, on ``loop``.
        will_send: gets what has something to send once the present turn is over (:meth:`.Turn.will_send`); by default
            nothing waits for that.
    """

    def __init__(
        self,
        servers: Sequence[Endpoint],
        loop: asyncio.AbstractEventLoop,
        run: Callable[[Callable[[], object]], None],
        will_send: Callable[[Sender], None] = lambda sender: sender.flush(),
    ) -> None:
        self._servers = servers
        self._loop = loop
        self._run = run
        self._will_send = will_send

    def open(
        self, timeout_ms: int, on_event: Callable[[SessionEvent], None], *, key: SessionKey | None = None
    ) -> KazooSession:
        return KazooSession(self._servers, self._post, self._will_send, timeout_ms, on_event, key)

    def _post(self, event: Callable[[], object]) -> None:
        """Make ``event`` one of the node, from any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._run, event)


class KazooSession:
    """One :class:`~highwater_runtime.ports.coordination.Session`. All but ``_from_kazoo`` runs on the node's loop."""

    def __init__(
        self,
        servers: Sequence[Endpoint],
        post: Callable[[Callable[[], object]], None],
        will_send: Callable[[Sender], None],
        timeout_ms: int,
        on_event: Callable[[SessionEvent], None],
        key: SessionKey | None,
    ) -> None:
        self._post = post
        self._will_send = will_send
        self._unsent: list[Callable[[], None]] = []
        self._on_event = on_event
        self._key = key
        self._is_connected = False
        self._is_over = False
        self._numbers = 0
        self._in_flight: dict[int, Callable[[Any], None]] = {}
        self._watches: dict[int, tuple[str, Callable[[WatchEvent], None]]] = {}
        self._kazoo = KazooClient(
            ",".join(str(server) for server in servers),
            timeout=timeout_ms / 1000,
            client_id=key,
            handler=_NoQueues(),
            connection_retry=dict(_RECONNECT),
        )
        self._kazoo._connection = _Connection(
            self._kazoo, self._kazoo._conn_retry.copy(), logger=self._kazoo.logger, sasl_options=None
        )
        self._kazoo.add_listener(self._from_kazoo)
        self._kazoo.start_async()

    @property
    def key(self) -> SessionKey | None:
        return self._key

    def submit(
        self,
        operation: Operation[R],
        on_result: Callable[[R | Failure], None],
        *,
        watch: Callable[[WatchEvent], None] | None = None,
    ) -> None:
        check_submitted(operation, watched=watch is not None)
        if self._is_over or not self._is_connected:
            failure = Failure.SESSION_EXPIRED if self._is_over else Failure.CONNECTION_LOSS
            self._post(lambda: on_result(failure))
            return
        number = self._numbers = self._numbers + 1

        def finish(result: Any) -> None:
            if watch is not None and not isinstance(result, Failure):
                self._watches[number] = operation.path, watch
            on_result(result)

        self._in_flight[number] = finish
        fired = None if watch is None else lambda event: self._post(lambda: self._fired(number, event))
        response = self._kazoo.handler.async_result()
        response.rawlink(lambda response: self._post(lambda: self._finished(number, operation, response)))
        request = _request(operation, fired)
        self._send(lambda: self._kazoo._call(request, response))

    def flush(self) -> None:
        unsent, self._unsent = self._unsent, []
        for send in unsent:
            send()

    def _send(self, send: Callable[[], None]) -> None:
        self._unsent.append(send)
        if len(self._unsent) == 1:
            self._will_send(self)

    def close(self, on_closed: Callable[[], None]) -> None:
        if self._is_over:
            self._post(on_closed)
            return
        self._is_over = True
        self._watches.clear()
        self._send(lambda: self._stop_kazoo(lambda: self._post(on_closed)))

    def _stop_kazoo(self, then: Callable[[], None]) -> None:
        """In a thread of its own: kazoo waits for its own one, and for the server."""

        def stop() -> None:
            self._kazoo.stop()
            self._kazoo.close()
            then()

        threading.Thread(target=stop, name="zookeeper-stop", daemon=True).start()

    # --- from kazoo ---

    def _from_kazoo(self, state: str) -> None:
        """Kazoo's thread: the connection was made, or lost, or the session ended."""
        keeper_state, key = self._kazoo.client_state, self._kazoo.client_id
        self._post(lambda: self._changed(state, keeper_state, key))

    def _changed(self, state: str, keeper_state: str, key: tuple[int, bytes] | None) -> None:
        if self._is_over:
            if state != KazooState.CONNECTED:
                self._fail_all(Failure.CONNECTION_LOSS)
            return
        match state:
            case KazooState.CONNECTED:
                assert key is not None, "a session that is connected has an id"
                self._is_connected = True
                self._key = SessionKey(*key)
                self._on_event(SessionEvent.CONNECTED)
            case KazooState.SUSPENDED:
                self._is_connected = False
                self._fail_all(Failure.CONNECTION_LOSS)
                self._on_event(SessionEvent.SUSPENDED)
            case _ if keeper_state == KeeperState.EXPIRED_SESSION:
                # Kazoo would begin another session.
                self._is_over = True
                self._stop_kazoo(lambda: None)
                self._fail_all(Failure.SESSION_EXPIRED)
                self._on_event(SessionEvent.EXPIRED)
            case _:
                raise ZooKeeperError(f"kazoo has given up the session, in state {keeper_state}: see its log")

    def _fail_all(self, failure: Failure) -> None:
        in_flight, self._in_flight = self._in_flight, {}
        for finish in in_flight.values():
            finish(failure)
        watches, self._watches = self._watches, {}
        for path, watch in watches.values():
            watch(WatchEvent(WatchKind.LOST, path))

    def _finished(self, number: int, operation: Operation[Any], response: Any) -> None:
        finish = self._in_flight.pop(number, None)
        if finish is not None:
            finish(_result(operation, response))

    def _fired(self, number: int, event: Any) -> None:
        watch = self._watches.pop(number, None)
        kind = _WATCH_KINDS.get(event.type)
        if watch is not None and kind is not None:
            path, on_watch = watch
            on_watch(WatchEvent(kind, path))


class _Connection(ConnectionHandler):  # type: ignore[misc]
    """Kazoo's connection; one on which an answer is missing, or makes no sense, is lost, and the session goes on."""

    def _read_socket(self, read_timeout: float) -> Any:
        try:
            return super()._read_socket(read_timeout)
        except (struct.error, LookupError, ValueError) as error:
            raise exceptions.ConnectionDropped(f"found what is no answer of a ZooKeeper server: {error!r}") from error

    def _read_response(self, header: Any, buffer: bytes, offset: int) -> Any:
        pending = self.client._pending
        if not pending or pending[0][2] != header.xid:
            waiting = pending[0][2] if pending else "none"
            raise exceptions.ConnectionDropped(f"expected the answer to request {waiting}, found that to {header.xid}")
        return super()._read_response(header, buffer, offset)


class _Inline:
    """In the place of a queue: what is put into it runs at once, in kazoo's own thread."""

    def put(self, function: Callable[[], object]) -> None:
        function()


class _NoQueues(SequentialThreadingHandler):  # type: ignore[misc]
    """Callbacks run in the thread that reads from the server, in the order in which things were read."""

    def __init__(self) -> None:
        super().__init__()
        self.callback_queue = self.completion_queue = _Inline()

    def start(self) -> None:
        self._running = True

    def stop(self) -> None:
        self._running = False


# --- requests and results --------------------------------------------------------------------------------------------


def _request(operation: Operation[Any], fired: Callable[[Any], None] | None) -> Any:
    match operation:
        case Get(path=path):
            return serialization.GetData(path, fired)
        case Exists(path=path):
            return serialization.Exists(path, fired)
        case Children(path=path):
            return serialization.GetChildren2(path, fired)
        case Multi(steps=steps):
            return serialization.Transaction([_step(step) for step in steps])
        case Create():
            return serialization.Create2(*_step(operation))
        case _:
            assert isinstance(operation, Step), f"{operation} is no operation"
            return _step(operation)


def _step(step: Step) -> Any:
    match step:
        case Create(path=path, data=data, ephemeral=ephemeral, sequential=sequential):
            flags = _EPHEMERAL * ephemeral + _SEQUENTIAL * sequential
            return serialization.Create(path, data, OPEN_ACL_UNSAFE, flags)
        case Set(path=path, data=data, version=version):
            return serialization.SetData(path, data, version)
        case Delete(path=path, version=version):
            return serialization.Delete(path, version)
        case Check(path=path, version=version):
            return serialization.CheckVersion(path, version)


def _result(operation: Operation[Any], response: Any) -> Any:
    if response.exception is not None:
        return _failure_of(response.exception)
    value = response.value
    match operation:
        case Create():
            path, stat = value
            return Created(path, _stat(stat))
        case Get():
            data, stat = value
            return Data(data, _stat(stat))
        case Exists():
            return None if value is None else _stat(value)
        case Children():
            names, stat = value
            return Listing(tuple(sorted(names)), _stat(stat))
        case Set():
            return _stat(value)
        case Delete():
            return None
        case _:
            return _outcome(value)


def _failure_of(error: BaseException) -> Failure:
    failure = _FAILURES.get(type(error))  # type: ignore[arg-type]
    if failure is None:
        raise ZooKeeperError(f"ZooKeeper answered with {type(error).__name__}") from error
    return failure


def _stat(stat: Any) -> Stat:
    return Stat(stat.czxid, stat.mzxid, stat.pzxid, stat.version, stat.cversion, stat.ephemeralOwner, stat.numChildren)


def _outcome(results: list[Any]) -> tuple[StepResult, ...] | Aborted:
    """Of a multi: a result for each step, or an exception for each, of which one says why."""
    for index, result in enumerate(results):
        if isinstance(result, Exception) and not isinstance(result, exceptions.RolledBackError):
            return Aborted(index, _failure_of(result))
    return tuple(_stat(one) if isinstance(one, ZnodeStat) else one if isinstance(one, str) else None for one in results)
