"""How the machines of a run were, as their agents have it: a file of the run directory."""

from __future__ import annotations

import json
from collections.abc import Iterable

from highwater_chaos.backends.kubernetes.agents import AgentClient, AgentError
from highwater_chaos.backends.kubernetes.watched_cluster import WatchedCluster
from highwater_chaos.kube.client import KubeError


def machine_rows(agents: Iterable[AgentClient], since: int, cluster: WatchedCluster) -> bytes:
    """Lines of ``machines.jsonl`` (:mod:`highwater_chaos.base.machine_record`): each machine once, since a time in
    seconds since the epoch, and each pod with a new disk. What does not answer, or is too old, has a row that says so.
    """
    lines = []
    try:
        lines += [json.dumps({"pod": pod, "newDisks": count}) for pod, count in sorted(cluster.new_disks().items())]
    except KubeError as error:
        lines.append(json.dumps({"cluster": "its disks are not known", "error": str(error)[:300]}))
    for url, agent in {agent.url: agent for agent in agents}.items():
        try:
            lines += [json.dumps(row) for row in agent.machine(since)]
        except AgentError as error:
            lines.append(json.dumps({"agent": url, "error": str(error)[:300]}))
    return "".join(f"{line}\n" for line in lines).encode()
