"""What serving experiments needs of the world; tests put in other things."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from highwater_chaos.backends.kubernetes.agents import AgentSettings
from highwater_chaos.kube.kinds import Json
from highwater_operator.admin import OpenAdmin, wire_admin
from highwater_operator.kube import AsyncKube
from highwater_operator.reconcile.context import now_utc

TOKEN_PATH: Final = "/etc/highwater/agent"  # noqa: S105 - a path
TRUST_PATH: Final = "/etc/highwater/agent-ca"


@dataclass(frozen=True)
class RunnerSettings:
    """How runners are started: in the operator's own namespace, where the agents' token is, so that a user who may
    create experiments does not get to see it."""

    namespace: str
    image: str = "highwater/operator:0.2.0"
    service_account: str = "highwater-runner"
    """Its name is that of the runners' role too; see :mod:`~highwater_operator.experiments.rights`."""
    role_kind: str = "ClusterRole"
    """What the roles of runners and judges are; ``Role``: there is one in each namespace that is served."""
    recordings_claim: str = ""
    """A PersistentVolumeClaim for recordings that ConfigMaps do not take."""
    token_secret: str = "highwater-agent-token"  # noqa: S105 - a Secret's name
    trust: str = "highwater-agent-tls"
    """The ConfigMap with what agents' callers trust."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> RunnerSettings:
        """``POD_NAMESPACE``, ``HIGHWATER_RUNNER_IMAGE``, ``…_RUNNER_SERVICE_ACCOUNT``, ``…_RUNNER_ROLE_KIND``,
        ``…_AGENT_TOKEN_SECRET``, ``…_AGENT_TLS_SECRET``, ``…_RECORDINGS_CLAIM``.

        Raises:
            ValueError: one of them is not what it can be.
        """
        role_kind = environment.get("HIGHWATER_RUNNER_ROLE_KIND") or cls.role_kind
        if role_kind not in ("Role", "ClusterRole"):
            raise ValueError(f"HIGHWATER_RUNNER_ROLE_KIND: expected Role or ClusterRole, found {role_kind!r}")
        return cls(
            namespace=environment.get("POD_NAMESPACE") or "highwater-system",
            image=environment.get("HIGHWATER_RUNNER_IMAGE") or cls.image,
            service_account=environment.get("HIGHWATER_RUNNER_SERVICE_ACCOUNT") or cls.service_account,
            role_kind=role_kind,
            recordings_claim=environment.get("HIGHWATER_RECORDINGS_CLAIM") or "",
            token_secret=environment.get("HIGHWATER_AGENT_TOKEN_SECRET") or cls.token_secret,
            trust=environment.get("HIGHWATER_AGENT_TLS_SECRET") or cls.trust,
        )


@dataclass(frozen=True)
class JudgingSettings:
    """Who judges: the runner where it has recorded, or a Job of its own, on Spark, in the runners' namespace."""

    job: bool = False
    image: str = "highwater/pipeline:0.2.0"
    service_account: str = "highwater-judge"
    resources: Json = field(
        default_factory=lambda: {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "3Gi"}}
    )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> JudgingSettings:
        """``HIGHWATER_JUDGING_JOB`` (``on``), ``HIGHWATER_JUDGE_IMAGE``, ``…_SERVICE_ACCOUNT``, ``…_RESOURCES`` (JSON).

        Raises:
            ValueError: one of them is not what it can be.
        """
        made = cls()
        wanted = environment.get("HIGHWATER_JUDGING_JOB") or "off"
        if wanted not in ("on", "off"):
            raise ValueError(f"HIGHWATER_JUDGING_JOB: expected on or off, found {wanted!r}")
        text = environment.get("HIGHWATER_JUDGE_RESOURCES")
        try:
            resources = json.loads(text) if text else made.resources
        except ValueError as error:
            raise ValueError(f"HIGHWATER_JUDGE_RESOURCES: expected JSON, found {text!r}: {error}") from None
        if not isinstance(resources, dict):
            raise ValueError(f"HIGHWATER_JUDGE_RESOURCES: expected a JSON object, found {text!r}")
        return cls(
            job=wanted == "on",
            image=environment.get("HIGHWATER_JUDGE_IMAGE") or made.image,
            service_account=environment.get("HIGHWATER_JUDGE_SERVICE_ACCOUNT") or made.service_account,
            resources=resources,
        )


@dataclass(frozen=True, slots=True)
class ExperimentPace:
    """Seconds until an experiment is looked at again where no event brings it up before."""

    running: float = 5.0
    ending: float = 1.0
    healing: float = 3.0
    start_within: float = 180.0
    """How long it waits for what cannot start: a pod that no node has room for, an image that cannot be had."""
    give_way_after: float = 15.0
    """How long a cluster may lack room before the later of two experiments gives way to the other."""
    cluster_ready_within: float = 120.0
    """How long an experiment waits for the LogCluster that it refers to."""
    give_back_within: float = 120.0
    """How long its topics there are tried to be deleted, before it is given back without."""
    judge_image_within: float = 300.0
    """How long a judging Job waits for its image."""
    over: float = 900.0


@dataclass(frozen=True, slots=True)
class ExperimentContext:
    """The API server, runners, agents.

    ``reported_phases``: uid and phase for which this operator emitted its last Event, by namespace and name.
    """

    kube: AsyncKube
    runners: RunnerSettings
    agents: AgentSettings
    pace: ExperimentPace = ExperimentPace()
    now: Callable[[], datetime] = now_utc
    reported_phases: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    open_admin: OpenAdmin = wire_admin
    judging: JudgingSettings = field(default_factory=JudgingSettings)
    namespaces: tuple[str, ...] = ()
    """Namespaces that are served; none named: all."""
    has_agents: bool = True
    """Whether node agents are installed."""
    accepting: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held from the look whether an experiment can be accepted beside the others until it is."""
