"""The LogCluster of an experiment as its runner sees it: a borrowed one is held by it and Ready at the start; none is
changed or deleted meanwhile."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Final

from highwater_chaos.backends.kubernetes.cluster import ClusterError, Place
from highwater_chaos.backends.kubernetes.reference import held_by
from highwater_chaos.kube.client import Kube, KubeError
from highwater_chaos.kube.conditions import condition_of
from highwater_chaos.kube.kinds import CLUSTER_LABEL, LOG_CLUSTER, POD, Json

_LOOK_EVERY: Final = 3.0
_GOING: Final = "deletionTimestamp"


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


def replaced_disks(cluster: Json) -> dict[str, int]:
    """How many disks of each pod were given up so far, as the status of a LogCluster has it."""
    volumes = (cluster.get("status") or {}).get("volumes") or []
    return {one["pod"]: int(one.get("replaced") or 0) for one in volumes}


class WatchedCluster:
    """The LogCluster of one experiment."""

    def __init__(self, api: Kube, place: Place) -> None:
        self._api = api
        self._place = place
        self._what = f"LogCluster {place.namespace}/{place.cluster}"
        self._generation = 0
        self._uid = ""
        self._looked = 0.0
        self._looking: Future[None] | None = None
        self._pods: frozenset[str] = frozenset()
        self._disks: dict[str, int] = {}
        self._new_disks: dict[str, int] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="cluster")
        self.deleted: str | None = None
        """Why the run cannot go on: it is gone, or going."""
        self.changed: str | None = None
        """How its description was changed since :meth:`begin`."""

    def begin(self) -> None:
        """Raises ``ClusterError`` where it is not this experiment's to use."""
        found = self._api.get(LOG_CLUSTER, self._place.namespace, self._place.cluster)
        if found is None:
            raise ClusterError(f"{self._what} is not there any more")
        if self._place.borrowed:
            mine = f"{self._place.name}/{self._place.uid}"
            if (holder := held_by(found)) != mine:
                raise ClusterError(f"{self._what} is held by {holder or 'no experiment'}, not by {mine}")
            if (why := why_not_ready(found)) is not None:
                raise ClusterError(f"{self._what} is not Ready: {why}")
        self._generation, self._uid = found["metadata"]["generation"], found["metadata"]["uid"]
        self._disks = replaced_disks(found)

    def look_now_and_then(self) -> None:
        """Look whether it is what it was, on another thread: an API server that is slow must not hold up the run, and
        one that does not answer says nothing."""
        if self._looking is not None and self._looking.done():
            looking, self._looking = self._looking, None
            with suppress(KubeError):  # the journal, which cannot do without, says what is wrong
                looking.result()
        if self._looking is None and time.monotonic() - self._looked > (_LOOK_EVERY if self.deleted is None else 1.0):
            self._looked = time.monotonic()
            self._looking = self._thread.submit(self._look)

    def has_no_pod(self, uid: str) -> bool:
        """Whether the LogCluster was deleted and this pod of it is gone."""
        return self.deleted is not None and uid not in self._pods

    def new_disks(self) -> dict[str, int]:
        """How many disks each pod got since :meth:`begin` in place of one that was given up; pods that kept theirs are
        left out. No fault of an experiment does that: those that wipe a disk leave it where it is.

        Raises:
            KubeError: the API server did not answer.
        """
        found = self._api.get(LOG_CLUSTER, self._place.namespace, self._place.cluster)
        if found is not None and found["metadata"]["uid"] == self._uid:
            self._note_disks(found)
        return dict(self._new_disks)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _note_disks(self, found: Json) -> None:
        replaced = {pod: count - self._disks.get(pod, 0) for pod, count in replaced_disks(found).items()}
        self._new_disks |= {pod: count for pod, count in replaced.items() if count > 0}

    def _look(self) -> None:
        place = self._place
        if self.deleted is None:
            found = self._api.get(LOG_CLUSTER, place.namespace, place.cluster, patience=0.0)
            if found is not None and found["metadata"]["uid"] == self._uid:
                self._note_disks(found)
                if found["metadata"]["generation"] != self._generation and not found["metadata"].get(_GOING):
                    self.changed = f"{self._what} was changed while the experiment ran: what was in force is not known"
                if not found["metadata"].get(_GOING):
                    return
        pods = self._api.list(POD, place.namespace, f"{CLUSTER_LABEL}={place.cluster}", patience=0.0)
        self._pods = frozenset(pod["metadata"]["uid"] for pod in pods)
        self.deleted = f"{self._what} was deleted while the experiment ran"
