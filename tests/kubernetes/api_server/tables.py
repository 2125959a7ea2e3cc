"""Objects as rows: what ``kubectl get`` prints (``Accept: application/json;as=Table``)."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any, Final

from .resource_types import ResourceType, TableKey
from .schema import Json

_NAME: Final[Json] = {
    "name": "Name",
    "type": "string",
    "format": "name",
    "description": "Name must be unique within a namespace.",
    "priority": 0,
}
_AGE: Final[Json] = {
    "name": "Age",
    "type": "date",
    "jsonPath": ".metadata.creationTimestamp",
    "description": "CreationTimestamp is a timestamp representing the server time when this object was created.",
    "priority": 0,
}


def age(since: str | None) -> str:
    """``5s``, ``3m``, ``2h``, ``4d``, as kubectl prints durations."""
    if not since:
        return "<unknown>"
    moment = datetime.datetime.fromisoformat(since.replace("Z", "+00:00"))
    seconds = max(0, int((datetime.datetime.now(datetime.UTC) - moment).total_seconds()))
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    if hours < 48:
        return f"{hours}h"
    return f"{days}d"


_STEP: Final = re.compile(
    r"\.(?P<name>(?:[^.\[\]\\]|\\.)+)|\[(?P<index>-?\d+|\*)\]|\[['\"](?P<quoted>[^'\"]+)['\"]\]"
    r"|\[\?\(@\.(?P<key>[\w.]+)\s*==\s*(?P<quote>['\"])(?P<value>[^'\"]*)(?P=quote)\)\]"
)


def at_path(obj: Any, path: str) -> list[Any]:
    """The values at a JSON path of the kind that printer columns use."""
    found = [obj]
    end = 0
    for step in _STEP.finditer(path):
        if step.start() != end:
            raise ValueError(f"cannot read JSON path {path!r} at {path[end:]!r}")
        end = step.end()
        found = [value for item in found for value in _step(item, step)]
    if end != len(path):
        raise ValueError(f"cannot read JSON path {path!r} at {path[end:]!r}")
    return found


def _step(item: Any, step: re.Match[str]) -> list[Any]:
    name = step["name"] or step["quoted"]
    if name is not None:
        name = name.replace("\\", "")
        return [item[name]] if isinstance(item, dict) and item.get(name) is not None else []
    if not isinstance(item, list):
        return []
    if step["key"] is not None:
        return [one for one in item if isinstance(one, dict) and one.get(step["key"]) == step["value"]]
    if step["index"] == "*":
        return list(item)
    index = int(step["index"])
    return [item[index]] if -len(item) <= index < len(item) else []


def _cell(column: Json, obj: Json) -> Any:
    values = at_path(obj, column["jsonPath"])
    if not values:
        return None
    value = values[0]
    match column["type"]:
        case "date":
            return age(value) if isinstance(value, str) else "<invalid>"
        case "integer":
            return value if isinstance(value, int) else None
        case "number":
            return value if isinstance(value, int | float) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case _:
            return ",".join(_text(item) for item in values)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


Row = Callable[[Json], list[Any]]


def _pod(obj: Json) -> list[Any]:
    status, spec = obj.get("status") or {}, obj["spec"]
    containers = status.get("containerStatuses") or []
    ready = sum(bool(item.get("ready")) for item in containers)
    restarts = sum(item.get("restartCount", 0) for item in containers)
    phase = "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("reason") or status.get("phase")
    return [f"{ready}/{len(spec['containers'])}", phase, str(restarts)]


def _set(obj: Json) -> list[Any]:
    return [f"{(obj.get('status') or {}).get('readyReplicas', 0)}/{obj['spec'].get('replicas', 0)}"]


def _job(obj: Json) -> list[Any]:
    status = obj.get("status") or {}
    finished = [c["type"] for c in status.get("conditions") or () if c["status"] == "True"]
    phase = next((name for name in ("Failed", "Complete", "Suspended") if name in finished), "Running")
    return [phase, f"{status.get('succeeded', 0)}/{obj['spec'].get('completions', 1)}"]


def _service(obj: Json) -> list[Any]:
    spec = obj["spec"]
    ports = ",".join(f"{port['port']}/{port.get('protocol', 'TCP')}" for port in spec.get("ports") or ())
    return [spec.get("type"), spec.get("clusterIP") or "<none>", "<none>", ports or "<none>"]


def _event(obj: Json) -> list[Any]:
    about = obj.get("involvedObject") or {}
    named = f"{about.get('kind', '').lower()}/{about.get('name', '')}"
    return [obj.get("type"), obj.get("reason"), named, (obj.get("message") or "").strip()]


_BUILT_IN: Final[dict[TableKey, tuple[tuple[str, ...], Row]]] = {
    TableKey("", "pods"): (("Ready", "Status", "Restarts"), _pod),
    TableKey("", "services"): (("Type", "Cluster-IP", "External-IP", "Port(s)"), _service),
    TableKey("", "events"): (("Type", "Reason", "Object", "Message"), _event),
    TableKey("", "namespaces"): (("Status",), lambda obj: [(obj.get("status") or {}).get("phase")]),
    TableKey("", "persistentvolumeclaims"): (("Status",), lambda obj: [(obj.get("status") or {}).get("phase")]),
    TableKey("", "configmaps"): (
        ("Data",),
        lambda obj: [len(obj.get("data") or {}) + len(obj.get("binaryData") or {})],
    ),
    TableKey("", "secrets"): (("Type", "Data"), lambda obj: [obj.get("type"), len(obj.get("data") or {})]),
    TableKey("apps", "statefulsets"): (("Ready",), _set),
    TableKey("apps", "deployments"): (("Ready",), _set),
    TableKey("batch", "jobs"): (("Status", "Completions"), _job),
}


class Columns:
    """How a type is printed."""

    def __init__(self, kind: ResourceType) -> None:
        self.definitions: list[Json]
        self._row: Row
        if kind.crd is not None:
            columns = kind.crd_version.get("additionalPrinterColumns") or [_AGE]
            self.definitions = [
                _NAME,
                *(
                    {
                        "name": column["name"],
                        "type": column["type"],
                        "format": column.get("format", ""),
                        "description": column.get("description", ""),
                        "priority": column.get("priority", 0),
                    }
                    for column in columns
                ),
            ]
            self._row = lambda obj: [_cell(column, obj) for column in columns]
            return
        names, row = _BUILT_IN.get(kind.table, ((), lambda obj: []))
        made = [{"name": name, "type": "string", "format": "", "description": "", "priority": 0} for name in names]
        self.definitions = [
            _NAME,
            *made,
            {key: _AGE[key] for key in ("name", "type", "description", "priority")} | {"format": ""},
        ]
        self._row = lambda obj: [*row(obj), age(obj["metadata"].get("creationTimestamp"))]

    def row(self, obj: Json, include: str) -> Json:
        """One object; ``include`` says how much of it goes along (``None``, ``Metadata``, ``Object``)."""
        along: Json = {
            "Object": {"object": obj},
            "None": {},
        }.get(
            include,
            {
                "object": {
                    "kind": "PartialObjectMetadata",
                    "apiVersion": "meta.k8s.io/v1",
                    "metadata": {key: value for key, value in obj["metadata"].items() if key != "managedFields"},
                }
            },
        )
        return {"cells": [obj["metadata"]["name"], *self._row(obj)], **along}


def table(kind: ResourceType, objs: list[Json], metadata: Json, include: str, *, headers: bool = True) -> Json:
    """A ``meta.k8s.io/v1`` Table."""
    columns = Columns(kind)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": columns.definitions if headers else [],
        "rows": [columns.row(obj, include) for obj in objs],
    }
