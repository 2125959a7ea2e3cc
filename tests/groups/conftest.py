"""Groups at two depths: the state machine alone with a store in the test's hands, and a cluster in the simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import pytest
from hand_ports import HandClock
from simulated_cluster import IdleClient, KraftCluster

from highwater_runtime.broker.groups.group import Group, Joined, Protocol, Synced
from highwater_runtime.broker.groups.membership import Membership
from highwater_runtime.broker.groups.requests import JoinRequest, SyncRequest
from highwater_runtime.config import NodeConfig, PropertyValue
from highwater_runtime.ports import SECOND, Endpoint, RpcFailure
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from highwater_runtime.wire.messages.find_coordinator_request import FindCoordinatorRequest

# --- the state machine alone ----------------------------------------------------------------------------------------


class Store:
    """Keeps what is stored; commits it when told to, or at once (``immediate``)."""

    def __init__(self) -> None:
        self.immediate = True
        self.stored: list[tuple[int, dict[str, bytes]]] = []
        self.waiting: list[Callable[[ErrorCode], None]] = []

    def store_group(self, group: Group, assignment: Mapping[str, bytes], on_done: Callable[[ErrorCode], None]) -> None:
        self.stored.append((group.generation, dict(assignment)))
        if self.immediate:
            on_done(ErrorCode.NONE)
        else:
            self.waiting.append(on_done)

    def finish(self, error: ErrorCode = ErrorCode.NONE) -> None:
        """The oldest write ends."""
        self.waiting.pop(0)(error)


class Bench:
    """One group, and members that do what the test says."""

    def __init__(self, **properties: PropertyValue) -> None:
        names = {key.replace("_", "."): value for key, value in properties.items()}
        config = NodeConfig.of({"group.initial.rebalance.delay.ms": 0, **names})
        self.clock = HandClock(SECOND)
        self.store = Store()
        self.membership = Membership(self.clock, Random(1), config, self.store)
        self.group = Group("readers")

    def join(self, member_id: str = "", *, version: int = 5, **changes: Any) -> list[Joined]:
        """Join; the answer comes into the returned list."""
        answers: list[Joined] = []
        fields: dict[str, Any] = {
            "member_id": member_id,
            "instance_id": None,
            "client_id": "client",
            "client_host": "/host",
            "protocol_type": "consumer",
            "protocols": (Protocol("range", b"sub"),),
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 60_000,
            "requires_known_member": version >= 4,
            "can_skip_assignment": version >= 9,
            **changes,
        }
        self.membership.join(self.group, JoinRequest(**fields), answers.append)
        return answers

    def enter(self, *, version: int = 5, **changes: Any) -> list[Joined]:
        """Join as a new dynamic member does: be given an id, and join under it."""
        (first,) = self.join(version=version, **changes)
        assert first.error is ErrorCode.MEMBER_ID_REQUIRED
        return self.join(first.member_id, version=version, **changes)

    def sync(self, joined: Joined, assignment: Mapping[str, bytes] | None = None, **changes: Any) -> list[Synced]:
        answers: list[Synced] = []
        fields: dict[str, Any] = {
            "member_id": joined.member_id,
            "instance_id": None,
            "generation": joined.generation,
            "protocol_type": None,
            "protocol": None,
            "assignment": assignment or {},
            **changes,
        }
        self.membership.sync(self.group, SyncRequest(**fields), answers.append)
        return answers

    def heartbeat(self, joined: Joined, instance_id: str | None = None) -> ErrorCode:
        return self.membership.heartbeat(self.group, joined.member_id, instance_id, joined.generation)

    def stable(self, count: int, **changes: Any) -> list[Joined]:
        """A Stable group of ``count`` dynamic members, the leader first."""
        answers = [self.enter(**changes)]
        self.clock.advance_ms(0)
        for _ in range(count - 1):
            present = [a[0] for a in answers if a]
            answers.append(self.enter(**changes))
            for joined in present:
                answers[[a[0] if a else None for a in answers].index(joined)] = self.join(joined.member_id, **changes)
        joined = [a[0] for a in answers]
        assert {j.generation for j in joined} == {self.group.generation}
        joined.sort(key=lambda j: j.leader_id != j.member_id)
        synced = [self.sync(j) for j in joined[1:]]
        synced.insert(0, self.sync(joined[0], {j.member_id: b"part of " + j.member_id.encode() for j in joined}))
        assert [s[0].error for s in synced] == [ErrorCode.NONE] * count
        return joined


@pytest.fixture
def make_bench() -> Callable[..., Bench]:
    return Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()


# --- a cluster in the simulator -------------------------------------------------------------------------------------

GROUPS: Mapping[str, PropertyValue] = {"group.initial.rebalance.delay.ms": 0, "offsets.topic.num.partitions": 4}


class Cluster(KraftCluster):
    """Brokers, a controller and a client in a simulator."""

    def __init__(self, seed: int = 1, *, brokers: int = 3, config: Mapping[str, PropertyValue] | None = None) -> None:
        super().__init__(seed, brokers=brokers, config={**GROUPS, **(config or {})}, codec="all")

    def send(self, to: int, request: Any, version: int, *, within_s: float = 30, channel: str = "") -> list[Any]:
        """Send a request; the answer comes into the returned list."""
        answers: list[Any] = []
        client = self.sim.node("client").core
        assert isinstance(client, IdleClient)
        client.ports.network.send(
            Endpoint(f"broker-{to}", 9092),
            request,
            version,
            answers.append,
            timeout_ns=int(within_s * SECOND),
            channel=channel,
        )
        return answers

    def ask(self, to: int, request: Any, version: int, *, within_s: float = 30, channel: str = "") -> Any:
        answers = self.send(to, request, version, within_s=within_s, channel=channel)
        self.until(lambda: bool(answers), within_s + 1)
        return answers[0]

    def create_topic(self, name: str = "orders", partitions: int = 1, replication_factor: int = 1) -> None:
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=replication_factor)
        response = self.ask(0, CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7)
        assert response.topics[0].error_code == ErrorCode.NONE, response.topics[0]
        running = [b for b in (self.broker(i) for i in range(len(self.sim.nodes) - 2)) if b is not None]
        self.until(lambda: all(name in b.image.topics_by_name for b in running))

    def coordinator(self, group: str = "readers", *, at: int = 0, within_s: float = 30) -> int:
        """The broker that coordinates ``group``, asking until there is one."""
        found: list[int] = []
        end = self.sim.now_ns + int(within_s * SECOND)
        while not found:
            assert self.sim.now_ns < end, "no coordinator in time"
            response = self.ask(at, FindCoordinatorRequest(coordinator_keys=[group], key_type=0), 4)
            if not isinstance(response, RpcFailure) and response.coordinators[0].error_code == ErrorCode.NONE:
                found.append(response.coordinators[0].node_id)
            else:
                self.run(0.1)
        return found[0]


@pytest.fixture
def make_cluster() -> Callable[..., Cluster]:
    return Cluster


@pytest.fixture
def cluster(make_cluster):
    cluster = make_cluster()
    cluster.create_topic(replication_factor=3)
    return cluster
