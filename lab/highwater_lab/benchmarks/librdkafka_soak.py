"""Ten million records through librdkafka while leaders die and machines lose power: is one lost, doubled, out of order?

    python -m highwater_lab.benchmarks.librdkafka_soak [--records N] [--leader-changes N] [--power-losses N]
                                [--partitions N]

Three brokers and three controllers on the backend ``local`` (as root: network namespaces, and a file system of its own
for each broker, whose power can be cut; without root only ``--power-losses 0``). One topic of RF 3 and
``min.insync.replicas`` 2. One idempotent producer (``acks=all``) and one consumer, librdkafka both, each a process.

The records are numbered; number *n* goes to partition *n* mod P. They are sent in chunks, one for each thing that
happens: SIGKILL of a leader's broker, an election that gives the leaders back to the preferred replicas, or a power
loss of a leader's machine, while the chunk is being sent at full speed; then every replica gets back in sync and the
rest of the chunk is acknowledged. The consumer reads along and counts for every single number how often it came, and
whether each partition's numbers came in order. A loss is a number that was acknowledged and never came.

Exits 1 if a number is missing, came twice or out of order, or if not as much happened as was asked for.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, Literal

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from highwater_chaos.backends import make_backend
from highwater_chaos.backends.primitives import PRIMITIVES, KillsNodes, LosesPower
from highwater_chaos.backends.protocol import Backend, NodeState
from highwater_chaos.backends.view import ClusterView
from highwater_chaos.base.process import Process, Scheduler
from highwater_chaos.experiment import parse_experiment
from highwater_chaos.experiment.nodes import broker_names, node_id
from highwater_chaos.experiment.steps import Admin, CreateTopic, Step
from highwater_chaos.faults import FaultRecord
from highwater_chaos.schedule.administration import Administration
from highwater_chaos.schedule.batches import Batches
from highwater_chaos.schedule.conditions import World
from highwater_chaos.schedule.fault_manager import FaultManager
from highwater_chaos.schedule.runner import ScheduleRunner
from highwater_chaos.workload.client_host import ClientProcess, HostsClientProcesses
from highwater_chaos.workload.clients import Clients
from highwater_runtime.ports import SECOND

TOPIC: Final = "soak"
SIZE: Final = 32
"""Bytes of a value: the number, and padding."""
EXPERIMENT: Final = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: librdkafka-soak}
spec:
  timeout: 3h
  cluster:
    brokers: 3
    controllers: 3
    config:
      min.insync.replicas: 2
      broker.session.timeout.ms: 3000
      broker.heartbeat.interval.ms: 500
      replica.lag.time.max.ms: 10000
      auto.leader.rebalance.enable: false
      offsets.topic.num.partitions: 1
  workload: {producers: 0, consumers: 0}
"""
PATIENCE_NS: Final = 300 * SECOND
_NUMBER: Final = struct.Struct(">Q")
_JUST_ELECTED: Final = (
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
)

Event = Literal["kill", "elect", "powerLoss"]


# --- the clients, each in a process of its own ----------------------------------------------------------------------


def say(**what: object) -> None:
    """One line to the harness."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


class Orders:
    """What the harness says on stdin: ``to N``: that far and no further; ``end``: finish. Its end ends the process."""

    def __init__(self) -> None:
        self.limit = 0
        self.ending = False
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in sys.stdin:
            word, _, number = line.strip().partition(" ")
            if word == "to":
                self.limit = int(number)
            elif word == "end":
                self.ending = True
        os._exit(3)


def produce(bootstrap: str, partitions: int) -> None:
    """Send numbers up to the limit of the orders, as fast as librdkafka takes them."""
    orders = Orders()
    errors: list[str] = []

    def failed(error: KafkaError | None, _: Message) -> None:
        errors.append(str(error))

    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": "soak-producer",
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 20,
            "queue.buffering.max.messages": 200_000,
            "message.timeout.ms": PATIENCE_NS // 1_000_000,
            "socket.timeout.ms": 10_000,
            "reconnect.backoff.max.ms": 1000,
            "delivery.report.only.error": True,
            "on_delivery": failed,
            "log_level": 2,
        }
    )
    padding = b"." * (SIZE - _NUMBER.size)
    number, reported_at = 0, 0.0
    while not orders.ending:
        for _ in range(min(2000, orders.limit - number)):
            try:
                producer.produce(TOPIC, _NUMBER.pack(number) + padding, partition=number % partitions)
            except BufferError:
                producer.poll(0.01)
                break
            number += 1
        producer.poll(0 if number < orders.limit else 0.02)
        if time.monotonic() - reported_at > 0.1:
            reported_at = time.monotonic()
            say(acknowledged=number - len(producer) - len(errors), errors=errors[:5])
    producer.flush(PATIENCE_NS / SECOND)
    say(acknowledged=number - len(producer) - len(errors), errors=errors[:5], done=True)


def consume(bootstrap: str, partitions: int, records: int) -> None:
    """Read every partition from its beginning and keep count of every number."""
    orders = Orders()
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": "soak-consumer",
            "group.id": "soak",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "socket.timeout.ms": 10_000,
            "reconnect.backoff.max.ms": 1000,
            "log_level": 2,
        }
    )
    where = [TopicPartition(TOPIC, index, 0) for index in range(partitions)]
    consumer.assign(where)
    times = bytearray(records)
    last = [-1] * partitions
    position = [0] * partitions
    read = disordered = strange = 0
    errors: list[str] = []
    reported_at, ends = 0.0, None
    while ends is None or position != ends:
        for message in consumer.consume(10_000, timeout=0.2):
            if message.error() is not None:
                errors.append(str(message.error()))
                continue
            index, offset, value = message.partition(), message.offset(), message.value()
            assert index is not None
            assert offset is not None
            assert value is not None
            (number,) = _NUMBER.unpack_from(value)
            read += 1
            if number >= records or number % partitions != index or offset != position[index]:
                strange += 1
            else:
                times[number] = min(255, times[number] + 1)
            disordered += number <= last[index]
            last[index] = number
            position[index] = offset + 1
        if orders.ending and ends is None:
            ends = ends_of(consumer, where)
        if time.monotonic() - reported_at > 0.1:
            reported_at = time.monotonic()
            say(read=read)
    say(
        read=read,
        missing=times[: orders.limit].count(0),
        doubled=sum(count - 1 for count in times if count > 1),
        disordered=disordered,
        strange=strange,
        errors=errors[:5],
        done=True,
    )
    consumer.close()


def ends_of(consumer: Consumer, where: list[TopicPartition]) -> list[int] | None:
    """The HW of each partition; None just after an election.

    A leader that was just elected does not know the HW yet (KIP-207). librdkafka may still ask the leader before it and
    hands that broker's refusal to the caller.
    """
    try:
        return [consumer.get_watermark_offsets(partition, timeout=30)[1] for partition in where]
    except KafkaException as error:
        if error.args[0].code() not in _JUST_ELECTED:
            raise
        return None


# --- the harness ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Client:
    """A client process as the harness sees it: the latest value of each key that it reported."""

    name: str
    reported: dict[str, Any] = field(default_factory=dict)
    process: ClientProcess | None = None
    ended: str | None = None

    def on_line(self, line: bytes) -> None:
        """Keep it."""
        self.reported.update(json.loads(line))

    def on_exit(self, status: int, stderr: str) -> None:
        """Keep the exit status and the end of stderr."""
        self.ended = f"ended with status {status}: {stderr}"

    @property
    def lost(self) -> bool:
        """Whether it has ended without the report ``done``."""
        return self.ended is not None and "done" not in self.reported


class Soak:
    """One run on a backend that is closed by the caller."""

    def __init__(self, backend: Backend, records: int, partitions: int, events: list[Event]) -> None:
        self.records = records
        self.partitions = partitions
        self.events = events
        self.backend = backend
        self.experiment = parse_experiment(EXPERIMENT, "librdkafka_soak.py")
        self.cluster = self.experiment.cluster
        self.producer, self.consumer = Client("producer"), Client("consumer")
        self.leader_changes = 0
        """Events after which at least one partition had another leader."""
        self.happened: Counter[Event] = Counter()
        """How often each has happened: the next one strikes the leader of the next partition, so another broker."""
        self.epochs = 0
        """Leader changes of single partitions, all events together."""
        self.first_chunk_rate = 0.0
        self.seconds = 0.0
        self.view = ClusterView()

    def run(self) -> list[FaultRecord]:
        """All of it; returns the records of its faults. Raises RuntimeError when it cannot go on."""
        self.backend.build(self.cluster, 1)
        self.scheduler = Scheduler(
            self.backend.now_ns,
            self.backend.advance,
            on_turn=lambda: self.view.observe(self.backend.events_since(self.view.next_seq)),
            poll_ns=self.backend.poll_ns,
        )
        fault_manager = FaultManager(self.backend, self.cluster, self.view, self.scheduler, Random, 1 << 60)
        clients = Clients(self.backend, self.experiment)
        clients.start_admin()
        administration = Administration(clients, self.view, self.backend)
        self.runner = ScheduleRunner(
            self.cluster,
            World(self.backend, self.view, lambda: clients.acknowledged, fault_manager.caught),
            self.scheduler,
            fault_manager,
            administration.run,
            Random,
            Batches(clients).write,
        )
        self._until(self._whole, "the cluster to be up")
        topic = CreateTopic(name=TOPIC, partitions=self.partitions, replication_factor=3)
        self._finish(administration.run(Admin(create_topic=topic)), "the topic")
        self._until(lambda: bool(self._leaders()) and self._whole(), "the topic to be in sync")
        self._start(self.consumer, "consume")
        self._start(self.producer, "produce")
        began = time.monotonic()
        targets = [self.records * (number + 1) // (len(self.events) + 1) for number in range(len(self.events) + 1)]
        self._chunk(0, targets[0])
        self.first_chunk_rate = targets[0] / (time.monotonic() - began)
        for event, start, target in zip(self.events, targets, targets[1:], strict=False):
            self._event(event, start, target)
        self._tell(self.producer, b"end\n")
        self._until(lambda: "done" in self.producer.reported, "the producer's last outcomes")
        self._tell(self.consumer, b"to %d\nend\n" % self.records)
        self._until(lambda: "done" in self.consumer.reported, "the consumer to read to the end")
        self.seconds = time.monotonic() - began
        return fault_manager.records

    def _start(self, client: Client, role: str) -> None:
        bootstrap = ",".join(f"{endpoint.host}:{endpoint.port}" for endpoint in self.backend.bootstrap())
        argv = [sys.executable, __file__, "--role", role, "--bootstrap", bootstrap]
        argv += ["--partitions", str(self.partitions), "--records", str(self.records)]
        assert isinstance(self.backend, HostsClientProcesses)
        client.process = self.backend.add_client_process(f"soak-{client.name}", argv, client.on_line, client.on_exit)

    def _tell(self, client: Client, line: bytes) -> None:
        process = client.process
        assert process is not None
        self.backend.post(lambda: process.write(line))

    def _chunk(self, start: int, target: int, then: Callable[[], None] = lambda: None) -> None:
        """Have everything up to ``target`` sent; ``then`` happens when a tenth of it is acknowledged."""
        self._tell(self.producer, b"to %d\n" % target)
        self._acknowledged(start + (target - start) // 10)
        then()
        self._acknowledged(target)

    def _acknowledged(self, number: int) -> None:
        self._until(lambda: self.producer.reported.get("acknowledged", 0) >= number, f"{number} acknowledged records")

    def _event(self, event: Event, start: int, target: int) -> None:
        leaders, epochs = self._leaders(), self._epochs()
        struck = f"{TOPIC}-{self.happened[event] % self.partitions}"
        self.happened[event] += 1

        def happen() -> None:
            match event:
                case "elect":
                    self._do({"admin": {"electLeaders": {}}})
                case "kill":
                    self._do({"inject": {"kill": {"target": {"leaderOf": struck}, "restartAfter": "1s"}}})
                case "powerLoss":
                    power = {"target": {"leaderOf": struck}, "keep": "none", "restartAfter": "1s"}
                    self._do({"inject": {"powerLoss": power}})

        before = time.monotonic()
        self._chunk(start, target, happen)
        self._until(self._whole, f"every replica to be in sync after {event}")
        changed = [name for name, leader in self._leaders().items() if leader != leaders[name]]
        self.leader_changes += bool(changed)
        self.epochs += self._epochs() - epochs
        took = time.monotonic() - before
        print(
            f"  {event:9} {target:>10} acknowledged, {self.consumer.reported.get('read', 0):>10} read,"
            f" {len(changed)} of {self.partitions} leaders changed, {took:5.1f} s",
            file=sys.stderr,
            flush=True,
        )

    def _leaders(self) -> dict[str, int]:
        """The leader of each partition of the topic; empty until all are there."""
        names = [f"{TOPIC}-{index}" for index in range(self.partitions)]
        return {name: self.view.partitions[name].leader for name in names} if names[-1] in self.view.partitions else {}

    def _epochs(self) -> int:
        return sum(self.view.partitions[name].leader_epoch for name in self._leaders())

    def _do(self, step: dict[str, Any]) -> None:
        if not self._finish(self.runner.run([Step.model_validate(step)]), str(step)):
            raise RuntimeError(f"{step}: {'; '.join(self.runner.inconclusive_reasons)}")

    def _finish(self, process: Process[Any], what: str) -> Any:
        result: list[Any] = []

        def wrapped() -> Process[None]:
            result.append((yield from process))

        task = self.scheduler.spawn(what, wrapped())
        self._until(lambda: task.done, what)
        return result[0]

    def _whole(self) -> bool:
        brokers = broker_names(self.cluster)
        return (
            self.view.active_controller() is not None
            and all(
                self.backend.state(name) is NodeState.UP and self.view.is_unfenced(node_id(name)) for name in brokers
            )
            and not self.view.under_replicated()
        )

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        def over() -> bool:
            return condition() or self.producer.lost or self.consumer.lost

        done = self.scheduler.run(over, self.backend.now_ns() + PATIENCE_NS)
        for client in (self.producer, self.consumer):
            if client.lost:
                raise RuntimeError(f"the {client.name} {client.ended}")
        if not done:
            raise RuntimeError(f"still waiting for {what} after {PATIENCE_NS // SECOND} s")


def plan(leader_changes: int, power_losses: int) -> list[Event]:
    """Kills and elections in turn, each a leader change, with the power losses spread evenly among them."""
    events: list[Event] = [("kill", "elect")[number % 2] for number in range(leader_changes)]
    every = max(1, leader_changes // max(1, power_losses))
    for number in range(power_losses):
        events.insert(min(len(events), (number + 1) * every + number), "powerLoss")
    return events


def main() -> int:
    """Run, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--leader-changes", type=int, default=20)
    parser.add_argument("--power-losses", type=int, default=5)
    parser.add_argument("--partitions", type=int, default=6)
    parser.add_argument("--role", choices=["produce", "consume"], help=argparse.SUPPRESS)
    parser.add_argument("--bootstrap", help=argparse.SUPPRESS)
    given = parser.parse_args()
    match given.role:
        case "produce":
            produce(given.bootstrap, given.partitions)
            return 0
        case "consume":
            consume(given.bootstrap, given.partitions, given.records)
            return 0
    backend = make_backend("local")
    needed = {KillsNodes, HostsClientProcesses} | ({LosesPower} if given.power_losses else set())
    if missing := needed - backend.primitives:
        names = ", ".join(sorted(PRIMITIVES[one] for one in missing))
        print(f"this machine cannot do: {names} (power losses need root; see highwater doctor)", file=sys.stderr)
        return 254
    soak = Soak(backend, given.records, given.partitions, plan(given.leader_changes, given.power_losses))
    try:
        faults = soak.run()
    finally:
        backend.close()
    return report(soak, faults, given.leader_changes, given.power_losses)


def report(soak: Soak, faults: list[FaultRecord], leader_changes: int, power_losses: int) -> int:
    """Print what was counted; the exit status."""
    sent, read = soak.producer.reported, soak.consumer.reported
    confirmed = [fault for fault in faults if fault.inconclusive_reason() is None]
    power = [fault for fault in confirmed if fault.kind == "powerLoss"]
    print(f"records acknowledged        {sent['acknowledged']}")
    print(f"records read                {read['read']}")
    print(f"missing                     {read['missing']}")
    print(f"doubled                     {read['doubled']}")
    print(f"out of order                {read['disordered']}")
    print(f"in the wrong place          {read['strange']}")
    print(f"leader changes              {soak.leader_changes} ({soak.epochs} leader epochs of single partitions)")
    lost = [evidence.what for fault in power for evidence in fault.inject_evidence if "unsynced" in evidence.what]
    print(f"power losses                {len(power)} ({'; '.join(lost)})")
    print(f"kills                       {len(confirmed) - len(power)}")
    print(f"seconds                     {soak.seconds:.1f}")
    print(f"records/s, all of it        {soak.records / soak.seconds:.0f}")
    print(f"records/s before any fault  {soak.first_chunk_rate:.0f}")
    wrong = [
        *(f"the producer: {error}" for error in sent["errors"]),
        *(f"the consumer: {error}" for error in read["errors"]),
        *(
            f"{fault.id} ({fault.kind}): {fault.inconclusive_reason()}"
            for fault in faults
            if fault.inconclusive_reason() is not None
        ),
    ]
    if sent["acknowledged"] != soak.records:
        wrong.append(f"{soak.records - sent['acknowledged']} records were not acknowledged")
    if soak.leader_changes < leader_changes or len(power) < power_losses:
        wrong.append(f"{leader_changes} leader changes and {power_losses} power losses were asked for")
    for what in wrong:
        print(f"NOT GOOD: {what}")
    return 1 if wrong or read["missing"] or read["doubled"] or read["disordered"] or read["strange"] else 0


if __name__ == "__main__":
    sys.exit(main())
