"""Everything that a LogCluster consists of, in the order in which it is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from highwater_chaos.kube.kinds import Kind, kind_of
from highwater_operator.objects.agent_nodes import EVERYWHERE, AgentNodes
from highwater_operator.objects.config_map import config_map
from highwater_operator.objects.identity import Identity
from highwater_operator.objects.images import Images
from highwater_operator.objects.naming import Owner, roles_of
from highwater_operator.objects.protection import SYSTEM, disruption_budget, network_policy, service_account
from highwater_operator.objects.security import client_secret, harness_secret
from highwater_operator.objects.services import bootstrap_service, headless_service
from highwater_operator.objects.stateful_set import stateful_set


def names_of(owner: Owner) -> Iterator[tuple[Kind, str]]:
    """Kind and name of each: known before the identity of a cluster with ``spec.security`` is."""
    unknown = Identity(b"", {}, b"", "", 0)
    named = owner if owner.spec.security is None else owner._replace(identity=unknown)
    for manifest in objects_of(named, Images()):
        yield kind_of(manifest), manifest["metadata"]["name"]


def objects_of(
    owner: Owner, images: Images, agent_nodes: AgentNodes = EVERYWHERE, system: str = SYSTEM
) -> Iterator[dict[str, Any]]:
    """Complete manifests; a pod's configuration and address come before the pod. ``system``: the operator's own
    namespace."""
    yield service_account(owner)
    yield bootstrap_service(owner)
    if owner.spec.security is not None:
        yield client_secret(owner)
        yield harness_secret(owner)
    for role in roles_of(owner):
        yield headless_service(owner, role)
        yield config_map(owner, role)
        yield network_policy(owner, role, system)
        yield disruption_budget(owner, role)
        yield stateful_set(owner, role, images, agent_nodes)
