"""What the operator makes is accepted as it is, and applying it again changes nothing: else it would never rest."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from .conftest import at_rest, config_map

pytest.importorskip("highwater_operator")

CRDS = sorted((Path(__file__).parents[3] / "manifests" / "base" / "crds").glob("*.yaml"))
CLUSTERS = "/apis/highwater.dev/v1alpha1/namespaces/{ns}/logclusters"
PLURALS = {
    "ServiceAccount": "/api/v1/namespaces/{ns}/serviceaccounts",
    "Service": "/api/v1/namespaces/{ns}/services",
    "ConfigMap": "/api/v1/namespaces/{ns}/configmaps",
    "StatefulSet": "/apis/apps/v1/namespaces/{ns}/statefulsets",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies",
}


@pytest.fixture(scope="module")
def log_clusters(cluster):
    """Highwater's definitions applied; they stay, since a real cluster may use them."""
    for path in CRDS:
        definition = yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)
        place = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{definition['metadata']['name']}"
        answer = cluster.apply(place, definition, manager="conformance", force="true")
        assert answer.status in (200, 201), answer
    cluster.until(lambda: cluster.ask("GET", CLUSTERS).status == 200, "logclusters served")
    return cluster


def _log_cluster(name, **spec):
    return {
        "apiVersion": "highwater.dev/v1alpha1",
        "kind": "LogCluster",
        "metadata": {"name": name},
        "spec": {"brokers": 3, "storage": {"size": "1Gi"}, **spec},
    }


@pytest.mark.parametrize("storage", [{"size": "1Gi"}, {"size": "1Gi", "crashable": True}], ids=["claims", "crashable"])
def test_every_object_is_accepted_and_at_rest(log_clusters, name, storage):
    from highwater_operator.objects.all import objects_of
    from highwater_operator.objects.images import Images
    from highwater_operator.objects.naming import Owner
    from highwater_operator.resources import LogClusterSpec

    made = log_clusters.create(CLUSTERS, _log_cluster(name, storage=storage))
    spec = LogClusterSpec.model_validate(made["spec"])
    reference = Owner(name, log_clusters.namespace, made["metadata"]["uid"], spec).reference()
    # Objects of a name that no LogCluster has: an operator that serves the cluster applies those of every LogCluster.
    owner = Owner(f"{name}-own", log_clusters.namespace, made["metadata"]["uid"], spec)
    seen = set()
    for manifest in objects_of(owner, Images()):
        del manifest["metadata"]["ownerReferences"]
        path = f"{PLURALS[manifest['kind']]}/{manifest['metadata']['name']}"
        query = {"manager": "conformance", "force": "true", "fieldValidation": "Strict"}
        first = log_clusters.apply(path, manifest, **query)
        assert first.status == 201, first
        if manifest["kind"] == "StatefulSet":  # it has defaults; times of managed fields are of seconds
            made_at = first.body["metadata"]["creationTimestamp"]
            log_clusters.until(lambda at=made_at: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") > at, "next second")
        again = log_clusters.apply(path, manifest, **query)
        assert again.status == 200, again
        assert at_rest(again.body, "conformance") == at_rest(first.body, "conformance"), manifest["kind"]
        assert log_clusters.ask("DELETE", path).status in (200, 202)
        seen.add(manifest["kind"])
    assert seen == PLURALS.keys()
    owned = f"{PLURALS['ConfigMap']}/{name}-owned"
    log_clusters.create(PLURALS["ConfigMap"], config_map(f"{name}-owned", ownerReferences=[reference]))
    log_clusters.ask("DELETE", f"{CLUSTERS}/{name}")
    log_clusters.gone(owned)


def test_a_bad_cluster_is_refused_in_words_that_help(log_clusters, name):
    """What else is refused: ``resources``."""
    answer = log_clusters.ask("POST", CLUSTERS, _log_cluster(name, controllers=2))
    assert answer.status == 422
    assert "controllers must be odd: an even number survives no more failures than one fewer" in answer.message
    assert log_clusters.ask("GET", f"{CLUSTERS}/{name}").status == 404
