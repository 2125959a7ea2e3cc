"""Definitions of an earlier version: `helm upgrade` leaves them, and the API server drops what they do not have."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from experiments.conftest import KIND, SYSTEM, experiment, until
from experiments.test_borrowed import CLUSTER, Lent, borrowing, held_by, lend, lent, live, refused
from experiments.test_rights import RBAC

from highwater_chaos.backends.kubernetes.reference import held_by as holder_of
from highwater_operator.experiments.borrowed_cluster import BorrowedCluster
from highwater_operator.experiments.context import ExperimentContext, RunnerSettings
from highwater_operator.kube import AsyncKube
from highwater_operator.resources.crds import definitions
from highwater_operator.resources.installed import lacking

from ..conftest import CRDS

__all__ = ["live"]
DEFINITION = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
BORROWERS = "logclusters.highwater.dev"
EXPERIMENTS = "chaosexperiments.highwater.dev"


def schema_of(definition: Any) -> Any:
    return definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]


def forget(stage: Any, name: str, *path: str) -> None:
    """Install the definition without a field of the status."""
    found = copy.deepcopy(stage.api.get(*DEFINITION, name))
    node = schema_of(found)["status"]
    for one in path[:-1]:
        node = node["properties"][one] if "properties" in node else node["items"]["properties"][one]
    (node["properties"] if "properties" in node else node["items"]["properties"]).pop(path[-1])
    stage.api.patch(*DEFINITION, name, "", {"spec": found["spec"]})


def install(stage: Any) -> None:
    for path in CRDS:
        made = yaml.load(path.read_text(), yaml.CSafeLoader)
        stage.api.patch(*DEFINITION, made["metadata"]["name"], "", {"spec": made["spec"]})


def events(stage: Any, about: str, reason: str = "DefinitionsOutdated") -> list[str]:
    return [
        one["message"]
        for one in stage.api.objects("v1", "Event", "default")
        if one["reason"] == reason and one["involvedObject"]["name"] == about
    ]


# --- what is missing ---


def fields(node: Any, path: str = "") -> Iterator[tuple[dict[str, Any], str, str]]:
    """Every field below a schema: what holds it, its name, its path."""
    for name, one in (node.get("properties") or {}).items():
        here = f"{path}.{name}"
        yield node["properties"], name, here
        yield from fields(one, here)
    for part, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(node.get(part), dict):
            yield from fields(node[part], f"{path}{mark}")


@pytest.mark.parametrize("name", sorted(definitions()))
def test_every_field_that_is_missing_is_named(name: str) -> None:
    wanted = definitions()[name]
    installed = copy.deepcopy(wanted)
    assert lacking(wanted, installed) == []
    seen = 0
    for part in ("spec", "status"):
        for holder, field, path in list(fields(schema_of(installed)[part], part)):
            kept = holder.pop(field)
            assert path in lacking(wanted, installed), path
            holder[field] = kept
            seen += 1
    assert seen > 40
    schema_of(installed)["status"]["properties"]["more"] = {"type": "string"}
    assert lacking(wanted, installed) == [], "a later version has more"


def test_values_bounds_and_subresources_count_too() -> None:
    wanted = definitions()["chaosexperiments.yaml"]
    older = copy.deepcopy(wanted)
    (version,) = older["spec"]["versions"]
    version["subresources"].pop("status")
    status = schema_of(older)["status"]["properties"]
    status["phase"]["enum"].remove("Aborting")
    status["reason"]["maxLength"] = 200
    status["expected"]["type"] = "string"
    assert lacking(wanted, older) == [
        "subresource status",
        "status.phase=Aborting",
        "status.expected (type boolean)",
        "status.reason (maxLength 2000)",
    ]
    version["served"] = False
    assert lacking(wanted, older) == ["version v1alpha1"]


# --- what the operator does ---


def test_two_experiments_never_have_the_same_log_cluster(stage: Any, live: Lent) -> None:
    """``status.experiment`` came later than the first LogClusters; all definitions keep the condition ``Held``."""
    forget(stage, BORROWERS, "experiment")
    lend(stage)
    stage.api.create(borrowing("one"))
    until(stage.runner_pods, "the runner")
    assert "experiment" not in lent(stage)["status"]
    assert holder_of(lent(stage)).startswith("one/")
    stage.api.create(borrowing("two", topics=["others"]))
    assert refused(stage, "two")["reason"] == "ClusterHeld"
    stage.stop()
    stage.start()
    until(lambda: events(stage, "theirs"), "the LogCluster to tell of it")
    assert f"{BORROWERS}: status.experiment" in events(stage, "theirs")[0]
    stage.end_runner()
    until(lambda: holder_of(lent(stage)) == "", "the LogCluster to come back")
    stage.api.create(borrowing("three"))
    until(lambda: holder_of(lent(stage)).startswith("three/"), "the next one to have it")


def test_no_experiment_begins_whose_progress_would_be_dropped(stage: Any) -> None:
    forget(stage, EXPERIMENTS, "journal", "evidence")
    stage.start()
    stage.api.create(experiment("early"))
    said = refused(stage, "early")
    assert said["reason"] == "DefinitionsOutdated"
    assert f"lack {EXPERIMENTS}: status.journal[].evidence; apply the definitions" in said["message"]
    assert "kubectl apply --server-side --force-conflicts -f helm/highwater/crds" in said["message"]
    assert until(lambda: events(stage, "early"), "the Event") == [said["message"]]
    assert stage.jobs() == []
    install(stage)
    stage.api.create(experiment())
    until(stage.runner_pods, "the runner, without another start of the operator")
    forget(stage, EXPERIMENTS, "run")
    stage.api.create(experiment("late"))
    assert refused(stage, "late")["reason"] == "DefinitionsOutdated"
    assert stage.phase() == "SettingUp", "what runs is followed"


def test_a_log_cluster_whose_holder_is_not_kept_is_not_lent(stage: Any, live: Lent) -> None:
    """The definitions change between the look at them and the write: what was written is read back."""
    lend(stage)
    stage.stop()
    found = stage.api.create(borrowing())
    kube = AsyncKube(stage.api.configuration(), patience=2.0)
    context = ExperimentContext(kube, RunnerSettings(SYSTEM), None, open_admin=stage.open_admin)  # type: ignore[arg-type]
    borrowed = BorrowedCluster(context, found)

    async def take() -> Any:
        await borrowed.examine()
        forget(stage, BORROWERS, "experiment")
        forget(stage, BORROWERS, "conditions")
        return await borrowed.take()

    try:
        rejection = asyncio.run(take())
    finally:
        kube.close()
    assert rejection is not None
    assert rejection.reason == "DefinitionsOutdated"
    assert "does not keep who holds it" in rejection.message


def test_definitions_that_cannot_be_read_are_not_taken_for_good_ones(stage: Any) -> None:
    rules = [one for one in yaml.safe_load_all((RBAC / "operator.yaml").read_text()) if one is not None]
    rules = [one for one in rules if one["metadata"]["name"] != "highwater-operator-definitions"]
    stage.api.authorizer.add_manifests("operator", f"{SYSTEM}/highwater-operator", rules)
    stage.token = "operator"
    stage.start()
    stage.api.create(experiment())
    said = refused(stage)
    assert said["reason"] == "DefinitionsUnknown"
    assert "apply the rights of this version" in said["message"]
    assert stage.jobs() == []


def test_the_holder_shows_in_both_places_and_leaves_both(stage: Any, live: Lent) -> None:
    lend(stage)
    stage.api.create(borrowing())
    until(stage.runner_pods, "the runner")
    held = next(one for one in lent(stage)["status"]["conditions"] if one["type"] == "Held")
    assert (held["status"], held["message"]) == ("True", lent(stage)["status"]["experiment"])
    stage.api.delete(*KIND, "demo", "default")
    until(lambda: held_by(stage) == "", "the LogCluster to come back")
    assert "Held" not in [one["type"] for one in stage.api.get(*CLUSTER, "theirs", "default")["status"]["conditions"]]
