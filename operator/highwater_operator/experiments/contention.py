"""Which experiments must not be under way together, in whichever namespaces they are.

Two on the same cluster: they have a pod in common, the same cluster id, or, if Kafka did not answer with one, an
address. And two with pods on the same machine, if one of them may drain or reset machines: what is evicted finds no
place on a machine that another experiment has cordoned, and a reset hits all pods of a machine.

An experiment holds what it touches from before it is Pending until it is Completed, and its topics on a cluster of
others are deleted. The operator ends one whose runner has died, so none holds anything for ever. To look and to write
``Pending`` is one step under :attr:`~.context.ExperimentContext.accepting`: of two, one comes second.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final

from highwater_chaos.backends.kubernetes.foreign.reference import foreign_reference_of
from highwater_chaos.backends.kubernetes.healing import homes_of
from highwater_chaos.backends.kubernetes.journal import FINAL_PHASES
from highwater_chaos.backends.kubernetes.reference import reference_of
from highwater_chaos.faults.drain import Drain
from highwater_chaos.faults.node_reboot import NodeReboot
from highwater_chaos.kube.cluster_id import cluster_id_of
from highwater_chaos.kube.kinds import CHAOS_EXPERIMENT, CLUSTER_LABEL, LOG_CLUSTER, POD, Json
from highwater_operator.experiments.acceptance import Rejection
from highwater_operator.experiments.borrowed_cluster import WAITING, Waiting
from highwater_operator.experiments.context import ExperimentContext
from highwater_runtime.host.security.client_config import endpoints

WAITS_FOR_MACHINES: Final = "WaitingForMachines"
_DNS_WITHIN: Final = 5.0


@dataclass(frozen=True, slots=True)
class Reach:
    """What an experiment touches. ``machines``: names of nodes; None: its pods have none yet, so it may be any.
    ``cluster_id``, ``addresses``: of the Kafka; empty: not known, or not asked for."""

    pods: frozenset[str]
    machines: frozenset[str] | None
    takes_machines: bool
    cluster_id: str
    addresses: frozenset[tuple[str, int]] = frozenset()

    def is_on_the_cluster_of(self, other: Reach) -> bool:
        """Whether both are on the same cluster."""
        if self.pods & other.pods:
            return True
        if self.cluster_id and other.cluster_id:
            return self.cluster_id == other.cluster_id
        return bool(self.addresses & other.addresses)

    def shares_machines_with(self, other: Reach) -> frozenset[str] | None:
        """Machines on which both have pods, or may have; None: which is not known yet."""
        if self.machines is None or other.machines is None:
            return None
        return self.machines & other.machines


async def experiments(context: ExperimentContext) -> list[Json]:
    """All experiments of the namespaces that are served."""
    lists = [await context.kube.list(CHAOS_EXPERIMENT, one) for one in context.namespaces or (None,)]
    return [found for items in lists for found in items]


async def why_not_now(context: ExperimentContext, found: Json, cluster_id: str) -> Rejection | Waiting | None:
    """Why an experiment cannot be accepted beside those under way; None: it can.

    Args:
        found: the experiment.
        cluster_id: of the cluster of others that it is on, as Kafka answered; empty: not known, or it is on none.
    """
    others = [one for one in await experiments(context) if one["metadata"]["uid"] != found["metadata"]["uid"]]
    held = [one for one in others if _holds(one)]
    if not held:
        return None
    own = await _reach(context, found, cluster_id)
    for other in held:
        conflict = _conflict(found, own, other, await _reach(context, other, ""))
        if conflict is not None:
            return conflict
    return None


def may_take_machines(found: Json) -> bool:
    """Whether an experiment's schedule may drain or reset a machine."""
    return not {Drain.KIND, NodeReboot.KIND}.isdisjoint(_words(found["spec"].get("schedule") or []))


def may_reset_machines(found: Json) -> bool:
    """Whether it may reset one."""
    return NodeReboot.KIND in _words(found["spec"].get("schedule") or [])


def _conflict(found: Json, own: Reach, other: Json, theirs: Reach) -> Rejection | Waiting | None:
    who = f"chaosexperiment {other['metadata']['namespace']}/{other['metadata']['name']}"
    reference = foreign_reference_of(found)
    # Two that name a LogCluster: that one's status says who holds it.
    by_name = reference is None and foreign_reference_of(other) is None
    if not by_name and own.is_on_the_cluster_of(theirs):
        what = "its LogCluster" if reference is None else reference.what
        if (other.get("status") or {}).get("phase") in FINAL_PHASES:
            return Waiting(WAITING, f"{what}: {who} is over, and its topics are being deleted")
        return Rejection(
            "ClusterHeld",
            f"{what} has {who} on it, and takes one at a time: apply this one again when that is Completed",
        )
    shared = own.shares_machines_with(theirs)
    if not (own.takes_machines or theirs.takes_machines) or shared == frozenset():
        return None
    where = "machines that are not known yet" if shared is None else f"machine {', '.join(sorted(shared))}"
    which = "that" if theirs.takes_machines else "this one"
    return Waiting(
        WAITS_FOR_MACHINES, f"{who} has pods on {where} too, and {which} may drain or reset machines: waits for its end"
    )


def _holds(found: Json) -> bool:
    status = found.get("status") or {}
    phase = status.get("phase") or ""
    return phase not in ("", *FINAL_PHASES) or bool((status.get("ownTopics") or {}).get("names"))


async def _reach(context: ExperimentContext, found: Json, cluster_id: str) -> Reach:
    namespace, name = found["metadata"]["namespace"], reference_of(found) or found["metadata"]["name"]
    reference = foreign_reference_of(found)
    if reference is None:
        labels = {CLUSTER_LABEL: name}
        cluster = await context.kube.get(LOG_CLUSTER, namespace, name)
        cluster_id = "" if cluster is None else cluster_id_of(cluster["metadata"]["uid"])
        bootstrap = str(((cluster or {}).get("status") or {}).get("bootstrap") or "")
    else:
        labels, bootstrap = reference.labels, reference.bootstrap
        cluster_id = cluster_id or str((found.get("status") or {}).get("clusterId") or "")
    pods = await context.kube.list(POD, namespace, labels) if labels else []
    homes: frozenset[str] | None = frozenset(homes_of(pods))
    if reference is None and not homes:
        homes = None
    uids = frozenset(str(pod["metadata"]["uid"]) for pod in pods)
    return Reach(uids, homes, may_take_machines(found), cluster_id, await addresses_of(bootstrap))


async def addresses_of(bootstrap: str) -> frozenset[tuple[str, int]]:
    """What bootstrap servers resolve to; the name itself, without case and final dot, where it does not resolve."""
    try:
        servers = endpoints(bootstrap)
    except ValueError:
        return frozenset()
    answers = await asyncio.gather(*(_resolved(host) for host, _ in servers))
    return frozenset((one, port) for (_, port), found in zip(servers, answers, strict=True) for one in found)


async def _resolved(host: str) -> set[str]:
    asking = asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    try:
        answers = await asyncio.wait_for(asking, _DNS_WITHIN)
    except (OSError, UnicodeError):  # a timeout is an OSError
        return {host.lower().rstrip(".")}
    found = {ip_address(str(address[0]).partition("%")[0]) for *_, address in answers}
    return {str(getattr(one, "ipv4_mapped", None) or one) for one in found}


def _words(part: Any) -> Iterator[str]:
    match part:
        case dict():
            for key, value in part.items():
                yield str(key)
                yield from _words(value)
        case list():
            for one in part:
                yield from _words(one)
        case str():
            yield part
