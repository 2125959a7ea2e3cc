"""Clients that end when what they have begun is over."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from highwater_runtime.ports import ClientCore


class FinishingClient(ClientCore):
    """A client core that begins nothing new from :meth:`finish` on. Whoever ends an operation calls ``_ended_one``."""

    def __init__(self) -> None:
        self._finishing = False
        self._on_stopped: Callable[[], None] | None = None

    def stop(self, on_stopped: Callable[[], None]) -> None:
        """Finish; ``on_stopped`` is called once this client is idle."""
        self._on_stopped = on_stopped
        self.finish()

    def finish(self) -> None:
        """Begin nothing new; what is open goes on until it has an outcome."""
        self._finishing = True
        self._ended_one()

    @property
    def idle(self) -> bool:
        """Whether everything has its outcome and nothing else will begin."""
        return self._finishing and not self._is_busy

    @property
    @abstractmethod
    def _is_busy(self) -> bool:
        """Whether something is open."""

    def _stopped(self) -> None:
        """Let go of what a client that has stopped does not need."""

    def _ended_one(self) -> None:
        if self.idle and self._on_stopped is not None:
            on_stopped, self._on_stopped = self._on_stopped, None
            self._stopped()
            on_stopped()
