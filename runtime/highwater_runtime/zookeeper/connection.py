"""One client's connection as its server sees it: requests in order, responses in that order.

A read is answered from what the server has applied, but not before the writes of this client that came before it. A
write waits for its transaction to come back with the log. A *poll* asks for nothing: it is answered when a watch has
fired, when another request comes behind it, or after a third of the session's time-out, and so it is the client's ping.
A client whose event loop stands still sends real pings (:data:`PING`), as a thread of ZooKeeper's client does.
Each response begins with the events of the watches that have fired.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from highwater_runtime.ports import MS, Clock, InboundRequest, Timer
from highwater_runtime.ports.coordination import Children, Exists, Get, Result, WatchEvent
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.zookeeper_response import ZookeeperResponse
from highwater_runtime.zookeeper.codec import encode_answer

Read = Get | Exists | Children


@dataclass(slots=True)
class _Pending:
    """A request without response: a ``read``, a poll, or (neither) a write, whose ``answer`` comes with the log."""

    request: InboundRequest
    read: Read | None = None
    is_poll: bool = False
    is_due: bool = False
    answer: tuple[Result, int] | None = None


PING: Final = -2
"""The number of a request that has no place among the others, as in ZooKeeper."""


class ClientConnection:
    """The connection ``id`` of ``session``.

    Args:
        evaluate: carries out a read now, with its watch if it has one: its result, and the zxid of the state.
    """

    def __init__(
        self,
        id: int,  # noqa: A002
        session: int,
        timeout_ms: int,
        clock: Clock,
        evaluate: Callable[[ClientConnection, Read, bool], tuple[Result, int]],
    ) -> None:
        self.id: Final = id
        self.session: Final = session
        self.timeout_ns: Final = timeout_ms * MS
        self.heard_ns = clock.now_ns()
        self.requests = 0
        """How many have come."""
        self.proposals = 0
        """How many of them were writes."""
        self._clock = clock
        self._evaluate = evaluate
        self._queue: deque[_Pending] = deque()
        self._events: list[WatchEvent] = []
        self._poll_timer: Timer | None = None

    def read(self, request: InboundRequest, operation: Read) -> None:
        """Answer a read as soon as it is its turn."""
        self._queue.append(_Pending(request, read=operation))
        self.answer()

    def poll(self, request: InboundRequest) -> None:
        """Answer when there is something to tell, at last after a third of the session's time-out."""
        pending = _Pending(request, is_poll=True)
        self._queue.append(pending)
        self._poll_timer = self._clock.call_later(self.timeout_ns // 3, lambda: self._poll_is_due(pending))
        self.answer()

    def write(self, request: InboundRequest) -> None:
        """Answer once its transaction has been applied."""
        self._queue.append(_Pending(request))
        self.answer()

    def applied(self, result: Result, zxid: int) -> None:
        """The first write without a result has this one. Answering is for later."""
        for pending in self._queue:
            if pending.read is None and not pending.is_poll and pending.answer is None:
                pending.answer = result, zxid
                return

    def fired(self, event: WatchEvent) -> None:
        """A watch of this connection has fired. Answering is for later."""
        self._events.append(event)

    def answer(self) -> None:
        """Answer all that can be answered."""
        while self._queue:
            pending = self._queue[0]
            if pending.read is not None:
                result, zxid = self._evaluate(self, pending.read, pending.request.body.watch)
            elif pending.answer is not None:
                result, zxid = pending.answer
            elif pending.is_poll and (pending.is_due or self._events or len(self._queue) > 1):
                result, zxid = None, 0
            else:
                return
            self._respond(result, zxid)

    def drop(self) -> None:
        """Give up the connection: no request gets another answer than that."""
        if self._poll_timer is not None:
            self._poll_timer.cancel()
        while self._queue:
            self._queue.popleft().request.reply(dropped())

    def _poll_is_due(self, poll: _Pending) -> None:
        poll.is_due = True
        self.answer()

    def _respond(self, result: Result, zxid: int) -> None:
        pending = self._queue.popleft()
        if pending.is_poll and self._poll_timer is not None:
            self._poll_timer.cancel()
        events, encoded = encode_answer(result, self._events)
        self._events.clear()
        pending.request.reply(ZookeeperResponse(zxid=zxid, events=events, result=encoded))


def dropped() -> ZookeeperResponse:
    """The response by a connection that the server has given up."""
    return ZookeeperResponse(error_code=ErrorCode.NETWORK_EXCEPTION)
