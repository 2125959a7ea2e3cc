"""What one process sees of the network: it sends requests, and hears responses or failures."""

from __future__ import annotations

from highwater_runtime.ports import ApiMessage, Endpoint, ResponseHandler
from highwater_runtime.sim.connection import ConnectionState, SimRequest, check_deadlines, is_dead
from highwater_runtime.sim.network import Fabric
from highwater_runtime.sim.process import Process


class SimNetwork:
    """The :class:`highwater_runtime.ports.Network` of one process."""

    __slots__ = ("_connections", "_fabric", "_process")

    def __init__(self, fabric: Fabric, process: Process) -> None:
        self._fabric = fabric
        self._process = process
        self._connections = fabric.connections_of(process)

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
        """See :class:`highwater_runtime.ports.Network`."""
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

    def repeat_while_held_up(
        self,
        to: Endpoint,
        request: ApiMessage,
        version: int,
        on_response: ResponseHandler,
        *,
        every_ns: int,
        timeout_ns: int,
    ) -> None:
        """See :class:`highwater_runtime.ports.Network`."""

    def disconnect(self, to: Endpoint) -> None:
        """See :class:`highwater_runtime.ports.Network`."""
        for (endpoint, _), connection in list(self._connections.items()):
            if endpoint == to:
                connection.fail(self._fabric.loop.now)
