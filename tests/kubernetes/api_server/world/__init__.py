"""A miniature cluster behind the stand-in API server: StatefulSets, Jobs and the like make pods, and a node runs them.

``with World(api) as world:`` and what an operator applies comes to life, as fast as the machine allows. What becomes of
pods is up to ``world.pods`` (an ``Instant`` runner unless another is given).
"""

from __future__ import annotations

import datetime
import functools
import logging
import threading
from collections.abc import Callable
from typing import Any, Final

from ..deletion import DeleteOptions
from ..errors import ApiError
from ..operations import Write
from ..resource_types import JOBS, PODS, ResourceType, TableKey
from ..schema import Json
from ..server import ApiServer
from ..store import Change, Name
from . import jobs, stateful_sets, workloads
from .kubelet import Kubelet, Node
from .runner import PENDING, READY, UNREADY, Instant, Outcome, PodHandle, PodRunner, finished

__all__ = [
    "PENDING",
    "READY",
    "UNREADY",
    "Instant",
    "Node",
    "Outcome",
    "PodHandle",
    "PodRunner",
    "World",
    "finished",
]

_SETS: Final = TableKey("apps", "statefulsets")
_CLAIMS: Final = TableKey("", "persistentvolumeclaims")
_MANAGER: Final = Write(manager="kube-controller-manager", validation="Ignore", trusted=True)
_DEPLOYMENTS: Final = TableKey("apps", "deployments")
_REPLICA_SETS: Final = TableKey("apps", "replicasets")
_DAEMON_SETS: Final = TableKey("apps", "daemonsets")
_CONTROLLED: Final = {
    "StatefulSet": _SETS,
    "Job": JOBS,
    "Deployment": _DEPLOYMENTS,
    "ReplicaSet": _REPLICA_SETS,
    "DaemonSet": _DAEMON_SETS,
}
log = logging.getLogger(__name__)


class World:
    """Started and stopped with the block; stop it before the server."""

    def __init__(self, api: ApiServer, runner: PodRunner | None = None, nodes: int = 1) -> None:
        self.pods = Instant()
        self.nodes = [Node(f"node-{index}", f"172.18.0.{2 + index}") for index in range(nodes)]
        self._api = api
        self._operations = api.operations
        self._store = api.store
        self._runner: PodRunner = runner or self.pods
        self._kubelet = Kubelet(self._operations, self._runner, self.nodes)
        self._condition = threading.Condition()
        self._awake = True
        self._busy = True
        self._stopping = False
        self._timers: list[threading.Timer] = []
        self._thread = threading.Thread(target=self._run, name="kube-world", daemon=True)
        self.failures: list[Exception] = []
        self.refuse_pod: Callable[[Json], str | None] = lambda pod: None
        """What the API server says against a pod of a StatefulSet, as a level of Pod Security or a quota would."""

    def __enter__(self) -> World:
        for node in self.nodes:
            self._api.create(node.manifest())
            ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "posting ready status"}
            addresses = [{"type": "InternalIP", "address": node.address}]
            self._api.patch(
                "v1", "Node", node.name, "", {"status": {"conditions": [ready], "addresses": addresses}}, "status"
            )
        self._api.subresources.logs = self._runner.logs
        with self._store.lock:
            self._subscription = self._store.follow(None, 0, self._wake)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._condition:
            self._stopping = True
            self._condition.notify_all()
        self._thread.join()
        self._store.unfollow(self._subscription)
        for timer in self._timers:
            timer.cancel()
        if self.failures:
            raise ExceptionGroup("the miniature cluster failed", self.failures)

    def settle(self, seconds: float = 10.0) -> None:
        """Waits until the controllers, the node and the garbage collection have nothing left to do."""
        for _ in range(1000):
            revision = self._store.revision
            with self._condition:
                if not self._condition.wait_for(lambda: not self._awake and not self._busy, seconds):
                    raise TimeoutError(f"the miniature cluster was still at work after {seconds} s")
            self._api.settle()
            if revision == self._store.revision:
                return
        raise TimeoutError("the miniature cluster does not come to rest: something keeps writing")

    # Reacting

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
            dirty: dict[tuple[TableKey, Name], None] = {}
            for change in self._subscription.take():
                self._guarded(functools.partial(self._note, change, dirty))
            acts = {_SETS: self._stateful_set, JOBS: self._job}
            for table, name in dirty:
                act = acts.get(table) or functools.partial(self._workload, table)
                self._guarded(functools.partial(act, name))

    def _guarded(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:  # told when the block ends
            log.exception("in the miniature cluster")
            self.failures.append(error)

    def _note(self, change: Change, dirty: dict[tuple[TableKey, Name], None]) -> None:
        obj = change.new.obj
        if change.table in _CONTROLLED.values():
            if change.kind != "DELETED":
                dirty[change.table, change.name] = None
            self._note_owners(change, dirty)
        elif change.table == PODS:
            current = self._store.get(PODS, change.name)
            if change.kind == "DELETED":
                self._kubelet.gone(obj)
            elif current is not None and current.obj["metadata"]["uid"] == obj["metadata"]["uid"]:
                self._kubelet.react(current.obj)
            self._note_owners(change, dirty)
        elif change.table == _CLAIMS and change.kind == "ADDED":
            self._bind_claim(change.name)

    @staticmethod
    def _note_owners(change: Change, dirty: dict[tuple[TableKey, Name], None]) -> None:
        for reference in change.new.obj["metadata"].get("ownerReferences") or ():
            table = _CONTROLLED.get(reference["kind"])
            if table is not None and reference.get("controller"):
                dirty[table, (change.name[0], reference["name"])] = None

    def _kind(self, table: TableKey) -> ResourceType:
        found = self._operations.registry.of_table(table)
        assert found is not None
        return found

    def _bind_claim(self, name: Name) -> None:
        with self._store.lock:
            found = self._store.get(_CLAIMS, name)
            if found is None:
                return
            status = {
                "phase": "Bound",
                "accessModes": found.obj["spec"].get("accessModes", []),
                "capacity": dict(found.obj["spec"]["resources"].get("requests") or {}),
            }
            self._operations.replace(self._kind(_CLAIMS), *name, {**found.obj, "status": status}, _MANAGER, "status")

    def _owned(self, owner: Json, of: TableKey = PODS) -> list[Json]:
        uid = owner["metadata"]["uid"]
        found = [self._store.get(*place) for place in self._store.dependents(uid) if place[0] == of]
        return [item.obj for item in found if item is not None]

    def _stateful_set(self, name: Name) -> None:
        with self._store.lock:
            found = self._store.get(_SETS, name)
            if found is None:
                return
            pods = {int(pod["metadata"]["name"].rpartition("-")[2]): pod for pod in self._owned(found.obj)}
            plan = stateful_sets.plan(
                found.obj, pods, lambda claim: self._store.get(_CLAIMS, (name[0], claim)) is not None
            )
            for claim in plan.claims:
                self._create(claim)
            for pod in plan.create:
                why = self.refuse_pod(pod)
                if why is None:
                    self._create(pod)
                else:
                    self._tell_of_refusal(found.obj, pod, why)
            for pod_name in plan.delete:
                self._delete(PODS, (name[0], pod_name))
            for claim_name in plan.delete_claims:
                self._delete(_CLAIMS, (name[0], claim_name))
            self._status(_SETS, name, plan.status)

    def _tell_of_refusal(self, owner: Json, pod: Json, why: str) -> None:
        """The controller's Event, and another try a little later."""
        metadata, pod_name = owner["metadata"], pod["metadata"]["name"]
        place, now = (metadata["namespace"], metadata["name"]), self._operations.now()
        about = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": place[1], "namespace": place[0]}
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{pod_name}.refused", "namespace": place[0]},
            "involvedObject": {**about, "uid": metadata["uid"]},
            "type": "Warning",
            "reason": "FailedCreate",
            "message": f'create Pod {pod_name} in StatefulSet {place[1]} failed error: pods "{pod_name}" {why}',
            "source": {"component": "statefulset-controller"},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        self._create(event)  # 409 where it was told before
        timer = threading.Timer(0.2, self._guarded, (functools.partial(self._stateful_set, place),))
        timer.daemon = True
        timer.start()
        self._timers.append(timer)

    def _workload(self, table: TableKey, name: Name) -> None:
        with self._store.lock:
            found = self._store.get(table, name)
            if found is None:
                return
            obj, owned = found.obj, PODS
            if table == _DEPLOYMENTS:
                owned = _REPLICA_SETS
                plan = workloads.plan_deployment(obj, self._owned(obj, owned), self._operations.now())
            elif table == _DAEMON_SETS:
                plan = workloads.plan_daemon_set(obj, self._owned(obj), [node.name for node in self.nodes])
            else:
                plan = workloads.plan_replica_set(obj, self._owned(obj))
            for wanted in plan.create:
                self._create(wanted)
            for gone in plan.delete:
                self._delete(PODS, (name[0], gone))
            for scaled, replicas in plan.scale.items():
                self._scale((name[0], scaled), replicas)
            self._status(table, name, plan.status)

    def _scale(self, name: Name, replicas: int) -> None:
        found = self._store.get(_REPLICA_SETS, name)
        if found is not None:
            scaled = {**found.obj, "spec": {**found.obj["spec"], "replicas": replicas}}
            self._operations.replace(self._kind(_REPLICA_SETS), *name, scaled, _MANAGER)

    def _job(self, name: Name) -> None:
        with self._store.lock:
            found = self._store.get(JOBS, name)
            if found is None or found.obj["metadata"].get("deletionTimestamp"):
                return
            job = found.obj
            overdue = self._overdue(job)
            plan = jobs.plan(job, self._owned(job), self._operations.now(), overdue=overdue)
            for pod in plan.create:
                self._create(pod)
            for pod_name in plan.delete:
                self._delete(PODS, (name[0], pod_name))
            self._status(JOBS, name, plan.status)

    def _overdue(self, job: Json) -> bool:
        """Whether a Job has run for too long; if not yet, it will be looked at again then."""
        limit = job["spec"].get("activeDeadlineSeconds")
        started = (job.get("status") or {}).get("startTime")
        if limit is None or started is None or jobs.is_finished(job):
            return False
        begin = datetime.datetime.fromisoformat(started.replace("Z", "+00:00"))
        left = limit - (datetime.datetime.now(datetime.UTC) - begin).total_seconds()
        if left <= 0:
            return True
        timer = threading.Timer(left + 0.1, self._again, (job,))
        timer.daemon = True
        timer.start()
        self._timers.append(timer)
        return False

    def _again(self, job: Json) -> None:
        self._guarded(lambda: self._job((job["metadata"]["namespace"], job["metadata"]["name"])))

    def _create(self, obj: Json) -> None:
        kind = self._api.kind(obj["apiVersion"], obj["kind"])
        try:
            self._operations.create(kind, obj["metadata"]["namespace"], obj, _MANAGER)
        except ApiError as error:
            # The namespace is going, or a pod of the same name is: it is tried again when that has gone.
            if error.code not in (403, 404, 409):
                raise

    def _delete(self, table: TableKey, name: Name, **options: Any) -> None:
        try:
            self._operations.delete(self._kind(table), *name, DeleteOptions(**options))
        except ApiError as error:
            if error.code != 404:
                raise

    def _status(self, table: TableKey, name: Name, status: Json) -> None:
        found = self._store.get(table, name)
        if found is not None and (found.obj.get("status") or {}) != status:
            self._operations.replace(self._kind(table), *name, {**found.obj, "status": status}, _MANAGER, "status")
