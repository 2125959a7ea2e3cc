"""What an API server does on a bad day only delays; and many clusters are no more trouble than one."""

from __future__ import annotations

from typing import Any

import pytest

from highwater_operator.reconcile.context import Pace


@pytest.mark.quick("patch-statefulsets-409", "patch-services-500-2", "list-pods", "watch-1", "watch-2")
@pytest.mark.parametrize(
    "fault",
    [
        {"verb": "patch", "resource": "statefulsets", "status": 409, "times": 3},
        {"verb": "patch", "resource": "services", "status": 500, "times": 5},
        {"verb": "patch", "resource": "services", "status": 500, "times": 2, "when": "after"},
        {"verb": "list", "resource": "pods", "status": 503, "times": 6},
        {"verb": "patch", "status": 429, "retry_after": 1, "times": 2},
        {"verb": "get", "reset": True, "times": 4},
        {"verb": "patch", "resource": "configmaps", "reset": True, "times": 2, "when": "after"},
        {"verb": "patch", "resource": "logclusters/status", "status": 409, "times": 3},
        {"verb": "patch", "resource": "logclusters/status", "status": 500, "times": 2, "when": "after"},
        {"verb": "create", "resource": "events", "status": 500, "times": 10},
        {"verb": "watch", "status": 500, "times": 3},
        {"verb": "watch", "end_watch_after": 1, "times": 6},
        {"verb": "watch", "expire_watch_after": 2, "times": 3},
    ],
    ids=lambda fault: "-".join(str(value) for value in fault.values()),
)
def test_errors_delay(stage: Any, fault: dict[str, Any]) -> None:
    stage.start()
    met = stage.api.fault(**fault)
    stage.create(topics=[{"name": "orders"}])
    stage.until_settled()
    assert met.hits, "the fault was met"
    assert stage.cluster().created == ["orders"]


def test_a_server_that_is_away_for_a_while(stage: Any, wait_for: Any) -> None:
    stage.serve()
    away = stage.api.fault(status=503, times=None)
    stage.patch("demo", brokers=4)
    wait_for(lambda: len(away.hits) > 10, "the operator to have tried")
    stage.api.faults.clear()
    stage.until_settled()
    assert stage.status()["brokersReady"] == "4/4"


def test_watches_that_die_are_opened_again(stage: Any) -> None:
    stage.serve()
    for brokers in (4, 5):
        assert stage.api.cut_watches() > 0
        stage.patch("demo", brokers=brokers)
        stage.until_settled()
    assert len(stage.pods()) == 8


def test_a_pod_is_deleted_once_even_if_the_answer_is_lost(stage: Any) -> None:
    stage.serve()
    stage.world.pods.stopped.clear()
    stage.api.fault(verb="delete", resource="pods", reset=True, when="after", times=3)
    stage.patch("demo", config={"log.retention.ms": 1000})
    stage.until_settled()
    stopped = [name for _, name in stage.world.pods.stopped]
    assert sorted(stopped) == sorted(set(stopped))
    assert len(stopped) == 6


def test_a_status_that_another_wrote_meanwhile_is_not_written_over(stage: Any) -> None:
    """Conditions are one list to a merge patch: written over an old version, they would lose those of others."""
    place = ("highwater.dev/v1alpha1", "LogCluster", "demo", "default")
    other = {"type": "Other", "status": "True", "reason": "R", "message": "m", "observedGeneration": 1}
    other["lastTransitionTime"] = "2026-01-01T00:00:00Z"

    def write_first(asked: Any) -> bool:
        conditions = stage.status().get("conditions", [])
        if not any(one["type"] == "Other" for one in conditions):
            stage.api.patch(*place, {"status": {"conditions": [*conditions, other]}}, "status")
        return False

    stage.api.fault(verb="patch", resource="logclusters/status", matches=write_first)
    stage.create()
    stage.start()
    stage.until_settled()
    stage.api.faults.clear()
    assert other in stage.status()["conditions"]


def test_a_forbidden_object_is_told_of(stage: Any, wait_for: Any) -> None:
    stage.api.fault(verb="patch", resource="networkpolicies", status=403, times=None)
    stage.start()
    stage.create()
    wait_for(lambda: stage.condition("Degraded")["reason"] == "NotCarriedOut", "the reason")
    assert "apply networkpolicies default/demo-controller: 403" in stage.condition("Degraded")["message"]
    stage.api.faults.clear()
    stage.until_settled()


@pytest.mark.parametrize("clusters", [8, pytest.param(50, marks=pytest.mark.thorough)])
def test_many_clusters_at_once(stage: Any, wait_for: Any, clusters: int) -> None:
    stage.start(pace=Pace())  # the usual one: what happens, happens by events
    names = [f"many-{n}" for n in range(clusters)]
    for name in names:
        stage.create(name, brokers=1, controllers=1, topics=[{"name": "orders"}])
    for name in names:
        stage.until_settled(name, 90)
    assert all(stage.cluster(name).created == ["orders"] for name in names)
    for name in names:
        stage.api.delete("highwater.dev/v1alpha1", "LogCluster", name, "default")
    wait_for(lambda: not stage.pods(), "all pods to be gone", 60)
    stage.world.settle()
    assert stage.api.objects("apps/v1", "StatefulSet", "default") == []
