"""The network of all hosts: latency, connection set-up, resets and silence.

What a peer sees when a node goes away is as in reality:

* a killed process: its kernel resets its connections, in-flight requests fail ``DISCONNECTED`` after one latency;
  new connections are refused;
* a host without power, or behind a cut: silence, until the request's own time-out; when the host is back, the next
  retransmission finds no connection and is reset;
* a paused process: its kernel accepts and buffers, nothing is answered.

The same message objects travel as long as ``codec`` does not say otherwise: handlers must not change what they
receive, and senders must not change what they have sent (``check_mutation`` finds those who do).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from heapq import heappush
from random import Random
from typing import Any, Literal, Protocol

from highwater_runtime.ports import MS, SECOND, Endpoint
from highwater_runtime.sim.arrivals import connect_arrives, detached_arrives, request_arrives, response_arrives
from highwater_runtime.sim.connection import (
    Connection,
    ConnectionState,
    Line,
    Pair,
    RpcDirection,
    SimRequest,
    is_dead,
)
from highwater_runtime.sim.loop import EventLoop
from highwater_runtime.sim.process import Process
from highwater_runtime.sim.rules import NOTED, Cut, RpcRule, SlowLink, api_name, can_be_released, is_open
from highwater_runtime.sim.trace import SimTrace

Connections = dict[tuple[Endpoint, str], Connection]
"""By endpoint and channel."""

CodecMode = Literal["never", "some", "all"]
"""Which messages are really encoded and decoded on the way."""


@dataclass(frozen=True, slots=True)
class NetworkTiming:
    """One-way latency in ns: ``base_ns`` + up to ``jitter_ns``; for a ``spike_fraction`` up to ``spike_ns`` more."""

    base_ns: int = MS // 5
    jitter_ns: int = 3 * MS // 10
    spike_fraction: float = 0.001
    spike_ns: int = 20 * MS
    local_ns: int = MS // 50
    """Between two processes of one host, or from a node to itself."""
    retransmit_ns: int = SECOND
    """After a cut is healed TCP's next retransmission comes within this time."""


class MutationError(Exception):
    """A message was changed after it was sent."""


class Host(Protocol):
    """A machine, as the network knows it."""

    powered: bool
    process: Process | None
    orphans: list[Connection]
    """Connections of peers to processes that a power loss ended."""

    def listens_on(self, port: int) -> bool:
        """Whether a connection to ``port`` is accepted."""


class Fabric:
    """All hosts and what is between them."""

    def __init__(
        self,
        loop: EventLoop,
        random: Random,
        codec_random: Random,
        trace: SimTrace,
        hosts: Mapping[str, Host],
        *,
        timing: NetworkTiming,
        codec: CodecMode,
        codec_fraction: float,
        check_mutation: bool,
    ) -> None:
        self.loop = loop
        self.trace = trace
        self.timing = timing
        self.random = random
        self._draw = random.random
        self._codec_random = codec_random
        """A stream of its own: a run is the same whatever goes through the codec."""
        self._spike_above = 1.0 - timing.spike_fraction
        self.codec_fraction = {"never": 0.0, "some": codec_fraction, "all": 1.0}[codec]
        self.check_mutation = check_mutation
        self.hosts = hosts
        self.messages = 0
        """Requests and responses handed over so far."""
        self.cuts: dict[Pair, list[Cut]] = {}
        self.slow: dict[Pair, list[SlowLink]] = {}
        self.rules: list[RpcRule] = []
        self.watchers: dict[int, list[Callable[[str, SimRequest], None]]] = {}
        """By API: who looks at a server once it has been handed a request (and may have answered it), in order."""
        self._stalled: dict[Line, None] = {}
        self._waiting_to_connect: list[Connection] = []
        self._opened: dict[Process, Connections] = {}
        """Connections of each client that lives."""
        self._accepted: dict[Process, dict[Connection, None]] = {}
        """Connections of each server that lives, in the order in which they were opened."""

    # --- sending ---

    def latency(self, pair: Pair) -> int:
        """Draw the time (ns) that one message takes."""
        timing = self.timing
        if pair[0] == pair[1]:
            return timing.local_ns
        draw = self._draw()
        latency = timing.base_ns + int(timing.jitter_ns * draw)
        if draw > self._spike_above:
            latency += int(timing.spike_ns * self._draw())
        if self.slow:
            for slow in self.slow.get(pair, ()):
                slow.caught += 1
                latency += slow.extra_ns
        return latency

    def connections_of(self, client: Process) -> Connections:
        """The connections that a process has opened, by where to and for what; they change while it lives."""
        return self._opened.setdefault(client, {})

    def connection_closed(self, connection: Connection) -> None:
        self._opened.get(connection.client, {}).pop((connection.endpoint, connection.channel), None)
        if hasattr(connection, "server"):
            self._accepted.get(connection.server, {}).pop(connection, None)

    def connect(self, client: Process, endpoint: Endpoint, channel: str) -> Connection:
        """Begin a connection; requests may be given to it at once."""
        connection = Connection(self, client, endpoint, channel)
        self.connections_of(client)[endpoint, channel] = connection
        round_trip = self.latency(connection.forward.pair) + self.latency(connection.backward.pair)
        self.loop.push(self.loop.now + round_trip, connect_arrives, connection)
        return connection

    def send_request(self, connection: Connection, call: SimRequest) -> None:
        """Put a request on an open connection, unless a rule catches it."""
        if self.rules:
            rule = self._matching_rule(connection, call, "request")
            if rule is not None and self._apply_to_request(rule, connection, call):
                return
        self._transmit(connection.forward, call, request_arrives, 0)

    def send_response(self, connection: Connection, call: SimRequest) -> None:
        """Put a response on an open connection, unless a rule catches it."""
        if self.codec_fraction:
            call.response = self.through_codec(call.response, call.version)
        if self.check_mutation:
            call.fingerprint = call.response.encode(call.version)
        extra = 0
        if connection.held_by is not None:
            connection.held_by.held.append(call)
            return
        if self.rules:
            rule = self._matching_rule(connection, call, "response")
            if rule is not None:
                verdict = self._apply_to_response(rule, connection, call)
                if verdict is None:
                    return
                extra = verdict
        self._transmit(connection.backward, call, response_arrives, extra)

    def _apply_to_request(self, rule: RpcRule, connection: Connection, call: SimRequest) -> bool:
        """Do to a request what ``rule`` says; returns whether it must not be sent now."""
        match rule.kind:
            case "hold":
                rule.held.append(call)
            case "drop":
                self.note_drop(connection, call, "request")
            case "delay":
                self.loop.push(self.loop.now + rule.delay_ns, self.end_delay, call)
            case "duplicate":
                self.send_duplicate(connection, call)
                return False
        return True

    def _apply_to_response(self, rule: RpcRule, connection: Connection, call: SimRequest) -> int | None:
        """Do to a response what ``rule`` says; returns the extra delay (ns) with which to send it, None not to."""
        match rule.kind:
            case "hold":
                rule.held.append(call)
                connection.held_by = rule
                return None
            case "drop":
                self.note_drop(connection, call, "response")
                return None
            case _:
                return rule.delay_ns

    def _transmit(self, line: Line, call: SimRequest | None, arrives: Any, extra: int) -> None:
        loop = self.loop
        when = loop.now + self.latency(line.pair) + extra
        if when < line.last_at:  # noqa: PLR1730 - max() is a call, and this is the hottest line of all
            when = line.last_at
        line.last_at = when
        line.queue.append(call)
        loop.sequence = sequence = loop.sequence + 1
        heappush(loop.heap, (when, sequence, arrives, line))
        if self.trace.messages and call is not None:
            self._trace("send", "request" if arrives is request_arrives else "response", call, line.pair)

    def through_codec(self, message: Any, version: int) -> Any:
        """``message``, or (by chance) what its bytes decode to."""
        if self.codec_fraction < 1.0 and self._codec_random.random() >= self.codec_fraction:
            return message
        return type(message).decode(message.encode(version), version)

    def _matching_rule(self, connection: Connection, call: SimRequest, direction: RpcDirection) -> RpcRule | None:
        for rule in self.rules:
            if rule.matches(connection, call, direction) and (rule.probability >= 1 or self._draw() < rule.probability):
                rule.caught += 1
                if len(rule.caught_at) < NOTED:
                    rule.caught_at.append(self.loop.now)
                return rule
        return None

    # --- what faults ask for ---

    def note_drop(self, connection: Connection, call: SimRequest, direction: RpcDirection) -> None:
        """Add a lost message to the trace."""
        if self.trace.messages:
            line = connection.forward if direction == "request" else connection.backward
            self._trace("drop", direction, call, line.pair)

    def send_duplicate(self, connection: Connection, call: SimRequest) -> None:
        """Let the same request arrive once more, later, without anybody waiting for the response."""
        twin = SimRequest(call.body, call.version, call.client_id, None, None, call.deadline)
        twin.fingerprint = call.fingerprint
        pair = connection.forward.pair
        when = max(self.loop.now, connection.forward.last_at) + self.latency(pair) + self.latency(pair)
        self.loop.push(when, detached_arrives, (connection, twin))

    def release_request(self, call: SimRequest) -> bool:
        """Send a request that was held or delayed; returns whether it will arrive."""
        connection = call.connection
        if connection is None or not can_be_released(call):
            if connection is not None:
                self.note_drop(connection, call, "request")
            return False
        if is_open(call):
            self._transmit(connection.forward, call, request_arrives, 0)
        else:
            call.connection = None
            when = self.loop.now + self.latency(connection.forward.pair)
            self.loop.push(when, detached_arrives, (connection, call))
        return True

    def end_delay(self, call: SimRequest) -> None:
        """Event: a delayed request goes on its way."""
        self.release_request(call)

    def release_response(self, call: SimRequest) -> bool:
        """Send a response that was held; returns whether it will arrive."""
        connection = call.connection
        if connection is None or not is_open(call) or is_dead(connection.server):
            return False
        connection.held_by = None
        self._transmit(connection.backward, call, response_arrives, 0)
        return True

    def retransmit(self) -> None:
        """A cut was healed or a host came back: what waited for that goes on."""
        stalled, self._stalled = self._stalled, {}
        for line in stalled:
            if line.pair in self.cuts:
                self._stalled[line] = None
                continue
            arrives = request_arrives if line is line.connection.forward else response_arrives
            line.last_at = max(line.last_at, self.loop.now + self._retransmission() + self.latency(line.pair))
            for _ in range(line.owed):
                self.loop.push(line.last_at, arrives, line)
            line.owed = 0
        waiting, self._waiting_to_connect = self._waiting_to_connect, []
        for connection in waiting:
            if connection.state is ConnectionState.CONNECTING:
                self.loop.push(self.loop.now + self._retransmission(), connect_arrives, connection)

    def _retransmission(self) -> int:
        return int(self.timing.retransmit_ns * self._draw())

    def stall(self, line: Line) -> None:
        """An arrival ran into a cut."""
        for cut in self.cuts[line.pair]:
            cut.caught += 1
        if line is line.connection.forward and line.connection.state is ConnectionState.CLOSED:
            line.clear()
        else:
            line.owed += 1
            self._stalled[line] = None

    def forget(self, line: Line) -> None:
        """Lose everything on the way."""
        line.clear()
        self._stalled.pop(line, None)

    def forget_if_owed(self, line: Line) -> None:
        """The sending end is gone: lose what waits for retransmission, and all behind it."""
        if line.owed:
            self.forget(line)

    # --- processes that end ---

    def process_died(self, process: Process, *, resets: bool) -> None:
        """``resets``: a kernel is left to tell the peers; else the host is silent."""
        for connection in list(self.connections_of(process).values()):
            connection.close_by_client()
        del self._opened[process]
        for connection in self._accepted.pop(process, {}):
            connection.unanswered.clear()
            if resets:
                self.send_reset(connection)
            else:
                self.forget_if_owed(connection.backward)
                process.host.orphans.append(connection)

    def host_is_back(self, host: Host) -> None:
        """Peers that still wait for a process of before the power loss learn the truth by retransmission."""
        orphans, host.orphans = host.orphans, []
        for connection in orphans:
            if connection.state is ConnectionState.OPEN and connection.inflight:
                connection.backward.last_at = max(connection.backward.last_at, self.loop.now + self._retransmission())
                self.send_reset(connection)
        self.retransmit()

    def send_reset(self, connection: Connection) -> None:
        """Break ``connection`` from the server's side."""
        if not connection.reset_sent and connection.state is ConnectionState.OPEN:
            connection.reset_sent = True
            self._transmit(connection.backward, None, response_arrives, 0)

    # --- arriving ---

    def try_to_open(self, connection: Connection) -> None:
        """The handshake comes to its end, one way or another."""
        if connection.state is not ConnectionState.CONNECTING:
            return
        host = self.hosts.get(connection.endpoint.host)
        cuts = [*self.cuts.get(connection.forward.pair, ()), *self.cuts.get(connection.backward.pair, ())]
        if host is None or (not cuts and host.powered and not host.listens_on(connection.endpoint.port)):
            connection.fail(self.loop.now)
            return
        if cuts or not host.powered:
            for cut in cuts:
                cut.caught += 1
            still_waiting = [other for other in self._waiting_to_connect if other.state is ConnectionState.CONNECTING]
            self._waiting_to_connect = [*still_waiting, connection]
            return
        assert host.process is not None
        connection.server = host.process
        self._accepted.setdefault(connection.server, {})[connection] = None
        connection.state = ConnectionState.OPEN
        outbox, connection.outbox = connection.outbox, []
        for call in outbox:
            self.send_request(connection, call)

    def check_unchanged(self, call: SimRequest, message: Any, when: str) -> None:
        """Raise :class:`MutationError` if ``message`` is not what was sent."""
        if self.check_mutation and call.fingerprint != message.encode(call.version):
            raise MutationError(f"{message.NAME} from or to {call.peer} was changed {when}")

    def _trace(self, what: str, direction: RpcDirection, call: SimRequest, pair: Pair) -> None:
        self.trace.add_message(self.loop.now, what, direction, api_name(call.body.NAME), call.version, *pair)

    def hand_over(self, server: Process, call: SimRequest, pair: Pair) -> None:
        """Let a running server see a request."""
        self.messages += 1
        if self.trace.messages:
            self._trace("deliver", "request", call, pair)
        self.loop.running = server
        if self.check_mutation:
            self.check_unchanged(call, call.body, "by its sender")
            sent = call.fingerprint
            server.core.on_request(call)
            # A core that answered at once has put the answer's fingerprint in the place of the request's.
            answered, call.fingerprint = call.fingerprint, sent
            self.check_unchanged(call, call.body, "by its receiver")
            call.fingerprint = answered
        else:
            server.core.on_request(call)
        for watch in self.watchers.get(call.body.API_KEY, ()):
            watch(server.name, call)

    def hand_back(self, connection: Connection, call: SimRequest) -> None:
        """Let a running client see a response."""
        handler = call.on_response
        if handler is None:
            return
        call.on_response = None
        self.messages += 1
        if self.trace.messages:
            self._trace("deliver", "response", call, connection.backward.pair)
        inflight = connection.inflight
        if inflight and inflight[0] is call:
            inflight.popleft()
        else:
            inflight.remove(call)
        self.loop.running = connection.client
        if self.check_mutation:
            self.check_unchanged(call, call.response, "by its sender")
            handler(call.response)
            self.check_unchanged(call, call.response, "by its receiver")
        else:
            handler(call.response)
