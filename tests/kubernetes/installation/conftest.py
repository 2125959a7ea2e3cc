"""The chart as the real Helm engine renders it, and the kustomize base as it is read: objects by kind and name."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from highwater_operator.objects.agent_nodes import AgentNodes

ROOT = Path(__file__).parents[3]
CHART = ROOT / "helm" / "highwater"
BASE = ROOT / "manifests" / "base"
MONITORING = ROOT / "manifests" / "components" / "monitoring"
JUDGING = ROOT / "manifests" / "components" / "judging"
STORAGE_CLASS = ROOT / "manifests" / "components" / "storage-class"
EVERYTHING = {
    "podMonitor": {"enabled": True},
    "prometheusRule": {"enabled": True},
    "dashboards": {"enabled": True},
    "judging": {"job": {"enabled": True}},
}

Object = dict[str, Any]
Key = tuple[str, str]


def documents(text: str) -> list[Object]:
    return [found for found in yaml.load_all(text, yaml.CSafeLoader) if found]


def by_key(objects: Iterable[Object]) -> dict[Key, Object]:
    found: dict[Key, Object] = {}
    for obj in objects:
        key = (obj["kind"], obj["metadata"]["name"])
        assert key not in found or obj["metadata"].get("namespace") != found[key]["metadata"].get("namespace"), key
        found[key] = obj
    return found


def resources(folder: Path) -> Iterator[Object]:
    """What a kustomization lists, read as it is: for one that transforms nothing."""
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    assert set(kustomization) <= {"apiVersion", "kind", "resources", "configMapGenerator", "patches"}, (
        "more than a list"
    )
    for name in kustomization["resources"]:
        yield from documents((folder / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def helm() -> ModuleType:
    """Imported where it is used: its engine is written in Go, and half a second of every worker's collection."""
    import helm_python.chart
    import helm_python.errors

    return helm_python


@pytest.fixture(scope="session")
def render(helm: ModuleType) -> Callable[..., dict[Key, Object]]:
    def rendered(values: dict[str, Any] | None = None, *, name: str = "highwater") -> dict[Key, Object]:
        with helm.chart.Chart.load(CHART) as chart:
            files = chart.render(values or {}, name=name, namespace="highwater-system")
        return by_key(obj for path, text in sorted(files.items()) if path.endswith(".yaml") for obj in documents(text))

    return rendered


@pytest.fixture(scope="session")
def chart(render: Callable[..., dict[Key, Object]]) -> dict[Key, Object]:
    """With everything switched on."""
    return render(EVERYTHING)


@pytest.fixture(scope="session")
def base() -> dict[Key, Object]:
    return by_key(resources(BASE))


@pytest.fixture(params=["chart", "base"])
def packaged(request: pytest.FixtureRequest) -> dict[Key, Object]:
    """What a rule must hold for, however it is installed."""
    return copy.deepcopy(request.getfixturevalue(request.param))


def pods(objects: dict[Key, Object]) -> dict[str, Object]:
    """Pod templates, by kind and name of what makes them."""
    return {
        f"{kind}/{name}": obj["spec"]["template"]
        for (kind, name), obj in objects.items()
        if kind in {"Deployment", "DaemonSet", "StatefulSet", "Job"}
    }


def placed_by(objects: dict[Key, Object]) -> Object:
    """Where the operator that is installed has pods with crashable volumes."""
    (operator,) = objects["Deployment", "highwater-operator"]["spec"]["template"]["spec"]["containers"]
    environment = {one["name"]: one.get("value") or "" for one in operator["env"]}
    return AgentNodes.from_environment(environment).placement()
