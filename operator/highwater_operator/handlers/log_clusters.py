"""Every event of a LogCluster, or of an object that belongs to it, queues a reconcile.

Plain event handlers: kopf keeps no diff-base annotation and no finalizer on LogClusters and their children for them,
since reconciling needs neither (what is to be done follows from what there is, and owner references clean up).
"""

from __future__ import annotations

from typing import Any

import kopf

from highwater_chaos.kube.kinds import CLUSTER_LABEL, LOG_CLUSTER, POD, STATEFUL_SET
from highwater_operator.reconcile.queue import Key, Queue


def register(registry: kopf.OperatorRegistry, queue: Queue) -> None:
    """Have ``queue`` learn of every change."""

    @kopf.on.event(LOG_CLUSTER.group, LOG_CLUSTER.version, LOG_CLUSTER.plural, registry=registry)
    async def log_cluster_changed(namespace: str | None, name: str | None, **_: Any) -> None:
        """Created, updated, deleted (the reconcile of a deleted object forgets it), or found at the start (resume)."""
        if namespace is not None and name is not None:
            queue.add(Key(namespace, name))

    for kind in (STATEFUL_SET, POD):

        @kopf.on.event(
            kind.group,
            kind.version,
            kind.plural,
            labels={CLUSTER_LABEL: kopf.PRESENT},
            registry=registry,
            id=f"{kind.plural}-of",
        )
        async def child_changed(labels: kopf.Labels, namespace: str | None, **_: Any) -> None:
            """A child's status moved on, it was changed, or it is gone."""
            if namespace is not None:
                queue.add(Key(namespace, labels[CLUSTER_LABEL]))
