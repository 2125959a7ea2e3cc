"""An experiment on a cluster of others: accepted one at a time, and its topics deleted when it is over.

The runner finds the cluster and makes sure that it can be judged and touched. The operator looks at what can be known
before: that the schedule needs nothing that pods of others do not have, and that the Secret with client properties may
be read. There is no object of such a cluster to write on who holds it; experiments themselves say on which pods they
are (:mod:`~.contention`).
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path

from highwater_chaos.backends.attach.discovery import cluster_id_at
from highwater_chaos.backends.attach.session import Access
from highwater_chaos.backends.attach.topics import Made, remove
from highwater_chaos.backends.kubernetes.cluster import ClusterError
from highwater_chaos.backends.kubernetes.foreign.backend import CrashableForeignBackend
from highwater_chaos.backends.kubernetes.foreign.capabilities import ForeignCapabilities
from highwater_chaos.backends.kubernetes.foreign.reference import (
    ForeignReference,
    access_to,
    unresolved,
)
from highwater_chaos.base.scratch import ScratchDirectory
from highwater_chaos.base.user_error import UserError
from highwater_chaos.experiment import ChaosExperiment, ExperimentError
from highwater_chaos.kube.kinds import POD, Json
from highwater_chaos.schedule.capability import lacking
from highwater_operator.experiments.acceptance import Rejection, in_words
from highwater_operator.experiments.context import ExperimentContext
from highwater_operator.reconcile.events import publish_event
from highwater_operator.reconcile.log_cluster import Outcome


class ForeignCluster:
    """What one experiment has of the cluster that it refers to; every method is idempotent.

    Args:
        found: the experiment as it was read.
    """

    wanted = True
    cluster_id = ""
    """As Kafka answered to :meth:`examine`; empty: it did not."""

    def __init__(self, context: ExperimentContext, found: Json, reference: ForeignReference) -> None:
        self._context = context
        self._kube = context.kube
        self._found = found
        self._metadata: Json = found["metadata"]
        self._reference = reference

    async def resolve(self) -> ChaosExperiment | Rejection:
        """The experiment, as far as it is known without the cluster."""
        try:
            experiment = unresolved(self._found)
        except ExperimentError as error:
            return Rejection("Invalid", in_words(error))
        able = ForeignCapabilities(CrashableForeignBackend, has_pods=bool(self._reference.labels))
        if impossible := lacking(experiment.spec.schedule, able.primitives, able.why_not):
            return Rejection("NotPossible", "; ".join(impossible))
        return experiment

    async def examine(self) -> ChaosExperiment | Rejection:
        """The same, if it can have the cluster."""
        experiment = await self.resolve()
        if isinstance(experiment, Rejection):
            return experiment
        if self._reference.secret and self._reference.namespace == self._context.runners.namespace:
            # The operator can read Secrets there that who makes experiments need not be able to read.
            return Rejection("ClientConfig", "no Secret of the operator's own namespace is given to an experiment")
        with ScratchDirectory("secret") as folder:
            try:
                access = await asyncio.to_thread(self._access, Path(folder))
            except ClusterError as error:
                return Rejection("ClientConfig", str(error))
            self.cluster_id = await asyncio.to_thread(cluster_id_at, access)
        return experiment

    async def access(self) -> None:
        """The runner reads the Secret of the reference itself, as the namespace allows it."""
        return

    async def take(self) -> Rejection | None:
        """Nothing is written: the experiment itself says that it is on the cluster."""
        return None

    async def give_back(self, since: str | None) -> Outcome | None:
        """Delete the experiment's topics; when to come back, where that takes longer.

        Args:
            since: when the experiment was over: topics that cannot be deleted for long are left and reported.
        """
        own = (self._found.get("status") or {}).get("ownTopics") or {}
        if not own.get("names"):
            return None
        with ScratchDirectory("secret") as folder:
            left = await asyncio.to_thread(self._remove, own, Path(folder))
        if left is None:
            return None
        patience = timedelta(seconds=self._context.pace.give_back_within)
        if since is not None and self._context.now() - datetime.fromisoformat(since) < patience:
            return Outcome(self._context.pace.healing)
        message = f"topics of the experiment may be left on {self._reference.what}: {left}"
        await publish_event(self._kube, self._found, "Warning", "TopicsLeft", message, self._context.now(), once=True)
        return None

    async def pods(self) -> list[Json]:
        """Its pods; none where only clients have to do with it."""
        return await _pods_of(self._context, self._reference)

    def _access(self, folder: Path) -> Access:
        return access_to(self._kube.kube, self._reference, folder, self._context.runners.namespace)

    def _remove(self, own: Json, folder: Path) -> str | None:
        """Why some may be left; None: none is."""
        try:
            access = self._access(folder)
            file = None if access.file is None else str(access.file)
            bootstrap, ids = [str(one) for one in access.bootstrap], dict(own.get("ids") or {})
            left = remove(Made(bootstrap, file, own["clusterId"], list(own["names"]), ids))
        except (ClusterError, UserError) as error:
            return str(error)
        return ", ".join(left) or None


async def _pods_of(context: ExperimentContext, reference: ForeignReference) -> list[Json]:
    if not reference.labels:
        return []
    return await context.kube.list(POD, reference.namespace, reference.labels)
