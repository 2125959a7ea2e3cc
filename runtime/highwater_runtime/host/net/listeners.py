"""What a listener or an outbound connection may add to plain TCP: TLS, and a conversation before all others (SASL).

A connection is a transport, a protocol and, where its security says so, an authenticator. The host knows no mechanism;
it lets the authenticator see the first requests of a connection (as server), or has it talk first (as client).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from ssl import SSLContext
from typing import Any, Final, Protocol

from highwater_runtime.ports import ApiMessage, Endpoint, InboundRequest, ResponseHandler

ANONYMOUS: Final = "User:ANONYMOUS"
"""Kafka's principal of a connection without authentication."""


Authorize = Callable[[str, Any, int], ApiMessage | None]
"""Principal, request body, its version -> the response that refuses the request; None: it is allowed."""


class AuthenticationError(Exception):
    """The peer did not prove who it is, or asked for something before it did. Closes the connection."""


class ServerAuthenticator(Protocol):
    """Decides who the client of one connection is."""

    @property
    def principal(self) -> str | None:
        """``User:alice`` once it is known; None before. Until then no request reaches the core."""

    def on_request(self, request: InboundRequest) -> bool:
        """Handle a request of the conversation, and reply to it; False leaves it to the core (ApiVersions).

        Sees every request until the principal is known, and SaslHandshake and SaslAuthenticate afterwards too.

        Raises:
            AuthenticationError: the connection is closed, after the replies given so far.
        """


class ClientAuthenticator(Protocol):
    """Proves to the server of one connection who this node is."""

    def start(
        self,
        exchange: Callable[[ApiMessage, int, ResponseHandler], None],
        on_done: Callable[[str | None], None],
    ) -> None:
        """Talk by ``exchange(request, version, on_response)``; then ``on_done(None)``, or why it failed."""


@dataclass(frozen=True, slots=True)
class ListenerSecurity:
    """How clients of a listener are met. ``principal_of_peer`` names a client by its transport (mutual TLS).

    A client that is not known yet gets little: so long for its TLS handshake, so long again for the conversation with
    the authenticator, and frames up to so many bytes.
    """

    ssl_context: SSLContext | None = None
    authenticator: Callable[[], ServerAuthenticator] | None = None
    principal_of_peer: Callable[[object], str] | None = None
    authentication_timeout_s: float = 10.0
    largest_frame_before_authentication: int = 524_288
    authorize: Authorize | None = None


@dataclass(frozen=True, slots=True)
class OutboundSecurity:
    """How this node meets servers. ``server_hostname``: what the certificate must name, by endpoint (its host)."""

    ssl_context: SSLContext | None = None
    authenticator: Callable[[Endpoint], ClientAuthenticator] | None = None
    server_hostname: Callable[[Endpoint], str] | None = None


PLAINTEXT: Final = ListenerSecurity()
PLAINTEXT_OUTBOUND: Final = OutboundSecurity()


@dataclass(frozen=True, slots=True)
class Listener:
    """Where a node is to listen. ``name`` as in ``listeners`` (``PLAINTEXT``, ``CLIENT`` …); port 0: any free one."""

    name: str
    endpoint: Endpoint
    security: ListenerSecurity = PLAINTEXT
