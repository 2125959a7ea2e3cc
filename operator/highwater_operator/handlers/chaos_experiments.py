"""Whatever happens to a ChaosExperiment, or to its runner, has it looked at."""

from __future__ import annotations

from typing import Any

import kopf

from highwater_operator.experiments.runner_job import NAME_ANNOTATION, UID_LABEL
from highwater_operator.kinds import CHAOS_EXPERIMENT, JOB
from highwater_operator.reconcile.queue import Key, Queue


def register(registry: kopf.OperatorRegistry, queue: Queue) -> None:
    """Have ``queue`` learn of every change."""

    @kopf.on.event(CHAOS_EXPERIMENT.group, CHAOS_EXPERIMENT.version, CHAOS_EXPERIMENT.plural, registry=registry)
    async def experiment_changed(namespace: str | None, name: str | None, **_: Any) -> None:
        """Created, written to by its runner, deleted, or found at the start."""
        if namespace is not None and name is not None:
            queue.add(Key(namespace, name))

    @kopf.on.event(
        JOB.group, JOB.version, JOB.plural, labels={UID_LABEL: kopf.PRESENT}, registry=registry, id="runner-of"
    )
    async def runner_changed(annotations: kopf.Annotations, **_: Any) -> None:
        """Its runner's Job moved on, or is gone."""
        namespace, slash, name = annotations.get(NAME_ANNOTATION, "").partition("/")
        if slash:
            queue.add(Key(namespace, name))
