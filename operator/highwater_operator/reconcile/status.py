"""How a LogCluster is, from what is known of it: pure, so that every word of the status can be tested.

The conditions are used as those of a Deployment, whose ``maxUnavailable`` is one pod of each role.

``Ready``: clients are served. A controller is active, each partition has a leader, and at most one pod of a role is
missing. It gets true once everything has been there, and stays true while brokers join, a rolling restart goes on, or
the first pod of it does not start.

``Progressing``: something is under way that the LogCluster asks for; if a pod does not become ready within
:data:`DEADLINE`, or a rolling restart replaces none, it is false, with the reason ``ProgressDeadlineExceeded``.

``Degraded``: somebody should look. What a rolling restart brings with it is no reason; neither is a pod that is down
for less than :data:`DEADLINE`. That clients are not served for longer always is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, NamedTuple

from highwater_chaos.kube.conditions import Condition, condition_of, with_conditions
from highwater_chaos.kube.kinds import Json
from highwater_operator.admin import ClusterView
from highwater_operator.objects.naming import (
    CLIENT_PORT,
    Owner,
    Role,
    bootstrap_name,
    pod_name,
    replicas_of,
    roles_of,
    selector_of,
)
from highwater_operator.reconcile.observation import PodView
from highwater_operator.reconcile.problems import Problem
from highwater_operator.reconcile.rolling import Roll
from highwater_operator.reconcile.scaling import Scaling
from highwater_operator.reconcile.volumes import Disk

DEADLINE: Final = timedelta(minutes=10)
"""Within which a pod is ready and its broker has caught up, as ``progressDeadlineSeconds`` of a Deployment."""
_MINUTES: Final = DEADLINE.seconds // 60
ROLLING: Final = "RollingRestart"
_LATE: Final = "ProgressDeadlineExceeded"
EARLIER: Final = "EarlierClusterEnding"
_LEFT_ALONE: Final = (
    ". Until this is corrected, what was made before stays as it is, and what others change or delete of it is not"
    " repaired"
)
"""What the last valid spec asked for is remembered nowhere: there is nothing to repair it by."""
_NOT_COUNTED: Final = {"brokersReady": "", "controllersReady": "", "zookeepersReady": ""}
"""As the definition has these fields where nothing is known: text that is absent is written back as its default."""

_IN_WORDS: Final[dict[Role, str]] = {
    "broker": "brokers",
    "controller": "controllers",
    "zookeeper": "ZooKeeper servers",
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What one reconcile found and did."""

    owner: Owner
    pods: tuple[PodView, ...]
    scaling: Scaling
    roll: Roll
    view: ClusterView | None
    why_unknown: str = ""
    leaving: tuple[str, ...] = ()
    """Pods and brokers that are to go: not gone yet."""
    creating: tuple[str, ...] = ()
    """Topics that are to be created once the cluster is ready."""
    failed: str | None = None
    """What the API server or the cluster refused: a topic, an object."""
    uncreated: str | None = None
    """Why pods are missing, where their creation was refused."""
    rolling_since: datetime | None = None
    """Since when the status says that a rolling restart is under way; None: it does not."""
    was_late: bool = False
    """Whether the status says so: what waited for too long then waits still, unless a pod has changed since."""
    unready_since: datetime | None = None
    """Since when the status says that clients are not served; None: it does not."""
    was_ready: bool = False
    """Whether the status says that clients are served."""
    now: datetime | None = None
    """The present; None: nothing is late."""

    def ready(self, role: str) -> int:
        """Ready pods of a role. One that is being deleted is ready until its containers end: it does not count."""
        return sum(pod.ready and not pod.terminating and pod.role == role for pod in self.pods)

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the pods that do not serve, those included that are not there."""
        ready = {pod.name for pod in self.pods if pod.ready and not pod.terminating}
        wanted = (
            pod_name(self.owner, role, index)
            for role in roles_of(self.owner)
            for index in range(replicas_of(self.owner, role))
        )
        return tuple(name for name in wanted if name not in ready)

    def lacks_too_many(self, role: Role) -> bool:
        """Whether clients miss pods of a role: more than one, as with ``maxUnavailable: 1`` of a Deployment.

        A cluster that has not been whole yet misses every one. Brokers that join a cluster that serves are missed by
        nobody: they hold no replica.
        """
        wanted = range(replicas_of(self.owner, role))
        serving = {pod.index for pod in self.pods if pod.role == role and pod.ready and not pod.terminating}
        absent = [index for index in wanted if index not in serving]
        if role == "broker":
            known = frozenset[int]() if self.view is None else self.view.holders
            joining = [index for index in absent if index not in known]
            if joining and not self.was_ready:
                return True
            absent = [index for index in absent if index in known]
        elif not self.was_ready and self.rolled is None:
            return bool(absent)
        return len(absent) > 1 or not serving

    @property
    def down(self) -> tuple[PodView, ...]:
        """Pods that are there and do not serve."""
        return tuple(pod for pod in self.pods if pod.terminating or not pod.ready)

    @property
    def late(self) -> tuple[PodView, ...]:
        """Those of them that have had more than enough time."""
        return tuple(pod for pod in self.down if self._age(pod) > DEADLINE)

    @property
    def rolled(self) -> str | None:
        """What a rolling restart that goes as it should costs just now; None: there is none, or more is wrong."""
        if not (self.roll.behind or self.rolling_since) or self.uncreated is not None:
            return None
        absent = sum(replicas_of(self.owner, role) - self.ready(role) for role in roles_of(self.owner))
        if absent > 1 or self.late or any(pod.trouble is not None for pod in self.pods):
            return None
        if absent == 1:
            return f"{self.down[0].name} is being replaced" if self.down else "a pod is being replaced"
        replaced = [pod for pod in self.pods if self._was_replaced(pod)]
        if any(pod.role == "broker" and self._age(pod) <= DEADLINE for pod in replaced):
            return "the broker that was replaced last is catching up"
        return None

    @property
    def stalled(self) -> str | None:
        """What a rolling restart waits for, if no pod has been replaced or become ready for :data:`DEADLINE`."""
        since = datetime.min.replace(tzinfo=UTC) if self.was_late else self.rolling_since
        return self.roll.waiting if self.roll.behind and self._unchanged(since) else None

    @property
    def unserved(self) -> bool:
        """Whether clients are not served for longer than :data:`DEADLINE`, in which no pod has changed either."""
        return self._unchanged(self.unready_since)

    def _unchanged(self, since: datetime | None) -> bool:
        if since is None or self.now is None:
            return False
        return self.now - max([since, *(pod.since for pod in self.pods if pod.since is not None)]) > DEADLINE

    def _was_replaced(self, pod: PodView) -> bool:
        began = self.rolling_since
        return began is not None and pod.name not in self.roll.behind and (pod.since is None or pod.since >= began)

    def _age(self, pod: PodView) -> timedelta:
        return timedelta() if self.now is None or pod.since is None else self.now - pod.since


class Verdict(NamedTuple):
    """One condition: status, reason, message."""

    status: Literal["True", "False", "Unknown"]
    reason: str
    message: str


def status_of(facts: Facts) -> tuple[Json, dict[str, Verdict]]:
    """The status without conditions (None: not known, to be removed), and the conditions by type."""
    owner, view = facts.owner, facts.view
    ready = _ready(facts)
    verdicts = {"Degraded": _degraded(facts, ready), "Ready": ready, "Progressing": _progressing(facts, ready)}
    status: Json = {
        "phase": _phase(verdicts),
        "bootstrap": f"{bootstrap_name(owner)}.{owner.namespace}.svc:{CLIENT_PORT}",
        "replicas": sum(pod.role == "broker" for pod in facts.pods),
        "selector": ",".join(f"{key}={value}" for key, value in selector_of(owner, "broker").items()),
        **_NOT_COUNTED,
        **{f"{role}sReady": f"{facts.ready(role)}/{replicas_of(owner, role)}" for role in roles_of(owner)},
        "activeController": None if view is None or view.quorum is None else view.quorum.controller,
        "underReplicatedPartitions": None if view is None else len(view.under_replicated),
    }
    return status, verdicts


def disks_kept(disks: Sequence[Disk]) -> Verdict:
    """Whether each pod has the disk that it began with."""
    new = [f"{disk.pod} ({disk.replaced})" for disk in disks if disk.replaced]
    if new:
        return Verdict("False", "NewDisk", f"new, empty disks in place of some that were given up: {', '.join(new)}")
    return Verdict("True", "Kept", "each pod has the disk that it began with")


def rolling_since(resource: Json) -> datetime | None:
    """Since when the status of a LogCluster says that a rolling restart is under way; None: it does not."""
    found = condition_of(resource, "Progressing")
    if found is None or found.get("reason") != ROLLING:
        return None
    return datetime.fromisoformat(found["lastTransitionTime"])


def was_late(resource: Json) -> bool:
    """Whether the status of a LogCluster says that something takes too long."""
    found = condition_of(resource, "Progressing", "False")
    return found is not None and found.get("reason") == _LATE


def was_ready(resource: Json) -> bool:
    """Whether the status of a LogCluster says that clients are served."""
    return condition_of(resource, "Ready", "True") is not None


def unready_since(resource: Json) -> datetime | None:
    """Since when the status of a LogCluster says that clients are not served; None: it does not."""
    found = condition_of(resource, "Ready", "False")
    return None if found is None else datetime.fromisoformat(found["lastTransitionTime"])


def refused_status(problem: Problem, *, served: bool) -> tuple[Json, dict[str, Verdict]]:
    """Of a cluster that is not served; ``served``: it was before, and its objects are left as they are."""
    message = f"{problem.message}{_LEFT_ALONE}" if served else problem.message
    # Nobody counts any more what it was.
    unknown: Json = {**_NOT_COUNTED, "activeController": None, "underReplicatedPartitions": None}
    return {"phase": "Refused", **unknown}, {
        "Degraded": Verdict("True", problem.reason, message),
        "Ready": Verdict("False", problem.reason, message),
        "Progressing": Verdict("False", problem.reason, message),
    }


def awaiting_status(what: str) -> tuple[Json, dict[str, Verdict]]:
    """Of a cluster that cannot be created yet, since what an earlier one of its name left is still ending."""
    verdicts = {
        "Degraded": Verdict("False", EARLIER, what),
        "Ready": Verdict("False", EARLIER, what),
        "Progressing": Verdict("True", EARLIER, what),
    }
    return {"phase": _phase(verdicts)}, verdicts


def merged(
    old: Json, status: Json, verdicts: dict[str, Verdict], generation: int, now: datetime
) -> tuple[Json, list[tuple[str, Verdict]]] | None:
    """The status to write over ``old``, and the conditions whose change is worth an Event; None: nothing changes.

    That a condition is there for the first time is worth none, unless it says that something is wrong.
    """
    changed: list[tuple[str, Verdict]] = []
    for type_, verdict in verdicts.items():
        previous = condition_of({"status": old}, type_)
        if previous is None:
            is_news = type_ == "Degraded" and verdict.status == "True"
        elif type_ == "Degraded" and previous.get("status") == verdict.status == "False":
            is_news = False  # Ready or Progressing tell of it
        else:
            is_news = (previous.get("status"), previous.get("reason")) != (verdict.status, verdict.reason)
        if is_news and all(earlier[1:] != verdict[1:] for _, earlier in changed):
            changed.append((type_, verdict))
    news = (Condition(type_, *verdict) for type_, verdict in verdicts.items())
    conditions = with_conditions({"metadata": {}, "status": old}, *news, generation=generation, at=now)
    new = {**status, "observedGeneration": generation, "conditions": conditions}
    if all(old.get(key) == value for key, value in new.items()):
        return None
    return new, changed


def _ready(facts: Facts) -> Verdict:
    unserved = _why_unserved(facts)
    if unserved is not None:
        return unserved if facts.uncreated is None else Verdict("False", "PodsNotCreated", facts.uncreated)
    view, rolled = facts.view, facts.rolled
    assert view is not None
    if view.quorum is None or view.quorum.controller < 0:
        return Verdict("True", ROLLING, f"brokers serve; {rolled}; the next controller is being elected")
    active = f"controller {view.quorum.controller} is active"
    if rolled is not None:
        return Verdict("True", ROLLING, f"{rolled}; {active}")
    who = f"all but {', '.join(facts.missing)}" if facts.missing else "all nodes"
    return Verdict("True", "Serving", f"{who} are ready; {active}")


def _why_unserved(facts: Facts) -> Verdict | None:
    """Why clients are not served, or not as they were promised; None: they are."""
    owner, view = facts.owner, facts.view
    for role in roles_of(owner):
        ready, wanted = facts.ready(role), replicas_of(owner, role)
        if facts.lacks_too_many(role):
            return Verdict("False", "PodsNotReady", f"{ready} of {wanted} {_IN_WORDS[role]} are ready")
    if view is None:
        return Verdict("False", "ClusterNotAnswering", facts.why_unknown)
    if (view.quorum is None or view.quorum.controller < 0) and facts.rolled is None:
        why = "; ".join(view.problems) or (None if view.quorum is None else view.quorum.why_unsafe)
        return Verdict("False", "NoActiveController", why or "the metadata quorum is not known")
    if facts.rolled is None and (offline := view.without_leader):
        named = ", ".join(offline[:10])
        return Verdict("False", "PartitionsOffline", f"{len(offline)} partitions have no leader: {named}")
    if facts.creating and not facts.was_ready:
        return Verdict("False", "TopicsMissing", f"topics are to be created: {', '.join(facts.creating)}")
    return None


def _progressing(facts: Facts, ready: Verdict) -> Verdict:
    if facts.late:
        return Verdict("False", _LATE, f"{_late(facts)}; see Degraded")
    if facts.stalled is not None:
        return Verdict("False", _LATE, f"{_stalled(facts)}; see Degraded")
    if facts.scaling.waiting is not None:
        return Verdict("True", "ScaleDownWaits", facts.scaling.waiting)
    if facts.roll.behind:
        left = f"{len(facts.roll.behind)} pods are to be replaced: {', '.join(facts.roll.behind)}"
        step = f"; waits: {facts.roll.waiting}" if facts.roll.waiting else ""
        return Verdict("True", ROLLING, left + step)
    if facts.leaving:
        return Verdict("True", "ScalingDown", f"leaving: {', '.join(facts.leaving)}")
    if facts.roll.waiting is not None:
        return Verdict("True", "Applying", facts.roll.waiting)
    unsettled = facts.down or (facts.view is None or facts.view.under_replicated)
    if (rolled := facts.rolled) is not None and unsettled:
        return Verdict("True", ROLLING, rolled)
    unready = [pod.name for pod in facts.down]
    wanted = sum(replicas_of(facts.owner, role) for role in roles_of(facts.owner))
    if unready or len(facts.pods) < wanted:
        return Verdict("True", "PodsStarting", f"{len(facts.pods) - len(unready)} of {wanted} pods are ready")
    if ready.status == "False" and facts.unserved:
        return Verdict("False", _LATE, f"{_unserved(ready)}; see Degraded")
    if facts.view is None:
        return Verdict("True", "ClusterStarting", facts.why_unknown)
    if facts.creating:
        return Verdict("True", "CreatingTopics", ", ".join(facts.creating))
    if facts.scaling.refused is not None:
        return Verdict("False", "Blocked", "nothing is under way; see Degraded for what has to be done first")
    return Verdict("False", "Settled", "everything is as the LogCluster says")


def _degraded(facts: Facts, ready: Verdict) -> Verdict:
    if facts.failed is not None:
        return Verdict("True", "NotCarriedOut", facts.failed)
    if facts.uncreated is not None:
        return Verdict("True", "PodsNotCreated", facts.uncreated)
    troubled = [f"{pod.name}: {pod.trouble}" for pod in facts.pods if pod.trouble is not None]
    if troubled:
        return Verdict("True", "PodsFailing", "; ".join(troubled))
    if facts.late:
        return Verdict("True", _LATE, _late(facts))
    if ready.status == "False" and facts.unserved:
        return Verdict("True", ready.reason, _unserved(ready))
    if facts.scaling.refused is not None:
        return Verdict("True", "ScaleDownRefused", facts.scaling.refused)
    view = facts.view
    if view is not None and view.under_replicated:
        names = ", ".join(view.under_replicated[:10])
        if (rolled := facts.rolled) is not None:
            return Verdict("False", ROLLING, f"{len(view.under_replicated)} partitions are under-replicated: {rolled}")
        return Verdict("True", "UnderReplicated", f"{len(view.under_replicated)} partitions: {names}")
    if facts.stalled is not None:
        return Verdict("True", _LATE, _stalled(facts))
    if ready.status == "False":
        return Verdict("False", ready.reason, f"{ready.message}; no cause is known, so it has {_MINUTES} minutes")
    return Verdict(
        "False",
        "Sound",
        "no partition is known to be under-replicated" if view is None else "all partitions are in sync",
    )


def _late(facts: Facts) -> str:
    names = ", ".join(pod.name for pod in facts.late)
    return f"not ready for {_MINUTES} minutes: {names}"


def _stalled(facts: Facts) -> str:
    return f"the rolling restart has not gone on for {_MINUTES} minutes: {facts.stalled}"


def _unserved(ready: Verdict) -> str:
    return f"clients are not served for more than {_MINUTES} minutes: {ready.message}"


def _phase(verdicts: dict[str, Verdict]) -> str:
    if verdicts["Degraded"].status == "True":
        return "Degraded"
    if verdicts["Progressing"].status == "True":
        return verdicts["Progressing"].reason
    return "Ready" if verdicts["Ready"].status == "True" else "NotReady"
