"""One connection between two processes, as TCP gives it: ordered both ways, reset by a dead process, silent otherwise.

Each direction is a :class:`Line`: what was sent waits in a queue, and each message has one arrival event, which takes
the *head* of the queue. So order holds by construction, whatever happens to arrival times. An arrival across a cut
takes nothing; the line owes it, and pays when the cut is healed (TCP's retransmission).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Literal, Protocol

from highwater_runtime.ports import ApiMessage, Endpoint, InboundRequest, ResponseHandler, RpcFailure
from highwater_runtime.sim.loop import FOREVER
from highwater_runtime.sim.process import Process, ProcessState

Pair = tuple[str, str]
"""From this host to that one."""

RpcDirection = Literal["request", "response"]


class ConnectionState(IntEnum):
    """A connection never opens twice."""

    CONNECTING = 0
    OPEN = 1
    CLOSED = 2


class SimRequest(InboundRequest):
    """A request on its way, at work, and on its way back as a response."""

    __slots__ = ("connection", "deadline", "fingerprint", "on_response", "response")

    def __init__(
        self,
        body: Any,
        version: int,
        client: str,
        connection: Connection | None,
        on_response: ResponseHandler | None,
        deadline: int,
    ) -> None:
        self.body = body
        self.version = version
        self.client_id = client
        self.peer = client
        self.connection = connection
        """None for a request whose response nobody waits for (a duplicate, or one released after its connection)."""
        self.on_response = on_response
        self.deadline = deadline
        self.response: Any = None
        self.fingerprint: bytes | None = None

    def reply(self, response: ApiMessage) -> None:
        if self.response is not None:
            raise AssertionError(f"second reply to {self.body.NAME} of {self.peer}")
        self.response = response
        connection = self.connection
        if connection is None or connection.state is not ConnectionState.OPEN:
            return
        unanswered = connection.unanswered
        while unanswered and unanswered[0].response is not None:
            connection.fabric.send_response(connection, unanswered.popleft())


class Line:
    """One direction of a connection."""

    __slots__ = ("connection", "last_at", "owed", "pair", "queue")

    def __init__(self, connection: Connection, pair: Pair) -> None:
        self.connection = connection
        self.pair = pair
        self.queue: deque[SimRequest | None] = deque()
        """Messages by the request they belong to; None is a reset."""
        self.last_at = 0
        """When the message sent last arrives: none may arrive before."""
        self.owed = 0
        """Arrivals that a cut kept from happening."""

    def clear(self) -> None:
        """Lose what is on the way. Arrival events that are still to come find nothing."""
        self.queue.clear()
        self.owed = 0


class Holder(Protocol):
    """What holds responses back: a rule."""

    held: list[SimRequest]


class Carrier(Protocol):
    """The network, as far as a connection and the events on it have to do with it."""

    @property
    def cuts(self) -> Mapping[Pair, Any]:
        """Ways along which nothing gets through."""

    def try_to_open(self, connection: Connection) -> None:
        """The handshake comes to its end, one way or another."""

    def send_response(self, connection: Connection, call: SimRequest) -> None:
        """Put a response on an open connection, unless a rule catches it."""

    def send_reset(self, connection: Connection) -> None:
        """Break ``connection`` from the server's side."""

    def hand_over(self, server: Process, call: SimRequest, pair: Pair) -> None:
        """Let a running server see a request."""

    def hand_back(self, connection: Connection, call: SimRequest) -> None:
        """Let a running client see a response."""

    def note_drop(self, connection: Connection, call: SimRequest, direction: RpcDirection) -> None:
        """Add a lost message to the trace."""

    def stall(self, line: Line) -> None:
        """An arrival ran into a cut."""

    def forget(self, line: Line) -> None:
        """Lose everything on the way."""

    def forget_if_owed(self, line: Line) -> None:
        """The sending end is gone: lose what waits for retransmission, and all behind it."""

    def connection_closed(self, connection: Connection) -> None:
        """Neither end knows ``connection`` any more."""


class Connection:
    """From one process to an endpoint, for one channel."""

    __slots__ = (
        "backward",
        "channel",
        "check_at",
        "client",
        "endpoint",
        "fabric",
        "forward",
        "held_by",
        "inflight",
        "outbox",
        "reset_sent",
        "server",
        "state",
        "unanswered",
    )

    def __init__(self, fabric: Carrier, client: Process, endpoint: Endpoint, channel: str) -> None:
        self.fabric = fabric
        self.client = client
        self.server: Process
        self.endpoint = endpoint
        self.channel = channel
        self.state = ConnectionState.CONNECTING
        self.forward = Line(self, (client.name, endpoint.host))
        self.backward = Line(self, (endpoint.host, client.name))
        self.outbox: list[SimRequest] = []
        """Requests that wait for the connection to open."""
        self.inflight: deque[SimRequest] = deque()
        """Requests without response, at the client, in the order in which they were sent."""
        self.unanswered: deque[SimRequest] = deque()
        """Requests at the server, in the order in which their responses must leave."""
        self.check_at = FOREVER
        """When deadlines are looked at next."""
        self.held_by: Holder | None = None
        """The rule that holds a response, and with it all behind it."""
        self.reset_sent = False

    def close_by_client(self) -> None:
        """The client's end is gone: nobody hears responses. What is in the network still arrives, unless a cut
        holds it: TCP no longer retransmits."""
        self.state = ConnectionState.CLOSED
        self.fabric.connection_closed(self)
        self.fabric.forget_if_owed(self.forward)
        self.fabric.forget(self.backward)
        self.inflight.clear()
        self.outbox.clear()

    def fail(self, now: int) -> None:
        """Break: every request in flight fails in an event of its own, those past their deadline with TIMED_OUT."""
        failed = list(self.inflight)
        self.close_by_client()
        for call in failed:
            failure = RpcFailure.TIMED_OUT if call.deadline <= now else RpcFailure.DISCONNECTED
            handler, call.on_response = call.on_response, None  # a late response is dropped
            if handler is not None:
                self.client.loop.push(now, report_failure, (self.client, handler, failure))


def report_failure(failed: tuple[Process, ResponseHandler, RpcFailure]) -> None:
    """Event: tell the client that a request failed."""
    client, handler, failure = failed
    if client.state:
        client.park(report_failure, failed)
        return
    client.loop.running = client
    handler(failure)


def check_deadlines(connection: Connection) -> None:
    """Event: the earliest deadline of a connection may have come."""
    client = connection.client
    if client.state:
        client.park(check_deadlines, connection)
        return
    now = client.loop.now
    if connection.state is ConnectionState.CLOSED or now < connection.check_at:
        return
    earliest = min((call.deadline for call in connection.inflight), default=FOREVER)
    if earliest <= now:
        connection.fail(now)
        return
    connection.check_at = earliest
    if earliest < FOREVER:
        client.loop.push(earliest, check_deadlines, connection)


def is_dead(process: Process) -> bool:
    """Whether nothing can reach this process any more."""
    return process.state is ProcessState.DEAD
