"""The harness as an observer of the ensemble: a server without a vote that receives every committed transaction.

In the simulator every ZooKeeper server reports what its transactions mean. Real servers report nothing. A program that
speaks their protocol (Zab, the part between a leader and its *learners*) may join them as an observer. It needs no JVM
and no access to their disks. It receives committed transactions in order and nothing else. (A server's transaction log
also holds what is never committed. A client that watches nodes may miss states between two reads.) ::

    us                          leader (port 2888; no other server listens there)
    OBSERVERINFO        ->
                        <-      LEADERINFO  its epoch
    ACKEPOCH last zxid  ->
                        <-      DIFF, or SNAP and the whole tree
                        <-      PROPOSAL, COMMIT of what we lack
                        <-      NEWLEADER
    ACK                 ->
                        <-      UPTODATE    a quorum follows this leader: all up to here is committed
                        <-      INFORM      one committed transaction; and so on
    PING                <->

What comes before UPTODATE is not believed until then.

**Time.** We hear of a transaction when the servers do, or later if the machine is busy, or if there is no leader whom
we reach. A broker may have acted upon it by then. So an event has the time of the end of the millisecond in which the
leader took the request in, if that is earlier: it is after everything that led to the request, and before every effect
of the transaction, unless the ensemble commits within one millisecond and we hear of it later than a broker does.

**What may be missed.** If we were away for so long that the leader does not have what we lack any more (its last
``zookeeper.commitLogCount`` transactions, and its log), it sends the whole tree: states in between are lost, and
:meth:`EnsembleObserver.notes` says so.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from highwater_chaos.backends.ensemble.jute import JuteError, Reader, write_buffer, write_int, write_long
from highwater_chaos.backends.ensemble.transactions import EnsembleTree, Header, read_header, read_snapshot
from highwater_runtime.host.clock_pairs import how_far_ahead
from highwater_runtime.metadata.znodes import ZnodeError
from highwater_runtime.ports import Endpoint
from highwater_runtime.ports.trace import NodeEvent
from highwater_runtime.zookeeper.transaction_events import TransactionEvents
from highwater_runtime.zookeeper.tree import Change

_PROPOSAL: Final = 2
_ACK: Final = 3
_COMMIT: Final = 4
_PING: Final = 5
_INFORM: Final = 8
_NEWLEADER: Final = 10
_OBSERVERINFO: Final = 16
_UPTODATE: Final = 12
_DIFF: Final = 13
_TRUNC: Final = 14
_SNAP: Final = 15
_LEADERINFO: Final = 17
_ACKEPOCH: Final = 18

_PROTOCOL: Final = 0x10000
_SERVER_ID: Final = 1 << 40
"""Ours: no server of an ensemble has it, so our acknowledgements count for nothing."""
_NO_ACK: Final = -1
"""In ACKEPOCH: we have no say in which epoch begins."""
_CONNECT_SECONDS: Final = 1.0
_AGAIN_SECONDS: Final = 0.05
_MS: Final = 1_000_000
_MOST_NOTES: Final = 20

_log = logging.getLogger(__name__)


def as_they_are(changes: list[Change]) -> list[Change]:
    """The changes of brokers of our own runtime."""
    return changes


class Witnessed(NamedTuple):
    """An event of the ensemble. ``node`` is the leader that sent the transaction; ``time_ns``: CLOCK_MONOTONIC."""

    time_ns: int
    wall_ns: int
    node: str
    event: NodeEvent


class EnsembleObserver:
    """Observes an ensemble on a thread of its own, from the making of this on.

    Args:
        servers: quorum ports by node name.
        silence_s: a leader that says nothing for so long is taken for gone; it sends two pings a tick.
        enter: called first on that thread (to enter a network).
        read: rewrites the changes of brokers whose nodes are not those of our own runtime; may raise ``ZnodeError``.
    """

    def __init__(
        self,
        servers: Mapping[str, Endpoint],
        *,
        silence_s: float,
        enter: Callable[[], None] = lambda: None,
        read: Callable[[list[Change]], list[Change]] = as_they_are,
    ) -> None:
        self._servers = servers
        self._silence_s = silence_s
        self._enter = enter
        self._read = read
        self._events: deque[Witnessed] = deque()
        self._notes: list[str] = []
        self._tree = EnsembleTree()
        self._heard: list[NodeEvent] = []
        self._transaction_events = TransactionEvents(self)
        self._is_fresh = True
        self._last_ns = 0
        self._caught_up = threading.Event()
        self._end = threading.Event()
        self._socket: socket.socket | None = None
        self._thread = threading.Thread(target=self._run, name="highwater-zookeeper-observer", daemon=True)
        self._thread.start()

    def take(self) -> list[Witnessed]:
        """Take the events that have come up since the last call, in the order of the transactions."""
        return [self._events.popleft() for _ in range(len(self._events))]

    def wait_caught_up(self, seconds: float) -> bool:
        """Whether, within so many seconds, a leader has sent all that was committed when it was first reached: as its
        transactions, or as the tree that they have come to."""
        return self._caught_up.wait(seconds)

    def notes(self) -> Sequence[str]:
        """What makes the events incomplete; usually nothing."""
        return tuple(self._notes)

    def close(self) -> None:
        """End the thread. Idempotent."""
        self._end.set()
        if (open_socket := self._socket) is not None:
            with suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(2 * _CONNECT_SECONDS + self._silence_s)

    follows_records: Final = True

    def emit(self, event: NodeEvent) -> None:
        """For the transactions' events (a :class:`~highwater_runtime.ports.Trace`)."""
        self._heard.append(event)

    # --- the thread ---

    def _run(self) -> None:
        try:
            self._enter()
            while not self._end.is_set():
                for name, endpoint in self._servers.items():
                    if self._end.is_set():
                        return
                    self._try(name, endpoint)
                self._end.wait(_AGAIN_SECONDS)
        except Exception as error:
            _log.exception("the observer of the ensemble has failed")
            self._note(f"the observer of the ZooKeeper ensemble has ended: {error!r}")

    def _try(self, name: str, endpoint: Endpoint) -> None:
        try:
            with socket.create_connection(endpoint, _CONNECT_SECONDS) as connection:
                self._socket = connection
                connection.settimeout(self._silence_s)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._follow(name, connection)
        except OSError as error:
            _log.debug("%s: %s", name, error)  # no leader; gone, or silent
        except (JuteError, ZnodeError) as error:
            self._note(f"{name} sent what the harness does not understand: {error}")
        finally:
            self._socket = None

    def _follow(self, name: str, connection: socket.socket) -> None:
        """Observe one leader until it is gone. Raises OSError, JuteError, ZnodeError."""
        stream = connection.makefile("rb")
        reader = Reader(lambda count: _exactly(stream.read, count))
        about_us = write_long(_SERVER_ID) + write_int(_PROTOCOL) + write_long(0)
        connection.sendall(_packet(_OBSERVERINFO, 0, about_us))
        kind, new_leader, _ = _read_packet(reader)
        if kind != _LEADERINFO:
            raise JuteError(f"expected LEADERINFO, found a packet of type {kind}")
        connection.sendall(_packet(_ACKEPOCH, self._tree.zxid, write_int(_NO_ACK)))
        snapshot: tuple[int, list[Change]] | None = None
        proposed: dict[int, bytes] = {}
        before: list[bytes] = []
        is_up_to_date = False

        def commit(data: bytes) -> None:
            if is_up_to_date:
                self._committed(name, data)
            else:
                before.append(data)

        while not self._end.is_set():
            kind, zxid, data = _read_packet(reader)
            match kind:
                case _ if kind == _INFORM:
                    commit(data)
                case _ if kind == _PING:
                    connection.sendall(_packet(_PING, zxid, b""))
                case _ if kind == _SNAP:
                    snapshot = zxid, read_snapshot(reader)
                case _ if kind == _TRUNC:
                    raise JuteError(f"asked to truncate committed transactions, after zxid {zxid:#x}")
                case _ if kind == _PROPOSAL:
                    proposed[zxid] = data
                case _ if kind == _COMMIT and (one := proposed.pop(zxid, None)) is not None:
                    commit(one)
                case _ if kind == _NEWLEADER:
                    connection.sendall(_packet(_ACK, new_leader, b""))
                case _ if kind == _UPTODATE:
                    connection.sendall(_packet(_ACK, new_leader, b""))
                    if snapshot is not None:
                        self._replaced(name, *snapshot)
                    for one in before:
                        self._committed(name, one)
                    is_up_to_date = True
                    self._caught_up.set()
                case _:
                    pass  # DIFF says what is to come; others are for servers

    def _replaced(self, name: str, zxid: int, nodes: list[Change]) -> None:
        if not self._is_fresh:
            self._note(
                f"{name} sent the harness its whole tree, at zxid {zxid:#x}: what was committed after"
                f" {self._tree.zxid:#x} was not seen one by one"
            )
        self._is_fresh = False
        changes = self._tree.replace(zxid, nodes)
        self._report(name, zxid, changes, time.time_ns())

    def _committed(self, name: str, data: bytes) -> None:
        reader = Reader.of(data)
        header: Header = read_header(reader)
        if header.zxid <= self._tree.zxid:
            return
        self._is_fresh = False
        changes = self._tree.apply(header, reader)
        self._report(name, header.zxid, changes, (header.wall_ms + 1) * _MS - 1)

    def _report(self, name: str, zxid: int, changes: list[Change], wall_ns: int) -> None:
        self._transaction_events.applied(zxid, self._read(changes))
        heard, self._heard = self._heard, []
        now = time.monotonic_ns()
        took_in = wall_ns - how_far_ahead(time.time_ns, of=time.monotonic_ns).by_ns
        self._last_ns = max(self._last_ns, min(now, took_in))
        self._events.extend(Witnessed(self._last_ns, wall_ns, name, event) for event in heard)

    def _note(self, what: str) -> None:
        if what not in self._notes and len(self._notes) < _MOST_NOTES:
            self._notes.append(what)


def _packet(kind: int, zxid: int, data: bytes) -> bytes:
    """``QuorumPacket``; it has no authentication."""
    return write_int(kind) + write_long(zxid) + write_buffer(data) + write_int(-1)


def _read_packet(reader: Reader) -> tuple[int, int, bytes]:
    """Type, zxid and data."""
    kind, zxid, data = reader.number(), reader.long(), reader.buffer()
    for _ in range(reader.count()):
        reader.text(), reader.text()
    return kind, zxid, data


def _exactly(read: Callable[[int], bytes], count: int) -> bytes:
    data = read(count)
    if len(data) < count:
        raise ConnectionResetError("the leader closed the connection")
    return data
