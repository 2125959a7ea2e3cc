"""Label and field selectors."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, Final

from .errors import Json, bad_request

Predicate = Callable[[Json], bool]

_SET: Final = re.compile(r"(?P<key>[\w./-]+)\s+(?P<op>in|notin)\s*\((?P<values>[^)]*)\)")
_EQUAL: Final = re.compile(r"(?P<key>[\w./-]+)\s*(?P<op>==|=|!=)\s*(?P<values>[\w./-]*)")
_EXISTS: Final = re.compile(r"(?P<op>!?)\s*(?P<key>[\w./-]+)")
_SELECTABLE: Final = {
    "events": ("involvedObject.uid", "involvedObject.name", "reason"),
    "pods": ("spec.nodeName", "status.phase"),
}


def selected(labels: str, fields: str, plural: str) -> Predicate:
    """Whether an object matches ``a=b,c in (d,e),!f`` and ``metadata.name=x``. Raises ApiError (400)."""
    of_labels = [_label(part.strip()) for part in re.split(r",(?![^(]*\))", labels) if part]
    of_fields = [_field(part, plural) for part in fields.split(",") if part]

    def matches(obj: Json) -> bool:
        carried = obj["metadata"].get("labels") or {}
        return all(test(carried) for test in of_labels) and all(test(obj) for test in of_fields)

    return matches


def _label(text: str) -> Predicate:
    found = _SET.fullmatch(text) or _EQUAL.fullmatch(text)
    if found is not None:
        values, wanted = {one.strip() for one in found["values"].split(",")}, found["op"] in ("in", "=", "==")
        return lambda labels: (labels.get(found["key"]) in values) is wanted
    exists = _EXISTS.fullmatch(text)
    if exists is None:
        raise bad_request(f"unable to parse requirement: {text!r}")
    return lambda labels: (exists["key"] in labels) is not bool(exists["op"])


def _field(text: str, plural: str) -> Predicate:
    key, _, value = text.partition("=")
    if key not in ("metadata.name", "metadata.namespace", *_SELECTABLE.get(plural, ())):
        if plural in _SELECTABLE:
            raise bad_request(f"field label not supported: {key}")
        raise bad_request(f'"{key}" is not a known field selector: only "metadata.name", "metadata.namespace"')

    def step(found: Any, name: str) -> Any:
        return found.get(name) if isinstance(found, dict) else None

    return lambda obj: functools.reduce(step, key.split("."), obj) == value
