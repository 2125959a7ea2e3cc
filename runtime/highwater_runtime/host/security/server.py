"""The server's end of SASL on one connection (KIP-43, KIP-152).

::

    handshake ──SaslHandshake v1──► exchange ──last SaslAuthenticate──► known
        ▲  ApiVersions, any time before

Whatever else comes before the client is known, a mechanism that is not offered, and a conversation that fails end the
connection, behind an answer that says so where the request has one. What exactly was wrong is for the log: the client
learns only that it was refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from highwater_runtime.host.net.listeners import AuthenticationError
from highwater_runtime.ports import InboundRequest
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.api_versions_request import ApiVersionsRequest
from highwater_runtime.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from highwater_runtime.wire.messages.sasl_authenticate_response import SaslAuthenticateResponse
from highwater_runtime.wire.messages.sasl_handshake_request import SaslHandshakeRequest
from highwater_runtime.wire.messages.sasl_handshake_response import SaslHandshakeResponse

MOST_REQUESTS: Final = 16
"""Of a client that is not known yet: ApiVersions in some versions, a handshake, and the messages of a mechanism."""


class Conversation(Protocol):
    """The server's end of one mechanism."""

    user: str | None
    """Who the client is, once that is known."""

    def respond(self, message: bytes) -> bytes:
        """The answer to the client's next message. Raises AuthenticationError."""


class SaslServer:
    """A :class:`~highwater_runtime.host.net.listeners.ServerAuthenticator`.

    ``mechanisms`` begin conversations, by name.
    """

    def __init__(self, mechanisms: Mapping[str, Callable[[], Conversation]]) -> None:
        self._mechanisms = mechanisms
        self._mechanism = ""
        self._conversation: Conversation | None = None
        self._principal: str | None = None
        self._requests = 0

    @property
    def principal(self) -> str | None:
        """``User:alice`` once it is known."""
        return self._principal

    def on_request(self, request: InboundRequest) -> bool:
        self._requests += self._principal is None
        if self._requests > MOST_REQUESTS:
            raise AuthenticationError(f"more than {MOST_REQUESTS} requests before authentication")
        match request.body:
            case SaslHandshakeRequest() as body:
                self._handshake(request, body.mechanism)
            case SaslAuthenticateRequest() as body:
                self._authenticate(request, body.auth_bytes)
            case ApiVersionsRequest():
                return False
            case body:
                raise AuthenticationError(f"{body.NAME} before authentication")
        return True

    def _handshake(self, request: InboundRequest, mechanism: str) -> None:
        offered = list(self._mechanisms)
        if self._principal is not None:
            request.reply(SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=offered))
            return
        if request.version == 0 or self._conversation is not None:
            # After version 0 the messages would come without Kafka's frames; no client of the last years does that.
            error = ErrorCode.UNSUPPORTED_VERSION if request.version == 0 else ErrorCode.ILLEGAL_SASL_STATE
            request.reply(SaslHandshakeResponse(error_code=error, mechanisms=offered))
            raise AuthenticationError(f"SaslHandshake refused: {error.name}")
        begin = self._mechanisms.get(mechanism)
        if begin is None:
            request.reply(SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=offered))
            raise AuthenticationError(f"mechanism {mechanism[:40]!r} is not enabled")
        self._mechanism, self._conversation = mechanism, begin()
        request.reply(SaslHandshakeResponse(mechanisms=offered))

    def _authenticate(self, request: InboundRequest, message: bytes) -> None:
        conversation = self._conversation
        if conversation is None:
            error = ErrorCode.ILLEGAL_SASL_STATE
            request.reply(SaslAuthenticateResponse(error_code=error, error_message="not expected now"))
            if self._principal is None:
                raise AuthenticationError("SaslAuthenticate before SaslHandshake")
            return
        try:
            answer = conversation.respond(message)
        except AuthenticationError:
            request.reply(
                SaslAuthenticateResponse(
                    error_code=ErrorCode.SASL_AUTHENTICATION_FAILED,
                    error_message=f"authentication failed: invalid credentials for {self._mechanism}",
                )
            )
            raise
        request.reply(SaslAuthenticateResponse(error_message=None, auth_bytes=answer))
        if conversation.user is not None:
            self._principal = f"User:{conversation.user}"
            self._conversation = None
