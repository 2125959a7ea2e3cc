"""Servers and clients of the simulated ensemble, and what each session was told, checked as it comes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from highwater_runtime.config import NodeConfig
from highwater_runtime.ports import MS, ClientCore, Endpoint, NodeCore, Ports
from highwater_runtime.ports.coordination import Failure, Operation, SessionEvent, SessionKey, WatchEvent
from highwater_runtime.sim import Simulator
from highwater_runtime.zookeeper import EnsembleClient, ZooKeeperOptions, ZooKeeperServer
from highwater_runtime.zookeeper.client import EnsembleSession

TICK_MS = 200
QUICK = NodeConfig(
    quorum_election_timeout_ms=100,
    quorum_fetch_timeout_ms=200,
    quorum_election_backoff_max_ms=100,
    quorum_request_timeout_ms=200,
)


@dataclass
class Told:
    """One session, and all that it was told in order: results, watch events, session events."""

    session: EnsembleSession = field(init=False)
    log: list[tuple[str, Any]] = field(default_factory=list)

    def on_event(self, event: SessionEvent) -> None:
        self.log.append(("session", event))

    def submit(self, operation: Operation[Any], *, watch: bool = False) -> list[Any]:
        """The list gets the result."""
        results: list[Any] = []

        def finish(result: Any) -> None:
            self.log.append(("result", result))
            results.append(result)

        self.session.submit(operation, finish, watch=self.on_watch if watch else None)
        return results

    def on_watch(self, event: WatchEvent) -> None:
        self.log.append(("watch", event))

    @property
    def events(self) -> list[SessionEvent]:
        return [what for kind, what in self.log if kind == "session"]

    @property
    def watched(self) -> list[WatchEvent]:
        return [what for kind, what in self.log if kind == "watch"]

    @property
    def is_connected(self) -> bool:
        return self.events[-1:] == [SessionEvent.CONNECTED]

    @property
    def has_expired(self) -> bool:
        return self.events[-1:] == [SessionEvent.EXPIRED]


class ClientNode(ClientCore):
    """A core with sessions."""

    def __init__(self, ports: Ports, servers: list[Endpoint]) -> None:
        self.ports = ports
        self.client = EnsembleClient(ports, servers)
        self.sessions: list[Told] = []

    def start(self) -> None:
        pass

    def open(self, timeout_ms: int, key: SessionKey | None = None) -> Told:
        told = Told()
        told.session = self.client.open(timeout_ms, told.on_event, key=key)
        self.sessions.append(told)
        return told


class Ensemble:
    """``servers`` ZooKeeper servers (``zookeeper-0`` …) and ``clients`` nodes with sessions (``client-0`` …)."""

    def __init__(
        self,
        seed: int = 1,
        servers: int = 3,
        clients: int = 2,
        config: NodeConfig = QUICK,
        make_client: Callable[[str, Ports, list[Endpoint]], NodeCore] | None = None,
        **options: Any,
    ) -> None:
        self.sim = Simulator(seed, codec="all", **options)
        self.servers = [f"zookeeper-{index}" for index in range(servers)]
        self.clients = [f"client-{index}" for index in range(clients)]
        endpoints = {index: Endpoint(name, 2181) for index, name in enumerate(self.servers)}
        for index, name in enumerate(self.servers):
            facts = ZooKeeperOptions(
                node_id=index, servers=endpoints, cluster_id="ensemble", tick_ms=TICK_MS, config=config
            )
            self.sim.add_node(name, 2181, lambda ports, facts=facts: ZooKeeperServer(facts, ports))
        for name in self.clients:
            make = make_client or (lambda name, ports, servers: ClientNode(ports, servers))
            self.sim.add_node(
                name, 1, lambda ports, name=name, make=make: make(name, ports, list(endpoints.values())), disk=False
            )

    def start(self) -> Ensemble:
        for name in (*self.servers, *self.clients):
            self.sim.start(name)
        self.until(lambda: self.leader is not None)
        return self

    def server(self, name: str) -> ZooKeeperServer:
        core = self.sim.node(name).core
        assert isinstance(core, ZooKeeperServer), f"{name} is down"
        return core

    def client(self, name: str) -> ClientNode:
        core = self.sim.node(name).core
        assert isinstance(core, ClientNode), f"{name} is down"
        return core

    @property
    def running(self) -> list[str]:
        return [name for name in self.servers if isinstance(self.sim.node(name).core, ZooKeeperServer)]

    @property
    def leader(self) -> str | None:
        leading = [name for name in self.running if self.server(name).is_leader]
        return max(leading, key=lambda name: self.server(name).raft.epoch, default=None)

    @property
    def followers(self) -> list[str]:
        return [name for name in self.running if name != self.leader]

    def until(self, predicate: Callable[[], bool], within_ms: int = 10_000) -> None:
        assert self.sim.run_for(within_ms * MS, predicate=predicate), "did not come to pass in time"

    def run_ms(self, duration_ms: int) -> None:
        self.sim.run_for(duration_ms * MS)

    def open(self, client: int = 0, timeout_ms: int = 1000, key: SessionKey | None = None) -> Told:
        """A session that is connected."""
        told = self.client(self.clients[client]).open(timeout_ms, key)
        self.until(lambda: told.is_connected)
        return told

    def open_at(self, server: str, client: int = 0, timeout_ms: int = 1000, then: str | None = None) -> Told:
        """A session that is connected to ``server``, and will try ``then`` next."""
        while True:
            told = self.open(client, timeout_ms)
            first, *others = (endpoint.host for endpoint in told.session._servers)
            if first == server and then in (None, *others[:1]):
                return told
            told.session.close(lambda: None)
            self.run_ms(50)

    def do(self, told: Told, operation: Operation[Any], *, watch: bool = False) -> Any:
        """The result of an operation."""
        results = told.submit(operation, watch=watch)
        self.until(lambda: bool(results))
        return results[0]

    def must(self, told: Told, operation: Operation[Any], *, watch: bool = False) -> Any:
        """The result of an operation that succeeds."""
        result = self.do(told, operation, watch=watch)
        assert not isinstance(result, Failure), f"{operation}: {result}"
        return result
