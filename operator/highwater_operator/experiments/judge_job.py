"""The Job that judges what a runner has recorded, on Spark: what it is, and why it came to nothing where it did.

Unlike a run, judging can be repeated: a pod that was evicted has a successor, and a Job that is gone is created again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from highwater_chaos.backends.kubernetes.healing import judge_job_name
from highwater_chaos.kube.kinds import Json
from highwater_operator.experiments.context import ExperimentContext
from highwater_operator.experiments.runner_job import JUDGE, arguments_of, claims, job_manifest, with_claim
from highwater_operator.reconcile.pod_troubles import end_of, trouble_of

_WITHIN_S: Final = 1800
_ATTEMPTS: Final = 2


def judge_job(context: ExperimentContext, found: Json) -> dict[str, Any]:
    """The manifest. It sees no agent's token: it has to do with the API server only."""
    settings = context.judging
    container = {
        "name": JUDGE,
        "image": settings.image,
        "command": ["python3", "-P", "-m", "highwater_chaos.kubernetes_jobs.judge"],
        "args": arguments_of(found),
        "workingDir": "/tmp",  # noqa: S108 - Spark makes a directory where it is started; the root is read-only
        "resources": settings.resources,
    }
    return job_manifest(
        found,
        judge_job_name(found["metadata"]["uid"]),
        context.runners.namespace,
        with_claim(context, found, container),
        volumes=claims(context),
        attempts=_ATTEMPTS,
        seconds=_WITHIN_S,
    )


def why_not_judged(job: Json, pods: Sequence[Json], now: datetime, image_within: float) -> str | None:
    """Why a judging Job will bring no verdict; None: it still may."""
    for condition in (job.get("status") or {}).get("conditions") or []:
        if condition["status"] == "True" and condition["type"] == "Failed":
            ends = [end for pod in pods if (end := end_of(pod))]
            last = f" ({ends[-1]})" if ends else ""
            return f"the judging Job failed: {condition.get('reason')}: {condition.get('message')}{last}"
        if condition["status"] == "True" and condition["type"] == "Complete":
            return "the judging Job ended without a verdict"
    for pod in pods:
        began = datetime.fromisoformat(pod["metadata"]["creationTimestamp"])
        if now - began > timedelta(seconds=image_within) and (stuck := trouble_of(pod)):
            return f"the judging Job's pod did not start within {image_within:g} s: {stuck}"
    return None
