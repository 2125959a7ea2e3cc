"""Volumes of deleted LogClusters: which go, which stay and why, and when nobody knows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from highwater_chaos.machine.kernel import linux
from highwater_operator.agent import metrics
from highwater_operator.agent.clusters import ApiClusters
from highwater_operator.agent.orphans import GRACE, LOOK_EVERY, Collector, Grace, why_kept
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.records import FaultRecord, State
from highwater_operator.agent.refusals import RefusalError
from highwater_operator.agent.volumes import VolumeRecord, Volumes

if TYPE_CHECKING:
    from agent_world import World
    from api_server import ApiServer

ORPHAN = VolumeRecord("ns_demo-broker-0", 40 << 20, "ext4", 10001, 10001, made=True, cluster="gone")
NONE: dict[str, set[str]] = {"ns": set()}


def test_a_volume_of_a_deleted_cluster_is_not_kept() -> None:
    assert why_kept(ORPHAN, NONE, (), ()) is None
    assert why_kept(ORPHAN, {"ns": {"another"}}, {"ns_demo-broker-1"}, {"ns_demo-broker-1"}) is None


@pytest.mark.parametrize(
    ("record", "clusters", "in_use", "faulty", "said"),
    [
        (replace(ORPHAN, cluster=""), NONE, (), (), "the request for it named no LogCluster"),
        (replace(ORPHAN, retain=True), NONE, (), (), "it is to be retained"),
        (ORPHAN, NONE, {ORPHAN.name}, (), "a pod on this node has it by its name"),
        (ORPHAN, NONE, (), {ORPHAN.name}, "a fault is in force on it"),
        (ORPHAN, {}, (), (), "it is not known which LogClusters there are in ns"),
        (ORPHAN, {"other": set[str]()}, (), (), "it is not known which LogClusters there are in ns"),
        (ORPHAN, {"ns": {"gone", "another"}}, (), (), "LogCluster gone exists"),
    ],
)
def test_every_reason_to_keep_one_suffices(
    record: VolumeRecord, clusters: dict[str, set[str]], in_use: set[str], faulty: set[str], said: str
) -> None:
    assert why_kept(record, clusters, in_use, faulty) == said


def test_grace_begins_with_the_first_look_and_anew_after_every_other() -> None:
    grace, other = Grace(30), replace(ORPHAN, name="ns_demo-broker-1")
    assert grace.over([ORPHAN], 100) == []
    assert grace.over([ORPHAN, other], 129.9) == []
    assert grace.over([ORPHAN, other], 130) == [ORPHAN]
    assert grace.over([other], 131) == []
    assert grace.over([ORPHAN, other], 160) == [other], "it was none in between"
    # Another cluster's volume under the name.
    assert grace.over([replace(other, cluster="second")], 170) == []
    grace.restart()
    assert grace.over([replace(other, cluster="second")], 300) == []


@pytest.mark.parametrize(
    ("state", "held"), [("inForce", True), ("injecting", True), ("done", False), ("healed", False), ("failed", False)]
)
def test_on_which_volume_a_fault_is_in_force(state: State, held: bool) -> None:
    request = {"kind": "pause", "pod": {"namespace": "ns", "name": "demo-broker-0", "uid": "u"}}
    assert FaultRecord("x", state, request).volume_in_force == (ORPHAN.name if held else None)
    assert FaultRecord("x", state).volume_in_force is None


@dataclass
class Surroundings:
    """All that a collector asks, and what it said."""

    volumes: Volumes
    clusters: dict[str, set[str]] = field(default_factory=dict)
    pods: list[Pod] = field(default_factory=list)
    unheard: list[Pod] = field(default_factory=list)
    faults: list[FaultRecord] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    now: float = 1000.0
    silent: bool = False

    def uids(self, namespace: str) -> frozenset[str]:
        if self.silent:
            raise RefusalError(503, "the API server does not answer")
        return frozenset(self.clusters.get(namespace, ()))

    def known(self) -> list[Pod]:
        return self.pods

    def read(self, namespace: str, name: str) -> Pod | None:
        found = [one for one in (*self.pods, *self.unheard) if (one.namespace, one.name) == (namespace, name)]
        return found[0] if found else None

    def collector(self) -> Collector:
        return Collector(
            "node-1",
            self.volumes,
            self,
            self,
            lambda: list(self.faults),
            lambda about, what: self.removed.append(f"{about}: {what}"),
            lambda about, what: self.said.append(f"{about}: {what}"),
            clock=lambda: self.now,
        )

    def names(self) -> list[str]:
        return [one.name for one in self.volumes.all()]


@pytest.fixture
def around(tmp_path: Path, world: World) -> Iterator[Surroundings]:
    """On real loop devices: ``world`` is asked for because it skips where there are none to be had."""
    made = Surroundings(Volumes(tmp_path / "state", tmp_path / "mounts"))
    yield made
    for name in made.names():
        made.volumes.remove(name)
    assert linux.mount_points(tmp_path) == []


def look_for(collector: Collector, around: Surroundings, seconds: float) -> None:
    until = around.now + seconds
    while around.now < until:
        around.now += 5
        collector.look()


def removals(result: str) -> float:
    return metrics.REGISTRY.get_sample_value("highwater_agent_volume_removals_total", {"result": result}) or 0.0


def test_only_orphans_are_removed_and_only_after_a_while(around: Surroundings, tmp_path: Path) -> None:
    stays = {
        "named-no-cluster": replace(ORPHAN, name="ns_a-broker-0", cluster=""),
        "retained": replace(ORPHAN, name="ns_b-broker-0", retain=True),
        "lives": replace(ORPHAN, name="ns_c-broker-0", cluster="lives"),
        "pod": replace(ORPHAN, name="ns_d-broker-0"),
        "pod not heard of yet": replace(ORPHAN, name="ns_e-broker-0"),
        "fault": replace(ORPHAN, name="ns_f-broker-0"),
    }
    for record in (ORPHAN, *stays.values()):
        around.volumes.ensure(replace(record, made=False))
    around.clusters = {"ns": {"lives"}, "other": {"gone"}}
    around.pods = [Pod("ns", "d-broker-0", "u", "node-1")]
    around.unheard = [Pod("ns", "e-broker-0", "u", "")]
    request = {"kind": "diskError", "pod": {"namespace": "ns", "name": "f-broker-0", "uid": "u"}}
    around.faults = [FaultRecord("x", "inForce", request)]
    before, collector = removals("removed"), around.collector()
    look_for(collector, around, GRACE)
    assert ORPHAN.name in around.names(), "it was first seen 5 s after the beginning"
    look_for(collector, around, LOOK_EVERY)
    assert around.names() == sorted(one.name for one in stays.values())
    assert around.said == [], "nothing went wrong"
    assert around.removed == [
        f"{ORPHAN.name}: volume {ORPHAN.name} (ext4 of {40 << 20} bytes) removed: LogCluster gone was deleted"
    ]
    assert removals("removed") - before == 1
    for folder in ("images", "volumes"):
        assert not [path for path in (tmp_path / "state" / folder).iterdir() if ORPHAN.name in path.name]
    assert not (tmp_path / "mounts" / ORPHAN.name).exists()
    from agent_world import mounted_loops

    assert mounted_loops(tmp_path / "state" / "images" / f"{ORPHAN.name}.img") == []
    # Once what held them is over they go as well; the other two never do, nor that of the cluster that lives.
    around.pods, around.unheard, around.faults = [], [Pod("ns", "e-broker-0", "u", "node-2")], []
    look_for(collector, around, GRACE + 2 * LOOK_EVERY)
    assert around.names() == sorted(stays[one].name for one in ("named-no-cluster", "retained", "lives"))


def test_nothing_is_removed_while_the_api_server_is_silent(around: Surroundings) -> None:
    around.volumes.ensure(replace(ORPHAN, made=False))
    collector = around.collector()
    look_for(collector, around, GRACE - LOOK_EVERY)
    around.silent = True
    for _ in range(10):
        around.now += LOOK_EVERY
        with pytest.raises(RefusalError, match="does not answer"):
            collector.look()
    around.silent = False
    look_for(collector, around, GRACE)
    assert around.names() == [ORPHAN.name], "the while begins again"
    look_for(collector, around, LOOK_EVERY)
    assert around.names() == []


def test_one_that_is_in_use_is_told_and_tried_again(around: Surroundings) -> None:
    around.volumes.ensure(replace(ORPHAN, made=False))
    before, collector = removals("failed"), around.collector()
    with (around.volumes.data(ORPHAN.name) / "open").open("w"):
        look_for(collector, around, GRACE + LOOK_EVERY)
        assert around.names() == [ORPHAN.name]
        (said,) = around.said
        assert "of a deleted LogCluster stays for now: in use by pid " in said
        assert said.endswith("tried again")
        assert removals("failed") - before == 1
    look_for(collector, around, GRACE + LOOK_EVERY)
    assert around.names() == []
    assert removals("failed") - before == 1


def test_one_that_was_half_removed_goes_all_the_same(around: Surroundings, tmp_path: Path) -> None:
    around.volumes.ensure(replace(ORPHAN, made=False))
    volume = around.volumes.machine_volume(ORPHAN)
    replace(volume, keep_image=False).undo()
    look_for(around.collector(), around, GRACE + LOOK_EVERY)
    assert list((tmp_path / "state" / "volumes").iterdir()) == []


def test_what_the_api_server_says_and_what_is_no_answer(kube_api: ApiServer) -> None:
    configuration = kube_api.configuration()
    configuration.retries = 0
    clusters = ApiClusters(configuration)
    assert clusters.uids("default") == frozenset()
    made = [
        kube_api.create(
            {
                "apiVersion": "highwater.dev/v1alpha1",
                "kind": "LogCluster",
                "metadata": {"name": name, "namespace": namespace},
                "spec": {},
            }
        )["metadata"]["uid"]
        for name, namespace in (("one", "default"), ("two", "default"), ("one", "kube-public"))
    ]
    assert clusters.uids("default") == frozenset(made[:2])
    for what in ({"status": 500}, {"status": 403}, {"status": 404}, {"reset": True}):
        kube_api.fault(verb="list", resource="logclusters", **what)
        with pytest.raises(RefusalError):
            clusters.uids("default")
    kube_api.delete("highwater.dev/v1alpha1", "LogCluster", "one", "default")
    assert clusters.uids("default") == frozenset(made[1:2])


def test_an_api_server_without_the_definition_has_not_said_that_there_are_none(bare_kube_api: ApiServer) -> None:
    with pytest.raises(RefusalError, match="list logclusters default: 404"):
        ApiClusters(bare_kube_api.configuration()).uids("default")
