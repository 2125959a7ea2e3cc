"""A run told event by event, with faults and sends: what :mod:`highwater_chaos.liveness.promptness` judges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from highwater_chaos.backends.protocol import TimedEvent
from highwater_chaos.experiment import parse_experiment
from highwater_chaos.faults import FaultRecord
from highwater_chaos.faults.base import Evidence, FaultTarget
from highwater_chaos.liveness.course import Course
from highwater_chaos.liveness.promptness import Bounds, Owed, Promptness
from highwater_chaos.workload.history import MicroOp, Operation
from highwater_runtime.ports import SECOND
from highwater_runtime.ports.trace import (
    BecameLeader,
    BrokerRegistered,
    BrokerRegistrationChanged,
    BrokerStateChanged,
    ControllerChanged,
    HighWatermarkAdvanced,
    LogAppended,
    NodeEvent,
    NodeStarted,
    NodeStopped,
    PartitionChanged,
    RaftStateChanged,
)

FILE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: test}}
spec:
  seed: 1
  timeout: 2m
  cluster:
    mode: {mode}
    brokers: 3
    {quorum}: {voters}
    switches: {switches}
    config:
      min.insync.replicas: 2
      broker.heartbeat.interval.ms: 110
      broker.session.timeout.ms: 1300
      controller.quorum.election.backoff.max.ms: 170
      controller.quorum.election.timeout.ms: 1900
      controller.quorum.fetch.timeout.ms: 2300
      controller.quorum.request.timeout.ms: 290
      controller.socket.timeout.ms: 3100
      replica.fetch.backoff.ms: 370
      replica.fetch.wait.max.ms: 410
      replica.socket.timeout.ms: 4300
      zookeeper.session.timeout.ms: 4700
    topics: [{{name: orders, partitions: 1, assignment: [[0, 1, 2]]}}]
  workload: {{producers: 1, rate: 50/s, acks: {acks}, requestTimeout: 530ms}}
  schedule: []
"""
SETTLED, END = 1, 100
"""When the cluster was whole, and when the run ended, in seconds."""


class Run:
    """Brokers 0 to 2 lead and follow ``orders-0``; controller 0 leads the quorum, or broker 0 is the controller."""

    def __init__(self, mode: str = "kraft", *, acks: str = "all", switches: str = "{}", voters: int = 3) -> None:
        quorum = "controllers" if mode == "kraft" else "zookeepers"
        text = FILE.format(mode=mode, quorum=quorum, acks=acks, switches=switches, voters=voters)
        self.spec = parse_experiment(text, "test.yaml").spec
        assert self.spec.cluster is not None
        self.bounds = Bounds.of(self.spec)
        self.course = Course(self.spec.cluster)
        self.faults: list[FaultRecord] = []
        self.operations: list[Operation] = []
        self.throttled: list[str] = []
        self._incarnations: dict[str, int] = {}
        self.quorum = [f"{'controller' if mode == 'kraft' else 'zookeeper'}-{n}" for n in range(voters)]
        self._events = self._offset = 0
        for node in (*self.quorum, "broker-0", "broker-1", "broker-2"):
            self.tell(0, node, NodeStarted())
        self.elects(0, 0, 1)
        if mode == "zookeeper":
            self.controls(0, 0)
        for broker in range(3):
            self.registers(0, broker)
        self.decides(0)

    def tell(self, at: float, node: str, event: NodeEvent) -> Run:
        self.course.observe(
            [TimedEvent(self._events, round(at * SECOND), node, self._incarnations.get(node, 1), event)]
        )
        self._events += 1
        return self

    def elects(self, at: float, controller: int, epoch: int, reason: str = "leader") -> Run:
        return self.tell(
            at, self.quorum[controller], RaftStateChanged(epoch=epoch, leader=-1, broker=-1, reason=reason)
        )

    def controls(self, at: float, broker: int) -> Run:
        return self.tell(at, self.quorum[0], ControllerChanged(broker=broker, epoch=1, metadata_offset=self._next()))

    def _next(self) -> int:
        self._offset += 1
        return self._offset

    def registers(self, at: float, broker: int) -> Run:
        epoch = self._next()
        self.tell(
            at, self.quorum[0], BrokerRegistered(broker=broker, broker_epoch=epoch, metadata_offset=epoch, reason="0")
        )
        self.tell(at, f"broker-{broker}", BrokerStateChanged(broker=broker, broker_epoch=epoch, reason="registered"))
        return self.fences(at, broker, "unfenced")

    def fences(self, at: float, broker: int, reason: str = "fenced") -> Run:
        changed = BrokerRegistrationChanged(broker=broker, broker_epoch=0, metadata_offset=self._next(), reason=reason)
        return self.tell(at, self.quorum[0], changed)

    def decides(
        self, at: float, leader: int = 0, epoch: int = 0, isr: tuple[int, ...] = (0, 1, 2), **fields: Any
    ) -> Run:
        decided: dict[str, Any] = {"partition": "orders-0", "replicas": [0, 1, 2], "reason": "changed", **fields}
        return self.tell(
            at,
            self.quorum[0],
            PartitionChanged(
                topic_id="0" * 32, isr=list(isr), leader=leader, leader_epoch=epoch, partition_epoch=0,
                metadata_offset=self._next(), **decided,
            ),
        )  # fmt: skip

    def appends(
        self,
        at: float,
        broker: int = 0,
        end: int = 1,
        epoch: int = 0,
        reason: str = "leader",
        partition: str = "orders-0",
    ) -> Run:
        appended = LogAppended(partition=partition, leader_epoch=epoch, offset=end - 1, end_offset=end, reason=reason)
        return self.tell(at, f"broker-{broker}", appended)

    def commits(self, at: float, broker: int = 0, end: int = 1, epoch: int = 0) -> Run:
        return self.tell(
            at, f"broker-{broker}", HighWatermarkAdvanced(partition="orders-0", leader_epoch=epoch, offset=end)
        )

    def leads(self, at: float, topic_id: str = "0" * 32) -> Run:
        began = BecameLeader(
            partition="orders-0", topic_id=topic_id, leader_epoch=0, partition_epoch=0, offset=0, end_offset=0,
            isr=[0, 1, 2], replicas=[0, 1, 2],
        )  # fmt: skip
        return self.tell(at, "broker-0", began)

    def stops(self, at: float, node: str) -> Run:
        return self.tell(at, node, NodeStopped(reason="kill"))

    def starts(self, at: float, node: str) -> Run:
        self._incarnations[node] = 2
        return self.tell(at, node, NodeStarted())

    def fault(self, kind: str, node: str, begin: float, end: float, *peers: str, **parameters: Any) -> Run:
        """In force for this time, of which injection and heal take nothing."""
        times = [round(at * SECOND) for at in (begin, end)]
        links = [FaultTarget("link", f"{node}->{peer}", (node, peer)) for peer in peers]
        aimed = links or [FaultTarget("node", node, (node,))]
        self.faults.append(
            FaultRecord(
                id=f"fault-{len(self.faults)}",
                name=None,
                kind=kind,
                parameters=parameters,
                targets=(node,),
                started_ns=times[0],
                injected_ns=times[0],
                heal_started_ns=times[1],
                healed_ns=times[1],
                intent=aimed,
                inject_evidence=[Evidence(0, "seen", True, {}, one.name) for one in aimed],
                heal_evidence=[Evidence(0, "seen", True, {}, one.name) for one in aimed],
            )
        )
        return self

    def away(self, node: str, begin: float, end: float) -> Run:
        """Killed, and started again."""
        return self.fault("kill", node, begin, end).stops(begin, node).starts(end, node)

    def isolates(self, node: str, begin: float, end: float) -> Run:
        self.fault("partition", node, begin, end)
        others = [one for one in (*self.quorum, "broker-0", "broker-1", "broker-2") if one != node]
        pairs = [pair for other in others for pair in ((node, other), (other, node))]
        links = [FaultTarget("link", "->".join(pair), pair) for pair in pairs]
        record = self.faults[-1]
        record.intent = links
        record.inject_evidence = record.heal_evidence = [Evidence(0, "seen", True, {}, one.name) for one in links]
        return self

    def sends(self, begin: float, end: float | None, client: str = "producer-0", partition: str = "orders-0") -> Run:
        what = (MicroOp("send", partition, None, 1),)
        process = len(self.operations)
        for at, type_ in ((begin, "invoke"), (end, "ok")):
            if at is not None:
                number = len(self.operations)
                self.operations.append(Operation(number, round(at * SECOND), process, type_, "send", what, client))
        return self

    def throttles(self, topic: str) -> Run:
        self.throttled.append(topic)
        return self

    def of_two(self, at: float = 0) -> Run:
        """Another topic, without broker 2."""
        return self.decides(at, 0, 0, (0, 1), partition="two-0", replicas=[0, 1])

    def owed(self, feature: str) -> Owed:
        promptness = Promptness(
            self.spec,
            self.course,
            self.faults,
            END * SECOND,
            settled_ns=SETTLED * SECOND,
            throttled=self.throttled,
            operations=self.operations,
        )
        (found,) = [one for one in promptness.owed() if one.feature == feature]
        return found

    def late(self, feature: str) -> list[tuple[float, float, str]]:
        """In seconds, to the millisecond."""
        return [
            (round(one.begin_ns / SECOND, 3), round(one.end_ns / SECOND, 3), one.what)
            for one in self.owed(feature).late
        ]

    def judged(self, feature: str) -> float:
        return round(self.owed(feature).judged_ns / SECOND, 3)


ALWAYS = END - SETTLED
ROUND, ELECTION, SESSION, FETCHES, PROPOSES, FOLLOWS, CLIENT = 3.97, 6.77, 2.31, 5.17, 3.1, 1.65, 3.09
ZK_SESSION, ZK_FETCHES = 10.41, 8.27
BOTH = 2 * ALWAYS - FOLLOWS + SETTLED
CLIENTS = ALWAYS - FOLLOWS + SETTLED
"""That a partition has a leader, and, once its followers have found that, that it commits."""
SLOW, SENT = "what was appended to orders-0 was not committed", "a write of producer-0 to orders-0 was not acknowledged"
NONE, DEAD = "no controller was active", "controller-0 was the controller and did not live"
Late = list[tuple[float, float, str]]
Made = Callable[[], Run]
