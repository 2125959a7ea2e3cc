"""The kinds that are touched, where the API server has them, and the names that mark what is ours.

A fixed table instead of discovery: a kind that is not in it is not touched, and no cache of what the server offers is
needed. ``manifests/base/rbac`` grants these and no others.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

Json = dict[str, Any]
"""An object as the API server has it."""

GROUP: Final = "highwater.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"

CLUSTER_LABEL: Final = "highwater.dev/cluster"
"""On everything that belongs to a LogCluster: its name."""
CHAOS_LABEL: Final = "highwater.dev/chaos"
CHAOS_ALLOWED: Final = "allowed"
"""On a namespace: agents may touch its pods that are of no LogCluster."""
REBOOT_LABEL: Final = "highwater.dev/reboot"
REBOOT_ALLOWED: Final = "allowed"
"""On a node: its agent may reset the machine, with every pod on it."""
EXPERIMENT_LABEL: Final = "highwater.dev/experiment"
"""On everything that belongs to an experiment: its name, as :func:`label_value` has it."""
EXPERIMENT_UID_LABEL: Final = "highwater.dev/experiment-uid"
"""On the Jobs of an experiment, and their pods."""
FINALIZER: Final = "highwater.dev/heal"
"""On an experiment until nothing of any fault is left."""

AGENT_COMPONENT: Final = "highwater-agent"
"""The source of the agents' Events."""
VOLUME_CRASHABLE: Final = "highwater.dev/crashable"
"""These annotations of a pod ask the agent of its node for a volume that can lose power."""
VOLUME_SIZE: Final = "highwater.dev/volume-size"
VOLUME_FILE_SYSTEM: Final = "highwater.dev/file-system"
VOLUME_CLUSTER_UID: Final = "highwater.dev/cluster-uid"
VOLUME_WHEN_DELETED: Final = "highwater.dev/volume-when-deleted"
VOLUME_PINNED: Final = "highwater.dev/volume-pinned"
"""The agent makes and attaches the volume only if :data:`VOLUME_NODE` names its node."""
VOLUME_GATE: Final = "highwater.dev/volume"
"""Scheduling gate of a pod that is to be bound to its volume's node first."""
VOLUME_NODE: Final = "highwater.dev/volume-node"
VOLUME_GENERATION: Final = "highwater.dev/volume-generation"
"""How many volumes of the pod were given up before it: another one is not the pod's."""
VOLUME_USED: Final = "highwater.dev/volume-used"
"""A pod has been ready with it: the agent makes no new one in its place."""
ABANDON_VOLUME: Final = "highwater.dev/abandon-volume"
"""On a LogCluster: pods whose disks are given up."""

_LONGEST_LABEL: Final = 63


def label_value(name: str) -> str:
    """Return an object's name, of up to 253 characters, cut to what a label takes: it must end in a letter or digit."""
    return name[:_LONGEST_LABEL].rstrip("-.")


class Kind(NamedTuple):
    """A kind and its path: ``/apis/<group>/<version>/namespaces/…/<plural>``."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """As manifests have it: ``v1``, ``apps/v1``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None, name: str = "", part: str = "") -> str:
        """Where the API server has an object, or all (no ``name``), or a subresource of one (``part``)."""
        base = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        place = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return "/".join([f"{base}{place}/{self.plural}", *(one for one in (name, part) if one)])


LOG_CLUSTER: Final = Kind(GROUP, VERSION, "LogCluster", "logclusters")
CHAOS_EXPERIMENT: Final = Kind(GROUP, VERSION, "ChaosExperiment", "chaosexperiments")
SERVICE_ACCOUNT: Final = Kind("", "v1", "ServiceAccount", "serviceaccounts")
SERVICE: Final = Kind("", "v1", "Service", "services")
CONFIG_MAP: Final = Kind("", "v1", "ConfigMap", "configmaps")
SECRET: Final = Kind("", "v1", "Secret", "secrets")
NAMESPACE: Final = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
NODE: Final = Kind("", "v1", "Node", "nodes", namespaced=False)
POD: Final = Kind("", "v1", "Pod", "pods")
EVENT: Final = Kind("", "v1", "Event", "events")
NETWORK_POLICY: Final = Kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies")
DISRUPTION_BUDGET: Final = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
STATEFUL_SET: Final = Kind("apps", "v1", "StatefulSet", "statefulsets")
ROLE_BINDING: Final = Kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings")
JOB: Final = Kind("batch", "v1", "Job", "jobs")
DEFINITION: Final = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
ACCESS_REVIEW: Final = Kind(
    "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False
)

KINDS: Final[tuple[Kind, ...]] = (
    LOG_CLUSTER,
    CHAOS_EXPERIMENT,
    SERVICE_ACCOUNT,
    SERVICE,
    CONFIG_MAP,
    SECRET,
    NAMESPACE,
    NODE,
    POD,
    EVENT,
    NETWORK_POLICY,
    DISRUPTION_BUDGET,
    STATEFUL_SET,
    ROLE_BINDING,
    JOB,
    DEFINITION,
    ACCESS_REVIEW,
)

_BY_NAME: Final = {(kind.api_version, kind.kind): kind for kind in KINDS}


def kind_of(manifest: Json) -> Kind:
    """The kind of a manifest.

    Raises:
        KeyError: for a kind that is not in the table.
    """
    return _BY_NAME[str(manifest["apiVersion"]), str(manifest["kind"])]
