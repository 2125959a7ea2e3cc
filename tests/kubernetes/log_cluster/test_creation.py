"""Pods that the API server refuses to create: the LogCluster says so, in the API server's own words."""

from __future__ import annotations

from typing import Any

import pytest

from highwater_operator.reconcile.creation import refusal
from highwater_operator.reconcile.observation import SetView

SET = SetView("demo-broker", 3, "new", "uid")
WHY = "is forbidden: exceeded quota: compute, requested: pods=1, used: pods=2, limited: pods=2"


def failed(pod: str, at: str, why: str = WHY) -> dict[str, Any]:
    message = f'create Pod {pod} in StatefulSet demo-broker failed error: pods "{pod}" {why}'
    return {"reason": "FailedCreate", "message": message, "lastTimestamp": f"2026-01-01T00:00:{at}Z"}


def created(pod: str, at: str) -> dict[str, Any]:
    message = f"create Pod {pod} in StatefulSet demo-broker successful"
    return {"reason": "SuccessfulCreate", "message": message, "lastTimestamp": f"2026-01-01T00:00:{at}Z"}


def claimed(pod: str, at: str) -> dict[str, Any]:
    message = f"create Claim data-{pod} Pod {pod} in StatefulSet demo-broker success"
    return {"reason": "SuccessfulCreate", "message": message, "lastTimestamp": f"2026-01-01T00:00:{at}Z"}


def test_a_refusal_is_told_in_its_own_words() -> None:
    told = refusal(SET, ["demo-broker-1", "demo-broker-2"], [failed("demo-broker-2", "05")])
    assert told == f'1 of 3 pods of demo-broker exist; demo-broker-2 is refused: pods "demo-broker-2" {WHY}'


@pytest.mark.parametrize(
    ("events", "is_refused"),
    [
        ([], False),
        ([failed("demo-broker-1", "05")], True),
        ([failed("demo-broker-0", "05")], False),  # it is there
        ([failed("demo-broker-10", "05")], False),
        ([failed("demo-broker-1", "05"), created("demo-broker-1", "06")], False),
        ([failed("demo-broker-1", "05"), created("demo-broker-1", "05")], False),
        ([created("demo-broker-1", "06"), failed("demo-broker-1", "05")], False),
        ([created("demo-broker-1", "05"), failed("demo-broker-1", "06")], True),
        ([failed("demo-broker-1", "05"), claimed("demo-broker-1", "06")], True),
        ([failed("demo-broker-1", "05"), created("demo-broker-2", "06")], True),
        ([{"reason": "FailedCreate", "message": "something else", "lastTimestamp": None}], False),
        ([{**failed("demo-broker-1", "05"), "reason": "RecreatingFailedPod"}], False),
    ],
)
def test_only_what_is_missing_and_was_refused_last(events: list[dict[str, Any]], is_refused: bool) -> None:
    assert (refusal(SET, ["demo-broker-1"], events) is not None) == is_refused


def test_newer_fields_of_events_are_read() -> None:
    by_series = {**failed("demo-broker-1", "01"), "series": {"lastObservedTime": "2026-01-01T00:00:09.000000Z"}}
    assert refusal(SET, ["demo-broker-1"], [by_series, created("demo-broker-1", "05")]) is not None


def test_a_namespace_that_refuses_pods(stage: Any, wait_for: Any) -> None:
    stage.world.refuse_pod = lambda pod: WHY
    stage.start()
    stage.create(storage={"crashable": True, "size": "128Mi"})
    wait_for(lambda: stage.condition("Degraded")["reason"] == "PodsNotCreated", "the reason")
    assert [stage.condition(one)["status"] for one in ("Degraded", "Ready", "Progressing")] == ["True", "False", "True"]
    assert stage.condition("Ready")["reason"] == "PodsNotCreated"
    wait_for(lambda: "demo-broker-0" in stage.condition("Ready")["message"], "both StatefulSets")
    message = stage.condition("Ready")["message"]
    said = f'0 of 3 pods of demo-controller exist; demo-controller-0 is refused: pods "demo-controller-0" {WHY}'
    assert said in message
    assert stage.status()["phase"] == "Degraded"
    events = wait_for(lambda: stage.events("PodsNotCreated"), "the Event")
    assert {event["type"] for event in events} == {"Warning"}
    stage.world.refuse_pod = lambda pod: None
    stage.until_settled()


def test_a_quota_that_one_pod_exceeds(stage: Any, wait_for: Any) -> None:
    why = "is forbidden: exceeded quota: pods"
    stage.world.refuse_pod = lambda pod: why if pod["metadata"]["name"] == "demo-broker-2" else None
    stage.start()
    stage.create()
    wait_for(lambda: stage.condition("Degraded")["reason"] == "PodsNotCreated", "the reason")
    said = f'2 of 3 pods of demo-broker exist; demo-broker-2 is refused: pods "demo-broker-2" {why}'
    wait_for(lambda: stage.condition("Degraded")["message"] == said, "the message")


def test_an_operator_newer_than_its_rights_serves_all_the_same(stage: Any, wait_for: Any) -> None:
    met = stage.api.fault(verb="list", resource="events", status=403, times=None)
    stage.world.refuse_pod = lambda pod: WHY if pod["metadata"]["name"] == "demo-broker-2" else None
    stage.start()
    stage.create()
    wait_for(lambda: met.hits and stage.status().get("brokersReady") == "2/3", "the status")
    assert stage.condition("Ready")["reason"] == "PodsNotReady"
