"""Messages per second of the simulator, and how much faster than reality it lives.

    python -m highwater_lab.benchmarks.simulator [--quick] [--only LOAD]

A *load* brings something to life on a fresh simulator and runs until it is warm:

* ``toy``: six nodes fetch empty Fetch v15 messages from each other, so that what remains is the simulator (object mode)
  and the codec (codec mode);
* ``idle``: a real cluster of 3 brokers and 3 controllers with one topic of 3 partitions × 3 replicas and no clients:
  long polls, heartbeats, the metadata quorum;
* ``load``: the same with two producers that send 6000 records/s of 100 B together, acks=all, in batches as they gather
  within 5 ms (5 records for each partition).

A message is a request or a response that was handed over. The last lines are whole experiments with faults, history,
invariants and all: ``scenarios/random`` and ``scenarios/kip-903/kafka-14139.yaml``.

Times are of the processor (a simulation is one thread that never waits, so on a free machine they are the wall's), and
swing with the machine: each figure is the best of several slices, and only ratios within one run mean much.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.backends.view import ClusterView
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import Cluster, load_experiment
from highwater_chaos.experiment.nodes import broker_name, broker_names, node_id
from highwater_chaos.workload.admin import AdminClient, AdminOutcome
from highwater_runtime.log.records import build_batch
from highwater_runtime.ports import MS, SECOND, ClientCore, Endpoint, InboundRequest, Ports, RpcFailure
from highwater_runtime.sim import Simulator, frozen_collector
from highwater_runtime.sim.network import CodecMode
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from highwater_runtime.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from highwater_runtime.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from highwater_runtime.wire.messages.produce_response import ProduceResponse

FETCH_VERSION: Final = 15
PRODUCE_VERSION: Final = 10
TOPIC: Final = "orders"
PARTITIONS: Final = 3
LINGER_NS: Final = 5 * MS
RECORDS_PER_BATCH: Final = 5
EXPERIMENTS: Final = ("scenarios/random/power-kill-partition-pause.yaml", "scenarios/kip-903/kafka-14139.yaml")
MODES: Final[Mapping[str, CodecMode]] = {"object mode": "never", "codec mode": "all"}

Load = Callable[[CodecMode], Simulator]


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


class BatchingProducer(ClientCore):
    """Sends one batch to each leader's partitions every ``LINGER_NS``; all must be acknowledged."""

    def __init__(self, ports: Ports, leaders: Mapping[int, str]) -> None:
        self._ports = ports
        self._leaders = leaders
        self._records = [b"x" * 100] * RECORDS_PER_BATCH

    def start(self) -> None:
        """Begin."""
        self._ports.clock.call_later(LINGER_NS, self._send)

    def _send(self) -> None:
        self._ports.clock.call_later(LINGER_NS, self._send)
        for index, leader in self._leaders.items():
            records = build_batch(self._records, timestamp_ms=self._ports.clock.wall_ms())
            data = TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=index, records=records)])
            request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data])
            self._ports.network.send(
                Endpoint(leader, 9092), request, PRODUCE_VERSION, self._heard, timeout_ns=30 * SECOND
            )

    def _heard(self, answer: ProduceResponse | RpcFailure) -> None:
        assert isinstance(answer, ProduceResponse)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE


def toy(codec: CodecMode) -> Simulator:
    """Six nodes that fetch from each other."""
    simulator = Simulator(1, codec=codec)
    names = [f"node-{index}" for index in range(6)]

    def factory(name: str) -> Callable[[Ports], FetchingNode]:
        return lambda ports: FetchingNode(ports, [Endpoint(other, 9092) for other in names if other != name])

    for name in names:
        simulator.add_node(name, 9092, factory(name))
        simulator.start(name)
    simulator.run_for(200 * MS)
    return simulator


def cluster(codec: CodecMode) -> tuple[SimBackend, ClusterView]:
    """A cluster of 3+3 nodes with all replicas of its topic in sync."""
    backend, view = SimBackend(codec=codec, watch_invariants=False), ClusterView()
    model = Cluster()
    backend.build(model, seed=1)

    def wait_for(condition: Callable[[], bool]) -> None:
        for _ in range(1000):
            backend.advance(backend.now_ns() + 20 * MS)
            view.observe(backend.events_since(view.next_seq))
            if condition():
                return
        raise AssertionError("the cluster did not come up within 20 s")

    wait_for(lambda: all(view.is_unfenced(node_id(name)) for name in broker_names(model)))

    admins: list[AdminClient] = []
    outcomes: list[AdminOutcome] = []

    def admin(ports: Ports) -> AdminClient:
        admins.append(AdminClient(backend.bootstrap(), ports))
        return admins[0]

    backend.add_client("admin-0", admin)
    wait_for(lambda: bool(admins))
    backend.post(
        lambda: admins[0].create_topic(
            TOPIC,
            partitions=PARTITIONS,
            replication_factor=3,
            assignment=None,
            config={},
            timeout_ns=10 * SECOND,
            on_outcome=outcomes.append,
        )
    )
    wait_for(lambda: bool(outcomes))
    assert outcomes[0].error is None, outcomes
    wait_for(lambda: len(view.partitions) == PARTITIONS and not view.under_replicated())
    backend.advance(backend.now_ns() + 2 * SECOND)
    return backend, view


def idle(codec: CodecMode) -> Simulator:
    """The cluster by itself."""
    return cluster(codec)[0].simulator


def load(codec: CodecMode) -> Simulator:
    """The cluster and two producers."""
    backend, view = cluster(codec)
    leaders = {int(name.rpartition("-")[2]): broker_name(view.partitions[name].leader) for name in view.partitions}
    for index in range(2):
        backend.add_client(f"producer-{index}", lambda ports: BatchingProducer(ports, leaders))
    backend.advance(backend.now_ns() + SECOND // 2)
    return backend.simulator


LOADS: Mapping[str, Load] = {"toy": toy, "idle": idle, "load": load}


def measure(load: Load, codec: CodecMode, seconds: float) -> tuple[float, float, float]:
    """Messages/s and simulated/wall time in the best of four slices of ``seconds`` in all; messages/s simulated."""
    best = (0.0, 0.0, 0.0)
    with frozen_collector():
        simulator = load(codec)
        for _ in range(4):
            messages, began, simulated = simulator.fabric.messages, time.process_time(), simulator.now_ns
            while (elapsed := time.process_time() - began) < seconds / 4:
                simulator.run_for(20 * MS)
            passed, handed = (simulator.now_ns - simulated) / SECOND, simulator.fabric.messages - messages
            best = max(best, (handed / elapsed, passed / elapsed, handed / passed))
    return best


def measure_experiment(path: Path, times: int) -> tuple[float, float, float]:
    """Simulated seconds, simulated/wall time and messages/s of the best of so many runs of one experiment."""
    best = (0.0, 0.0, 0.0)
    experiment = load_experiment(path)
    for _ in range(times):
        backend = SimBackend()
        with frozen_collector():
            began = time.process_time()
            result = run_experiment(experiment, backend)
            elapsed = time.process_time() - began
        assert not result.inconclusive_reasons, result.inconclusive_reasons
        simulated = result.run_ns / SECOND
        best = max(best, (simulated, simulated / elapsed, backend.simulator.fabric.messages / elapsed))
    return best


def main() -> None:
    """Print one line per load and mode, one per experiment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="half a second per figure instead of four")
    parser.add_argument("--only", choices=[*LOADS, "experiments"], help="one load")
    arguments = parser.parse_args()
    seconds = 0.5 if arguments.quick else 4.0
    for name, load_of in LOADS.items():
        if arguments.only in (None, name):
            rates = []
            for mode, codec in MODES.items():
                rate, speed, density = measure(load_of, codec, seconds)
                rates.append(rate)
                print(
                    f"{name:6} {mode:12} {rate:10,.0f} messages/s  {speed:8.1f}x simulated/wall"
                    f"  ({density:8,.0f} messages per simulated second)"
                )
            print(f"{name:6} codec / object {rates[1] / rates[0]:.2f}")
    if arguments.only in (None, "experiments"):
        for path in EXPERIMENTS:
            simulated, speed, rate = measure_experiment(Path(__file__).parents[3] / path, 1 if arguments.quick else 3)
            print(f"{Path(path).stem:28} {simulated:6.1f} s simulated  {speed:6.1f}x  {rate:10,.0f} messages/s")


if __name__ == "__main__":
    main()
