"""What hostile clients cost a node and its other clients: memory, and the latency of a client that does no harm.

::

    python -m highwater_lab.benchmarks.hostile_clients                  # this checkout
    python -m highwater_lab.benchmarks.hostile_clients --before ../dir  # also the node of another checkout, and ratios

Attacks: 10,000 connections that say nothing; 100 MB of requests of which the last bytes never come (the node has
``queued.max.request.bytes`` of 32 MiB); 20 connections that send ApiVersions as fast as they can and read nothing.
The other client asks ApiVersions, waits for the response, and asks again 5 ms later.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from highwater_runtime.wire.framing import encode_request
from highwater_runtime.wire.messages.api_versions_request import ApiVersionsRequest

REQUEST = b"".join(encode_request(ApiVersionsRequest(), 3, 1, "benchmark"))
MB = 1024 * 1024
QUEUED_BYTES = 32 * MB


@dataclass(frozen=True)
class Cost:
    """Of one attack: peak of resident memory above that before (MB), and latencies of the other client (ms)."""

    memory: float
    p50: float
    p99: float
    longest: float


class Node:
    """A controller, the whole quorum, in a process."""

    def __init__(self, runtime: Path, folder: Path) -> None:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        config = folder / "node.properties"
        self._ready = folder / "ready"
        properties = {
            "process.roles": "controller",
            "node.id": 1000,
            "cluster.id": "highwater-benchmark-01",
            "controller.quorum.voters": f"1000@127.0.0.1:{self.port}",
            "listeners": f"CONTROLLER://127.0.0.1:{self.port}",
            "log.dirs": folder / "data",
            "highwater.ready.path": self._ready,
            "queued.max.request.bytes": QUEUED_BYTES,
        }
        config.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        self.log = folder / "log"
        command = [sys.executable, "-m", "highwater_runtime.host.main", str(config)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stderr=log, env=os.environ | {"PYTHONPATH": str(runtime)})
        while not self._ready.exists():
            if self.process.poll() is not None:
                raise SystemExit(f"the node ended:\n{self.log.read_text()}")
            time.sleep(0.05)

    def resident(self) -> float:
        """Megabytes."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise SystemExit(f"the node ended:\n{self.log.read_text()[-3000:]}")

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


@contextlib.asynccontextmanager
async def connections(port: int, count: int) -> AsyncIterator[list[socket.socket]]:
    """Connections that do not block, made in groups smaller than the backlog."""
    loop = asyncio.get_running_loop()
    made: list[socket.socket] = []
    try:
        while len(made) < count:
            group = [socket.socket() for _ in range(min(200, count - len(made)))]
            made += group
            for number, one in enumerate(group):
                one.setblocking(False)
                one.bind((f"127.0.0.{1 + number % 4}", 0))
            await asyncio.gather(*(loop.sock_connect(one, ("127.0.0.1", port)) for one in group))
        yield made
    finally:
        for one in made:
            one.close()


async def nothing(_port: int) -> None:
    """No attack."""
    await asyncio.Event().wait()


async def many_connections(port: int) -> None:
    """10,000 connections."""
    async with connections(port, 10_000):
        await asyncio.Event().wait()


async def unfinished(port: int) -> None:
    """100 MB in 20 requests, each of which lacks its last byte."""
    loop = asyncio.get_running_loop()
    size = 5 * MB
    async with connections(port, 20) as ends:
        frame = size.to_bytes(4, "big") + bytes(size - 1)
        await asyncio.gather(*(loop.sock_sendall(one, frame) for one in ends), return_exceptions=True)
        await asyncio.Event().wait()


async def pipelining(port: int) -> None:
    """20 connections, as many requests as they take, no response read."""
    loop = asyncio.get_running_loop()
    many = REQUEST * 4000
    async with connections(port, 20) as ends:
        await asyncio.gather(*(_send_for_ever(loop, one, many) for one in ends), return_exceptions=True)


async def _send_for_ever(loop: asyncio.AbstractEventLoop, one: socket.socket, data: bytes) -> None:
    while True:
        await loop.sock_sendall(one, data)


ATTACKS = {
    "none": nothing,
    "10,000 connections": many_connections,
    "100 MB unfinished": unfinished,
    "pipelining": pipelining,
}


def attack(name: str, port: int) -> None:
    """Attack until killed."""
    asyncio.run(ATTACKS[name](port))


def measure(node: Node, name: str, seconds: float) -> Cost:
    """Cost of one attack. The other client is connected before it starts."""
    before = peak = node.resident()
    latencies: list[float] = []
    with socket.create_connection(("127.0.0.1", node.port), timeout=120) as end:
        _ask(end)
        attacker = subprocess.Popen(
            [sys.executable, "-m", "highwater_lab.benchmarks.hostile_clients", "--attack", name, str(node.port)]
        )
        until = time.monotonic() + seconds
        try:
            while time.monotonic() < until:
                begin = time.perf_counter()
                _ask(end)
                latencies.append((time.perf_counter() - begin) * 1000)
                peak = max(peak, node.resident())
                time.sleep(0.005)
        finally:
            attacker.kill()
            attacker.wait()
    latencies.sort()
    return Cost(peak - before, latencies[len(latencies) // 2], latencies[int(len(latencies) * 0.99)], latencies[-1])


def _ask(end: socket.socket) -> None:
    end.sendall(REQUEST)
    size = int.from_bytes(end.recv(4, socket.MSG_WAITALL), "big")
    end.recv(size, socket.MSG_WAITALL)


def measure_all(runtime: Path, seconds: float) -> dict[str, Cost]:
    """All attacks, each on a new node."""
    costs = {}
    for name in ATTACKS:
        with tempfile.TemporaryDirectory() as folder:
            node = Node(runtime, Path(folder))
            try:
                costs[name] = measure(node, name, seconds)
            finally:
                node.close()
    return costs


def main() -> None:
    """Measure, print a table, and with ``--before`` the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, metavar="DIR", help="a checkout of an earlier commit")
    parser.add_argument("--seconds", type=float, default=15.0, help="of each attack (default: %(default)g)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--attack", nargs=2, metavar=("NAME", "PORT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if options.attack:
        attack(options.attack[0], int(options.attack[1]))
        return
    here = Path(__file__).parents[3]
    found = {"after": measure_all(here / "runtime", options.seconds)}
    if options.before is not None:
        found["before"] = measure_all(options.before.resolve() / "runtime", options.seconds)
    if options.json:
        print(json.dumps({name: {what: vars(cost) for what, cost in one.items()} for name, one in found.items()}))
        return
    print(f"{'attack':<20} {'checkout':<8} {'memory MB':>10} {'p50 ms':>8} {'p99 ms':>9} {'longest ms':>11}")
    for attack_name in ATTACKS:
        for checkout, costs in sorted(found.items(), reverse=True):
            cost = costs[attack_name]
            figures = f"{cost.memory:>10.1f} {cost.p50:>8.2f} {cost.p99:>9.2f} {cost.longest:>11.2f}"
            print(f"{attack_name:<20} {checkout:<8} {figures}")
        if len(found) > 1:
            was, now = found["before"][attack_name], found["after"][attack_name]
            memory = f"{was.memory / max(now.memory, 0.1):>9.1f}x"
            latency = f"{was.p50 / now.p50:>7.1f}x {was.p99 / now.p99:>8.1f}x {was.longest / now.longest:>10.1f}x"
            print(f"{'':<20} {'ratio':<8} {memory} {latency}")


if __name__ == "__main__":
    main()
