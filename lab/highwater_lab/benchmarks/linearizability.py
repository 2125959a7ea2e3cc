"""The linearizability checker: operations decided per second, and how that grows with the length of the history.

    python -m highwater_lab.benchmarks.linearizability [--values unique twice few] [--operations 1000 10000] [--spark]

Histories are made by clients that work on registers without pause: an operation takes effect at a random moment
between its invocation and its completion, and one in twenty is never answered (half of those took effect; the client
goes on as another process). Keys are drawn evenly.

* ``unique``: half reads, half writes, every written value new, as the harness writes them: zones decide.
* ``twice``: the same, but a value is written twice or so: the search decides.
* ``few``: reads, writes and cas (5 : 3 : 2) of five values: the search decides. With so few values and writes of
  unknown outcome, an old value looks like one that was written late. So a stale read is often linearizable.

``stale`` has one acknowledged read, nine tenths through the history. It returns a state that had been replaced, by an
acknowledged operation, before the read began.

Time is that of judging a table in memory: splitting it by key, deciding every key, and for a history that is not
linearizable finding the longest prefix that is. ``growth`` is the exponent: by which power of the length the time grew
since the row before (1: linearly). Times swing with the machine: compare within one run.
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from highwater_pipeline.linearizability import Limits, check_registers
from highwater_pipeline.tables.files import write_parquet
from highwater_pipeline.tables.rows import OPERATION_ROWS, MicroOp, Operation, OperationType
from highwater_pipeline.tables.run_tables import RunTables

UNKNOWN = 0.05
VALUES = ("unique", "twice", "few")


class Registers:
    """Clients at work on registers; ``rows`` is their history."""

    def __init__(self, operations: int, keys: int, clients: int, *, values: str, stale: bool, seed: int) -> None:
        self._random = random.Random(seed)
        self._cas = values == "few"
        self._values = {"unique": 0, "twice": operations // 4, "few": 5}[values]
        self._stale_from = operations * 0.9 if stale else math.inf
        self._held: list[list[int | None]] = [[None] for _ in range(keys)]
        self._acknowledged = [0] * keys  # the latest state of each key that has been acknowledged
        self._replaced = [0] * keys  # the latest that was replaced by an operation that began after its acknowledgement
        self._written = 0
        self.rows: list[Operation] = []
        self._run(operations, clients)

    def _run(self, operations: int, clients: int) -> None:
        draw = self._random
        processes = clients
        # (when, tie, what, process, operation): an operation's invocation, its effect, its completion.
        todo: list[tuple[float, int, str, int, dict[str, Any]]] = [
            (draw.random(), process, "invoke", process, {}) for process in range(clients)
        ]
        heapq.heapify(todo)
        tie, begun = clients, 0
        while todo:
            now, _, what, process, operation = heapq.heappop(todo)
            tie += 1
            if what == "invoke":
                if begun == operations:
                    continue
                begun += 1
                operation = self._draw()
                operation["acknowledged"], operation["replaced"] = (
                    self._acknowledged[operation["key"]],
                    self._replaced[operation["key"]],
                )
                lasts = draw.expovariate(1.0)
                effect = now + lasts * draw.random()
                self._row(process, "invoke", operation)
                if draw.random() >= UNKNOWN or operation["f"] == "read":
                    heapq.heappush(todo, (effect, tie, "effect", process, operation))
                    heapq.heappush(todo, (now + lasts, tie, "done", process, operation))
                else:
                    if draw.random() < 0.5:
                        heapq.heappush(todo, (effect, tie, "effect", process, operation))
                    heapq.heappush(todo, (now + lasts, tie, "lost", process, operation))
            elif what == "effect":
                self._effect(operation)
            else:
                outcome: OperationType = (
                    "info" if what == "lost" or draw.random() < UNKNOWN * (operation["f"] == "read") else "ok"
                )
                outcome = "fail" if outcome == "ok" and not operation.get("applied", True) else outcome
                self._row(process, outcome, operation)
                if outcome == "info":
                    process, processes = processes, processes + 1
                heapq.heappush(todo, (now + 0.01 * draw.random(), tie, "invoke", process, {}))

    def _draw(self) -> dict[str, Any]:
        draw = self._random
        operation = {"key": draw.randrange(len(self._held))}
        roll = draw.random()
        if roll < 0.5:
            return operation | {"f": "read", "value": None}
        self._written += 1
        value = draw.randint(1, self._values) if self._values else self._written
        if self._cas and roll >= 0.8:
            return operation | {"f": "cas", "expected": draw.randint(1, self._values), "value": value, "applied": False}
        return operation | {"f": "write", "value": value}

    def _effect(self, operation: dict[str, Any]) -> None:
        held = self._held[operation["key"]]
        if operation["f"] == "read":
            operation["value"] = held[-1]
            operation["state"] = len(held) - 1
        elif operation["f"] == "write":
            operation["state"] = len(held)
            held.append(operation["value"])
        elif held[-1] == operation["expected"]:
            operation["applied"] = True
            operation["state"] = len(held)
            held.append(operation["value"])

    def _row(self, process: int, kind: OperationType, operation: dict[str, Any]) -> None:
        key, value = f"register-{operation['key']}", operation["value"]
        if kind == "ok":
            if operation["f"] == "read" and operation["replaced"] and len(self.rows) // 2 >= self._stale_from:
                value = self._held[operation["key"]][operation["replaced"]]
                self._stale_from = math.inf
            elif operation["state"] > operation["acknowledged"]:
                self._replaced[operation["key"]] = max(self._replaced[operation["key"]], operation["acknowledged"])
                self._acknowledged[operation["key"]] = max(self._acknowledged[operation["key"]], operation["state"])
        micro = [MicroOp("read" if operation["f"] == "read" else "write", key, None, value)]
        if operation["f"] == "cas":
            micro.insert(0, MicroOp("read", key, None, operation["expected"]))
        self.rows.append(Operation(len(self.rows), len(self.rows), process, kind, operation["f"], micro))


def history(operations: int, keys: int, clients: int, *, values: str, stale: bool, seed: int = 1) -> RunTables:
    """The history of one run, as tables."""
    rows = Registers(operations, keys, clients, values=values, stale=stale, seed=seed).rows
    return RunTables("benchmark", OPERATION_ROWS.to_table(rows, "benchmark"))


def main() -> None:
    """Print one line per history."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--values", nargs="+", choices=list(VALUES), default=list(VALUES))
    parser.add_argument("--operations", nargs="+", type=int, default=[1_000, 10_000, 100_000])
    parser.add_argument("--keys", nargs="+", type=int, default=[1, 100])
    parser.add_argument("--clients", nargs="+", type=int, default=[10, 50])
    parser.add_argument("--repeat", type=int, default=1, help="the best of so many times")
    parser.add_argument("--spark", action="store_true", help="on Spark too, in a warm session on two cores")
    arguments = parser.parse_args()
    heading = f"{'values':7} {'keys':>4} {'clients':>7} {'history':8} {'operations':>10} {'verdict':13} {'seconds':>8}"
    print(heading + f" {'operations/s':>12} {'growth':>6}" + ("   Spark s" if arguments.spark else ""))
    for values in arguments.values:
        for keys in arguments.keys:
            for clients in arguments.clients:
                for kind in ("valid", "stale"):
                    _series(arguments, values, keys, clients, kind)


def _series(arguments: argparse.Namespace, values: str, keys: int, clients: int, kind: str) -> None:
    before: tuple[int, float] | None = None
    for operations in arguments.operations:
        tables = history(operations, keys, clients, values=values, stale=kind == "stale")
        seconds = math.inf
        for _ in range(arguments.repeat):
            began = time.perf_counter()
            judged = check_registers(tables, Limits())
            seconds = min(seconds, time.perf_counter() - began)
        growth = "" if before is None else f"{math.log(seconds / before[1]) / math.log(operations / before[0]):6.2f}"
        line = f"{values:7} {keys:4} {clients:7} {kind:8} {operations:10,} {judged.verdict:13} {seconds:8.3f}"
        line += f" {operations / seconds:12,.0f} {growth:>6}"
        print(line + (f"  {_on_spark(tables):8.3f}" if arguments.spark else ""), flush=True)
        before = operations, seconds


def _on_spark(tables: RunTables) -> float:
    from highwater_pipeline.spark import open_session  # noqa: PLC0415 - PySpark takes a second to import
    from highwater_pipeline.spark.registers import spark_check_registers  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "operations.parquet"
        write_parquet(path, tables.operations)
        with open_session("local[2]") as spark:
            spark_check_registers(spark, path)
            began = time.perf_counter()
            spark_check_registers(spark, path)
            return time.perf_counter() - began


if __name__ == "__main__":
    main()
