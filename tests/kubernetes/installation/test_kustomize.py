"""Kustomizations: what they list is there, and the overlays come out as they say, where kubectl or kustomize is."""

from __future__ import annotations

import copy
import functools
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from highwater_chaos.experiment import load_experiment
from highwater_operator.resources import LogCluster

from .conftest import BASE, JUDGING, MONITORING, ROOT, STORAGE_CLASS, Key, Object, by_key, documents, placed_by, pods

MANIFESTS = ROOT / "manifests"
OVERLAYS = ("kind", "minikube", "production")
NOT_KUBERNETES_OWN = {"PodMonitor", "PrometheusRule"}
LISTS = {"resources", "components"}
KNOWN = {"apiVersion", "kind", "patches", "images", "configMapGenerator"} | LISTS


def kustomizations() -> Iterator[Path]:
    yield from sorted(MANIFESTS.rglob("kustomization.yaml"))


def test_what_is_listed_is_there_and_nothing_is_forgotten():
    reached: set[Path] = set()
    found = list(kustomizations())
    assert len(found) == 4 + len(OVERLAYS)
    for path in found:
        content = yaml.safe_load(path.read_text())
        assert content["kind"] in {"Kustomization", "Component"}
        assert set(content) <= KNOWN, path
        for name in [*content.get("resources", []), *content.get("components", [])]:
            listed = (path.parent / name).resolve()
            assert (listed / "kustomization.yaml").is_file() if listed.is_dir() else documents(listed.read_text()), name
            reached.add(listed)
        for generator in content.get("configMapGenerator", []):
            reached |= {(path.parent / name).resolve() for name in generator["files"]}
    for folder in (BASE, MONITORING, JUDGING, STORAGE_CLASS):
        for path in folder.rglob("*"):
            if path.suffix in {".yaml", ".json"} and path.name != "kustomization.yaml":
                assert path.resolve() in reached, f"{path} is in no kustomization"


def test_patches_name_what_is_in_the_base(base):
    for path in kustomizations():
        for patch in yaml.safe_load(path.read_text()).get("patches", []):
            target = patch["target"]
            assert (target["kind"], target["name"]) in base, path


@functools.cache
def built(overlay: str) -> dict[Key, Object]:
    folder = MANIFESTS / "overlays" / overlay
    if shutil.which("kustomize"):
        command = ["kustomize", "build", str(folder)]
    elif shutil.which("kubectl"):
        command = ["kubectl", "kustomize", str(folder)]
    else:
        pytest.skip("needs kustomize or kubectl: no package index for Python has either")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "a warning"
    return by_key(documents(done.stdout))


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_overlays_build_to_valid_objects(overlay, base):
    objects = built(overlay)
    assert set(base) <= set(objects)
    for (kind, name), obj in objects.items():  # that those of the base are valid, test_objects.py shows
        if kind not in NOT_KUBERNETES_OWN and obj != base.get((kind, name)):
            kubernetes_validate.validate(obj, "1.34.0", strict=True)
    for name, template in pods(objects).items():
        (container,) = template["spec"]["containers"]
        privileged = container["securityContext"].get("privileged", False)
        assert privileged == (name == "DaemonSet/highwater-agent")


@pytest.mark.parametrize("overlay", ["kind", "minikube"])
def test_small_overlays_differ_in_requests_and_tolerations_only(overlay, base):
    objects = copy.deepcopy(built(overlay))
    assert set(objects) == set(base)
    for key in set(base) - {("DaemonSet", "highwater-agent"), ("Deployment", "highwater-operator")}:
        assert objects[key] == base[key], key
    agent = objects["DaemonSet", "highwater-agent"]["spec"]["template"]["spec"]
    assert agent.pop("tolerations") == [
        {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}
    ]
    for key in (("DaemonSet", "highwater-agent"), ("Deployment", "highwater-operator")):
        mine, theirs = (made[key]["spec"]["template"]["spec"] for made in (objects, base))
        mine["containers"][0]["resources"]["requests"] = theirs["containers"][0]["resources"]["requests"]
        assert mine == theirs


def test_production_takes_every_image_from_the_registry_and_hurts_offered_nodes_only():
    objects = built("production")
    images = []
    for template in pods(objects).values():
        for container in template["spec"]["containers"]:
            images.append(container["image"])
            images += [one["value"] for one in container.get("env", []) if one["name"].endswith("_IMAGE")]
    assert len(images) == 8
    assert all(image.startswith("registry.example.com/highwater/") for image in images), images
    agent = objects["DaemonSet", "highwater-agent"]["spec"]["template"]["spec"]
    assert agent["nodeSelector"] == {"highwater.dev/faults": "allowed"}
    assert placed_by(objects) == {"nodeSelector": agent["nodeSelector"]}
    (operator,) = objects["Deployment", "highwater-operator"]["spec"]["template"]["spec"]["containers"]
    assert {"name": "HIGHWATER_JUDGING_JOB", "value": "on"} in operator["env"]
    assert ("ClusterRole", "highwater-judge") in objects
    assert {kind for kind, _ in objects} >= NOT_KUBERNETES_OWN
    assert objects["ConfigMap", "highwater-dashboards"]["metadata"]["labels"]["grafana_dashboard"] == "1"


# --- samples ---


def test_samples_are_what_the_models_accept():
    found = sorted((MANIFESTS / "samples").glob("*.yaml"))
    kinds = set()
    for path in found:
        (sample,) = documents(path.read_text())
        kinds.add(sample["kind"])
        if sample["kind"] == "LogCluster":
            LogCluster.model_validate(sample)
        else:
            assert load_experiment(path).metadata.name == path.stem
    assert kinds == {"LogCluster", "ChaosExperiment"}


@pytest.mark.parametrize(("value", "verdict"), [("off", "fail"), ("on", "pass")])
def test_the_samples_of_kafka_14139_are_the_scenario_with_its_switch_set(value, verdict):
    scenario = yaml.safe_load((ROOT / "scenarios/kip-903/kafka-14139.yaml").read_text())
    sample = yaml.safe_load((MANIFESTS / f"samples/kafka-14139-{value}.yaml").read_text())
    assert sample["spec"]["cluster"].pop("switches") == {"replica-epoch-check": value}
    assert sample["spec"] == scenario["spec"]
    (expected,) = [one for one in sample["spec"]["expect"] if one["when"] == {"replica-epoch-check": value}]
    assert expected["verdict"] == verdict


def test_the_sample_of_zookeeper_mode_is_the_scenario():
    name = "controller-session-expires.yaml"
    sample = MANIFESTS / "samples" / f"zookeeper-{name}"
    _for_editors, _, scenario = (ROOT / "scenarios/zookeeper" / name).read_text().partition("\n")
    assert sample.read_text() == scenario


def test_the_base_is_taken_by_an_api_server(bare_kube_api):
    for path in (BASE / "namespace.yaml", *sorted((BASE / "crds").glob("*.yaml"))):
        bare_kube_api.apply_file(path)
    for part in ("rbac", "agent", "operator"):
        bare_kube_api.apply_file(*sorted((BASE / part).glob("*.yaml")))
    assert bare_kube_api.get("apps/v1", "Deployment", "highwater-operator", "highwater-system")
