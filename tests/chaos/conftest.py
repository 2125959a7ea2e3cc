"""A live cluster under the harness, a scripted broker for clients, and short ways to write events and experiments."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from random import Random
from types import SimpleNamespace
from uuid import UUID

import pytest

from highwater_chaos.backends.protocol import TimedEvent
from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.backends.view import ClusterView
from highwater_chaos.base.process import Scheduler
from highwater_chaos.experiment import parse_experiment
from highwater_chaos.experiment.nodes import broker_names, controller_names, node_id
from highwater_chaos.experiment.steps import Step
from highwater_chaos.schedule.administration import Administration
from highwater_chaos.schedule.batches import Batches
from highwater_chaos.schedule.conditions import World
from highwater_chaos.schedule.fault_manager import FaultManager
from highwater_chaos.schedule.runner import ScheduleRunner
from highwater_chaos.workload.clients import Clients
from highwater_chaos.workload.history import HistoryRecorder
from highwater_runtime.ports import SECOND, Endpoint
from highwater_runtime.ports.trace import (
    BrokerRegistered,
    BrokerRegistrationChanged,
    BrokerStateChanged,
    ControllerChanged,
    NodeStarted,
    NodeStopped,
    PartitionChanged,
    RaftStateChanged,
)
from highwater_runtime.sim import Simulator
from highwater_runtime.wire.messages.init_producer_id_response import InitProducerIdResponse
from highwater_runtime.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from highwater_runtime.wire.messages.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)

TOPIC_ID = UUID(int=7)

_spec = importlib.util.spec_from_file_location("chaos_told_run", Path(__file__).with_name("told_run.py"))
assert _spec is not None
assert _spec.loader is not None
sys.modules["chaos_told_run"] = _module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)

FILE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: test}}
spec:
  seed: {seed}
  timeout: {timeout}
  recovery: {recovery}
  cluster:
    brokers: 3
    controllers: 3
    switches: {{replica-epoch-check: "{check}"}}
    config:
      replica.lag.time.max.ms: 2000
      broker.session.timeout.ms: 3000
      broker.heartbeat.interval.ms: 500
      request.timeout.ms: 3000
      controller.socket.timeout.ms: 3000
      replica.socket.timeout.ms: 3000
    topics: [{{name: orders, partitions: 1, assignment: [[0, 1]]}}]
  workload: {workload}
  schedule: {schedule}
"""


def experiment(
    schedule="[]", *, seed=1, timeout="2m", recovery="30s", check="on", workload="{producers: 1, rate: 50/s}"
):
    text = FILE.format(
        seed=seed, timeout=timeout, recovery=recovery, check=check, workload=workload, schedule=schedule.strip()
    )
    return parse_experiment(text, "test.yaml")


@pytest.fixture(scope="session")
def make_experiment():
    return experiment


@pytest.fixture(scope="session")
def make_step():
    return Step.model_validate


# --- a live cluster -------------------------------------------------------------------------------------------------


class Harness:
    """A cluster of three brokers and three controllers in the simulator, with everything that schedules stand on."""

    def __init__(self, *, workload=False, seed=1):
        self.experiment = experiment(seed=seed)
        self.cluster = self.experiment.cluster
        self.backend = SimBackend()
        self.backend.build(self.cluster, seed)
        self.view = ClusterView()
        self.scheduler = Scheduler(
            self.backend.now_ns,
            self.backend.advance,
            on_turn=lambda: self.view.observe(self.backend.events_since(self.view.next_seq)),
        )
        self.clients = Clients(self.backend, self.experiment)
        self.faults = FaultManager(self.backend, self.cluster, self.view, self.scheduler, Random, 1 << 60)
        self.world = World(self.backend, self.view, lambda: self.clients.acknowledged, self.faults.caught)
        self.administration = Administration(self.clients, self.view, self.backend)
        self.runner = ScheduleRunner(
            self.cluster,
            self.world,
            self.scheduler,
            self.faults,
            self.administration.run,
            Random,
            Batches(self.clients).write,
        )
        self.clients.start_admin()
        assert self.until(self.all_unfenced)
        assert self.steps({"admin": {"createTopic": {"name": "orders", "partitions": 1, "assignment": [[0, 1]]}}})
        if workload:
            self.clients.start_workload()
            assert self.until(lambda: self.clients.acknowledged > 5)

    def all_unfenced(self):
        names = (*broker_names(self.cluster), *controller_names(self.cluster))
        return (
            all(self.backend.state(name).value == "up" for name in names)
            and all(self.view.is_unfenced(node_id(name)) for name in broker_names(self.cluster))
            and self.view.active_controller() is not None
        )

    def until(self, predicate, seconds=60):
        return self.scheduler.run(predicate, self.backend.now_ns() + seconds * SECOND)

    def pass_time(self, seconds):
        self.until(lambda: False, seconds)

    def run(self, process, seconds=120):
        """Run a process to its end; returns what it returned."""
        result = []

        def wrapped():
            result.append((yield from process))

        task = self.scheduler.spawn("test", wrapped())
        assert self.until(lambda: task.done, seconds), f"still waiting for {task.waiting_for}"
        return result[0]

    def steps(self, *steps):
        """Run steps of a schedule; returns whether all could be done."""
        return self.run(self.runner.run([Step.model_validate(step) for step in steps]))

    def inject(self, **inject):
        """Inject one fault; returns its record."""
        self.steps({"inject": inject})
        return self.faults.records[-1]

    def heal_all(self):
        self.run(self.faults.heal_all())


@pytest.fixture
def harness():
    return Harness()


@pytest.fixture
def busy_harness():
    """With a producer and a consumer."""
    return Harness(workload=True)


# --- a scripted broker ----------------------------------------------------------------------------------------------


class ScriptedBroker:
    """Answers metadata truthfully and everything else as the test says.

    ``produce(request)`` returns an error code, ``(code, offset)``, or None for no answer at all.
    """

    def __init__(self, node_id, partitions):
        self.node_id = node_id
        self.partitions = partitions
        self.leader = 0
        self.leader_epoch = 0
        self.brokers = {0: Endpoint("broker-0", 9092)}
        self.produce = lambda request: 0
        self.handlers = {}
        self.produced = []  # (base sequence, producer epoch, value) of each attempt
        self.topic_id = TOPIC_ID
        self.topic_error = 0

    def start(self): ...

    def stop(self, on_stopped):
        on_stopped()

    def on_request(self, request):
        body = request.body
        match body.NAME:
            case "MetadataRequest":
                request.reply(self.metadata())
            case "InitProducerIdRequest":
                request.reply(InitProducerIdResponse(error_code=0, producer_id=77, producer_epoch=0))
            case "ProduceRequest":
                answer = self.produce(request)
                if answer is not None:
                    code, offset = answer if isinstance(answer, tuple) else (answer, len(self.produced))
                    topic = body.topic_data[0]
                    request.reply(
                        ProduceResponse(
                            responses=[
                                TopicProduceResponse(
                                    name=topic.name,
                                    partition_responses=[
                                        PartitionProduceResponse(
                                            index=topic.partition_data[0].index, error_code=code, base_offset=offset
                                        )
                                    ],
                                )
                            ]
                        )
                    )
            case name:
                self.handlers[name](request)

    def metadata(self):
        return MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=i, host=e.host, port=e.port) for i, e in self.brokers.items()],
            cluster_id="scripted",
            controller_id=0,
            topics=[
                MetadataResponseTopic(
                    error_code=self.topic_error,
                    name="orders",
                    topic_id=self.topic_id,
                    partitions=[
                        MetadataResponsePartition(
                            partition_index=index,
                            leader_id=self.leader,
                            leader_epoch=self.leader_epoch,
                            replica_nodes=[0],
                            isr_nodes=[0],
                        )
                        for index in range(self.partitions)
                    ],
                )
            ],
        )


@pytest.fixture
def scripted():
    """A simulator with one scripted broker, a recorder, and a way to add a client."""
    simulator = Simulator(1)
    broker = ScriptedBroker(0, 1)
    recorder = HistoryRecorder(lambda: simulator.now_ns)
    simulator.add_node("broker-0", 9092, lambda _: broker, disk=False)
    simulator.start("broker-0")

    def add(name, make):
        made = []

        def factory(ports):
            made.append(make(ports, recorder))
            return made[0]

        simulator.add_node(name, 9092, factory, disk=False)
        simulator.start(name)
        simulator.run_for(0)
        return made[0]

    return SimpleNamespace(simulator=simulator, broker=broker, recorder=recorder, add=add)


# --- events ---------------------------------------------------------------------------------------------------------


class Events:
    """Writes events into a view, with numbers and times of their own."""

    def __init__(self, mode="kraft"):
        self.view = ClusterView(mode)
        self.offset = 0

    def put(self, node, event, *, incarnation=1, time_ns=None):
        seq = self.view.next_seq
        self.view.observe([TimedEvent(seq, seq if time_ns is None else time_ns, node, incarnation, event)])

    def next_offset(self):
        self.offset += 1
        return self.offset

    def started(self, *nodes, incarnation=1):
        for node in nodes:
            self.put(node, NodeStarted(), incarnation=incarnation)

    def stopped(self, node, reason="kill", incarnation=1):
        self.put(node, NodeStopped(reason=reason), incarnation=incarnation)

    def partition(self, name="orders-0", *, replicas=(0, 1), isr=(0, 1), leader=0, epoch=0, reason="changed"):
        self.put(
            "controller-0",
            PartitionChanged(
                partition=name,
                topic_id="0" * 32,
                replicas=list(replicas),
                isr=list(isr),
                leader=leader,
                leader_epoch=epoch,
                partition_epoch=0,
                metadata_offset=self.next_offset(),
                reason=reason,
            ),
        )

    def registered(self, broker, *, incarnation=1, unfenced=True):
        epoch = self.next_offset()
        self.put(
            "controller-0",
            BrokerRegistered(broker=broker, broker_epoch=epoch, metadata_offset=epoch, reason="0" * 32),
        )
        self.put(
            f"broker-{broker}",
            BrokerStateChanged(broker=broker, broker_epoch=epoch, reason="registered"),
            incarnation=incarnation,
        )
        if unfenced:
            self.fencing(broker, "unfenced", epoch)
        return epoch

    def fencing(self, broker, reason, epoch=0):
        self.put(
            "controller-0",
            BrokerRegistrationChanged(
                broker=broker, broker_epoch=epoch, metadata_offset=self.next_offset(), reason=reason
            ),
        )

    def raft(self, controller, epoch, reason, time_ns=None):
        self.put(controller, RaftStateChanged(epoch=epoch, leader=-1, broker=-1, reason=reason), time_ns=time_ns)


@pytest.fixture
def zookeeper_events():
    """Broker 2 is the controller. The ISR of orders-0 is {0, 1}."""
    found = Events("zookeeper")
    found.started("zookeeper-0", "zookeeper-1", "zookeeper-2", "broker-0", "broker-1", "broker-2")
    for broker in range(3):
        found.registered(broker)
    found.put("zookeeper-0", ControllerChanged(broker=2, epoch=1, metadata_offset=found.next_offset()))
    found.partition()
    return found


@pytest.fixture
def events():
    found = Events()
    found.started("controller-0", "controller-1", "controller-2", "broker-0", "broker-1", "broker-2")
    found.raft("controller-0", 1, "leader")
    for broker in range(3):
        found.registered(broker)
    found.partition()
    return found
