"""One reconcile of a LogCluster: look, decide, act, write down. See the package for the rule that it keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime

from highwater_chaos.kube.client import ConflictError, NotFoundError, RefusedError
from highwater_chaos.kube.kinds import API_VERSION, LOG_CLUSTER, POD, Json
from highwater_operator import metrics
from highwater_operator.admin import AdminError, ClusterAdmin, ClusterView
from highwater_operator.objects.all import names_of, objects_of
from highwater_operator.objects.naming import (
    CLIENT_PORT,
    Owner,
    Role,
    admin_page_of,
    endpoints_of,
    replicas_of,
    roles_of,
    set_name,
)
from highwater_operator.objects.security import client_secret_name
from highwater_operator.reconcile.context import Context
from highwater_operator.reconcile.creation import why_not_created, with_troubles
from highwater_operator.reconcile.drift import difference, is_current, stamped
from highwater_operator.reconcile.ending import after_brokers, is_ending
from highwater_operator.reconcile.events import EventType, log_about, tell
from highwater_operator.reconcile.identity import keep_identity, not_allowed, to_brokers
from highwater_operator.reconcile.observation import (
    Observation,
    PodView,
    SecretsRefusedError,
    SetView,
    is_owned,
    observe,
    set_view,
)
from highwater_operator.reconcile.problems import Problem, problem_of, read_spec, without_agents
from highwater_operator.reconcile.rolling import Roll, next_restart
from highwater_operator.reconcile.scaling import Scaling, scale, to_unregister
from highwater_operator.reconcile.status import (
    Facts,
    Verdict,
    awaiting_status,
    disks_kept,
    merged,
    refused_status,
    rolling_since,
    status_of,
    unready_since,
    was_late,
    was_ready,
)
from highwater_operator.reconcile.topics import differences, missing
from highwater_operator.reconcile.volumes import abandon_annotation, disks_of, place, with_disks
from highwater_operator.resources import LogClusterSpec

_STATUS_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """``again_after``: seconds until the next look; None: the cluster has been deleted, or is being deleted."""

    again_after: float | None
    settled: bool = False


async def reconcile(context: Context, namespace: str, name: str) -> Outcome:
    """Bring one cluster a step nearer to what its resource says.

    Raises:
        KubeError: the API server did not do its part: come back later.
    """
    found = await context.kube.get(LOG_CLUSTER, namespace, name)
    if found is None or "deletionTimestamp" in found["metadata"]:
        return Outcome(None)  # what belongs to it is collected by its owner references
    return await _Reconcile(context, found).run()


class _Reconcile:
    """The parts of one reconcile, which share what was read."""

    def __init__(self, context: Context, resource: Json) -> None:
        self._context = context
        self._kube = context.kube
        self._resource = resource
        self._metadata: Json = resource["metadata"]
        self._certificates_end: datetime | None = None

    async def run(self) -> Outcome:
        spec = read_spec(self._resource.get("spec", {}))
        if isinstance(spec, Problem):
            return await self._refuse(spec)
        owner = self._owner(spec)
        problem = problem_of(owner) or (None if self._context.has_agents else without_agents(spec))
        if problem is not None:
            return await self._refuse(problem)
        try:
            return await self._keep(owner)
        except SecretsRefusedError as error:
            return await self._refuse(not_allowed(owner, self._context.system_namespace, str(error)))

    async def _keep(self, owner: Owner) -> Outcome:
        """Raises ``SecretsRefusedError``."""
        seen = await observe(self._kube, owner)
        taken = await self._taken(owner, seen)
        if isinstance(taken, Problem):
            return await self._refuse(taken)
        if taken is not None:
            await self._write(*awaiting_status(taken))
            return Outcome(self._context.pace.waiting)
        await self._place(owner, seen)
        if owner.spec.security is None:
            return await self._serve(owner, seen)
        kept = await keep_identity(self._kube, owner, self._resource, seen, self._context.now())
        if isinstance(kept, Problem):
            return await self._refuse(kept)
        if kept.news:
            await self._tell("Normal", "CertificatesIssued", kept.news)
        self._certificates_end = kept.ends
        return await self._serve(kept.owner, seen)

    def _owner(self, spec: LogClusterSpec) -> Owner:
        return Owner(self._metadata["name"], self._metadata["namespace"], self._metadata["uid"], spec)

    def _objects(self, owner: Owner) -> Iterator[Json]:
        context = self._context
        return objects_of(owner, context.images, context.agent_nodes, context.system_namespace)

    async def _taken(self, owner: Owner, seen: Observation) -> Problem | str | None:
        """Whether an object that is to be made is there already and has another owner; a string: it is about to go."""
        for kind, name in names_of(owner):
            if (kind.kind, name) in seen.objects:
                continue
            found = await self._kube.get(kind, owner.namespace, name)
            if found is not None and is_ending(found, owner):
                return f"{kind.kind} {name} of an earlier LogCluster of this name is there until its brokers have ended"
            if found is not None and not is_owned(found, owner):
                return Problem(
                    "NameTaken",
                    f"{kind.kind} {name} is there and does not belong to this LogCluster: delete it,"
                    " or give the LogCluster another name",
                )
        return None

    async def _place(self, owner: Owner, seen: Observation) -> None:
        """Bind pods to the nodes of their disks: written down first, and only then told to pods and their agents."""
        if not owner.spec.storage.crashable:
            return
        before = disks_of(self._resource)
        placing = place(before, seen.pods, abandon_annotation(self._resource))
        for pod in placing.gone:
            await self._kube.delete(POD, owner.namespace, pod.name, uid=pod.uid)
        if placing.disks != before:
            self._resource = await self._kube.patch_status(
                LOG_CLUSTER,
                owner.namespace,
                owner.name,
                {"volumes": [asdict(disk) for disk in placing.disks]},
                resource_version=self._metadata["resourceVersion"],
            )
            self._resource = {"apiVersion": API_VERSION, "kind": LOG_CLUSTER.kind, **self._resource}
            self._metadata = self._resource["metadata"]
        for reason, message in placing.news:
            await self._tell("Warning", reason, message)
        for name, patch in placing.patches.items():
            with suppress(ConflictError, NotFoundError):  # another pod by now, which is looked at next
                await self._kube.patch(POD, owner.namespace, name, patch)

    # --- a cluster that is served ---

    async def _serve(self, owner: Owner, seen: Observation) -> Outcome:
        brokers = seen.set_of(owner, "broker")
        known = max(owner.spec.brokers, 0 if brokers is None else brokers.replicas)
        anyone = any(pod.role == "broker" and pod.ready for pod in seen.pods)
        if not anyone:
            return await self._act(owner, seen, None, None, "no broker is ready")
        brokers_at = endpoints_of(owner, "broker", known)
        zookeepers_at = endpoints_of(owner, "zookeeper") if "zookeeper" in roles_of(owner) else []
        asked = [pod for pod in seen.pods if pod.ready and not pod.terminating and "controller" in roles_of(owner)]
        pages = [admin_page_of(owner, pod.role, pod.index) for pod in asked]
        security = to_brokers(owner)
        async with self._context.open_admin(brokers_at, zookeepers_at, pages=pages, security=security) as admin:
            try:
                view = await admin.look()
            except AdminError as error:
                return await self._act(owner, seen, None, None, str(error))
            return await self._act(owner, seen, admin, view, "")

    async def _act(
        self, owner: Owner, seen: Observation, admin: ClusterAdmin | None, view: ClusterView | None, why_unknown: str
    ) -> Outcome:
        before = seen.set_of(owner, "broker")
        existing = None if before is None else before.replicas
        scaling = scale(owner.spec.brokers, existing, view, why_unknown)
        effective = owner._replace(spec=owner.spec.model_copy(update={"brokers": scaling.brokers}))
        try:
            sets = await self._apply(effective, seen)
        except RefusedError as error:
            before_it = was_ready(self._resource)
            facts = Facts(owner, seen.pods, scaling, Roll(), view, why_unknown, failed=str(error), was_ready=before_it)
            return await self._report(facts)
        await self._tell_of_scaling(owner, existing, scaling)
        roll = next_restart(sets, [pod for pod in seen.pods if _belongs(pod, sets)], view, why_unknown)
        if roll.next is not None:
            await self._restart(roll.next, len(roll.behind))
        leaving = [pod.name for pod in seen.pods if not _belongs(pod, sets)]
        failed: str | None = None
        creating: list[str] = []
        if admin is not None and view is not None:
            try:
                leaving += await self._unregister(admin, view, seen, scaling)
                creating = await self._topics(admin, view, owner, seen, scaling)
            except AdminError as error:
                failed = str(error)
                creating = [topic.name for topic in missing(owner.spec.topics, view)]
        uncreated = await why_not_created(self._kube, owner.namespace, sets, seen.pods)
        pods = await with_troubles(self._kube, owner.namespace, seen.pods)
        pods = with_disks(pods, disks_of(self._resource))
        return await self._report(
            Facts(
                owner,
                pods,
                scaling,
                roll,
                view,
                why_unknown,
                tuple(leaving),
                tuple(creating),
                failed,
                uncreated,
                rolling_since=rolling_since(self._resource),
                was_late=was_late(self._resource),
                unready_since=unready_since(self._resource),
                was_ready=was_ready(self._resource),
                now=self._context.now(),
            ),
            sets.values(),
        )

    async def _apply(self, owner: Owner, seen: Observation) -> dict[Role, SetView]:
        """Make every object what it should be; returns the StatefulSets as they are then."""
        latest = dict(seen.objects)
        brokers = seen.set_of(owner, "broker")
        for plain in self._objects(owner):
            manifest = stamped(after_brokers(plain, brokers, seen.pods))
            key = (manifest["kind"], manifest["metadata"]["name"])
            live = latest.get(key)
            path = None if live is None else difference(manifest, live)
            if live is not None and path is None:
                continue
            applied = await self._kube.apply(manifest)
            latest[key] = applied
            if live is None:
                if seen.objects:
                    await self._tell("Normal", "Recreated", f"{key[0]} {key[1]} was missing")
                    metrics.REPAIRS.labels(key[0]).inc()
            elif (
                is_current(manifest, live)
                and applied["metadata"]["resourceVersion"] != live["metadata"]["resourceVersion"]
            ):
                await self._tell("Warning", "DriftRepaired", f"{key[0]} {key[1]} had been changed at {path}")
                metrics.REPAIRS.labels(key[0]).inc()
        if not seen.objects:
            made = " and ".join(f"{replicas_of(owner, role)} {role}s" for role in roles_of(owner))
            await self._tell("Normal", "Created", made)
        return {role: set_view(latest["StatefulSet", set_name(owner, role)]) for role in roles_of(owner)}

    async def _restart(self, pod: PodView, behind: int) -> None:
        if await self._kube.delete(POD, self._metadata["namespace"], pod.name, uid=pod.uid):
            metrics.RESTARTS.labels(pod.role).inc()
            await self._tell("Normal", "PodReplaced", f"{pod.name} is replaced; {behind - 1} more to go")

    async def _unregister(
        self, admin: ClusterAdmin, view: ClusterView, seen: Observation, scaling: Scaling
    ) -> list[str]:
        """Take brokers that are gone out of the metadata; returns those that are registered yet and should not be."""
        pods = frozenset(pod.index for pod in seen.pods if pod.role == "broker")
        for broker in to_unregister(scaling.brokers, pods, view):
            await admin.unregister_broker(broker)
            await self._tell("Normal", "BrokerUnregistered", f"broker {broker} has left the cluster")
        gone = to_unregister(scaling.brokers, pods, view)
        beyond = [broker for broker in view.brokers if broker >= scaling.brokers and broker not in gone]
        return [f"broker {broker} (registered)" for broker in beyond if broker not in pods]

    async def _topics(
        self, admin: ClusterAdmin, view: ClusterView, owner: Owner, seen: Observation, scaling: Scaling
    ) -> list[str]:
        """Create topics that are missing, once all brokers are there; returns those that are still to be created."""
        wanted = missing(owner.spec.topics, view)
        live = sum(not broker.fenced for broker in view.brokers.values())
        ready = sum(pod.ready and not pod.terminating for pod in seen.pods if pod.role == "broker")
        if wanted and (min(live, ready) < scaling.brokers or view.quorum is None or view.quorum.controller < 0):
            return [topic.name for topic in wanted]
        for topic in wanted:
            await admin.create_topic(topic)
            await self._tell("Normal", "TopicCreated", f"topic {topic.name}")
        for text in differences(owner.spec.topics, view):
            await self._tell("Warning", "TopicDiffers", f"{text}; it is left as it is", once=True)
        return []

    # --- writing down ---

    async def _refuse(self, problem: Problem) -> Outcome:
        served = bool(self._resource.get("status", {}).get("bootstrap"))
        await self._write(*refused_status(problem, served=served))
        return Outcome(self._context.pace.steady, settled=True)

    async def _report(self, facts: Facts, made: Iterable[SetView] | None = None) -> Outcome:
        status, verdicts = status_of(facts)
        if made is not None:
            # Agents believe this, and no StatefulSet that says whose it is.
            status["statefulSets"] = sorted(f"{one.name}/{one.uid}" for one in made)
        if self._certificates_end is not None:
            status["clientSecret"] = client_secret_name(facts.owner)
            status["certificatesEnd"] = f"{self._certificates_end:%Y-%m-%dT%H:%M:%SZ}"
        if facts.owner.spec.storage.crashable:
            verdicts["DisksKept"] = disks_kept(disks_of(self._resource))
        await self._write(status, verdicts)
        pace = self._context.pace
        if facts.roll.behind or facts.leaving or facts.scaling.waiting or facts.creating:
            return Outcome(pace.moving)
        if verdicts["Ready"].status == "True" and verdicts["Degraded"].status == "False":
            settled = verdicts["Progressing"].status == "False"
            return Outcome(pace.steady if settled else pace.moving, settled)
        return Outcome(pace.waiting)

    async def _write(self, status: Json, verdicts: dict[str, Verdict]) -> None:
        """Write the status, unless it says so already; over whatever others have changed of the object meanwhile."""
        current = self._resource
        for _ in range(_STATUS_ATTEMPTS):
            change = merged(
                current.get("status", {}), status, verdicts, self._metadata.get("generation", 0), self._context.now()
            )
            if change is None:
                return
            new, transitions = change
            try:
                await self._kube.patch_status(
                    LOG_CLUSTER,
                    self._metadata["namespace"],
                    self._metadata["name"],
                    new,
                    resource_version=current["metadata"]["resourceVersion"],
                )
            except ConflictError:
                found = await self._kube.get(LOG_CLUSTER, self._metadata["namespace"], self._metadata["name"])
                if found is None or found["metadata"]["uid"] != self._metadata["uid"]:
                    return
                current = found
                continue
            for type_, verdict in transitions:
                message = f"{type_}={verdict.status}: {verdict.message}"
                line = {"event": "condition changed", "condition": type_, "status": verdict.status}
                line |= {"reason": verdict.reason, "message": verdict.message}
                await self._tell(_severity(type_, verdict), verdict.reason, message, change=line)
            return
        log_about(self._resource, "Normal", "the status changes faster than it can be written")

    async def _tell_of_scaling(self, owner: Owner, existing: int | None, scaling: Scaling) -> None:
        if existing is None or scaling.brokers == existing:
            return
        if scaling.brokers > existing:
            joining = ", ".join(str(broker) for broker in range(existing, scaling.brokers))
            await self._tell(
                "Normal",
                "ScaledUp",
                f"brokers {joining} join. Existing partitions stay where they are; to use the new brokers, move some:"
                f" kafka-reassign-partitions.sh --bootstrap-server {owner.name}-bootstrap:{CLIENT_PORT}"
                f" --generate --broker-list {','.join(str(one) for one in range(scaling.brokers))}",
            )
        else:
            leaving = ", ".join(str(broker) for broker in range(scaling.brokers, existing))
            await self._tell(
                "Normal", "ScaledDown", f"brokers {leaving} hold no replicas and leave; their storage is kept"
            )

    async def _tell(
        self, type_: EventType, reason: str, message: str, *, once: bool = False, change: Json | None = None
    ) -> None:
        now = self._context.now()
        await tell(self._kube, self._resource, type_, reason, message, now, once=once, change=change)


def _belongs(pod: PodView, sets: dict[Role, SetView]) -> bool:
    return pod.index < sets[pod.role].replicas


def _severity(type_: str, verdict: Verdict) -> EventType:
    bad = "True" if type_ == "Degraded" else "False"
    return "Warning" if type_ != "Progressing" and verdict.status == bad else "Normal"
