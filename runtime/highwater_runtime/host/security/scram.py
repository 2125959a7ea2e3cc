"""SASL SCRAM-SHA-256 and -512 (RFC 5802, RFC 7677): each end proves that it knows the password, none sends it.

librdkafka up to 2.6.0 puts its own nonce once more before the common one in its last message. Kafka 3.9 lets that pass,
and so does this server: the proof covers what was sent, and the server's nonce is in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from scramp import ScramClient as Client
from scramp import ScramException
from scramp import ScramMechanism as Mechanism
from scramp.core import Nonce

from highwater_runtime.host.net.listeners import AuthenticationError
from highwater_runtime.metadata.scram import ScramCredential

MOST_ITERATIONS: Final = 100_000
"""A server that asks for more would hold up this node for long; Kafka's servers store 16384 at most."""

MOST_BYTES: Final = 1024
"""Of one message. User names are prepared letter by letter (RFC 4013), in the turn of all other clients."""

CredentialOf = Callable[[str], ScramCredential]
"""Also of users that do not exist: the conversation with them fails at the proof, as with a wrong password."""


class ScramServer:
    """The server's end of one conversation by ``mechanism``."""

    def __init__(self, mechanism: str, credential_of: CredentialOf) -> None:
        self._credential_of = credential_of
        self._server = Mechanism(mechanism).make_server(self._lookup)
        self._asked_for: str | None = None
        self._has_begun = False
        self.user: str | None = None

    def _lookup(self, user: str) -> tuple[bytes, bytes, bytes, int]:
        self._asked_for = user
        found = self._credential_of(user)
        return found.salt, found.stored_key, found.server_key, found.iterations

    def respond(self, message: bytes) -> bytes:
        """The answer to the client's next message. Raises AuthenticationError."""
        if len(message) > MOST_BYTES:
            raise AuthenticationError(f"a SCRAM message of {len(message)} bytes; at most {MOST_BYTES} are allowed")
        try:
            text = message.decode()
            if not self._has_begun:
                self._has_begun = True
                self._server.set_client_first(text)
                return str(self._server.get_server_first()).encode()
            self._accept_nonce_in(text)
            self._server.set_client_final(text)
            answer = str(self._server.get_server_final()).encode()
        except (ScramException, ValueError) as error:
            raise AuthenticationError(f"user {self._asked_for!r}: {error}") from None
        self.user = self._asked_for
        return answer

    def _accept_nonce_in(self, client_final: str) -> None:
        nonces = [part[2:] for part in client_final.split(",") if part.startswith("r=")]
        if nonces and nonces[0].endswith(str(self._server.nonce)):
            self._server.nonce = Nonce(nonces[0])


class ScramClient:
    """The client's end of one conversation."""

    def __init__(self, mechanism: str, username: str, password: str) -> None:
        self._client = Client([mechanism], username, password)
        self._has_answered = False
        self.done = False

    def first(self) -> bytes:
        """Return the first message of the client."""
        return str(self._client.get_client_first()).encode()

    def respond(self, message: bytes) -> bytes | None:
        """The answer to the server's message; None once the server has proved that it knows the password, too.

        Raises:
            AuthenticationError: what the server says makes no sense, or proves nothing.
        """
        if len(message) > MOST_BYTES:
            raise AuthenticationError(f"a SCRAM message of {len(message)} bytes; at most {MOST_BYTES} are allowed")
        try:
            text = message.decode()
            if not self._has_answered:
                self._has_answered = True
                self._client.set_server_first(text)
                iterations = int(self._client.iterations)
                if iterations > MOST_ITERATIONS:
                    raise AuthenticationError(f"the server asks for {iterations} iterations; {MOST_ITERATIONS} at most")
                return str(self._client.get_client_final()).encode()
            self._client.set_server_final(text)
        except (ScramException, ValueError, LookupError) as error:
            raise AuthenticationError(f"the server's SCRAM message: {error}") from None
        self.done = True
        return None
