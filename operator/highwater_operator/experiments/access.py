"""What a runner needs to get into a LogCluster with ``spec.security``: a copy of its Secret ``NAME-harness``.

A Secret can be mounted only in its own namespace, and the runner has no right to read any. The copy belongs to the
account of the run, which the operator deletes when the run has ended, and goes with it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from highwater_chaos.backends.kubernetes.access import DIRECTORY
from highwater_chaos.kube.client import ConflictError, KubeError
from highwater_chaos.kube.kinds import SECRET, SERVICE_ACCOUNT, Json
from highwater_operator.admin import AdminError
from highwater_operator.experiments.context import ExperimentContext
from highwater_operator.objects.naming import Owner
from highwater_operator.objects.security import harness_secret_name
from highwater_operator.reconcile.observation import is_owned

ACCESS_PATH: Final = "/etc/highwater/cluster"


async def access_to(context: ExperimentContext, owner: Owner) -> Json | None:
    """The data of the Secret; None: the cluster asks for nothing.

    Raises:
        AdminError: it is not there, or may not be read.
    """
    if owner.spec.security is None:
        return None
    name = harness_secret_name(owner)
    try:
        found = await context.kube.get(SECRET, owner.namespace, name)
    except KubeError as error:
        raise AdminError(f"Secret {name} of LogCluster {owner.name} cannot be read: {error}") from error
    if found is None or not is_owned(found, owner):
        raise AdminError(f"there is no Secret {name} of LogCluster {owner.name}")
    data: Json = found.get("data") or {}
    return data


async def hand_out(context: ExperimentContext, account: Json, data: Json, job: Json) -> Json:
    """Make the copy, which belongs to the ``account`` of the run; returns the Job that mounts it."""
    metadata = account["metadata"]
    name = f"{metadata['name']}-{metadata['uid'][:8]}"
    owner = {"apiVersion": SERVICE_ACCOUNT.api_version, "kind": SERVICE_ACCOUNT.kind}
    owner |= {"name": metadata["name"], "uid": metadata["uid"]}
    about = {"name": name, "namespace": metadata["namespace"], "labels": metadata["labels"], "ownerReferences": [owner]}
    # There already: by an attempt that was interrupted. Nothing is rotated while an experiment holds the cluster.
    with suppress(ConflictError):
        await context.kube.create({"apiVersion": "v1", "kind": SECRET.kind, "metadata": about, "data": data})
    return with_access(job, name)


def with_access(job: Json, secret: str) -> Json:
    """The Job, with the Secret's files."""
    template = job["spec"]["template"]
    (container,) = template["spec"]["containers"]
    mounted = {
        **container,
        "env": [*container["env"], {"name": DIRECTORY, "value": ACCESS_PATH}],
        "volumeMounts": [*container["volumeMounts"], {"name": "cluster", "mountPath": ACCESS_PATH, "readOnly": True}],
    }
    volume = {"name": "cluster", "secret": {"secretName": secret, "defaultMode": 0o440}}
    spec = {**template["spec"], "containers": [mounted], "volumes": [*template["spec"]["volumes"], volume]}
    return {**job, "spec": {**job["spec"], "template": {**template, "spec": spec}}}
