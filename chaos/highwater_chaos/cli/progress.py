"""What commands say on stderr while they work: a picture of the run on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self

from rich.console import Console
from rich.text import Text

from highwater_chaos.cli.screen import SHOWN_PHASES, Screen
from highwater_chaos.run.live import LiveRun
from highwater_runtime.ports import SECOND

_LINE_SECONDS: Final = 30.0
"""How often a run without a terminal says how far it is."""
_ENDING: Final = "ending early: once more drops what was recorded"


class Progress:
    """The progress of one piece of work; call it with what is done now.

    On a terminal a run is shown by a :class:`~highwater_chaos.cli.screen.Screen` while it goes on, anything else by a
    spinner.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._console = Console(stderr=True)
        self._is_terminal = sys.stderr.isatty() and not self._console.is_dumb_terminal
        self._status = self._console.status(Text(title)) if self._is_terminal else None
        self._screen: Screen | None = None
        self._is_drawn = True
        self._began = time.monotonic()
        self._next_line = self._began + _LINE_SECONDS

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close_screen()
        if self._status is not None:
            self._status.stop()

    def __call__(self, phase: str) -> None:
        """Say what is done now."""
        if phase == "ending":
            phase = _ENDING
            self._title = f"{self._title}, {_ENDING}"
            self._close_screen()  # the next one has the new title
        if self._status is None:
            print(f"{self._title}: {phase} ({time.monotonic() - self._began:.1f} s)", file=sys.stderr)
        elif self._screen is None or phase not in SHOWN_PHASES:
            if self._screen is not None:
                self._close_screen()
                self._status.start()
            self._status.update(Text(f"{self._title}: {phase}"))

    @property
    def on_turn(self) -> Callable[[LiveRun], None]:
        """What the engine shall call with the run while it goes on."""
        return self._line if self._status is None else self._turn

    @property
    def on_status(self) -> Callable[[Mapping[str, Any], Mapping[str, Any]], None] | None:
        """The same for an experiment on Kubernetes: it is called with its status and that of its LogCluster."""
        return None if self._status is None else self._show_status

    def _line(self, run: LiveRun) -> None:
        """Say now and then how far the run is, or a job of CI looks as if it hung."""
        if time.monotonic() < self._next_line:
            return
        self._next_line = time.monotonic() + _LINE_SECONDS
        lasting = [one for one in run.faults if one.injected_ns is not None and one.healed_ns is None]
        in_force = ", ".join(one.name or one.kind for one in lasting) or "none"
        self(
            f"{run.phase}, {run.now_ns() / SECOND:.0f} s of run time, {run.clients().acknowledged} records"
            f" acknowledged, faults in force: {in_force}"
        )

    def _turn(self, run: LiveRun) -> None:
        self._draw(lambda screen: screen.turn(run))

    def _show_status(self, status: Mapping[str, Any], cluster: Mapping[str, Any]) -> None:
        self._draw(lambda screen: screen.status(status, cluster))

    def _draw(self, draw: Callable[[Screen], None]) -> None:
        """Draw, until that fails once: a picture is not worth a run."""
        if not self._is_drawn:
            return
        try:
            draw(self._opened())
        except Exception as error:  # whatever it is, the run goes on as if nobody watched
            self._is_drawn = False
            with contextlib.suppress(Exception):  # the terminal may be gone
                self._close_screen()
                what = f"{type(error).__name__}: {error}"
                print(f"{self._title}: no longer drawn, the run goes on: {what}", file=sys.stderr)

    def _opened(self) -> Screen:
        if self._screen is None:
            assert self._status is not None
            self._status.stop()
            self._screen = Screen(self._title, self._console)
        return self._screen

    def _close_screen(self) -> None:
        if self._screen is not None:
            self._screen.close()
            self._screen = None
