"""An experiment on a cluster, as seen from a terminal: applied under a name of its own, followed, fetched.

The experiment does not depend on its follower: if the terminal goes away, the experiment goes on.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from typing import Final

import kubernetes

from highwater_chaos.backends.kubernetes.reference import reference_of
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.kube.client import Kube, UnavailableError
from highwater_chaos.kube.kinds import CHAOS_EXPERIMENT, LOG_CLUSTER, Json

OnStatus = Callable[[Json, Json], None]
LONGEST_NAME: Final = 41
_POLL: Final = 1.0
_ACCEPTED_WITHIN: Final = 60.0
_AWAY_WITHIN: Final = 300.0
"""An API server that does not answer for less time than that is waited for: the experiment goes on without it."""


class FollowError(Exception):
    """The experiment was not run; the message says why and what to do."""


def connect(context: str | None) -> tuple[Kube, str]:
    """The API server of a kubeconfig's context, or of the pod this runs in; and the namespace that goes with it.

    Raises:
        FollowError: there is none.
    """
    # The client's own default is what the variable was when it was imported.
    file = os.environ.get("KUBECONFIG") or None
    configuration = kubernetes.client.Configuration()
    try:
        kubernetes.config.load_kube_config(file, client_configuration=configuration, context=context)  # type: ignore[no-untyped-call]
        contexts, active = kubernetes.config.list_kube_config_contexts(file)  # type: ignore[no-untyped-call]
        chosen = next((one for one in contexts if one["name"] == context), active)
        return Kube(configuration), str(chosen["context"].get("namespace") or "default")
    except kubernetes.config.ConfigException as error:
        raise FollowError(
            f"no Kubernetes cluster is configured: {str(error).rstrip('.')}; set KUBECONFIG or give --context"
        ) from error


def unique_name(name: str) -> str:
    """A name for one run, which its LogCluster can have: short enough for pods, and with a letter first."""
    suffix = secrets.token_hex(2)
    name = name if name[0].isalpha() else f"run-{name}"
    return f"{name[: LONGEST_NAME - len(suffix) - 1].rstrip('-.')}-{suffix}".replace(".", "-")


def apply(api: Kube, namespace: str, experiment: ChaosExperiment) -> str:
    """Create the experiment under a name of its own; returns that. Raises ``KubeError``."""
    name = unique_name(experiment.metadata.name)
    body = experiment.model_dump(mode="json", by_alias=True, exclude_none=True)
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": experiment.metadata.labels,
        "annotations": experiment.metadata.annotations,
    }
    api.create({**body, "metadata": metadata})
    return name


def follow(
    api: Kube, namespace: str, name: str, progress: Callable[[str], None], on_status: OnStatus | None = None
) -> Json:
    """Wait until it is completed; returns its status.

    Args:
        on_status: is called again and again with the status of the experiment and that of its LogCluster.

    Raises:
        FollowError: it was refused or deleted, or no operator looks after it.
        KubeError: the API server has not answered for five minutes.
    """
    began = heard = time.monotonic()
    shown = ""
    while True:
        try:
            found, cluster = _look(api, namespace, name, with_cluster=on_status is not None)
        except UnavailableError:
            if time.monotonic() - heard > _AWAY_WITHIN:
                raise
            time.sleep(_POLL)
            began = time.monotonic()  # an operator cannot have taken it either
            continue
        heard = time.monotonic()
        if found is None:
            raise FollowError(f"experiment {namespace}/{name} was deleted before it was over")
        status: Json = found.get("status") or {}
        for one in status.get("conditions") or []:
            if one["type"] == "Accepted" and one["status"] == "False":
                api.delete(CHAOS_EXPERIMENT, namespace, name)
                raise FollowError(f"experiment {name} was not accepted: {one['message']}")
        phase = status.get("phase", "")
        if phase != shown:
            shown = phase
            progress(phase)
        if phase == "Completed":
            return status
        if on_status is not None and phase:
            on_status(status, cluster)
        taken = phase or status.get("conditions")  # it may wait for the LogCluster that it refers to
        if not taken and time.monotonic() - began > _ACCEPTED_WITHIN:
            api.delete(CHAOS_EXPERIMENT, namespace, name)
            raise FollowError(
                f"no operator took experiment {namespace}/{name} within {_ACCEPTED_WITHIN:g} s:"
                " is highwater-operator installed, and does it serve this namespace?"
            )
        time.sleep(_POLL)


def _look(api: Kube, namespace: str, name: str, *, with_cluster: bool) -> tuple[Json | None, Json]:
    """The experiment, and the status of its LogCluster."""
    found = api.get(CHAOS_EXPERIMENT, namespace, name)
    if found is None or not with_cluster:
        return found, {}
    cluster = api.get(LOG_CLUSTER, namespace, reference_of(found) or name)
    return found, (cluster or {}).get("status") or {}
