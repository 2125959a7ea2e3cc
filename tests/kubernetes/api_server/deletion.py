"""How things go: at once, after their finalizers, after a grace period, before or after what they own.

Pure: from an object and the options of its deletion to the object as it waits for its end.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Final

from . import errors
from .resource_types import CRDS, JOBS, NAMESPACES, PODS, ResourceType, TableKey
from .schema import Json
from .store import Store

CRD_FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"


@dataclass(frozen=True)
class DeleteOptions:
    """``metav1.DeleteOptions``."""

    propagation: str | None = None
    grace: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False

    @staticmethod
    def of(body: Json, query: dict[str, str] | None = None) -> DeleteOptions:
        """From a body and the query, which may name the same things."""
        asked = {**(query or {}), **body}
        conditions = asked.get("preconditions") or {}
        policy = asked.get("propagationPolicy")
        if policy is None and asked.get("orphanDependents") is not None:
            policy = "Orphan" if str(asked["orphanDependents"]).lower() == "true" else "Background"
        if policy not in (None, "Orphan", "Background", "Foreground"):
            raise errors.bad_request(f"invalid DeleteOptions: propagationPolicy: Unsupported value: {policy!r}")
        grace = asked.get("gracePeriodSeconds")
        return DeleteOptions(
            policy,
            None if grace is None else int(grace),
            conditions.get("uid"),
            conditions.get("resourceVersion"),
            bool(asked.get("dryRun")),
        )


def ending(kind: ResourceType, obj: Json, options: DeleteOptions, store: Store, now: str) -> Json | None:
    """The object on its way out; nothing where it can go at once."""
    metadata = obj["metadata"]
    finalizers = [name for name in metadata.get("finalizers") or () if name not in (FOREGROUND, ORPHAN)]
    propagation = options.propagation
    if propagation is None:
        had = set(metadata.get("finalizers") or ())
        propagation = "Foreground" if FOREGROUND in had else "Orphan" if ORPHAN in had else None
    if propagation is None and kind.table == JOBS:
        propagation = "Orphan"  # as batch/v1 has always done
    if propagation == "Foreground":
        finalizers.append(FOREGROUND)
    elif propagation == "Orphan" and store.dependents(metadata["uid"]):
        finalizers.append(ORPHAN)
    if kind.table == CRDS:
        group, plural = obj["spec"]["group"], obj["spec"]["names"]["plural"]
        if store.listing(TableKey(group, plural)).items and CRD_FINALIZER not in finalizers:
            finalizers.append(CRD_FINALIZER)
    grace = _grace(kind, obj, options)
    waits = bool(finalizers) or grace > 0 or (kind.table == NAMESPACES and bool(obj["spec"].get("finalizers")))
    if not waits:
        return None
    new_meta = {**metadata, "finalizers": finalizers}
    if not finalizers:
        del new_meta["finalizers"]
    if not metadata.get("deletionTimestamp"):
        new_meta |= {"deletionTimestamp": _later(now, grace), "deletionGracePeriodSeconds": grace}
        if "generation" in metadata:
            new_meta["generation"] = metadata["generation"] + 1
    elif grace < metadata.get("deletionGracePeriodSeconds", 0):
        new_meta["deletionGracePeriodSeconds"] = grace
    ending = {**obj, "metadata": new_meta}
    if kind.table == NAMESPACES:
        ending["status"] = {**obj.get("status", {}), "phase": "Terminating"}
    return ending


def _grace(kind: ResourceType, obj: Json, options: DeleteOptions) -> int:
    """Only pods on a node are given time; whoever asks for less time than is left gets that."""
    if kind.table != PODS or not obj["spec"].get("nodeName"):
        return 0
    if (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    if options.grace is not None:
        return options.grace
    wanted = int(obj["spec"].get("terminationGracePeriodSeconds", 30))
    left = obj["metadata"].get("deletionGracePeriodSeconds")
    return wanted if left is None else min(wanted, int(left))


def _later(text: str, seconds: int) -> str:
    if not seconds:
        return text
    moment = datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ") + datetime.timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
