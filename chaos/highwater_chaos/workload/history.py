"""The record of what clients did and saw: Jepsen's operation history.

Each operation is an ``invoke`` and one completion: ``ok`` (it took effect), ``fail`` (it certainly did not) or
``info`` (nobody knows: the answer was lost or came too late). A process is single-threaded: it has at most one open
operation, and one whose operation ended in ``info`` never acts again, since that operation may take effect at any
later time. Checks build on exactly these rules, so the recorder enforces them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

OperationType = Literal["invoke", "ok", "fail", "info"]
OperationKind = Literal["send", "poll", "assign", "read", "write"]


class MicroOp(msgspec.Struct, frozen=True, omit_defaults=True):
    """One record sent or polled, one position assigned (``value`` null), or one register read or written.

    ``key`` is the topic-partition (``"orders-0"``) or the register, ``value`` the record's or register's unique value
    (null: the register was never written), ``offset`` null where unknown and for registers. The ``offset`` of an
    assignment is where the consumer was put; null: it stays where it was. ``topic_id`` is the topic's uuid as 32 hex
    digits where the client knows it: of records that it fetched by id, and not of records that it sent by name.
    """

    op: OperationKind
    key: str
    offset: int | None
    value: int | None
    topic_id: str | None = None


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


class HistoryRecorder:
    """Collects one run's operations in the order in which they happened.

    ``now_ns`` is the run's clock, not that of a client's node, so that a skewed clock cannot bend the history. What
    clients in other processes did is told here a little later than it happened, with its own run time ``at_ns``;
    :meth:`history` puts it where it belongs.
    """

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self.operations: list[Operation] = []
        self.acknowledged = 0
        """Records (not operations) whose send completed ``ok``."""
        self.last_acknowledged_ns: int | None = None
        """Run time of the latest send that completed ``ok``."""
        self.acknowledged_ns: dict[str, int] = {}
        """Partition that was written to → run time of its latest send that completed ``ok``; −1: none did."""
        self._now_ns = now_ns
        self._open: dict[int, OperationKind] = {}
        self._idle: dict[str, list[int]] = {}
        self._next_process = 0

    @property
    def open_operations(self) -> int:
        """Operations invoked and not yet completed."""
        return len(self._open)

    def invoke(self, client: str, f: OperationKind, value: Iterable[MicroOp] = (), *, at_ns: int | None = None) -> int:
        """Begin an operation; returns the process number that it runs under.

        A client with several operations open at once gets a process for each, and reuses them once they are free.
        """
        idle = self._idle.setdefault(client, [])
        if idle:
            process = min(idle)
            idle.remove(process)
        else:
            process = self._next_process
            self._next_process += 1
        self._open[process] = f
        micro_ops = tuple(value)
        if f == "send":
            for micro_op in micro_ops:
                self.acknowledged_ns.setdefault(micro_op.key, -1)
        self._append("invoke", process, f, micro_ops, client=client, at_ns=at_ns)
        return process

    def ok(
        self,
        client: str,
        process: int,
        value: Iterable[MicroOp],
        *,
        at_ns: int | None = None,
        attempts: int | None = None,
    ) -> None:
        """The operation took effect, with these offsets."""
        micro_ops = tuple(value)
        f = self._complete(client, process, reusable=True)
        if f == "send":
            self.acknowledged += len(micro_ops)
            self.last_acknowledged_ns = self._now_ns() if at_ns is None else at_ns
            for micro_op in micro_ops:
                self.acknowledged_ns[micro_op.key] = self.last_acknowledged_ns
        self._append("ok", process, f, micro_ops, client=client, at_ns=at_ns, attempts=attempts)

    def fail(
        self,
        client: str,
        process: int,
        value: Iterable[MicroOp],
        error: str,
        *,
        at_ns: int | None = None,
        attempts: int | None = None,
    ) -> None:
        """The operation certainly did not take effect, and never will."""
        f = self._complete(client, process, reusable=True)
        self._append("fail", process, f, tuple(value), client=client, error=error, at_ns=at_ns, attempts=attempts)

    def info(
        self,
        client: str,
        process: int,
        value: Iterable[MicroOp],
        error: str,
        *,
        at_ns: int | None = None,
        attempts: int | None = None,
    ) -> None:
        """The outcome is unknown; the process is never used again."""
        f = self._complete(client, process, reusable=False)
        self._append("info", process, f, tuple(value), client=client, error=error, at_ns=at_ns, attempts=attempts)

    def history(self) -> list[Operation]:
        """All operations by time, those of one time as they were told; ``index`` counts them from 0."""
        by_time = sorted(self.operations, key=lambda operation: operation.time)
        return [
            operation if operation.index == index else msgspec.structs.replace(operation, index=index)
            for index, operation in enumerate(by_time)
        ]

    def _complete(self, client: str, process: int, *, reusable: bool) -> OperationKind:
        f = self._open.pop(process, None)
        if f is None:
            raise AssertionError(f"{client}: process {process} has no open operation to complete")
        if reusable:
            self._idle[client].append(process)
        return f

    def _append(
        self,
        kind: OperationType,
        process: int,
        f: OperationKind,
        value: tuple[MicroOp, ...],
        *,
        client: str,
        error: str | None = None,
        at_ns: int | None,
        attempts: int | None = None,
    ) -> None:
        time = self._now_ns() if at_ns is None else at_ns
        self.operations.append(Operation(len(self.operations), time, process, kind, f, value, client, error, attempts))
