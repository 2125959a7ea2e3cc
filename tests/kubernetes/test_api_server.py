"""The stand-in API server, by what only a stand-in does: it fails on request and knows who asked for what.

What it shares with a real server is in ``conformance``.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import kubernetes
import pytest
import urllib3
from api_server import ApiServer, Fault, Grant
from kubernetes import client, watch
from kubernetes.client.exceptions import ApiException

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


def test_the_official_watch_follows(kube_api, core):
    listed = core.list_namespaced_config_map("default").metadata.resource_version
    core.create_namespaced_config_map("default", _map("a"))
    core.delete_namespaced_config_map("a", "default")
    seen = []
    stream = watch.Watch()
    for event in stream.stream(core.list_namespaced_config_map, "default", resource_version=listed):
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == 2:
            stream.stop()
    assert seen == [("ADDED", "a"), ("DELETED", "a")]


def test_a_kubeconfig_leads_to_it(kube_api, kubeconfig):
    made = kubernetes.config.new_client_from_config(str(kubeconfig))
    assert client.CoreV1Api(made).read_namespace("default").metadata.name == "default"


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


@pytest.mark.parametrize("status", [409, 429, 500, 503, 504])
def test_an_answer_is_replaced(kube_api, core, status):
    fault = kube_api.fault(verb="get", resource="configmaps", status=status, retry_after=1)
    kube_api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}})
    with pytest.raises(ApiException) as refused:
        core.read_namespaced_config_map("a", "default")
    assert refused.value.status == status
    assert refused.value.headers["Retry-After"] == "1"
    assert [str(asked) for asked in fault.hits] == ["get configmaps.core a in default"]
    assert core.read_namespaced_config_map("a", "default").metadata.name == "a"


def test_the_answer_to_a_write_that_was_done_is_lost(kube_api, core):
    kube_api.fault(verb="create", when="after", reset=True)
    with pytest.raises(Exception, match=r"Connection|aborted|reset"):
        core.create_namespaced_config_map("default", _map("a"))
    assert kube_api.get("v1", "ConfigMap", "a", "default") is not None


def test_a_connection_is_cut_before_anything_is_done(kube_api, core):
    kube_api.fault(verb="create", reset=True)
    with pytest.raises(Exception, match=r"Connection|aborted|reset"):
        core.create_namespaced_config_map("default", _map("a"))
    assert kube_api.get("v1", "ConfigMap", "a", "default") is None


def test_faults_choose_and_are_spent(kube_api, core):
    fault = kube_api.faults.add(Fault(verb="create", resource="configmaps", status=500, skip=1, times=2))
    outcomes = []
    for index in range(5):
        try:
            core.create_namespaced_config_map("default", _map(f"a{index}"))
            outcomes.append(201)
        except ApiException as error:
            outcomes.append(error.status)
    assert outcomes == [201, 500, 500, 201, 201]
    assert len(fault.hits) == 2


def test_a_watch_from_before_the_history_is_gone(kube_api, core):
    start = core.list_namespaced_config_map("default").metadata.resource_version
    core.create_namespaced_config_map("default", _map("a"))
    kube_api.store.compact()
    with pytest.raises(ApiException) as gone:
        next(iter(watch.Watch().stream(core.list_namespaced_config_map, "default", resource_version=start)))
    assert gone.value.status == 410


@pytest.mark.parametrize("how", ["end_watch_after", "expire_watch_after"])
def test_watches_die_in_the_middle_and_nothing_is_lost(kube_api, core, how):
    start = core.list_namespaced_config_map("default").metadata.resource_version
    for index in range(4):
        core.create_namespaced_config_map("default", _map(f"a{index}"))
    kube_api.fault(verb="watch", **{how: 2})
    seen, version = [], start
    for _ in range(2):
        response = core.list_namespaced_config_map(
            "default", watch=True, resource_version=version, timeout_seconds=1, _preload_content=False
        )
        text = b""
        try:
            for chunk in response.stream():
                text += chunk
        except urllib3.exceptions.HTTPError:
            assert how == "end_watch_after"
        events = [json.loads(line) for line in text.splitlines()]
        if how == "expire_watch_after" and events[-1]["type"] == "ERROR":
            assert events.pop()["object"]["code"] == 410
        seen += [event["object"]["metadata"]["name"] for event in events]
        version = events[-1]["object"]["metadata"]["resourceVersion"]
    assert seen == ["a0", "a1", "a2", "a3"]


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
