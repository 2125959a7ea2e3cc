"""Pods of others that end, come back and are replaced while a run looks at them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from highwater_chaos.backends.attach.session import Access
from highwater_chaos.backends.kubernetes.agents import AgentError
from highwater_chaos.backends.kubernetes.cluster import ClusterError
from highwater_chaos.backends.kubernetes.faults import PodPlace
from highwater_chaos.backends.kubernetes.foreign.backend import CrashableForeignBackend, ForeignBackend
from highwater_chaos.backends.kubernetes.foreign.nodes import ForeignNode, Guess
from highwater_chaos.backends.kubernetes.foreign.reference import ForeignReference
from highwater_chaos.backends.kubernetes.network import Cuts
from highwater_chaos.backends.kubernetes.pod_nodes import PodNodes
from highwater_chaos.machine.faults.pauses import Pause
from highwater_chaos.machine.primitives import MACHINE_PRIMITIVES, Begins, BlocksWrites, FillsDisks
from highwater_runtime.ports import SECOND, Endpoint
from highwater_runtime.ports.trace import NodeStarted


class Agent:
    """Does and sees all that it is asked for, but keeps a node down for one fault at a time."""

    def __init__(self) -> None:
        self.down: set[str] = set()
        self.asked: list[Any] = []

    def put_fault(self, fault: str, body: Any) -> Any:
        self.asked.append(body)
        if "restartAfter" in body:
            if self.down:
                raise AgentError("the node is kept down by another fault", 409)
            self.down.add(fault)
        return {"state": "inForce", "evidence": [{"saw": "it", "confirmed": True, "phase": "inject"}]}

    def heal_fault(self, fault: str) -> Any:
        self.down.discard(fault)
        return {"state": "healed", "evidence": [{"saw": "nothing of it", "confirmed": True, "phase": "heal"}]}


class Journal:
    """In the place of the experiment's status."""

    def __init__(self) -> None:
        self.number = 0

    def intend(self, *_: Any) -> tuple[str, str]:
        self.number += 1
        return f"fault-{self.number}", "2099-01-01T00:00:00Z"

    def note(self, *_: Any) -> None:
        """It is not read."""


class Watched:
    """An observer, and what it has heard of broker 0 last: in which round, and whether it had answered."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.watcher = SimpleNamespace(round=1, heard={})

    def report(self, node: str, event: Any) -> None:
        self.events.append("started" if isinstance(event, NodeStarted) else event.reason)

    def restarted(self, broker: int) -> None:
        """It is in the cluster again."""

    def notes(self) -> list[str]:
        return []


def listed(container: str | None, uid: str = "u-1", address: str = "10.0.0.1", **meta: Any) -> Any:
    statuses = [{"name": "kafka", "state": {"running": {}}, "containerID": container}] if container else []
    meta = {"name": "k-0", "namespace": "kafka", "uid": uid, **meta}
    return {"metadata": meta, "spec": {"nodeName": "m"}, "status": {"podIP": address, "containerStatuses": statuses}}


class World:
    """A run on two brokers; the pod of broker 0 is looked at."""

    def __init__(self, *, guessed: bool = False, backend: type[ForeignBackend] = ForeignBackend) -> None:
        agent: Any = Agent()
        reference, journal = ForeignReference("kafka", "", {"app": "kafka"}, "kafka", "k:1", "", ""), Journal()
        found = SimpleNamespace(cluster_id="c", brokers={0: Endpoint("k", 1), 1: Endpoint("k", 2)}, voters=())
        access = Access((Endpoint("k", 1),))
        self.backend: Any = backend(None, None, reference, access, found, journal, 600 * SECOND)  # type: ignore[arg-type]
        backend, self.seen = self.backend, Watched()
        backend._cluster = SimpleNamespace(brokers=2)
        backend._observer = self.seen
        backend._directory = SimpleNamespace(agent=lambda _: agent)
        for broker in (0, 1):
            name = f"broker-{broker}"
            place = PodPlace("kafka", f"k-{broker}", "u-1", agent, "kafka")
            backend._nodes[name] = ForeignNode(
                name=name,
                names=(name,),
                container="kafka",
                place=place,
                pod={},
                life=("u-1", "a"),
                guess=Guess() if guessed else None,
            )
            backend._places[name], backend._endpoints[name] = place, Endpoint(f"10.0.0.{broker + 1}", 9092)
        backend._cuts = Cuts(backend._client, backend._places, backend._endpoints)
        self.broker = backend._nodes["broker-0"]
        del backend._nodes["broker-1"]

    def see(self, container: str | None, **more: Any) -> None:
        self.backend._see([listed(container, **more)])

    def kill(self) -> None:
        super(ForeignBackend, self.backend).kill("broker-0")

    def start(self) -> None:
        super(ForeignBackend, self.backend).start("broker-0")

    @property
    def reasons(self) -> list[str]:
        return list(self.backend.inconclusive_reasons())


@pytest.fixture
def make() -> Any:
    made: list[World] = []

    def world(**how: Any) -> World:
        made.append(World(**how))
        return made[-1]

    yield world
    for one in made:
        one.backend._client.close()
        one.backend._threads.shutdown()


BY_ITSELF = "broker-0 ended by itself in pod k-0; see its log"
Make = Callable[..., World]


def test_a_broker_that_crashes_and_waits_for_the_kubelet_is_noticed(make: Make) -> None:
    world = make()
    for container in ("a", None, None, "b", None):
        world.see(container)
    assert world.seen.events == ["ended", "started", "ended"]
    assert world.reasons == [BY_ITSELF]


@pytest.mark.parametrize(("primitive", "ends"), [(FillsDisks, True), (BlocksWrites, False)])
def test_a_broker_may_end_when_its_disk_is_full(make: Make, primitive: type, ends: bool) -> None:
    """Kafka halts when its log directory fails; a process that waits for its disk ends for another reason."""
    world = make()
    (begins,) = MACHINE_PRIMITIVES[primitive].methods.values()
    world.backend.begin_fault("broker-0", begins, {}, None)
    for container in ("a", None, "b"):
        world.see(container)
    assert world.seen.events == ["ended", "started"]
    assert world.reasons == ([] if ends else [BY_ITSELF])


def test_agents_hear_which_volume_has_the_data(make: Make) -> None:
    """Of each pod, also of the one that takes its place."""
    world = make()
    world.backend._reference = replace(world.backend._reference, volume="data")
    world.see(None, uid="u-2")
    world.see("b", uid="u-2")
    assert world.broker.place.reference() == {
        **{"namespace": "kafka", "name": "k-0", "uid": "u-2"},
        **{"container": "kafka", "volume": "data"},
    }


def test_a_pod_that_is_deleted_does_not_end_by_itself(make: Make) -> None:
    world = make()
    world.see("a", deletionTimestamp="now")
    world.see(None, deletionTimestamp="now")
    world.see(None, uid="u-2")
    world.see("b", uid="u-2")
    assert world.seen.events == ["pod-gone", "started"]
    assert world.reasons == []


def test_the_log_of_a_pod_that_is_deleted_is_kept(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read before it goes, once however often an eviction is asked for; each life in order."""
    world = make()
    asked: list[str] = []

    def log(namespace: str, pod: str, container: str, **_: Any) -> str:
        asked.append(f"{namespace}/{pod}/{container}")
        return f"life {len(asked)}\n"

    monkeypatch.setattr(ForeignBackend, "_present", lambda backend, node: backend._nodes[node])
    monkeypatch.setattr(PodPlace, "look", lambda *_: "running")
    world.backend._api = SimpleNamespace(log=log, delete=lambda *_, **__: True, evict=lambda *_: "not now")
    world.backend.delete_pod("broker-0")
    world.see("b", uid="u-2")
    assert world.backend.evict_pod("broker-0") == "not now"
    assert world.backend.evict_pod("broker-0") == "not now"
    assert world.backend.files()["logs/broker-0.log"] == b"life 1\nlife 3\n", "that of the present pod is read anew"
    assert asked == ["kafka/k-0/kafka"] * 3


def test_a_container_that_was_killed_and_is_still_listed_does_not_start(make: Make) -> None:
    world = make()
    world.kill()
    world.see("a")
    world.start()
    for container in ("a", None, "b"):
        world.see(container)
    assert world.seen.events == ["kill", "started"]
    assert world.reasons == []
    world.see("c")
    assert world.reasons == [BY_ITSELF]


def test_a_pod_whose_machine_has_started_again_has_another_address(make: Make) -> None:
    """It is the same pod. What was cut from its old address cuts nothing, and links are probed at the new one."""
    world = make()
    world.backend._cuts.cut("held", "broker-1", "broker-0", None)
    world.see("a")
    assert world.reasons == []
    world.see("b", address="10.0.0.9")
    assert world.reasons[0] == "pod k-0 has another address, which ended cut broker-1 from broker-0"
    assert world.backend._endpoints["broker-0"] == Endpoint("10.0.0.9", 9092)


def test_what_ends_with_a_replaced_pod_is_named(make: Make) -> None:
    world = make()
    backend = world.backend
    for cut in ("mended", "kept"):
        PodNodes.cut(backend, cut, "broker-1", "broker-0")
        backend._cuts._cuts[cut].injected.result()
    backend.uncut("mended")
    backend.begin_fault("broker-0", Begins("pause", Pause), {}, None)
    world.see("b", uid="u-2")
    assert world.reasons == [
        "pod k-0 was replaced, which ended what was done to it: cut broker-1 from broker-0, pause broker-0"
    ]
    world.kill()
    world.see("c", uid="u-3")
    assert world.reasons[1:] == [
        "pod k-0 was replaced, which ended what was done to it: cut broker-1 from broker-0, broker-0 being down"
    ]


def test_a_pod_that_was_guessed_is_the_brokers_only_if_its_end_shows(make: Make) -> None:
    unseen, seen, wrong = (make(guessed=True) for _ in range(3))
    for world, heard in ((unseen, (1, False)), (seen, (2, False)), (wrong, (2, True))):
        assert world.reasons == []
        world.kill()
        world.backend._look_at_guesses()
        world.seen.watcher.heard[0] = heard
        world.backend._look_at_guesses()
        world.start()
        world.seen.watcher.heard[0] = (3, True)
        world.backend._look_at_guesses()
    guessed = "pod k-0 was taken for that of broker-0 by its index,"
    assert unseen.reasons == [f"{guessed} and no fault of it showed in the broker"]
    assert seen.reasons == []
    assert wrong.reasons == [f"{guessed} but broker-0 answered while a fault held it"]


@pytest.mark.parametrize("ends", ["kill", "power_loss"])
def test_a_disk_is_wiped_by_the_fault_that_takes_the_node_down(make: Make, ends: str) -> None:
    """A second one would kill what the kubelet has started meanwhile."""
    world = make(backend=CrashableForeignBackend)
    if ends == "kill":
        world.backend.kill_and_wipe("broker-0")
    else:
        world.backend.power_loss("broker-0", "none", wipe=True)
    assert world.backend.disk_is_empty("broker-0")
    (body,) = world.broker.place.agent.asked
    assert (body["kind"], body.get("wipe")) == (("diskWipe", None) if ends == "kill" else ("powerLoss", True))
    world.start()
    assert world.broker.place.agent.down == set()


def test_an_agent_that_refuses_a_pod_is_quoted_without_its_address(make: Make) -> None:
    world, reason = make(), "pod kafka/k-0 is of no LogCluster"

    def refuse(*_: Any) -> Any:
        raise AgentError(
            f"agent https://10.0.0.9:9405: GET /v1/pods/kafka/k-0/process_state: 403: {reason}", 403, reason
        )

    world.backend._nodes["broker-0"].place.agent.look = refuse
    with pytest.raises(ClusterError, match=f"^spec.clusterRef: {reason}$"):
        world.backend._ensure_allowed()
