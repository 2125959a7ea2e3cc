"""The clients of one run: how many, at what rate, in which processes, and how to tell that they are done."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import msgspec

from highwater_chaos.experiment import ChaosExperiment, Cluster
from highwater_chaos.experiment.nodes import broker_names, node_id
from highwater_chaos.experiment.properties import keys_of, timestamp_types, tombstones_of
from highwater_chaos.workload.admin import AdminClient
from highwater_chaos.workload.client_group import ClientSettings, ClientStatus, Group, HostedClients, Role
from highwater_chaos.workload.client_host import ClientHost, HasClientConfig, HasControllersConfig, HostsClientProcesses
from highwater_chaos.workload.client_process import ClientProcessGroup
from highwater_chaos.workload.consumer import ConsumerOptions
from highwater_chaos.workload.drivers import DRIVERS, OWN, Driver
from highwater_chaos.workload.drivers.lines import ProcessSettings, encode_settings
from highwater_chaos.workload.group_member import MemberOptions
from highwater_chaos.workload.history import HistoryRecorder, Operation
from highwater_chaos.workload.history_files import MergedHistory
from highwater_chaos.workload.lookups import LookupOptions
from highwater_chaos.workload.metadata import PartitionKey
from highwater_chaos.workload.metadata_probe import MetadataProbe
from highwater_chaos.workload.producer import BATCH_BYTES, ProducerOptions, batch_bytes
from highwater_chaos.workload.registers import RegisterOptions
from highwater_runtime.ports import MS, SECOND, Endpoint, NodeCore, Ports

_ACKS: Final = {"all": -1, "0": 0, "1": 1}
_PROBE_INTERVAL_NS: Final = 10 * MS
_MAX_IN_FLIGHT: Final = 5
"""Requests of the probe under way to one broker."""
_MAX_OPEN: Final = 200
"""Sends that a producer may have open, at least; more where it sends more than that in a second."""
_TOGETHER: Final = 3
"""Records with keys that a simulated producer sends at once, at most, if the workload does not say."""
_PER_PROCESS: Final = 2500.0
"""Records a second, sent or read, that clients of one process are given at most (or a single client)."""
_READ_COST: Final = 0.25
"""What reading a record costs a client, where sending one costs 1: records are read many at once."""


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


_Options = TypeVar("_Options", ProducerOptions, ConsumerOptions, MemberOptions, LookupOptions)

_LIMITS: Final = ("log.segment.bytes", "message.max.bytes", "segment.bytes", "max.message.bytes")
"""Properties of a cluster or a topic that bound a batch."""


def largest_batch(cluster: Cluster) -> int:
    """Bytes of a batch that fits every topic of the experiment: what is larger is refused each time."""
    configs = (cluster.config, *(topic.config for topic in cluster.topics))
    return min([BATCH_BYTES, *(int(config[name]) for config in configs for name in _LIMITS if name in config)])


class Clients:
    """Starts the clients of a run and keeps hold of them.

    Args:
        host: where they live: in processes of their own if it is one that :class:`HostsClientProcesses`.
        experiment: says which.
        spool: a directory for the files of such processes; None where there are none.
    """

    def __init__(self, host: ClientHost, experiment: ChaosExperiment, spool: Path | None = None) -> None:
        self._host = host
        self._cluster = experiment.cluster
        self._workload = experiment.spec.workload
        self._keys = keys_of(experiment.spec)
        self._tombstones = tombstones_of(experiment.spec)
        self._dated = timestamp_types(experiment.spec)
        topics = self._workload.topics
        self._topics = [topic.name for topic in experiment.cluster.topics] if topics is None else list(topics)
        self._written = dict.fromkeys(self._topics)
        """Those that clients of this run write: a step may write to a topic that another step created."""
        self._seed = experiment.spec.seed
        self._largest_batch = largest_batch(experiment.cluster)
        steps = [step.model_dump(mode="json", by_alias=True, exclude_none=True) for step in experiment.spec.schedule]
        self._may_be_duplicated = may_duplicate(steps)
        self._spool = spool
        self._here = _HereGroup(host)
        self._processes: list[ClientProcessGroup] = []
        self._reading = False
        self.admin: AdminClient
        self.metadata_probe: MetadataProbe

    # --- starting ---

    def start_admin(self, name: str = "admin-0") -> None:
        """The client that creates topics; of another name: one in its place, which has nothing to wait for."""

        def make(ports: Ports) -> NodeCore:
            brokers = None if self._cluster.runtime == "highwater" else self._brokers()
            self.admin = AdminClient(self._host.bootstrap(), ports, mode=self._cluster.mode, brokers=brokers)
            return self.admin

        self._host.add_client(name, make)

    def start_metadata_probe(self) -> None:
        """A client that asks single brokers for their metadata."""
        brokers = self._brokers()

        def make(ports: Ports) -> NodeCore:
            self.metadata_probe = MetadataProbe(brokers, ports)
            return self.metadata_probe

        self._host.add_client("metadata-probe", make)

    def _brokers(self) -> dict[int, Endpoint]:
        return dict(zip(map(node_id, broker_names(self._cluster)), self._host.bootstrap(), strict=True))

    def start_workload(self) -> None:
        """Producers and consumers as the experiment asks."""
        workload = self._workload
        wanted = ClientSettings(
            producers=self._one_after_the_other(map(self._producer, range(workload.producers))),
            consumers=self._one_after_the_other(
                (self._consumer(f"consumer-{index}") for index in range(workload.consumers)), first=1
            ),
            registers=tuple(self._register_clients()),
            members=self._one_after_the_other(map(self._group_member, range(workload.group_members))),
            lookups=self._one_after_the_other(map(self._lookup, range(workload.lookups)), first=1),
        )
        driver = DRIVERS.get(workload.driver)
        if driver is None:
            self._start(OWN, wanted)
        else:
            self._start(driver, msgspec.structs.replace(wanted, registers=(), members=(), lookups=()))
            self._start(OWN, msgspec.structs.replace(wanted, producers=(), consumers=()))

    def start_probe(self, partitions: Iterable[str], patience_ns: int) -> None:
        """A producer that writes one record to each of ``partitions``, and tries for as long as ``patience_ns``.

        It is one of the harness's own, whatever the driver. It asks for an acknowledgement even if the workload does
        not. A broker answers one connection's requests in order, so a partition that is stuck holds up the others: the
        broker is asked to give up on each early enough for all requests in flight to be answered.
        """
        workload = self._workload
        keys = [_key(partition) for partition in partitions]
        self._written.update(dict.fromkeys(topic for topic, _ in keys))
        options = replace(
            self._producer(workload.producers),
            name="probe",
            topics=sorted({topic for topic, _ in keys}),
            interval_ns=_PROBE_INTERVAL_NS,
            acks=_ACKS[workload.acks] or _ACKS["all"],
            ack_timeout_ns=workload.request_timeout // (_MAX_IN_FLIGHT + 1),
            delivery_timeout_ns=patience_ns,
            max_in_flight=_MAX_IN_FLIGHT,
            probed=keys,
        )
        self._start(OWN, ClientSettings(producers=(options,)))

    def start_batch(self, number: int, partition: str, records: int, patience_ns: int) -> None:
        """A producer that writes one batch to ``partition``. ``number`` counts these producers from 1."""
        workload = self._workload
        topic, index = _key(partition)
        self._written[topic] = None
        options = replace(
            self._producer(workload.producers + number),
            name=f"batch-{number}",
            topics=[topic],
            interval_ns=_PROBE_INTERVAL_NS,
            delivery_timeout_ns=patience_ns,
            probed=[(topic, index)] * records,
            batch_bytes=batch_bytes(records, workload.record_size),
            max_open=records,
        )
        self._start(OWN, ClientSettings(producers=(options,)))

    def start_final_reader(self, partitions: Iterable[str]) -> None:
        """A consumer that reads everything that was written once more, from the earliest offset to the HW; all of
        ``partitions`` at least, even if the first metadata that it gets lack some."""
        self._reading = True
        expected = [_key(partition) for partition in partitions]
        reader = replace(self._consumer("final-reader", drain=True), topics=list(self._written), expected=expected)
        self._start(OWN, ClientSettings(consumers=(reader,)))

    def _start(self, driver: Driver, settings: ClientSettings) -> None:
        if not isinstance(self._host, HostsClientProcesses):
            self._here.hosted.start(settings)
            return
        for part in self._parts(settings):
            self._start_process(self._host, driver, part)

    def _parts(self, settings: ClientSettings) -> Iterator[ClientSettings]:
        """The clients by process: each is filled, in their order, until it has enough to do."""
        workload = self._workload
        costs: list[tuple[str, Any, float]] = [
            *(("producers", one, self._rate_of_one) for one in settings.producers),
            *(("consumers", one, workload.rate * _READ_COST) for one in settings.consumers),
            *(("registers", one, SECOND / one.interval_ns) for one in settings.registers),
            *(("members", one, 1.0) for one in settings.members),
            *(("lookups", one, SECOND / one.interval_ns) for one in settings.lookups),
        ]
        part: dict[str, list[Any]] = {}
        load = 0.0
        for field, options, cost in costs:
            if part and load + cost > _PER_PROCESS:
                yield _settings(part)
                part, load = {}, 0.0
            part.setdefault(field, []).append(options)
            load += cost
        if part:
            yield _settings(part)

    def _start_process(self, host: HostsClientProcesses, driver: Driver, settings: ClientSettings) -> None:
        assert self._spool is not None, "clients in processes of their own write files"
        name = f"clients-{len(self._processes)}"
        history = self._spool / f"{name}.jsonl"
        settings_file = self._spool / f"{name}.json"
        settings_file.write_bytes(
            encode_settings(
                ProcessSettings(
                    history=str(history),
                    origin_ns=_how_far_ahead(time.monotonic_ns, of=self._host.now_ns).by_ns,
                    seed=self._seed,
                    negotiates=self._cluster.runtime != "highwater",
                    client_config=str(file) if (file := self._client_config()) is not None else "",
                    controllers_config=str(self._controllers_config() or ""),
                    clients=settings,
                )
            )
        )
        group = ClientProcessGroup(name, settings.names, history, self._host.post)
        self._processes.append(group)
        process = host.add_client_process(
            name, (*driver.command, str(settings_file)), group.on_line, group.on_exit, log=self._spool / f"{name}.log"
        )
        self._host.post(lambda: group.on_started(process))

    def _client_config(self) -> Path | None:
        return self._host.client_config() if isinstance(self._host, HasClientConfig) else None

    def _controllers_config(self) -> Path | None:
        return self._host.controllers_config() if isinstance(self._host, HasControllersConfig) else None

    # --- ends ---

    def finish(self, *roles: Role) -> None:
        """Let the clients of these roles begin nothing new."""
        for group in self._groups():
            group.finish(*roles)

    def idle(self, role: Role) -> bool:
        """Whether every client of a role has finished, and every operation of theirs has its outcome."""
        return all(role in group.status().idle for group in self._groups())

    def drained(self) -> bool:
        """Whether the final reader has read everything."""
        return self._reading and all(group.status().drained for group in self._groups())

    def not_drained(self) -> str:
        """What the final reader has not read, for a message."""
        if not self._reading:
            return "the final reader has not started"
        remaining = {key: where for one in self._groups() for key, where in one.status().remaining.items()}
        return ", ".join(f"{key} at {where}" for key, where in remaining.items()) or "it knows no partition"

    def end(self) -> None:
        """Let processes end: what they have to write is written then. See :meth:`have_ended`."""
        for process in self._processes:
            process.end()

    def have_ended(self) -> bool:
        """Whether no process is left."""
        return all(process.has_ended for process in self._processes)

    # --- how they stand ---

    def status(self) -> ClientStatus:
        """Of all of them together: what is counted, and why their history is not to be trusted."""
        each = [group.status() for group in self._groups()]
        first = [one.first_offered_ns for one in each if one.first_offered_ns is not None]
        return ClientStatus(
            offered=sum(one.offered for one in each),
            first_offered_ns=min(first, default=None),
            acknowledged=sum(one.acknowledged for one in each),
            waited_ns=sum(one.waited_ns for one in each),
            held_back=sum(one.held_back for one in each),
            read=sum(one.read for one in each),
            open=sum(one.open for one in each),
            tried=tuple(tried for one in each for tried in one.tried),
            refusal=next((one.refusal for one in each if one.refusal), ""),
            inconclusive_reasons=tuple(reason for one in each for reason in one.inconclusive_reasons),
        )

    @property
    def acknowledged(self) -> int:
        """Records whose send completed ``ok``."""
        return self._here.recorder.acknowledged + sum(process.status().acknowledged for process in self._processes)

    def acknowledged_at(self, partition: str) -> int | None:
        """Run time of a partition's latest send that completed ``ok``; −1: none did; None: no client wrote to it."""
        every = [self._here.recorder.acknowledged_ns, *(process.acknowledged_ns for process in self._processes)]
        return max((at for one in every if (at := one.get(partition)) is not None), default=None)

    def history(self) -> Iterable[bytes]:
        """Lines of ``history/operations.jsonl``, which can be gone through any number of times once all have ended."""
        if self._processes:
            return MergedHistory([process.history for process in self._processes])
        encode = msgspec.json.Encoder().encode
        return [encode(operation) for operation in self._here.recorder.operations]

    def operations(self) -> Sequence[Operation]:
        """The same, of the clients that live in this process."""
        return self._here.recorder.operations

    def history_files(self) -> list[Path]:
        """The files of which :meth:`history` is a merge, so far; further ones come behind these."""
        return [process.history for process in self._processes]

    def logs(self) -> dict[str, Path]:
        """What processes had to say, by path in the run directory."""
        paths = [process.history.with_suffix(".log") for process in self._processes]
        return {f"logs/{path.name}": path for path in paths if path.exists() and path.stat().st_size}

    def _groups(self) -> list[Group]:
        return [self._here, *self._processes]

    # --- making ---

    def _one_after_the_other(self, every: Iterable[_Options], first: int = 0) -> tuple[_Options, ...]:
        """The clients of one role with the times of their starts, spread evenly over ``startWithin``. A producer starts
        at once, a consumer at the end."""
        options, within = list(every), self._workload.start_within
        return tuple(
            replace(one, start_after_ns=within * (number + first) // len(options)) for number, one in enumerate(options)
        )

    @property
    def _rate_of_one(self) -> float:
        """Records a second of one producer. Probes and ``produce`` steps start some even if the workload has none."""
        return self._workload.rate / max(1, self._workload.producers)

    def _producer(self, index: int) -> ProducerOptions:
        workload = self._workload
        in_process = isinstance(self._host, HostsClientProcesses)
        together = workload.records_at_once
        if together is None:  # compaction needs batches that lose some of their records
            together = _TOGETHER if self._keys and not in_process else 1
        return ProducerOptions(
            name=f"producer-{index}",
            index=index,
            bootstrap=self._host.bootstrap(),
            topics=self._topics,
            interval_ns=int(SECOND / self._rate_of_one),
            record_size=workload.record_size,
            keys=self._keys,
            tombstones=self._tombstones,
            dated=self._dated,
            acks=_ACKS[workload.acks],
            idempotence=workload.idempotence,
            request_timeout_ns=workload.request_timeout,
            ack_timeout_ns=workload.ack_timeout,
            delivery_timeout_ns=workload.delivery_timeout,
            may_be_duplicated=self._may_be_duplicated,
            # A simulated client sends each record alone: that makes more of the orders that a seed is there to find.
            batch_bytes=self._largest_batch if in_process or together > 1 else 0,
            together=together,
            max_open=max(_MAX_OPEN, int(self._rate_of_one)),
        )

    def _consumer(self, name: str, *, drain: bool = False) -> ConsumerOptions:
        return ConsumerOptions(
            name=name,
            bootstrap=self._host.bootstrap(),
            topics=self._topics,
            drain=drain,
            request_timeout_ns=self._workload.request_timeout,
        )

    def _group_member(self, index: int) -> MemberOptions:
        return MemberOptions(
            name=f"group-member-{index}",
            number=index,
            members=self._workload.group_members,
            bootstrap=self._host.bootstrap(),
            topics=self._topics,
            request_timeout_ns=self._workload.request_timeout,
        )

    def _lookup(self, index: int) -> LookupOptions:
        return LookupOptions(
            name=f"lookup-{index}",
            bootstrap=self._host.bootstrap(),
            topics=self._topics,
            request_timeout_ns=self._workload.request_timeout,
        )

    def _register_clients(self) -> Iterator[RegisterOptions]:
        metadata = self._workload.metadata
        if metadata is None:
            return
        clients = metadata.writers + metadata.readers
        roles: list[tuple[Literal["write", "read"], str, int]] = [
            *(("write", "register-writer", index) for index in range(metadata.writers)),
            *(("read", "register-reader", index) for index in range(metadata.readers)),
        ]
        for role, name, index in roles:
            yield RegisterOptions(
                name=f"{name}-{index}",
                index=index,
                role=role,
                brokers=self._host.bootstrap(),
                controllers=self._host.controllers(),
                interval_ns=int(SECOND * clients / metadata.rate),
                linearizable=metadata.reads == "linearizable",
                request_timeout_ns=self._workload.request_timeout,
            )


def _key(partition: str) -> PartitionKey:
    topic, _, index = partition.rpartition("-")
    return topic, int(index)


def _settings(part: dict[str, list[Any]]) -> ClientSettings:
    return ClientSettings(**{field: tuple(options) for field, options in part.items()})


class _HereGroup:
    """The clients that the backend hosts itself, with the whole history in memory: the simulator's."""

    def __init__(self, host: ClientHost) -> None:
        self._host = host
        self.recorder = HistoryRecorder(host.now_ns)
        self.hosted = HostedClients(host.add_client, self.recorder)

    def status(self) -> ClientStatus:
        return self.hosted.status()

    def finish(self, *roles: Role) -> None:
        self._host.post(lambda: self.hosted.finish(roles))


def _how_far_ahead(base: Callable[[], int], *, of: Callable[[], int]) -> Any:
    """The host's; imported here, since no client of the simulator is a process."""
    from highwater_runtime.host.clock_pairs import how_far_ahead  # noqa: PLC0415

    return how_far_ahead(base, of=of)
