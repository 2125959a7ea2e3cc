"""Everything that an experiment's journal has open is undone by the agents, and seen to be.

Each open fault's id is healed at *every* agent. The one that has the fault undoes it; all others take note that the id
must not come about any more, so that a request of a dying runner that is still on its way finds itself refused. Agents
act once on an id however often they are asked, so that operator and ``highwater heal`` may do this at the same time.

An agent that does not answer is asked again in the next round: of many faults it holds up each round but once. Its
faults end by themselves at their deadline; once that is well over, they are given up, and the status says that their
end was not confirmed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from highwater_chaos.backends.kubernetes.agents import OVER, AgentClient, AgentError
from highwater_chaos.kube.kinds import Json

OPEN: Final = ("intent", "done")
NEVER_HAD: Final = "no agent ever had it"
NOT_SEEN: Final = "its end was not confirmed"
_AFTER_DEADLINE: Final = timedelta(seconds=60)
_LONGEST: Final = 1000
_THREADS: Final = 16


@dataclass(frozen=True, slots=True)
class Healing:
    """What came of one round. ``journal``: with what was healed; ``left``: why what is left is left."""

    journal: list[Json]
    left: list[str]


def run_job_name(uid: str) -> str:
    """Name of the Job that runs the experiment with this uid."""
    return f"highwater-run-{uid}"


def judge_job_name(uid: str) -> str:
    """Name of the Job that judges it."""
    return f"highwater-judge-{uid}"


def homes_of(pods: Sequence[Json]) -> set[str]:
    """Nodes on which pods (manifests) are."""
    return {str((pod.get("spec") or {}).get("nodeName") or "") for pod in pods} - {""}


def open_faults(journal: Sequence[Json]) -> list[Json]:
    """Entries of which something may be there."""
    return [entry for entry in journal if entry["state"] in OPEN]


def unseen_faults(journal: Sequence[Json]) -> list[str]:
    """Ids of the faults of which nobody saw that they are gone: given up at their deadline, or undone in vain."""
    return [entry["id"] for entry in journal if NOT_SEEN in (entry.get("evidence") or "")]


def heal(journal: Sequence[Json], agents: Mapping[str, AgentClient], homes: Set[str], now: datetime) -> Healing:
    """One round over all open faults, the latest first. Blocks while agents look for evidence.

    Args:
        journal: the experiment's.
        agents: those that can be asked, by their nodes.
        homes: nodes with pods of the cluster. If the agent of one, or of a node in the journal, is not there (it
            is being replaced), nobody can say that no agent ever had a fault.
        now: the time.
    """
    left: list[str] = []
    healed: dict[str, Json] = {}
    asked = {entry["node"] for entry in open_faults(journal) if entry.get("node")}
    silent = dict.fromkeys(sorted((homes | asked) - agents.keys()), "no agent is there")
    stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="heal") as threads:
        for entry in reversed(open_faults(journal)):
            seen, problems = _heal_one(entry["id"], agents, threads, silent)
            if seen is None and not problems and agents:
                seen = f"{NEVER_HAD}, and none will take it any more"
            if seen is None:
                why = "; ".join(problems) or "no agent is there"
                if now < _deadline(entry) + _AFTER_DEADLINE:
                    left.append(f"{entry['id']} ({entry['step']}): {why}")
                    continue
                seen = f"its deadline is over; {NOT_SEEN}: {why}"
            healed[entry["id"]] = {**entry, "state": "undone", "at": stamp, "evidence": seen[:_LONGEST]}
    return Healing([healed.get(entry["id"], entry) for entry in journal], left)


def end_of(record: Json, node: str) -> str:
    """Return how a fault ended, by its agent's record, in words; among them :data:`NOT_SEEN` if its probe saw something
    else than its end."""
    looks = [one for one in record.get("evidence") or [] if one.get("phase") == "heal"]
    wrong = "" if all(one.get("confirmed") for one in looks) else f"{NOT_SEEN}: "
    return f"{record['state']} at node {node}: {wrong}{'; '.join(str(one['saw']) for one in looks) or 'over'}"


def _heal_one(
    fault: str, agents: Mapping[str, AgentClient], threads: ThreadPoolExecutor, silent: dict[str, str]
) -> tuple[str | None, list[str]]:
    """What the agent that had it saw; None: no agent that answered had it. And what went wrong. Agents in ``silent``,
    by their nodes, are not asked; those that do not answer join them."""
    asked = {node: threads.submit(client.heal_fault, fault) for node, client in agents.items() if node not in silent}
    seen: str | None = None
    problems = [f"node {node}: {why}" for node, why in silent.items()]
    for node, answer in asked.items():
        try:
            record = answer.result()
        except AgentError as error:
            problems.append(f"node {node}: {error}")
            if error.status in (0, 503):
                silent[node] = str(error)
            continue
        if record["state"] not in OVER:
            problems.append(f"node {node}: it is still {record['state']}: {record.get('error', '')}")
        elif record.get("request") is not None:
            seen = end_of(record, node)
    return seen, problems


def _deadline(entry: Json) -> datetime:
    return datetime.fromisoformat(entry["deadline"] or entry["at"])
