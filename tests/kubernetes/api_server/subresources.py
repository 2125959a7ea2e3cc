"""Subresources that are no part of the object: scale, log, eviction, binding, finalize."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from . import errors
from .deletion import DeleteOptions
from .http_request import Asked
from .operations import Operations, Write
from .resource_types import PODS, ResourceType, TableKey
from .schema import Json
from .selectors import selector_matches

Logs = Callable[[Json, str], str]
"""The pod and the container: what it has written."""

_BUDGETS: Final = TableKey("policy", "poddisruptionbudgets")
_TOO_MANY: Final = "Cannot evict pod as it would violate the pod's disruption budget."


class Subresources:
    """Answers for them; ``logs`` is set by whoever runs pods."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self.logs: Logs = lambda pod, container: ""

    def answer(self, kind: ResourceType, asked: Asked, sent: Json, media_type: str, write: Write) -> Json | str:
        """An object, or text."""
        match asked.subresource, asked.verb:
            case "scale", _:
                return self._scale(kind, asked, sent, media_type, write)
            case "log", "get":
                pod = self._operations.get(kind, asked.namespace, asked.name)
                return self.logs(pod, asked.query.get("container", ""))
            case "eviction", "create":
                return self._evict(kind, asked, sent)
            case "binding", "create":
                node = sent["target"]["name"]
                with self._operations.store.lock:
                    pod = self._operations.get(kind, asked.namespace, asked.name)
                    bound = {**pod, "spec": {**pod["spec"], "nodeName": node}}
                    self._operations.replace(kind, asked.namespace, asked.name, bound, write)
                return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
            case "finalize", "update":
                return self._operations.replace(kind, "", asked.name, sent, write)
            case _:
                raise errors.method_not_allowed(kind.group, kind.plural)

    def _scale(self, kind: ResourceType, asked: Asked, sent: Json, media_type: str, write: Write) -> Json:
        with self._operations.store.lock:
            obj = self._operations.get(kind, asked.namespace, asked.name)
            if asked.verb in ("update", "patch"):
                current = _scale_of(kind, obj)
                if asked.verb == "patch":
                    from .patches import json_patch, merge_patch

                    sent = json_patch(current, sent) if isinstance(sent, list) else merge_patch(current, sent)
                version = (sent.get("metadata") or {}).get("resourceVersion")
                if version and version != obj["metadata"]["resourceVersion"]:
                    raise errors.modified_meanwhile(kind.group, kind.plural, asked.name)
                wanted = {**obj, "spec": {**obj["spec"], "replicas": sent["spec"].get("replicas", 0)}}
                obj = self._operations.replace(kind, asked.namespace, asked.name, wanted, write)
            return _scale_of(kind, obj)

    def _evict(self, kind: ResourceType, asked: Asked, sent: Json) -> Json:
        """Refused (429) where it would leave a budget short."""
        store = self._operations.store
        with store.lock:
            pod = self._operations.get(kind, asked.namespace, asked.name)
            labels = pod["metadata"].get("labels") or {}
            for item in store.listing(_BUDGETS, asked.namespace).items:
                budget = item.obj
                if selector_matches(budget["spec"].get("selector"), labels) and not self._spare(kind, budget):
                    name = budget["metadata"]["name"]
                    cause = {"reason": "DisruptionBudget", "message": f"The disruption budget {name} does not allow it"}
                    raise errors.ApiError(429, "TooManyRequests", _TOO_MANY, {"causes": [cause]})
            self._operations.delete(
                kind, asked.namespace, asked.name, DeleteOptions.of(sent.get("deleteOptions") or {})
            )
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}

    def _spare(self, kind: ResourceType, budget: Json) -> bool:
        """Whether one more pod may go (figures as numbers or percentages of the pods that are there)."""
        pods = [
            item.obj
            for item in self._operations.store.listing(PODS, budget["metadata"]["namespace"]).items
            if selector_matches(budget["spec"]["selector"], item.obj["metadata"].get("labels") or {})
        ]
        healthy = sum(_is_ready(pod) and not pod["metadata"].get("deletionTimestamp") for pod in pods)
        spec = budget["spec"]
        if "minAvailable" in spec:
            return healthy - 1 >= _figure(spec["minAvailable"], len(pods))
        return healthy - 1 >= len(pods) - _figure(spec.get("maxUnavailable", 1), len(pods))


def _figure(value: int | str, total: int) -> int:
    return -(-total * int(value.rstrip("%")) // 100) if isinstance(value, str) else value


def _is_ready(pod: Json) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def _scale_of(kind: ResourceType, obj: Json) -> Json:
    metadata = obj["metadata"]
    kept = {key: metadata[key] for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")}
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": kept,
        "spec": {"replicas": obj["spec"].get("replicas", 0)},
        "status": {"replicas": (obj.get("status") or {}).get("replicas", 0)},
    }
