"""The controller alone, with many partitions: processor time and metadata records of each step of a cluster's life.

    python -m highwater_lab.benchmarks.metadata [--partitions 1000,10000] [--topics 1] [--profile STEP]

One controller runs on the simulator's ports (real quorum of one, real metadata log, disk and network of the simulator);
brokers 0, 1 and 2 are driven by hand. Every partition has the replicas 0, 1, 2 and begins led by broker 0, so that
fencing that one moves them all. The last column is the growth exponent between the first and the last size: 1 is
linear, 0 does not depend on the number of partitions. Times are of the processor; only ratios within one run mean much.
"""

from __future__ import annotations

import argparse
import cProfile
import math
import pstats
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from highwater_runtime.broker.apis.metadata import PartitionAnswers
from highwater_runtime.broker.apis.metadata import handle as answer_metadata
from highwater_runtime.broker.delta import Delta
from highwater_runtime.broker.kraft.metadata_loader import MetadataLoader
from highwater_runtime.config import NodeConfig
from highwater_runtime.controller.kraft import ControllerOptions, QuorumController
from highwater_runtime.metadata import MetadataImage, MetadataVersion, image_of, snapshot_records
from highwater_runtime.ports import SECOND, ClientCore, Endpoint, InboundRequest, NodeCore, Ports, RpcFailure
from highwater_runtime.sim import Simulator
from highwater_runtime.sim.garbage import frozen_collector
from highwater_runtime.wire.messages.alter_partition_request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from highwater_runtime.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from highwater_runtime.wire.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener
from highwater_runtime.wire.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from highwater_runtime.wire.messages.elect_leaders_request import ElectLeadersRequest
from highwater_runtime.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from highwater_runtime.wire.messages.metadata_request import MetadataRequest
from highwater_runtime.wire.records_codec import decode_metadata_record, encode_metadata_record
from highwater_runtime.wire.registry import APIS

BROKERS: Final = (0, 1, 2)
CLUSTER_ID: Final = "highwater-benchmark-00"
CONTROLLER: Final = "controller-0"
HEARTBEATS: Final = 100
SESSION_MS: Final = 9000
PATIENCE_NS: Final = 60 * SECOND
RECORD_VERSIONS: Final = {"RegisterBrokerRecord": 1, "BrokerRegistrationChangeRecord": 1}


class Hand(ClientCore):
    """A node that sends the requests that the benchmark passes to it."""

    def __init__(self, ports: Ports) -> None:
        self.ports = ports


@dataclass(frozen=True, slots=True)
class Step:
    """What one step cost: seconds of the processor, records written to the metadata log."""

    seconds: float
    records: int


@dataclass
class Bench:
    """One cluster of ``partitions`` in ``topics``, and what each step of its life cost, in order."""

    partitions: int
    topics: int
    profile: str | None = None
    steps: dict[str, Step] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sim = Simulator(1)
        at = {1000: Endpoint(CONTROLLER, 9093)}
        options = ControllerOptions(
            node_id=1000,
            voters=at,
            cluster_id=CLUSTER_ID,
            config=NodeConfig.of({"broker.session.timeout.ms": SESSION_MS, "auto.leader.rebalance.enable": False}),
        )
        self.at = at[1000]
        self.sim.add_node(CONTROLLER, 9093, lambda ports: QuorumController(options, ports))
        self.sim.add_node("hand", 1, self._hand, disk=False)
        self.sim.start("hand")
        self.sim.start(CONTROLLER)
        assert self.sim.run_for(PATIENCE_NS, predicate=self.is_active)
        self.lives = dict.fromkeys(BROKERS, 0)

    def _hand(self, ports: Ports) -> NodeCore:
        self.hand = Hand(ports)
        return self.hand

    @property
    def controller(self) -> QuorumController:
        """The controller, as the simulator runs it now."""
        core = self.sim.node(CONTROLLER).core
        assert isinstance(core, QuorumController)
        return core

    @property
    def image(self) -> MetadataImage:
        """What is committed."""
        return self.controller.committed_image

    def is_active(self) -> bool:
        """Whether the controller runs and is the active one."""
        core = self.sim.node(CONTROLLER).core
        return isinstance(core, QuorumController) and core.is_active

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measure what happens within."""
        before = self.image.offset
        profiler = cProfile.Profile() if self.profile == name else None
        begin = time.process_time()
        if profiler is not None:
            profiler.enable()
        yield
        if profiler is not None:
            profiler.disable()
            pstats.Stats(profiler).sort_stats("tottime").print_stats(45)
        self.steps[name] = Step(time.process_time() - begin, self.image.offset - before)

    def ask(self, body: Any) -> Any:
        """Send a request, run until it is answered, return the response."""
        answers: list[Any] = []
        self.hand.ports.network.send(
            self.at, body, APIS[body.API_KEY].max_version, answers.append, timeout_ns=PATIENCE_NS
        )
        assert self.sim.run_for(PATIENCE_NS, predicate=lambda: bool(answers))
        assert not isinstance(answers[0], RpcFailure), answers[0]
        assert getattr(answers[0], "error_code", 0) == 0, answers[0]
        return answers[0]

    def register(self, broker_id: int) -> None:
        """A new incarnation of a broker."""
        self.lives[broker_id] += 1
        low, high = int(MetadataVersion.minimum()), int(MetadataVersion.latest())
        self.ask(
            BrokerRegistrationRequest(
                broker_id=broker_id,
                cluster_id=CLUSTER_ID,
                incarnation_id=UUID(int=broker_id << 32 | self.lives[broker_id]),
                listeners=[Listener(name="PLAINTEXT", host=f"broker-{broker_id}", port=9092, security_protocol=0)],
                features=[Feature(name="metadata.version", min_supported_version=low, max_supported_version=high)],
                rack=None,
            )
        )

    def heartbeat(self, broker_id: int, *, shut_down: bool = False) -> Any:
        """A heartbeat of a broker that has followed the metadata log to its end."""
        return self.ask(
            BrokerHeartbeatRequest(
                broker_id=broker_id,
                broker_epoch=self.image.brokers[broker_id].epoch,
                current_metadata_offset=self.image.offset,
                want_fence=False,
                want_shut_down=shut_down,
            )
        )

    def create(self, topics: Sequence[tuple[str, int]]) -> None:
        """Create topics of so many partitions each, in one request."""
        self.ask(
            CreateTopicsRequest(
                topics=[
                    CreatableTopic(
                        name=name,
                        num_partitions=-1,
                        replication_factor=-1,
                        assignments=[
                            CreatableReplicaAssignment(partition_index=index, broker_ids=list(BROKERS))
                            for index in range(partitions)
                        ],
                    )
                    for name, partitions in topics
                ]
            )
        )

    def alter_partitions(self, leader: int) -> None:
        """The leader of all partitions proposes every broker for the ISR, in one request."""
        members = [BrokerState(broker_id=b, broker_epoch=self.image.brokers[b].epoch) for b in BROKERS]
        self.ask(
            AlterPartitionRequest(
                broker_id=leader,
                broker_epoch=self.image.brokers[leader].epoch,
                topics=[
                    TopicData(
                        topic_id=topic.id,
                        partitions=[
                            PartitionData(
                                partition_index=index,
                                leader_epoch=state.leader_epoch,
                                partition_epoch=state.partition_epoch,
                                new_isr_with_epochs=members,
                            )
                            for index, state in topic.partitions.items()
                        ],
                    )
                    for topic in self.image.topics_by_name.values()
                ],
            )
        )

    def run(self) -> None:
        """A cluster's life."""
        for broker_id in BROKERS:
            self.register(broker_id)
            self.heartbeat(broker_id)
        per_topic, rest = divmod(self.partitions, self.topics)
        sizes = [(f"orders-{i}", per_topic + (i < rest)) for i in range(self.topics)]
        with self.step("create topics"):
            self.create(sizes)
        with self.step("create one more topic"):
            self.create([("last", 1)])
        with self.step("change one topic's property"):
            self._change_property()
        with self.step(f"{HEARTBEATS} heartbeats"):
            for _ in range(HEARTBEATS):
                self.heartbeat(1)
        with self.step("broker fenced, all leaders move"):
            while not self.image.brokers[0].fenced:
                self.heartbeat(1)
                self.heartbeat(2)
                self.sim.run_for(SECOND)
        assert all(p.leader == 1 and p.isr == (1, 2) for _, _, p in self.image.all_partitions())
        with self.step("broker registers, unfenced"):
            self.register(0)
            assert not self.heartbeat(0).is_fenced
        with self.step("AlterPartition of all"):
            self.alter_partitions(1)
        assert all(len(p.isr) == len(BROKERS) for _, _, p in self.image.all_partitions())
        with self.step("ElectLeaders of all, preferred"):
            self.ask(ElectLeadersRequest(election_type=0, topic_partitions=None, timeout_ms=1000))
        assert all(p.leader == 0 for _, _, p in self.image.all_partitions())
        with self.step(f"controlled shutdown, {HEARTBEATS} heartbeats"):
            for _ in range(HEARTBEATS):
                self.heartbeat(0, shut_down=True)
        self._snapshots()
        self._broker_side()

    def _change_property(self) -> None:
        self.ask(
            IncrementalAlterConfigsRequest(
                resources=[
                    AlterConfigsResource(
                        resource_type=2,
                        resource_name="last",
                        configs=[AlterableConfig(name="retention.ms", config_operation=0, value="1000000")],
                    )
                ]
            )
        )

    def _snapshots(self) -> None:
        image = self.image
        with self.step("image: copy"):
            copy = image.copy()
        with self.step("image: one change of the copy"):
            record = _change_of_one(image)
            copy.apply(record, copy.offset + 1)
        with self.step("snapshot: records and bytes"):
            data = [encode_metadata_record(r, RECORD_VERSIONS.get(r.NAME, 0)) for r in snapshot_records(image)]
        with self.step("snapshot: write"):
            assert self.controller.raft.write_snapshot(image.offset + 1, data)
        with self.step("snapshot: load into an image"):
            image_of([decode_metadata_record(record) for record in data], image.offset + 1)
        with self.step("controller restarts, is active"):
            self.sim.kill(CONTROLLER)
            self.sim.start(CONTROLLER)
            assert self.sim.run_for(PATIENCE_NS, predicate=self.is_active)

    def _broker_side(self) -> None:
        image = self.image
        data = [encode_metadata_record(r, RECORD_VERSIONS.get(r.NAME, 0)) for r in snapshot_records(image)]
        noted: list[Delta] = []
        loader = MetadataLoader(lambda _: True, lambda _, delta: noted.append(delta))
        with self.step("broker: replay all as one batch"):
            loader.on_commit(0, data, len(data) - 1)
        one = encode_metadata_record(_change_of_one(image), 0)
        with self.step("broker: replay one change"):
            loader.on_commit(len(data), [one], len(data))
        replies: list[Any] = []
        body = MetadataRequest(topics=None)
        request = InboundRequest(body, 12, "bench", "bench", replies.append)
        answers = PartitionAnswers()
        with self.step("broker: Metadata of all, first"):
            answer_metadata(request, image, CLUSTER_ID, 1, None, answers)  # type: ignore[arg-type]
            replies[-1].encode(12)
        with self.step("broker: Metadata of all, again"):
            answer_metadata(request, image, CLUSTER_ID, 1, None, answers)  # type: ignore[arg-type]
            replies[-1].encode(12)


def _change_of_one(image: MetadataImage) -> Any:
    from highwater_runtime.wire.messages.partition_change_record import PartitionChangeRecord  # noqa: PLC0415

    topic = image.topics_by_name["last"]
    return PartitionChangeRecord(partition_id=0, topic_id=topic.id, isr=[1])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", default="1000,10000", help="sizes, comma-separated (default: %(default)s)")
    parser.add_argument("--topics", type=int, default=1, help="how many topics they are in (default: %(default)s)")
    parser.add_argument("--profile", metavar="STEP", help="profile this step")
    options = parser.parse_args()
    sizes = [int(size) for size in options.partitions.split(",")]
    benches = []
    with frozen_collector():
        for size in sizes:
            bench = Bench(size, options.topics, options.profile if size == sizes[-1] else None)
            bench.run()
            benches.append(bench)
    print(f"{'step (ms of CPU, records)':40}" + "".join(f"{size:>20}" for size in sizes) + f"{'exponent':>10}")
    for name in benches[0].steps:
        steps = [bench.steps[name] for bench in benches]
        cells = "".join(f"{step.seconds * 1e3:>12.2f} {step.records:>7}" for step in steps)
        growth = ""
        if len(sizes) > 1 and steps[0].seconds > 0 and steps[-1].seconds > 0:
            exponent = math.log(steps[-1].seconds / steps[0].seconds) / math.log(sizes[-1] / sizes[0])
            growth = f"{exponent:>10.2f}"
        print(f"{name:40}{cells}{growth}")


if __name__ == "__main__":
    main()
