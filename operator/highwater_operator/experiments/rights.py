"""What the Jobs of one experiment may do, and for how long.

Each has a ServiceAccount of its own in the runners' namespace. Before it starts, the operator binds that account to the
role of runners (or of judges) in the namespace of the experiment, and nowhere else; when it has ended, the account is
deleted, and with it all that its tokens were good for. The bindings in the experiment's namespace belong to the
experiment and go with it: no right to delete bindings there is asked for.
"""

from __future__ import annotations

from typing import Any, Final

from highwater_chaos.backends.kubernetes.healing import judge_job_name, run_job_name
from highwater_chaos.kube.kinds import API_VERSION, JOB, ROLE_BINDING, SERVICE_ACCOUNT, Json
from highwater_operator.experiments.access import hand_out
from highwater_operator.experiments.context import ExperimentContext
from highwater_operator.experiments.runner_job import RUNNER, account_of, labels_of

_RBAC: Final = "rbac.authorization.k8s.io"


async def start(context: ExperimentContext, found: Json, component: str, job: Json, access: Json | None = None) -> None:
    """Make the account, bind it, and create the Job; each step may be done already. ``access``: what the runner needs
    to get into the cluster; None: nothing."""
    kube, namespace = context.kube, context.runners.namespace
    account = _account(context, found, component)
    pattern = await kube.get(SERVICE_ACCOUNT, namespace, account_of(context, component))
    if pattern is not None and pattern.get("imagePullSecrets"):
        account["imagePullSecrets"] = pattern["imagePullSecrets"]
    made = await kube.apply(account)
    if access is not None:
        job = await hand_out(context, made, access, job)
    for manifest in (*_bindings(context, found, component), job):
        await kube.apply(manifest)


async def withdraw(context: ExperimentContext, uid: str, *components: str) -> None:
    """Take them back from these Jobs, which have ended."""
    kube, namespace = context.kube, context.runners.namespace
    for component in components:
        name = _name(uid, component)
        if await kube.get(SERVICE_ACCOUNT, namespace, name) is None:
            continue
        if component == RUNNER:
            await kube.delete(ROLE_BINDING, namespace, _to_agents(name))
        await kube.delete(SERVICE_ACCOUNT, namespace, name)


async def withdraw_from_ended(context: ExperimentContext, uid: str, *components: str) -> bool:
    """The same, of those that have ended; whether all have."""
    ended = [one for one in components if await _has_ended(context, _name(uid, one))]
    await withdraw(context, uid, *ended)
    return len(ended) == len(components)


async def _has_ended(context: ExperimentContext, job: str) -> bool:
    found = await context.kube.get(JOB, context.runners.namespace, job)
    conditions = ((found or {}).get("status") or {}).get("conditions") or []
    return found is None or any(one["type"] in ("Complete", "Failed") and one["status"] == "True" for one in conditions)


def _name(uid: str, component: str) -> str:
    """Of the account, as of its Job and its bindings."""
    return run_job_name(uid) if component == RUNNER else judge_job_name(uid)


def _to_agents(name: str) -> str:
    """Name of the binding in the runners' namespace, which may be that of the experiment too."""
    return f"{name}-agents"


def _account(context: ExperimentContext, found: Json, component: str) -> dict[str, Any]:
    uid = found["metadata"]["uid"]
    metadata = {"name": _name(uid, component), "namespace": context.runners.namespace}
    return {
        "apiVersion": SERVICE_ACCOUNT.api_version,
        "kind": SERVICE_ACCOUNT.kind,
        "metadata": {**metadata, "labels": labels_of(uid, component)},
        "automountServiceAccountToken": False,
    }


def _bindings(context: ExperimentContext, found: Json, component: str) -> list[dict[str, Any]]:
    owner, role = found["metadata"], account_of(context, component)
    name, labels = _name(owner["uid"], component), labels_of(owner["uid"], component)
    owned = {
        "name": name,
        "namespace": owner["namespace"],
        "labels": labels,
        "ownerReferences": [
            {"apiVersion": API_VERSION, "kind": "ChaosExperiment", "name": owner["name"], "uid": owner["uid"]}
        ],
    }
    made = [_binding(context, owned, name, context.runners.role_kind, role)]
    if component == RUNNER:
        beside = {"name": _to_agents(name), "namespace": context.runners.namespace, "labels": labels}
        made.append(_binding(context, beside, name, "Role", f"{role}-agents"))
    return made


def _binding(context: ExperimentContext, metadata: Json, account: str, kind: str, role: str) -> dict[str, Any]:
    return {
        "apiVersion": ROLE_BINDING.api_version,
        "kind": ROLE_BINDING.kind,
        "metadata": metadata,
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": role},
        "subjects": [{"kind": SERVICE_ACCOUNT.kind, "name": account, "namespace": context.runners.namespace}],
    }
