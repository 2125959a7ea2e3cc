"""The record of what clients did and saw: Jepsen's operation history.

Each operation is an ``invoke`` and one completion: ``ok`` (it took effect), ``fail`` (it certainly did not) or
``info`` (not known: the response was lost or came too late). A process is single-threaded: it has at most one open
operation, and one whose operation ended in ``info`` never acts again, since that operation may take effect at any
later time. Checks build on exactly these rules, so the recorder enforces them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Final, Literal

import msgspec

OperationType = Literal["invoke", "ok", "fail", "info"]
OperationKind = Literal["send", "poll", "assign", "commit", "committed", "lookup", "read", "write"]


class MicroOp(msgspec.Struct, frozen=True, omit_defaults=True):
    """One record sent or polled, one position assigned (``value`` null), one offset of a group committed or fetched,
    one offset looked up by time stamp, or one register read or written.

    ``key`` is the topic-partition (``"orders-0"``) or the register, ``value`` the record's or register's unique value
    (null: the register was never written), ``offset`` null where unknown and for registers. The ``offset`` of an
    assignment is where the consumer was put; null: it stays where it was. ``topic_id`` is the topic's uuid as 32 hex
    digits where the client knows it: of records that it fetched by id, and not of records that it sent by name.
    ``altered`` says what of a record that was read is not as it was sent; null: nothing. Of a look-up ``value`` is the
    time stamp (ms), ``offset`` null where no record is as late, and ``altered`` says what of the log contradicts it.
    """

    op: OperationKind
    key: str
    offset: int | None
    value: int | None
    topic_id: str | None = None
    altered: str | None = None


class Operation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One row of the history. ``time`` in ns of run time; ``error`` says in Kafka's words why it was not ``ok``.

    ``attempts``: of a completed send, how often the client sent the request; null where it does not know.
    """

    index: int
    time: int
    process: int
    type: OperationType
    f: OperationKind
    value: tuple[MicroOp, ...]
    client: str
    error: str | None = None
    attempts: int | None = None


class Tried(msgspec.Struct, frozen=True):
    """How one kind of operation goes for one client. Run times, −1: never. ``since_ns``: when the first operation began
    of those after the latest that succeeded; ``ok_ns``: when that one ended. A poll without a record is no success."""

    f: OperationKind
    client: str
    since_ns: int
    ok_ns: int = -1


_COUNTED: Final = frozenset({"poll", "commit", "committed", "lookup", "read", "write"})
"""The kinds of operations whose success is counted by client: of sends it is by partition."""


class HistoryRecorder:
    """Writes down what the clients of one process did, in the order in which it happened.

    Args:
        now_ns: the run's clock, not that of a client's node, so that a skewed clock cannot bend the history.
        keep: gets each operation; None: :attr:`operations` does, which then holds the whole history.
    """

    def __init__(self, now_ns: Callable[[], int], keep: Callable[[Operation], None] | None = None) -> None:
        self.operations: list[Operation] = []
        self.offered = 0
        """Records (not operations) whose send has begun."""
        self.first_offered_ns: int | None = None
        """Run time of the first of them."""
        self.acknowledged = 0
        """Records whose send completed ``ok``."""
        self.waited_ns = 0
        """How long these took together, each from its send to its acknowledgement."""
        self.acknowledged_ns: dict[str, int] = {}
        """Partition that was written to → run time of its latest send that completed ``ok``; −1: none did."""
        self.news: dict[str, int] = {}
        """What has changed in :attr:`acknowledged_ns` since this was last emptied."""
        self.read = 0
        """Records that polls have returned."""
        self.tried: dict[tuple[OperationKind, str], Tried] = {}
        self.refusal = ""
        """The error with which a send failed last, as long as none was acknowledged."""
        self._now_ns = now_ns
        self._keep = self.operations.append if keep is None else keep
        self._index = 0
        self._open: dict[int, tuple[OperationKind, int]] = {}
        """Process number → what it does, and since when."""
        self._idle: dict[str, list[int]] = {}
        self._next_process = 0

    @property
    def open_operations(self) -> int:
        """Operations invoked and not yet completed."""
        return len(self._open)

    def invoke(self, client: str, f: OperationKind, value: Iterable[MicroOp] = ()) -> int:
        """Begin an operation; returns the process number that it runs under.

        A client with several operations open at once gets a process for each, and reuses them once they are free.
        """
        micro_ops = tuple(value)
        idle = self._idle.setdefault(client, [])
        if idle:
            process = heappop(idle)
        else:
            process = self._next_process
            self._next_process += 1
        time = self._append("invoke", process, f, micro_ops, client=client)
        self._open[process] = f, time
        if f in _COUNTED:
            tried = self.tried.get((f, client))
            if tried is None or tried.since_ns < 0:
                self.tried[f, client] = Tried(f, client, time, -1 if tried is None else tried.ok_ns)
        elif f == "send":
            for micro_op in micro_ops:
                if micro_op.key not in self.acknowledged_ns:
                    self.acknowledged_ns[micro_op.key] = self.news[micro_op.key] = -1
            self.offered += len(micro_ops)
            if self.first_offered_ns is None:
                self.first_offered_ns = time
        return process

    def ok(self, client: str, process: int, value: Iterable[MicroOp], *, attempts: int | None = None) -> None:
        """The operation took effect, with these offsets."""
        micro_ops = tuple(value)
        f, began = self._complete(client, process, reusable=True)
        time = self._append("ok", process, f, micro_ops, client=client, attempts=attempts)
        if f == "send":
            self.acknowledged += len(micro_ops)
            self.waited_ns += len(micro_ops) * (time - began)
            for micro_op in micro_ops:
                self.acknowledged_ns[micro_op.key] = self.news[micro_op.key] = time
        elif f == "poll":
            self.read += len(micro_ops)
        if f in _COUNTED and (micro_ops or f != "poll"):
            self.tried[f, client] = Tried(f, client, -1, time)

    def fail(
        self, client: str, process: int, value: Iterable[MicroOp], error: str, *, attempts: int | None = None
    ) -> None:
        """The operation certainly did not take effect, and never will."""
        f, _ = self._complete(client, process, reusable=True)
        if f == "send" and not self.acknowledged:
            self.refusal = error
        self._append("fail", process, f, tuple(value), client=client, error=error, attempts=attempts)

    def info(
        self, client: str, process: int, value: Iterable[MicroOp], error: str, *, attempts: int | None = None
    ) -> None:
        """The outcome is unknown; the process is never used again."""
        f, _ = self._complete(client, process, reusable=False)
        self._append("info", process, f, tuple(value), client=client, error=error, attempts=attempts)

    def _complete(self, client: str, process: int, *, reusable: bool) -> tuple[OperationKind, int]:
        """Return what it did, and since when."""
        begun = self._open.pop(process, None)
        if begun is None:
            raise AssertionError(f"{client}: process {process} has no open operation to complete")
        if reusable:
            heappush(self._idle[client], process)
        return begun

    def _append(
        self,
        kind: OperationType,
        process: int,
        f: OperationKind,
        value: tuple[MicroOp, ...],
        *,
        client: str,
        error: str | None = None,
        attempts: int | None = None,
    ) -> int:
        time = self._now_ns()
        self._keep(Operation(self._index, time, process, kind, f, value, client, error, attempts))
        self._index += 1
        return time
