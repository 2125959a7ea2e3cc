"""What serving experiments needs of the world; tests put in other things."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from highwater_chaos.backends.kubernetes.agents import AgentSettings
from highwater_operator.admin import OpenAdmin, wire_admin
from highwater_operator.kube import Kube
from highwater_operator.reconcile.context import now_utc

TOKEN_PATH: Final = "/etc/highwater/agent"  # noqa: S105 - a path


@dataclass(frozen=True)
class RunnerSettings:
    """How runners are started: in the operator's own namespace, where the agents' token is, so that whoever may create
    experiments does not get to see it."""

    namespace: str
    image: str = "highwater/operator:0.1.0"
    service_account: str = "highwater-runner"
    token_secret: str = "highwater-agent-token"  # noqa: S105 - a Secret's name

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> RunnerSettings:
        """``POD_NAMESPACE``, ``HIGHWATER_RUNNER_IMAGE``, ``…_RUNNER_SERVICE_ACCOUNT``, ``…_AGENT_TOKEN_SECRET``."""
        return cls(
            namespace=environment.get("POD_NAMESPACE") or "highwater-system",
            image=environment.get("HIGHWATER_RUNNER_IMAGE") or cls.image,
            service_account=environment.get("HIGHWATER_RUNNER_SERVICE_ACCOUNT") or cls.service_account,
            token_secret=environment.get("HIGHWATER_AGENT_TOKEN_SECRET") or cls.token_secret,
        )


@dataclass(frozen=True, slots=True)
class ExperimentPace:
    """Seconds until an experiment is looked at again where no event brings it up before."""

    running: float = 5.0
    ending: float = 1.0
    healing: float = 3.0
    cluster_ready_within: float = 120.0
    """How long an experiment waits for the LogCluster that it refers to."""
    give_back_within: float = 120.0
    """How long its topics there are tried to be deleted, before it is given back without."""


@dataclass(frozen=True, slots=True)
class ExperimentContext:
    """The API server, runners, agents. ``told``: what was told of each experiment by this operator, by uid."""

    kube: Kube
    runners: RunnerSettings
    agents: AgentSettings
    pace: ExperimentPace = ExperimentPace()
    now: Callable[[], datetime] = now_utc
    told: dict[str, str] = field(default_factory=dict)
    open_admin: OpenAdmin = wire_admin
