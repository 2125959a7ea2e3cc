"""Custom objects as rows: what ``kubectl get`` prints (``Accept: application/json;as=Table``)."""

from __future__ import annotations

import datetime
import re
from typing import Any, Final

from .errors import Json
from .kinds import Kind

_STEP: Final = re.compile(r"\.(?P<name>\w+)(?:\[\?\(@\.(?P<key>\w+)==\"(?P<value>[^\"]*)\"\)\])?")


def table(kind: Kind, objs: list[Json]) -> Json:
    """A ``meta.k8s.io/v1`` Table."""
    columns = [{"name": "Name", "type": "string"}, *({**one} for one in kind.columns)]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "columnDefinitions": [{"priority": 0, **column} for column in columns],
        "rows": [{"cells": [obj["metadata"]["name"], *(_cell(one, obj) for one in kind.columns)]} for obj in objs],
    }


def _cell(column: Json, obj: Json) -> Any:
    """The value at the JSON path of a column; the text of what the object's status lacks is empty."""
    path = column["jsonPath"]
    if "".join(step[0] for step in _STEP.finditer(path)) != path:
        raise ValueError(f"the stand-in API server cannot read the JSON path {path!r}")
    value: Any = obj
    for step in _STEP.finditer(path):
        value = value.get(step["name"]) if isinstance(value, dict) else None
        if step["key"] and value is not None:
            value = next((one for one in value if one.get(step["key"]) == step["value"]), None)
    if column["type"] == "date" and value is not None:
        moment = datetime.datetime.fromisoformat(value)
        return f"{int((datetime.datetime.now(datetime.UTC) - moment).total_seconds())}s"
    return value
