"""Registers in a few words, and what linearizable means in a few lines, for histories small enough to try it all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from highwater_lab.benchmarks import linearizability
from highwater_pipeline.linearizability.registers import CAS, NEVER, READ, WRITE, Register
from highwater_pipeline.tables.rows import OPERATION_ROWS, MicroOp, Operation
from highwater_pipeline.tables.run_tables import RunTables

KIND = {"read": READ, "write": WRITE, "cas": CAS}


@dataclass(frozen=True)
class Op:
    """One operation: times of its invocation and completion (None: unknown outcome)."""

    kind: str
    value: int
    begins: int
    ends: int | None
    expected: int = -1


def brute_force(ops: tuple[Op, ...]) -> bool:
    """Whether some order of operations, every known one in it, respects real time and makes sense."""

    @cache
    def possible(left: frozenset[int], state: int) -> bool:
        if all(ops[i].ends is None for i in left):
            return True
        first_end = min(ops[i].ends for i in left if ops[i].ends is not None)
        for i in sorted(left):
            op = ops[i]
            if op.begins > first_end:
                continue
            if op.kind != "write" and state != (op.value if op.kind == "read" else op.expected):
                continue
            if possible(left - {i}, state if op.kind == "read" else op.value):
                return True
        return False

    return possible(frozenset(range(len(ops))), 0)


def is_linearization(ops: list[Op]) -> bool:
    """Whether operations in this very order respect real time and make sense."""
    state, latest = 0, -2
    for op in ops:
        if op.ends is not None and op.ends < latest:
            return False
        latest = max(latest, op.begins)
        if op.kind != "write" and state != (op.value if op.kind == "read" else op.expected):
            return False
        state = state if op.kind == "read" else op.value
    return True


def register(ops: tuple[Op, ...], *, reduced: bool = True) -> Register:
    made = Register(
        *(
            np.array(column, np.int64)
            for column in (
                [KIND[op.kind] for op in ops],
                [op.value for op in ops],
                [op.expected for op in ops],
                [op.begins for op in ops],
                [NEVER if op.ends is None else op.ends for op in ops],
                range(len(ops)),
            )
        )
    )
    return made.reduced() if reduced else made


class Story:
    """A history of registers as it is written down."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def row(self, process: int, kind: str, f: str, *values: int | None, key: str = "x") -> Story:
        ops = ("read", "write") if f == "cas" else (f,)
        value = [MicroOp(op, key, None, said) for op, said in zip(ops, values, strict=True)] if values else None
        at = len(self.operations)
        self.operations.append(Operation(at, at, process, kind, f, value, f"client-{process}"))
        return self

    def done(self, process: int, f: str, *values: int | None, outcome: str = "ok", key: str = "x") -> Story:
        """An operation that nothing overlaps."""
        asked = (None,) if f == "read" else values
        return self.row(process, "invoke", f, *asked, key=key).row(process, outcome, f, *values, key=key)

    def tables(self) -> RunTables:
        return RunTables("story", OPERATION_ROWS.to_table(self.operations, "story"))


class Model:
    """What tests use of this file."""

    Op = Op
    brute_force = staticmethod(brute_force)
    is_linearization = staticmethod(is_linearization)
    register = staticmethod(register)


@pytest.fixture(scope="session")
def model() -> Any:
    return Model


@pytest.fixture
def story() -> Story:
    """An empty history to write on."""
    return Story()


@pytest.fixture(scope="session")
def benchmark_history() -> Any:
    """Makes the histories of the benchmark."""
    return linearizability.history
