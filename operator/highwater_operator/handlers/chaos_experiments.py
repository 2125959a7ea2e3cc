"""Every event of a ChaosExperiment queues a reconcile.

Its runner's Job is not watched, which would take rights on all Jobs of all namespaces: it is looked at every few
seconds while an experiment is under way.
"""

from __future__ import annotations

from typing import Any

import kopf

from highwater_chaos.kube.kinds import CHAOS_EXPERIMENT
from highwater_operator.reconcile.queue import Key, Queue


def register(registry: kopf.OperatorRegistry, queue: Queue) -> None:
    """Have ``queue`` learn of every change."""

    @kopf.on.event(CHAOS_EXPERIMENT.group, CHAOS_EXPERIMENT.version, CHAOS_EXPERIMENT.plural, registry=registry)
    async def experiment_changed(namespace: str | None, name: str | None, **_: Any) -> None:
        """Created, written to by its runner, deleted, or found at the start."""
        if namespace is not None and name is not None:
            queue.add(Key(namespace, name))
