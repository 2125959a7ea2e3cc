"""Threads in which requests are carried out: those that heal, those that inject, and those that read from pods.

A pod may be as slow as it likes. It occupies one thread of readers and one of healers, never another kind's, and what
heals one pod never waits for another.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from highwater_operator.agent.refusals import RefusalError

_HEALS: Final = 32
_INJECTIONS: Final = 16
_READS: Final = 16
_WAITS_FOR_POD: Final = 30.0
_PROBE_WAITS: Final = 0.3
_STUCK_AFTER: Final = 60.0

T = TypeVar("T")


class Pool:
    """Threads of one kind; of the calls about one ``key`` (a pod), ``each`` run at a time and the others wait their
    turn, without a thread."""

    def __init__(self, name: str, threads: int, each: int = 1) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._name = name
        self._each = each
        self._turns: dict[str, tuple[asyncio.Semaphore, int]] = {}
        self._probe: Future[None] | None = None
        self._probed = 0.0

    async def run(self, key: str, call: Callable[[], T]) -> T:
        """What ``call`` returns or raises. ``key``: empty for what is about no pod.

        Raises:
            RefusalError: 503, others that are about the same pod do not end.
        """
        async with self._turn(key):
            return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def stuck(self) -> str | None:
        """What is wrong where a call that does nothing does not get its turn; None: nothing. Returns at once."""
        if self._probe is None:
            self._probe, self._probed = self._threads.submit(lambda: None), time.monotonic()
        probe = asyncio.wrap_future(self._probe)
        await asyncio.wait([probe], timeout=_PROBE_WAITS)
        if self._probe.done():
            self._probe = None
            return None
        silent = time.monotonic() - self._probed
        return f"{self._name}: no call has begun for {silent:.0f} s" if silent > _STUCK_AFTER else None

    @asynccontextmanager
    async def _turn(self, key: str) -> AsyncIterator[None]:
        if not key:
            yield
            return
        turn, waiting = self._turns.get(key) or (asyncio.Semaphore(self._each), 0)
        self._turns[key] = turn, waiting + 1
        try:
            try:
                async with asyncio.timeout(_WAITS_FOR_POD):
                    await turn.acquire()
            except TimeoutError as error:
                found = f"{waiting} others, which do not end"
                raise RefusalError(503, "the pod is busy", expected="a turn", found=found) from error
            try:
                yield
            finally:
                turn.release()
        finally:
            _, waiting = self._turns.pop(key)
            if waiting > 1:
                self._turns[key] = turn, waiting - 1


class Pools:
    """All thread pools of an agent."""

    def __init__(self) -> None:
        self.heals = Pool("heals", _HEALS)
        self.injections = Pool("injections", _INJECTIONS, each=4)
        self.reads = Pool("reads", _READS)
        self.own = Pool("own", 4)
