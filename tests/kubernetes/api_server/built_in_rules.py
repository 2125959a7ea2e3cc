"""What the API server refuses of its own types: what is required, and fields that may not change.

Only what an operator can run into, since such refusals shape how objects have to be changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from .errors import FieldError, forbidden_field, invalid_value, required
from .resource_types import CRD_GROUP, ResourceType, TableKey
from .schema import ANYTHING, Json, Schema


def validate(kind: ResourceType, new: Json, old: Json | None) -> list[FieldError]:
    """What is wrong with an object of a built-in type."""
    errors = list(_shape(kind.schema, {key: new[key] for key in new if key not in ("metadata", "status")}, ""))
    if errors:
        return errors
    if old is not None:
        change = _CHANGES.get(kind.table)
        errors += change(new, old) if change else []
        return errors
    check = _CREATION.get(kind.table)
    return [*errors, *(check(new) if check else [])]


_TOLERATED_MISSING: Final = frozenset(
    {"metadata", "rules", "selector", "template", "serviceName", "podSelector", "status", "conditions"}
)


def _shape(schema: Schema, value: Any, path: str) -> Iterator[FieldError]:
    match value:
        case dict():
            for name in schema.raw.get("required", ()):
                if value.get(name) is None and name not in _TOLERATED_MISSING and (path or name != "metadata"):
                    yield required(f"{path}.{name}" if path else name)
            for name, inner in value.items():
                below = schema.field(name) or ANYTHING
                if inner is not None and name != "status":
                    yield from _shape(below, inner, f"{path}.{name}" if path else name)
        case list():
            seen: set[str] = set()
            for index, item in enumerate(value):
                yield from _shape(schema.items, item, f"{path}[{index}]")
                if schema.list_type == "map" and schema.list_keys == ("name",):
                    name = item.get("name", "")
                    if name in seen:
                        yield FieldError("FieldValueDuplicate", f"{path}[{index}].name", f'Duplicate value: "{name}"')
                    seen.add(name)


def wrong_type(schema: Schema, value: Any, path: str = "") -> str | None:
    """Where an object does not even decode, as Go says it; nothing where it does."""
    wanted = schema.type
    if value is None or schema.int_or_string or wanted is None:
        return None
    names: dict[type, str] = {
        str: "string",
        bool: "bool",
        int: "number",
        float: "number",
        dict: "object",
        list: "array",
    }
    found = names[type(value)]
    expected = {"integer": "number", "boolean": "bool"}.get(wanted, wanted)
    if found != expected:
        go = {"integer": "int32", "boolean": "bool", "object": "map", "array": "slice"}.get(wanted, wanted)
        return f"json: cannot unmarshal {found} into Go struct field {path} of type {go}"
    if isinstance(value, dict):
        for name, inner in value.items():
            below = schema.field(name)
            if below is not None and (wrong := wrong_type(below, inner, f"{path}.{name}" if path else name)):
                return wrong
    if isinstance(value, list):
        for item in value:
            if wrong := wrong_type(schema.items, item, path):
                return wrong
    return None


def _labels_selected(new: Json) -> list[FieldError]:
    spec = new.get("spec") or {}
    selector = spec.get("selector")
    if not selector:
        return [required("spec.selector")]
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return [invalid_value("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")]
    return []


def _pod_creation(new: Json) -> list[FieldError]:
    return [] if (new.get("spec") or {}).get("containers") else [required("spec.containers")]


def _custom_resource_definition_creation(new: Json) -> list[FieldError]:
    spec = new["spec"]
    name = f"{spec['names']['plural']}.{spec['group']}"
    if new["metadata"]["name"] != name:
        detail = 'must be spec.names.plural+"."+spec.group'
        return [invalid_value("metadata.name", new["metadata"]["name"], detail)]
    errors = []
    if sum(bool(version.get("storage")) for version in spec["versions"]) != 1:
        errors.append(
            invalid_value("spec.versions", spec["versions"], "must have exactly one version marked as storage version")
        )
    for index, version in enumerate(spec["versions"]):
        where = f"spec.versions[{index}].schema.openAPIV3Schema"
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            errors.append(required(where, "schemas are required"))
        else:
            errors += _rules_compile(version["schema"]["openAPIV3Schema"], where)
    return errors


def _rules_compile(raw: Any, path: str) -> Iterator[FieldError]:
    from .cel_rules import compiled

    match raw:
        case dict():
            for index, rule in enumerate(raw.get("x-kubernetes-validations") or ()):
                try:
                    compiled(rule["rule"])
                except ValueError as error:
                    where = f"{path}.x-kubernetes-validations[{index}].rule"
                    yield invalid_value(where, rule["rule"], f"compilation failed: {error}")
            for name, value in (raw.get("properties") or {}).items():
                yield from _rules_compile(value, f"{path}.properties[{name}]")
            yield from _rules_compile(raw.get("items"), f"{path}.items")
            yield from _rules_compile(raw.get("additionalProperties"), f"{path}.additionalProperties")
        case _:
            return


_CREATION: Final[dict[TableKey, Callable[[Json], list[FieldError]]]] = {
    TableKey("", "pods"): _pod_creation,
    TableKey("apps", "statefulsets"): _labels_selected,
    TableKey("apps", "deployments"): _labels_selected,
    TableKey("apps", "daemonsets"): _labels_selected,
    TableKey(CRD_GROUP, "customresourcedefinitions"): _custom_resource_definition_creation,
}

_SET_MAY_CHANGE: Final = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def _stateful_set_change(new: Json, old: Json) -> list[FieldError]:
    def fixed(obj: Json) -> Json:
        return {key: value for key, value in obj["spec"].items() if key not in _SET_MAY_CHANGE}

    if fixed(new) == fixed(old):
        return []
    named = ", ".join(f"'{name}'" for name in _SET_MAY_CHANGE[:-1])
    return [
        forbidden_field(
            "spec",
            f"updates to statefulset spec for fields other than {named} and '{_SET_MAY_CHANGE[-1]}' are forbidden",
        )
    ]


def _immutable(*path: str) -> Callable[[Json, Json], list[FieldError]]:
    def check(new: Json, old: Json) -> list[FieldError]:
        after, before = new, old
        for name in path:
            after, before = (after or {}).get(name, {}), (before or {}).get(name, {})
        return [] if after == before else [invalid_value(".".join(path), after, "field is immutable")]

    return check


def _pod_change(new: Json, old: Json) -> list[FieldError]:
    def fixed(obj: Json) -> Json:
        spec = {
            key: value
            for key, value in obj["spec"].items()
            if key not in ("activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations", "nodeName")
        }
        for name in ("containers", "initContainers"):
            if name in spec:
                spec[name] = [{key: value for key, value in item.items() if key != "image"} for item in spec[name]]
        return spec

    if fixed(new) == fixed(old):
        return []
    detail = (
        "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
        "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
    )
    return [forbidden_field("spec", detail)]


def _config_map_change(new: Json, old: Json) -> list[FieldError]:
    if old.get("immutable") and any(new.get(key) != old.get(key) for key in ("data", "binaryData", "immutable")):
        return [forbidden_field("data", "field is immutable when `immutable` is set")]
    return []


def _service_change(new: Json, old: Json) -> list[FieldError]:
    before, after = old["spec"].get("clusterIP"), new["spec"].get("clusterIP")
    if before and before != after and new["spec"].get("type") != "ExternalName":
        return [invalid_value("spec.clusterIP", after or "", "field is immutable")]
    return []


def _claim_change(new: Json, old: Json) -> list[FieldError]:
    def fixed(obj: Json) -> Json:
        return {key: value for key, value in obj["spec"].items() if key not in ("resources", "volumeName")}

    if fixed(new) == fixed(old):
        return []
    detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
    return [forbidden_field("spec", detail)]


_CHANGES: Final[dict[TableKey, Callable[[Json, Json], list[FieldError]]]] = {
    TableKey("", "pods"): _pod_change,
    TableKey("", "configmaps"): _config_map_change,
    TableKey("", "secrets"): _config_map_change,
    TableKey("", "services"): _service_change,
    TableKey("", "persistentvolumeclaims"): _claim_change,
    TableKey("apps", "statefulsets"): _stateful_set_change,
    TableKey("apps", "deployments"): _immutable("spec", "selector"),
    TableKey("apps", "daemonsets"): _immutable("spec", "selector"),
    TableKey("batch", "jobs"): _immutable("spec", "template"),
    TableKey("rbac.authorization.k8s.io", "rolebindings"): _immutable("roleRef"),
    TableKey("rbac.authorization.k8s.io", "clusterrolebindings"): _immutable("roleRef"),
}

_LABEL_VALUE: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_ANNOTATIONS: Final = 262144
"""Bytes of all annotations together; what ``kubectl apply`` remembers of an object counts among them."""
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_RFC1123: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def validate_metadata(kind: ResourceType, metadata: Json) -> list[FieldError]:
    """Names and labels."""
    errors = []
    name = metadata.get("name", "")
    free = kind.group == "rbac.authorization.k8s.io"
    if not free and (len(name) > 253 or not _SUBDOMAIN.fullmatch(name)):
        errors.append(invalid_value("metadata.name", name, _RFC1123))
    for value in (metadata.get("labels") or {}).values():
        if not isinstance(value, str) or not _LABEL_VALUE.fullmatch(value):
            errors.append(invalid_value("metadata.labels", value, _LABEL_RULE))
        elif len(value) > 63:
            errors.append(invalid_value("metadata.labels", value, "must be no more than 63 bytes"))
    size = sum(len(key) + len(value) for key, value in (metadata.get("annotations") or {}).items())
    if size > _ANNOTATIONS:
        detail = f"Too long: may not be more than {_ANNOTATIONS} bytes"
        errors.append(FieldError("FieldValueTooLong", "metadata.annotations", detail))
    for index, reference in enumerate(metadata.get("ownerReferences") or ()):
        errors += [
            invalid_value(f"metadata.ownerReferences[{index}].{key}", reference.get(key, ""), "must not be empty")
            for key in ("uid", "name", "kind", "apiVersion")
            if not reference.get(key)
        ]
    return errors
