"""A LogCluster with ``spec.security``: the rights that it needs, rotation, and whose Secrets are whose."""

from __future__ import annotations

import re
from typing import Any

from log_cluster.test_rights import ACCOUNT, manifests

ROTATE = "highwater.dev/rotate-certificates"


def secret(stage: Any, name: str) -> dict[str, Any]:
    found: dict[str, Any] = stage.api.get("v1", "Secret", f"demo-{name}", "default")
    return found


def batch(stage: Any) -> str:
    found = stage.api.get("apps/v1", "StatefulSet", "demo-broker", "default")
    return str(found["spec"]["template"]["metadata"]["annotations"]["highwater.dev/identity"])


def annotate(stage: Any, value: str) -> None:
    patch = {"metadata": {"annotations": {ROTATE: value}}}
    stage.api.patch("highwater.dev/v1alpha1", "LogCluster", "demo", "default", patch)


def test_secrets_need_a_right_that_the_namespace_gives(stage: Any, wait_for: Any) -> None:
    user = stage.api.authorizer.add_manifests("secret", ACCOUNT, manifests())
    stage.start(token="secret")
    stage.create(security={})
    wait_for(lambda: stage.condition("Degraded")["reason"] == "SecretsNotAllowed", "the refusal")
    message = stage.condition("Degraded")["message"]
    found = re.search(
        r"kubectl -n default create role (\S+) --verb=(\S+) --resource=secrets && kubectl -n default create rolebinding"
        r" (\S+) --role=(\S+) --serviceaccount=highwater-system:highwater-operator",
        message,
    )
    assert found is not None, message
    assert stage.api.get("apps/v1", "StatefulSet", "demo-broker", "default") is None, "nothing was made"
    stage.stop()

    meta = {"namespace": "default", "name": found[1]}
    rights = [
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": meta,
            "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": found[2].split(",")}],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"namespace": "default", "name": found[3]},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": found[4]},
            "subjects": [{"kind": "ServiceAccount", "name": "highwater-operator", "namespace": "highwater-system"}],
        },
    ]
    user = stage.api.authorizer.add_manifests("other", ACCOUNT, [*manifests(), *rights])
    stage.start(token="other")
    stage.until_settled()
    annotate(stage, "now")
    wait_for(lambda: batch(stage) == "2", "the rotation")
    stage.until_settled()
    assert [str(one) for one in user.refused] == []
    asked = {one.verb for one in user.asked if one.plural == "secrets"}
    assert asked == set(found[2].split(",")), "nothing is asked for in vain"


def test_scaling_makes_certificates_and_restarts_nobody(stage: Any, wait_for: Any) -> None:
    stage.serve(security={}, brokers=1)
    before = {name: pod["metadata"]["uid"] for name, pod in stage.pods().items()}
    stage.patch("demo", brokers=3)
    stage.until_settled()
    assert {"demo-broker-1.pem", "demo-broker-2.pem"} <= set(secret(stage, "broker")["data"])
    after = {name: pod["metadata"]["uid"] for name, pod in stage.pods().items()}
    assert {name: after[name] for name in before} == before


def test_secrets_of_others_are_left_alone(stage: Any, wait_for: Any) -> None:
    theirs = {
        name: stage.api.create(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": f"demo-{name}", "namespace": "default"},
                "data": {"a": "Yg=="},
            }
        )
        for name in ("client", "identity")
    }
    stage.start()
    stage.create(security={})
    for name, whole in theirs.items():
        wait_for(lambda name=name: f"Secret demo-{name} is there" in stage.condition("Degraded")["message"], name)
        assert secret(stage, name) == whole
        stage.api.delete("v1", "Secret", f"demo-{name}", "default")
    stage.until_settled()


def test_a_secret_that_is_changed_is_repaired_and_the_identity_is_not_made_twice(stage: Any, wait_for: Any) -> None:
    stage.serve(security={})
    whole = secret(stage, "client")
    stage.api.patch("v1", "Secret", "demo-client", "default", {"data": {"password": "YmFk"}})
    wait_for(lambda: secret(stage, "client")["data"] == whole["data"], "the repair")
    identity = secret(stage, "identity")
    stage.api.patch("v1", "Secret", "demo-identity", "default", {"data": {"password": "!"}})
    wait_for(lambda: stage.condition("Degraded")["reason"] == "IdentityUnreadable", "the refusal")
    stage.api.delete("v1", "Secret", "demo-identity", "default")
    wait_for(lambda: stage.condition("Degraded")["reason"] == "IdentityMissing", "the refusal")
    assert secret(stage, "client")["data"] == whole["data"]
    metadata = {key: identity["metadata"][key] for key in ("name", "namespace", "labels", "ownerReferences")}
    stage.api.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": identity["data"]})
    stage.until_settled()
    assert secret(stage, "client")["data"] == whole["data"]


def test_nothing_is_rotated_while_an_experiment_holds_the_cluster(stage: Any, wait_for: Any) -> None:
    stage.serve(security={})
    stage.api.patch(
        "highwater.dev/v1alpha1", "LogCluster", "demo", "default", {"status": {"experiment": "x/uid"}}, "status"
    )
    annotate(stage, "now")
    stage.steady_reconciles(2)
    assert batch(stage) == "1"
    stage.api.patch("highwater.dev/v1alpha1", "LogCluster", "demo", "default", {"status": {"experiment": ""}}, "status")
    wait_for(lambda: batch(stage) == "2", "the rotation")


def test_everything_goes_with_the_cluster(stage: Any, wait_for: Any) -> None:
    stage.serve(security={})
    assert {one["metadata"]["name"] for one in stage.api.objects("v1", "Secret", "default")} == {
        f"demo-{name}" for name in ("identity", "broker", "controller", "client", "harness")
    }
    stage.api.delete("highwater.dev/v1alpha1", "LogCluster", "demo", "default")
    wait_for(lambda: stage.api.objects("v1", "Secret", "default") == [], "its Secrets to be gone")
