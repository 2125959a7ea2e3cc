"""What one node grants its clients together, by Kafka's property names where Kafka has them."""

from __future__ import annotations

from dataclasses import dataclass

from highwater_runtime.wire.framing import MAX_FRAME_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """Bounds of a node's server.

    Attributes:
        max_frame_bytes: ``socket.request.max.bytes``; a larger request closes its connection.
        max_connections: ``max.connections``; further ones are closed at once. A node process lowers it to what its
            limit of file descriptors allows.
        max_descriptor: a connection whose file descriptor has this number or a higher one is closed at once. The kernel
            gives the lowest free number, so the numbers from here on stay free for files.
        max_connections_per_ip: ``max.connections.per.ip``.
        max_queued_bytes: ``queued.max.request.bytes``: bytes of requests that are received and not yet answered, over
            all connections; of requests of which only a part has come as well. Beyond it, connections that hold more
            than their share are not read from. −1: no bound.
        max_queued_requests: ``highwater.max.in.flight.requests.per.connection``: requests of one connection that are
            not yet answered; beyond it, the connection is not read from.
        max_idle_ms: ``connections.max.idle.ms``: a connection on which nothing happens for so long is closed. −1:
            never.
        write_buffer_bytes: ``highwater.connection.write.buffer.bytes``: a connection whose peer leaves more than this
            unread is not read from until it has taken most of it.
    """

    max_frame_bytes: int = MAX_FRAME_BYTES
    max_connections: int = 2**31 - 1
    max_connections_per_ip: int = 2**31 - 1
    max_descriptor: int = 2**31 - 1
    max_queued_bytes: int = 256 * 1024 * 1024
    max_queued_requests: int = 512
    max_idle_ms: int = 600_000
    write_buffer_bytes: int = 1024 * 1024
