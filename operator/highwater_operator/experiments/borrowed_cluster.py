"""An experiment borrows a running LogCluster, one experiment at a time, and returns it unchanged.

Who holds it is in its ``status.experiment`` and its condition ``Held``, written against the object's version, so that
of two experiments that want it at once one comes second. It is held from before the experiment is Pending until that is
Completed or let go of, and its topics are deleted: the next one waits for that. A holder that is gone, or was over too
long ago, holds nothing, whatever became of the operator that should have taken the LogCluster back: the next one takes
it over.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from highwater_chaos.backends.kubernetes.journal import FINAL_PHASES
from highwater_chaos.backends.kubernetes.reference import (
    held_by,
    holder,
    own_topics,
    reference_of,
    with_holder,
)
from highwater_chaos.backends.kubernetes.watched_cluster import why_not_ready
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.kube.client import ConflictError, NotFoundError
from highwater_chaos.kube.kinds import CHAOS_EXPERIMENT, CLUSTER_LABEL, LOG_CLUSTER, POD, Json
from highwater_operator.admin import AdminError, ClusterAdmin
from highwater_operator.experiments.acceptance import Rejection, examine
from highwater_operator.experiments.access import access_to
from highwater_operator.experiments.context import ExperimentContext
from highwater_operator.experiments.definitions import OUTDATED, WHAT_TO_DO
from highwater_operator.objects.naming import Owner, endpoints_of, roles_of
from highwater_operator.reconcile.events import publish_event
from highwater_operator.reconcile.identity import to_brokers, with_identity
from highwater_operator.reconcile.log_cluster import Outcome
from highwater_operator.reconcile.problems import Problem, read_spec

WAITING: Final = "WaitingForCluster"


class Waiting(NamedTuple):
    """Not accepted yet: a condition's reason, and words."""

    reason: str
    message: str


class BorrowedCluster:
    """What one experiment has of the LogCluster that it refers to; every method is idempotent.

    Args:
        found: the experiment as it was read.
    """

    cluster_id = ""
    """That of a LogCluster follows from its uid."""

    def __init__(self, context: ExperimentContext, found: Json) -> None:
        self._context = context
        self._kube = context.kube
        self._found = found
        self._metadata: Json = found["metadata"]
        self._name = reference_of(found)
        self._cluster: Json | None = None

    @property
    def wanted(self) -> bool:
        """Whether the experiment refers to a LogCluster."""
        return bool(self._name)

    async def resolve(self) -> ChaosExperiment | Rejection:
        """The experiment on the LogCluster as it is now."""
        self._cluster = await self._read()
        if self._cluster is None or self._cluster["metadata"].get("deletionTimestamp"):
            going = "is not there" if self._cluster is None else "is being deleted"
            return Rejection("ClusterNotFound", f"spec.clusterRef: LogCluster {self._name} {going} in this namespace")
        return examine(self._found, self._cluster)

    async def examine(self) -> ChaosExperiment | Rejection | Waiting:
        """The same, if it can have the LogCluster."""
        experiment = await self.resolve()
        if isinstance(experiment, Rejection):
            return experiment
        assert self._cluster is not None
        held = await self._held(self._cluster)
        if isinstance(held, Rejection):
            return held
        why = held or why_not_ready(self._cluster)
        if why is None:
            try:
                there = await self._topics_there(experiment)
            except AdminError as error:
                why = f"it does not answer: {error}"
            else:
                if there and not self._is_mine(self._cluster):
                    return Rejection(
                        "TopicExists",
                        f"LogCluster {self._name} has {', '.join(there)} already: an experiment's topics are its own,"
                        " made when it begins and deleted when it is over",
                    )
        return experiment if why is None else self._patience(why)

    def _patience(self, why: str) -> Waiting | Rejection:
        conditions = (self._found.get("status") or {}).get("conditions") or []
        since = next((one["lastTransitionTime"] for one in conditions if one["reason"] == WAITING), None)
        within = self._context.pace.cluster_ready_within
        waited = timedelta() if since is None else self._context.now() - datetime.fromisoformat(since)
        if waited > timedelta(seconds=within):
            return Rejection("ClusterNotReady", f"LogCluster {self._name} was not Ready within {within:g} s: {why}")
        return Waiting(WAITING, f"LogCluster {self._name}: {why}")

    async def access(self) -> Json | Rejection | None:
        """What the runner needs to get in, or why that cannot be had; None: nothing."""
        cluster = await self._read() if self.wanted else None
        try:
            return None if cluster is None else await access_to(self._context, _owner(cluster))
        except AdminError as error:
            return Rejection("NoAccess", str(error))

    async def take(self) -> Rejection | None:
        """Hold it; why that is not possible, by what the API server kept of it.

        Raises:
            KubeError: (ConflictError) it has changed since it was read: look again.
        """
        if self._cluster is None or self._is_mine(self._cluster):
            return None
        if self._is_mine(await self._write(self._cluster, holder(self._found))):
            return None
        what = f"LogCluster {self._name}: the API server does not keep who holds it"
        return Rejection(OUTDATED, f"{what}; {WHAT_TO_DO}")

    async def give_back(self, since: str | None) -> Outcome | None:
        """Delete the experiment's topics and hold the LogCluster no more; when to come back, where that takes longer.

        Args:
            since: when the experiment was over: topics that cannot be deleted for long are left and reported.
        """
        if not self.wanted:
            return None
        cluster = await self._read()
        if cluster is None or not self._is_mine(cluster):
            return None
        self._cluster = cluster
        left = await self._delete_topics(cluster)
        if left is not None:
            patience = timedelta(seconds=self._context.pace.give_back_within)
            if since is not None and self._context.now() - datetime.fromisoformat(since) < patience:
                return Outcome(self._context.pace.healing)
            message = f"topics of the experiment may be left on LogCluster {self._name}: {left}"
            await publish_event(
                self._kube, self._found, "Warning", "TopicsLeft", message, self._context.now(), once=True
            )
        try:
            await self._write(cluster, "")
        except NotFoundError:
            return None
        except ConflictError:
            return Outcome(0.0)
        return None

    async def pods(self) -> list[Json]:
        return await self._kube.list(POD, self._metadata["namespace"], {CLUSTER_LABEL: self._name})

    # --- small things ---

    async def _read(self) -> Json | None:
        return await self._kube.get(LOG_CLUSTER, self._metadata["namespace"], self._name)

    async def _write(self, cluster: Json, value: str) -> Json:
        return await self._kube.patch_status(
            LOG_CLUSTER,
            self._metadata["namespace"],
            self._name,
            with_holder(cluster, value, self._context.now()),
            resource_version=cluster["metadata"]["resourceVersion"],
        )

    def _is_mine(self, cluster: Json) -> bool:
        return held_by(cluster) == holder(self._found)

    async def _held(self, cluster: Json) -> Rejection | str | None:
        """Whether another experiment holds it; a string: one that is over, whose topics are being deleted."""
        held = held_by(cluster)
        if not held or self._is_mine(cluster):
            return None
        name, _, uid = held.partition("/")
        other = await self._kube.get(CHAOS_EXPERIMENT, self._metadata["namespace"], name)
        if other is None or other["metadata"]["uid"] != uid:
            return None
        status = other.get("status") or {}
        if status.get("phase") not in FINAL_PHASES:
            return Rejection(
                "ClusterHeld",
                f"LogCluster {self._name} is held by chaosexperiment/{name}, and lent to one at a time:"
                " apply this one again when that is Completed",
            )
        since, within = status.get("completedAt"), timedelta(seconds=self._context.pace.give_back_within)
        if since is None or self._context.now() - datetime.fromisoformat(since) >= within:
            return None
        return f"topics of chaosexperiment/{name}, which is over, are being deleted"

    @asynccontextmanager
    async def _admin(self, cluster: Json) -> AsyncIterator[ClusterAdmin]:
        """Raises ``AdminError``: nothing can be asked of it."""
        owner = await with_identity(self._kube, _owner(cluster))
        brokers = endpoints_of(owner, "broker")
        zookeepers = endpoints_of(owner, "zookeeper") if "zookeeper" in roles_of(owner) else []
        async with self._context.open_admin(brokers, zookeepers, security=to_brokers(owner)) as admin:
            yield admin

    async def _topics_there(self, experiment: ChaosExperiment) -> list[str]:
        assert self._cluster is not None
        async with self._admin(self._cluster) as admin:
            view = await admin.look()
        return [name for name in own_topics(experiment) if name in view.topics]

    async def _delete_topics(self, cluster: Json) -> str | None:
        """Why some may be left; None: none is. Those that the runner noted, and none that somebody has created anew."""
        own = (self._found.get("status") or {}).get("ownTopics") or {}
        names, ids = own.get("names") or [], own.get("ids") or {}
        if not names:
            return None
        try:
            async with self._admin(cluster) as admin:
                view = await admin.look()
                for name in names:
                    there = view.topics.get(name)
                    if there is not None and (not there.id or ids.get(name, there.id) == there.id):
                        await admin.delete_topic(name)
        except AdminError as error:
            return f"{', '.join(names)}: {error}"
        return None


def _owner(cluster: Json) -> Owner:
    """Raises ``AdminError``: its spec cannot be read."""
    spec = read_spec(cluster["spec"])
    if isinstance(spec, Problem):
        raise AdminError(spec.message)
    metadata = cluster["metadata"]
    return Owner(metadata["name"], metadata["namespace"], metadata["uid"], spec)
