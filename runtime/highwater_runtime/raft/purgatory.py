"""Fetches that wait at the leader for something to tell (long poll).

No wake-up can be lost, since nothing is ever woken: what a waiting fetch waits for follows from a few numbers of the
replica (its *stamp*: epoch, leadership, log end, HW), and after every event in which the stamp changed, every waiting
fetch is evaluated again. A fetch that has waited for its maximum is answered with what there is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from highwater_runtime.ports import MS, ApiMessage, InboundRequest, Timer
from highwater_runtime.raft.messages import FetchParams


class EvaluateFetch(Protocol):
    """Decides on a fetch."""

    def __call__(self, params: FetchParams, *, may_wait: bool) -> ApiMessage | None:
        """The answer; None, only where it ``may_wait``: nothing to tell yet."""


@dataclass(slots=True)
class _Waiting:
    request: InboundRequest
    params: FetchParams
    timer: Timer


class FetchPurgatory:
    """The waiting fetches of one replica, in order of arrival."""

    def __init__(
        self,
        evaluate: EvaluateFetch,
        stamp: Callable[[], tuple[int, ...]],
        call_later: Callable[[int, Callable[[], None]], Timer],
    ) -> None:
        self._evaluate = evaluate
        self._stamp = stamp
        self._call_later = call_later
        self._waiting: dict[int, _Waiting] = {}
        self._next_key = 0
        self._evaluated_at: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, request: InboundRequest, params: FetchParams) -> None:
        """Answer the fetch now or let it wait.

        A replica has one fetch under way: an earlier one that still waits is of a connection that broke. It is
        answered first: the replica never sees that response.
        """
        for key, waiting in list(self._waiting.items()):
            if params.replica_id >= 0 and waiting.params.replica_id == params.replica_id:
                self._finish(key)
        response = self._evaluate(params, may_wait=params.max_wait_ms > 0)
        if response is not None:
            request.reply(response)
            return
        key, self._next_key = self._next_key, self._next_key + 1
        timer = self._call_later(params.max_wait_ms * MS, lambda: self._finish(key))
        self._waiting[key] = _Waiting(request, params, timer)

    def recheck(self) -> None:
        """Evaluate every waiting fetch again if the stamp has changed."""
        stamp = self._stamp()
        if stamp == self._evaluated_at:
            return
        self._evaluated_at = stamp
        for key, waiting in list(self._waiting.items()):
            response = self._evaluate(waiting.params, may_wait=True)
            if response is not None:
                del self._waiting[key]
                waiting.timer.cancel()
                waiting.request.reply(response)

    def _finish(self, key: int) -> None:
        waiting = self._waiting.pop(key)
        waiting.timer.cancel()
        response = self._evaluate(waiting.params, may_wait=False)
        assert response is not None
        waiting.request.reply(response)
