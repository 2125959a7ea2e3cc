"""Restarts by changes of configuration or image: one pod at a time, in order, and only while nothing is at risk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from highwater_operator.admin import ClusterView, EnsembleView, PartitionView, QuorumView, ServerView
from highwater_operator.admin.client import out_of_sync
from highwater_operator.objects.naming import Role
from highwater_operator.reconcile.observation import PodView, SetView
from highwater_operator.reconcile.rolling import next_restart

KRAFT: tuple[Role, ...] = ("controller", "broker")
ZOOKEEPER: tuple[Role, ...] = ("zookeeper", "broker")
SETS = {role: SetView(f"demo-{role}", 3, "new") for role in KRAFT}
SOUND = ClusterView("id", {}, {}, QuorumView(1001, 1, 5, {1000: 5, 1001: 9, 1002: 7}), ())


def pods(roles: tuple[Role, ...] = KRAFT, **changes: dict[str, Any]) -> list[PodView]:
    """Three and three, all ready and behind, but for what ``changes`` says (``broker_1={"ready": False}``)."""
    made = []
    for role in roles:
        for index in range(3):
            wanted: dict[str, Any] = {"revision": "old", "ready": True, "terminating": False}
            wanted |= changes.get(f"{role}_{index}", {})
            made.append(PodView(f"demo-{role}-{index}", f"u-{role}-{index}", role, index, **wanted))
    return made


def ready(pod: dict[str, Any]) -> bool:
    return any((one["type"], one["status"]) == ("Ready", "True") for one in pod["status"]["conditions"])


def new(*names: str) -> dict[str, dict[str, Any]]:
    return {name: {"revision": "new"} for name in names}


def test_controllers_first_and_the_active_one_last_of_them() -> None:
    order: list[str] = []
    done: dict[str, dict[str, Any]] = {}
    while (found := next_restart(SETS, pods(**done), SOUND, "").next) is not None:
        order.append(found.name)
        done |= new(f"{found.role}_{found.index}")
    assert order == [
        "demo-controller-0",
        "demo-controller-2",
        "demo-controller-1",
        "demo-broker-0",
        "demo-broker-1",
        "demo-broker-2",
    ]


@pytest.mark.parametrize(
    ("changes", "view", "why"),
    [
        ({"broker_2": {"ready": False, "revision": "new"}}, SOUND, "demo-broker-2 is not ready"),
        ({"broker_2": {"terminating": True}}, SOUND, "demo-broker-2 is terminating"),
        ({}, None, "nobody answers"),
        ({}, ClusterView("id", {}, {}, None, (), problems=("x",)), "the metadata quorum is not known (x)"),
        ({}, ClusterView("id", {}, {}, QuorumView(-1, 1, 5, {}), ()), "the metadata quorum has no leader"),
        (
            {},
            ClusterView("id", {}, {}, QuorumView(1000, 1, 5, {1000: 5}, ("controller-1 does not reach 1002",)), ()),
            "controller-1 does not reach 1002",
        ),
        ({}, ClusterView("id", {}, {}, QuorumView(1000, 1, 5, {1000: 5, 1001: 4}), ()), "controllers [1001] have not"),
        ({}, ClusterView("id", {}, {}, SOUND.quorum, ("a-0",)), "1 partitions are under-replicated: a-0"),
        ({}, ClusterView("id", {}, {}, SOUND.quorum, (), silent=(2,)), "brokers [2] do not answer"),
    ],
)
def test_it_waits(changes: dict[str, Any], view: ClusterView | None, why: str) -> None:
    found = next_restart(SETS, pods(**changes), view, "nobody answers")
    assert found.next is None
    assert found.waiting is not None
    assert why in found.waiting


@pytest.mark.parametrize(
    ("isr", "leader", "goes"),
    [
        ([[0, 2]], 0, "demo-broker-1"),  # the log of broker 1 is offline: only its restart brings it back
        ([[0, 2], [0, 2]], 0, "demo-broker-1"),
        ([[0, 2], [1, 2]], 2, None),  # 1 is missing here, and is needed there
        ([[1]], -1, "demo-broker-0"),  # nobody leads: neither those that are missing nor the only one is needed
        ([[0, 1]], -1, "demo-broker-2"),  # an election is due between two
    ],
)
def test_a_broker_goes_whose_replicas_are_the_ones_that_are_missing(
    isr: list[list[int]], leader: int, goes: str | None
) -> None:
    short = [PartitionView("orders", n, leader, 1, (0, 1, 2), tuple(one)) for n, one in enumerate(isr)]
    view = replace(SOUND, under_replicated=tuple(one.name for one in short), out_of_sync=out_of_sync(short))
    found = next_restart(SETS, pods(), view, "")
    assert (None if found.next is None else found.next.name) == goes
    assert (found.waiting is None) == (goes is not None)
    if isr == [[0, 2]]:
        again = next_restart(SETS, pods(**new("broker_1")), view, "")
        assert again.next is None, "once: then it has its time to catch up"


def test_what_one_broker_holds_for_in_sync_is_not_replaced() -> None:
    """Brokers learn of a change one after the other."""
    views = [PartitionView("orders", 0, 0, 1, (0, 1), isr) for isr in ((0,), (0, 1))]
    assert out_of_sync(views) == frozenset()


def test_a_pod_is_missing_that_is_to_come() -> None:
    found = next_restart(SETS, pods()[:-1], SOUND, "")
    assert (found.next, found.waiting) == (None, "2 of 3 broker pods exist")


def test_a_template_that_nobody_has_taken_up_says_nothing_of_pods() -> None:
    sets = {**SETS, "broker": SetView("demo-broker", 3, None)}
    found = next_restart(sets, pods(), SOUND, "")
    assert found.next is None
    assert "demo-broker has not been taken up" in str(found.waiting)


def test_a_pod_that_serves_nobody_is_replaced_at_once() -> None:
    found = next_restart(SETS, pods(broker_1={"ready": False}), None, "nobody answers")
    assert found.next is not None
    assert found.next.name == "demo-broker-1"


def test_up_to_date_means_nothing_to_do() -> None:
    everything = new(*(f"{role}_{n}" for role in KRAFT for n in range(3)))
    assert next_restart(SETS, pods(**everything), None, "away").waiting is None
    assert next_restart(SETS, pods(**everything), SOUND, "").behind == ()


ENSEMBLE_SETS = {role: SetView(f"demo-{role}", 3, "new") for role in ZOOKEEPER}
FOLLOWER = ServerView(leads=False, synced_followers=0)


def ensemble(controller: int = 0, **changes: ServerView | str) -> ClusterView:
    """Three servers in sync, of which server 1 leads, but for what ``changes`` says (``zookeeper_0="…"``)."""
    servers = {
        index: changes.get(f"zookeeper_{index}", ServerView(leads=True, synced_followers=2) if index == 1 else FOLLOWER)
        for index in range(3)
    }
    return ClusterView("id", {}, {}, EnsembleView(controller, servers), ())


def test_zookeeper_servers_first_their_leader_last_of_them_and_the_controller_last_of_brokers() -> None:
    order: list[str] = []
    done: dict[str, dict[str, Any]] = {}
    while (found := next_restart(ENSEMBLE_SETS, pods(ZOOKEEPER, **done), ensemble(controller=0), "").next) is not None:
        order.append(found.name.removeprefix("demo-"))
        done |= new(f"{found.role}_{found.index}")
    assert order == ["zookeeper-0", "zookeeper-2", "zookeeper-1", "broker-1", "broker-2", "broker-0"]


@pytest.mark.parametrize(
    ("view", "why"),
    [
        (ensemble(zookeeper_2="refused"), "zookeeper-2 does not serve: refused"),
        (
            ensemble(zookeeper_1=ServerView(leads=True, synced_followers=1)),
            "1 of 2 followers of zookeeper-1 are in sync",
        ),
        (ensemble(zookeeper_1=FOLLOWER), "[] say that they lead; expected one"),
        (ensemble(zookeeper_2=ServerView(leads=True, synced_followers=2)), "[1, 2] say that they lead; expected one"),
        (ensemble(controller=-1), "no broker is the active controller"),
    ],
)
def test_it_waits_for_the_ensemble(view: ClusterView, why: str) -> None:
    found = next_restart(ENSEMBLE_SETS, pods(ZOOKEEPER, zookeeper_0={"revision": "new"}), view, "")
    assert found.next is None
    assert why in str(found.waiting)


def test_a_change_of_configuration_rolls_through(stage: Any) -> None:
    stage.start()
    stage.create()
    stage.cluster().leader = 1001
    stage.until_settled()
    before = {name: pod["metadata"]["uid"] for name, pod in stage.pods().items()}
    warned = {one["metadata"]["uid"] for one in stage.events() if one["type"] == "Warning"}
    claims = {one["metadata"]["uid"] for one in stage.api.objects("v1", "PersistentVolumeClaim", "default")}
    stage.world.pods.stopped.clear()
    stage.patch("demo", config={"log.retention.ms": 1000})
    stage.until_settled()
    after = {name: pod["metadata"]["uid"] for name, pod in stage.pods().items()}
    assert set(after) == set(before)
    assert not set(after.values()) & set(before.values())
    assert [name for _, name in stage.world.pods.stopped] == [
        "demo-controller-0",
        "demo-controller-2",
        "demo-controller-1",
        "demo-broker-0",
        "demo-broker-1",
        "demo-broker-2",
    ]
    assert {one["metadata"]["uid"] for one in stage.api.objects("v1", "PersistentVolumeClaim", "default")} == claims
    assert len(stage.events("PodReplaced")) == 6
    assert {one["metadata"]["uid"] for one in stage.events() if one["type"] == "Warning"} == warned, "all is planned"


def test_the_last_pod_is_awaited_though_it_is_ready_while_it_ends(stage: Any, wait_for: Any) -> None:
    """A pod that is being deleted is Ready until its containers end, for as long as the grace period."""
    stage.serve()
    stage.world.pods.lingers = lambda pod: pod["metadata"]["name"] == "demo-broker-2"
    stage.patch("demo", config={"log.retention.ms": 1000})
    wait_for(lambda: "deletionTimestamp" in stage.pods()["demo-broker-2"]["metadata"], "the last pod to be deleted")
    stage.reconciles(3)
    assert ready(stage.pods()["demo-broker-2"]), "or there is nothing to mistake"
    assert stage.condition("Progressing")["message"] == "demo-broker-2 is being replaced"
    assert stage.condition("Ready")["reason"] == "RollingRestart"
    assert not [one for one in stage.events("Settled") if one["count"] > 1]
    stage.world.pods.let_go("default", "demo-broker-2")
    stage.until_settled()


def test_an_upgrade_waits_for_replicas_to_be_in_sync(stage: Any, wait_for: Any) -> None:
    stage.serve()
    stage.world.pods.stopped.clear()
    stage.cluster().under_replicated = ("orders-0",)
    stage.patch("demo", image="highwater/node:next")
    wait_for(lambda: "orders-0" in stage.condition("Progressing")["message"], "the reason to wait")
    assert stage.condition("Progressing")["reason"] == "RollingRestart"
    assert stage.condition("Degraded")["reason"] == "UnderReplicated"
    assert stage.status()["underReplicatedPartitions"] == 1
    assert stage.world.pods.stopped == []
    stage.cluster().under_replicated = ()
    stage.until_settled()
    images = {pod["spec"]["containers"][0]["image"] for pod in stage.pods().values()}
    assert images == {"highwater/node:next"}


def test_a_bad_change_stops_at_the_first_pod_and_can_be_taken_back(stage: Any, wait_for: Any) -> None:
    from api_server.world import READY, UNREADY

    stage.serve()
    stage.world.pods.decide = lambda pod: (
        UNREADY if pod["spec"]["containers"][0]["image"] == "highwater/node:bad" else READY
    )
    stage.world.pods.stopped.clear()
    stage.patch("demo", image="highwater/node:bad")
    wait_for(lambda: "is not ready" in stage.condition("Progressing")["message"], "the roll to halt")
    assert [name for _, name in stage.world.pods.stopped] == ["demo-controller-1"]  # 0 is active
    stage.patch("demo", image="highwater/node:good")
    stage.until_settled()
    assert {pod["spec"]["containers"][0]["image"] for pod in stage.pods().values()} == {"highwater/node:good"}
