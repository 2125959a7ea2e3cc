"""Random schedules of power losses, kills, pauses, cuts and slow messages around an ensemble and its clients.

At the end all is healed; then every client has a session, all servers have one state, and the referee judges.
"""

from __future__ import annotations

from dataclasses import replace as changed
from random import Random
from typing import Any

import pytest
import test_stories as stories
from ensemble import QUICK, ClientNode, Ensemble
from msgspec.structs import replace
from referee import COUNTER, LOG, OWNER, Referee, SessionLog

from highwater_runtime.ports import MS, Endpoint, Ports, RpcFailure
from highwater_runtime.ports.coordination import (
    ANY_VERSION,
    Check,
    Create,
    Data,
    Delete,
    Exists,
    Failure,
    Get,
    Multi,
    Operation,
    SessionEvent,
    Set,
)
from highwater_runtime.raft.metadata_log import MetadataLog
from highwater_runtime.wire.messages.zookeeper_validate_response import ZookeeperValidateResponse
from highwater_runtime.zookeeper import tree as tree_module
from highwater_runtime.zookeeper.client import EnsembleSession
from highwater_runtime.zookeeper.connection import ClientConnection
from highwater_runtime.zookeeper.server import ZooKeeperServer
from highwater_runtime.zookeeper.state import Applied, CloseSession, EnsembleState, OpenSession, Transaction
from highwater_runtime.zookeeper.tracker import SessionTracker
from highwater_runtime.zookeeper.tree import DataTree

SESSION_MS = 600


class Worker(ClientNode):
    """A client that always has a session, and uses it at random."""

    def __init__(self, name: str, ports: Ports, servers: list[Endpoint], referee: Referee) -> None:
        super().__init__(ports, servers)
        self._name = name
        self._referee = referee
        self._version = ANY_VERSION
        self._number = 0
        self.log: SessionLog
        self.session: EnsembleSession

    def start(self) -> None:
        self.log = log = SessionLog(self._name)
        self._referee.sessions.append(log)
        self.session = session = self.client.open(SESSION_MS, lambda event: self._on_event(log, event))
        assert session.key is None
        self._work_later()

    def _on_event(self, log: SessionLog, event: SessionEvent) -> None:
        if event is SessionEvent.CONNECTED and self.session.key is not None:
            log.id = self.session.key.id
        log.told.append((-1, event))
        if event is SessionEvent.CONNECTED:
            for path in (COUNTER, LOG):
                self.session.submit(Create(path), lambda _: None)
        if event is SessionEvent.EXPIRED:
            self.ports.clock.call_later(0, self.start)

    def _work_later(self) -> None:
        log = self.log
        self.ports.clock.call_later(self.ports.random.randrange(1, 60) * MS, lambda: self._work(log))

    def _work(self, log: SessionLog) -> None:
        if log is not self.log:
            return
        for _ in range(self.ports.random.randrange(1, 4)):
            self._submit(log)
        self._work_later()

    def _submit(self, log: SessionLog) -> None:
        self._number = number = self._number + 1
        data = b"%d" % number
        operation: Operation[Any]
        watch = False
        match self.ports.random.randrange(10):
            case 0 | 1:
                operation, watch = Get(COUNTER), self.ports.random.random() < 0.5
            case 2 | 3:
                operation = Set(COUNTER, data, self._version)
            case 4:
                operation = Set(COUNTER, data)
            case 5:
                operation = Create(OWNER, data, ephemeral=True)
            case 6:
                operation = Delete(OWNER)
            case 7:
                operation = Multi(steps=(Check(COUNTER, self._version), Create(f"{LOG}/m-", data, sequential=True)))
            case 8:
                operation, watch = Exists(OWNER), True
            case _:
                operation = Create(f"{LOG}/e-", data, sequential=True)
        log.submitted[number] = operation

        def finish(result: Any) -> None:
            if watch and not isinstance(result, Failure):
                log.watched.add(number)
            log.told.append((number, result))
            if isinstance(result, Data):
                self._version = result.stat.version

        self.session.submit(operation, finish, watch=(lambda event: log.told.append((-1, event))) if watch else None)


class Schedule:
    """What happens to one ensemble, by seed."""

    def __init__(self, seed: int, monkeypatch: pytest.MonkeyPatch, steps: int = 30) -> None:
        self.random = Random(seed)
        self.referee = Referee()
        self._listen(monkeypatch)
        self.e = Ensemble(
            seed,
            servers=self.random.choice((1, 3, 3, 3, 5)),
            clients=3,
            config=changed(QUICK, metadata_snapshot_bytes=self.random.choice((600, 3000, 1 << 20))),
            make_client=lambda name, ports, servers: Worker(name, ports, servers, self.referee),
        )
        self.steps = steps
        self.faults = self.e.sim.faults

    def _listen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the referee see what the servers apply."""
        apply, referee = EnsembleState.apply, self.referee

        def and_tell(state: EnsembleState, transaction: Transaction, zxid: int) -> Applied:
            applied = apply(state, transaction, zxid)
            referee.applied(transaction, zxid, applied)
            return applied

        monkeypatch.setattr(EnsembleState, "apply", and_tell)

    def run(self) -> Schedule:
        for name in (*self.e.servers, *self.e.clients):
            self.e.sim.start(name)
        self.e.run_ms(500)
        for _ in range(self.steps):
            self.e.run_ms(self.random.choice((5, 20, 60, 200, 500)))
            self.act()
        self.recover()
        return self

    def act(self) -> None:
        e, random = self.e, self.random
        server, client = random.choice(e.servers), random.choice(e.clients)
        anybody = random.choice((server, client))
        match random.choice(ACTIONS):
            case "kill" if e.sim.node(anybody).is_alive:
                e.sim.kill(anybody)
            case "power-loss":
                e.sim.power_loss(anybody)
            case "power-loss-of-leader" if e.leader is not None:
                e.sim.power_loss(e.leader)
            case "power-loss-of-all":
                for name in e.servers:
                    e.sim.power_loss(name)
            case "pause":
                e.sim.pause(anybody)
            case "pause-leader" if e.leader is not None:
                e.sim.pause(e.leader)
            case "resume":
                self.resume_all()
            case "start":
                self.start_all()
            case "isolate":
                self.faults.isolate(anybody, random.choice(("both", "aToB", "bToA")))
            case "cut-client":
                self.faults.cut(client, server)
            case "slow":
                self.faults.delay(
                    random.randrange(300) * MS, direction=random.choice(("request", "response")), limit=20
                )
            case "lag":
                self.faults.delay(100 * MS, "Fetch", to_nodes=e.leader or server, from_nodes=server)
            case "hold":
                self.faults.hold(random.choice(("Zookeeper", "ZookeeperPropose", "ZookeeperConnect")), limit=2)
            case "duplicate":
                self.faults.duplicate(probability=0.3, limit=20)
            case "drop":
                self.faults.drop(probability=0.3, limit=20)
            case "heal":
                self.faults.heal_all()

    def resume_all(self) -> None:
        for name in (*self.e.servers, *self.e.clients):
            self.e.sim.resume(name)

    def start_all(self) -> None:
        for name in (*self.e.servers, *self.e.clients):
            if not self.e.sim.node(name).is_alive:
                self.e.sim.start(name)

    def recover(self) -> None:
        e = self.e
        self.faults.heal_all()
        self.resume_all()
        self.start_all()
        e.until(lambda: all(e.sim.node(name).core is not None for name in (*e.servers, *e.clients)))
        e.until(lambda: e.leader is not None, within_ms=20_000)
        e.until(lambda: all(self._is_well(name) for name in e.clients), within_ms=20_000)
        for name in e.clients:
            e.sim.pause(name)
        e.until(lambda: len({e.server(name).state.zxid for name in e.servers}) == 1 and self._is_quiet())
        self.referee.judge([e.server(name).state for name in e.servers])

    def _is_quiet(self) -> bool:
        return all(self.e.server(name).state.zxid == self.e.server(name).raft.log_end_offset for name in self.e.servers)

    def _is_well(self, client: str) -> bool:
        worker = self.e.client(client)
        assert isinstance(worker, Worker)
        leader = self.e.leader
        return (
            worker.log.told[-1:] != []
            and leader is not None
            and worker.log.id in self.e.server(leader).state.sessions
            and not isinstance(worker.log.told[-1][1], Failure | SessionEvent)
        )


ACTIONS = (
    *("kill",) * 3,
    *("power-loss",) * 3,
    *("power-loss-of-leader",) * 2,
    "power-loss-of-all",
    *("pause",) * 3,
    *("pause-leader",) * 2,
    *("resume",) * 5,
    *("start",) * 8,
    *("isolate",) * 3,
    *("cut-client",) * 3,
    *("lag",) * 3,
    *("slow", "hold", "hold", "duplicate", "drop"),
    *("heal",) * 6,
)


def run(seed: int, monkeypatch: pytest.MonkeyPatch) -> Schedule:
    try:
        with monkeypatch.context() as patch:
            return Schedule(seed, patch).run()
    except BaseException as error:
        error.add_note(f"seed {seed}")
        raise


@pytest.mark.parametrize(
    "seeds",
    [range(3), *(pytest.param(range(first, first + 5), marks=pytest.mark.thorough) for first in (3, 8, 13))],
    ids=str,
)
def test_random_schedules(monkeypatch: pytest.MonkeyPatch, seeds: range) -> None:
    for seed in seeds:
        run(seed, monkeypatch)


class TestTheRefereeFindsBrokenRules:
    """A referee that never objects proves nothing: each rule broken on purpose is found, under its name."""

    def expect(self, monkeypatch: pytest.MonkeyPatch, name: str, first: int = 0) -> None:
        """One of 30 seeds finds it; the first one does today."""
        found: list[str] = []
        for seed in range(first, first + 30):
            try:
                run(seed, monkeypatch)
            except Exception as error:
                found.append(str(error.__cause__ or error))
                if name in found[-1]:
                    return
        raise AssertionError(f"{name!r} was not found; instead {found}")

    def test_a_write_that_is_not_flushed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def pretend(log: MetadataLog) -> None:
            if log.flushed_end < log.end_offset:
                log.flushed_end = log.end_offset
                log._clock.call_later(0, log._on_flushed)

        monkeypatch.setattr(MetadataLog, "flush_soon", pretend)
        self.expect(monkeypatch, "state machine safety", first=2)

    def test_a_lost_write(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def forgetful(records: list[bytes]) -> list[bytes]:
            return [record for record in records if b"e-000000001" not in record]

        take = EnsembleState.snapshot
        monkeypatch.setattr(EnsembleState, "snapshot", lambda state: forgetful(take(state)))
        self.expect(monkeypatch, "acknowledged")

    def test_two_owners_of_an_ephemeral_node(self, monkeypatch: pytest.MonkeyPatch) -> None:
        create = DataTree._create

        def seize(tree: DataTree, step: Create, session: int, zxid: int, events: list[Any]) -> Any:
            if step.ephemeral and step.path in tree._nodes:
                tree._remove(step.path, zxid, events)
            return create(tree, step, session, zxid, events)

        monkeypatch.setattr(DataTree, "_create", seize)
        self.expect(monkeypatch, "one owner")

    def test_versions_that_skip(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def by_two(node: Any, **changes: Any) -> Any:
            if "version" in changes:
                changes["version"] += 1
            return replace(node, **changes)

        monkeypatch.setattr(tree_module, "replace", by_two)
        self.expect(monkeypatch, "versions")

    def test_a_leader_that_admits_every_connection(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(SessionTracker, "admit", lambda *_: True)
        self.expect(monkeypatch, "order")

    def test_a_server_that_ends_sessions_itself(self, monkeypatch: pytest.MonkeyPatch) -> None:
        validated = ZooKeeperServer._validated

        def or_expired(server: ZooKeeperServer, connection: int, answer: Any) -> None:
            expired = ZookeeperValidateResponse(timeout_ms=0)
            validated(server, connection, expired if isinstance(answer, RpcFailure) else answer)

        monkeypatch.setattr(ZooKeeperServer, "_validated", or_expired)
        self.expect(monkeypatch, "expired by decision", first=7)

    def test_events_that_come_late(self, monkeypatch: pytest.MonkeyPatch) -> None:
        fired = ClientConnection.fired

        def later(connection: ClientConnection, event: Any) -> None:
            connection._clock.call_later(20 * MS, lambda: fired(connection, event))

        monkeypatch.setattr(ClientConnection, "fired", later)
        self.expect(monkeypatch, "event first")


class TestTheStoriesFindBrokenRules:
    """What random schedules come upon too rarely."""

    def test_a_client_that_forgets_what_it_has_seen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        forgotten = property(lambda session: 0, lambda session, zxid: None)
        monkeypatch.setattr(EnsembleSession, "last_zxid", forgotten, raising=False)
        with pytest.raises(AssertionError, match="new"):
            stories.test_a_server_that_is_behind_refuses_the_client()

    def test_a_session_that_lives_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        apply = EnsembleState.apply

        def anyway(state: EnsembleState, transaction: Transaction, zxid: int) -> Applied:
            if isinstance(transaction.action, OpenSession | CloseSession):
                return apply(state, transaction, zxid)
            return Applied(*state.tree.write(transaction.action, transaction.session, zxid))

        monkeypatch.setattr(EnsembleState, "apply", anyway)
        monkeypatch.setattr(SessionTracker, "admit", lambda *_: True)
        with pytest.raises(AssertionError, match="late"):
            stories.test_a_write_of_a_session_that_has_ended_is_refused()
