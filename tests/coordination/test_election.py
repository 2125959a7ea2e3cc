"""The election on /controller among candidates in the simulator: one controller an epoch, and zombies are fenced."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from ensemble import ClientNode, Ensemble

from highwater_runtime.controller.zk import election
from highwater_runtime.controller.zk.election import CONTROLLER, CONTROLLER_EPOCH, ControllerElection, Elected
from highwater_runtime.ports import MS, Endpoint, Ports
from highwater_runtime.ports.coordination import (
    Aborted,
    Check,
    Create,
    Delete,
    Exists,
    Failure,
    Multi,
    SessionEvent,
    Set,
    Stat,
)
from highwater_runtime.zookeeper.state import EnsembleState, Transaction

WORK = "/work"


class Candidate(ClientNode):
    """Always has a session, stands in it, and writes its epoch to ``/work`` as long as it takes itself for the
    controller."""

    def __init__(self, name: str, ports: Ports, servers: list[Endpoint], elections: list[tuple[str, int]]) -> None:
        super().__init__(ports, servers)
        self.name = name
        self.elections = elections
        self.outcomes: list[tuple[int, Any]] = []
        self.election: ControllerElection

    def start(self) -> None:
        session = self.client.open(1000, lambda event: self._on_event(standing, event))
        standing = self.election = ControllerElection(int(self.name[-1]), session, self._elected, lambda: None)
        self.session = session

    def _on_event(self, standing: ControllerElection, event: SessionEvent) -> None:
        if event is SessionEvent.CONNECTED:
            self.session.submit(Create(WORK), lambda _: None)
        standing.on_session_event(event)
        if event is SessionEvent.EXPIRED:
            self.start()

    def _elected(self, elected: Elected) -> None:
        self.elections.append((self.name, elected.epoch))
        self.work(elected)

    def work(self, elected: Elected) -> None:
        """Write the epoch, guarded, again and again."""
        if self.election.elected != elected:
            return
        write = Multi(steps=(elected.guard, Set(WORK, b"%d" % elected.epoch)))
        self.session.submit(write, lambda outcome: self.outcomes.append((elected.epoch, outcome)))
        self.ports.clock.call_later(self.ports.random.randrange(10, 50) * MS, lambda: self.work(elected))


class Election(Ensemble):
    def __init__(self, seed: int = 1, clients: int = 2) -> None:
        self.elections: list[tuple[str, int]] = []
        super().__init__(
            seed,
            clients=clients,
            make_client=lambda name, ports, servers: Candidate(name, ports, servers, self.elections),
        )

    def candidate(self, name: str) -> Candidate:
        core = self.sim.node(name).core
        assert isinstance(core, Candidate), f"{name} is down"
        return core

    @property
    def controllers(self) -> list[str]:
        """Those who take themselves for it."""
        alive = [name for name in self.clients if isinstance(self.sim.node(name).core, Candidate)]
        return [name for name in alive if self.candidate(name).election.elected is not None]

    def await_controller(self, *, other_than: str = "") -> str:
        self.until(lambda: any(name != other_than for name in self.controllers))
        return next(name for name in self.controllers if name != other_than)


def test_one_is_elected_and_the_others_know_it() -> None:
    e = Election(clients=3).start()
    first = e.await_controller()
    e.until(lambda: all(e.candidate(name).election.controller == int(first[-1]) for name in e.clients))
    assert e.elections == [(first, 1)]


def test_the_controller_dies_and_another_is_elected() -> None:
    e = Election(clients=3).start()
    first = e.await_controller()
    e.sim.kill(first)
    second = e.await_controller()
    assert e.elections == [(first, 1), (second, 2)]


@pytest.mark.parametrize("found", [b"2147483647", b"2147483648", b"-1", b"x", b"", b"9" * 5000])
def test_nobody_is_elected_over_an_epoch_without_a_next(found: bytes) -> None:
    e = Election(clients=3).start()
    first = e.await_controller()
    other = next(name for name in e.clients if name != first)
    e.until(lambda: e.candidate(other).election.controller is not None)
    session = e.candidate(other).session
    results: list[Any] = []
    session.submit(Set(CONTROLLER_EPOCH, found), results.append)
    e.until(lambda: bool(results))
    assert isinstance(results.pop(), Stat)
    e.sim.kill(first)
    e.sim.run_for(10_000 * MS)
    assert len(e.elections) == 1
    assert all(isinstance(e.sim.node(name).core, Candidate) for name in e.clients if name != first), "none has crashed"
    session.submit(Set(CONTROLLER_EPOCH, b"2147483646"), results.append)
    e.await_controller(other_than=first)
    assert e.elections[-1][1] == 2147483647


def test_a_zombie_is_fenced() -> None:
    """It was paused for longer than its session, goes on, and still takes itself for the controller for a moment."""
    e = Election().start()
    zombie = e.await_controller()
    e.sim.pause(zombie)
    second = e.await_controller(other_than=zombie)
    e.sim.resume(zombie)
    outcomes = e.candidate(zombie).outcomes
    e.until(lambda: e.controllers == [second])
    assert not isinstance(outcomes[-1][1], tuple), "its last write failed"
    assert e.elections == [(zombie, 1), (second, 2)]


def test_a_deposed_controller_whose_session_lives_is_fenced_by_the_epoch() -> None:
    """Its node was deleted by an administrator, and it has not heard of that yet."""
    e = Election().start()
    first = e.await_controller()
    old = e.candidate(first).election.elected
    assert old is not None
    other = next(name for name in e.clients if name != first)
    e.until(lambda: e.candidate(other).election.controller is not None)
    results: list[Any] = []
    e.candidate(other).session.submit(Delete(CONTROLLER), results.append)
    e.until(lambda: len(e.elections) == 2)
    e.candidate(first).session.submit(Multi(steps=(old.guard, Set(WORK, b"1"))), results.append)
    e.until(lambda: len(results) == 2)
    assert results == [None, Aborted(0, Failure.BAD_VERSION)]


def test_a_claim_whose_response_is_lost_is_known_by_its_session() -> None:
    e = Election(clients=1)
    for name in e.servers:
        e.sim.start(name)
    e.until(lambda: e.leader is not None)
    e.sim.start("client-0")
    tree = e.server(e.leader or "").state.tree
    e.until(lambda: isinstance(tree.read(Exists(CONTROLLER)), Stat))
    assert e.elections == [], "the response is still on its way"
    e.sim.kill(e.candidate("client-0").session.server.host)
    e.until(lambda: bool(e.elections))
    e.run_ms(500)
    assert e.elections == [("client-0", 1)]
    assert e.candidate("client-0").election.elected == Elected(1, 1)


def run(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults at random; then each epoch has had one controller, and no epoch was written after a later one."""
    random = Random(seed)
    written: dict[int, int] = {}
    apply = EnsembleState.apply

    def note(state: EnsembleState, transaction: Transaction, zxid: int) -> Any:
        applied = apply(state, transaction, zxid)
        match transaction.action, applied.result:
            case Multi(steps=(*_, Set(path="/work", data=data))), tuple():
                written[zxid] = int(data)
        return applied

    with monkeypatch.context() as patch:
        patch.setattr(EnsembleState, "apply", note)
        e = Election(seed, clients=3).start()
        for _ in range(25):
            e.run_ms(random.choice((20, 100, 400)))
            victim = random.choice((*e.servers, *e.clients, *e.controllers * 2))
            match random.choice(("pause", "pause", "kill", "power-loss", "isolate", "delete", "heal", "heal", "heal")):
                case "delete":
                    core = e.sim.node(random.choice(e.clients)).core
                    if isinstance(core, Candidate):
                        core.session.submit(Delete(CONTROLLER), lambda _: None)
                case "pause":
                    e.sim.pause(victim)
                case "kill":
                    e.sim.kill(victim)
                case "power-loss":
                    e.sim.power_loss(victim)
                case "isolate":
                    e.sim.faults.isolate(victim)
                case _:
                    heal(e)
        heal(e)
        e.until(lambda: all(e.sim.node(name).core is not None for name in (*e.servers, *e.clients)))
        e.until(lambda: len(e.controllers) == 1 and e.leader is not None, within_ms=20_000)
        e.run_ms(2000)
        assert len(e.controllers) == 1
    epochs = [epoch for _, epoch in e.elections]
    assert len({epoch: name for name, epoch in e.elections}) == len(set(e.elections)), f"two of one epoch: {epochs}"
    in_order = [epoch for _, epoch in sorted(written.items())]
    assert in_order == sorted(in_order), "an epoch wrote after a later one"


def heal(e: Election) -> None:
    e.sim.faults.heal_all()
    for name in (*e.servers, *e.clients):
        e.sim.resume(name)
        if not e.sim.node(name).is_alive:
            e.sim.start(name)


def test_random_faults(monkeypatch: pytest.MonkeyPatch, thorough: bool) -> None:
    for seed in range(12 if thorough else 5):
        run(seed, monkeypatch)


def expect(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    for seed in range(60):
        try:
            run(seed, monkeypatch)
        except AssertionError as error:
            if what in str(error.__cause__ or error):
                return
    raise AssertionError(f"{what!r} was not found")


@pytest.mark.thorough
def test_without_the_guard_zombies_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Elected, "guard", property(lambda elected: Check(WORK)))
    expect(monkeypatch, "an epoch wrote after a later one")


def test_without_the_version_two_claim_one_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(election, "Set", lambda path, data, version: Set(path, b"7"))
    expect(monkeypatch, "two of one epoch")
