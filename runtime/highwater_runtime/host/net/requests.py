"""A request at its server: what the core sees, and the slot that keeps its answer's place in line."""

from __future__ import annotations

from collections import deque
from typing import Any, Final, Protocol

from highwater_runtime.host.net.listeners import Listener
from highwater_runtime.ports import ApiMessage, InboundRequest
from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.codec import SchemaError, WireError
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.framing import encode_response

_NOTHING: Final[list[bytes]] = []
_ACKS_NONE: Final = 0


class RequestSource(Protocol):
    """The connection that a request came by."""

    peer: str
    principal: str
    listener: Listener
    slots: deque[HostRequest]
    """Requests without sent answer, in the order in which the answers must leave."""

    @property
    def is_closed(self) -> bool:
        """Whether nothing more can be sent."""

    def hand_over(self, request: HostRequest) -> None:
        """Let the core see a request, its answer's place at the end of the line."""

    def keep_back(self, request: HostRequest) -> None:
        """A rule keeps a request from the core for now."""

    def lose(self, request: HostRequest) -> None:
        """A rule keeps a request from the core for good."""

    def let_go(self, request: HostRequest) -> None:
        """It does not any more."""

    def send_answers(self) -> None:
        """Send the answers that are ready, up to the first that is not."""

    def send_held_answer(self) -> None:
        """The rule that held the first answer lets it go."""

    def cannot_answer(self, request: HostRequest, error: WireError) -> None:
        """The core's answer cannot be written in the version that the client asked for."""


class HostRequest(InboundRequest):
    """One request of one connection. Its answer is encoded when it is given: the core may change the object later."""

    __slots__ = ("answer", "connection", "correlation_id", "size")

    def __init__(
        self, connection: RequestSource, body: Any, version: int, correlation_id: int, client_id: str, size: int
    ) -> None:
        self.connection = connection
        self.body = body
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.peer = connection.peer
        self.size = size
        self.answer: list[bytes] | None = None
        """The response's frame, in pieces; empty where nothing is to be sent."""

    @property
    def listener(self) -> str:
        """Name of the listener that it came by."""
        return self.connection.listener.name

    @property
    def principal(self) -> str:
        """Who sent it, as ``User:alice``."""
        return self.connection.principal

    def twin(self) -> HostRequest:
        """The same request once more, with no place in line."""
        return HostRequest(self.connection, self.body, self.version, self.correlation_id, self.client_id, self.size)

    def reply(self, response: ApiMessage) -> None:
        if self.answer is not None:
            raise AssertionError(f"second reply to {self.body.NAME} of {self.peer}")
        connection = self.connection
        body = self.body
        if body.API_KEY == ApiKey.PRODUCE and body.acks == _ACKS_NONE:
            self.answer = _NOTHING
        else:
            version = self.version
            if body.API_KEY == ApiKey.API_VERSIONS and response.error_code == ErrorCode.UNSUPPORTED_VERSION:  # type: ignore[attr-defined]
                version = 0
            try:
                self.answer = encode_response(response, version, self.correlation_id)  # type: ignore[arg-type]
            except SchemaError as error:
                self.answer = _NOTHING
                connection.cannot_answer(self, error)
                return
        slots = connection.slots
        # A duplicate, or a request that outlived its connection, has no place in line: nobody waits for its answer.
        if slots and slots[0] is self:
            connection.send_answers()
