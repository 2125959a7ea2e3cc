"""What the commands do on a Kubernetes cluster: ``run --backend kubernetes``, ``heal --namespace``, ``report cx/…``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from highwater_chaos.backends.kubernetes.api import EXPERIMENTS, ApiError
from highwater_chaos.backends.kubernetes.archive import ArchiveError, fetch
from highwater_chaos.backends.kubernetes.following import FollowError, apply, connect, follow
from highwater_chaos.cli.exits import UsageError
from highwater_chaos.cli.recorded import recorded_verdict
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.judged_run import JudgedRun


class NoRunDirectoryError(Exception):
    """An experiment ended without a run directory: it is inconclusive, and its status says why."""


def run_on_kubernetes(
    experiment: ChaosExperiment,
    parent: Path,
    progress: Callable[[str], None],
    *,
    namespace: str | None,
    context: str | None,
) -> JudgedRun:
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
        status = follow(api, where, name, progress)
        directory = fetch(api, where, name, parent)
    except (FollowError, ApiError) as error:
        raise UsageError(f"backend kubernetes: {error}") from error
    except ArchiveError as error:
        raise NoRunDirectoryError(
            f"{status['verdict']}: {status.get('reason', '')} (chaosexperiment/{name} in namespace {where}; {error})"
        ) from error
    return JudgedRun(directory, recorded_verdict(directory))


def heal_namespace(namespace: str, context: str | None) -> list[str]:
    """Delete every experiment of a namespace that is under way: the operator heals each before it lets it go. Returns
    their names.

    Raises:
        UsageError: there is no cluster.
    """
    try:
        api, _ = connect(context)
        names = [
            found["metadata"]["name"]
            for found in api.objects(EXPERIMENTS, namespace)
            if (found.get("status") or {}).get("phase") not in (None, "", "Completed")
        ]
        for name in names:
            api.delete(EXPERIMENTS, namespace, name)
    except (FollowError, ApiError) as error:
        raise UsageError(f"highwater heal --namespace: {error}") from error
    return names


def fetch_run(name: str, namespace: str | None, context: str | None, parent: Path) -> Path:
    """The run directory of an experiment. Raises ``UsageError`` where there is none."""
    try:
        api, usual = connect(context)
        return fetch(api, namespace or usual, name, parent)
    except (FollowError, ApiError, ArchiveError) as error:
        raise UsageError(f"highwater report cx/{name}: {error}") from error
