"""What a run's nodes get of this machine's processors: rows of its ``machines.jsonl``."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from typing import Any, Final

from highwater_chaos.machine.kernel.proc import ProcessorTime
from highwater_runtime.ports import SECOND

EVERY_NS: Final = 10 * SECOND


class ProcessorUse:
    """A row for about every ten seconds (:mod:`highwater_chaos.base.machine_record`)."""

    def __init__(self) -> None:
        self._rows: list[Mapping[str, Any]] = []
        self._before: dict[tuple[str, int], ProcessorTime] = {}
        self._since_ns = time.monotonic_ns()

    @property
    def is_due(self) -> bool:
        return time.monotonic_ns() - self._since_ns >= EVERY_NS

    def look(self, now: Mapping[tuple[str, int], ProcessorTime]) -> None:
        """``now``: of all nodes that run, by name and incarnation."""
        at_ns = time.monotonic_ns()
        nodes = {one[0]: _since(self._before.get(one), used) for one, used in now.items()}
        seconds = round((at_ns - self._since_ns) / SECOND, 3)
        processors = len(os.sched_getaffinity(0))
        self._rows.append({"at": time.time(), "seconds": seconds, "processors": processors, "nodes": nodes})
        self._before, self._since_ns = dict(now), at_ns

    def lines(self) -> bytes:
        return "".join(f"{json.dumps(row)}\n" for row in self._rows).encode()


def _since(before: ProcessorTime | None, now: ProcessorTime) -> dict[str, float]:
    """What was added; threads that have ended take theirs along."""
    ran, waited = (max(0, new - old) for new, old in zip(now, before or (0, 0), strict=True))
    return {"ran": round(ran / SECOND, 3), "waited": round(waited / SECOND, 3)}
