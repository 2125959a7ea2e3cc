"""The Job controller: pods until enough have succeeded or too many have failed."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Final

from ..schema import Json

_FINISHED: Final = ("Complete", "Failed")


@dataclass
class JobPlan:
    """What to do now."""

    create: list[Json] = field(default_factory=list)
    delete: list[str] = field(default_factory=list)
    status: Json = field(default_factory=dict)


def is_finished(job: Json) -> bool:
    """Complete or failed for good."""
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(condition["type"] in _FINISHED and condition["status"] == "True" for condition in conditions)


def plan(job: Json, pods: list[Json], now: str, *, overdue: bool) -> JobPlan:
    """``overdue`` says that ``activeDeadlineSeconds`` have passed."""
    spec, made = job["spec"], JobPlan()
    status = dict(job.get("status") or {})
    phases = [(pod.get("status") or {}).get("phase", "Pending") for pod in pods]
    active = [
        pod
        for pod, phase in zip(pods, phases, strict=True)
        if phase in ("Pending", "Running") and not pod["metadata"].get("deletionTimestamp")
    ]
    succeeded, failed = phases.count("Succeeded"), phases.count("Failed")
    made.status = status
    if is_finished(job):
        return made
    status.setdefault("startTime", now)
    status |= {"succeeded": succeeded, "failed": failed, "active": len(active), "ready": _ready(active)}
    status |= {"terminating": len(pods) - len(active) - succeeded - failed, "uncountedTerminatedPods": {}}
    if overdue:
        _end(made, "Failed", "DeadlineExceeded", "Job was active longer than specified deadline", now, active)
    elif failed > spec["backoffLimit"]:
        _end(made, "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit", now, active)
    elif succeeded >= spec["completions"]:
        _end(made, "Complete", "CompletionsReached", "Reached expected number of succeeded pods", now, active)
    elif spec.get("suspend"):
        made.delete = [pod["metadata"]["name"] for pod in active]
    else:
        missing = min(spec["parallelism"], spec["completions"] - succeeded) - len(active)
        made.create = [_pod(job) for _ in range(max(0, missing))]
    for key in ("succeeded", "failed", "active"):
        if not status[key]:
            del status[key]
    return made


def _ready(pods: list[Json]) -> int:
    return sum(
        condition["type"] == "Ready" and condition["status"] == "True"
        for pod in pods
        for condition in (pod.get("status") or {}).get("conditions") or ()
    )


def _end(made: JobPlan, kind: str, reason: str, message: str, now: str, active: list[Json]) -> None:
    first = "SuccessCriteriaMet" if kind == "Complete" else "FailureTarget"
    times = {"lastProbeTime": now, "lastTransitionTime": now}
    made.status["conditions"] = [
        {"type": name, "status": "True", "reason": reason, "message": message, **times} for name in (first, kind)
    ]
    if kind == "Complete":
        made.status["completionTime"] = now
    made.status["active"] = 0
    made.delete = [pod["metadata"]["name"] for pod in active]


def _pod(job: Json) -> Json:
    metadata = job["metadata"]
    template = copy.deepcopy(job["spec"]["template"])
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **{key: value for key, value in template["metadata"].items() if key in ("labels", "annotations")},
            "generateName": f"{metadata['name']}-",
            "namespace": metadata["namespace"],
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": metadata["name"],
                    "uid": metadata["uid"],
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": template["spec"],
    }
