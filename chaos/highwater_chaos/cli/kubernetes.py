"""What the commands do on a Kubernetes cluster: ``run --backend kubernetes``, ``heal --namespace``, ``report cx/…``,
``doctor --kubernetes``."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from highwater_chaos.backends.kubernetes.agents import AgentClient, AgentSettings
from highwater_chaos.backends.kubernetes.archive import ArchiveError, fetch
from highwater_chaos.backends.kubernetes.following import FollowError, OnStatus, apply, connect, follow
from highwater_chaos.backends.kubernetes.foreign.examination import Examined, examine
from highwater_chaos.backends.kubernetes.namespace_heal import SYSTEM, HealRefusedError, NamespaceHealed
from highwater_chaos.backends.kubernetes.namespace_heal import heal_namespace as heal
from highwater_chaos.backends.kubernetes.tunnels import TokenError, tunnelled
from highwater_chaos.cli.exits import UsageError
from highwater_chaos.cli.recorded import recorded_verdict
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.kube.client import KubeError
from highwater_chaos.kube.kinds import POD
from highwater_chaos.verdict.checked_run import CheckedRun


class NoRunDirectoryError(Exception):
    """An experiment ended without a run directory, or not with the verdict on it: its status says why."""


def run_on_kubernetes(
    experiment: ChaosExperiment,
    parent: Path,
    progress: Callable[[str], None],
    on_status: OnStatus | None,
    *,
    namespace: str | None,
    context: str | None,
) -> CheckedRun:
    """Apply, follow, fetch.

    Raises:
        UsageError: there is no cluster, or the experiment was refused.
        NoRunDirectoryError: it ended without one.
    """
    try:
        api, usual = connect(context)
        where = namespace or usual
        name = apply(api, where, experiment)
        progress(f"applied as chaosexperiment/{name} in namespace {where}")
        status = follow(api, where, name, progress, on_status)
        directory = fetch(api, where, name, parent)
    except (FollowError, KubeError) as error:
        raise UsageError(f"backend kubernetes: {error}") from error
    except ArchiveError as error:
        raise NoRunDirectoryError(
            f"{status['verdict']}: {status.get('reason', '')} (chaosexperiment/{name} in namespace {where}; {error})"
        ) from error
    if not (directory / "verdict.json").exists():
        raise NoRunDirectoryError(f"{status['verdict']}: {status.get('reason', '')} (recordings: {directory})")
    judged = CheckedRun(directory, recorded_verdict(directory, may_lack_recordings=True))
    if judged.verdict["verdict"] != status["verdict"]:
        # It was ended by somebody when its runner had kept the run, and had not concluded it.
        raise NoRunDirectoryError(
            f"{status['verdict']}: {status.get('reason', '')} (the run in {directory} had come to"
            f" {judged.verdict['verdict']})"
        )
    return judged


def heal_namespace(
    namespace: str,
    context: str | None,
    *,
    system: str | None,
    timeout: float,
    dry_run: bool,
    say: Callable[[str], None],
) -> NamespaceHealed:
    """Undo every fault in a namespace and end its experiments; an operator is not needed.

    Raises:
        UsageError: there is no cluster or no such namespace, rights are missing, or the API server does not answer.
    """
    where = system or os.environ.get("HIGHWATER_AGENT_NAMESPACE") or SYSTEM
    try:
        api, _ = connect(context)
        return heal(api, namespace, system=where, timeout=timeout, dry_run=dry_run, say=say)
    except (FollowError, HealRefusedError, KubeError) as error:
        raise UsageError(f"highwater heal --namespace {namespace}: {error}") from error


def examine_namespace(
    namespace: str | None, context: str | None, *, system: str | None, selector: str, container: str
) -> list[Examined]:
    """What can be injected on pods of a namespace, and why not the rest.

    Raises:
        UsageError: there is no cluster, or it may not be looked at.
    """
    where = AgentSettings(system or os.environ.get("HIGHWATER_AGENT_NAMESPACE") or SYSTEM)
    agents: dict[str, AgentClient] = {}
    why = ""
    try:
        api, usual = connect(context)
        try:
            pods = api.list(POD, where.namespace, where.selector)
            agents = tunnelled(api, where, pods)
            why = "" if agents else f"no agent runs in namespace {where.namespace}"
        except (TokenError, KubeError) as error:
            why = f"agents of namespace {where.namespace} cannot be asked: {error}"
        return examine(api, namespace or usual, selector, container, agents, why)
    except (FollowError, KubeError) as error:
        raise UsageError(f"highwater doctor --kubernetes: {error}") from error


def fetch_run(name: str, namespace: str | None, context: str | None, parent: Path) -> Path:
    """The run directory of an experiment. Raises ``UsageError`` where there is none."""
    try:
        api, usual = connect(context)
        return fetch(api, namespace or usual, name, parent)
    except (FollowError, KubeError, ArchiveError) as error:
        raise UsageError(f"highwater report cx/{name}: {error}") from error
