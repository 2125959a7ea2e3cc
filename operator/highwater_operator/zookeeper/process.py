"""One ZooKeeper server from start to exit: its Java process, its side door, signals, and the status it ends with."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from highwater_operator.zookeeper import java
from highwater_operator.zookeeper.four_letter_words import Monitored, NotServingError, monitored
from highwater_operator.zookeeper.identity import zookeeper_id
from highwater_operator.zookeeper.metrics import exposition
from highwater_runtime.host.files.trace import FileSink, HostTrace
from highwater_runtime.host.logs import NodeLog
from highwater_runtime.host.process.admin_http import AdminPages, AdminServer
from highwater_runtime.host.process.exits import ExitStatus
from highwater_runtime.ports import Endpoint
from highwater_runtime.ports.trace import NodeStarted

MYID: Final = "myid"
_LOOK_EVERY_S: Final = 0.5
_ANSWERS_WITHIN_S: Final = 2.0
_FRESH_S: Final = 5.0
"""For how long an answer counts."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, slots=True)
class Facts:
    """``name``: of the node, ``zookeeper-0``; ``config``: the file that the server reads."""

    name: str
    index: int
    config: Path
    data_dir: Path
    client_port: int
    trace: Path | None
    admin: Endpoint | None


def write_identity(data_dir: Path, index: int) -> None:
    """Write ``myid`` where it is missing: on a new disk, or one that was wiped.

    Raises:
        OSError: the directory is another server's, or cannot be written to.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    path, wanted = data_dir / MYID, str(zookeeper_id(index))
    if path.exists() and (found := path.read_text().strip()):
        if found != wanted:
            raise OSError(f"{path}: expected {wanted}, found {found[:20]!r}: the data of another server")
        return
    whole = path.with_name(f".{MYID}.{os.getpid()}")
    with whole.open("w") as file:
        file.write(f"{wanted}\n")
        file.flush()
        os.fsync(file.fileno())
    whole.replace(path)
    directory = os.open(data_dir, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


async def run_server(facts: Facts, log: NodeLog) -> ExitStatus:
    """Run the server until it ends, by a signal or by itself.

    Raises:
        OSError: it cannot be started.
    """
    write_identity(facts.data_dir, facts.index)
    server = _Server(facts, log)
    try:
        return await server.run()
    finally:
        server.close()


@dataclass(slots=True)
class _Server:
    facts: Facts
    log: NodeLog
    _process: asyncio.subprocess.Process | None = None
    _stopping: bool = False
    _heard: Monitored | None = None
    _heard_at: float = 0.0
    _why: str = "the server has not answered yet"
    _admin: AdminServer = field(init=False)

    def __post_init__(self) -> None:
        self._admin = AdminServer(AdminPages(self._metrics, self._why_unhealthy, self.why_unready))

    async def run(self) -> ExitStatus:
        facts, loop = self.facts, asyncio.get_running_loop()
        admin = None if facts.admin is None else await self._admin.start(facts.admin)
        self._tell_of_start()
        self._process = process = await asyncio.create_subprocess_exec(*java.command(facts.config))
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._asked_to_stop, number)
        self.log.info("started", role="zookeeper", pid=process.pid, admin=admin)
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
        server = Endpoint("127.0.0.1", self.facts.client_port)
        while True:
            try:
                heard = await monitored(server, _ANSWERS_WITHIN_S)
            except NotServingError as error:
                self._heard, self._why = None, str(error)
            else:
                self._heard, self._heard_at = heard, time.monotonic()
            await asyncio.sleep(_LOOK_EVERY_S)

    def _answer(self) -> Monitored | None:
        # Without this, a process that was paused would say what it knew before.
        return self._heard if time.monotonic() - self._heard_at < _FRESH_S else None

    def _metrics(self) -> bytes:
        return exposition(self._answer())

    def _why_unhealthy(self) -> str | None:
        ended = self._process is None or self._process.returncode is not None
        return "the server does not run" if ended else None

    def why_unready(self) -> str | None:
        if self._stopping:
            return "the server is stopping"
        return None if self._answer() is not None else f"the server is not part of a quorum: {self._why}"
