"""What ``kubectl get`` prints: an experiment's story in its columns, and a cluster's state."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest
from resources.conftest import url_of

GROUP = "highwater.dev/v1alpha1"


@pytest.fixture
def printed(kube_api: Any) -> Any:
    """Rows as kubectl asks for them; ``wide``: with the columns of a lower priority."""

    def ask(kind: str, *, wide: bool = False) -> list[dict[str, Any]]:
        accept = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
        request = urllib.request.Request(url_of(kube_api, kind), headers=accept)
        with urllib.request.urlopen(request, timeout=10) as answer:
            table = json.load(answer)
        shown = [i for i, one in enumerate(table["columnDefinitions"]) if wide or one["priority"] == 0]
        names = [table["columnDefinitions"][i]["name"] for i in shown]
        return [dict(zip(names, [row["cells"][i] for i in shown], strict=True)) for row in table["rows"]]

    return ask


def create(api: Any, kind: str, name: str, spec: dict[str, Any], status: dict[str, Any] | None = None) -> None:
    api.create({"apiVersion": GROUP, "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec})
    if status is not None:
        api.patch(GROUP, kind, name, "default", {"status": status}, "status")


def condition(kind: str, status: str, reason: str) -> dict[str, Any]:
    at = "2026-01-01T00:00:00Z"
    return {"type": kind, "status": status, "reason": reason, "message": "m", "lastTransitionTime": at}


def test_experiments_tell_their_story(kube_api: Any, printed: Any) -> None:
    spec = {"timeout": "1m", "cluster": {}}
    under_way = {"phase": "Injecting", "faults": {"planned": 3, "injected": 3, "confirmed": 3, "healed": 2}}
    counts = {"planned": 6, "injected": 6, "confirmed": 6, "healed": 6}
    lost = "found lost-write 12"
    create(kube_api, "ChaosExperiment", "a-new", spec)
    create(kube_api, "ChaosExperiment", "b-under-way", spec, under_way)
    over = {"phase": "Completed", "verdict": "fail", "expected": True, "reason": lost, "faults": counts}
    create(kube_api, "ChaosExperiment", "c-over", spec, over)
    refused = {"phase": "Refused", "verdict": "inconclusive", "reason": "not accepted: spec.checks[0]: no check"}
    create(kube_api, "ChaosExperiment", "d-refused", spec, refused)
    rows = printed("ChaosExperiment")
    assert [list(row) for row in rows] == [["Name", "Phase", "Verdict", "As-Expected", "Faults", "Healed", "Age"]] * 4
    assert [list(row.values())[:6] for row in rows] == [
        ["a-new", None, None, None, None, None],
        ["b-under-way", "Injecting", "", None, 3, 2],
        ["c-over", "Completed", "fail", True, 6, 6],
        ["d-refused", "Refused", "inconclusive", None, 0, 0],
    ]
    assert all(row["Age"].endswith("s") for row in rows)
    wide = printed("ChaosExperiment", wide=True)
    assert list(wide[0]) == ["Name", "Phase", "Verdict", "As-Expected", "Faults", "Healed", "Age", "Reason"]
    assert [row["Reason"] for row in wide] == [None, "", lost, "not accepted: spec.checks[0]: no check"]


def test_clusters_tell_how_they_are(kube_api: Any, printed: Any) -> None:
    ready = {
        "brokersReady": "3/3",
        "controllersReady": "2/3",
        "bootstrap": "demo-bootstrap.default.svc:9092",
        "conditions": [condition("Progressing", "True", "Rolling"), condition("Ready", "False", "ControllersDown")],
    }
    create(kube_api, "LogCluster", "demo", {}, ready)
    create(kube_api, "LogCluster", "new", {})
    rows = printed("LogCluster")
    assert [list(row) for row in rows] == [["Name", "Mode", "Brokers", "Controllers", "ZooKeepers", "Ready", "Age"]] * 2
    assert [list(row.values())[:6] for row in rows] == [
        ["demo", "kraft", "3/3", "2/3", "", "False"],
        ["new", "kraft", None, None, None, None],
    ]
    wide = printed("LogCluster", wide=True)[0]
    assert (wide["Reason"], wide["Bootstrap"]) == ("ControllersDown", "demo-bootstrap.default.svc:9092")
