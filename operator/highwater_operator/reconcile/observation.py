"""A cluster's objects and pods as the API server has them, reduced to what decisions need."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from highwater_chaos.kube.client import RefusedError
from highwater_chaos.kube.kinds import (
    CONFIG_MAP,
    DISRUPTION_BUDGET,
    NETWORK_POLICY,
    POD,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    STATEFUL_SET,
    VOLUME_GATE,
    Json,
    Kind,
)
from highwater_operator.kube import AsyncKube
from highwater_operator.objects.naming import ROLES, Owner, Role, pod_name, roles_of, selector_of, set_name
from highwater_operator.objects.security import secret_names
from highwater_operator.reconcile.pod_troubles import is_creating, trouble_of

OWNED: Final[tuple[Kind, ...]] = (
    SERVICE_ACCOUNT,
    SERVICE,
    CONFIG_MAP,
    NETWORK_POLICY,
    DISRUPTION_BUDGET,
    STATEFUL_SET,
)
"""Kinds of objects that a LogCluster consists of."""

_REVISION: Final = "controller-revision-hash"


@dataclass(frozen=True, slots=True)
class PodView:
    """One pod. ``trouble``: why it will hardly become ready by itself."""

    name: str
    uid: str
    role: Role
    index: int
    revision: str | None
    ready: bool
    terminating: bool
    trouble: str | None = None
    since: datetime | None = None
    """Since when it is as ready as it is; if it is terminating, when it has to be gone."""
    creating: bool = False
    """A node has it, and none of its containers has been created."""
    node: str = ""
    gated: bool = False
    """It is not to be scheduled yet, as its disk's node is to be written on it."""
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SetView:
    """One StatefulSet. ``update_revision``: what pods should be; None until its controller has seen the latest spec."""

    name: str
    replicas: int
    update_revision: str | None
    uid: str = ""


Objects = Mapping[tuple[str, str], Json]
"""Live objects by kind and name."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What there is of a cluster."""

    objects: Objects
    pods: tuple[PodView, ...]

    def set_of(self, owner: Owner, role: Role) -> SetView | None:
        """The StatefulSet of a role."""
        found = self.objects.get((STATEFUL_SET.kind, set_name(owner, role)))
        return None if found is None else set_view(found)


async def observe(kube: AsyncKube, owner: Owner) -> Observation:
    """Read everything that carries the cluster's label."""
    kinds = (*OWNED, POD)
    lists = await asyncio.gather(*(kube.list(kind, owner.namespace, selector_of(owner)) for kind in kinds))
    secrets = await _secrets(kube, owner)
    objects = {
        (kind.kind, item["metadata"]["name"]): item
        for kind, items in zip(kinds, lists, strict=True)
        for item in items
        if kind is not POD and is_owned(item, owner)
    } | {(SECRET.kind, item["metadata"]["name"]): item for item in secrets if is_owned(item, owner)}
    return Observation(objects, pod_views(owner, lists[-1]))


class SecretsRefusedError(Exception):
    """The API server lets the operator have no Secrets of a namespace."""


async def _secrets(kube: AsyncKube, owner: Owner) -> list[Json]:
    """Those of a cluster with ``spec.security``, by name: no right to list Secrets is asked for."""
    if owner.spec.security is None:
        return []
    try:
        found = await asyncio.gather(*(kube.get(SECRET, owner.namespace, name) for name in secret_names(owner)))
    except RefusedError as error:
        raise SecretsRefusedError(str(error)) from error
    return [one for one in found if one is not None]


def is_owned(item: Json, owner: Owner) -> bool:
    """Whether an object's controller is this very LogCluster."""
    references = item["metadata"].get("ownerReferences", [])
    return any(one["uid"] == owner.uid and one.get("controller") for one in references)


def set_view(item: Json) -> SetView:
    """Of a StatefulSet's manifest with status."""
    status = item.get("status", {})
    seen = status.get("observedGeneration", 0) >= item["metadata"].get("generation", 0)
    return SetView(
        item["metadata"]["name"],
        item["spec"].get("replicas", 1),
        (status.get("updateRevision") or None) if seen else None,
        item["metadata"]["uid"],
    )


def pod_views(owner: Owner, pods: Iterable[Json]) -> tuple[PodView, ...]:
    """Those of the cluster's StatefulSets, brokers last, by index."""
    views: list[PodView] = []
    for pod in pods:
        metadata = pod["metadata"]
        for role in roles_of(owner):
            stem, _, number = metadata["name"].rpartition("-")
            if number.isdigit() and pod_name(owner, role, int(number)) == metadata["name"] == f"{stem}-{number}":
                views.append(_pod_view(pod, role, int(number)))
    return tuple(sorted(views, key=lambda pod: (ROLES.index(pod.role), pod.index)))


def _pod_view(pod: Json, role: Role, index: int) -> PodView:
    metadata, status = pod["metadata"], pod.get("status", {})
    conditions: dict[str, Any] = {one["type"]: one for one in status.get("conditions", [])}
    return PodView(
        name=metadata["name"],
        uid=metadata["uid"],
        role=role,
        index=index,
        revision=metadata.get("labels", {}).get(_REVISION),
        ready=conditions.get("Ready", {}).get("status") == "True",
        terminating="deletionTimestamp" in metadata,
        since=_time(
            metadata.get("deletionTimestamp")
            or conditions.get("Ready", {}).get("lastTransitionTime")
            or metadata.get("creationTimestamp")
        ),
        trouble=None if (trouble := trouble_of(pod)) is None else str(trouble),
        creating=is_creating(pod),
        node=pod["spec"].get("nodeName") or "",
        gated=any(one.get("name") == VOLUME_GATE for one in pod["spec"].get("schedulingGates") or []),
        annotations=metadata.get("annotations") or {},
    )


def _time(found: str | None) -> datetime | None:
    return None if found is None else datetime.fromisoformat(found)
