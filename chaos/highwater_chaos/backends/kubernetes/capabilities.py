"""What can be done to a cluster on Kubernetes: the runner asks before it begins, and the operator before that."""

from __future__ import annotations

from typing import Any

from highwater_chaos.backends.primitives import (
    BY_THE_USER,
    IN_VIRTUAL_TIME,
    ConfiguresNodes,
    LosesPowerAtWrites,
    Primitive,
    RunsCommands,
    implemented_by,
)
from highwater_chaos.experiment import Cluster
from highwater_chaos.machine.primitives import MACHINE_PRIMITIVES


class KubernetesCapabilities:
    """See :class:`highwater_chaos.backends.protocol.Capabilities`. ``backend``: the class that runs the experiment."""

    name = "kubernetes"

    def __init__(self, backend: type[Any]) -> None:
        self.primitives = implemented_by(backend)

    def can(self, cluster: Cluster) -> frozenset[Primitive]:
        """All that the backend implements, for our own runtime."""
        del cluster
        return self.primitives

    def why_not(self, cluster: Cluster, primitive: Primitive) -> str | None:
        """What is not built, or the storage of a borrowed LogCluster: all other clusters are crashable."""
        del cluster
        if primitive in self.primitives:
            return None
        if primitive is ConfiguresNodes:
            return "all brokers of a LogCluster have one configuration"
        if primitive is LosesPowerAtWrites:
            return IN_VIRTUAL_TIME
        if primitive is RunsCommands:
            return BY_THE_USER
        listed = MACHINE_PRIMITIVES.get(primitive)
        return (listed and listed.not_in_pods) or "the LogCluster has no storage.crashable"

    def problems(self, cluster: Cluster) -> list[str]:
        """Other software does not run on Kubernetes."""
        return (
            []
            if cluster.runtime == "highwater"
            else [f"spec.cluster.runtime {cluster.runtime} does not run on Kubernetes; expected highwater"]
        )
