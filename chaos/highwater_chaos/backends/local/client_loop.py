"""The thread on which the harness's own clients live: an asyncio loop inside the network of the run.

Everything that touches a client runs on this thread. The main thread reads single attributes of clients (a flag, a
count), which Python makes safe, and hands over calls.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")

_PATIENCE: Final = 30.0


class ClientLoopError(Exception):
    """Something on the clients' thread failed or did not end in time."""


class ClientLoop:
    """A running loop on a thread of its own. ``enter`` runs first on that thread."""

    def __init__(self, enter: Callable[[], None]) -> None:
        self._enter = enter
        self._ready: concurrent.futures.Future[asyncio.AbstractEventLoop] = concurrent.futures.Future()
        self._failures: list[str] = []
        self._thread = threading.Thread(target=self._run, name="highwater-clients", daemon=True)
        self._thread.start()
        self.loop = self._ready.result(_PATIENCE)

    def call(self, function: Callable[[], T]) -> T:
        """Run a function on the thread and wait for what it returns or raises."""

        async def body() -> T:
            return function()

        return self.wait(body())

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and wait for it."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            return future.result(_PATIENCE)
        except concurrent.futures.TimeoutError:
            future.cancel()
            raise ClientLoopError(f"the clients' thread did not answer within {_PATIENCE:g} s") from None

    def post(self, callback: Callable[[], None]) -> None:
        """Run ``callback`` on the thread, soon."""
        self.loop.call_soon_threadsafe(callback)

    def failures(self) -> list[str]:
        """What callbacks raised: errors of the harness."""
        return list(self._failures)

    def close(self) -> None:
        """End the thread; whatever runs on it is gone. Idempotent."""
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(_PATIENCE)

    def _run(self) -> None:
        try:
            self._enter()
            loop = asyncio.new_event_loop()
        except BaseException as error:  # raised again in the thread that waits
            self._ready.set_exception(error)
            return
        loop.set_exception_handler(self._failed)
        self._ready.set_result(loop)
        try:
            loop.run_forever()
        finally:
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        what = context.get("message", "an error")
        self._failures.append(f"{what}: {error!r}" if error is not None else str(what))
        logging.getLogger(__name__).error("on the clients' thread: %s", what, exc_info=error)
        del loop
