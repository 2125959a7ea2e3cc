"""How long until KRaft controllers have announced new leaders after a broker with many partitions died.

Beside ``zk_failover.py``: three real controllers on their own disks (each commit is synced by a majority), over TCP on
loopback, and three observers that register, send heartbeats and follow the metadata log as brokers do, but hold no
replicas. Broker 1 leads all partitions. It is gone from one moment to the next. KRaft has no connection whose end
would tell: the controller finds out when the session (``broker.session.timeout.ms``, 9 s as in Kafka) is over. From
there the clock runs until the last broker has all new leaders in its metadata.

    python -m highwater_lab.benchmarks.kraft_failover [PARTITIONS]
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from highwater_runtime.broker.controller_channel import ControllerChannel
from highwater_runtime.broker.delta import Delta
from highwater_runtime.broker.kraft.lifecycle import Identity, Lifecycle
from highwater_runtime.broker.kraft.metadata_loader import MetadataLoader
from highwater_runtime.config import NodeConfig
from highwater_runtime.controller.kraft import ControllerOptions, QuorumController
from highwater_runtime.host.net.listeners import Listener
from highwater_runtime.host.node import HostedNode
from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.log import Log
from highwater_runtime.metadata import BrokerListener, MetadataImage
from highwater_runtime.ports import SECOND, ClientCore, Endpoint, Ports
from highwater_runtime.raft import RaftReplica
from highwater_runtime.wire.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)

CLUSTER_ID: Final = "highwater-benchmark000"
VICTIM: Final = 1


class Observer(ClientCore):
    """What a broker does for the metadata and for its session, and nothing else (a ``NodeCore``)."""

    def __init__(self, broker_id: int, voters: dict[int, Endpoint], config: NodeConfig, ports: Ports) -> None:
        self._id = broker_id
        self._voters = voters
        self._config = config
        self.ports = ports
        self.led: dict[int, int] = {}
        """By broker, how many partitions it leads, by what is known here."""
        self._leaders: dict[int, int] = {}
        self._loader = MetadataLoader(lambda _: True, self._published)
        self.channel = ControllerChannel("observer", self._controller, ports, timeout_ns=30 * SECOND)

    def start(self) -> None:
        """Follow the metadata log, and register."""
        log = Log.open(self.ports.disk, "__cluster_metadata-0", LogConfig.of(self._config), self.ports.clock)
        self._raft = RaftReplica(self._id, self._voters, CLUSTER_ID, self.ports, self._config, log, self)
        self._lifecycle = Lifecycle(
            Identity(
                broker_id=self._id,
                cluster_id=CLUSTER_ID,
                listeners=(BrokerListener("PLAINTEXT", Endpoint("127.0.0.1", 1 + self._id)),),
                rack=None,
                incarnation_id=UUID(int=self.ports.random.getrandbits(128), version=4),
                previous_epoch=-1,
            ),
            ControllerChannel("heartbeat", self._controller, self.ports, timeout_ns=4 * SECOND),
            self.ports,
            self._config,
            metadata_offset=lambda: self._loader.applied_offset,
            on_registered=self._look,
        )
        self._raft.start()
        self._lifecycle.start()

    def _controller(self) -> Endpoint | None:
        leader = self._raft.leader_id
        return None if leader is None else self._voters[leader]

    def stop(self, on_stopped: Callable[[], None]) -> None:
        """See ``NodeCore``."""
        self._raft.stop(on_stopped)

    def on_commit(self, base_offset: int, epoch: int, records: list[bytes], last_offset: int) -> None:  # noqa: ARG002
        """See ``RaftListener``."""
        self._loader.on_commit(base_offset, records, last_offset)
        self._look()

    def on_load_snapshot(self, end_offset: int, epoch: int, records: list[bytes]) -> None:  # noqa: ARG002
        """See ``RaftListener``."""
        self._loader.on_load_snapshot(end_offset, records)
        self._look()

    def on_leader_change(self, leader_id: int | None, epoch: int) -> None:
        """See ``RaftListener``."""

    def _published(self, image: MetadataImage, delta: Delta) -> None:
        for topic_id, index in delta.partitions:
            leader = image.topics_by_id[topic_id].partitions[index].leader
            before = self._leaders.get(index)
            if before is not None:
                self.led[before] -= 1
            self.led[leader] = self.led.get(leader, 0) + 1
            self._leaders[index] = leader

    def _look(self) -> None:
        own = self._loader.image.brokers.get(self._id)
        if self._lifecycle.waits_for_metadata and own is not None and own.epoch == self._lifecycle.broker_epoch:
            self._lifecycle.caught_up()

    def is_unfenced(self, broker_id: int) -> bool:
        """Whether a broker may lead, by what is known here."""
        broker = self._loader.image.brokers.get(broker_id)
        return broker is not None and broker.active


class Detection:
    """A trace sink that notes when a controller first found a session over."""

    def __init__(self) -> None:
        self.at_ns = 0

    def write(self, lines: bytes) -> None:
        """See ``TraceSink``."""
        if not self.at_ns and b'"session-expired"' in lines:
            line = next(line for line in lines.splitlines() if b'"session-expired"' in line)
            self.at_ns = int(line.split(b'"time_ns":', 1)[1].split(b",", 1)[0])


def main() -> None:
    """Print the seconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("partitions", type=int, nargs="?", default=10_000)
    partitions: int = parser.parse_args().partitions
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(_measure(Path(directory), partitions))


async def _measure(root: Path, partitions: int) -> None:
    config = NodeConfig()
    voters = {1000 + index: Endpoint("127.0.0.1", port) for index, port in enumerate(_free_ports(3))}
    detection = Detection()
    nodes: dict[int, HostedNode] = {}
    for node_id, endpoint in voters.items():
        options = ControllerOptions(node_id=node_id, voters=voters, cluster_id=CLUSTER_ID, config=config)
        nodes[node_id] = await _started(
            f"controller-{node_id}",
            lambda ports, options=options: QuorumController(options, ports),
            root,
            [Listener("CONTROLLER", endpoint)],
            detection,
        )
    for broker_id in range(3):
        nodes[broker_id] = await _started(
            f"broker-{broker_id}",
            lambda ports, broker_id=broker_id: Observer(broker_id, voters, config, ports),
            root,
            [],
            None,
        )
    observers: list[Any] = [nodes[broker_id].core for broker_id in range(3)]
    await _until(lambda: all(observers[0].is_unfenced(broker_id) for broker_id in range(3)))

    begun = time.monotonic()
    assignments = [CreatableReplicaAssignment(partition_index=i, broker_ids=[1, 2, 0]) for i in range(partitions)]
    topic = CreatableTopic(name="many", num_partitions=-1, replication_factor=-1, assignments=assignments)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=30_000)
    answers: list[Any] = []
    nodes[0].run(lambda: observers[0].channel.ask(lambda: (request, 7), answers.append))
    await _until(lambda: all(observer.led.get(VICTIM) == partitions for observer in observers))
    print(f"{partitions} partitions created, committed and told: {time.monotonic() - begun:.2f} s")

    died, cpu = time.monotonic_ns(), time.process_time()
    nodes[VICTIM].kill()
    left = [observers[0], observers[2]]
    await _until(lambda: bool(detection.at_ns) and all(observer.led.get(2) == partitions for observer in left))
    told = time.monotonic_ns()
    print(
        f"broker gone -> session over: {(detection.at_ns - died) / 1e9:.2f} s "
        f"(of broker.session.timeout.ms = {config.broker_session_timeout_ms}); "
        f"session over -> last leader told: {(told - detection.at_ns) / 1e9:.2f} s "
        f"({time.process_time() - cpu:.2f} s of processor time since the broker was gone, for all six nodes)"
    )
    for node_id, node in nodes.items():
        if node_id != VICTIM:
            node.kill()


async def _started(name: str, factory: Any, root: Path, listeners: list[Listener], trace: Any) -> HostedNode:
    directory = root / name
    directory.mkdir()
    node = HostedNode(name, factory, data_dir=directory, listeners=listeners, trace=trace)
    await node.start()
    return node


async def _until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        await asyncio.sleep(0.01)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


if __name__ == "__main__":
    main()
