"""Label and field selectors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from .errors import bad_request
from .schema import Json

Predicate = Callable[[Json], bool]

_SET: Final = re.compile(r"^\s*(?P<key>[\w./-]+)\s+(?P<op>in|notin)\s*\((?P<values>[^)]*)\)\s*$")
_EQUAL: Final = re.compile(r"^\s*(?P<key>[\w./-]+)\s*(?P<op>==|=|!=)\s*(?P<value>[\w./-]*)\s*$")
_EXISTS: Final = re.compile(r"^\s*(?P<no>!?)\s*(?P<key>[\w./-]+)\s*$")


def _requirements(selector: str) -> list[str]:
    """Splits at commas outside of parentheses."""
    return [part for part in re.split(r",(?![^(]*\))", selector) if part.strip()]


def _label_requirement(text: str) -> Callable[[Json], bool]:
    if found := _SET.match(text):
        key, values = found["key"], {value.strip() for value in found["values"].split(",")}
        if found["op"] == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if found := _EQUAL.match(text):
        key, value = found["key"], found["value"]
        if found["op"] == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if found := _EXISTS.match(text):
        key = found["key"]
        return (lambda labels: key not in labels) if found["no"] else (lambda labels: key in labels)
    raise bad_request(f"unable to parse requirement: {text!r} is no selector")


def labels_match(selector: str) -> Predicate | None:
    """``a=b,c in (d,e),!f``; nothing where everything matches."""
    tests = [_label_requirement(part) for part in _requirements(selector)]
    if not tests:
        return None
    return lambda obj: all(test(obj["metadata"].get("labels") or {}) for test in tests)


def _at(obj: Json, path: tuple[str, ...]) -> Any:
    value: Any = obj
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


_SELECTABLE: Final = {
    ("", "pods"): (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    ("", "events"): (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    ("", "secrets"): ("type",),
    ("", "namespaces"): ("status.phase",),
    ("", "nodes"): ("spec.unschedulable",),
    ("batch", "jobs"): ("status.successful",),
    ("apps", "replicasets"): ("status.replicas",),
}


def fields_match(selector: str, group: str, plural: str, selectable: tuple[str, ...] = ()) -> Predicate | None:
    """``metadata.name=x,status.phase!=Running``: only fields that the resource declares."""
    allowed = {"metadata.name", "metadata.namespace", *_SELECTABLE.get((group, plural), ()), *selectable}
    tests: list[Callable[[Json], bool]] = []
    for part in _requirements(selector):
        key, op, value = re.split(r"(==|!=|=)", part, maxsplit=1) if "=" in part else (part, "", "")
        key, value = key.strip(), value.strip()
        if not op:
            raise bad_request(f"invalid selector: '{part}'; can't understand '{part}'")
        if key not in allowed:
            raise bad_request(f'field label not supported: "{key}"')
        tests.append(_field_test(tuple(key.split(".")), value, op != "!="))
    if not tests:
        return None
    return lambda obj: all(test(obj) for test in tests)


def _field_test(path: tuple[str, ...], value: str, wanted: bool) -> Callable[[Json], bool]:
    def test(obj: Json) -> bool:
        found = _at(obj, path)
        text = ("true" if found else "false") if isinstance(found, bool) else "" if found is None else str(found)
        return (text == value) is wanted

    return test


def selector_matches(selector: Json | None, labels: Json) -> bool:
    """A ``metav1.LabelSelector``: empty selects all, none selects nothing."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    for rule in selector.get("matchExpressions") or ():
        here = labels.get(rule["key"])
        match rule["operator"]:
            case "In":
                held = here in rule["values"]
            case "NotIn":
                held = here not in rule["values"]
            case "Exists":
                held = here is not None
            case _:
                held = here is None
        if not held:
            return False
    return True
