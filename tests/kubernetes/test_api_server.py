"""The stand-in API server, by what no other test would notice: who may do what, and what it hides or leaves behind.

What it shares with a real server is in ``conformance``. That it makes pods and fails on request is seen by the tests of
operator and agent, which assert what came of it.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from typing import Any

import pytest
from api_server import ApiServer, Grant
from api_server.world import World
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from highwater_chaos.kube.client import local_configuration

PATIENCE = 30.0
LOG_CLUSTER = {
    "apiVersion": "highwater.dev/v1alpha1",
    "kind": "LogCluster",
    "metadata": {"name": "demo", "namespace": "default"},
    "spec": {"brokers": 3, "storage": {"size": "1Gi"}},
}


@pytest.fixture
def core(kube_api: ApiServer) -> client.CoreV1Api:
    configuration = kube_api.configuration()
    configuration.retries = 0
    return client.CoreV1Api(client.ApiClient(configuration))


def _map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


# The official clients


def test_a_watch_notices_that_the_server_is_gone(kubeconfig, monkeypatch):
    """The kernel asks for signs of life: a connection that was cut silently would say nothing for minutes."""
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    configuration = local_configuration()
    rest = client.ApiClient(configuration).rest_client
    connection = rest.pool_manager.connection_from_url(configuration.host)._get_conn()
    connection.connect()
    assert connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    options = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_NODELAY)
    assert [connection.sock.getsockopt(socket.IPPROTO_TCP, one) for one in options] == [4, 2, 3, 1]
    connection.close()


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl(kube_api, kubeconfig, tmp_path):
    def kubectl(*args: str) -> subprocess.CompletedProcess[str]:
        command = ["kubectl", f"--kubeconfig={kubeconfig}", f"--cache-dir={tmp_path}", *args]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)

    manifest = tmp_path / "demo.yaml"
    manifest.write_text(json.dumps(LOG_CLUSTER))
    assert kubectl("apply", "-f", str(manifest)).stdout == "logcluster.highwater.dev/demo created\n"
    assert kubectl("apply", "-f", str(manifest)).stdout == "logcluster.highwater.dev/demo unchanged\n"
    assert kubectl("apply", "--server-side", "-f", str(manifest)).returncode == 0
    assert "demo   kraft" in kubectl("get", "lc").stdout
    bad = {**LOG_CLUSTER, "metadata": {"name": "bad"}, "spec": {**LOG_CLUSTER["spec"], "controllers": 2}}
    manifest.write_text(json.dumps(bad))
    assert "controllers must be odd" in kubectl("apply", "-f", str(manifest)).stderr
    # kubectl waits for a condition about the generation that is there: an operator has to say which one it has seen.
    ready = {"type": "Ready", "status": "True", "reason": "R", "message": "m", "observedGeneration": 1}
    ready["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    kube_api.patch(
        "highwater.dev/v1alpha1", "LogCluster", "demo", "default", {"status": {"conditions": [ready]}}, "status"
    )
    waited = kubectl("wait", "--for=condition=Ready", "lc/demo", "--timeout=10s")
    assert waited.stdout == "logcluster.highwater.dev/demo condition met\n", waited
    assert kubectl("delete", "lc", "demo").stdout.startswith('logcluster.highwater.dev "demo" deleted')


# Bad days


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_connection_is_cut_around_a_write(kube_api, core, when):
    fault = kube_api.fault(verb="create", when=when, reset=True, skip=1)
    core.create_namespaced_config_map("default", _map("a"))
    with pytest.raises(Exception, match=r"Connection|aborted|reset"):
        core.create_namespaced_config_map("default", _map("b"))
    core.create_namespaced_config_map("default", _map("c"))
    kept = [name for name in "abc" if kube_api.get("v1", "ConfigMap", name, "default") is not None]
    assert (kept, len(fault.hits)) == (["a", "c"] if when == "before" else ["a", "b", "c"], 1)


def test_a_fault_of_the_server_itself_is_not_hidden(monkeypatch):
    api = ApiServer().__enter__()
    monkeypatch.setattr(api.operations, "stored", lambda *_: 1 / 0)
    with pytest.raises(ApiException) as refused:
        client.CoreV1Api(client.ApiClient(api.configuration())).read_namespaced_config_map("a", "default")
    assert refused.value.status == 500
    with pytest.raises(ExceptionGroup, match="the API server failed"):
        api.__exit__()


# Who may do what


def _as(kube_api: ApiServer, token: str) -> client.CoreV1Api:
    return client.CoreV1Api(client.ApiClient(kube_api.configuration(token)))


def test_only_what_is_granted_is_allowed_and_all_is_remembered(kube_api):
    rules = [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "delete"]},
        {"apiGroups": [""], "resources": ["pods"], "resourceNames": ["one"], "verbs": ["get"]},
    ]
    user = kube_api.authorizer.add_user("secret", "tester", [Grant(rules, "default")])
    core = _as(kube_api, "secret")
    core.create_namespaced_config_map("default", _map("a"))
    core.read_namespaced_config_map("a", "default")
    for refused in (
        lambda: core.list_namespaced_config_map("default"),
        lambda: core.read_namespaced_config_map("a", "kube-system"),
        lambda: core.read_namespaced_secret("a", "default"),
        lambda: core.read_namespaced_pod("two", "default"),
        lambda: core.patch_namespaced_pod_status("one", "default", {}),
    ):
        with pytest.raises(ApiException) as error:
            refused()
        assert error.value.status == 403
    with pytest.raises(ApiException) as error:
        core.read_namespaced_pod("one", "default")
    assert error.value.status == 404
    assert [str(asked) for asked in user.refused] == [
        "list configmaps.core in default",
        "get configmaps.core a in kube-system",
        "get secrets.core a in default",
        "get pods.core two in default",
        "patch pods/status.core one in default",
    ]


def test_a_refusal_says_who_may_not_do_what(kube_api):
    kube_api.authorizer.add_user("secret", "system:serviceaccount:x:operator", [])
    with pytest.raises(ApiException) as error:
        _as(kube_api, "secret").list_namespaced_secret("default")
    assert json.loads(error.value.body)["message"] == (
        'secrets is forbidden: User "system:serviceaccount:x:operator" cannot list resource "secrets" in API group "" '
        'in the namespace "default"'
    )


def test_an_unknown_token_is_nobody(kube_api):
    kube_api.authorizer.add_user("secret", "tester", [])
    with pytest.raises(ApiException) as error:
        _as(kube_api, "other").list_namespaced_secret("default")
    assert error.value.status == 401


def test_the_rules_of_manifests(kube_api):
    manifests = [
        {
            "kind": "ClusterRole",
            "metadata": {"name": "reader"},
            "rules": [{"apiGroups": ["highwater.dev"], "resources": ["logclusters"], "verbs": ["list", "watch"]}],
        },
        {
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "reader"},
            "roleRef": {"kind": "ClusterRole", "name": "reader"},
            "subjects": [{"kind": "ServiceAccount", "name": "operator", "namespace": "highwater"}],
        },
    ]
    kube_api.authorizer.add_manifests("secret", "highwater/operator", manifests)
    custom = client.CustomObjectsApi(client.ApiClient(kube_api.configuration("secret")))
    assert custom.list_cluster_custom_object("highwater.dev", "v1alpha1", "logclusters")["items"] == []
    with pytest.raises(ApiException, match="cannot delete resource"):
        custom.delete_namespaced_custom_object("highwater.dev", "v1alpha1", "default", "logclusters", "demo")
    with pytest.raises(ValueError, match="no binding among the manifests"):
        kube_api.authorizer.add_manifests("other", "highwater/agent", manifests)


# Jobs


def _job(name: str, **spec: Any) -> dict[str, Any]:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "c:1"}]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": template, **spec},
    }


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
