"""Cores that do what a test says, clients on raw sockets, node processes: all over real loops and real sockets."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from raw_node import Scene
from waiting import until as wait_until

from highwater_chaos.backends.local.layout import free_ports
from highwater_chaos.base.lines import whole_lines
from highwater_runtime.host import HostedNode, Listener, ServerLimits
from highwater_runtime.host.proxy.server import ProxyNode
from highwater_runtime.host.unix_path import short_path
from highwater_runtime.ports import SECOND, Endpoint, Ports
from highwater_runtime.wire.framing import decode_response, encode_request
from highwater_runtime.wire.messages.metadata_request import MetadataRequest
from highwater_runtime.wire.messages.metadata_response import MetadataResponse

PATIENCE = 120.0
"""Seconds after which a test gives up; never a figure that something is measured by."""
LOOPBACK = Endpoint("127.0.0.1", 0)


class TestCore:
    """A core that keeps what it gets; ``on_request`` may be replaced."""

    __test__ = False

    def __init__(self, ports: Ports) -> None:
        self.ports = ports
        self.requests: list[Any] = []
        self.answering: Callable[[Any], object] | None = None
        self.stopping: Callable[[], object] | None = None

    def start(self) -> None:
        """Nothing to do."""

    def on_request(self, request: Any) -> None:
        self.requests.append(request)
        if self.answering is not None:
            self.answering(request)

    def stop(self, on_stopped: Callable[[], None]) -> None:
        if self.stopping is not None:
            self.stopping()
        on_stopped()


class Wire:
    """A client on a raw connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, request: Any, version: int, correlation_id: int = 1, client_id: str | None = "test") -> None:
        self.writer.writelines(encode_request(request, version, correlation_id, client_id))

    async def frame(self) -> bytes:
        size = int.from_bytes(await self.reader.readexactly(4), "big")
        return await self.reader.readexactly(size)

    async def receive(self, request_class: Any, version: int) -> tuple[int, Any]:
        return decode_response(await self.frame(), request_class.API_KEY, version)

    async def is_closed(self) -> bool:
        """Waits for the server to close; whether nothing came before."""
        try:
            return await self.reader.read(1) == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self.writer.close()


class Hosts:
    """Makes nodes and clients, and ends them all."""

    def __init__(self) -> None:
        self.nodes: list[HostedNode] = []
        self.clients: list[Wire] = []
        self.proxies: list[tuple[ProxyNode, asyncio.Task[None]]] = []

    async def proxy(self, target: Endpoint, name: str = "server", **options: Any) -> ProxyNode:
        """A proxy in front of ``target``, which listens if that does."""
        proxy = ProxyNode(name, LOOPBACK, target, **options)
        proxy.server.bind()
        self.proxies.append((proxy, proxy.loop.create_task(proxy.server.follow())))
        return proxy

    async def node(self, name: str = "server", factory: Any = TestCore, **options: Any) -> HostedNode:
        if "listeners" not in options:
            options["listeners"] = [Listener("PLAINTEXT", LOOPBACK)]
        node = HostedNode(name, factory, **options)
        self.nodes.append(node)
        await node.start()
        return node

    async def server(self, **limits: Any) -> tuple[HostedNode, Any]:
        """A node that serves, and its core."""
        node = await self.node(limits=ServerLimits(**limits))
        return node, node.core

    async def client(self, node: HostedNode, **options: Any) -> Wire:
        host, port = node.bound["PLAINTEXT"]
        wire = Wire(*await asyncio.open_connection(host, port, **options))
        self.clients.append(wire)
        return wire

    def close(self) -> None:
        for client in self.clients:
            client.close()
        for proxy, following in self.proxies:
            following.cancel()
            proxy.server.close(after_output=False)
            assert not proxy.failed.done(), proxy.failed
        for node in self.nodes:
            node.kill()


async def until(condition: Callable[[], object], what: str = "condition") -> None:
    """Wait until ``condition`` holds."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.002)


async def ask(
    node: HostedNode, to: Endpoint, request: Any = None, version: int = 12, *, timeout_ns: int = 10 * SECOND, channel=""
) -> Any:
    """Send by the node's network port; returns the response or failure."""
    answer = node.loop.create_future()
    request = MetadataRequest() if request is None else request
    node.run(lambda: node.network.send(to, request, version, answer.set_result, timeout_ns=timeout_ns, channel=channel))
    return await asyncio.wait_for(answer, PATIENCE)


def metadata(name: str) -> MetadataResponse:
    """A response that can be told from others."""
    return MetadataResponse(cluster_id=name, brokers=[], topics=[])


@pytest.fixture(params=["asyncio", "uvloop"])
def play(request: pytest.FixtureRequest) -> Callable[[Callable[[Hosts], Awaitable[Any]]], Any]:
    """Runs ``story(hosts)`` on a loop of its own, of either kind."""
    factory = pytest.importorskip("uvloop").new_event_loop if request.param == "uvloop" else None

    def run(story: Callable[[Hosts], Awaitable[Any]]) -> Any:
        async def whole() -> Any:
            hosts = Hosts()
            try:
                return await asyncio.wait_for(story(hosts), 3 * PATIENCE)
            finally:
                hosts.close()
                await asyncio.sleep(0)

        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(whole())

    return run


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Callable[[str], list[dict[str, Any]]]:
    """The fields of the log lines with a given event."""
    caplog.set_level("DEBUG", logger="highwater.node")

    def lines(event: str) -> list[dict[str, Any]]:
        return [record.fields for record in caplog.records if record.getMessage() == event]

    return lines


@pytest.fixture
def tools() -> Any:
    """The helpers above, for tests (which import nothing from here)."""

    class Tools:
        until = staticmethod(until)
        ask = staticmethod(ask)
        metadata = staticmethod(metadata)
        core = TestCore
        wire = Wire
        loopback = LOOPBACK
        patience = PATIENCE

    return Tools


# --- processes -----------------------------------------------------------------------------------------------------


class NodeProcess:
    """A ``highwater-node`` of this test."""

    def __init__(self, directory: Path, name: str, properties: dict[str, object]) -> None:
        self.directory = directory
        self.name = name
        self.config = directory / f"{name}.properties"
        self.ready_path = directory / f"{name}.ready"
        self.log_path = directory / f"{name}.log"
        self.trace_path = directory / f"{name}.jsonl"
        self.control_path = directory / f"{name}.sock"
        self.properties: dict[str, object] = {
            "cluster.id": "highwater-host-tests-1",
            "log.dirs": directory / name,
            "highwater.node.name": name,
            "highwater.ready.path": self.ready_path,
            "highwater.admin.listener": "http://127.0.0.1:0",
            "highwater.trace.path": self.trace_path,
            "highwater.control.path": self.control_path,
            **properties,
        }
        self.process: subprocess.Popen[bytes] | None = None

    def write_config(self) -> Path:
        lines = [f"{name}={value}" for name, value in self.properties.items()]
        self.config.write_text("\n".join(lines) + "\n")
        return self.config

    def start(self) -> NodeProcess:
        self.write_config()
        self.ready_path.unlink(missing_ok=True)
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "highwater_runtime.host.main", str(self.config)], stderr=log
            )
        return self

    def ready(self) -> dict[str, Any]:
        """What the ready file says, as soon as it is there."""
        assert self.process is not None
        wait_until(lambda: self.ready_path.exists() or self.process.poll() is not None, f"{self.name} to be ready")
        assert self.ready_path.exists(), self.log
        found: dict[str, Any] = json.loads(self.ready_path.read_text())
        assert found["pid"] == self.process.pid, "the server reached is this test's"
        return found

    @property
    def log(self) -> str:
        return self.log_path.read_text()

    def events(self) -> list[dict[str, Any]]:
        """What the node wrote; SIGKILL may tear the last line, as it does for the readers of a run."""
        return [json.loads(line) for line in whole_lines(self.trace_path)]

    def http(self, path: str) -> tuple[int, str]:
        url = f"http://127.0.0.1:{self.ready()['admin']}{path}"
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def control(self, method: str, **params: Any) -> Any:
        with socket.socket(socket.AF_UNIX) as end:
            end.settimeout(PATIENCE)
            with short_path(self.control_path) as name:
                end.connect(name)
            end.sendall(json.dumps({"id": 7, "method": method, "params": params}).encode() + b"\n")
            answer = json.loads(end.makefile().readline())
        assert answer["id"] == 7
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer["result"]

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def wait(self) -> int:
        assert self.process is not None
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Processes:
    """Makes node processes, and ends them all."""

    wait_until = staticmethod(wait_until)
    free_ports = staticmethod(free_ports)

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.all: list[NodeProcess] = []

    def make(self, name: str, **properties: object) -> NodeProcess:
        """``name`` as ``broker-0``; property names with ``_`` for ``.``."""
        node = NodeProcess(self._directory, name, {key.replace("_", "."): value for key, value in properties.items()})
        self.all.append(node)
        return node

    def cluster(self, controllers: int, brokers: int, **properties: object) -> dict[str, NodeProcess]:
        """A cluster, started."""
        ports = free_ports(controllers)
        voters = ",".join(f"{1000 + i}@127.0.0.1:{port}" for i, port in enumerate(ports))
        common = {"controller_quorum_voters": voters, **properties}
        nodes = [
            self.make(
                f"controller-{i}",
                process_roles="controller",
                node_id=1000 + i,
                listeners=f"CONTROLLER://127.0.0.1:{port}",
                **common,
            )
            for i, port in enumerate(ports)
        ]
        nodes += [
            self.make(f"broker-{i}", process_roles="broker", node_id=i, listeners="PLAINTEXT://127.0.0.1:0", **common)
            for i in range(brokers)
        ]
        for node in nodes:
            node.start()
        return {node.name: node for node in nodes}

    def close(self) -> None:
        for node in self.all:
            node.close()


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    made = Processes(tmp_path)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def stage(play, tools):
    def run(story, kind="proxy", **options):
        async def whole(hosts):
            hosts.wire = tools.wire
            scene = Scene(hosts, tools, kind)
            try:
                await story(await scene.begin(**options))
            finally:
                scene.node.close()

        play(whole)

    return run
