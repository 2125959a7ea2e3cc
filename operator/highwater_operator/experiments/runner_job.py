"""The Job that runs one experiment: one attempt, since nobody can go on where a runner ended."""

from __future__ import annotations

from typing import Any, Final

from highwater_chaos.experiment import ChaosExperiment
from highwater_operator.experiments.context import TOKEN_PATH, ExperimentContext
from highwater_operator.kube import Json
from highwater_runtime.ports import SECOND

UID_LABEL: Final = "highwater.dev/experiment-uid"
NAME_ANNOTATION: Final = "highwater.dev/experiment"
_AROUND_S: Final = 2400
"""Beyond the run's own timeout: pulling images and coming up, recovery, final reads, dumps, judging."""
_KEPT_S: Final = 3600


def job_name(uid: str) -> str:
    """By the experiment's uid: names of experiments of different namespaces may be equal."""
    return f"highwater-run-{uid}"


def runner_job(context: ExperimentContext, found: Json, experiment: ChaosExperiment) -> dict[str, Any]:
    """The manifest. It has no owner: an owner in another namespace cannot be; the operator deletes it."""
    metadata, settings, agents = found["metadata"], context.runners, context.agents
    labels = {
        "app.kubernetes.io/name": "highwater",
        "app.kubernetes.io/component": "runner",
        "app.kubernetes.io/managed-by": "highwater-operator",
        "app.kubernetes.io/part-of": "highwater",
        UID_LABEL: metadata["uid"],
    }
    whose = {NAME_ANNOTATION: f"{metadata['namespace']}/{metadata['name']}"}
    seconds = (experiment.spec.timeout + experiment.spec.recovery) // SECOND + _AROUND_S
    environment = {
        "HIGHWATER_AGENT_NAMESPACE": agents.namespace,
        "HIGHWATER_AGENT_SELECTOR": agents.selector,
        "HIGHWATER_AGENT_PORT": str(agents.port),
        "HIGHWATER_AGENT_SCHEME": agents.scheme,
        "HIGHWATER_AGENT_TOKEN_FILE": f"{TOKEN_PATH}/token",
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": job_name(metadata["uid"]),
            "namespace": settings.namespace,
            "labels": labels,
            "annotations": whose,
        },
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": seconds,
            "ttlSecondsAfterFinished": _KEPT_S,
            "template": {
                "metadata": {"labels": labels, "annotations": whose},
                "spec": {
                    "serviceAccountName": settings.service_account,
                    "automountServiceAccountToken": True,
                    "enableServiceLinks": False,
                    "restartPolicy": "Never",
                    "terminationGracePeriodSeconds": 10,
                    "securityContext": {
                        "runAsNonRoot": True,
                        "runAsUser": 10001,
                        "runAsGroup": 10001,
                        "fsGroup": 10001,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [
                        {
                            "name": "runner",
                            "image": settings.image,
                            "imagePullPolicy": "IfNotPresent",
                            "command": ["python3", "-m", "highwater_chaos.backends.kubernetes.runner"],
                            "args": [
                                "--experiment",
                                f"{metadata['namespace']}/{metadata['name']}",
                                "--uid",
                                metadata["uid"],
                            ],
                            "env": [{"name": name, "value": value} for name, value in environment.items()],
                            "resources": {
                                "requests": {"cpu": "200m", "memory": "256Mi"},
                                "limits": {"memory": "2Gi"},
                            },
                            "securityContext": {
                                "allowPrivilegeEscalation": False,
                                "readOnlyRootFilesystem": True,
                                "capabilities": {"drop": ["ALL"]},
                            },
                            "volumeMounts": [
                                {"name": "token", "mountPath": TOKEN_PATH, "readOnly": True},
                                {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - the container's own
                            ],
                        }
                    ],
                    "volumes": [
                        {"name": "token", "secret": {"secretName": settings.token_secret, "defaultMode": 0o440}},
                        {"name": "tmp", "emptyDir": {"sizeLimit": "4Gi"}},
                    ],
                },
            },
        },
    }


def why_ended(job: Json | None) -> str | None:
    """Why a runner does nothing more; None: it has not ended."""
    if job is None:
        return "the runner's Job is gone"
    for condition in (job.get("status") or {}).get("conditions") or []:
        if condition["status"] == "True" and condition["type"] == "Failed":
            return f"the runner ended without a verdict: {condition.get('reason')}: {condition.get('message')}"
        if condition["status"] == "True" and condition["type"] == "Complete":
            return "the runner ended without a verdict"
    return None
