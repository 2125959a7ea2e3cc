"""One node process from start to exit: its node, its side doors (admin, control), signals, and the status it ends with.

Order of a start: lock the data directory, take the listeners' addresses, open the side doors, start the core, accept
clients, write the ready file. Order of a stop: let the core leave the cluster and flush, close.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import gc
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from highwater_runtime.host.config.file import NodeSettings
from highwater_runtime.host.files.trace import FileSink
from highwater_runtime.host.metrics import Sample, exposition
from highwater_runtime.host.net.listeners import Listener
from highwater_runtime.host.node import Ending, HostedNode, NodeEnd
from highwater_runtime.host.process.control import ControlServer
from highwater_runtime.host.process.descriptors import raise_descriptor_limit, within_descriptors
from highwater_runtime.host.process.exits import ExitStatus
from highwater_runtime.host.process.heartbeat_thread import HeartbeatThread
from highwater_runtime.host.process.quorum_contact import QuorumContact
from highwater_runtime.host.process.server_metrics import host_metrics
from highwater_runtime.host.roles import partitions_in, role_of
from highwater_runtime.host.security import NodeSecurity
from highwater_runtime.ports import Endpoint, NodeCore, Ports, RefreshesMetrics
from highwater_runtime.ports.metrics import SERIES_LEFT_OUT

if TYPE_CHECKING:
    from highwater_runtime.host.process.admin_http import AdminServer

LOCK_FILE: Final = ".lock"
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


async def run_process(settings: NodeSettings, security: NodeSecurity) -> ExitStatus:
    """Run the node until it ends; returns the exit status.

    Raises:
        OSError: the node cannot even begin (address in use, data directory not usable or in use).
    """
    process = _NodeProcess(settings, security)
    try:
        await process.start()
        return await process.until_it_ends()
    finally:
        process.close()


class _NodeProcess:
    def __init__(self, settings: NodeSettings, security: NodeSecurity) -> None:
        self._settings = settings
        self._security = security
        self._role = role_of(settings)
        self._lock = _lock_directory(settings.log_dir)
        sink = None if settings.trace_path is None else FileSink(settings.trace_path)
        limits = within_descriptors(settings.limits, raise_descriptor_limit())
        self._max_connections = limits.max_connections
        listeners = [Listener(one.name, one.endpoint, security.of(one.name)) for one in settings.listeners]
        self._node = HostedNode(
            settings.name,
            self._make_core,
            data_dir=settings.log_dir,
            listeners=listeners,
            trace=sink,
            seed=settings.seed,
            incarnation=settings.incarnation,
            limits=limits,
            security=security.outbound,
            partitions=lambda core: partitions_in(self._role.metadata_of(core)),
        )
        self._heartbeats = HeartbeatThread(self._node, security.outbound)
        security.read_credentials_from(lambda: self._role.metadata_of(self._node.core))
        security.handshake_failed = self._handshake_failed
        is_controller = settings.role == "controller"
        self._contact = QuorumContact(self._node, settings.node_id, settings.voters, is_controller=is_controller)
        self._admin: AdminServer | None = None
        self._control = ControlServer(self._node, self._samples, lambda: self._role.session_of(self._node.core))
        self._stopping: asyncio.Task[None] | None = None
        self._series_left_out = False

    def _make_core(self, ports: Ports) -> NodeCore:
        return self._role.make_core(self._settings, ports, self._node, self._security.bootstrap_records)

    def _handshake_failed(self, listener: str, why: str) -> None:
        self._node.server.refused += 1
        self._node.log.warning("TLS handshake failed", listener=listener, why=why)

    # --- life ---

    async def start(self) -> None:
        settings, node = self._settings, self._node
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._asked_to_stop, number)
        loop.set_exception_handler(self._loop_reports)
        node.bind()
        admin = None if settings.admin is None else await self._open_admin(settings.admin)
        if settings.control_path is not None:
            await self._control.start(settings.control_path)
        await node.start()
        if not node.is_alive:
            return
        self._contact.start()
        node.log.info(
            "started",
            role=settings.role,
            incarnation=settings.incarnation,
            pid=os.getpid(),
            listeners=",".join(f"{name}://{endpoint}" for name, endpoint in node.bound.items()),
            admin=admin,
            max_connections=self._max_connections,
        )
        # What a node has loaded by now stays: the collector need not look at it again and again.
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        if settings.ready_path is not None:
            _write_ready(settings.ready_path, node.bound, admin)

    async def until_it_ends(self) -> ExitStatus:
        end: NodeEnd = await asyncio.shield(self._node.ended)
        if end.ending is Ending.STOPPED:
            # Closing transports send what they still hold; give them a turn of the loop to do so.
            await asyncio.sleep(0)
            self._node.log.info("stopped")
            return ExitStatus.STOPPED
        return ExitStatus.CRASHED

    def close(self) -> None:
        self._heartbeats.close()
        self._control.close()
        if self._admin is not None:
            self._admin.close()
        self._node.kill()
        os.close(self._lock)

    def _asked_to_stop(self, number: int) -> None:
        name = signal.Signals(number).name
        if self._stopping is not None:
            self._node.log.warning("stopping at once", signal=name)
            self._node.kill()
            return
        self._node.log.info("stopping", signal=name)
        self._stopping = asyncio.get_running_loop().create_task(self._stop())

    async def _stop(self) -> None:
        try:
            async with asyncio.timeout(self._settings.shutdown_timeout_s):
                await self._node.stop()
        except TimeoutError:
            self._node.log.error("could not stop in time", timeout_s=self._settings.shutdown_timeout_s)
            self._node.kill()

    def _loop_reports(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            # The side doors' accept: asyncio reports each of many attempts with a traceback.
            self._node.server.log.warning("cannot accept connections", why=error.strerror)
        else:
            loop.default_exception_handler(context)

    # --- side doors ---

    async def _open_admin(self, endpoint: Endpoint) -> Endpoint:
        # Costs a tenth of a start, and most nodes of tests and of `highwater run` have no admin endpoint.
        from highwater_runtime.host.process.admin_http import AdminPages, AdminServer  # noqa: PLC0415
        from highwater_runtime.host.process.process_metrics import process_metrics  # noqa: PLC0415

        pages = AdminPages(
            lambda: self._metrics() + process_metrics(),
            self._why_unhealthy,
            self._why_unready,
            self._contact.out_of_reach,
        )
        self._admin = AdminServer(pages)
        return await self._admin.start(endpoint)

    def _refresh_metrics(self) -> None:
        core: object = self._node.core
        if isinstance(core, RefreshesMetrics):
            core.refresh_metrics()

    def _metrics(self) -> bytes:
        self._refresh_metrics()
        self._tell_of_series_left_out()
        return exposition(self._node.metrics, host_metrics(self._node.server, self._node.network))

    def _samples(self) -> list[Sample]:
        self._refresh_metrics()
        host = host_metrics(self._node.server, self._node.network)
        return [*self._node.metrics.samples(), *host.samples()]

    def _tell_of_series_left_out(self) -> None:
        """Log it when somebody scrapes who may look for series that are not there; once, until they are back."""
        left_out = int(self._node.metrics.value(SERIES_LEFT_OUT))
        if left_out and not self._series_left_out:
            limit = self._settings.config.metrics_partition_limit
            self._node.log.warning("series of single partitions left out", replicas=left_out, limit=limit)
        self._series_left_out = bool(left_out)

    def _why_unhealthy(self) -> str | None:
        return None if self._node.is_alive else "the node has ended"

    def _why_unready(self) -> str | None:
        if not self._node.is_alive or self._stopping is not None:
            return "the node is stopping"
        return self._role.why_unready(self._node.core)


def _lock_directory(directory: Path) -> int:
    """Keep other processes out of a data directory, which is made where it is missing."""
    directory.mkdir(parents=True, exist_ok=True)
    fd = os.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise OSError(errno.EBUSY, "another process uses this data directory", str(directory)) from None
    return fd


def _write_ready(path: Path, bound: Mapping[str, Endpoint], admin: Endpoint | None) -> None:
    """Write where this process listens, for programs that wait for the file. The file is complete once it exists."""
    ready: dict[str, object] = {"pid": os.getpid(), "listeners": {name: at.port for name, at in bound.items()}}
    if admin is not None:
        ready["admin"] = admin.port
    whole = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    whole.write_bytes(msgspec.json.encode(ready) + b"\n")
    whole.replace(path)
