"""What keeps an experiment from starting: its runner's pod, or the LogCluster that it brings up.

Whatever it is stands in the condition ``SteadyState``, with an Event, within seconds; if it lasts, the experiment is
aborted with it as the reason. If the clusters of two experiments do not fit beside each other, the experiment that was
accepted later gives way: it gives back what it holds, and starts again once the other is over. The order is total, so
no two experiments wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from highwater_chaos.backends.kubernetes.journal import FINAL_PHASES
from highwater_chaos.kube.conditions import condition_of
from highwater_chaos.kube.kinds import Json
from highwater_operator.reconcile.pod_troubles import Trouble, is_creating, trouble_of, warning_in_events

UNSCHEDULABLE: Final = "Unschedulable"
_CAUSES: Final = ("NotCarriedOut", "PodsNotCreated", "PodsFailing")
"""Reasons of ``Degraded`` for which a LogCluster does not come up."""


def runner_trouble(pods: Sequence[Json], pod_events: Iterable[Json], job_events: Iterable[Json]) -> Trouble | None:
    """Why the runner does not run; None: nothing is known to be wrong.

    Args:
        pods: of its Job.
        pod_events: about a pod whose containers are being created; see :func:`is_creating`.
        job_events: about the Job, if it has no pods.
    """
    for pod in pods:
        found = trouble_of(pod) or (warning_in_events(pod_events) if is_creating(pod) else None)
        if found is not None:
            return Trouble(found.reason, f"runner: {found.message}")
    if pods:
        return None
    refused = warning_in_events(one for one in job_events if one.get("reason") == "FailedCreate")
    return None if refused is None else Trouble("PodsNotCreated", f"runner: {refused.message}")


def cluster_trouble(cluster: Json | None) -> Trouble | None:
    """Why the experiment's own LogCluster does not come up, as its status has it; None: nothing is known."""
    if cluster is None or condition_of(cluster, "Ready", "True") is not None:
        return None
    if (cluster.get("status") or {}).get("phase") == "Refused":
        return _cause(condition_of(cluster, "Degraded", "True"))
    degraded = condition_of(cluster, "Degraded", "True")
    return _cause(degraded) if degraded is not None and degraded["reason"] in _CAUSES else None


def lacks_room(trouble: Trouble) -> bool:
    """Whether the scheduler found no place for a pod."""
    return UNSCHEDULABLE in (trouble.reason, *trouble.message.replace(":", " ").split())


def goes_first(found: Json, others: Iterable[Json]) -> Json | None:
    """An experiment that is under way and was accepted before this one; None: none."""
    own = _turn(found)
    under_way = (one for one in others if (one.get("status") or {}).get("phase", "") not in ("", *FINAL_PHASES))
    earlier = [one for one in under_way if _turn(one) < own]
    return min(earlier, key=_turn, default=None)


def _turn(found: Json) -> tuple[str, str]:
    return str((found.get("status") or {}).get("startedAt") or ""), str(found["metadata"]["uid"])


def _cause(degraded: Json | None) -> Trouble | None:
    return None if degraded is None else Trouble(degraded["reason"], f"LogCluster: {degraded['message']}")
