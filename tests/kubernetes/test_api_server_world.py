"""The miniature cluster behind the stand-in API server: sets and Jobs make pods, and pods are what a test says."""

from __future__ import annotations

import threading
from typing import Any

from api_server import ApiServer
from api_server.world import PENDING, READY, UNREADY, World, finished
from kubernetes import client
from waiting import until

PATIENCE = 30.0
LOG_CLUSTER = {
    "apiVersion": "highwater.dev/v1alpha1",
    "kind": "LogCluster",
    "metadata": {"name": "demo", "namespace": "default"},
    "spec": {"brokers": 3, "storage": {"size": "1Gi"}},
}


def _set(name: str = "web", replicas: int = 3, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "OnDelete"},
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "node", "image": "node:1"}]},
            },
            "volumeClaimTemplates": [
                {
                    "metadata": {"name": "data"},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                }
            ],
            **spec,
        },
    }


def _job(name: str, **spec: Any) -> dict[str, Any]:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "c:1"}]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": template, **spec},
    }


def _pods(api: ApiServer) -> dict[str, dict[str, Any]]:
    return {pod["metadata"]["name"]: pod for pod in api.objects("v1", "Pod", "default")}


def _image(pod: dict[str, Any]) -> str:
    return str(pod["spec"]["containers"][0]["image"])


NEW_IMAGE = {"spec": {"template": {"spec": {"containers": [{"name": "node", "image": "node:2"}]}}}}
PLACE = ("apps/v1", "StatefulSet", "web", "default")


def test_a_set_makes_pods_and_claims_by_ordinal(bare_kube_api):
    with World(bare_kube_api) as world:
        bare_kube_api.create(_set())
        world.settle()
        pods = _pods(bare_kube_api)
        assert list(pods) == ["web-0", "web-1", "web-2"]
        pod = pods["web-1"]
        assert (pod["status"]["phase"], pod["spec"]["hostname"], pod["spec"]["subdomain"]) == (
            "Running",
            "web-1",
            "web",
        )
        assert pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "1"
        assert len({pod["status"]["podIP"] for pod in pods.values()}) == 3
        claims = {claim["metadata"]["name"]: claim for claim in bare_kube_api.objects("v1", "PersistentVolumeClaim")}
        assert list(claims) == ["data-web-0", "data-web-1", "data-web-2"]
        assert claims["data-web-0"]["status"]["phase"] == "Bound"
        status = bare_kube_api.get(*PLACE)["status"]
        assert (status["readyReplicas"], status["updatedReplicas"], status["observedGeneration"]) == (3, 3, 1)


def test_refused_pods_are_tried_again_by_one_timer(bare_kube_api, monkeypatch):
    monkeypatch.setattr("api_server.world._TRY_AGAIN_SECONDS", 0.005)
    refused: list[str] = []
    most = 0

    def refuse(pod: dict[str, Any]) -> str:
        nonlocal most
        refused.append(pod["metadata"]["name"])
        most = max(most, len(_timers() - before))
        return "violates PodSecurity"

    before = _timers()
    with World(bare_kube_api) as world:
        world.refuse_pod = refuse
        bare_kube_api.create(_set())
        until(lambda: refused.count("web-2") >= 10, "tried again")
        assert _pods(bare_kube_api) == {}
        assert most <= 2, "the one that tries, and the next one"
        world.refuse_pod = lambda pod: None
        until(lambda: len(_pods(bare_kube_api)) == 3, "all pods")
        world.refuse_pod = refuse
        bare_kube_api.create(_set("other"))
        until(lambda: "other-2" in refused, "refused")
    until(lambda: _timers() <= before, "none is left")


def _timers() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)}


def test_on_delete_leaves_pods_until_they_are_deleted(bare_kube_api):
    with World(bare_kube_api) as world:
        bare_kube_api.create(_set())
        world.settle()
        before = _pods(bare_kube_api)
        bare_kube_api.patch(*PLACE, NEW_IMAGE)
        world.settle()
        assert {_image(pod) for pod in _pods(bare_kube_api).values()} == {"node:1"}
        status = bare_kube_api.get(*PLACE)["status"]
        assert (status["updatedReplicas"], status["readyReplicas"]) == (0, 3)
        assert status["currentRevision"] != status["updateRevision"]
        bare_kube_api.delete("v1", "Pod", "web-1", "default")
        world.settle()
        after = _pods(bare_kube_api)
        assert {name: _image(pod) for name, pod in after.items()} == {
            "web-0": "node:1",
            "web-1": "node:2",
            "web-2": "node:1",
        }
        assert after["web-1"]["metadata"]["uid"] != before["web-1"]["metadata"]["uid"]
        assert after["web-1"]["metadata"]["labels"]["controller-revision-hash"] == status["updateRevision"]
        assert bare_kube_api.get(*PLACE)["status"]["updatedReplicas"] == 1


def test_scaling_down_takes_the_highest_and_keeps_the_data(bare_kube_api):
    with World(bare_kube_api) as world:
        bare_kube_api.create(_set())
        world.settle()
        bare_kube_api.patch(*PLACE, {"spec": {"replicas": 1}})
        world.settle()
        assert list(_pods(bare_kube_api)) == ["web-0"]
        assert len(bare_kube_api.objects("v1", "PersistentVolumeClaim", "default")) == 3
        bare_kube_api.patch(*PLACE, {"spec": {"replicas": 2}})
        world.settle()
        assert list(_pods(bare_kube_api)) == ["web-0", "web-1"]


def test_pods_end_in_their_own_time(bare_kube_api):
    with World(bare_kube_api) as world:
        world.pods.lingers = lambda pod: True
        bare_kube_api.create(_set(replicas=1))
        world.settle()
        assert not bare_kube_api.delete("v1", "Pod", "web-0", "default")
        world.settle()
        pod = _pods(bare_kube_api)["web-0"]
        assert pod["metadata"]["deletionGracePeriodSeconds"] == 30
        world.pods.let_go("default", "web-0")
        world.settle()
        assert _pods(bare_kube_api)["web-0"]["metadata"]["uid"] != pod["metadata"]["uid"]


def test_a_pod_deleted_by_force_is_gone_and_stopped(bare_kube_api):
    with World(bare_kube_api) as world:
        bare_kube_api.create(_set(replicas=1))
        world.settle()
        assert bare_kube_api.delete("v1", "Pod", "web-0", "default", grace=0)
        world.settle()
        assert world.pods.stopped == [("default", "web-0")]
        assert world.pods.started == [("default", "web-0")] * 2


def test_pods_are_what_a_test_says(bare_kube_api):
    with World(bare_kube_api) as world:
        world.pods.decide = lambda pod: PENDING
        bare_kube_api.create(_set(replicas=1))
        world.settle()
        assert _pods(bare_kube_api)["web-0"]["status"]["phase"] == "Pending"
        world.pods.become("default", "web-0", UNREADY)
        world.settle()
        assert bare_kube_api.get(*PLACE)["status"]["readyReplicas"] == 0
        world.pods.become("default", "web-0", READY)
        world.settle()
        assert bare_kube_api.get(*PLACE)["status"]["readyReplicas"] == 1
        world.pods.restart("default", "web-0")
        world.settle()
        container = _pods(bare_kube_api)["web-0"]["status"]["containerStatuses"][0]
        assert container["restartCount"] == 1
        assert container["lastState"]["terminated"]["exitCode"] == 137


def test_a_job_completes_and_its_log_is_read(bare_kube_api):
    core = client.CoreV1Api(client.ApiClient(bare_kube_api.configuration()))
    with World(bare_kube_api) as world:
        bare_kube_api.create(_job("once"))
        world.settle()
        status = bare_kube_api.get("batch/v1", "Job", "once", "default")["status"]
        assert [(c["type"], c["status"]) for c in status["conditions"]] == [
            ("SuccessCriteriaMet", "True"),
            ("Complete", "True"),
        ]
        assert status["succeeded"] == 1
        (name,) = _pods(bare_kube_api)
        world.pods.write("default", name, "wrote 100 records\n")
        assert core.read_namespaced_pod_log(name, "default") == "wrote 100 records\n"


def test_a_job_fails_when_its_pods_do(bare_kube_api):
    with World(bare_kube_api) as world:
        world.pods.decide = lambda pod: finished(1)
        bare_kube_api.create(_job("hopeless", backoffLimit=2))
        world.settle()
        status = bare_kube_api.get("batch/v1", "Job", "hopeless", "default")["status"]
        assert status["conditions"][-1]["type"] == "Failed"
        assert status["conditions"][-1]["reason"] == "BackoffLimitExceeded"
        assert status["failed"] == 3


def test_pods_of_a_job_outlive_it_unless_told_otherwise(bare_kube_api):
    """The one resource whose default is to orphan: an operator has to say that it wants them gone."""
    made = client.ApiClient(bare_kube_api.configuration())
    batch = client.BatchV1Api(made)
    with World(bare_kube_api) as world:
        for name in ("kept", "taken"):
            batch.create_namespaced_job("default", _job(name))
        world.settle()
        batch.delete_namespaced_job("kept", "default")
        batch.delete_namespaced_job("taken", "default", propagation_policy="Background")
        world.settle()
    left = [pod.metadata.labels["job-name"] for pod in client.CoreV1Api(made).list_namespaced_pod("default").items]
    assert left == ["kept"]


def test_owners_take_sets_and_pods_along(kube_api):
    with World(kube_api) as world:
        owner = kube_api.create(LOG_CLUSTER)
        reference = {key: owner[key] for key in ("apiVersion", "kind")}
        reference |= {key: owner["metadata"][key] for key in ("name", "uid")}
        manifest = _set()
        manifest["metadata"]["ownerReferences"] = [reference]
        kube_api.create(manifest)
        world.settle()
        kube_api.delete("highwater.dev/v1alpha1", "LogCluster", "demo", "default")
        world.settle()
        assert kube_api.get(*PLACE) is None
        assert _pods(kube_api) == {}
