"""A client that is a program of its own, for backends whose clients live on an asyncio loop.

The program is started in the loop's thread, so that it inherits whatever that thread entered: on ``local`` the network
namespace in which brokers can be reached. Its stdin is a pipe that no other process holds: when the harness is gone,
however it went, the program reads the end of it and ends. Our programs also have the kernel kill them when the thread
that started them has ended (``workload.drivers.program``).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Final

_STDERR_TAIL: Final = 2000
"""Bytes at the end of stderr that are handed on when the program has ended."""
_READ: Final = 1 << 16


class LoopClientProcess:
    """See :class:`highwater_chaos.workload.client_host.ClientProcess`; make it in the thread of ``loop``.

    Its stderr goes to the file ``log``, or nowhere but for its end, which ``on_exit`` hears.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        argv: Sequence[str],
        on_line: Callable[[bytes], None],
        on_exit: Callable[[int, str], None],
        *,
        log: Path | None = None,
    ) -> None:
        self._loop = loop
        self._on_line = on_line
        self._on_exit = on_exit
        self._partial = b""
        # It lives as long as the program.
        self._stderr: IO[bytes] = tempfile.TemporaryFile() if log is None else log.open("w+b")  # noqa: SIM115
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr, start_new_session=True
        )
        assert self._process.stdout is not None
        self._stdout = self._process.stdout.fileno()
        os.set_blocking(self._stdout, False)
        loop.add_reader(self._stdout, self._read)

    @property
    def pid(self) -> int:
        return self._process.pid

    def write(self, line: bytes) -> None:
        """A short line: it fits into the pipe, so the write does not block."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def kill(self) -> None:
        """Send SIGKILL. Idempotent. The exit is reported like any other."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGKILL)

    def wait_gone(self, seconds: float) -> bool:
        """Wait until it has ended, and reap it; from any thread. Returns False if it is not gone by then."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _read(self) -> None:
        try:
            data = os.read(self._stdout, _READ)
        except BlockingIOError:
            return
        if not data:
            self._loop.remove_reader(self._stdout)
            # It closed its stdout, so it is about to end; waiting for that is no business of the loop's thread.
            self._loop.run_in_executor(None, self._process.wait).add_done_callback(self._ended)
            return
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            self._on_line(line)

    def _ended(self, waited: asyncio.Future[int]) -> None:
        self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, self._stderr.tell() - _STDERR_TAIL))
        stderr = self._stderr.read().decode("utf-8", "replace").strip()
        for stream in (self._stderr, self._process.stdin, self._process.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        self._on_exit(waited.result(), stderr)
