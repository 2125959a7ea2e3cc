"""The clients of one run: how many, at what rate, and how to tell that they are done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Final, Literal

import msgspec

from highwater_chaos.backends.protocol import Backend
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.workload.admin import AdminClient
from highwater_chaos.workload.consumer import ConsumerOptions, RecordingConsumer
from highwater_chaos.workload.drivers import DRIVERS
from highwater_chaos.workload.drivers.client import DriverClient
from highwater_chaos.workload.drivers.lines import DriverSettings
from highwater_chaos.workload.group_member import GroupMember, MemberOptions
from highwater_chaos.workload.history import HistoryRecorder
from highwater_chaos.workload.producer import VALUES_PER_PRODUCER, ProducerOptions, RecordingProducer
from highwater_chaos.workload.registers import RegisterClient, RegisterOptions
from highwater_runtime.ports import MS, SECOND, NodeCore, Ports

_ACKS: Final = {"all": -1, "0": 0, "1": 1}
_PROBE_INTERVAL_NS: Final = 10 * MS
_MAX_IN_FLIGHT: Final = 5
"""Requests of the probe under way to one broker."""


def may_duplicate(schedule: Any) -> bool:
    """Whether a schedule, as a file has it, may deliver a request twice: it injects ``duplicate`` somewhere, or draws
    faults of which that may be one."""
    match schedule:
        case {"duplicate": _}:
            return True
        case {"random": {**drawn}} if not drawn.get("faults"):
            return True
        case dict():
            return any(may_duplicate(inner) for inner in schedule.values())
        case list():
            return any(may_duplicate(inner) for inner in schedule)
    return False


class Clients:
    """Starts clients on a backend and keeps hold of them."""

    def __init__(self, backend: Backend, experiment: ChaosExperiment, recorder: HistoryRecorder) -> None:
        self._backend = backend
        self._recorder = recorder
        self._workload = experiment.spec.workload
        topics = self._workload.topics
        self._topics = [topic.name for topic in experiment.cluster.topics] if topics is None else list(topics)
        self._seed = experiment.spec.seed
        steps = [step.model_dump(mode="json", by_alias=True, exclude_none=True) for step in experiment.spec.schedule]
        self._may_be_duplicated = may_duplicate(steps)
        self._producers: list[RecordingProducer | DriverClient] = []
        self._consumers: list[RecordingConsumer | DriverClient] = []
        self._registers: list[RegisterClient] = []
        self._group_members: list[GroupMember] = []
        self._final: RecordingConsumer | None = None
        self.admin: AdminClient

    def start_admin(self) -> None:
        """The client that creates topics."""

        def make(ports: Ports) -> NodeCore:
            self.admin = AdminClient(self._backend.bootstrap(), ports)
            return self.admin

        self._backend.add_client("admin-0", make)

    def start_workload(self) -> None:
        """Producers and consumers as the experiment asks."""
        driver = DRIVERS.get(self._workload.driver)
        for index in range(self._workload.producers):
            if driver is None:
                self._backend.add_client(f"producer-{index}", self._producer(index))
            else:
                self._producers.append(self._drive(driver.command, self._driven_producer(index)))
        for index in range(self._workload.consumers):
            if driver is None:
                self._backend.add_client(f"consumer-{index}", self._consumer(f"consumer-{index}"))
            else:
                self._consumers.append(self._drive(driver.command, self._driven_consumer(index)))
        for name, make in self._register_clients():
            self._backend.add_client(name, make)
        for index in range(self._workload.group_members):
            self._backend.add_client(f"group-member-{index}", self._group_member(index))

    def start_probe(self, partitions: Iterable[str], patience_ns: int) -> None:
        """A producer that writes one record to each of ``partitions``, and tries for as long as ``patience_ns``.

        It is one of the harness's own, whatever the driver. It asks for an acknowledgement even if the workload does
        not. A broker answers one connection's requests in order, so a partition that is stuck holds up the others: the
        broker is asked to give up on each early enough for all requests in flight to be answered.
        """
        workload = self._workload
        keys = [(topic, int(index)) for topic, _, index in (name.rpartition("-") for name in partitions)]
        options = replace(
            self._producer_options(workload.producers),
            name="probe",
            topics=sorted({topic for topic, _ in keys}),
            interval_ns=_PROBE_INTERVAL_NS,
            acks=_ACKS[workload.acks] or _ACKS["all"],
            ack_timeout_ns=workload.request_timeout // (_MAX_IN_FLIGHT + 1),
            delivery_timeout_ns=patience_ns,
            max_in_flight=_MAX_IN_FLIGHT,
            probed=keys,
        )
        self._backend.add_client(options.name, self._recording_producer(options))

    def start_final_reader(self) -> None:
        """A consumer that reads everything once more, from the earliest offset to the HW."""
        self._backend.add_client("final-reader", self._consumer("final-reader", drain=True))

    # --- ends ---

    def finish_producers(self) -> None:
        """Let producers send nothing new."""

        def finish() -> None:
            for producer in self._producers:
                producer.finish()

        self._backend.post(finish)

    def finish_registers(self) -> None:
        """Let clients of registers begin nothing new."""

        def finish() -> None:
            for client in self._registers:
                client.finish()

        self._backend.post(finish)

    def registers_idle(self) -> bool:
        """Whether every operation on a register has its outcome."""
        return all(client.idle for client in self._registers)

    def finish_consumers(self) -> None:
        """Let consumers poll no more."""

        def finish() -> None:
            for client in (*self._consumers, *self._group_members):
                client.finish()

        self._backend.post(finish)

    def producers_idle(self) -> bool:
        """Whether every send has its outcome."""
        return all(producer.idle for producer in self._producers)

    def consumers_idle(self) -> bool:
        """Whether no poll is open."""
        return all(consumer.idle for consumer in self._consumers)

    def drained(self) -> bool:
        """Whether the final reader has read everything."""
        return self._final is not None and self._final.drained

    def not_drained(self) -> str:
        """What the final reader has not read, for a message."""
        if self._final is None:
            return "the final reader has not started"
        remaining = self._final.remaining()
        return ", ".join(f"{key} at {where}" for key, where in remaining.items()) or "it knows no partition"

    def doubts(self) -> list[str]:
        """What makes the history one that cannot be judged: drivers that died."""
        clients = (*self._producers, *self._consumers)
        return [client.doubt for client in clients if isinstance(client, DriverClient) and client.doubt is not None]

    # --- making ---

    def _drive(self, command: tuple[str, ...], settings: DriverSettings) -> DriverClient:
        client = DriverClient(settings.name, self._recorder, self._backend.now_ns)
        argv = (*command, msgspec.json.encode(settings).decode())
        process = self._backend.add_client_process(settings.name, argv, client.on_line, client.on_exit)
        self._backend.post(lambda: client.started(process))
        return client

    def _driven_producer(self, index: int) -> DriverSettings:
        workload = self._workload
        return DriverSettings(
            role="producer",
            name=f"producer-{index}",
            bootstrap=self._bootstrap(),
            topics=tuple(self._topics),
            seed=f"{self._seed}/producer-{index}",
            request_timeout_ns=workload.request_timeout,
            ack_timeout_ns=workload.ack_timeout,
            delivery_timeout_ns=workload.delivery_timeout,
            interval_ns=int(SECOND * workload.producers / workload.rate),
            values_from=index * VALUES_PER_PRODUCER + 1,
            acks=_ACKS[workload.acks],
            idempotence=workload.idempotence,
        )

    def _driven_consumer(self, index: int) -> DriverSettings:
        return DriverSettings(
            role="consumer",
            name=f"consumer-{index}",
            bootstrap=self._bootstrap(),
            topics=tuple(self._topics),
            seed=f"{self._seed}/consumer-{index}",
            request_timeout_ns=self._workload.request_timeout,
            delivery_timeout_ns=self._workload.delivery_timeout,
        )

    def _bootstrap(self) -> str:
        return ",".join(f"{endpoint.host}:{endpoint.port}" for endpoint in self._backend.bootstrap())

    def _producer(self, index: int) -> Callable[[Ports], NodeCore]:
        return self._recording_producer(self._producer_options(index))

    def _producer_options(self, index: int) -> ProducerOptions:
        workload = self._workload
        return ProducerOptions(
            name=f"producer-{index}",
            index=index,
            bootstrap=self._backend.bootstrap(),
            topics=self._topics,
            interval_ns=int(SECOND * workload.producers / workload.rate),
            record_size=workload.record_size,
            acks=_ACKS[workload.acks],
            idempotence=workload.idempotence,
            request_timeout_ns=workload.request_timeout,
            ack_timeout_ns=workload.ack_timeout,
            delivery_timeout_ns=workload.delivery_timeout,
            may_be_duplicated=self._may_be_duplicated,
        )

    def _recording_producer(self, options: ProducerOptions) -> Callable[[Ports], NodeCore]:
        def make(ports: Ports) -> NodeCore:
            producer = RecordingProducer(options, ports, self._recorder)
            self._producers.append(producer)
            return producer

        return make

    def _consumer(self, name: str, *, drain: bool = False) -> Callable[[Ports], NodeCore]:
        options = ConsumerOptions(
            name=name,
            bootstrap=self._backend.bootstrap(),
            topics=self._topics,
            drain=drain,
            request_timeout_ns=self._workload.request_timeout,
        )

        def make(ports: Ports) -> NodeCore:
            consumer = RecordingConsumer(options, ports, self._recorder)
            if drain:
                self._final = consumer
            else:
                self._consumers.append(consumer)
            return consumer

        return make

    def _group_member(self, index: int) -> Callable[[Ports], NodeCore]:
        options = MemberOptions(
            name=f"group-member-{index}",
            bootstrap=self._backend.bootstrap(),
            topics=self._topics,
            request_timeout_ns=self._workload.request_timeout,
        )

        def make(ports: Ports) -> NodeCore:
            member = GroupMember(options, ports)
            self._group_members.append(member)
            return member

        return make

    def _register_clients(self) -> Iterator[tuple[str, Callable[[Ports], NodeCore]]]:
        metadata = self._workload.metadata
        if metadata is None:
            return
        clients = metadata.writers + metadata.readers
        roles: list[tuple[Literal["write", "read"], str, int]] = [
            *(("write", "register-writer", index) for index in range(metadata.writers)),
            *(("read", "register-reader", index) for index in range(metadata.readers)),
        ]
        for role, name, index in roles:
            options = RegisterOptions(
                name=f"{name}-{index}",
                index=index,
                role=role,
                brokers=self._backend.bootstrap(),
                controllers=self._backend.controllers(),
                interval_ns=int(SECOND * clients / metadata.rate),
                linearizable=metadata.reads == "linearizable",
                request_timeout_ns=self._workload.request_timeout,
            )
            yield options.name, self._register_client(options)

    def _register_client(self, options: RegisterOptions) -> Callable[[Ports], NodeCore]:
        def make(ports: Ports) -> NodeCore:
            client = RegisterClient(options, ports, self._recorder)
            self._registers.append(client)
            return client

        return make
