"""How long until a ZooKeeper-mode controller has announced new leaders after a broker with many partitions died.

One real ZooKeeper server (its transaction log is synced), one real controller with kazoo, and brokers that answer
every command at once: their requests are encoded, and not sent. Broker 1 leads all partitions. Its session is ended;
the clock runs from there until UpdateMetadata with the last new leader is on its way to a broker. *Detailed
Replication Design V3* feared 40 s for 10,000 partitions, at 4 ms a write.

    python -m highwater_lab.benchmarks.zk_failover [PARTITIONS]
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import tempfile
import time
from collections.abc import Callable
from random import Random
from typing import Any

import psutil

from highwater_runtime.controller.zk.controller import ZkController
from highwater_runtime.controller.zk.options import ZkControllerOptions
from highwater_runtime.host.zookeeper import KazooCoordination
from highwater_runtime.metadata.znodes import (
    PERSISTENT,
    BrokerNode,
    TopicNode,
    broker_path,
    encode_node,
    topic_path,
)
from highwater_runtime.ports import Endpoint, Ports
from highwater_runtime.ports.coordination import Create, Session, SessionEvent
from highwater_runtime.wire.messages.update_metadata_request import UpdateMetadataRequest
from highwater_runtime.wire.registry import api_of

JARS = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-nop.jar"
"""Debian's ``zookeeper`` package and what it needs."""


class Recorder:
    """Clock, network, metrics and trace of one node on an event loop; brokers that answer at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.leaders: dict[str, dict[int, int]] = {}
        """By broker, the leader of each partition in the latest command to it."""
        self.bytes = 0

    def now_ns(self) -> int:
        """See Clock."""
        return time.monotonic_ns()

    def wall_ms(self) -> int:
        """See Clock."""
        return time.time_ns() // 1_000_000

    def call_later(self, delay_ns: int, callback: Callable[[], None]) -> Any:
        """See Clock."""
        return self._loop.call_later(delay_ns / 1e9, callback)

    def send(self, to: Endpoint, request: Any, version: int, on_response: Any, **_: Any) -> None:
        """Record, and answer at once."""
        self.bytes += len(request.encode(version))
        if isinstance(request, UpdateMetadataRequest):
            known = self.leaders.setdefault(to.host, {})
            known.update(
                (s.partition_index, s.leader) for topic in request.topic_states for s in topic.partition_states
            )
        self._loop.call_soon(on_response, api_of(request.API_KEY).response())

    def counter(self, *_: Any, **__: Any) -> None:
        """Ignore it."""

    gauge = forget = emit = counter


def main() -> None:
    """Print the seconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("partitions", type=int, nargs="?", default=10_000)
    partitions: int = parser.parse_args().partitions
    with tempfile.TemporaryDirectory() as directory:
        server = subprocess.Popen(
            [
                *("java", "-Xmx512m", "-Dzookeeper.admin.enableServer=false", "-Dzookeeper.jmx.log4j.disable=true"),
                *("-cp", JARS, "org.apache.zookeeper.server.ZooKeeperServerMain", "0", directory, "2000"),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            asyncio.run(_measure(_port_of(psutil.Process(server.pid)), partitions))
        finally:
            server.kill()
            server.wait()


def _call(event: Callable[[], object]) -> None:
    event()


async def _measure(port: int, partitions: int) -> None:
    loop = asyncio.get_running_loop()
    recorder: Any = Recorder(loop)
    ports = Ports(recorder, recorder, recorder, Random(1), recorder, recorder)  # no disk is touched
    coordination = KazooCoordination([Endpoint("127.0.0.1", port)], loop, _call)
    connected: dict[int, asyncio.Event] = {number: asyncio.Event() for number in (0, 1, 2)}
    sessions: dict[int, Any] = {}
    controller = ZkController(ZkControllerOptions(node_id=0), lambda: sessions.get(0), ports)

    def on_event(number: int, event: SessionEvent) -> None:
        if number == 0:
            controller.on_session_event(event)
        connected[number].set()

    def opened(number: int) -> Session:
        return coordination.open(30_000, lambda event: on_event(number, event))

    for number in (0, 1, 2):
        sessions[number] = opened(number)
        await connected[number].wait()
        for path in PERSISTENT:
            await _do(sessions[number], Create(path))
        node = encode_node(BrokerNode(endpoints={"PLAINTEXT": f"broker-{number}:9092"}))
        await _do(sessions[number], Create(broker_path(number), node, ephemeral=True))

    def led_by(leader: int) -> bool:
        return any(
            sum(found == leader for found in known.values()) == partitions
            for host, known in recorder.leaders.items()
            if host != "broker-1"
        )

    begun = time.monotonic()
    assignment: dict[int, tuple[int, ...]] = dict.fromkeys(range(partitions), (1, 2, 0))
    await _do(sessions[1], Create(topic_path("many"), encode_node(TopicNode(partitions=assignment))))
    await _until(lambda: led_by(1))
    print(f"{partitions} partitions created, written and sent to brokers: {time.monotonic() - begun:.2f} s")
    sent = recorder.bytes
    ended: list[float] = []
    sessions[1].close(lambda: ended.append(time.monotonic()))
    cpu = time.process_time()
    await _until(lambda: led_by(2))
    sent_at = time.monotonic()
    print(
        f"session ended -> last leader sent: {sent_at - ended[0]:.2f} s "
        f"({time.process_time() - cpu:.2f} s of processor time, {(recorder.bytes - sent) / 1e6:.1f} MB of commands)"
    )
    controller.close()
    for number in (0, 2):
        done = asyncio.Event()
        sessions[number].close(done.set)
        await done.wait()


async def _do(session: Any, operation: Any) -> None:
    done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    session.submit(operation, done.set_result)
    await done


async def _until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        await asyncio.sleep(0.02)


def _port_of(process: psutil.Process) -> int:
    while process.status() != psutil.STATUS_ZOMBIE:
        for connection in process.net_connections(kind="tcp"):
            if connection.status == psutil.CONN_LISTEN:
                return int(connection.laddr.port)
    raise SystemExit("the ZooKeeper server has ended")


if __name__ == "__main__":
    main()
