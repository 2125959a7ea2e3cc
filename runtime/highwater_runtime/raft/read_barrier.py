"""Linearizable reads at any replica, voter or observer, leader or not (KIP-650).

A read asks the leader up to which offset it must be applied (ReadOffset). It is held until this replica's listener has
applied that offset. Then the state has everything that was acknowledged before the read began. A read that is held too
long gets REQUEST_TIMED_OUT, and its client may try another node.

**One request at a time, for many reads**: its response is valid for all reads that were held when it was sent. A failed
request is sent again after a back-off. If the leader was deposed, the next leader is asked at once.

**No wake-up can be lost**: after every event of the replica, all held reads are compared with the applied offset.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from highwater_runtime.ports import MS, RpcFailure, Timer
from highwater_runtime.raft.read_offset import (
    READ_OFFSET_VERSION,
    OnReadOffset,
    ReadOffset,
    read_offset_of,
    read_offset_request_of,
)
from highwater_runtime.raft.scope import Shared
from highwater_runtime.wire.errors import ErrorCode

OnReady = Callable[[ErrorCode], None]

_RETRY_BACKOFF_NS: Final = 50 * MS


@dataclass(slots=True)
class _Held:
    timer: Timer
    on_ready: OnReady
    offset: int | None = None


class ReadBarrier:
    """The reads that wait at one replica.

    Args:
        ask_self: :meth:`RaftReplica.read_offset`, for when this replica leads.
        applied_end: exclusive end of the batches that the listener has applied.
    """

    def __init__(
        self, shared: Shared, ask_self: Callable[[OnReadOffset], None], applied_end: Callable[[], int]
    ) -> None:
        self._shared = shared
        self._ask_self = ask_self
        self._applied_end = applied_end
        self._held: dict[int, _Held] = {}
        self._arrived = 0
        self._asked: tuple[int, int] | None = None
        self._question = 0
        self._evaluated_at = -1

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, timeout_ns: int, on_ready: OnReady) -> None:
        """Call ``on_ready`` once: with NONE when a read of the listener's state is linearizable, else with why not
        (REQUEST_TIMED_OUT; BROKER_NOT_AVAILABLE where this replica stops)."""
        self._arrived += 1
        number = self._arrived
        timer = self._later(timeout_ns, lambda: self._finish(number, ErrorCode.REQUEST_TIMED_OUT))
        self._held[number] = _Held(timer, on_ready)
        if self._asked is None:
            self._ask()

    def recheck(self) -> None:
        """Let through what has waited long enough. After every event of the replica."""
        if not self._held:
            return
        if self._asked is not None and self._asked != self._leader() and self._shared.quorum.leader_id is not None:
            self._ask()
        applied_end = self._applied_end()
        if applied_end == self._evaluated_at:
            return
        self._evaluated_at = applied_end
        for number, held in list(self._held.items()):
            if held.offset is not None and held.offset < applied_end:
                self._finish(number, ErrorCode.NONE)

    def close(self) -> None:
        """Answer all held reads with an error: the replica stops."""
        for number in list(self._held):
            self._finish(number, ErrorCode.BROKER_NOT_AVAILABLE)

    def _finish(self, number: int, error: ErrorCode) -> None:
        held = self._held.pop(number, None)
        if held is not None:
            held.timer.cancel()
            held.on_ready(error)

    def _later(self, delay_ns: int, callback: Callable[[], None]) -> Timer:
        return self._shared.ports.clock.call_later(delay_ns, lambda: self._shared.event(callback))

    # --- asking the leader ---------------------------------------------------------------------------------------

    def _leader(self) -> tuple[int, int]:
        leader_id = self._shared.quorum.leader_id
        return self._shared.quorum.epoch, -1 if leader_id is None else leader_id

    def _ask(self) -> None:
        """Ask for all held reads without an offset. The response to an earlier request is ignored from now on."""
        if not any(held.offset is None for held in self._held.values()):
            self._asked = None
            return
        self._asked = self._leader()
        self._question += 1
        question, covers = self._question, self._arrived
        leader_id = self._shared.quorum.leader_id

        def answered(answer: ReadOffset) -> None:
            if question == self._question:
                self._answered(answer, covers)

        def responded(response: Any) -> None:
            failed = isinstance(response, RpcFailure)
            answer = ReadOffset(ErrorCode.NETWORK_EXCEPTION) if failed else read_offset_of(response)
            self._shared.event(lambda: answered(answer))

        if leader_id is None:
            answered(ReadOffset(ErrorCode.LEADER_NOT_AVAILABLE))
        elif leader_id == self._shared.node_id:
            self._ask_self(answered)
        else:
            ports = self._shared.ports
            ports.network.send(
                self._shared.endpoints[leader_id],
                read_offset_request_of(self._shared.cluster_id, ports.clock.wall_ms()),
                READ_OFFSET_VERSION,
                responded,
                timeout_ns=self._shared.timing.request_ns * 3 // 2,  # the leader's own time-out should come first
                channel="raft-read",
            )

    def _answered(self, answer: ReadOffset, covers: int) -> None:
        if answer.error is not ErrorCode.NONE:
            question = self._question
            self._later(_RETRY_BACKOFF_NS, lambda: self._retry(question))
            return
        for number, held in self._held.items():
            if number <= covers and held.offset is None:
                held.offset = answer.applied_offset
        self._evaluated_at = -1
        self._asked = None
        self._ask()
        self.recheck()

    def _retry(self, question: int) -> None:
        if question == self._question:
            self._ask()
