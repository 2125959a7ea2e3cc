"""The client's end of SASL on one connection: how a node proves to another who it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from highwater_runtime.host.net.listeners import AuthenticationError
from highwater_runtime.host.security.plain import PlainClient
from highwater_runtime.host.security.scram import ScramClient
from highwater_runtime.ports import ApiMessage, ResponseHandler, RpcFailure
from highwater_runtime.wire.errors import ErrorCode, error_name
from highwater_runtime.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from highwater_runtime.wire.messages.sasl_handshake_request import SaslHandshakeRequest

HANDSHAKE_VERSION: Final = 1
AUTHENTICATE_VERSION: Final = 2

Exchange = Callable[[ApiMessage, int, ResponseHandler], None]


class Conversation(Protocol):
    """The client's end of one mechanism."""

    done: bool

    def first(self) -> bytes:
        """Return the first message of the client."""

    def respond(self, message: bytes) -> bytes | None:
        """The answer to the server's message, None where there is none. Raises AuthenticationError."""


class SaslClient:
    """A :class:`~highwater_runtime.host.net.listeners.ClientAuthenticator` for one connection."""

    def __init__(self, mechanism: str, username: str, password: str) -> None:
        self._mechanism = mechanism
        self._username = username
        self._password = password

    def start(self, exchange: Exchange, on_done: Callable[[str | None], None]) -> None:
        conversation: Conversation = (
            PlainClient(self._username, self._password)
            if self._mechanism == "PLAIN"
            else ScramClient(self._mechanism, self._username, self._password)
        )

        def shaken(response: Any) -> None:
            if isinstance(response, RpcFailure):
                on_done(f"no answer to SaslHandshake: {response.value}")
            elif response.error_code != ErrorCode.NONE:
                offered = ", ".join(response.mechanisms)
                on_done(f"{self._mechanism}: {error_name(response.error_code)}; the server offers {offered}")
            else:
                say(conversation.first())

        def say(message: bytes) -> None:
            exchange(SaslAuthenticateRequest(auth_bytes=message), AUTHENTICATE_VERSION, heard)

        def heard(response: Any) -> None:
            if isinstance(response, RpcFailure):
                on_done(f"no answer to SaslAuthenticate: {response.value}")
                return
            if response.error_code != ErrorCode.NONE:
                on_done(f"{error_name(response.error_code)}: {response.error_message}")
                return
            try:
                answer = conversation.respond(response.auth_bytes)
            except AuthenticationError as error:
                on_done(str(error))
                return
            if answer is not None:
                say(answer)
            else:
                on_done(None)

        exchange(SaslHandshakeRequest(mechanism=self._mechanism), HANDSHAKE_VERSION, shaken)
