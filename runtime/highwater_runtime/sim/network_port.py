"""What one process sees of the network: it sends requests, and hears responses or failures.

While a write of a process does not return, it is held (:mod:`.process`) and repeats its last heartbeat, as a thread of
a real node does (:mod:`highwater_runtime.host.process.heartbeat_thread`).
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from highwater_runtime.ports import ApiMessage, Endpoint, Heartbeat, ResponseHandler, RpcFailure
from highwater_runtime.sim.connection import ConnectionState, SimRequest, check_deadlines, is_dead
from highwater_runtime.sim.network import Fabric
from highwater_runtime.sim.process import Process

_REPEATED: Final = "heartbeat-repeated"


class SimNetwork:
    """The :class:`highwater_runtime.ports.Network` of one process."""

    __slots__ = ("_connections", "_fabric", "_heartbeat", "_heartbeat_at", "_process", "_repeats", "_sender")

    def __init__(self, fabric: Fabric, process: Process) -> None:
        self._fabric = fabric
        self._process = process
        self._connections = fabric.connections_of(process)
        self._heartbeat: Heartbeat | None = None
        self._heartbeat_at = 0
        self._repeats = False
        """Whether the next repetition is due."""
        self._sender: SimNetwork | None = None
        """Of the thread that repeats: it hears responses, and opens connections, while the process is held."""

    def send(
        self,
        to: Endpoint,
        request: ApiMessage,
        version: int,
        on_response: ResponseHandler,
        *,
        timeout_ns: int,
        channel: str = "",
    ) -> None:
        process = self._process
        if is_dead(process):
            return
        fabric = self._fabric
        connection = self._connections.get((to, channel))
        if connection is None:
            connection = fabric.connect(process, to, channel)
        body = fabric.through_codec(request, version) if fabric.codec_fraction else request
        deadline = fabric.loop.now + process.host.clock.run_delay(timeout_ns)
        call = SimRequest(body, version, process.name, connection, on_response, deadline)
        if fabric.check_mutation:
            call.fingerprint = request.encode(version)
        connection.inflight.append(call)
        if deadline < connection.check_at:
            connection.check_at = deadline
            fabric.loop.push(deadline, check_deadlines, connection)
        if connection.state is ConnectionState.OPEN:
            fabric.send_request(connection, call)
        else:
            connection.outbox.append(call)

    def repeat_while_held_up(self, heartbeat: Heartbeat) -> None:
        self._heartbeat, self._heartbeat_at = heartbeat, self._fabric.loop.now
        self._process.on_held = self._begin_to_repeat

    def stop_repeating(self) -> None:
        self._heartbeat = None

    def _begin_to_repeat(self) -> None:
        if not self._repeats:
            self._repeats = True
            if self._sender is None:
                core = self._process
                core.beside = Process(core.loop, core.name, core.incarnation, core.random, core.host)
                self._sender = SimNetwork(self._fabric, core.beside)
            self.repeat()

    def repeat(self) -> None:
        """Send the heartbeat again once the next one is overdue, and each interval, while the process is held."""
        process, heartbeat, loop, sender = self._process, self._heartbeat, self._fabric.loop, self._sender
        if heartbeat is None or sender is None or not process.is_held:
            self._repeats = False
            return

        sent_ns = process.clock.now_ns()

        def answered(response: Any) -> None:
            if not isinstance(response, RpcFailure):
                process.deliver(partial(heartbeat.on_response, sent_ns), response)

        every = process.host.clock.run_delay(heartbeat.every_ns)
        due = self._heartbeat_at + every + every // 2
        if loop.now >= due:
            due = loop.now + every
            to, request, version, timeout_ns = heartbeat.to, heartbeat.request, heartbeat.version, heartbeat.timeout_ns
            sender.send(to, request, version, answered, timeout_ns=timeout_ns, channel=_REPEATED)
        loop.push(due, _repeat, self)

    def disconnect(self, to: Endpoint) -> None:
        for (endpoint, _), connection in list(self._connections.items()):
            if endpoint == to:
                connection.fail(self._fabric.loop.now)


def _repeat(network: SimNetwork) -> None:
    """Event: the time of a repetition has come."""
    network.repeat()
