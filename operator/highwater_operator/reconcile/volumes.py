"""On which node the crashable volume of each pod is, and that the pod comes back to it.

A crashable volume is a disk of one machine, and a pod of a StatefulSet is started anywhere: on another machine it would
get a new, empty disk, and a voter would have forgotten what it voted. So the node of each pod is written into the
LogCluster's status before the node's agent may make the volume (the annotation ``volume-node`` tells it), and every
later pod of that name is bound to the node. Pods are created with a scheduling gate, which is taken away together with
the binding. A pod whose node is away stays Pending.

A node that never comes back is given up by a person, with the annotation ``abandon-volume`` on the LogCluster: the
names of pods, separated by commas, and after ``#`` whatever makes it different from the last one. Those pods get new
disks (``volume-generation`` tells agents old disks from new ones). No agent makes a new disk in place of one that was
used (``volume-used``) and that it does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from highwater_chaos.kube.kinds import ABANDON_VOLUME, VOLUME_GENERATION, VOLUME_NODE, VOLUME_USED, Json
from highwater_operator.reconcile.observation import PodView

LONGEST_ANNOTATION: Final = 4096


@dataclass(frozen=True, slots=True)
class Disk:
    """The volume of the pods of one name. ``node``: where it is; empty: nowhere yet. ``used``: a pod has been ready
    with it. ``replaced``: how many disks before it were given up; ``abandoned``: the annotation that the last one was
    given up by."""

    pod: str
    node: str = ""
    used: bool = False
    replaced: int = 0
    abandoned: str = ""


@dataclass(frozen=True, slots=True)
class Placing:
    """What is to be done, in this order: ``gone`` pods are deleted, ``disks`` written down, ``patches`` sent to pods by
    name. ``news``: reason and message of Events."""

    disks: tuple[Disk, ...]
    gone: tuple[PodView, ...] = ()
    patches: Mapping[str, Json] = field(default_factory=dict)
    news: tuple[tuple[str, str], ...] = ()


def disks_of(resource: Json) -> tuple[Disk, ...]:
    """As the status has them."""
    return tuple(
        Disk(one["pod"], one.get("node", ""), one.get("used", False), one.get("replaced", 0), one.get("abandoned", ""))
        for one in (resource.get("status") or {}).get("volumes") or []
    )


def place(disks: Iterable[Disk], pods: Sequence[PodView], asked: str) -> Placing:
    """Decide. ``asked``: the annotation ``abandon-volume`` of the LogCluster; empty: none."""
    known = {disk.pod: disk for disk in disks}
    gone: list[PodView] = []
    news: list[tuple[str, str]] = []
    given_up = {name.strip() for name in asked.partition("#")[0].split(",")} - {""}
    for name in sorted(given_up & known.keys()):
        disk = known[name]
        if disk.abandoned != asked:
            known[name] = Disk(name, replaced=disk.replaced + 1, abandoned=asked)
            gone += [pod for pod in pods if pod.name == name and not pod.terminating]
            news.append(("DiskGivenUp", f"the disk of {name} on node {disk.node} is given up: it gets a new one"))
    patches: dict[str, Json] = {}
    for pod in pods:
        if pod.terminating or pod in gone:
            continue
        # What was asked for before there was a disk is not asked of this one.
        disk = known.get(pod.name) or Disk(pod.name, abandoned=asked if pod.name in given_up else "")
        if pod.gated and not pod.node:
            patches[pod.name] = {"metadata": {"uid": pod.uid}, **_bound(disk)}
            continue
        if not pod.node:
            continue
        if disk.node and disk.node != pod.node:
            gone.append(pod)
            news.append(("PodElsewhere", f"{pod.name} is on node {pod.node}, and its disk on node {disk.node}"))
            continue
        if pod.annotations.get(VOLUME_NODE) != pod.node:
            annotations = {VOLUME_NODE: pod.node, VOLUME_GENERATION: str(disk.replaced)}
            if disk.used:
                annotations[VOLUME_USED] = "true"
            patches[pod.name] = {"metadata": {"uid": pod.uid, "annotations": annotations}}
        known[pod.name] = replace(disk, node=pod.node, used=disk.used or pod.ready)
    return Placing(tuple(known[name] for name in sorted(known)), tuple(gone), patches, tuple(news))


def with_disks(pods: Sequence[PodView], disks: Iterable[Disk]) -> tuple[PodView, ...]:
    """The pods; those that cannot be scheduled with where their disks are."""
    nodes = {disk.pod: disk.node for disk in disks if disk.node}
    return tuple(
        pod
        if pod.node or pod.trouble is None or pod.name not in nodes
        else replace(pod, trouble=f"{pod.trouble}; its disk is on node {nodes[pod.name]}")
        for pod in pods
    )


def _bound(disk: Disk) -> Json:
    spec: Json = {"schedulingGates": None}
    if disk.node:
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [disk.node]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        spec["affinity"] = {"nodeAffinity": required}
    return {"spec": spec}


def abandon_annotation(resource: Json) -> str:
    """What a person asks for; empty: nothing."""
    return str((resource["metadata"].get("annotations") or {}).get(ABANDON_VOLUME, ""))[:LONGEST_ANNOTATION]
