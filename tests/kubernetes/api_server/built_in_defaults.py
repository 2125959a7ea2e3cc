"""What the API server adds to its own types: what is read differs from what was applied, here as in reality."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Final

from .resource_types import CRDS, JOBS, NAMESPACES, PODS, ResourceType, TableKey
from .schema import Json
from .store import decode, encode

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
    PODS: _pod,
    TableKey("", "services"): _service,
    NAMESPACES: _namespace,
    TableKey("", "persistentvolumeclaims"): _claim,
    TableKey("", "secrets"): _secret,
    TableKey("apps", "statefulsets"): _stateful_set,
    TableKey("apps", "deployments"): _deployment,
    TableKey("apps", "daemonsets"): _daemon_set,
    JOBS: _job,
    TableKey("networking.k8s.io", "networkpolicies"): _network_policy,
    TableKey("storage.k8s.io", "storageclasses"): _storage_class,
    CRDS: _custom_resource_definition,
}


def with_defaults(kind: ResourceType, obj: Json) -> Json:
    """The object as the server stores it."""
    fill = _DEFAULTS.get(kind.table)
    if fill is None:
        return obj
    filled: Json = decode(encode(obj))
    fill(filled)
    return filled
