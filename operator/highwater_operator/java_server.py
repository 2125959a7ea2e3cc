"""A server of other software in a pod: its Java process, its side door, signals, and the status it ends with.

It knows no hold files, waits for no volume, and reports no node events. The process of the pod does that, starts the
server, writes the node event of its start, and answers ``/healthz``, ``/readyz`` and ``/metrics`` for it: so agents,
probes and runners find in this pod what they find in every other one.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Generic, TypeVar

from highwater_runtime.host.files.trace import FileSink, HostTrace
from highwater_runtime.host.logs import NodeLog
from highwater_runtime.host.process.admin_http import AdminPages, AdminServer
from highwater_runtime.host.process.exits import ExitStatus
from highwater_runtime.ports import Endpoint
from highwater_runtime.ports.trace import NodeStarted

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

T = TypeVar("T")


class NotServingError(Exception):
    """The server does not answer, or does not do its work in the cluster; the message says which."""


@dataclass(frozen=True, slots=True)
class Facts:
    """``name``: of the node, ``zookeeper-0``; ``role``: what it is, for the log; ``command``: its process."""

    name: str
    role: str
    command: Sequence[str]
    trace: Path | None
    admin: Endpoint | None


@dataclass(frozen=True, slots=True)
class Watch(Generic[T]):
    """How a server is asked. ``look`` raises :class:`NotServingError`; ``exposition`` gets its last answer, None if
    that is older than ``fresh_s`` seconds or there is none; ``unready``: why an answer is not that of one that does its
    work."""

    look: Callable[[], Awaitable[T]]
    every_s: float
    fresh_s: float
    exposition: Callable[[T | None], bytes]
    unready: Callable[[T], str | None] = lambda _: None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What every such process takes."""
    parser.add_argument("--wait-for", metavar="DIRECTORY", type=Path, help="start when this directory exists")
    parser.add_argument(
        "--hold-files", metavar="PREFIX", type=Path, help="start when no file has a path with this prefix"
    )
    parser.add_argument("--trace", metavar="FILE", type=Path, help="where the node event of the start is written")
    parser.add_argument("--admin", metavar="URL", help="where to serve /metrics, /healthz and /readyz")
    parser.add_argument("--log-format", choices=("text", "json"), default="text", help="default: %(default)s")


async def run_server(facts: Facts, watch: Watch[T], log: NodeLog) -> ExitStatus:
    """Run the server until it ends, by a signal or by itself.

    Raises:
        OSError: it cannot be started.
    """
    server = _Server(facts, watch, log)
    try:
        return await server.run()
    finally:
        server.close()


@dataclass(slots=True)
class _Server(Generic[T]):
    facts: Facts
    watch: Watch[T]
    log: NodeLog
    _process: asyncio.subprocess.Process | None = None
    _stopping: bool = False
    _heard: T | None = None
    _heard_at: float = 0.0
    _why: str = "the server has not answered yet"
    _admin: AdminServer = field(init=False)

    def __post_init__(self) -> None:
        self._admin = AdminServer(AdminPages(self._metrics, self._why_unhealthy, self.why_unready))

    async def run(self) -> ExitStatus:
        facts, loop = self.facts, asyncio.get_running_loop()
        admin = None if facts.admin is None else await self._admin.start(facts.admin)
        self._tell_of_start()
        self._process = process = await asyncio.create_subprocess_exec(*facts.command)
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._asked_to_stop, number)
        self.log.info("started", role=facts.role, pid=process.pid, admin=admin)
        looking = loop.create_task(self._look())
        try:
            status = await process.wait()
        finally:
            looking.cancel()
        if self._stopping:
            self.log.info("stopped")
            return ExitStatus.STOPPED
        self.log.error("the server ended by itself", status=status)
        return ExitStatus.CRASHED

    def close(self) -> None:
        self._admin.close()
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    def _tell_of_start(self) -> None:
        if self.facts.trace is None:
            return
        sink = FileSink(self.facts.trace)
        trace = HostTrace(sink, self.facts.name, time.time_ns() // 1_000_000, time.time_ns)
        trace.emit(NodeStarted())
        trace.flush()
        sink.close()

    def _asked_to_stop(self, number: int) -> None:
        assert self._process is not None
        self.log.info("stopping", signal=signal.Signals(number).name)
        if self._process.returncode is None:
            if self._stopping:
                self._process.kill()
            else:
                self._process.terminate()
        self._stopping = True

    # --- side door ---

    async def _look(self) -> None:
        while True:
            try:
                heard = await self.watch.look()
            except NotServingError as error:
                self._heard, self._why = None, str(error)
            else:
                self._heard, self._heard_at = heard, time.monotonic()
            await asyncio.sleep(self.watch.every_s)

    def _answer(self) -> T | None:
        # Without this, a process that was paused would say what it knew before.
        return self._heard if time.monotonic() - self._heard_at < self.watch.fresh_s else None

    def _metrics(self) -> bytes:
        return self.watch.exposition(self._answer())

    def _why_unhealthy(self) -> str | None:
        ended = self._process is None or self._process.returncode is not None
        return "the server does not run" if ended else None

    def why_unready(self) -> str | None:
        if self._stopping:
            return "the server is stopping"
        answer = self._answer()
        return self._why if answer is None else self.watch.unready(answer)
