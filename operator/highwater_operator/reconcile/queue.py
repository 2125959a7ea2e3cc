"""When which object is reconciled: at once after an event, again after a while, later and later after failures.

The level-triggered loop of every Kubernetes controller. An object is worked on by one worker at a time; events that
come meanwhile, however many, mean one more time. A failure of the API server only delays; a bug delays too, and is
logged.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from highwater_chaos.kube.client import KubeError
from highwater_operator import metrics
from highwater_operator.reconcile.log_cluster import Outcome
from highwater_runtime.log_lines import log_event

_LONGEST_BACKOFF: Final = 30.0
_FIRST_BACKOFF: Final = 0.5
_log = logging.getLogger(__name__)


class Key(NamedTuple):
    """Namespace and name of an object."""

    namespace: str
    name: str


@dataclass(slots=True)
class _Entry:
    due: float | None = None
    """When it is to be worked on; None: it was not requested."""
    busy: bool = False
    failures: int = 0


class Queue:
    """Calls ``work(key)`` for keys that are due, by ``workers`` tasks.

    Args:
        work: one reconcile.
        settle: seconds that an event waits for others that come with it.
        workers: how many objects are worked on at once.
    """

    def __init__(
        self,
        work: Callable[[Key], Awaitable[Outcome]],
        *,
        settle: float = 0.2,
        workers: int = 8,
        kind: str = "LogCluster",
    ) -> None:
        self._work = work
        self._settle = settle
        self._workers = workers
        self._kind = kind
        self._entries: dict[Key, _Entry] = {}
        self._heap: list[tuple[float, Key]] = []
        self._changed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin; needs a running loop."""
        self._tasks = [asyncio.create_task(self._run(), name=f"reconcile-{n}") for n in range(self._workers)]

    async def stop(self) -> None:
        """Cut off what is under way: another operator goes on from what the API server has."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def add(self, key: Key, after: float | None = None) -> None:
        """Work on ``key`` in ``after`` seconds (absent: once events have settled), unless that is to happen sooner."""
        entry = self._entries.setdefault(key, _Entry())
        due = time.monotonic() + (self._settle if after is None else after)
        if entry.due is None or due < entry.due:
            entry.due = due
            if not entry.busy:
                self._push(due, key)
        self._count()

    def forget(self, key: Key) -> None:
        """Forget an object that has been deleted."""
        entry = self._entries.get(key)
        if entry is not None and not entry.busy:
            del self._entries[key]
        self._count()

    def _count(self) -> None:
        if self._kind == "LogCluster":
            metrics.KNOWN.labels(self._kind).set(len(self._entries))

    def _push(self, due: float, key: Key) -> None:
        heapq.heappush(self._heap, (due, key))
        self._changed.set()

    async def _run(self) -> None:
        while True:
            key, entry = await self._next()
            entry.busy, entry.due = True, None
            began = time.monotonic()
            again = await self._one(key, entry)
            metrics.RECONCILE_SECONDS.labels(self._kind).observe(time.monotonic() - began)
            self._done(key, entry, again)

    def _done(self, key: Key, entry: _Entry, again: float | None) -> None:
        if again is not None:
            self.add(key, again)
        entry.busy = False
        if entry.due is not None:  # by ``again``, or by an event that came meanwhile
            self._push(entry.due, key)
        else:
            self.forget(key)

    async def _next(self) -> tuple[Key, _Entry]:
        while True:
            now = time.monotonic()
            metrics.WAITING.labels(self._kind).set(sum(due <= now for due, _ in self._heap))
            while self._heap and self._heap[0][0] <= now:
                due, key = heapq.heappop(self._heap)
                entry = self._entries.get(key)
                if entry is not None and not entry.busy and entry.due is not None and entry.due <= due:
                    return key, entry
            self._changed.clear()
            wait = self._heap[0][0] - now if self._heap else None
            # Not wait_for: until Python 3.12 it loses a cancellation that comes together with what it waits for.
            try:
                async with asyncio.timeout(wait):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def _about(self, key: Key) -> dict[str, str]:
        return {"namespace": key.namespace, "kind": self._kind, "name": key.name}

    async def _one(self, key: Key, entry: _Entry) -> float | None:
        """Seconds until the next time."""
        try:
            outcome = await self._work(key)
        except KubeError as error:
            metrics.RECONCILES.labels(self._kind, "delayed").inc()
            log_event(_log, logging.WARNING, "tried again later", **self._about(key), error=str(error))
        except Exception:
            metrics.RECONCILES.labels(self._kind, "failed").inc()
            _log.exception("a bug; tried again later", extra={"fields": self._about(key)})
        else:
            entry.failures = 0
            metrics.RECONCILES.labels(self._kind, "steady" if outcome.settled else "again").inc()
            return outcome.again_after
        entry.failures += 1
        return float(min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2 ** (entry.failures - 1)))
