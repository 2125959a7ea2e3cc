"""The Job that runs one experiment: one attempt, since no runner can go on where another ended; and what it has in
common with the Job that judges one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from highwater_chaos.backends.kubernetes.healing import run_job_name
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.kube.kinds import EXPERIMENT_LABEL, EXPERIMENT_UID_LABEL, REBOOT_ALLOWED, REBOOT_LABEL, Json
from highwater_operator.experiments.contention import may_reset_machines
from highwater_operator.experiments.context import TOKEN_PATH, TRUST_PATH, ExperimentContext
from highwater_operator.reconcile.pod_troubles import end_of
from highwater_runtime.ports import SECOND

RUNNER: Final = "runner"
JUDGE: Final = "judge"
RECORDINGS_PATH: Final = "/var/lib/highwater/recordings"
_AROUND_S: Final = 2400
"""Beyond the run's own timeout: pulling images and coming up, recovery, final reads, dumps, judging."""
_GRACE_S: Final = 180
"""For a runner whose pod is asked to stop: it heals, records what replicas hold, and keeps what it recorded."""
_KEPT_S: Final = 3600
_NOT_RESET: Final = {"key": REBOOT_LABEL, "operator": "NotIn", "values": [REBOOT_ALLOWED]}
_BESIDE_RESETS: Final = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "preference": {"matchExpressions": [_NOT_RESET]}}
        ]
    }
}
"""A runner that resets machines is put on one that is not to be reset, if there is room: its own it never resets."""


def labels_of(uid: str, component: str) -> dict[str, str]:
    """Labels of an experiment's Job of that kind, and of its pods."""
    return {
        "app.kubernetes.io/name": "highwater",
        "app.kubernetes.io/component": component,
        "app.kubernetes.io/managed-by": "highwater-operator",
        "app.kubernetes.io/part-of": "highwater",
        EXPERIMENT_UID_LABEL: uid,
    }


def account_of(context: ExperimentContext, component: str) -> str:
    """Name of the role that accounts of such Jobs are bound to, and of the account that says how their images are
    pulled."""
    return context.runners.service_account if component == RUNNER else context.judging.service_account


def runner_job(context: ExperimentContext, found: Json, experiment: ChaosExperiment) -> dict[str, Any]:
    """The manifest. It has no owner: an owner in another namespace cannot be; the operator deletes it."""
    metadata, settings, agents = found["metadata"], context.runners, context.agents
    seconds = (experiment.spec.timeout + experiment.spec.recovery) // SECOND + _AROUND_S
    environment = {
        "HIGHWATER_AGENT_NAMESPACE": agents.namespace,
        "HIGHWATER_AGENT_SELECTOR": agents.selector,
        "HIGHWATER_AGENT_PORT": str(agents.port),
        "HIGHWATER_AGENT_CA": f"{TRUST_PATH}/ca.crt",
        "HIGHWATER_AGENT_SERVER_NAME": agents.trust.name,
        "HIGHWATER_AGENT_TOKEN_FILE": f"{TOKEN_PATH}/token",
    }
    arguments = [*arguments_of(found), *(["--hand-over"] if context.judging.job else [])]
    container = {
        "name": RUNNER,
        "image": settings.image,
        "command": ["python3", "-P", "-m", "highwater_chaos.kubernetes_jobs.runner"],
        "args": arguments,
        "env": [{"name": name, "value": value} for name, value in environment.items()],
        "resources": {"requests": {"cpu": "200m", "memory": "256Mi"}, "limits": {"memory": "2Gi"}},
        "volumeMounts": [
            {"name": "token", "mountPath": TOKEN_PATH, "readOnly": True},
            {"name": "trust", "mountPath": TRUST_PATH, "readOnly": True},
        ],
    }
    token = {"name": "token", "secret": {"secretName": settings.token_secret, "defaultMode": 0o440}}
    trust = {"name": "trust", "configMap": {"name": settings.trust}}
    return job_manifest(
        found,
        run_job_name(metadata["uid"]),
        settings.namespace,
        with_claim(context, found, container),
        volumes=[token, trust, *claims(context)],
        attempts=1,
        seconds=seconds,
        grace=_GRACE_S,
        affinity=_BESIDE_RESETS if may_reset_machines(found) else None,
    )


def with_claim(context: ExperimentContext, found: Json, container: Json) -> Json:
    """The container with the folder of its experiment in the claim for recordings, if there is one."""
    claim, metadata = context.runners.recordings_claim, found["metadata"]
    if not claim:
        return container
    folder = f"{metadata['namespace']}/{metadata['uid']}"
    environment = {
        "HIGHWATER_RECORDINGS_DIRECTORY": RECORDINGS_PATH,
        "HIGHWATER_RECORDINGS_WHERE": f"claim {context.runners.namespace}/{claim}, folder {folder}",
    }
    mount = {"name": "recordings", "mountPath": RECORDINGS_PATH, "subPath": folder}
    return {
        **container,
        "env": [*container.get("env", []), *({"name": name, "value": value} for name, value in environment.items())],
        "volumeMounts": [*container.get("volumeMounts", []), mount],
    }


def claims(context: ExperimentContext) -> list[Json]:
    """The volume that goes with it."""
    claim = context.runners.recordings_claim
    return [{"name": "recordings", "persistentVolumeClaim": {"claimName": claim}}] if claim else []


def arguments_of(found: Json) -> list[str]:
    """Which experiment it is about, for the program in a Job."""
    metadata = found["metadata"]
    return ["--experiment", f"{metadata['namespace']}/{metadata['name']}", "--uid", metadata["uid"]]


def job_manifest(
    found: Json,
    name: str,
    namespace: str,
    container: Json,
    *,
    volumes: list[Json],
    attempts: int,
    seconds: int,
    grace: int = 10,
    affinity: Json | None = None,
) -> dict[str, Any]:
    """A Job about the experiment ``found``: unprivileged, on a read-only root with a ``/tmp``, bounded in time. It
    runs as the account of its own name, see :mod:`~highwater_operator.experiments.rights`."""
    metadata = found["metadata"]
    labels = labels_of(metadata["uid"], container["name"])
    whose = {EXPERIMENT_LABEL: f"{metadata['namespace']}/{metadata['name']}"}
    unprivileged = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    tmp = {"name": "tmp", "mountPath": "/tmp"}  # noqa: S108 - the container's own
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "labels": labels, "annotations": whose},
        "spec": {
            "backoffLimit": attempts - 1,
            "activeDeadlineSeconds": seconds,
            "ttlSecondsAfterFinished": _KEPT_S,
            "template": {
                "metadata": {"labels": labels, "annotations": whose},
                "spec": {
                    "serviceAccountName": name,
                    "automountServiceAccountToken": True,
                    "enableServiceLinks": False,
                    "restartPolicy": "Never",
                    **({} if affinity is None else {"affinity": affinity}),
                    "terminationGracePeriodSeconds": grace,
                    "securityContext": {
                        "runAsNonRoot": True,
                        "runAsUser": 10001,
                        "runAsGroup": 10001,
                        "fsGroup": 10001,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [
                        {
                            **container,
                            "imagePullPolicy": "IfNotPresent",
                            "securityContext": unprivileged,
                            # Its last lines, which say why there is no verdict.
                            "terminationMessagePolicy": "FallbackToLogsOnError",
                            "volumeMounts": [*container.get("volumeMounts", []), tmp],
                        }
                    ],
                    "volumes": [*volumes, {"name": "tmp", "emptyDir": {"sizeLimit": "4Gi"}}],
                },
            },
        },
    }


def why_ended(job: Json | None, pods: Sequence[Json] = ()) -> str | None:
    """Why a runner does nothing more, with how its pod ended; None: it has not ended."""
    if job is None:
        return "the runner's Job is gone"
    for condition in (job.get("status") or {}).get("conditions") or []:
        if condition["status"] == "True" and condition["type"] == "Failed":
            ends = [end for pod in pods if (end := end_of(pod)) is not None]
            last = f" ({ends[-1]})" if ends else ""
            return f"the runner ended without a verdict: {condition.get('reason')}: {condition.get('message')}{last}"
        if condition["status"] == "True" and condition["type"] == "Complete":
            return "the runner ended without a verdict"
    return None
