"""Everything that an experiment's journal has open is undone by the agents, and seen to be.

Each open fault's id is healed at *every* agent. The one that has the fault undoes it; all others take note that the id
must not come about any more, so that a request of a dying runner that is still on its way finds itself refused. Agents
act once on an id however often they are asked.

An agent that does not answer is asked again. Its faults end by themselves at their deadline; once that is well over,
they are let go, and it is said that nobody saw it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from highwater_chaos.backends.kubernetes.agents import OVER, AgentClient, AgentError
from highwater_operator.kube import Json

OPEN: Final = ("intent", "done")
_AFTER_DEADLINE: Final = timedelta(seconds=60)
_LONGEST: Final = 1000


@dataclass(frozen=True, slots=True)
class Healing:
    """What came of one round. ``journal``: with what was healed; ``left``: why what is left is left; ``unseen``: faults
    whose deadline is over and of which nobody saw that they are gone."""

    journal: list[Json]
    left: list[str]
    unseen: list[str]


def open_faults(journal: Sequence[Json]) -> list[Json]:
    """Entries of which something may be there."""
    return [entry for entry in journal if entry["state"] in OPEN]


async def heal(journal: Sequence[Json], agents: Mapping[str, AgentClient], now: datetime) -> Healing:
    """One round over all open faults, the latest first."""
    left: list[str] = []
    unseen: list[str] = []
    healed: dict[str, Json] = {}
    stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    for entry in reversed(open_faults(journal)):
        seen, problems = await _heal_one(entry["id"], agents)
        if seen is None and not problems and agents:
            seen = "no agent ever had it, and none will take it any more"
        if seen is None:
            why = "; ".join(problems) or "no agent is there"
            if now < _deadline(entry) + _AFTER_DEADLINE:
                left.append(f"{entry['id']} ({entry['step']}): {why}")
                continue
            unseen.append(entry["id"])
            seen = f"its deadline is over; nobody saw that it is gone: {why}"
        healed[entry["id"]] = {**entry, "state": "undone", "at": stamp, "evidence": seen[:_LONGEST]}
    return Healing([healed.get(entry["id"], entry) for entry in journal], left, unseen)


async def _heal_one(fault: str, agents: Mapping[str, AgentClient]) -> tuple[str | None, list[str]]:
    """What the agent that had it saw; None: no agent that answered had it. And what went wrong."""
    answers = await asyncio.gather(
        *(asyncio.to_thread(client.heal_fault, fault) for client in agents.values()), return_exceptions=True
    )
    seen: str | None = None
    problems: list[str] = []
    for node, answer in zip(agents, answers, strict=True):
        if isinstance(answer, AgentError):
            problems.append(f"node {node}: {answer}")
        elif isinstance(answer, BaseException):
            raise answer
        elif answer["state"] not in OVER:
            problems.append(f"node {node}: it is still {answer['state']}: {answer.get('error', '')}")
        elif answer.get("request") is not None:
            said = [str(one["saw"]) for one in answer.get("evidence") or [] if one.get("phase") == "heal"]
            seen = f"{answer['state']} at node {node}: {'; '.join(said) or 'over'}"
    return seen, problems


def _deadline(entry: Json) -> datetime:
    return datetime.fromisoformat(entry["deadline"] or entry["at"])
