"""A miniature cluster behind the stand-in API server: StatefulSets and Jobs make pods, and nodes run them.

``with World(api) as world:`` and what an operator applies comes to life, as fast as the machine allows. What becomes of
pods is up to ``world.pods`` (an ``Instant`` runner, unless another one is given).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from ..errors import ApiError, Json
from ..kinds import CLAIMS, JOBS, PODS, SETS, Table
from ..operations import Write, now_text
from ..server import ApiServer
from ..store import Change, Name
from . import jobs, stateful_sets
from .kubelet import Kubelet
from .runner import PENDING, READY, UNREADY, Instant, Outcome, PodHandle, PodRunner, finished

__all__ = ["PENDING", "READY", "UNREADY", "Instant", "Outcome", "PodHandle", "PodRunner", "World", "finished"]

_BY_CLUSTER: Final = Write(trusted=True)
_CONTROLLED: Final = {"StatefulSet": SETS, "Job": JOBS}
_TRY_AGAIN_SECONDS: Final = 0.2
log = logging.getLogger(__name__)


class World:
    """Started and stopped with the block; stop it before the server."""

    @property
    def cordoned(self) -> set[str]:
        """Nodes that get no new pods."""
        return self._kubelet.cordoned

    def __init__(self, api: ApiServer, runner: PodRunner | None = None, nodes: int = 1) -> None:
        self.pods = Instant()
        self._operations = api.operations
        self._store = api.store
        self._api = api
        self._runner: PodRunner = runner or self.pods
        self._kubelet = Kubelet(self._operations, self._runner, nodes)
        self._condition = threading.Condition()
        self._awake = True
        self._busy = True
        self._stopping = False
        self._timers: dict[tuple[str, str, str], threading.Timer] = {}
        self._thread = threading.Thread(target=self._run, name="kube-world", daemon=True)
        self.failures: list[Exception] = []
        self.refuse_pod: Callable[[Json], str | None] = lambda pod: None
        """What the API server says against a pod of a StatefulSet, as Pod Security or a quota does."""

    def __enter__(self) -> World:
        self._api.http.logs = self._runner.logs
        self._subscription = self._store.follow(None, 0, self._wake)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._condition:
            self._stopping = True
            self._condition.notify_all()
        self._thread.join()
        self._store.unfollow(self._subscription)
        with self._store.lock:  # one that is at work has begun no other by now, or begins none
            for timer in self._timers.values():
                timer.cancel()
        if self.failures:
            raise ExceptionGroup("the miniature cluster failed", self.failures)

    def settle(self, seconds: float = 60.0) -> None:
        """Wait until controllers and nodes have nothing left to do."""
        with self._condition:
            if not self._condition.wait_for(lambda: not self._awake and not self._busy, seconds):
                raise TimeoutError(f"the miniature cluster was still at work after {seconds} s")

    # --- reacting ---

    def _wake(self) -> None:
        with self._condition:
            self._awake = True
            self._condition.notify_all()

    def _run(self) -> None:
        while True:
            with self._condition:
                self._busy = False
                self._condition.notify_all()
                self._condition.wait_for(lambda: self._awake or self._stopping)
                if self._stopping:
                    return
                self._awake = False
                self._busy = True
            dirty: dict[tuple[Table, Name], None] = {}
            for change in self._subscription.take():
                self._guarded(self._note, change, dirty)
            for table, name in dirty:
                self._guarded(self._stateful_set if table == SETS else self._job, name)

    def _guarded(self, act: Callable[..., None], *arguments: object) -> None:
        try:
            act(*arguments)
        except Exception as error:  # raised when the block ends
            log.exception("in the miniature cluster")
            self.failures.append(error)

    def _note(self, change: Change, dirty: dict[tuple[Table, Name], None]) -> None:
        obj = change.new.obj
        if change.table in (SETS, JOBS) and change.kind != "DELETED":
            dirty[change.table, change.name] = None
        elif change.table == PODS:
            current = self._store.get(PODS, change.name)
            if change.kind == "DELETED":
                self._kubelet.gone(obj)
            elif current is not None and current.obj["metadata"]["uid"] == obj["metadata"]["uid"]:
                self._kubelet.react(current.obj)
            for reference in obj["metadata"].get("ownerReferences", ()):
                if reference["kind"] in _CONTROLLED:
                    dirty[_CONTROLLED[reference["kind"]], (change.name[0], reference["name"])] = None

    def _owned(self, owner: Json) -> list[Json]:
        places = self._store.dependents(owner["metadata"]["uid"])
        found = [self._store.get(*place) for place in places if place[0] == PODS]
        return [item.obj for item in found if item is not None]

    def _stateful_set(self, name: Name) -> None:
        with self._store.lock:
            found = self._store.get(SETS, name)
            if found is None:
                return
            pods = {int(pod["metadata"]["name"].rpartition("-")[2]): pod for pod in self._owned(found.obj)}
            plan = stateful_sets.plan(found.obj, pods)
            for claim in plan.claims:
                self._create(claim)
            for pod in plan.create:
                why = self.refuse_pod(pod)
                if why is None:
                    self._create(pod)
                else:
                    self._report_refusal(found.obj, pod["metadata"]["name"], why)
            for pod_name in plan.delete:
                self._operations.delete(self._api.registry.of_table(PODS), name[0], pod_name)
            self._store.put(SETS, name, found.obj | {"status": plan.status})

    def _report_refusal(self, owner: Json, pod: str, why: str) -> None:
        """The controller's Event, and another try a little later."""
        name = owner["metadata"]["name"]
        message = f'create Pod {pod} in StatefulSet {name} failed error: pods "{pod}" {why}'
        self._report(owner, "apps/v1", "StatefulSet", pod, message)
        self._try_again(self._stateful_set, owner)

    def _report_refused_job(self, owner: Json, pod: str, why: str) -> None:
        """The same of a Job's controller."""
        self._report(owner, "batch/v1", "Job", owner["metadata"]["name"], f'Error creating: pods "{pod}" {why}')
        self._try_again(self._job, owner)

    def _report(self, owner: Json, version: str, kind: str, stem: str, message: str) -> None:
        metadata, now = owner["metadata"], now_text()
        namespace, name = metadata["namespace"], metadata["name"]
        about = {"apiVersion": version, "kind": kind, "name": name, "namespace": namespace}
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{stem}.refused", "namespace": namespace},
            "involvedObject": about | {"uid": metadata["uid"]},
            "type": "Warning",
            "reason": "FailedCreate",
            "message": message,
            "source": {"component": f"{kind.lower()}-controller"},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        self._create(event)

    def _try_again(self, what: Callable[[Name], None], owner: Json) -> None:
        """Once, however many pods are refused meanwhile: each attempt would else bring several more."""
        key = (what.__name__, owner["metadata"]["namespace"], owner["metadata"]["name"])

        def again() -> None:
            with self._store.lock:
                del self._timers[key]
            self._guarded(what, key[1:])

        with self._store.lock:
            if key not in self._timers and not self._stopping:
                timer = self._timers[key] = threading.Timer(_TRY_AGAIN_SECONDS, again)
                timer.daemon = True
                timer.start()

    def _job(self, name: Name) -> None:
        with self._store.lock:
            found = self._store.get(JOBS, name)
            if found is None or "deletionTimestamp" in found.obj["metadata"]:
                return
            pods, status = jobs.plan(found.obj, self._owned(found.obj), now_text())
            for pod in pods:
                why = self.refuse_pod(pod)
                if why is None:
                    self._create(pod)
                else:
                    self._report_refused_job(found.obj, f"{pod['metadata']['generateName']}x", why)
            self._store.put(JOBS, name, found.obj | {"status": status})

    def _create(self, obj: Json) -> None:
        kind = self._api.registry.of_kind(obj["apiVersion"], obj["kind"])
        try:
            made = self._operations.create(kind, obj["metadata"]["namespace"], obj, _BY_CLUSTER)
        except ApiError as error:
            if error.code != 409:  # it is there already: a claim that was kept, or an Event that was reported before
                raise
            return
        if kind.table == CLAIMS:
            self._store.put(CLAIMS, (made["metadata"]["namespace"], made["metadata"]["name"]), _bound(made))


def _bound(claim: Json) -> Json:
    spec = claim["spec"]
    status = {"phase": "Bound", "accessModes": spec["accessModes"], "capacity": spec["resources"]["requests"]}
    return claim | {"status": status}
