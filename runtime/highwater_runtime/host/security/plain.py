"""SASL PLAIN (RFC 4616): the client sends user and password as they are. Only over TLS is that any protection."""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from highwater_runtime.host.net.listeners import AuthenticationError


class PlainServer:
    """The server's end; ``users`` maps names to passwords."""

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = users
        self.user: str | None = None

    def respond(self, message: bytes) -> bytes:
        """The answer to the client's only message. Raises AuthenticationError."""
        try:
            authorization, user, password = message.decode().split("\0")
        except ValueError:
            raise AuthenticationError("malformed PLAIN message") from None
        if authorization not in ("", user):
            raise AuthenticationError(f"user {user!r} may not act as {authorization!r}")
        expected = self._users.get(user)
        # Compared in any case, so that time does not tell whether there is such a user.
        matches = hmac.compare_digest(password.encode(), (expected or "").encode())
        if expected is None or not matches:
            raise AuthenticationError(f"no such user, or wrong password: {user!r}")
        self.user = user
        return b""


class PlainClient:
    """The client's end."""

    def __init__(self, username: str, password: str) -> None:
        self._first = f"\0{username}\0{password}".encode()
        self.done = False

    def first(self) -> bytes:
        """Return the first message of the client."""
        return self._first

    def respond(self, message: bytes) -> bytes | None:
        """Return None: PLAIN has one message, the client's. Raises AuthenticationError if the server sends one."""
        if message:
            raise AuthenticationError("expected no message from the server with PLAIN, found one")
        self.done = True
        return None
