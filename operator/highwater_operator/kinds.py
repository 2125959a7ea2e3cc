"""The kinds that the operator touches, and where the API server has them.

A fixed table instead of discovery: what is not in it, the operator does not touch, and it needs no cache of what the
server offers. ``manifests/base/rbac`` grants these and no others.
"""

from __future__ import annotations

from typing import Final, NamedTuple


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

    @property
    def prefix(self) -> str:
        """``api`` for the core group."""
        return "apis" if self.group else "api"


LOG_CLUSTER: Final = Kind("highwater.dev", "v1alpha1", "LogCluster", "logclusters")
CHAOS_EXPERIMENT: Final = Kind("highwater.dev", "v1alpha1", "ChaosExperiment", "chaosexperiments")
SERVICE_ACCOUNT: Final = Kind("", "v1", "ServiceAccount", "serviceaccounts")
SERVICE: Final = Kind("", "v1", "Service", "services")
CONFIG_MAP: Final = Kind("", "v1", "ConfigMap", "configmaps")
POD: Final = Kind("", "v1", "Pod", "pods")
EVENT: Final = Kind("", "v1", "Event", "events")
NETWORK_POLICY: Final = Kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies")
DISRUPTION_BUDGET: Final = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
STATEFUL_SET: Final = Kind("apps", "v1", "StatefulSet", "statefulsets")
DAEMON_SET: Final = Kind("apps", "v1", "DaemonSet", "daemonsets")
JOB: Final = Kind("batch", "v1", "Job", "jobs")
LEASE: Final = Kind("coordination.k8s.io", "v1", "Lease", "leases")

KINDS: Final[tuple[Kind, ...]] = (
    LOG_CLUSTER,
    CHAOS_EXPERIMENT,
    SERVICE_ACCOUNT,
    SERVICE,
    CONFIG_MAP,
    POD,
    EVENT,
    NETWORK_POLICY,
    DISRUPTION_BUDGET,
    STATEFUL_SET,
    DAEMON_SET,
    JOB,
    LEASE,
)

_BY_NAME: Final = {(kind.api_version, kind.kind): kind for kind in KINDS}


def kind_of(manifest: dict[str, object]) -> Kind:
    """The kind of a manifest.

    Raises:
        KeyError: for a kind that the operator does not touch.
    """
    return _BY_NAME[str(manifest["apiVersion"]), str(manifest["kind"])]
