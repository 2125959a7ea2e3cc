"""The Job controller: pods until enough have succeeded or too many have failed."""

from __future__ import annotations

import copy

from ..errors import Json


def plan(job: Json, pods: list[Json], now: str) -> tuple[list[Json], Json]:
    """Return the pods to create, and the status."""
    spec, status = job["spec"], {"startTime": now, **job.get("status", {})}
    if "conditions" in status:
        return [], status
    phases = [pod.get("status", {}).get("phase", "Pending") for pod in pods]
    succeeded, failed = phases.count("Succeeded"), phases.count("Failed")
    active = len(pods) - succeeded - failed
    counts = {"succeeded": succeeded, "failed": failed, "active": active}
    status = {key: value for key, value in status.items() if key not in counts}
    status |= {key: value for key, value in counts.items() if value}
    if failed > spec["backoffLimit"]:
        message = "Job has reached the specified backoff limit"
        return [], status | _end("FailureTarget", "Failed", "BackoffLimitExceeded", message, now)
    if succeeded >= spec["completions"]:
        message = "Reached expected number of succeeded pods"
        end = _end("SuccessCriteriaMet", "Complete", "CompletionsReached", message, now)
        return [], status | end | {"completionTime": now}
    missing = min(spec["parallelism"], spec["completions"] - succeeded) - active
    return [_pod(job) for _ in range(missing)], status


def _end(first: str, last: str, reason: str, message: str, now: str) -> Json:
    times = {"lastProbeTime": now, "lastTransitionTime": now}
    said = {"status": "True", "reason": reason, "message": message, **times}
    return {"conditions": [{"type": kind, **said} for kind in (first, last)]}


def _pod(job: Json) -> Json:
    metadata, template = job["metadata"], copy.deepcopy(job["spec"]["template"])
    owner = {key: job[key] for key in ("apiVersion", "kind")} | {key: metadata[key] for key in ("name", "uid")}
    own = {key: value for key, value in template["metadata"].items() if key in ("labels", "annotations")}
    own |= {"generateName": f"{metadata['name']}-", "namespace": metadata["namespace"]}
    own |= {"ownerReferences": [owner | {"controller": True, "blockOwnerDeletion": True}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": own, "spec": template["spec"]}
