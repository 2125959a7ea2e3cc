"""Keeps the identity of a LogCluster with ``spec.security``: reads its Secret, lets
:mod:`highwater_operator.certificates.cluster` decide, and writes.

While an experiment holds the LogCluster nothing is renewed that has time left: a rolling restart would disturb the run.
"""

from __future__ import annotations

import ssl
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from highwater_chaos.backends.kubernetes.reference import held_by
from highwater_chaos.kube.client import RefusedError
from highwater_chaos.kube.kinds import SECRET, STATEFUL_SET, Json
from highwater_operator.admin import AdminError
from highwater_operator.certificates.cluster import (
    HARNESS,
    ClusterHoldings,
    Request,
    decoded,
    due,
    encoded,
    first_of,
)
from highwater_operator.kube import AsyncKube
from highwater_operator.objects.naming import Owner, pod_name, replicas_of, roles_of, set_name
from highwater_operator.objects.security import USER, dns_names, identity_name, identity_secret
from highwater_operator.objects.stateful_set import IDENTITY
from highwater_operator.reconcile.observation import Observation, SecretsRefusedError, is_owned
from highwater_operator.reconcile.problems import Problem
from highwater_runtime.host.net.listeners import PLAINTEXT_OUTBOUND, OutboundSecurity

ROTATE_CERTIFICATES: Final = "highwater.dev/rotate-certificates"
ROTATE_AUTHORITY: Final = "highwater.dev/rotate-authority"
_LONGEST_VALUE: Final = 100


class Kept(NamedTuple):
    """``owner``: with its identity. ``ends``: when the first certificate ends. ``news``: what was done, if anything."""

    owner: Owner
    ends: datetime
    news: str = ""


def not_allowed(owner: Owner, system: str, why: str) -> Problem:
    """Why a cluster is refused in a namespace whose Secrets the operator, in namespace ``system``, may not have."""
    where, name = f"kubectl -n {owner.namespace}", "highwater-secrets"
    return Problem(
        "SecretsNotAllowed",
        f"spec.security needs Secrets, and Highwater may have none in this namespace ({why}). Whoever administers it"
        f" allows it: {where} create role {name} --verb=get,create,patch --resource=secrets && {where} create"
        f" rolebinding {name} --role={name} --serviceaccount={system}:highwater-operator",
    )


async def keep_identity(
    kube: AsyncKube, owner: Owner, resource: Json, seen: Observation, now: datetime
) -> Kept | Problem:
    """Look once, and take the next step, if one is due.

    Raises:
        KubeError: the API server does not answer. ConflictError: the Secret has changed since it was read.
        SecretsRefusedError: it may not be read or written.
    """
    try:
        return await _keep(kube, owner, resource, seen, now)
    except RefusedError as error:
        raise SecretsRefusedError(str(error)) from error


async def _keep(kube: AsyncKube, owner: Owner, resource: Json, seen: Observation, now: datetime) -> Kept | Problem:
    name = identity_name(owner)
    found = await kube.get(SECRET, owner.namespace, name)
    request, names = _request(resource), _names(owner, seen)
    if found is None:
        if any(seen.set_of(owner, role) is not None for role in roles_of(owner)):
            return Problem("IdentityMissing", f"Secret {name} was deleted, {_WITHOUT}: restore it, {_OR_ELSE}")
        made = first_of(owner.name, names, request, now)
        await kube.create(identity_secret(owner, encoded(made)))
        return _kept(owner, made, f"made an authority and {len(names)} certificates of nodes: Secret {name}")
    if not is_owned(found, owner):
        return Problem(
            "NameTaken",
            f"Secret {name} is there and does not belong to this LogCluster: delete it, or give the LogCluster another"
            " name",
        )
    try:
        held = decoded(_data(found))
    except ValueError as error:
        return Problem("IdentityUnreadable", f"Secret {name}: {error}; {_WITHOUT}: restore it, {_OR_ELSE}")
    settled = not held_by(resource) and _is_settled(owner, seen, held)
    wanted = due(held, owner.name, names, request, now, settled=settled)
    if wanted == held:
        return _kept(owner, held)
    data = identity_secret(owner, encoded(wanted))["data"]
    gone = dict.fromkeys(set(found.get("data") or {}) - set(data))
    version = {"resourceVersion": found["metadata"]["resourceVersion"]}
    await kube.patch(SECRET, owner.namespace, name, {"metadata": version, "data": {**data, **gone}})
    return _kept(owner, wanted, _news(held, wanted))


async def with_identity(kube: AsyncKube, owner: Owner) -> Owner:
    """The cluster with its identity as it is, for who only talks to it.

    Raises:
        AdminError: it has none that can be read.
    """
    if owner.spec.security is None:
        return owner
    name = identity_name(owner)
    found = await kube.get(SECRET, owner.namespace, name)
    if found is None or not is_owned(found, owner):
        raise AdminError(f"there is no Secret {name} of the LogCluster")
    try:
        return owner._replace(identity=decoded(_data(found)).identity())
    except ValueError as error:
        raise AdminError(f"Secret {name}: {error}") from error


def to_brokers(owner: Owner) -> OutboundSecurity:
    """How the operator meets the brokers of a cluster."""
    identity, security = owner.identity, owner.spec.security
    if security is None or identity is None:
        return PLAINTEXT_OUTBOUND
    from highwater_runtime.host.security.client import SaslClient  # noqa: PLC0415 - scramp is slow to import

    context = ssl.create_default_context(cadata=identity.trusted.decode())
    client = SaslClient(security.mechanism, USER, identity.password)
    return OutboundSecurity(context, lambda _: client)


_WITHOUT: Final = "without which no node can be made that the others trust"
_OR_ELSE: Final = "or delete the LogCluster and make it again"


def _kept(owner: Owner, held: ClusterHoldings, news: str = "") -> Kept:
    return Kept(owner._replace(identity=held.identity()), held.ends, news)


def _request(resource: Json) -> Request:
    annotations = resource["metadata"].get("annotations") or {}
    return Request(*(str(annotations.get(one, ""))[:_LONGEST_VALUE] for one in (ROTATE_CERTIFICATES, ROTATE_AUTHORITY)))


def _names(owner: Owner, seen: Observation) -> dict[str, tuple[str, ...]]:
    """DNS names by pod: of those that there should be, and of those that there are."""
    found: dict[str, tuple[str, ...]] = {}
    for role in roles_of(owner):
        live = seen.set_of(owner, role)
        count = max(replicas_of(owner, role), 0 if live is None else live.replicas)
        found |= {pod_name(owner, role, index): dns_names(owner, role, index) for index in range(count)}
    return found


def _is_settled(owner: Owner, seen: Observation, held: ClusterHoldings) -> bool:
    """Whether every pod runs with what is held."""
    for role in roles_of(owner):
        found, live = seen.objects.get((STATEFUL_SET.kind, set_name(owner, role))), seen.set_of(owner, role)
        if found is None or live is None or live.update_revision is None:
            return False
        template = found["spec"]["template"]["metadata"].get("annotations") or {}
        if template.get(IDENTITY) != str(held.batch):
            return False
        pods = [pod for pod in seen.pods if pod.role == role and pod.index < live.replicas]
        current = [pod for pod in pods if pod.ready and not pod.terminating and pod.revision == live.update_revision]
        if len(current) < live.replicas:
            return False
    return True


def _data(found: Json) -> Mapping[str, bytes]:
    try:
        return {name: b64decode(text, validate=True) for name, text in (found.get("data") or {}).items()}
    except Base64Error as error:
        raise ValueError("it is no base 64") from error


def _news(held: ClusterHoldings, wanted: ClusterHoldings) -> str:
    if len(wanted.authorities) > len(held.authorities):
        return "made another authority: nodes are restarted to trust it, before it signs"
    if len(wanted.authorities) < len(held.authorities):
        return "all certificates are of the new authority: nodes are restarted to trust no other"
    if wanted.batch != held.batch:
        return f"issued all certificates again, until {wanted.ends:%Y-%m-%d}: nodes are restarted with them"
    joined = sorted(set(wanted.certificates) - set(held.certificates) - {HARNESS})
    return f"issued certificates for {', '.join(joined)}" if joined else "issued certificates with other names"
