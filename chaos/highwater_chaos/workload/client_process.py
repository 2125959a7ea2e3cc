"""A group of clients that is a process of its own, as the harness sees it.

A process that ends before it was asked to leaves operations without a known outcome: they stay open in the
history. What it wrote and read until then stays valid; but a run whose clients died is not judged as if nothing had
happened.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from highwater_chaos.workload.client_group import ROLES, ClientStatus, Role
from highwater_chaos.workload.client_host import ClientProcess
from highwater_chaos.workload.drivers.lines import END, decode_status, finish_line

_SHOWN = 200
_NAMED = 3
"""Clients of a process that are named in a message."""


class ClientProcessGroup:
    """One process. Its ``on_`` methods are called where clients run (``post`` gets others there).

    Args:
        name: of the process.
        clients: names of those who live in it.
        history: the file that it writes.
        post: runs a callback where clients run.
    """

    def __init__(
        self, name: str, clients: list[str], history: Path, post: Callable[[Callable[[], None]], None]
    ) -> None:
        more = f" and {len(clients) - _NAMED} more" if len(clients) > _NAMED else ""
        self.name = f"{name} ({', '.join(clients[:_NAMED])}{more})"
        self.history = history
        self.acknowledged_ns: dict[str, int] = {}
        """Partition that was written to → run time of its latest acknowledgement; −1: none."""
        self._post = post
        self._process: ClientProcess | None = None
        self._status = ClientStatus()
        self._inconclusive_reason: str | None = None
        self._ending = False
        self._ended = False

    @property
    def has_ended(self) -> bool:
        return self._ended

    def status(self) -> ClientStatus:
        """See :class:`~highwater_chaos.workload.client_group.Group`. Clients of a process that is gone are idle."""
        status, reason = self._status, self._inconclusive_reason
        if self._ended:
            status = msgspec.structs.replace(status, idle=ROLES)
        return (
            status
            if reason is None
            else msgspec.structs.replace(status, inconclusive_reasons=(*status.inconclusive_reasons, reason))
        )

    def finish(self, *roles: Role) -> None:
        self._post(lambda: self._write(finish_line(roles)))

    def end(self) -> None:

        def end() -> None:
            self._ending = True
            self._write(END)

        self._post(end)

    def kill(self) -> None:
        """SIGKILL; what it had not written is lost, so call it when that does not matter. Idempotent."""
        if self._process is not None:
            self._process.kill()

    def _write(self, line: bytes) -> None:
        if self._process is not None:
            self._process.write(line)

    # --- where clients run ---

    def on_started(self, process: ClientProcess) -> None:
        self._process = process

    def on_line(self, line: bytes) -> None:
        """Take one line of its stdout."""
        try:
            self._status = status = decode_status(line)
            self.acknowledged_ns.update(status.news)
        except msgspec.DecodeError as error:
            self._inconclusive_reason = (
                f"{self.name}: the process wrote {line[:_SHOWN]!r}, which makes no sense ({error})"
            )
            self.kill()

    def on_exit(self, status: int, stderr: str) -> None:
        """Take note that the process has ended. ``stderr``: the end of what it wrote there."""
        if status != 0 or not self._ending:
            last = f"; its last line on stderr: {stderr.splitlines()[-1]}" if stderr else ""
            early = "" if self._ending else ", before it was asked to"
            self._inconclusive_reason = (
                self._inconclusive_reason or f"{self.name}: its process ended with status {status}{early}{last}"
            )
        self._ended = True
