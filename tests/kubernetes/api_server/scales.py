"""The subresource ``scale`` of a custom kind: a few fields of the object, under the names of autoscaling/v1."""

from __future__ import annotations

from typing import Any

from .errors import Json
from .kinds import Kind

_PATHS = {"replicas": "specReplicasPath", "statusReplicas": "statusReplicasPath", "selector": "labelSelectorPath"}


def scale_of(kind: Kind, obj: Json) -> Json:
    """As ``GET …/scale`` answers."""
    found = {name: _read(obj, kind.scale[path]) for name, path in _PATHS.items()}
    metadata = {key: obj["metadata"][key] for key in ("name", "namespace", "uid", "resourceVersion")}
    status = {"replicas": found["statusReplicas"] or 0, "selector": found["selector"] or ""}
    spec = {"replicas": found["replicas"] or 0}
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status}


def patch_of(kind: Kind, body: Json) -> Json:
    """The merge patch of the object for one of its scale."""
    *parents, name = kind.scale["specReplicasPath"].strip(".").split(".")
    patch: Json = {name: body["spec"]["replicas"]}
    for one in reversed(parents):
        patch = {one: patch}
    return patch


def _read(obj: Any, path: str) -> Any:
    for one in path.strip(".").split("."):
        obj = (obj or {}).get(one)
    return obj
