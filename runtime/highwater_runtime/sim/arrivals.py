"""What happens when something arrives: the events on connections.

A paused process finds what arrived meanwhile when it goes on; a dead one is what its peers find out about.
"""

from __future__ import annotations

from highwater_runtime.sim.connection import Connection, ConnectionState, Line, SimRequest, is_dead


def connect_arrives(connection: Connection) -> None:
    """Event: the handshake has gone both ways."""
    connection.fabric.try_to_open(connection)


def request_arrives(line: Line) -> None:
    """Event: the next message on the way to the server arrives."""
    connection = line.connection
    fabric = connection.fabric
    if fabric.cuts and line.pair in fabric.cuts:
        fabric.stall(line)
        return
    queue = line.queue
    if not queue:
        return
    call = queue.popleft()
    if call is None:
        return
    server = connection.server
    if server.state:
        if is_dead(server):
            fabric.note_drop(connection, call, "request")
            if server.host.powered:
                fabric.send_reset(connection)
        else:
            server.park(_hand_over, call)
        return
    connection.unanswered.append(call)
    fabric.hand_over(server, call, line.pair)


def _hand_over(call: SimRequest) -> None:
    """A request that a paused server left in its socket buffer."""
    connection = call.connection
    assert connection is not None
    server = connection.server
    if server.state:
        server.park(_hand_over, call)
        return
    connection.unanswered.append(call)
    connection.fabric.hand_over(server, call, connection.forward.pair)


def detached_arrives(detached: tuple[Connection, SimRequest]) -> None:
    """Event: a request that no connection waits for: a duplicate, or one released after its connection closed."""
    connection, call = detached
    fabric = connection.fabric
    server = connection.server
    if connection.forward.pair in fabric.cuts or is_dead(server):
        fabric.note_drop(connection, call, "request")
    elif server.state:
        server.park(detached_arrives, detached)
    else:
        fabric.hand_over(server, call, connection.forward.pair)


def response_arrives(line: Line) -> None:
    """Event: the next message on the way to the client arrives."""
    connection = line.connection
    fabric = connection.fabric
    if fabric.cuts and line.pair in fabric.cuts:
        fabric.stall(line)
        return
    queue = line.queue
    if not queue:
        return
    call = queue.popleft()
    if call is None:
        _reset(connection)
    else:
        _hand_back(call)


def _hand_back(call: SimRequest) -> None:
    connection = call.connection
    assert connection is not None
    client = connection.client
    if client.state:
        client.park(_hand_back, call)
        return
    connection.fabric.hand_back(connection, call)


def _reset(connection: Connection) -> None:
    """The client learns that the server's end is gone, after all responses that came before."""
    client = connection.client
    if client.state:
        client.park(_reset, connection)
        return
    if connection.state is not ConnectionState.CLOSED:
        connection.fail(client.loop.now)
