"""Work that waits for a pod, off the threads that look after everything else: one thread for each pod at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Background:
    """One task a key at a time; another for a key that is busy is left out, because it will be wanted again."""

    def __init__(self) -> None:
        self._busy: set[str] = set()
        self._guard = threading.Lock()

    def begin(self, key: str, task: Callable[[], object]) -> bool:
        """Run a task in a thread of its own; False: the one before it has not ended. ``task`` raises nothing."""
        with self._guard:
            if key in self._busy:
                return False
            self._busy.add(key)

        def run() -> None:
            try:
                task()
            finally:
                with self._guard:
                    self._busy.discard(key)

        threading.Thread(target=run, name=f"pod {key}", daemon=True).start()
        return True
