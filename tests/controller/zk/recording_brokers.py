"""Brokers that have a ZkController and record what it commands; and a cluster of them beside a simulated ensemble.

Each holds one session, registers in it, and registers again in a new one when it has expired. What a controller sends
is checked as a broker checks it (controller epoch, broker epoch) and recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ensemble import QUICK, ClientNode, Ensemble, Told

from highwater_runtime.config import NodeConfig
from highwater_runtime.controller.zk.controller import ZkController
from highwater_runtime.controller.zk.options import ZkControllerOptions
from highwater_runtime.metadata.znodes import (
    ISR_CHANGE_PREFIX,
    PERSISTENT,
    BrokerNode,
    IsrChangeNode,
    LeaderAndIsrNode,
    PartitionName,
    TopicNode,
    broker_path,
    decode_node,
    encode_node,
    leader_and_isr_path,
    topic_path,
)
from highwater_runtime.ports import Endpoint, InboundRequest, NodeCore, Ports
from highwater_runtime.ports.coordination import (
    Create,
    Created,
    Data,
    Exists,
    Get,
    Multi,
    SessionEvent,
    Set,
    Stat,
)
from highwater_runtime.switches import Switches
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.leader_and_isr_request import LeaderAndIsrPartitionState, LeaderAndIsrRequest
from highwater_runtime.wire.messages.leader_and_isr_response import LeaderAndIsrPartitionError, LeaderAndIsrTopicError
from highwater_runtime.wire.messages.stop_replica_request import StopReplicaRequest
from highwater_runtime.wire.messages.update_metadata_request import UpdateMetadataRequest
from highwater_runtime.wire.registry import api_of

SESSION_MS = 1000


class RecordingBroker:
    """One broker, ``client-N``."""

    def __init__(self, cluster: Cluster, name: str, ports: Ports, servers: list[Endpoint]) -> None:
        self.node_id = int(name[-1])
        self.name = name
        self.cluster = cluster
        self.node = ClientNode(ports, servers)
        self.epoch = -1
        self.controller_epoch = 0
        self.hosted: dict[tuple[str, int], LeaderAndIsrPartitionState] = {}
        """What it was told to lead or follow, as of the last command for each."""
        self.leaders: dict[tuple[str, int], int] = {}
        """The leader of each partition of the cluster as it was told."""
        self.received: list[Any] = []
        """Every request that it took."""
        self.sequences: list[int] = []
        """Their numbers, and those of what it refused."""
        self.refused: list[tuple[Any, ErrorCode]] = []
        self.silent = False
        """It does what it is told, and its responses are lost."""
        self.storage_errors: set[tuple[str, int]] = set()
        self.session: Any = None
        options = ZkControllerOptions(
            node_id=self.node_id, config=cluster.config, switches=cluster.switches, topic_ids=cluster.topic_ids
        )
        self.controller = ZkController(options, lambda: self.session, ports)

    def start(self) -> None:
        def on_event(event: SessionEvent) -> None:
            if session is self.session:
                if event is SessionEvent.CONNECTED:
                    self._register()
                self.controller.on_session_event(event)
                if event is SessionEvent.EXPIRED:
                    self.start()

        session = self.session = self.node.client.open(SESSION_MS, on_event)

    def _register(self) -> None:
        for path in PERSISTENT:
            self.session.submit(Create(path), lambda _: None)
        node = BrokerNode(endpoints={"PLAINTEXT": f"{self.name}:1"})

        def registered(result: Any) -> None:
            if isinstance(result, Created):
                self.epoch = result.stat.czxid

        self.session.submit(Create(broker_path(self.node_id), encode_node(node), ephemeral=True), registered)

    def stop(self, on_stopped: Callable[[], None]) -> None:
        self.controller.close()
        self.session.close(on_stopped)

    def on_request(self, request: InboundRequest) -> None:
        if self.controller.handles(request):
            self.controller.on_request(request)
            return
        self.sequences.append(request.body.sequence)
        error = self._judge(request.body)
        response: Any = api_of(request.api_key).response(error_code=int(error))
        if error is ErrorCode.NONE:
            self.received.append(request.body)
            self._take(request.body, response)
        else:
            self.refused.append((request.body, error))
        if not self.silent:
            request.reply(response)

    def _judge(self, body: Any) -> ErrorCode:
        if body.controller_epoch < self.controller_epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        if body.broker_epoch != self.epoch:
            return ErrorCode.STALE_BROKER_EPOCH
        self.controller_epoch = body.controller_epoch
        return ErrorCode.NONE

    def _take(self, body: Any, response: Any) -> None:
        match body:
            case LeaderAndIsrRequest():
                states = {
                    (topic.topic_name, state.partition_index): state
                    for topic in body.topic_states
                    for state in topic.partition_states
                }
                if body.type == 2:
                    self.hosted.clear()
                self.hosted |= states
                self._fail(body, response)
            case UpdateMetadataRequest():
                for topic in body.topic_states:
                    for state in topic.partition_states:
                        self.leaders[topic.topic_name, state.partition_index] = state.leader
            case StopReplicaRequest():
                for topic in body.topic_states:
                    for stopped in topic.partition_states:
                        if stopped.delete_partition:
                            self.hosted.pop((topic.topic_name, stopped.partition_index), None)

    def _fail(self, body: LeaderAndIsrRequest, response: Any) -> None:
        for topic in body.topic_states:
            failed = [
                LeaderAndIsrPartitionError(
                    partition_index=state.partition_index, error_code=int(ErrorCode.KAFKA_STORAGE_ERROR)
                )
                for state in topic.partition_states
                if (topic.topic_name, state.partition_index) in self.storage_errors
            ]
            if failed:
                response.topics.append(LeaderAndIsrTopicError(topic_id=topic.topic_id, partition_errors=failed))

    # --- what the tests ask ---------------------------------------------------------------------------------------

    def lists(self) -> list[LeaderAndIsrRequest]:
        return [body for body in self.received if isinstance(body, LeaderAndIsrRequest)]


class Cluster(Ensemble):
    """``brokers`` recording brokers, ids from 0, and an observer with a session of its own (``client-9``)."""

    def __init__(
        self, seed: int = 1, brokers: int = 3, *, topic_ids: bool = True, config: NodeConfig = QUICK, **switches: Any
    ) -> None:
        self.config = config
        self.topic_ids = topic_ids
        self.switches = Switches(**switches)
        self.brokers = [f"client-{number}" for number in range(brokers)]

        def make(name: str, ports: Ports, servers: list[Endpoint]) -> NodeCore:
            return RecordingBroker(self, name, ports, servers) if name in self.brokers else ClientNode(ports, servers)

        super().__init__(seed, servers=3, clients=brokers + 1, config=config, make_client=make)
        self.observer = f"client-{brokers}"
        self._told: Told | None = None

    def up(self, *, without: tuple[int, ...] = ()) -> Cluster:
        """Start all but some brokers, and wait until they are registered and there is a controller."""
        for name in (*self.servers, self.observer):
            self.sim.start(name)
        self.until(lambda: self.leader is not None)
        for number, name in enumerate(self.brokers):
            if number not in without:
                self.sim.start(name)
        self._told = self.open(len(self.brokers), timeout_ms=60_000)
        self.until(lambda: self.controllers != [])
        for path in PERSISTENT:
            self.do(self._told, Create(path))
        self.settle()
        return self

    @property
    def told(self) -> Told:
        assert self._told is not None
        return self._told

    def broker(self, number: int) -> RecordingBroker:
        core = self.sim.node(self.brokers[number]).core
        assert isinstance(core, RecordingBroker), f"broker {number} is down"
        return core

    @property
    def alive(self) -> list[RecordingBroker]:
        cores = [self.sim.node(name).core for name in self.brokers]
        return [core for core in cores if isinstance(core, RecordingBroker)]

    @property
    def controllers(self) -> list[int]:
        return [broker.node_id for broker in self.alive if broker.controller.is_active]

    def controller(self) -> RecordingBroker:
        self.until(lambda: self.controllers != [])
        return self.broker(self.controllers[-1])

    def settle(self, ms: int = 1500) -> None:
        """Simulated time in which everything that is under way ends."""
        self.run_ms(ms)

    # --- the tree -------------------------------------------------------------------------------------------------

    def create(self, topic: str, partitions: dict[int, tuple[int, ...]], **more: Any) -> None:
        """As an administrator of the document does it: the topic's node, and nothing else."""
        self.must(self.told, Create(topic_path(topic), encode_node(TopicNode(partitions=partitions, **more))))

    def assignment(self, topic: str) -> TopicNode:
        found = self.must(self.told, Get(topic_path(topic)))
        return decode_node(TopicNode, topic_path(topic), found.data)

    def exists(self, path: str) -> bool:
        return isinstance(self.do(self.told, Exists(path)), Stat)

    def state(self, topic: str, partition: int = 0) -> tuple[LeaderAndIsrNode, int] | None:
        path = leader_and_isr_path(topic, partition)
        found = self.do(self.told, Get(path))
        return (
            (decode_node(LeaderAndIsrNode, path, found.data), found.stat.version) if isinstance(found, Data) else None
        )

    def leader_and_isr(self, topic: str, partition: int = 0) -> tuple[int, tuple[int, ...]]:
        state = self.state(topic, partition)
        assert state is not None, f"{topic}-{partition} has no leader and ISR"
        return state[0].leader, state[0].isr

    def await_state(self, leader: int, isr: tuple[int, ...], topic: str, partition: int = 0) -> None:
        for _ in range(200):
            state = self.state(topic, partition)
            if state is not None and (state[0].leader, state[0].isr) == (leader, isr):
                return
            self.run_ms(50)
        raise AssertionError(f"expected leader {leader} and ISR {isr} of {topic}-{partition}, found {state}")

    def write_isr(self, topic: str, isr: tuple[int, ...], partition: int = 0) -> None:
        """As the leader does it: a conditional write, and a note to the controller."""
        state = self.state(topic, partition)
        assert state is not None
        node, version = state
        self.must(
            self.told,
            Multi(
                steps=(
                    Set(leader_and_isr_path(topic, partition), encode_node(with_isr(node, isr)), version),
                    isr_note(topic, partition),
                )
            ),
        )

    # --- requests -------------------------------------------------------------------------------------------------

    def ask(self, body: Any, version: int, of: int | None = None) -> Any:
        """The response of a broker, by default of the controller."""
        broker = self.controller() if of is None else self.broker(of)
        answers: list[Any] = []
        observer = self.client(self.observer)
        observer.ports.network.send(
            Endpoint(broker.name, 1), body, version, answers.append, timeout_ns=60_000_000_000, channel="test"
        )
        self.until(lambda: bool(answers), within_ms=90_000)
        return answers[0]


def with_isr(node: LeaderAndIsrNode, isr: tuple[int, ...]) -> LeaderAndIsrNode:
    return LeaderAndIsrNode(
        leader=node.leader, leader_epoch=node.leader_epoch, isr=isr, controller_epoch=node.controller_epoch
    )


def isr_note(topic: str, partition: int) -> Create:
    note = IsrChangeNode(partitions=(PartitionName(topic=topic, partition=partition),))
    return Create(ISR_CHANGE_PREFIX, encode_node(note), sequential=True)
