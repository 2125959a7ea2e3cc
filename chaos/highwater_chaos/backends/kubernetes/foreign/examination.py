"""What can be injected on the pods of a namespace, and why not the rest: ``highwater doctor --kubernetes``.

Nothing is done to anything. What an agent would refuse is asked of the agent itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from highwater_chaos.backends.kubernetes.access import is_secured
from highwater_chaos.backends.kubernetes.agents import AgentClient, AgentError
from highwater_chaos.backends.kubernetes.capabilities import MESSAGES_HIDDEN
from highwater_chaos.backends.kubernetes.foreign.pods import container_of
from highwater_chaos.kube.client import Kube, KubeError, NotFoundError
from highwater_chaos.kube.kinds import (
    CHAOS_ALLOWED,
    CHAOS_EXPERIMENT,
    CHAOS_LABEL,
    CLUSTER_LABEL,
    DISRUPTION_BUDGET,
    LOG_CLUSTER,
    NAMESPACE,
    POD,
    Json,
)

CRASHABLE_CLASS: Final = "highwater-crashable"
_NO_VOLUME: Final = (
    f"it has no volume of the class {CRASHABLE_CLASS}, or several claims (spec.clusterRef.volume names the one with the"
    " data): docs/crashable-storage.md"
)
_PROCESSES: Final = "kill, stop, restart, pause"
_DISKS: Final = "powerLoss, diskWipe, diskFull, diskError"
_MESSAGES: Final = "hold, drop, delay, duplicate, clockSkew, diskStall, sessionExpiry"
_RULES: Final = "hold, drop, delay, duplicate"
_ONLY_OURS: Final = (
    "made by the node's program or in the way of its messages, which TLS hides: only on LogClusters, also with runtime"
    " apache-kafka"
)


class Examined(NamedTuple):
    """One thing that was looked at: whether it works, and what was seen or what to do."""

    what: str
    works: bool
    detail: str


def examine(
    api: Kube, namespace: str, selector: str, container: str, agents: Mapping[str, AgentClient], why_no_agents: str
) -> list[Examined]:
    """Look at a namespace.

    Args:
        api: the API server, with the rights of whoever asks.
        selector: which pods; empty: all that have the container, or are of a LogCluster.
        container: the one with Kafka in pods of others.
        agents: by their nodes.
        why_no_agents: why there are none; empty: there are, or nobody knows.

    Raises:
        KubeError: the API server does not answer.
    """
    found = [_installed(api, namespace)]
    pods = api.list(POD, namespace, selector or None)
    if not selector:
        pods = [pod for pod in pods if container_of(pod, container) is not None or CLUSTER_LABEL in _labels(pod)]
    what = f"pods in {namespace}" + (f" with {selector}" if selector else "")
    if not pods:
        hint = (
            f"none with a container {container}; --selector names others: kubectl -n {namespace} get pods --show-labels"
        )
        return [*found, Examined(what, works=False, detail=hint)]
    found.append(Examined(what, works=True, detail=", ".join(sorted(pod["metadata"]["name"] for pod in pods))[:500]))
    found.append(_opted_in(api, namespace, pods))
    budgets = _budgets(api, namespace)
    for pod in sorted(pods, key=lambda one: str(one["metadata"]["name"])):
        found += _of_pod(pod, container, agents, why_no_agents, budgets)
    found += _of_clusters(api, namespace, pods)
    found.append(Examined(f"{_MESSAGES} on pods of others", works=False, detail=_ONLY_OURS))
    return found


def _of_clusters(api: Kube, namespace: str, pods: Sequence[Json]) -> Iterator[Examined]:
    """Whether messages of the LogClusters of these pods can be seen."""
    names = {str(label) for pod in pods if (label := _labels(pod).get(CLUSTER_LABEL)) is not None}
    for name in sorted(names):
        try:
            cluster = api.get(LOG_CLUSTER, namespace, name)
        except KubeError as error:
            if error.status != 403:
                raise
            yield Examined(f"LogCluster {name}: {_RULES}", works=False, detail="you may not see it")
            continue
        if cluster is None:
            continue
        hidden = is_secured(cluster) and cluster["spec"].get("runtime") == "apache-kafka"
        by = "the proxy in each pod" if cluster["spec"].get("runtime") == "apache-kafka" else "the nodes themselves"
        yield Examined(f"LogCluster {name}: {_RULES}", not hidden, MESSAGES_HIDDEN if hidden else f"by {by}")


def _installed(api: Kube, namespace: str) -> Examined:
    what = "Highwater"
    try:
        api.list(CHAOS_EXPERIMENT, namespace)
    except NotFoundError:
        return Examined(what, works=False, detail="its definitions are not installed here: docs/kubernetes.md")
    return Examined(what, works=True, detail="its definitions are installed")


def _opted_in(api: Kube, namespace: str, pods: Sequence[Json]) -> Examined:
    what = f"namespace {namespace} allows faults"
    command = f"kubectl label namespace {namespace} {CHAOS_LABEL}={CHAOS_ALLOWED}"
    if all(CLUSTER_LABEL in _labels(pod) for pod in pods):
        return Examined(what, works=True, detail="not asked: pods of LogClusters need no label")
    try:
        found = api.get(NAMESPACE, None, namespace)
    except KubeError as error:
        if error.status != 403:
            raise
        return Examined(what, works=False, detail=f"you may not see it; if it does not: {command}")
    label = _labels(found or {"metadata": {}}).get(CHAOS_LABEL)
    return Examined(what, label == CHAOS_ALLOWED, f"{CHAOS_LABEL}={label}" if label == CHAOS_ALLOWED else command)


def _of_pod(
    pod: Json, container: str, agents: Mapping[str, AgentClient], why_no_agents: str, budgets: Sequence[Json]
) -> Iterator[Examined]:
    name, spec = pod["metadata"]["name"], pod.get("spec") or {}
    machine = str(spec.get("nodeName") or "")
    agent = agents.get(machine)
    why = no_agent = why_no_agents or (f"no agent on node {machine}" if machine else "it is on no node yet")
    parameters = {"uid": pod["metadata"]["uid"]}
    if CLUSTER_LABEL not in _labels(pod) and container_of(pod, container) is not None:
        parameters["container"] = container
    crashable, reset = "", no_agent
    if agent is not None:
        why, crashable, reset = _asked(agent, pod, parameters)
    yield Examined(f"{name}: {_PROCESSES}", not why, why or f"by the agent of node {machine}")
    own = "it lives in the machine's own network (hostNetwork), which is never cut" if spec.get("hostNetwork") else ""
    yield Examined(f"{name}: partition", not (why or own), why or own or "in the pod's network namespace")
    yield Examined(f"{name}: {_DISKS}", not (why or crashable), why or crashable or "its volume can lose power")
    yield Examined(f"{name}: nodeReboot", not reset, reset or f"machine {machine}, with every pod on it")
    if CLUSTER_LABEL in _labels(pod):
        return
    tight = [one["metadata"]["name"] for one in budgets if _selects(one, pod) and not _allows(one)]
    refused = f"PodDisruptionBudget {', '.join(tight)} allows no disruption now" if tight else ""
    yield Examined(f"{name}: podDelete", not why, why or "its controller makes another pod")
    yield Examined(f"{name}: evict, drain", not (why or refused), why or refused or "allowed now")


def _asked(agent: AgentClient, pod: Json, parameters: Mapping[str, str]) -> tuple[str, str, str]:
    """Why the pod, its volume and its machine cannot be touched; empty: they can."""
    place = pod["metadata"]["namespace"], pod["metadata"]["name"]
    try:
        reset = agent.look(*place, "reset_refused", str, parameters)
        if agent.look(*place, "process_state", str, parameters) == "gone":
            return "its node does not run", "", reset
        crashable = agent.look(*place, "crashable", bool, parameters)
    except AgentError as error:
        why = str(error).partition(f" {error.status}: ")[2] or str(error)
        if error.status == 403:
            why = "its agent refuses it: the namespace does not allow faults"
        return why, "", why
    return "", "" if crashable else _NO_VOLUME, reset


def _budgets(api: Kube, namespace: str) -> list[Json]:
    try:
        return api.list(DISRUPTION_BUDGET, namespace)
    except KubeError as error:
        if error.status != 403:
            raise
        return []


def _selects(budget: Json, pod: Json) -> bool:
    wanted = ((budget.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
    return bool(wanted) and wanted.items() <= _labels(pod).items()


def _allows(budget: Json) -> bool:
    return bool((budget.get("status") or {}).get("disruptionsAllowed"))


def _labels(found: Json) -> dict[str, str]:
    return found["metadata"].get("labels") or {}
