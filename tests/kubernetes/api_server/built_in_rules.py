"""What the API server does to its own types beyond their shape: defaults, and fields that may not change.

Only what an operator can run into: the defaults of pods and their owners (so that what is read differs from what was
applied, as it does in reality), and the immutable fields whose refusal shapes how objects have to be changed.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from .errors import FieldError, forbidden_field, invalid_value, required
from .resource_types import CRD_GROUP, ResourceType, TableKey
from .schema import ANYTHING, Json, Schema

# Defaults. Each takes a copy that is its own to change.


def _set(target: Json, **values: Any) -> None:
    for key, value in values.items():
        if target.get(key) is None:
            target[key] = value


def _probe(probe: Json) -> None:
    _set(probe, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)
    if "httpGet" in probe:
        _set(probe["httpGet"], path="/", scheme="HTTP")
    if "grpc" in probe:
        _set(probe["grpc"], service="")


def _container(container: Json) -> None:
    image = container.get("image", "")
    tag = image.rpartition("/")[2].partition(":")[2]
    always = "@" not in image and tag in ("", "latest")
    _set(
        container,
        resources={},
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
        imagePullPolicy="Always" if always else "IfNotPresent",
    )
    for port in container.get("ports") or ():
        _set(port, protocol="TCP")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(name):
            _probe(container[name])
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict) and "httpGet" in hook:
            _set(hook["httpGet"], path="/", scheme="HTTP")
    for variable in container.get("env") or ():
        reference = (variable.get("valueFrom") or {}).get("fieldRef")
        if reference:
            _set(reference, apiVersion="v1")
    resources = container["resources"]
    for name, limit in (resources.get("limits") or {}).items():
        resources.setdefault("requests", {}).setdefault(name, limit)


def _volume(volume: Json) -> None:
    for kind in ("configMap", "secret", "downwardAPI", "projected"):
        if kind in volume:
            _set(volume[kind], defaultMode=420)
    for item in (volume.get("downwardAPI") or {}).get("items") or ():
        if "fieldRef" in item:
            _set(item["fieldRef"], apiVersion="v1")
    for source in (volume.get("projected") or {}).get("sources") or ():
        if "serviceAccountToken" in source:
            _set(source["serviceAccountToken"], expirationSeconds=3600)
    if "hostPath" in volume:
        _set(volume["hostPath"], type="")
    if volume.keys() == {"name"}:
        volume["emptyDir"] = {}


def _pod_spec(spec: Json) -> None:
    _set(
        spec,
        restartPolicy="Always",
        dnsPolicy="ClusterFirst",
        schedulerName="default-scheduler",
        terminationGracePeriodSeconds=30,
        securityContext={},
    )
    if spec.get("serviceAccountName"):
        _set(spec, serviceAccount=spec["serviceAccountName"])
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        _container(container)
    for volume in spec.get("volumes") or ():
        _volume(volume)


def _template(spec: Json) -> None:
    template = spec.setdefault("template", {})
    template.setdefault("metadata", {}).setdefault("creationTimestamp", None)
    if template["metadata"]["creationTimestamp"] is None:
        del template["metadata"]["creationTimestamp"]
    _pod_spec(template.setdefault("spec", {}))


def _pod(obj: Json) -> None:
    spec = obj.setdefault("spec", {})
    _pod_spec(spec)
    _set(
        spec, enableServiceLinks=True, preemptionPolicy="PreemptLowerPriority", priority=0, serviceAccountName="default"
    )
    _set(spec, serviceAccount=spec["serviceAccountName"])
    _set(obj.setdefault("status", {}), phase="Pending", qosClass="Burstable")


def _stateful_set(obj: Json) -> None:
    spec = obj.setdefault("spec", {})
    _set(
        spec,
        replicas=1,
        podManagementPolicy="OrderedReady",
        revisionHistoryLimit=10,
        updateStrategy={},
        persistentVolumeClaimRetentionPolicy={},
        serviceName="",
    )
    _set(spec["persistentVolumeClaimRetentionPolicy"], whenDeleted="Retain", whenScaled="Retain")
    strategy = spec["updateStrategy"]
    _set(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _set(strategy, rollingUpdate={"partition": 0})
    for claim in spec.get("volumeClaimTemplates") or ():
        _set(claim, apiVersion="v1", kind="PersistentVolumeClaim")
        claim.setdefault("status", {}).setdefault("phase", "Pending")
        _set(claim.setdefault("spec", {}), volumeMode="Filesystem")
    _template(spec)
    _set(obj.setdefault("status", {}), replicas=0, availableReplicas=0)


def _deployment(obj: Json) -> None:
    spec = obj.setdefault("spec", {})
    _set(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600, strategy={})
    _set(spec["strategy"], type="RollingUpdate")
    if spec["strategy"]["type"] == "RollingUpdate":
        _set(spec["strategy"].setdefault("rollingUpdate", {}), maxUnavailable="25%", maxSurge="25%")
    _template(spec)


def _daemon_set(obj: Json) -> None:
    spec = obj.setdefault("spec", {})
    _set(spec, revisionHistoryLimit=10, updateStrategy={})
    _set(spec["updateStrategy"], type="RollingUpdate")
    if spec["updateStrategy"]["type"] == "RollingUpdate":
        _set(spec["updateStrategy"].setdefault("rollingUpdate", {}), maxUnavailable=1, maxSurge=0)
    _template(spec)
    _set(
        obj.setdefault("status", {}),
        currentNumberScheduled=0,
        desiredNumberScheduled=0,
        numberMisscheduled=0,
        numberReady=0,
    )


def _job(obj: Json) -> None:
    spec = obj.setdefault("spec", {})
    _set(
        spec,
        parallelism=1,
        completions=1,
        backoffLimit=6,
        completionMode="NonIndexed",
        suspend=False,
        manualSelector=False,
        podReplacementPolicy="TerminatingOrFailed",
    )
    _template(spec)
    if not spec["manualSelector"] and "selector" not in spec:
        uid, name = obj["metadata"]["uid"], obj["metadata"]["name"]
        spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
        spec["template"]["metadata"]["labels"] = {
            **(spec["template"]["metadata"].get("labels") or {}),
            "batch.kubernetes.io/controller-uid": uid,
            "batch.kubernetes.io/job-name": name,
            "controller-uid": uid,
            "job-name": name,
        }
    obj.setdefault("status", {})


def _service(obj: Json) -> None:
    spec = obj.setdefault("spec", {})
    _set(spec, type="ClusterIP", sessionAffinity="None", internalTrafficPolicy="Cluster")
    for port in spec.get("ports") or ():
        _set(port, protocol="TCP", targetPort=port.get("port"))
    if spec["type"] == "ExternalName":
        return
    if not spec.get("clusterIP"):
        # Any address will do, as long as it stays the same: it is made from the uid.
        number = int(obj["metadata"]["uid"].replace("-", "")[:6], 16)
        spec["clusterIP"] = f"10.{96 + number % 16}.{number >> 8 & 255}.{1 + number % 254}"
    _set(spec, clusterIPs=[spec["clusterIP"]], ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack")
    if spec["type"] in ("NodePort", "LoadBalancer"):
        _set(spec, externalTrafficPolicy="Cluster")
        for place, port in enumerate(spec.get("ports") or ()):
            _set(port, nodePort=30000 + (int(obj["metadata"]["uid"][:4], 16) + place) % 2768)
    obj.setdefault("status", {}).setdefault("loadBalancer", {})


def _namespace(obj: Json) -> None:
    obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = obj["metadata"]["name"]
    _set(obj.setdefault("spec", {}), finalizers=["kubernetes"])
    _set(obj.setdefault("status", {}), phase="Active")


def _claim(obj: Json) -> None:
    _set(obj.setdefault("spec", {}), volumeMode="Filesystem", storageClassName="standard")
    _set(obj.setdefault("status", {}), phase="Pending")


def _secret(obj: Json) -> None:
    _set(obj, type="Opaque")
    import base64

    for key, value in (obj.pop("stringData", None) or {}).items():
        obj.setdefault("data", {})[key] = base64.b64encode(value.encode()).decode()


def _network_policy(obj: Json) -> None:
    spec = obj.setdefault("spec", {})
    _set(spec, podSelector={}, policyTypes=["Ingress", *(["Egress"] if spec.get("egress") else [])])
    for rule in (*(spec.get("ingress") or ()), *(spec.get("egress") or ())):
        for port in rule.get("ports") or ():
            _set(port, protocol="TCP")


def _custom_resource_definition(obj: Json) -> None:
    spec = obj["spec"]
    names = spec["names"]
    _set(names, singular=names["kind"].lower(), listKind=f"{names['kind']}List")
    _set(spec, conversion={"strategy": "None"})
    for version in spec["versions"]:
        for column in version.get("additionalPrinterColumns") or ():
            _set(column, priority=0) if column.get("priority") else None


def _storage_class(obj: Json) -> None:
    _set(obj, reclaimPolicy="Delete", volumeBindingMode="Immediate")


_DEFAULTS: Final[dict[TableKey, Callable[[Json], None]]] = {
    TableKey("", "pods"): _pod,
    TableKey("", "services"): _service,
    TableKey("", "namespaces"): _namespace,
    TableKey("", "persistentvolumeclaims"): _claim,
    TableKey("", "secrets"): _secret,
    TableKey("apps", "statefulsets"): _stateful_set,
    TableKey("apps", "deployments"): _deployment,
    TableKey("apps", "daemonsets"): _daemon_set,
    TableKey("batch", "jobs"): _job,
    TableKey("networking.k8s.io", "networkpolicies"): _network_policy,
    TableKey("storage.k8s.io", "storageclasses"): _storage_class,
    TableKey(CRD_GROUP, "customresourcedefinitions"): _custom_resource_definition,
}


def with_defaults(kind: ResourceType, obj: Json) -> Json:
    """The object as the server stores it."""
    fill = _DEFAULTS.get(kind.table)
    if fill is None:
        return obj
    filled = copy.deepcopy(obj)
    fill(filled)
    return filled


# What may not be


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
    {"rules", "selector", "template", "serviceName", "podSelector", "status", "conditions"}
)


def _shape(schema: Schema, value: Any, path: str) -> Iterator[FieldError]:
    match value:
        case dict():
            for name in schema.raw.get("required", ()):
                if value.get(name) is None and name not in _TOLERATED_MISSING:
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
        spec = {key: value for key, value in obj["spec"].items() if key not in ("resources", "volumeName")}
        return spec

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
    for index, reference in enumerate(metadata.get("ownerReferences") or ()):
        errors += [
            invalid_value(f"metadata.ownerReferences[{index}].{key}", reference.get(key, ""), "must not be empty")
            for key in ("uid", "name", "kind", "apiVersion")
            if not reference.get(key)
        ]
    return errors
