"""Which process is meant: its pid and when it started, so that a pid given to another process is never hit."""

from __future__ import annotations

import os
import select
import signal
from dataclasses import dataclass
from typing import Literal, Self

from highwater_chaos.machine.kernel.proc import Stat, stat_of, threads_of

ProcessState = Literal["running", "stopped", "gone"]


@dataclass(frozen=True, slots=True)
class Identity:
    """One process of this boot. ``started`` is its start time in clock ticks since boot (``/proc/PID/stat``)."""

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """The process that has this pid now; None: there is none (a zombie is none)."""
        stat = stat_of(pid)
        return None if stat is None or stat.is_over else cls(pid, stat.started)

    @classmethod
    def of_child(cls, pid: int) -> Self:
        """A child of this process that was not waited for: it keeps its pid though it may have exited already."""
        stat = stat_of(pid)
        assert stat is not None, f"{pid} is no child of this process"
        return cls(pid, stat.started)

    @classmethod
    def own(cls) -> Self:
        """Return the identity of this process."""
        me = cls.of(os.getpid())
        assert me is not None
        return me

    def state(self) -> ProcessState:
        """Probe: whether it runs, is stopped (SIGSTOP, all of its threads), or is gone (a zombie is)."""
        stat = stat_of(self.pid)
        if stat is None or stat.started != self.started or stat.is_over:
            return "gone"
        return "stopped" if _all_stopped(self.pid, stat) else "running"

    def pidfd(self) -> int | None:
        """A file descriptor that is this process and becomes readable when it exits; None: it is gone. The caller
        closes it."""
        try:
            fd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return None
        # Opened first, looked at then: as long as the process looked at is ours, the descriptor is too.
        if self.state() == "gone":
            os.close(fd)
            return None
        return fd

    def send(self, number: signal.Signals) -> bool:
        """Send a signal to exactly this process; False: it is gone."""
        fd = self.pidfd()
        if fd is None:
            return False
        try:
            signal.pidfd_send_signal(fd, number)
        except ProcessLookupError:
            return False
        finally:
            os.close(fd)
        return True

    def wait_gone(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds for its exit; whether it is gone."""
        fd = self.pidfd()
        if fd is None:
            return True
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        try:
            return bool(poll.poll(timeout * 1000)) or self.state() == "gone"
        finally:
            os.close(fd)


def _all_stopped(pid: int, first: Stat) -> bool:
    # A stop is the whole process's, but each thread obeys when it leaves the kernel. One that has ended is left out.
    if first.threads == 1 or first.state not in "TZX":
        return first.state == "T"
    states = {stat.state for thread in threads_of(pid) if (stat := stat_of(pid, thread)) is not None}
    return states - {"Z", "X"} == {"T"}
