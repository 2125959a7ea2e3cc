"""The operator in a thread of the test's process, ended as its pod would be."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

PATIENCE = 120.0
_DISCOVERY = 2.0
Serve = Callable[[asyncio.Event, Callable[[], None]], Coroutine[Any, Any, None]]


class OperatorThread:
    """Begins to serve at once; returns when that is ready or over.

    Args:
        api: the API server, whose watches tell how far the operator is.
        serve: given the event that ends it, and whom to tell that it is ready.
    """

    def __init__(self, api: Any, serve: Serve) -> None:
        self.error: BaseException | None = None
        self._api = api
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        ready = threading.Event()

        async def run() -> None:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            await serve(self._stop, ready.set)

        def life() -> None:
            try:
                asyncio.run(run())
            except BaseException as error:
                self.error = error
            finally:
                ready.set()

        self._thread = threading.Thread(target=life, name="operator")
        self._thread.start()
        assert ready.wait(PATIENCE)

    def stop(self) -> None:
        """What it does is cut off, whatever that is. Only the reading of what APIs there are is waited for: kopf gives
        requests that lost their connection in it five seconds."""
        until = time.monotonic() + _DISCOVERY
        while self._thread.is_alive() and not self._api.watches("logclusters") and time.monotonic() < until:
            time.sleep(0.01)
        if self._thread.is_alive() and self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the operator does not end"
