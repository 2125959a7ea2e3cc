"""What can be done to a cluster on Kubernetes: the runner asks before it begins, and the operator before that."""

from __future__ import annotations

from typing import Any, Final

from highwater_chaos.apache_kafka.node_config import misplaced
from highwater_chaos.apache_kafka.versions import why_not_in_pods
from highwater_chaos.backends.primitives import (
    BY_THE_USER,
    IN_VIRTUAL_TIME,
    AppliesRpcRules,
    ConfiguresNodes,
    LosesPowerAtWrites,
    Primitive,
    RunsCommands,
    SkewsClocks,
    StallsDisks,
    implemented_by,
)
from highwater_chaos.experiment import Cluster

_BY_OUR_NODE: Final = frozenset[Primitive]({SkewsClocks, StallsDisks})
"""What no proxy can do."""
_BY_THE_PROXY: Final = frozenset[Primitive]({AppliesRpcRules})
MESSAGES_HIDDEN: Final = (
    "the LogCluster has spec.security: TLS hides messages from the proxy in a pod of Apache Kafka (with runtime"
    " highwater the nodes themselves apply rules)"
)


class KubernetesCapabilities:
    """See :class:`highwater_chaos.backends.protocol.Capabilities`. ``backend``: the class that runs the experiment;
    ``secured``: on a LogCluster with ``spec.security``."""

    name = "kubernetes"

    def __init__(self, backend: type[Any], *, secured: bool = False) -> None:
        self.primitives = implemented_by(backend)
        self._secured = secured

    def can(self, cluster: Cluster) -> frozenset[Primitive]:
        """All that the backend implements, less what only nodes of our own runtime do themselves: with TLS rules about
        messages, too, which our nodes apply once they have read them."""
        if cluster.kafka is None:
            return self.primitives
        return self.primitives - (_BY_OUR_NODE | _BY_THE_PROXY if self._secured else _BY_OUR_NODE)

    def why_not(self, cluster: Cluster, primitive: Primitive) -> str | None:
        """What is not built, or the storage of a borrowed LogCluster: all other clusters are crashable."""
        if primitive in self.can(cluster):
            return None
        if primitive in _BY_OUR_NODE:
            return "it is done by the process of a node, and Apache Kafka's does not do it"
        if primitive in _BY_THE_PROXY and self._secured:
            return MESSAGES_HIDDEN
        if primitive is ConfiguresNodes:
            return "all brokers of a LogCluster have one configuration"
        if primitive is LosesPowerAtWrites:
            return IN_VIRTUAL_TIME
        if primitive is RunsCommands:
            return BY_THE_USER
        return "the LogCluster has no storage.crashable"

    def problems(self, cluster: Cluster) -> list[str]:
        """What does not run in pods, and what Apache Kafka does not have."""
        if cluster.kafka is None:
            return []
        problems = misplaced(cluster.config, cluster.switches)
        if (why := why_not_in_pods(cluster.kafka, cluster.mode)) is not None:
            problems.append(f"spec.cluster: {why}")
        return problems
