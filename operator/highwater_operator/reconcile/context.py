"""What a reconcile needs of the world; tests put in other things."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from highwater_operator.admin import OpenAdmin, wire_admin
from highwater_operator.kube import AsyncKube
from highwater_operator.objects.agent_nodes import EVERYWHERE, AgentNodes
from highwater_operator.objects.images import Images
from highwater_operator.objects.protection import SYSTEM


def now_utc() -> datetime:
    """The time of day, for conditions and Events."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds until a cluster is looked at again where no event brings it up before."""

    steady: float = 30.0
    """Nothing is under way: drift of what is not watched is found by then."""
    waiting: float = 5.0
    """Pods are to become ready, or a person has to act."""
    moving: float = 1.0
    """A step waits for the live cluster, which sends no events."""


@dataclass(frozen=True, slots=True)
class Context:
    """The API server, the way to live clusters, and the operator's own settings."""

    kube: AsyncKube
    images: Images
    open_admin: OpenAdmin = wire_admin
    pace: Pace = Pace()
    now: Callable[[], datetime] = now_utc
    has_agents: bool = True
    """Whether node agents are installed, which make crashable volumes."""
    agent_nodes: AgentNodes = EVERYWHERE
    system_namespace: str = SYSTEM
    """The operator's own, where runners are too."""
