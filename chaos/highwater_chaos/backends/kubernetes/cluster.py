"""The cluster under test on Kubernetes: a LogCluster of the experiment's own, its pods, and their machines' agents."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from highwater_chaos.backends.ensemble.servers import CLIENT_PORT, QUORUM_PORT
from highwater_chaos.backends.kubernetes.agents import AgentSettings
from highwater_chaos.backends.kubernetes.directory import AgentDirectory, directory_of
from highwater_chaos.backends.kubernetes.faults import PodPlace
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.nodes import broker_names, quorum_names
from highwater_chaos.kube.client import ConflictError, Kube
from highwater_chaos.kube.conditions import condition_of
from highwater_chaos.kube.kinds import API_VERSION, CLUSTER_LABEL, EXPERIMENT_LABEL, LOG_CLUSTER, POD, Json, label_value
from highwater_runtime.ports import Endpoint

_PORTS: Final = {"broker": 9092, "controller": 9093, "zookeeper": CLIENT_PORT}
_POLL: Final = 0.5


class ClusterError(Exception):
    """The cluster did not come up, or cannot be reached; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the experiment is: its namespace, its name, and the LogCluster that it runs on: one of its own, of its
    name, unless ``borrowed`` names one that was there before."""

    namespace: str
    name: str
    uid: str
    borrowed: str = ""

    @property
    def cluster(self) -> str:
        """The LogCluster's name."""
        return self.borrowed or self.name

    def pod(self, node: str) -> str:
        """``demo-broker-0`` for ``broker-0``."""
        return f"{self.cluster}-{node}"

    def endpoint(self, node: str) -> Endpoint:
        """How a node is reached from any pod."""
        role = node.rpartition("-")[0]
        return Endpoint(f"{self.pod(node)}.{self.cluster}-{role}s.{self.namespace}.svc", _PORTS[role])

    def quorum_endpoint(self, node: str) -> Endpoint:
        """How a ZooKeeper server is reached by those that follow it, if it leads."""
        return self.endpoint(node)._replace(port=QUORUM_PORT)


def cluster_manifest(place: Place, cluster: Cluster) -> Json:
    """The LogCluster of an experiment, owned by it: deleted with it. Topics are the engine's to create."""
    spec = cluster.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"topics"})
    release = {} if cluster.kafka is None else {"version": cluster.kafka}
    return {
        "apiVersion": API_VERSION,
        "kind": "LogCluster",
        "metadata": {
            "name": place.name,
            "namespace": place.namespace,
            "labels": {"app.kubernetes.io/part-of": "highwater", EXPERIMENT_LABEL: label_value(place.name)},
            "ownerReferences": [
                {
                    "apiVersion": API_VERSION,
                    "kind": "ChaosExperiment",
                    "name": place.name,
                    "uid": place.uid,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {**spec, **release, "storage": {"crashable": True}},
    }


def bring_up(api: Kube, place: Place, cluster: Cluster, timeout: float, still_mine: Callable[[], Any]) -> None:
    """Create the LogCluster and wait until it is Ready.

    Raises:
        ClusterError: it is another's, or not Ready in time.
        TakenOverError: by ``still_mine``, which is asked now and then.
    """
    with suppress(ConflictError):  # with an attempt whose response was lost, perhaps: looked at below
        api.create(cluster_manifest(place, cluster))
    deadline = time.monotonic() + timeout
    message = "it has no condition Ready"
    while time.monotonic() < deadline:
        found = api.get(LOG_CLUSTER, place.namespace, place.name)
        if found is None or found["metadata"].get("deletionTimestamp"):
            raise ClusterError(f"LogCluster {place.namespace}/{place.name} was deleted while it came up")
        if not _is_owned(found, place):
            raise ClusterError(
                f"there is a LogCluster {place.namespace}/{place.name} that is not this experiment's; "
                "name the experiment otherwise, or delete it"
            )
        ready = condition_of(found, "Ready")
        if ready is not None:
            message = ready.get("message", "")
            if ready["status"] == "True" and ready.get("observedGeneration") == found["metadata"]["generation"]:
                return
        still_mine()
        time.sleep(_POLL)
    raise ClusterError(f"LogCluster {place.namespace}/{place.name} was not Ready within {timeout:g} s: {message}")


def take_down(api: Kube, place: Place) -> bool:
    """Delete the experiment's own LogCluster; whether there was one. One of its name that is another's stays."""
    found = api.get(LOG_CLUSTER, place.namespace, place.name)
    if found is None or not _is_owned(found, place):
        return False
    return api.delete(LOG_CLUSTER, place.namespace, place.name, uid=found["metadata"]["uid"])


def _is_owned(found: Json, place: Place) -> bool:
    return any(one["uid"] == place.uid for one in found["metadata"].get("ownerReferences") or [])


def find_pods(api: Kube, agents: AgentSettings, place: Place, cluster: Cluster) -> dict[str, PodPlace]:
    """Every node's pod and agent.

    Raises:
        ClusterError: one is missing.
    """
    selector = f"{CLUSTER_LABEL}={place.cluster}"
    pods = {pod["metadata"]["name"]: pod for pod in api.list(POD, place.namespace, selector)}
    directory = directory_of(api, agents)
    found: dict[str, PodPlace] = {}
    missing: list[str] = []
    for node in (*quorum_names(cluster), *broker_names(cluster)):
        pod = pods.get(place.pod(node))
        if pod is None:
            missing.append(f"pod {place.pod(node)} is not there")
            continue
        try:
            found[node] = place_of(pod, directory, agents)
        except ClusterError as error:
            missing.append(str(error))
    if missing:
        raise ClusterError("; ".join(missing))
    return found


def place_of(pod: Json, directory: AgentDirectory, agents: AgentSettings) -> PodPlace:
    """A pod and the agent of its machine. Raises ``ClusterError``: there is no such agent."""
    meta, machine = pod["metadata"], str((pod.get("spec") or {}).get("nodeName", ""))
    if (agent := directory.agent(machine)) is None:
        raise ClusterError(
            f"no agent on node {machine or '(none)'} of pod {meta['name']} "
            f"(looked for {agents.selector} in namespace {agents.namespace})"
        )
    return PodPlace(meta["namespace"], meta["name"], meta["uid"], agent, machine=machine)


def addresses(api: Kube, place: Place) -> dict[str, str]:
    """IP addresses of the cluster's pods, by their names."""
    return {
        pod["metadata"]["name"]: (pod.get("status") or {}).get("podIP", "")
        for pod in api.list(POD, place.namespace, f"{CLUSTER_LABEL}={place.cluster}")
    }
