"""Messages per second of the simulator: its own overhead, with and without the codec.

    python benchmarks/simulator.py [--seconds 3] [--only NAME]

Each load is a function that adds nodes to a simulator; the figure is requests and responses handed over per second of
this machine. The toy load fetches empty Fetch v15 messages from every node to every other, so that what remains is
the simulator (object mode) and the codec (codec mode). Times swing with the machine: compare within one run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from typing import Any

from highwater_runtime.ports import MS, SECOND, Endpoint, InboundRequest, Ports, RpcFailure
from highwater_runtime.sim import Simulator, frozen_collector
from highwater_runtime.sim.network import CodecMode
from highwater_runtime.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from highwater_runtime.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData

FETCH_VERSION = 15

Load = Callable[[Simulator], None]


class FetchingNode:
    """Fetches from all others, without end."""

    def __init__(self, ports: Ports, others: list[Endpoint]) -> None:
        self._ports = ports
        self._others = others
        self._offset = 0

    def start(self) -> None:
        """Begin."""
        for other in self._others:
            self._fetch(other)

    def _fetch(self, other: Endpoint) -> None:
        partition = FetchPartition(partition=0, fetch_offset=self._offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            replica_state=ReplicaState(replica_id=1, replica_epoch=7),
            max_wait_ms=500,
            min_bytes=1,
            topics=[FetchTopic(partitions=[partition])],
        )

        def heard(answer: FetchResponse | RpcFailure) -> None:
            assert isinstance(answer, FetchResponse)
            self._offset += 1
            self._fetch(other)

        self._ports.network.send(other, request, FETCH_VERSION, heard, timeout_ns=30 * SECOND)

    def on_request(self, request: InboundRequest) -> None:
        """Answer at once, without records."""
        offset = request.body.topics[0].partitions[0].fetch_offset
        data = PartitionData(partition_index=0, high_watermark=offset, log_start_offset=0)
        request.reply(FetchResponse(responses=[FetchableTopicResponse(partitions=[data])]))

    def stop(self, on_stopped: Callable[[], None]) -> None:
        """Nothing to finish."""
        on_stopped()


def toy_load(simulator: Simulator) -> None:
    """Six nodes that fetch from each other."""
    names = [f"node-{index}" for index in range(6)]

    def factory(name: str) -> Callable[[Ports], FetchingNode]:
        return lambda ports: FetchingNode(ports, [Endpoint(other, 9092) for other in names if other != name])

    for name in names:
        simulator.add_node(name, 9092, factory(name))
        simulator.start(name)


LOADS: Mapping[str, Load] = {"toy": toy_load}


def measure(load: Load, codec: CodecMode, seconds: float, **options: Any) -> tuple[float, float]:
    """Run ``load`` for so many seconds of this machine; returns messages per second, and simulated per real time."""
    with frozen_collector():
        simulator = Simulator(1, codec=codec, **options)
        load(simulator)
        simulator.run_for(200 * MS)
        messages, began, simulated = simulator.fabric.messages, time.perf_counter(), simulator.now_ns
        while (elapsed := time.perf_counter() - began) < seconds:
            simulator.run_for(50 * MS)
    return (simulator.fabric.messages - messages) / elapsed, (simulator.now_ns - simulated) / SECOND / elapsed


def main() -> None:
    """Print one line per load and mode."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="per measurement")
    parser.add_argument("--only", choices=list(LOADS), help="one load")
    arguments = parser.parse_args()
    for name, load in LOADS.items():
        if arguments.only in (None, name):
            for codec in ("never", "all"):
                rate, speed = measure(load, codec, arguments.seconds)
                mode = {"never": "object mode", "all": "codec mode"}[codec]
                print(f"{name:12} {mode:12} {rate:10,.0f} messages/s  {speed:8.1f}x real time")


if __name__ == "__main__":
    main()
