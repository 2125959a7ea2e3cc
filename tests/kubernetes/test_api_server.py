"""The stand-in API server, by what only a stand-in does: it fails on request and knows who asked for what.

What it shares with a real server is in ``conformance``.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import kubernetes
import pytest
import urllib3
from api_server import ApiServer, Fault, Grant
from kubernetes import client, dynamic, watch
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


def _until(holds: Any, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"{what}: not within {PATIENCE} s"
        time.sleep(0.01)


# The official clients


def test_the_typed_client_reads_what_the_dynamic_one_writes(kube_api, core):
    made = dynamic.DynamicClient(core.api_client)
    maps = made.resources.get(api_version="v1", kind="ConfigMap")
    maps.create(body={"apiVersion": "v1", "kind": "ConfigMap", **_map("a", x="1")}, namespace="default")
    assert core.read_namespaced_config_map("a", "default").data == {"x": "1"}


def test_the_dynamic_client_applies_custom_resources(kube_api, core):
    made = dynamic.DynamicClient(core.api_client)
    clusters = made.resources.get(api_version="highwater.dev/v1alpha1", kind="LogCluster")
    applied = clusters.server_side_apply(body=LOG_CLUSTER, name="demo", namespace="default", field_manager="test")
    assert applied.spec.controllers == 3
    with pytest.raises(ApiException) as refused:
        clusters.patch(
            body={"spec": {"controllers": 5}},
            name="demo",
            namespace="default",
            content_type="application/merge-patch+json",
        )
    assert "controllers cannot be changed" in refused.value.body


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
    assert client.VersionApi(made).get_code().git_version == "v1.34.0"


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
    assert "FIELD: brokers <integer>" in kubectl("explain", "lc.spec.brokers").stdout
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


def test_kopf_runs_on_it(kube_api, kubeconfig, tmp_path, monkeypatch):
    """Finalizers, its own annotations, patches of the status, daemons and deletion: all through real watches."""
    from kopf.testing import KopfRunner

    script = tmp_path / "operator.py"
    script.write_text(
        """
import kopf

@kopf.on.startup()
def configure(settings, **_):
    settings.posting.enabled = True
    settings.persistence.finalizer = "highwater.dev/finalizer"
    settings.watching.server_timeout = 5

@kopf.on.login()
def login(**kwargs):
    return kopf.login_with_kubeconfig(**kwargs)

@kopf.on.create("highwater.dev", "v1alpha1", "logclusters")
def created(spec, patch, **_):
    patch.status["phase"] = f"made {spec['brokers']}"

@kopf.on.update("highwater.dev", "v1alpha1", "logclusters", field="spec.brokers")
def changed(new, patch, **_):
    patch.status["phase"] = f"changed to {new}"

@kopf.on.delete("highwater.dev", "v1alpha1", "logclusters")
def deleted(name, **_):
    print(f"deleting {name}", flush=True)
"""
    )
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    place = ("highwater.dev/v1alpha1", "LogCluster", "demo", "default")

    def phase() -> Any:
        return ((kube_api.get(*place) or {}).get("status") or {}).get("phase")

    with KopfRunner(["run", "--namespace=default", "--standalone", str(script)], timeout=PATIENCE) as runner:
        kube_api.create(LOG_CLUSTER)
        _until(lambda: phase() == "made 3", "created")
        finalizers = kube_api.get(*place)["metadata"]["finalizers"]
        assert finalizers == ["highwater.dev/finalizer"]
        kube_api.cut_watches("logclusters")
        kube_api.patch(*place, {"spec": {"brokers": 5}})
        _until(lambda: phase() == "changed to 5", "seen by the watch that follows the one that was cut")
        kube_api.delete(*place)
        _until(lambda: kube_api.get(*place) is None, "gone once the operator let it go")
    assert runner.exit_code == 0, runner.output
    assert runner.exception is None
    assert "deleting demo" in runner.output


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


def test_answers_are_slow_or_never_come(kube_api, core):
    kube_api.fault(verb="list", hang=True)
    with pytest.raises(Exception, match="timed out"):
        core.list_namespaced_config_map("default", _request_timeout=0.3)
    kube_api.fault(verb="list", delay=0.3)
    begun = time.monotonic()
    core.list_namespaced_config_map("default")
    assert time.monotonic() - begun >= 0.3


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


def test_a_history_has_a_length():
    with ApiServer(history=5) as api:
        start = api.store.revision
        for index in range(6):
            api.create(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"a{index}", "namespace": "default"}}
            )
        table = api.kind("v1", "ConfigMap").table
        with pytest.raises(Exception, match="too old resource version"):
            api.store.follow(table, start, lambda: None)
        assert len(api.store.follow(table, start + 1, lambda: None).take()) == 5


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


def test_every_write_is_seen_by_a_watch_that_is_cut_again_and_again(kube_api, core):
    start = core.list_namespaced_config_map("default").metadata.resource_version
    total = 60

    def write() -> None:
        for index in range(total):
            core.create_namespaced_config_map("default", _map(f"a{index}"))
            if index % 10 == 5:
                kube_api.cut_watches("configmaps")

    writer = threading.Thread(target=write)
    writer.start()
    seen, version = [], start
    while len(seen) < total:
        response = core.list_namespaced_config_map(
            "default", watch=True, resource_version=version, timeout_seconds=1, _preload_content=False
        )
        buffered = b""
        try:
            for chunk in response.stream():
                buffered += chunk
                *lines, buffered = buffered.split(b"\n")
                for line in lines:
                    obj = json.loads(line)["object"]
                    seen.append(obj["metadata"]["name"])
                    version = obj["metadata"]["resourceVersion"]
        except urllib3.exceptions.HTTPError:
            continue  # it was cut
    writer.join()
    assert seen == [f"a{index}" for index in range(total)]


def test_a_fault_of_the_server_itself_is_not_hidden(monkeypatch):
    api = ApiServer().start()
    monkeypatch.setattr(api.operations, "stored", lambda *_: 1 / 0)
    with pytest.raises(ApiException) as refused:
        client.CoreV1Api(client.ApiClient(api.configuration())).read_namespaced_config_map("a", "default")
    assert refused.value.status == 500
    with pytest.raises(ExceptionGroup, match="the API server failed"):
        api.stop()


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
    assert user.unused() == ["delete configmaps.core"]


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
    user = kube_api.authorizer.add_manifests("secret", "highwater/operator", manifests)
    custom = client.CustomObjectsApi(client.ApiClient(kube_api.configuration("secret")))
    assert custom.list_cluster_custom_object("highwater.dev", "v1alpha1", "logclusters")["items"] == []
    assert user.unused() == ["watch logclusters.highwater.dev"]
    with pytest.raises(ValueError, match="no binding among the manifests"):
        kube_api.authorizer.add_manifests("other", "highwater/agent", manifests)


# Definitions and namespaces


def test_a_definition_takes_its_objects_along(kube_api, core):
    kube_api.create(LOG_CLUSTER)
    custom = client.CustomObjectsApi(core.api_client)
    kube_api.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", "logclusters.highwater.dev")
    kube_api.settle()
    with pytest.raises(ApiException) as error:
        custom.list_namespaced_custom_object("highwater.dev", "v1alpha1", "default", "logclusters")
    assert error.value.status == 404


def test_a_namespace_takes_its_content_along(kube_api, core):
    core.create_namespace({"metadata": {"name": "mine"}})
    core.create_namespaced_config_map("mine", {**_map("a"), "metadata": {"name": "a", "finalizers": ["x.dev/y"]}})
    core.create_namespaced_config_map("mine", _map("b"))
    core.delete_namespace("mine")
    kube_api.settle()
    assert core.read_namespace("mine").status.phase == "Terminating"
    assert [item.metadata.name for item in core.list_namespaced_config_map("mine").items] == ["a"]
    with pytest.raises(ApiException, match="because it is being terminated"):
        core.create_namespaced_config_map("mine", _map("c"))
    core.patch_namespaced_config_map("a", "mine", {"metadata": {"finalizers": None}})
    kube_api.settle()
    with pytest.raises(ApiException) as error:
        core.read_namespace("mine")
    assert error.value.status == 404


# Many at once


def test_many_clients_at_once_each_get_their_own_answer(kube_api, core):
    def write(index: int) -> str:
        core.create_namespaced_config_map("default", _map(f"a{index}", value=str(index)))
        return str(core.read_namespaced_config_map(f"a{index}", "default").data["value"])

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(write, range(80))) == [str(index) for index in range(80)]


def test_racing_updates_lose_none(kube_api, core):
    core.create_namespaced_config_map("default", _map("counter", n="0"))

    def add(_: int) -> None:
        while True:
            found = core.read_namespaced_config_map("counter", "default")
            found.data["n"] = str(int(found.data["n"]) + 1)
            try:
                core.replace_namespaced_config_map("counter", "default", found)
            except ApiException as error:
                if error.status != 409:
                    raise
            else:
                return

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(20)))
    assert core.read_namespaced_config_map("counter", "default").data == {"n": "20"}
