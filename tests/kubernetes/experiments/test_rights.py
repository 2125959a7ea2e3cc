"""What the Jobs of an experiment may do: in its namespace, while they run, and no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from experiments.conftest import KIND, SYSTEM, experiment, until

from highwater_chaos.kube.client import Kube
from highwater_operator.experiments.context import RunnerSettings

RBAC = Path(__file__).parents[3] / "manifests" / "base" / "rbac"
USED = (
    ("get", "configmaps", ""),
    ("get", "pods/log", ""),
    ("create", "logclusters", "highwater.dev"),
    ("list", "pods", ""),
)


def may(api: Any, account: str, namespace: str) -> list[bool]:
    """What the account may do of what runners do."""
    token = f"token-of-{account}"
    api.authorizer.add_account(token, f"{SYSTEM}/{account}", api.objects)
    kube = Kube(api.configuration(token), patience=2.0)
    return [kube.may(verb, resource, namespace, group) for verb, resource, group in USED]


@pytest.fixture
def operated(stage: Any) -> Any:
    """The operator with the rights that are shipped."""
    rules = [one for one in yaml.safe_load_all((RBAC / "operator.yaml").read_text()) if one is not None]
    stage.user = stage.api.authorizer.add_manifests("operator", f"{SYSTEM}/highwater-operator", rules)
    stage.token = "operator"
    for one in yaml.safe_load_all((RBAC / "runner.yaml").read_text()):
        if one["kind"] != "ServiceAccount":
            stage.api.create(one)
    stage.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    return stage


def test_a_runner_reaches_the_namespace_of_its_experiment_while_it_runs(operated: Any) -> None:
    operated.api.patch("v1", "ServiceAccount", "highwater-runner", SYSTEM, {"imagePullSecrets": [{"name": "mine"}]})
    operated.start()
    operated.api.create(experiment())
    other = experiment("second")
    other["metadata"]["namespace"] = "other"
    operated.api.create(other)
    until(lambda: len(operated.runner_pods()) == 2, "both runners")
    accounts = [
        operated.api.get("v1", "Pod", one, SYSTEM)["spec"]["serviceAccountName"] for one in operated.runner_pods()
    ]
    assert sorted(accounts) == sorted(operated.accounts())
    own = f"highwater-run-{operated.get()['metadata']['uid']}"
    assert operated.api.get("v1", "ServiceAccount", own, SYSTEM)["imagePullSecrets"] == [{"name": "mine"}]
    assert may(operated.api, own, "default") == [True] * len(USED)
    assert may(operated.api, own, "other") == [False] * len(USED)
    assert may(operated.api, own, SYSTEM) == [False, False, False, True], "where the agents are"

    operated.end_runner()
    until(lambda: operated.phase() == "Completed", "the end of the first")
    assert own not in operated.accounts()
    assert may(operated.api, own, "default") == [False] * len(USED)
    assert may(operated.api, own, SYSTEM) == [False] * len(USED)
    operated.api.delete(*KIND, "demo", "default")
    until(lambda: operated.get() is None, "the experiment to go")
    bindings = operated.api.objects("rbac.authorization.k8s.io/v1", "RoleBinding", "default")
    assert [one["metadata"]["name"] for one in bindings] == []
    assert [str(one) for one in operated.user.refused] == []


def test_the_rights_of_a_runner_that_concludes_end_with_its_job(operated: Any) -> None:
    operated.start()
    operated.api.create(experiment())
    until(operated.runner_pods, "the runner")
    concluded = {"phase": "Completed", "verdict": "pass", "completedAt": "2026-01-01T00:00:00Z"}
    operated.api.patch(*KIND, "demo", "default", {"status": concluded}, "status")
    operated.end_runner(exit_code=0)
    until(lambda: operated.accounts() == [], "its account to go")
    bindings = operated.api.objects("rbac.authorization.k8s.io/v1", "RoleBinding", SYSTEM)
    assert [one["metadata"]["name"] for one in bindings if "run-" in one["metadata"]["name"]] == []


def test_a_role_of_no_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="HIGHWATER_RUNNER_ROLE_KIND: expected Role or ClusterRole, found 'Rule'"):
        RunnerSettings.from_environment({"HIGHWATER_RUNNER_ROLE_KIND": "Rule"})
