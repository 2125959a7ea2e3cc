"""The pods of one role.

Pods are replaced by the operator and not by Kubernetes (``OnDelete``): only it knows whether the cluster can do without
one more broker at the moment. The pod template carries a hash of the configuration, by which it sees which are behind.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

from highwater_chaos.kube.cluster_id import cluster_id_of
from highwater_chaos.kube.kinds import (
    VOLUME_CLUSTER_UID,
    VOLUME_CRASHABLE,
    VOLUME_FILE_SYSTEM,
    VOLUME_GATE,
    VOLUME_PINNED,
    VOLUME_SIZE,
    VOLUME_WHEN_DELETED,
)
from highwater_operator.objects.agent_nodes import AgentNodes
from highwater_operator.objects.config_map import (
    CONTROL_PATH,
    CONTROL_VOLUME,
    DATA_PATH,
    EVENTS_FILE,
    EVENTS_PATH,
    EVENTS_VOLUME,
    HOLD_FILES,
    VOLUME_PATH,
    config_hash,
    file_suffix,
)
from highwater_operator.objects.images import Images
from highwater_operator.objects.naming import (
    ADMIN_PORT,
    Owner,
    Role,
    labels_of,
    metadata_of,
    ports_of,
    replicas_of,
    selector_of,
    service_name,
    set_name,
)
from highwater_operator.objects.security import CONFIG_PATH, CREDENTIALS_FILE, files_secret_name, identity_of

CONFIG_HASH: Final = "highwater.dev/config-hash"
IDENTITY: Final = "highwater.dev/identity"
NODE_USER: Final = 10001
"""As whom pods run whose data are on claims of their own."""
_FIRST_USER: Final = 1_000_000
_USERS: Final = 1_000_000_000
_STOP_SECONDS: Final = 75
"""Longer than a node's own bound on its shutdown (60 s)."""


def stateful_set(owner: Owner, role: Role, images: Images, agent_nodes: AgentNodes) -> dict[str, Any]:
    """The StatefulSet of a role."""
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": metadata_of(owner, set_name(owner, role), role),
        "spec": {
            "serviceName": service_name(owner, role),
            "replicas": replicas_of(owner, role),
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "OnDelete"},
            "selector": {"matchLabels": selector_of(owner, role)},
            "template": {
                "metadata": {
                    "labels": labels_of(owner, role),
                    "annotations": {
                        CONFIG_HASH: config_hash(owner, role),
                        **_identity_annotation(owner),
                        **_volume_annotations(owner),
                        "prometheus.io/scrape": "true",
                        "prometheus.io/port": str(ADMIN_PORT),
                    },
                },
                "spec": {**_pod(owner, role, images), **_placement(owner, agent_nodes)},
            },
            **_claims(owner),
        },
    }


def user_of(owner: Owner) -> int:
    """As whom the pods of a LogCluster run. Crashable volumes of several LogClusters are on one node's disk, so each
    has a user of its own, from its uid."""
    if not owner.spec.storage.crashable:
        return NODE_USER
    number = int.from_bytes(blake2b(owner.uid.encode(), digest_size=8, person=b"user").digest(), "big")
    return _FIRST_USER + number % _USERS


def _pod(owner: Owner, role: Role, images: Images) -> dict[str, Any]:
    spec = owner.spec
    memory = spec.resources.memory or ("256Mi" if spec.kafka is None else "640Mi")
    return {
        "serviceAccountName": owner.name,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": _STOP_SECONDS,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": user_of(owner),
            "runAsGroup": user_of(owner),
            "fsGroup": user_of(owner),
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": selector_of(owner, role)},
            }
        ],
        "containers": [
            {
                "name": "node",
                "image": images.of(owner, role),
                "imagePullPolicy": spec.image_pull_policy,
                "command": [_program(owner, role)],
                "args": [
                    f"{CONFIG_PATH}/$(POD_NAME).{file_suffix(role)}",
                    "--hold-files",
                    HOLD_FILES,
                    *_wait(owner),
                    *_arguments(owner, role),
                ],
                "env": [
                    {"name": f"POD_{field.upper()}", "valueFrom": {"fieldRef": {"fieldPath": f"metadata.{field}"}}}
                    for field in ("name", "namespace")
                ],
                "ports": [
                    *(
                        {"name": name, "containerPort": port, "protocol": "TCP"}
                        for name, port in ports_of(owner, role).items()
                    ),
                    {"name": "metrics", "containerPort": ADMIN_PORT, "protocol": "TCP"},
                ],
                "startupProbe": _probe("/healthz", period=1, failures=120),
                # Patient: a node that an experiment has paused is not to be killed for it.
                # The last lines of a program that crashed are the cause that the LogCluster's status gives.
                "terminationMessagePolicy": "FallbackToLogsOnError",
                "livenessProbe": _probe("/healthz", period=10, failures=60),
                "readinessProbe": _probe("/readyz", period=2, failures=2),
                "resources": {
                    "requests": {"cpu": spec.resources.cpu, "memory": memory},
                    "limits": {"memory": memory},
                },
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": [
                    {"name": "config", "mountPath": CONFIG_PATH, "readOnly": True},
                    {"name": EVENTS_VOLUME, "mountPath": EVENTS_PATH},
                    {"name": CONTROL_VOLUME, "mountPath": CONTROL_PATH},
                    {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - the container's own
                    _data_mount(owner),
                ],
            }
        ],
        "volumes": [
            {"name": "config", **_files(owner, role)},
            {"name": EVENTS_VOLUME, "emptyDir": {}},
            {"name": CONTROL_VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
            {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}},
            *_crashable_volumes(owner),
        ],
    }


def _identity_annotation(owner: Owner) -> dict[str, str]:
    """Nodes read certificates when they start: others are another template."""
    return {} if owner.spec.security is None else {IDENTITY: str(identity_of(owner).batch)}


def _files(owner: Owner, role: Role) -> dict[str, Any]:
    if owner.spec.security is None:
        return {"configMap": {"name": set_name(owner, role)}}
    return {"secret": {"secretName": files_secret_name(owner, role), "defaultMode": 0o440}}


def _placement(owner: Owner, agent_nodes: AgentNodes) -> dict[str, Any]:
    if not owner.spec.storage.crashable:
        return {}
    return {**agent_nodes.placement(), "schedulingGates": [{"name": VOLUME_GATE}]}


def _program(owner: Owner, role: Role) -> str:
    if role == "zookeeper":
        return "highwater-zookeeper"
    return "highwater-node" if owner.spec.kafka is None else "highwater-kafka"


def _arguments(owner: Owner, role: Role) -> list[str]:
    """What our nodes' properties say, as arguments: other software's files have no place for it."""
    if _program(owner, role) == "highwater-node":
        return []
    admin = f"http://0.0.0.0:{ADMIN_PORT}"
    arguments = ["--pod", "$(POD_NAME)", "--trace", EVENTS_FILE, "--admin", admin, "--log-format", "json"]
    release, version = owner.spec.kafka, owner.spec.metadata_version
    if role != "zookeeper" and release is not None:
        arguments += ["--release", release]
        arguments += ["--cluster-id", cluster_id_of(owner.uid)] if owner.spec.mode == "kraft" else []
        if owner.spec.security is None:
            listen = f"0.0.0.0:{ports_of(owner, role)['kafka']}"
            arguments += ["--listen", listen, "--control", f"{CONTROL_PATH}/control.sock"]
        elif owner.spec.security.mechanism != "PLAIN":
            arguments += ["--credentials", f"{CONFIG_PATH}/{CREDENTIALS_FILE}"]
        arguments += [] if version is None else ["--metadata-version", version]
    return arguments


def _probe(path: str, *, period: int, failures: int) -> dict[str, Any]:
    return {
        "httpGet": {"path": path, "port": "metrics", "scheme": "HTTP"},
        "periodSeconds": period,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
        "successThreshold": 1,
    }


def _wait(owner: Owner) -> list[str]:
    if not owner.spec.storage.crashable:
        return []
    return ["--wait-for", f"{VOLUME_PATH}/data"]


def _volume_annotations(owner: Owner) -> dict[str, str]:
    """By which the node agent knows what volume a pod wants, and of which cluster's life."""
    storage = owner.spec.storage
    if not storage.crashable:
        return {}
    return {
        VOLUME_CRASHABLE: "true",
        VOLUME_PINNED: "true",
        VOLUME_SIZE: storage.size,
        VOLUME_FILE_SYSTEM: owner.spec.file_system,
        VOLUME_CLUSTER_UID: owner.uid,
        # Only where it is not the default: another template would restart the pods of every cluster that there is.
        **({} if storage.when_deleted == "Delete" else {VOLUME_WHEN_DELETED: storage.when_deleted}),
    }


def _data_mount(owner: Owner) -> dict[str, Any]:
    if owner.spec.storage.crashable:
        # The agent mounts the pod's file system on it, inside this container: no other pod's is ever to be seen here.
        return {"name": "data", "mountPath": VOLUME_PATH}
    # Apache Kafka refuses to start on a file system's root, in which there is a lost+found.
    below = {} if owner.spec.kafka is None else {"subPath": "data"}
    return {"name": "data", "mountPath": DATA_PATH, **below}


def _crashable_volumes(owner: Owner) -> list[dict[str, Any]]:
    if not owner.spec.storage.crashable:
        return []
    return [{"name": "data", "emptyDir": {"sizeLimit": "1Mi"}}]


def _claims(owner: Owner) -> dict[str, Any]:
    storage = owner.spec.storage
    if storage.crashable:
        return {}
    claim: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": storage.size}},
    }
    if storage.class_name is not None:
        claim["storageClassName"] = storage.class_name
    return {
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
        # Data outlives pods and scaling. A cluster that is created again is another one and could not use what is
        # there.
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": storage.when_deleted, "whenScaled": "Retain"},
    }
