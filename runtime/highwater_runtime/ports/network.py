"""Request and response between nodes, at the level of Kafka's protocol: no sockets, no frames.

The same message objects travel through every host; a host may encode and decode them on the way (a real one must).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, ClassVar, NamedTuple, Protocol, Self


class Endpoint(NamedTuple):
    """The address on which a node listens. In the simulator ``host`` is the node's name."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class ApiMessage(Protocol):
    """A request or response body, as ``highwater_runtime.wire`` generates them."""

    API_KEY: ClassVar[int]
    NAME: ClassVar[str]

    def encode(self, version: int) -> bytes:
        """Return the body's bytes in ``version`` of its schema (no header)."""

    @classmethod
    def decode(cls, data: bytes | memoryview, version: int) -> Self:
        """Return the body whose :meth:`encode` returned ``data``."""


class RpcFailure(Enum):
    """Why a request got no response. The request may or may not have been carried out."""

    DISCONNECTED = "disconnected"
    """Connection refused, or broken before the response came."""
    TIMED_OUT = "timed-out"
    """No response within the time-out; the connection is closed with it, as Kafka's client does."""
    UNSUPPORTED = "not supported by the server"
    """Never sent: the server, of other software, supports no version of it. Only clients that negotiate get it."""


ResponseHandler = Callable[[Any], None]
"""Called exactly once with the response body (its generated class) or an :class:`RpcFailure`, unless the node dies."""

RepetitionHandler = Callable[[int, Any], None]
"""Called with the time (of the node's clock) at which a repeated request was sent, and its response."""


class Heartbeat(NamedTuple):
    """A request that shows that the node lives; see :meth:`Network.repeat_while_held_up`."""

    to: Endpoint
    request: ApiMessage
    version: int
    on_response: RepetitionHandler
    every_ns: int
    timeout_ns: int
    """How long one repetition may take."""


class Network(Protocol):
    """Outbound requests of one node."""

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
        """Send ``request`` in ``version``. Connect first if there is no connection.

        Requests of one (sender, ``to``, ``channel``) share a connection and stay in order, and responses come in the
        order of the requests; use channels of their own for long polls. A connection that breaks fails everything
        in flight on it with ``DISCONNECTED``.
        """

    def repeat_while_held_up(self, heartbeat: Heartbeat) -> None:
        """Have the host send a heartbeat again, which the core sends now, while the core can run no event.

        An event of the core may take long: a ``write()`` blocks. If the core does not call this again within
        ``every_ns`` for that reason, the host sends the request on a connection of its own, each ``every_ns``, until
        the event is over. ``on_response`` then gets each response in an event of its own, behind the time (of the
        node's clock) at which its request was sent; it may never be called. The next call takes the place of this one.
        """

    def stop_repeating(self) -> None:
        """Have the host send no heartbeat any more: the core leaves its cluster. What it still does may take long."""

    def disconnect(self, to: Endpoint) -> None:
        """Close all connections to ``to``, because another node than the one that was meant answers there.

        They break as above. The next request connects anew, and may find the right node.
        """


class InboundRequest:
    """A request that has arrived at a node. The core responds once, now or in a later event."""

    __slots__ = ("_reply", "body", "client_id", "peer", "version")

    def __init__(self, body: Any, version: int, client_id: str, peer: str, reply: Callable[[ApiMessage], None]) -> None:
        self.body = body
        self.version = version
        self.client_id = client_id
        self.peer = peer
        self._reply = reply

    @property
    def api_key(self) -> int:
        """Return the body's API key."""
        key: int = self.body.API_KEY
        return key

    @property
    def listener(self) -> str:
        """Return the name of the listener on which it came; "" if there is only one."""
        return ""

    def reply(self, response: ApiMessage) -> None:
        """Send the response, encoded in the request's version. A second call is a bug and raises ``AssertionError``.

        Two answers take another form on a real wire, which is the host's affair: that to a Produce with acks 0 is not
        sent at all, and UNSUPPORTED_VERSION to an ApiVersions request is encoded in version 0.
        """
        self._reply(response)
