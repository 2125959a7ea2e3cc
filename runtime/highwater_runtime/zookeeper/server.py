"""One server of the simulator's ZooKeeper ensemble.

Every server is a voter of a :class:`~highwater_runtime.raft.RaftReplica` and applies what that commits. Any of them
takes clients while it knows a leader. When the leader or its epoch changes, a server drops all its connections, since
it cannot know what became of writes under way; so does Apache ZooKeeper. The leader also tracks which sessions live
(:mod:`.tracker`); the other servers tell it whom they hear from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from highwater_runtime.config import NodeConfig
from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.errors import RecordBatchTooLargeError
from highwater_runtime.log.log import Log
from highwater_runtime.ports import MS, ApiMessage, Endpoint, InboundRequest, Ports, RpcFailure
from highwater_runtime.ports.coordination import (
    MAX_REQUEST_BYTES,
    Check,
    Children,
    Exists,
    Failure,
    Get,
    Result,
    SessionKey,
)
from highwater_runtime.raft import NotLeaderError, RaftReplica
from highwater_runtime.raft.metadata_log import close_metadata_log
from highwater_runtime.switches import Switches
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.zookeeper_connect_request import ZookeeperConnectRequest
from highwater_runtime.wire.messages.zookeeper_connect_response import ZookeeperConnectResponse
from highwater_runtime.wire.messages.zookeeper_propose_request import ZookeeperProposeRequest
from highwater_runtime.wire.messages.zookeeper_propose_response import ZookeeperProposeResponse
from highwater_runtime.wire.messages.zookeeper_request import ZookeeperRequest
from highwater_runtime.wire.messages.zookeeper_response import ZookeeperResponse
from highwater_runtime.wire.messages.zookeeper_touch_request import ZookeeperTouchRequest
from highwater_runtime.wire.messages.zookeeper_touch_response import ZookeeperTouchResponse
from highwater_runtime.wire.messages.zookeeper_validate_request import ZookeeperValidateRequest
from highwater_runtime.wire.messages.zookeeper_validate_response import ZookeeperValidateResponse
from highwater_runtime.wire.refusal import refusal
from highwater_runtime.zookeeper.codec import decode_operation
from highwater_runtime.zookeeper.connection import PING, ClientConnection, Read, dropped
from highwater_runtime.zookeeper.state import (
    CloseSession,
    EnsembleState,
    OpenSession,
    Transaction,
    Write,
    decode_transaction,
    encode_transaction,
)
from highwater_runtime.zookeeper.tracker import SessionTracker
from highwater_runtime.zookeeper.transaction_events import TransactionEvents
from highwater_runtime.zookeeper.watches import Watches

DIRECTORY: Final = "transactions-0"
_CHANNEL: Final = "zookeeper"
_PASSWORD_BYTES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperOptions:
    """Options of one server.

    ``servers`` maps the ids of all servers, its own among them, to where they listen. ``tick_ms``: sessions last at
    least 2 and at most 20 of these (``tickTime``).
    """

    node_id: int
    servers: Mapping[int, Endpoint]
    cluster_id: str
    tick_ms: int = 2000
    config: NodeConfig = field(default_factory=NodeConfig)


class ZooKeeperServer:
    """One incarnation of a server (a ``NodeCore`` and a ``RaftListener``).

    ``state`` and ``raft`` are for observers and must not be changed from outside. ``events`` receives every
    transaction that this server applies.
    """

    def __init__(self, options: ZooKeeperOptions, ports: Ports, events: TransactionEvents | None = None) -> None:
        self.options = options
        self._events = events
        self.state = EnsembleState()
        self._ports = ports
        self._raft: RaftReplica | None = None
        self._log: Log | None = None
        self._leader_id: int | None = None
        self._tracker: SessionTracker | None = None
        self._connections: dict[int, ClientConnection] = {}
        self._by_session: dict[int, int] = {}
        self._connecting: dict[int, InboundRequest] = {}
        self._watches = Watches()
        self._touched: dict[int, None] = {}
        self._bytes_since_snapshot = 0
        self._has_stopped = False

    @property
    def has_started(self) -> bool:
        """Whether there is a :attr:`raft`."""
        return self._raft is not None

    @property
    def raft(self) -> RaftReplica:
        """This server's replica of the transaction log; there from :meth:`start` on."""
        assert self._raft is not None, "the server has not been started"
        return self._raft

    @property
    def is_leader(self) -> bool:
        """Whether this server leads and has applied all that was committed before."""
        return self._tracker is not None and self.raft.is_leader

    # --- NodeCore -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Open the log and join the ensemble. Raises ``OSError`` where the disk fails."""
        options, ports = self.options, self._ports
        self._log = Log.open(ports.disk, DIRECTORY, LogConfig.of(options.config), ports.clock)
        self._raft = RaftReplica(
            options.node_id,
            options.servers,
            options.cluster_id,
            ports,
            options.config,
            self._log,
            self,
            directory=DIRECTORY,
            switches=Switches(),
        )
        self._raft.start()
        self._tick_later()

    def on_request(self, request: InboundRequest) -> None:
        """Pass on what is the quorum's, serve clients and other servers."""
        if self.raft.handles(request):
            self.raft.on_request(request)
            return
        match request.body:
            case ZookeeperRequest():
                self._serve(request)
            case ZookeeperConnectRequest():
                self._connect(request)
            case ZookeeperProposeRequest() as body:
                admitted = self._admit(body.connection, body.number, body.transaction)
                error = ErrorCode.NONE if admitted else ErrorCode.NOT_LEADER_OR_FOLLOWER
                request.reply(ZookeeperProposeResponse(error_code=error))
            case ZookeeperValidateRequest() as body:
                request.reply(self._validate(body))
            case ZookeeperTouchRequest() as body:
                if self._tracker is not None:
                    self._tracker.touch(body.session_ids, self._ports.clock.now_ns())
                request.reply(ZookeeperTouchResponse())
            case body:
                request.reply(refusal(body, ErrorCode.INVALID_REQUEST, version=request.version))

    def stop(self, on_stopped: Callable[[], None]) -> None:
        """Drop the clients, hand over, leave the quorum, close the log."""
        log = self._log
        assert log is not None, "the server has not been started"
        self._has_stopped = True
        self._drop_all()

        def left() -> None:
            close_metadata_log(log)
            on_stopped()

        self.raft.stop(left)

    # --- RaftListener ---------------------------------------------------------------------------------------------

    def on_load_snapshot(self, end_offset: int, epoch: int, records: list[bytes]) -> None:  # noqa: ARG002
        """Begin again with a snapshot. What its state has changed fires no watch: so no connection stays."""
        self._drop_all()
        self.state = EnsembleState.load(end_offset, records)
        if self._events is not None:
            self._events.load(self.state.tree.all)
        self._bytes_since_snapshot = 0

    def on_commit(self, base_offset: int, epoch: int, records: list[bytes], last_offset: int) -> None:  # noqa: ARG002
        """Apply a committed batch, answer those who wait for it."""
        for index, record in enumerate(records):
            self._apply(decode_transaction(record), base_offset + index + 1)
        self.state.zxid = last_offset + 1
        self._bytes_since_snapshot += sum(len(record) for record in records)
        if self._bytes_since_snapshot >= self.options.config.metadata_snapshot_bytes:
            self._bytes_since_snapshot = 0
            self.raft.write_snapshot(last_offset + 1, self.state.snapshot())

    def on_leader_change(self, leader_id: int | None, epoch: int) -> None:  # noqa: ARG002
        """Drop all clients; if this server leads now, grant every session its whole time-out again."""
        self._drop_all()
        self._leader_id = leader_id
        self._tracker = None
        if leader_id == self.options.node_id:
            self._tracker = SessionTracker()
            now = self._ports.clock.now_ns()
            for session, facts in sorted(self.state.sessions.items()):
                self._tracker.track(session, facts.timeout_ms, now)

    def _apply(self, transaction: Transaction, zxid: int) -> None:
        result, events = self.state.apply(transaction, zxid)
        if self._events is not None:
            self._events.applied(zxid, self.state.tree.changes)
        to_answer: dict[int, None] = {}
        for event in events:
            for connection_id in self._watches.fire(event):
                self._connections[connection_id].fired(event)
                to_answer[connection_id] = None
        if isinstance(transaction.action, OpenSession):
            assert isinstance(result, SessionKey)
            self._opened(result, transaction.connection, transaction.action.timeout_ms)
        else:
            assert not isinstance(result, SessionKey)
            own = self._connections.get(transaction.connection)
            if own is not None:
                own.applied(result, zxid)
                to_answer[own.id] = None
        for connection_id in to_answer:
            self._connections[connection_id].answer()
        if isinstance(transaction.action, CloseSession):
            self._closed(transaction.session)

    def _opened(self, key: SessionKey, connection_id: int, timeout_ms: int) -> None:
        if self._tracker is not None:
            self._tracker.track(key.id, timeout_ms, self._ports.clock.now_ns(), connection_id)
        request = self._connecting.pop(connection_id, None)
        if request is not None:
            self._attach(request, key, connection_id, timeout_ms)

    def _closed(self, session: int) -> None:
        if self._tracker is not None:
            self._tracker.forget(session)
        connection_id = self._by_session.get(session)
        if connection_id is not None:
            self._drop(connection_id)

    # --- clients that come ----------------------------------------------------------------------------------------

    def _connect(self, request: InboundRequest) -> None:
        body: ZookeeperConnectRequest = request.body
        if self._leader_id is None or body.last_zxid > self.state.zxid or self._has_stopped:
            request.reply(_not_here())
            return
        connection_id = self._ports.random.getrandbits(62) + 1
        self._connecting[connection_id] = request
        if body.session_id == 0:
            tick_ms = self.options.tick_ms
            timeout_ms = min(max(body.timeout_ms, 2 * tick_ms), 20 * tick_ms)
            opening = OpenSession(self._ports.random.randbytes(_PASSWORD_BYTES), timeout_ms)
            self._propose(connection_id, 0, Transaction(0, connection_id, opening))
        else:
            question = ZookeeperValidateRequest(
                session_id=body.session_id, password=body.password, connection=connection_id
            )
            self._ask_leader(question, lambda answer: self._validated(connection_id, answer))

    def _validated(self, connection_id: int, answer: Any) -> None:
        request = self._connecting.pop(connection_id, None)
        if request is None:
            return
        body: ZookeeperConnectRequest = request.body
        if isinstance(answer, RpcFailure) or answer.error_code != ErrorCode.NONE:
            request.reply(_not_here())
        elif answer.timeout_ms == 0 or (
            body.session_id <= self.state.zxid and body.session_id not in self.state.sessions
        ):
            request.reply(ZookeeperConnectResponse(session_id=0, zxid=self.state.zxid))
        else:
            self._attach(request, SessionKey(body.session_id, body.password), connection_id, answer.timeout_ms)

    def _attach(self, request: InboundRequest, key: SessionKey, connection_id: int, timeout_ms: int) -> None:
        former = self._by_session.get(key.id)
        if former is not None:
            self._drop(former)
        self._connections[connection_id] = ClientConnection(
            connection_id, key.id, timeout_ms, self._ports.clock, self._read
        )
        self._by_session[key.id] = connection_id
        request.reply(
            ZookeeperConnectResponse(
                session_id=key.id,
                password=key.password,
                timeout_ms=timeout_ms,
                connection=connection_id,
                zxid=self.state.zxid,
            )
        )

    # --- clients that are there -----------------------------------------------------------------------------------

    def _serve(self, request: InboundRequest) -> None:
        body: ZookeeperRequest = request.body
        connection = self._connections.get(body.connection)
        if connection is None:
            request.reply(dropped())
            return
        connection.heard_ns = self._ports.clock.now_ns()
        self._touched[connection.session] = None
        if body.number == PING:
            request.reply(ZookeeperResponse(zxid=self.state.zxid))
            return
        connection.requests += 1
        try:
            operation = decode_operation(body.operation) if body.operation else None
        except ValueError:
            self._drop_with(connection, request)
            return
        match operation:
            case _ if body.number != connection.requests or len(body.operation) > MAX_REQUEST_BYTES:
                self._drop_with(connection, request)
            case None if body.close:
                connection.write(request)
                self._propose_for(connection, CloseSession())
            case None:
                connection.poll(request)
            case Get() | Exists() | Children():
                connection.read(request, operation)
            case Check():
                self._drop_with(connection, request)
            case write:
                connection.write(request)
                self._propose_for(connection, write)

    def _read(self, connection: ClientConnection, operation: Read, watch: bool) -> tuple[Result, int]:
        result = self.state.tree.read(operation)
        if watch and not isinstance(result, Failure):
            self._watches.add(connection.id, operation.path, children=isinstance(operation, Children))
        return result, self.state.zxid

    def _propose_for(self, connection: ClientConnection, action: Write | CloseSession) -> None:
        connection.proposals += 1
        self._propose(connection.id, connection.proposals, Transaction(connection.session, connection.id, action))

    def _propose(self, connection_id: int, number: int, transaction: Transaction) -> None:
        record = encode_transaction(transaction)

        def answered(answer: Any) -> None:
            if isinstance(answer, RpcFailure) or answer.error_code != ErrorCode.NONE:
                self._drop(connection_id)

        request = ZookeeperProposeRequest(connection=connection_id, number=number, transaction=record)
        self._ask_leader(request, answered)

    def _drop(self, connection_id: int) -> None:
        """Give up a connection, or one that is about to be made."""
        request = self._connecting.pop(connection_id, None)
        if request is not None:
            request.reply(_not_here())
        connection = self._connections.pop(connection_id, None)
        if connection is not None:
            del self._by_session[connection.session]
            self._watches.forget(connection_id)
            connection.drop()

    def _drop_with(self, connection: ClientConnection, request: InboundRequest) -> None:
        self._drop(connection.id)
        request.reply(dropped())

    def _drop_all(self) -> None:
        for connection_id in [*self._connections, *self._connecting]:
            self._drop(connection_id)
        self._touched.clear()

    # --- the leader -----------------------------------------------------------------------------------------------

    def _ask_leader(self, request: ApiMessage, on_answer: Callable[[Any], None]) -> None:
        leader_id = self._leader_id
        assert leader_id is not None, "without a leader there are no clients"
        match request:
            case ZookeeperProposeRequest() if leader_id == self.options.node_id:
                if not self._admit(request.connection, request.number, request.transaction):
                    on_answer(RpcFailure.DISCONNECTED)
            case ZookeeperValidateRequest() if leader_id == self.options.node_id:
                on_answer(self._validate(request))
            case _:
                self._ports.network.send(
                    self.options.servers[leader_id],
                    request,
                    0,
                    on_answer,
                    timeout_ns=self.options.config.quorum_request_timeout_ms * MS,
                    channel=_CHANNEL,
                )

    def _admit(self, connection_id: int, number: int, record: bytes) -> bool:
        """As leader: append a transaction, if it is that of a living session by its present connection."""
        if not self.is_leader or self._tracker is None or self._has_stopped:
            return False
        try:
            transaction = decode_transaction(record)
        except ValueError:
            return False
        if not isinstance(transaction.action, OpenSession) and not self._tracker.admit(
            transaction.session, connection_id, number, self._ports.clock.now_ns()
        ):
            return False
        return self._append(transaction.session, transaction.action, record)

    def _append(self, session: int, action: object, record: bytes) -> bool:
        try:
            self.raft.append([record])
        except (NotLeaderError, RecordBatchTooLargeError):
            return False
        if isinstance(action, CloseSession) and self._tracker is not None:
            self._tracker.close(session)
        return True

    def _validate(self, body: ZookeeperValidateRequest) -> ZookeeperValidateResponse:
        """As leader: say whether a session lives; if so, only the new connection may write for it from now on."""
        if not self.is_leader or self._tracker is None:
            return ZookeeperValidateResponse(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
        facts = self.state.sessions.get(body.session_id)
        if facts is None or facts.password != body.password:
            return ZookeeperValidateResponse(timeout_ms=0)
        if not self._tracker.move(body.session_id, body.connection, self._ports.clock.now_ns()):
            return ZookeeperValidateResponse(error_code=ErrorCode.NETWORK_EXCEPTION)  # its end is not committed yet
        return ZookeeperValidateResponse(timeout_ms=facts.timeout_ms)

    def _tick_later(self) -> None:
        self._ports.clock.call_later(self.options.tick_ms * MS // 2, self._tick)

    def _tick(self) -> None:
        """Twice a tick: pass on who was heard from, forget clients that are gone, end sessions that have expired."""
        if self._has_stopped:
            return
        self._tick_later()
        now = self._ports.clock.now_ns()
        for connection in list(self._connections.values()):
            if now - connection.heard_ns > connection.timeout_ns:
                self._drop(connection.id)
        touched, self._touched = list(self._touched), {}
        if self._tracker is not None:
            self._tracker.touch(touched, now)
            for session in self._tracker.expired(now):
                closing = Transaction(session, 0, CloseSession())
                self._append(session, closing.action, encode_transaction(closing))
        elif touched and self._leader_id is not None:
            self._ask_leader(ZookeeperTouchRequest(session_ids=touched), lambda _: None)


def _not_here() -> ZookeeperConnectResponse:
    return ZookeeperConnectResponse(error_code=ErrorCode.NETWORK_EXCEPTION)
