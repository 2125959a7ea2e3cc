"""The LogCluster that an experiment borrows, as its runner sees it: held by it, Ready, and not changed meanwhile."""

from __future__ import annotations

import time
from typing import Final

from highwater_chaos.backends.kubernetes.cluster import ClusterError, Place
from highwater_chaos.backends.kubernetes.reference import held_by
from highwater_chaos.kube.client import Kube, KubeError
from highwater_chaos.kube.conditions import condition_of
from highwater_chaos.kube.kinds import LOG_CLUSTER, Json

_LOOK_EVERY: Final = 3.0


def why_not_ready(cluster: Json) -> str | None:
    """Why an experiment cannot begin on a LogCluster just now; None: it can. Settled as well as Ready: while it is
    being changed, what is in force is not what it says."""
    for kind, wanted in (("Ready", "True"), ("Progressing", "False"), ("Degraded", "False")):
        found = condition_of(cluster, kind)
        if found is not None and found.get("observedGeneration") != cluster["metadata"]["generation"]:
            return "the operator has not looked at its latest change"
        if found is None or found["status"] != wanted:
            return f"{kind} is {'not known' if found is None else found['status'] + ': ' + found.get('message', '')}"
    return None


class BorrowedCluster:
    """One LogCluster for one experiment."""

    def __init__(self, api: Kube, place: Place) -> None:
        self._api = api
        self._place = place
        self._what = f"LogCluster {place.namespace}/{place.cluster}"
        self._generation = 0
        self._uid = ""
        self._looked = 0.0
        self._finding = ""

    def begin(self) -> None:
        """Raises ``ClusterError`` where it is not this experiment's to use."""
        found = self._api.get(LOG_CLUSTER, self._place.namespace, self._place.cluster)
        if found is None:
            raise ClusterError(f"{self._what} is not there any more")
        mine = f"{self._place.name}/{self._place.uid}"
        if (holder := held_by(found)) != mine:
            raise ClusterError(f"{self._what} is held by {holder or 'no experiment'}, not by {mine}")
        if (why := why_not_ready(found)) is not None:
            raise ClusterError(f"{self._what} is not Ready: {why}")
        self._generation, self._uid = found["metadata"]["generation"], found["metadata"]["uid"]

    def changed(self) -> str | None:
        """Return how it was changed since :meth:`begin`, looked up every few seconds; None if no change is known."""
        if not self._finding and time.monotonic() - self._looked > _LOOK_EVERY:
            self._looked = time.monotonic()
            try:
                found = self._api.get(LOG_CLUSTER, self._place.namespace, self._place.cluster)
            except KubeError:
                return None  # asked again; the journal, which cannot do without, says what is wrong
            if found is None or found["metadata"]["uid"] != self._uid or found["metadata"].get("deletionTimestamp"):
                self._finding = f"{self._what} was deleted while the experiment ran"
            elif found["metadata"]["generation"] != self._generation:
                self._finding = f"{self._what} was changed while the experiment ran: what was in force is not known"
        return self._finding or None
