"""What the API server adds to its own kinds, and refuses of them: as far as it shapes what an operator has to do."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any, Final

from . import cel_rules
from .errors import FieldError, Json, forbidden_field, invalid_value, required
from .kinds import CLAIMS, CRDS, JOBS, NAMESPACES, PODS, SETS, Kind, Table
from .store import decode, encode

_CONFIG_MAPS: Final = Table("", "configmaps")
_CONFIG_MAP: Final = 1 << 20
"""Bytes of the data of one."""
_SECRETS: Final = Table("", "secrets")
_SERVICES: Final = Table("", "services")
_ROLLED_OUT: Final = (SETS, Table("apps", "deployments"), Table("apps", "daemonsets"))


def with_defaults(table: Table, obj: Json) -> Json:
    """Return the object as the server stores it: what is read differs from what was applied."""
    fill = _DEFAULTS.get(table)
    if fill is None:
        return obj
    filled: Json = decode(encode(obj))
    fill(filled)
    return filled


def _set(target: Json, **values: Any) -> None:
    for key, value in values.items():
        target.setdefault(key, value)


def _pod_spec(spec: Json) -> None:
    _set(spec, restartPolicy="Always", dnsPolicy="ClusterFirst", schedulerName="default-scheduler", securityContext={})
    _set(spec, terminationGracePeriodSeconds=30)
    if "serviceAccountName" in spec:
        _set(spec, serviceAccount=spec["serviceAccountName"])
    for container in (*spec.get("containers", ()), *spec.get("initContainers", ())):
        pull = "Always" if container.get("image", "").rpartition(":")[2] in ("", "latest") else "IfNotPresent"
        _set(container, resources={}, imagePullPolicy=pull)
        _set(container, terminationMessagePath="/dev/termination-log", terminationMessagePolicy="File")
        for port in container.get("ports", ()):
            _set(port, protocol="TCP")
        for name in ("livenessProbe", "readinessProbe", "startupProbe"):
            if name in container:
                _set(container[name], timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)
                _set(container[name].get("httpGet", {}), path="/", scheme="HTTP")
        for variable in container.get("env", ()):
            _set(variable.get("valueFrom", {}).get("fieldRef", {}), apiVersion="v1")
    for volume in spec.get("volumes", ()):
        for kind in ("configMap", "secret", "downwardAPI", "projected"):
            _set(volume.get(kind, {}), defaultMode=420)


def _pod(obj: Json) -> None:
    _pod_spec(obj["spec"])
    _set(obj["spec"], enableServiceLinks=True, priority=0, serviceAccountName="default")
    _set(obj.setdefault("status", {}), phase="Pending", qosClass="Burstable")


def _stateful_set(obj: Json) -> None:
    spec = obj["spec"]
    _set(spec, replicas=1, podManagementPolicy="OrderedReady", revisionHistoryLimit=10, serviceName="")
    _set(spec.setdefault("updateStrategy", {}), type="RollingUpdate")
    _set(spec.setdefault("persistentVolumeClaimRetentionPolicy", {}), whenDeleted="Retain", whenScaled="Retain")
    for claim in spec.get("volumeClaimTemplates", ()):
        _set(claim, apiVersion="v1", kind="PersistentVolumeClaim", status={"phase": "Pending"})
        _set(claim["spec"], volumeMode="Filesystem")
    _pod_spec(spec["template"]["spec"])
    _set(obj.setdefault("status", {}), replicas=0, availableReplicas=0)


def _job(obj: Json) -> None:
    spec, template = obj["spec"], obj["spec"]["template"]
    _set(spec, parallelism=1, completions=1, backoffLimit=6, completionMode="NonIndexed", suspend=False)
    _pod_spec(template["spec"])
    own = {"batch.kubernetes.io/controller-uid": obj["metadata"]["uid"], "job-name": obj["metadata"]["name"]}
    _set(spec, selector={"matchLabels": own})
    template.setdefault("metadata", {}).setdefault("labels", {}).update(own)
    obj.setdefault("status", {})


def _service(obj: Json) -> None:
    spec, uid = obj["spec"], obj["metadata"]["uid"]
    _set(spec, type="ClusterIP", sessionAffinity="None", internalTrafficPolicy="Cluster")
    _set(spec, clusterIP=f"10.96.{int(uid[:2], 16)}.{1 + int(uid[2:4], 16) % 254}")
    _set(spec, clusterIPs=[spec["clusterIP"]], ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack")
    for place, port in enumerate(spec.get("ports", ())):
        _set(port, protocol="TCP", targetPort=port["port"])
        if spec["type"] == "NodePort":
            _set(port, nodePort=30000 + (int(uid[:4], 16) + place) % 2768)


def _secret(obj: Json) -> None:
    texts = {name: base64.b64encode(text.encode()).decode() for name, text in obj.pop("stringData", {}).items()}
    if texts:
        obj["data"] = obj.get("data", {}) | texts
    _set(obj, type="Opaque")


def _claim(obj: Json) -> None:
    _set(obj["spec"], volumeMode="Filesystem", storageClassName="standard")
    _set(obj.setdefault("status", {}), phase="Pending")


def _namespace(obj: Json) -> None:
    obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = obj["metadata"]["name"]
    _set(obj.setdefault("status", {}), phase="Active")


def _network_policy(obj: Json) -> None:
    _set(obj["spec"], podSelector={}, policyTypes=["Ingress"])
    for rule in (*obj["spec"].get("ingress", ()), *obj["spec"].get("egress", ())):
        for port in rule.get("ports", ()):
            _set(port, protocol="TCP")


_DEFAULTS: Final[dict[Table, Callable[[Json], None]]] = {
    PODS: _pod,
    SETS: _stateful_set,
    JOBS: _job,
    _SERVICES: _service,
    _SECRETS: _secret,
    CLAIMS: _claim,
    NAMESPACES: _namespace,
    Table("networking.k8s.io", "networkpolicies"): _network_policy,
}


def established(crd: Json, now: str) -> Json:
    """A definition is served as soon as it is there."""
    names = {"singular": crd["spec"]["names"]["kind"].lower(), "listKind": f"{crd['spec']['names']['kind']}List"}
    spec = crd["spec"] | {"names": names | crd["spec"]["names"]}
    conditions = [
        {"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": now}
        for kind in ("NamesAccepted", "Established")
    ]
    versions = [version["name"] for version in spec["versions"]]
    status = {"conditions": conditions, "acceptedNames": spec["names"], "storedVersions": versions}
    return crd | {"spec": spec, "status": crd.get("status") or status}


# --- refusals ---

_MAY_CHANGE: Final = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def check(table: Table, new: Json, old: Json | None) -> list[FieldError]:
    """What is wrong with an object of a built-in kind, besides its shape."""
    if table == CRDS:
        return _definition(new)
    if table == _CONFIG_MAPS:
        size = sum(len(text) for text in new.get("data", {}).values())
        size += sum(len(base64.b64decode(text)) for text in new.get("binaryData", {}).values())
        detail = f"Too long: may not be more than {_CONFIG_MAP} bytes"
        return [FieldError("FieldValueTooLong", "", detail)] if size > _CONFIG_MAP else []
    if table in _ROLLED_OUT and old is None:
        labels, wanted = new["spec"]["template"]["metadata"].get("labels", {}), new["spec"]["selector"]["matchLabels"]
        if not wanted.items() <= labels.items():
            detail = "`selector` does not match template `labels`"
            return [invalid_value("spec.template.metadata.labels", labels, detail)]
    if old is None:
        return []
    if table == SETS and _without(new["spec"], *_MAY_CHANGE) != _without(old["spec"], *_MAY_CHANGE):
        named = ", ".join(f"'{name}'" for name in _MAY_CHANGE[:-1])
        detail = f"updates to statefulset spec for fields other than {named} and '{_MAY_CHANGE[-1]}' are forbidden"
        return [forbidden_field("spec", detail)]
    if table == JOBS and new["spec"]["template"] != old["spec"]["template"]:
        return [invalid_value("spec.template", {}, "field is immutable")]
    if table == _SERVICES and new["spec"]["clusterIP"] != old["spec"]["clusterIP"]:
        return [invalid_value("spec.clusterIP", new["spec"]["clusterIP"], "field is immutable")]
    return []


def _without(obj: Json, *names: str) -> Json:
    return {key: value for key, value in obj.items() if key not in names}


def _definition(crd: Json) -> list[FieldError]:
    name = f"{crd['spec']['names']['plural']}.{crd['spec']['group']}"
    if crd["metadata"]["name"] != name:
        return [invalid_value("metadata.name", crd["metadata"]["name"], 'must be spec.names.plural+"."+spec.group')]
    found: list[FieldError] = []
    for version in crd["spec"]["versions"]:
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        found += _rules(schema) if schema else [required("spec.versions.schema.openAPIV3Schema")]
    return found


def _rules(raw: Any) -> list[FieldError]:
    """Rules in CEL that do not compile."""
    found = []
    if isinstance(raw, dict):
        for rule in raw.get("x-kubernetes-validations", ()):
            try:
                cel_rules.compiled(rule["rule"])
            except ValueError as error:
                found.append(invalid_value("rule", rule["rule"], f"compilation failed: {error}"))
        for below in (*raw.get("properties", {}).values(), raw.get("items"), raw.get("additionalProperties")):
            found += _rules(below)
    return found


_LABEL: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?")
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_ANNOTATIONS: Final = 262144
"""Bytes of all annotations together."""


def check_metadata(kind: Kind, metadata: Json) -> list[FieldError]:
    """Names, labels, annotations, owners."""
    found, name = [], metadata["name"]
    if kind.group != "rbac.authorization.k8s.io" and (len(name) > 253 or not _NAME.fullmatch(name)):
        detail = f"a lowercase RFC 1123 subdomain must consist of characters that match '{_NAME.pattern}'"
        found.append(invalid_value("metadata.name", name, detail))
    bad = [value for value in metadata.get("labels", {}).values() if not _LABEL.fullmatch(value)]
    found += [invalid_value("metadata.labels", one, f"a valid label must match '{_LABEL.pattern}'") for one in bad]
    if sum(len(key) + len(value) for key, value in metadata.get("annotations", {}).items()) > _ANNOTATIONS:
        detail = f"Too long: may not be more than {_ANNOTATIONS} bytes"
        found.append(FieldError("FieldValueTooLong", "metadata.annotations", detail))
    for index, reference in enumerate(metadata.get("ownerReferences", ())):
        missing = [key for key in ("uid", "name", "kind", "apiVersion") if not reference.get(key)]
        found += [invalid_value(f"metadata.ownerReferences[{index}].{key}", "", "must not be empty") for key in missing]
    return found
