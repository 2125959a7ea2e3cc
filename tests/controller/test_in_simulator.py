"""Controllers on the real quorum, in the simulator: what was answered outlives crashes, and all controllers agree.

A client registers broker after broker, each until a controller says yes. Meanwhile controllers are killed, lose their
power, are cut off and paused. A registration that was answered is there in the end, under the epoch of the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any
from uuid import UUID

import pytest

from highwater_runtime.config import NodeConfig
from highwater_runtime.controller.kraft import ControllerOptions, QuorumController
from highwater_runtime.metadata import MetadataImage, MetadataVersion
from highwater_runtime.ports import MS, SECOND, ClientCore, Endpoint, Ports, RpcFailure
from highwater_runtime.ports.trace import BrokerRegistered, NodeEvent
from highwater_runtime.sim import Simulator
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.broker_registration_request import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)

VOTERS = {1000 + i: Endpoint(f"controller-{i}", 9093) for i in range(3)}
NAMES = [endpoint.host for endpoint in VOTERS.values()]
CONFIG = NodeConfig(
    quorum_election_timeout_ms=100,
    quorum_fetch_timeout_ms=200,
    quorum_election_backoff_max_ms=100,
    quorum_request_timeout_ms=200,
)


def registration(broker_id: int) -> BrokerRegistrationRequest:
    level = Feature(
        name="metadata.version",
        min_supported_version=int(MetadataVersion.minimum()),
        max_supported_version=int(MetadataVersion.latest()),
    )
    return BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id="test-cluster",
        incarnation_id=UUID(int=broker_id + 1),
        listeners=[Listener(name="PLAINTEXT", host=f"broker-{broker_id}", port=9092, security_protocol=0)],
        features=[level],
        rack=None,
    )


class Registrar(ClientCore):
    """Registers brokers 0, 1, 2 …, each at one controller after the other until one says yes."""

    def __init__(self, epochs: list[int], ports: Ports) -> None:
        self.epochs = epochs
        self._ports = ports
        self._at = 0

    def start(self) -> None:
        self._ask()

    def _ask(self) -> None:
        to = VOTERS[1000 + self._at % len(VOTERS)]
        request = registration(len(self.epochs))
        self._ports.network.send(to, request, 4, self._answered, timeout_ns=500 * MS)

    def _answered(self, response: Any) -> None:
        if not isinstance(response, RpcFailure) and response.error_code == ErrorCode.NONE:
            self.epochs.append(response.broker_epoch)
        else:
            assert isinstance(response, RpcFailure) or response.error_code == ErrorCode.NOT_CONTROLLER
            self._at += 1
        self._ports.clock.call_later(10 * MS, self._ask)


class World:
    """Three controllers and a registrar."""

    def __init__(self, seed: int) -> None:
        self.sim = Simulator(seed, codec="some", check_mutation=True)
        self.events: list[tuple[str, NodeEvent]] = []
        self.sim.trace.subscribers.append(lambda _t, node, _i, event: self.events.append((node, event)))
        config = replace(CONFIG, metadata_snapshot_bytes=500) if seed % 2 else CONFIG  # or a snapshot now and then
        for node_id, endpoint in VOTERS.items():
            options = ControllerOptions(node_id=node_id, voters=VOTERS, cluster_id="test-cluster", config=config)
            self.sim.add_node(
                endpoint.host, endpoint.port, lambda ports, options=options: QuorumController(options, ports)
            )
        self.epochs: list[int] = []
        self.sim.add_node("registrar", 1, lambda ports: Registrar(self.epochs, ports), disk=False)
        for name in (*NAMES, "registrar"):
            self.sim.start(name)

    def controller(self, name: str) -> QuorumController | None:
        core = self.sim.node(name).core
        return core if isinstance(core, QuorumController) and self.sim.node(name).is_alive else None

    @property
    def active(self) -> str:
        """The active controller, that of the highest epoch if there are two who think so."""
        self.until(lambda: any(c.is_active for name in NAMES if (c := self.controller(name))))
        return max((c.raft.epoch, name) for name in NAMES if (c := self.controller(name)) and c.is_active)[1]

    def until(self, predicate: Callable[[], bool]) -> None:
        assert self.sim.run_for(60 * SECOND, predicate=predicate), "not in time"

    def acknowledge(self, count: int) -> None:
        """Run until so many more registrations were answered with success."""
        goal = len(self.epochs) + count
        self.until(lambda: len(self.epochs) >= goal)

    def start_all(self) -> None:
        for name in NAMES:
            if not self.sim.node(name).is_alive:
                self.sim.start(name)

    def agreed_image(self) -> MetadataImage:
        """Start who is down, wait until all have the same offset, check that all have the same state."""
        self.start_all()
        self.acknowledge(1)
        self.sim.kill("registrar")

        def images() -> list[MetadataImage]:
            return [c.committed_image for name in NAMES if (c := self.controller(name)) is not None]

        self.until(lambda: len(images()) == len(NAMES) and len({image.offset for image in images()}) == 1)
        first, *others = images()
        for other in others:
            assert other.brokers == first.brokers
            assert other.metadata_version == first.metadata_version
        return first


def check_answers(world: World) -> None:
    image = world.agreed_image()
    assert [image.brokers[broker_id].epoch for broker_id in range(len(world.epochs))] == world.epochs
    told: dict[int, BrokerRegistered] = {}
    for _, event in world.events:
        if isinstance(event, BrokerRegistered):
            assert told.setdefault(event.metadata_offset, event) == event, "controllers tell the same story"


def test_a_cluster_starts_and_registers() -> None:
    world = World(1)
    world.acknowledge(5)
    check_answers(world)


@pytest.mark.parametrize("how", ["kill", "power-loss", "stop", "cut"])
def test_a_successor_takes_over_what_was_answered(how: str) -> None:
    world = World(2)
    world.acknowledge(10)
    first = world.active
    match how:
        case "kill":
            world.sim.kill(first)
        case "power-loss":
            world.sim.power_loss(first)
        case "stop":
            world.sim.stop(first)
        case _:
            cut = world.sim.faults.cut([first], [*(n for n in NAMES if n != first), "registrar"])
    world.until(lambda: world.active != first)
    world.acknowledge(10)
    if how == "cut":
        world.sim.faults.heal(cut)
    check_answers(world)


def test_a_deposed_controller_that_hears_of_nothing_stops_being_active() -> None:
    """Cut off from the other voters but not from its clients, it can commit nothing, and answers nothing."""
    world = World(3)
    world.acknowledge(3)
    first = world.active
    world.sim.faults.cut([first], [name for name in NAMES if name != first])
    deposed = world.controller(first)
    assert deposed is not None
    before = deposed.committed_image.offset

    world.until(lambda: not deposed.is_active)
    world.acknowledge(3)

    assert deposed.committed_image.offset == before


def test_losing_the_whole_quorum_loses_no_answer() -> None:
    world = World(4)
    world.acknowledge(20)
    for name in NAMES:
        world.sim.power_loss(name)
    world.sim.run_for(1 * SECOND)
    check_answers(world)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(1, 6))])
def test_random_crashes(seed: int) -> None:
    world = World(100 + seed)
    random = Random(seed)
    world.acknowledge(1)
    for _ in range(12):
        world.sim.run_for(random.randrange(50, 1500) * MS)
        victim = random.choice(NAMES)
        match random.randrange(4):
            case 0 if world.controller(victim):
                world.sim.kill(victim)
            case 1 if world.controller(victim):
                world.sim.power_loss(victim)
            case 2 if world.controller(victim):
                world.sim.pause(victim)
                world.sim.run_for(random.randrange(50, 1000) * MS)
                world.sim.resume(victim)
            case _:
                world.start_all()
    check_answers(world)
