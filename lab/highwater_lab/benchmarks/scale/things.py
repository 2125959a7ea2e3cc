"""Other things that a cluster may have many of: members, producer ids, connections, records of the controller.

Each kind is one function: it makes ``size`` of its things on a fresh cluster of three brokers and one controller, and
says what that took; then the cluster keeps them for a while; then something happens to one of them, or to a node. What
is asked of the cluster meanwhile does not depend on the brokers' software: raw requests over as many connections as
clients would have.
"""

from __future__ import annotations

import asyncio
import signal
import struct
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from highwater_chaos.backends.local.program import NodePlace
from highwater_lab.benchmarks.broker.load import METADATA_VERSION, PRODUCE_VERSION, create_topic, leader_of
from highwater_lab.benchmarks.clusters import RunningCluster, Software, running
from highwater_lab.benchmarks.connection import CLIENT_ID, Connection, LoadError
from highwater_lab.benchmarks.scale.partitions import say
from highwater_lab.benchmarks.scale.table import Table
from highwater_lab.benchmarks.scale.usage import Meter, resident_mib
from highwater_runtime.log.records import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, build_batch
from highwater_runtime.ports import Endpoint
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.framing import decode_response, encode_request
from highwater_runtime.wire.message import Message
from highwater_runtime.wire.messages.api_versions_request import ApiVersionsRequest
from highwater_runtime.wire.messages.find_coordinator_request import FindCoordinatorRequest
from highwater_runtime.wire.messages.heartbeat_request import HeartbeatRequest
from highwater_runtime.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from highwater_runtime.wire.messages.init_producer_id_request import InitProducerIdRequest
from highwater_runtime.wire.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from highwater_runtime.wire.messages.leave_group_request import LeaveGroupRequest
from highwater_runtime.wire.messages.metadata_request import MetadataRequest
from highwater_runtime.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from highwater_runtime.wire.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment

TOPIC: Final = "scale"
GROUP: Final = "scale"
BROKERS: Final = 3
_AT_ONCE: Final = 64
_WARM_CLIENTS: Final = 8
_WARM_BEATS: Final = 100
_SIZE: Final = struct.Struct(">i")
_HEARTBEAT_SECONDS: Final = 3.0
_SESSION_MS: Final = 30_000
_REBALANCE_MS: Final = 60_000
_TOPIC_RESOURCE: Final = 2
_SET: Final = 0
_CONFIG_TOPICS: Final = 50
_STOP_SECONDS: Final = 60.0
_CONFIG: Final[Mapping[str, str | int | bool]] = {
    "group.initial.rebalance.delay.ms": 3000,
    "offsets.topic.num.partitions": 1,  # so that all groups have the same coordinator
}


class Client:
    """One connection of many, with one request on its way at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._next_id = 0

    @classmethod
    async def open(cls, stack: AsyncExitStack, endpoint: Endpoint) -> Client:
        """Connect; it is closed with ``stack``."""
        reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port, limit=1 << 22)
        stack.callback(writer.close)
        return cls(reader, writer)

    async def call(self, request: Message, version: int) -> Any:
        """Send a request and wait for its response."""
        self._next_id += 1
        self._writer.write(b"".join(encode_request(request, version, self._next_id, CLIENT_ID)))
        try:
            (size,) = _SIZE.unpack(await self._reader.readexactly(4))
            _, body = decode_response(await self._reader.readexactly(size), request.API_KEY, version)
        except asyncio.IncompleteReadError as error:
            raise LoadError("the broker closed the connection") from error
        return body


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds: of warming up, of keeping what was made, and after which a wait is given up."""

    warm: float
    idle: float
    patience: float


@dataclass(frozen=True, slots=True)
class Stage:
    """A cluster, how many things to make on it, and where figures go."""

    cluster: RunningCluster
    size: int
    times: Times
    table: Table

    def add(self, what: str, figure: float | None, unit: str, *, of: str = "") -> None:
        """One figure."""
        self.table.add(self.cluster.name, self.size, what, figure, unit, of=of)

    async def warm_up(self, endpoint: Endpoint, work: Callable[[Client], Awaitable[None]]) -> None:
        """The same kind of requests for a while, so that Java has compiled and Python has specialised what is hot."""
        end = time.monotonic() + self.times.warm
        async with AsyncExitStack() as stack:
            clients = [await Client.open(stack, endpoint) for _ in range(_WARM_CLIENTS)]

            async def turns(client: Client) -> None:
                while time.monotonic() < end:
                    await work(client)

            await _all(map(turns, clients))

    async def spend(self, what: str, doing: Awaitable[object], *, each: int = 0) -> None:
        """Time and processor time of it; ``each``: the latter divided by so many, too."""
        meter, began = Meter(self.cluster.processes.values()), time.monotonic()
        async with asyncio.timeout(self.times.patience):
            await doing
        self.add(what, time.monotonic() - began, "s")
        spent = meter.take(self.cluster.processes.values())
        self.add("processor time of all nodes", spent, "s", of=what)
        if each:
            self.add("for each", spent / each * 1e6, "µs", of=what)

    async def keep(self, what: str) -> None:
        """Processor of all nodes while nothing new happens."""
        meter = Meter(self.cluster.processes.values())
        await asyncio.sleep(self.times.idle)
        self.add(what, meter.take(self.cluster.processes.values()) / self.times.idle * 100, "% of core")

    def memory(self) -> float:
        """Of all nodes, in MiB."""
        return sum(map(resident_mib, self.cluster.processes.values()))


# --- members of a group ----------------------------------------------------------------------------------------------


class _Member:
    """A member with the assignment that the group's leader gave it (its own number, for want of partitions)."""

    def __init__(self, client: Client, group: str = GROUP) -> None:
        self.client = client
        self.group = group
        self.member_id = ""
        self.generation = -1
        self.assigned = asyncio.Event()

    async def join(self) -> None:
        """JoinGroup and SyncGroup until there is a generation that has both."""
        self.assigned.clear()
        while not self.assigned.is_set():
            joined = await self.client.call(
                JoinGroupRequest(
                    group_id=self.group,
                    session_timeout_ms=_SESSION_MS,
                    rebalance_timeout_ms=_REBALANCE_MS,
                    member_id=self.member_id,
                    protocol_type="consumer",
                    protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
                ),
                3,
            )
            if joined.error_code:
                raise LoadError(f"JoinGroup: {ErrorCode(joined.error_code).name}")
            self.member_id, self.generation = joined.member_id, joined.generation_id
            assignments = [
                SyncGroupRequestAssignment(member_id=one.member_id, assignment=b"%d" % number)
                for number, one in enumerate(joined.members)
            ]
            synced = await self.client.call(
                SyncGroupRequest(
                    group_id=self.group,
                    generation_id=self.generation,
                    member_id=self.member_id,
                    assignments=assignments if joined.leader == self.member_id else [],
                ),
                2,
            )
            if synced.error_code == ErrorCode.NONE:
                self.assigned.set()
            elif synced.error_code != ErrorCode.REBALANCE_IN_PROGRESS:
                raise LoadError(f"SyncGroup: {ErrorCode(synced.error_code).name}")

    async def live(self) -> None:
        """Heartbeats; join again when one says so."""
        while True:
            await asyncio.sleep(_HEARTBEAT_SECONDS)
            error = await self.beat()
            if error in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION):
                await self.join()
            elif error:
                raise LoadError(f"Heartbeat: {ErrorCode(error).name}")

    async def beat(self) -> int:
        """The error of one heartbeat."""
        beat = HeartbeatRequest(group_id=self.group, generation_id=self.generation, member_id=self.member_id)
        error: int = (await self.client.call(beat, 2)).error_code
        return error

    async def leave(self) -> None:
        """LeaveGroup."""
        await self.client.call(LeaveGroupRequest(group_id=self.group, member_id=self.member_id), 2)


async def _group(stage: Stage) -> None:
    endpoint = await _coordinator(stage)

    visitors = count()

    async def visit(client: Client) -> None:
        member = _Member(client, f"{GROUP}-{next(visitors)}")
        await member.join()
        for _ in range(_WARM_BEATS):
            await member.beat()
        await member.leave()

    await stage.warm_up(endpoint, visit)
    async with AsyncExitStack() as stack:
        members = [_Member(await Client.open(stack, endpoint)) for _ in range(stage.size)]
        await stage.spend("all members have joined", _all(one.join() for one in members), each=stage.size)
        lives = [asyncio.create_task(one.live()) for one in members]
        try:
            await stage.keep("heartbeats: processor of all nodes")
            leaving, staying = members[0], members[1:]
            generation = leaving.generation
            lives[0].cancel()
            await leaving.leave()

            async def settled() -> None:
                while any(one.generation <= generation or not one.assigned.is_set() for one in staying):
                    for life in lives[1:]:
                        if life.done():
                            life.result()
                    await asyncio.sleep(0.02)

            await stage.spend("one has left: the others have their assignment", settled(), each=stage.size)
        finally:
            for life in lives:
                life.cancel()
            await asyncio.gather(*lives, return_exceptions=True)


async def _coordinator(stage: Stage) -> Endpoint:
    deadline = time.monotonic() + stage.times.patience
    async with AsyncExitStack() as stack:
        client = await Client.open(stack, stage.cluster.bootstrap)
        while True:
            found = await client.call(FindCoordinatorRequest(key=GROUP, key_type=0), 2)
            if not found.error_code:
                break
            if time.monotonic() > deadline:
                raise LoadError(f"FindCoordinator: {ErrorCode(found.error_code).name}")
            await asyncio.sleep(0.1)
        endpoint = Endpoint(found.host, found.port)
    # Until it has loaded the group it says so; a heartbeat of nobody is answered once it has.
    async with AsyncExitStack() as stack:
        client = await Client.open(stack, endpoint)
        beat = HeartbeatRequest(group_id=GROUP, generation_id=1, member_id="nobody")
        while (await client.call(beat, 2)).error_code != ErrorCode.UNKNOWN_MEMBER_ID:
            if time.monotonic() > deadline:
                raise LoadError(f"the coordinator is not ready after {stage.times.patience:g} s")
            await asyncio.sleep(0.1)
    return endpoint


# --- producer ids ----------------------------------------------------------------------------------------------------


async def _producer_ids(stage: Stage) -> None:
    create_topic(stage.cluster.bootstrap, TOPIC, sorted(stage.cluster.pids))
    endpoint = _leader_of(stage.cluster.bootstrap)

    async def produce_with_new_id(client: Client) -> None:
        await _produce(client, await _new_id(client))

    await stage.warm_up(endpoint, produce_with_new_id)
    before = stage.memory()
    async with AsyncExitStack() as stack:
        clients = [await Client.open(stack, endpoint) for _ in range(min(_AT_ONCE, stage.size))]
        made = _in_turns(clients, produce_with_new_id, stage.size)
        await stage.spend("ids given, and a record of each appended", made, each=stage.size)
        stage.add("memory of all nodes, growth", stage.memory() - before, "MiB")
        await stage.spend("as many records of one more id", _of_one(clients[0], stage.size), each=stage.size)
    for number, name in ((signal.SIGTERM, "clean"), (signal.SIGKILL, "unclean")):
        await stage.spend(f"brokers restarted ({name}): they serve", _restart(stage, number, stage.cluster.brokers))


async def _of_one(client: Client, count: int) -> None:
    """What appending costs where no id is new."""
    producer_id = await _new_id(client)
    for sequence in range(count):
        await _produce(client, producer_id, sequence)


async def _new_id(client: Client) -> int:
    given = await client.call(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000), 4)
    if given.error_code:
        raise LoadError(f"InitProducerId: {ErrorCode(given.error_code).name}")
    return int(given.producer_id)


async def _produce(client: Client, producer_id: int, sequence: int = 0) -> None:
    batch = build_batch(
        [b"v" * 100],
        timestamp_ms=int(time.time() * 1000),
        producer_id=producer_id,
        producer_epoch=NO_PRODUCER_EPOCH if producer_id == NO_PRODUCER_ID else 0,
        base_sequence=NO_SEQUENCE if producer_id == NO_PRODUCER_ID else sequence,
    )
    data = TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=0, records=batch)])
    done = await client.call(ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data]), PRODUCE_VERSION)
    if error := done.responses[0].partition_responses[0].error_code:
        raise LoadError(f"Produce: {ErrorCode(error).name}")


def _leader_of(bootstrap: Endpoint) -> Endpoint:
    """Where the leader is; raises LoadError where there is none, or where a replica is out of sync."""
    with Connection(bootstrap) as connection:
        found = leader_of(connection, TOPIC)
    if found is None or found[2] < BROKERS:
        raise LoadError(f"{TOPIC} is not whole: {found}")
    return found[1]


# --- connections -----------------------------------------------------------------------------------------------------


async def _connections(stage: Stage) -> None:
    endpoint = stage.cluster.bootstrap

    async def ask(client: Client) -> None:
        await client.call(MetadataRequest(topics=[]), METADATA_VERSION)

    async def visit(client: Client) -> None:
        await ask(client)
        async with AsyncExitStack() as stack:
            await (await Client.open(stack, endpoint)).call(ApiVersionsRequest(), 0)

    await stage.warm_up(endpoint, visit)
    before = stage.memory()
    async with AsyncExitStack() as stack:
        clients: list[Client] = []

        async def connect(_: int) -> None:
            client = await Client.open(stack, endpoint)
            await client.call(ApiVersionsRequest(), 0)
            clients.append(client)

        turns = _in_turns(range(min(_AT_ONCE, stage.size)), connect, stage.size)
        await stage.spend("connected, versions asked", turns, each=stage.size)
        stage.add("memory of all nodes, growth", stage.memory() - before, "MiB")
        await stage.keep("nothing sent: processor of all nodes")
        await stage.spend("each asks at once", _all(map(ask, clients)), each=stage.size)


# --- records of the controller ---------------------------------------------------------------------------------------


async def _controller_records(stage: Stage) -> None:
    create_topic(stage.cluster.bootstrap, TOPIC, sorted(stage.cluster.pids))
    names = [f"{TOPIC}-{number}" for number in range(_CONFIG_TOPICS)]
    for name in names:
        create_topic(stage.cluster.bootstrap, name, sorted(stage.cluster.pids)[:1])

    async def validate(client: Client) -> None:
        await _alter(client, names, "1000", validate_only=True)

    await stage.warm_up(stage.cluster.bootstrap, validate)
    before = stage.memory()

    async def alter() -> None:
        async with AsyncExitStack() as stack:
            client = await Client.open(stack, stage.cluster.bootstrap)
            for start in range(0, stage.size, _CONFIG_TOPICS):
                await _alter(client, names[: stage.size - start], str(1_000_000 + start))

    await stage.spend(f"configs altered, {_CONFIG_TOPICS} a request", alter(), each=stage.size)
    stage.add("memory of all nodes, growth", stage.memory() - before, "MiB")
    await stage.spend(
        "controller killed and started: it acts again", _restart(stage, signal.SIGKILL, [stage.cluster.controller])
    )
    await stage.spend(
        "a broker killed and started: it serves again", _restart(stage, signal.SIGKILL, [stage.cluster.brokers[-1]])
    )


async def _alter(client: Client, topics: list[str], value: str, *, validate_only: bool = False) -> None:
    change = AlterableConfig(name="retention.ms", config_operation=_SET, value=value)
    resources = [
        AlterConfigsResource(resource_type=_TOPIC_RESOURCE, resource_name=topic, configs=[change]) for topic in topics
    ]
    request = IncrementalAlterConfigsRequest(resources=resources, validate_only=validate_only)
    for one in (await client.call(request, 1)).responses:
        if one.error_code:
            raise LoadError(f"IncrementalAlterConfigs: {ErrorCode(one.error_code).name}")


async def _restart(stage: Stage, number: signal.Signals, places: Sequence[NodePlace]) -> None:
    """End nodes, start them, and wait until the cluster serves.

    That is: ``TOPIC`` has every replica in sync, accepts a record with acks=all, and still has them; a topic can be
    created. (Just after a kill the controller believes the dead to be alive; such a record waits for them.)
    """
    stage.cluster.signal(number, places)
    stage.cluster.wait_ended(places, _STOP_SECONDS)
    stage.cluster.start(*places)
    deadline = time.monotonic() + stage.times.patience
    while True:
        try:
            endpoint = _leader_of(stage.cluster.bootstrap)
            async with AsyncExitStack() as stack:
                client = await Client.open(stack, endpoint)
                await _produce(client, NO_PRODUCER_ID)
            _leader_of(stage.cluster.bootstrap)
            create_topic(stage.cluster.bootstrap, f"{TOPIC}-{time.monotonic_ns()}", sorted(stage.cluster.pids)[:1])
        except (OSError, LoadError):
            stage.cluster.ensure_alive()
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.1)
        else:
            return


# --- all of them -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of things."""

    about: str
    run: Callable[[Stage], Coroutine[Any, Any, None]]
    sizes: tuple[int, ...]


KINDS: Final[Mapping[str, Kind]] = {
    "members": Kind("Members of one consumer group: join, send heartbeats, one leaves.", _group, (10, 100, 1000)),
    "producer-ids": Kind(
        "Producer ids that one partition knows: given, appended, recovered.", _producer_ids, (100, 1000, 10_000)
    ),
    "connections": Kind("Connections to one broker: opened, idle, all asking at once.", _connections, (10, 100, 1000)),
    "controller-records": Kind(
        "Records of the controller's log: written, replayed by controller and brokers.",
        _controller_records,
        (1000, 10_000, 100_000),
    ),
}


def measure(kind: Kind, software: Software, home: Path, size: int, table: Table, times: Times) -> None:
    """Make ``size`` of these things on a cluster of their own."""
    say(f"{software.name}: {size} {table.of_what}")
    with running(software, home, brokers=BROKERS, config=_CONFIG) as cluster:
        asyncio.run(kind.run(Stage(cluster, size, times, table)))


async def _all(doing: Any) -> None:
    await asyncio.gather(*doing)


async def _in_turns(workers: Any, work: Callable[[Any], Awaitable[None]], count: int) -> None:
    """``work`` so many times, each worker one at a time."""
    left = count

    async def turns(worker: Any) -> None:
        nonlocal left
        while left > 0:
            left -= 1
            await work(worker)

    await asyncio.gather(*map(turns, workers))
