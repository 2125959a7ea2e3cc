"""What goes on behind the API on its own: garbage collection by owner, ends of namespaces and of definitions.

One thread follows every change and does what follows from it, as the controller manager does, a moment later.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

from .deletion import CRD_FINALIZER, FOREGROUND, ORPHAN, DeleteOptions
from .errors import ApiError
from .operations import Operations, Write
from .resource_types import CRDS, NAMESPACES, PODS, ResourceType, TableKey
from .schema import Json
from .store import Change, Name

_WRITE: Final = Write(manager="kube-controller-manager", validation="Ignore", trusted=True)
log = logging.getLogger(__name__)


class Controllers:
    """Start it, stop it, and wait for it to have nothing left to do."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._store = operations.store
        self._condition = threading.Condition()
        self._awake = False
        self._busy = False
        self._stopping = False
        self._subscription = self._store.follow(None, self._store.revision, self._wake)
        self._thread = threading.Thread(target=self._run, name="kube-controllers", daemon=True)
        self.failures: list[BaseException] = []
        """What went wrong in the thread: a test server must not hide its own faults."""

    def start(self) -> None:
        """Once."""
        self._thread.start()

    def stop(self) -> None:
        """And wait for the end."""
        with self._condition:
            self._stopping = True
            self._condition.notify_all()
        self._thread.join()
        self._store.unfollow(self._subscription)

    def settle(self, seconds: float = 10.0) -> None:
        """Waits until nothing is left to do."""
        with self._condition:
            if not self._condition.wait_for(lambda: not self._awake and not self._busy, seconds):
                raise TimeoutError(f"controllers were still at work after {seconds} s")

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
            for change in self._subscription.take():
                try:
                    self._react(change)
                except Exception as error:
                    log.exception("reacting to %s of %s %s", change.kind, change.table, change.name)
                    self.failures.append(error)

    def _react(self, change: Change) -> None:
        metadata = change.new.obj["metadata"]
        if change.kind == "DELETED":
            self._owner_gone(metadata["uid"])
            self._content_gone(change)
            return
        if metadata.get("ownerReferences"):
            self._collect_if_orphan(change.table, change.name)
        if metadata.get("deletionTimestamp"):
            self._finish(change)

    def _kind(self, table: TableKey) -> ResourceType | None:
        return self._operations.registry.of_table(table)

    # Owners

    def _owner_gone(self, uid: str) -> None:
        for table, name in self._store.dependents(uid):
            self._collect_if_orphan(table, name)

    def _collect_if_orphan(self, table: TableKey, name: Name) -> None:
        """Deletes what none of its owners is left of; takes away references to owners that are gone."""
        kind = self._kind(table)
        with self._store.lock:
            found = self._store.get(table, name)
            if kind is None or found is None:
                return
            references = found.obj["metadata"].get("ownerReferences") or []
            left = [reference for reference in references if self._exists(reference, name[0])]
            if len(left) == len(references):
                return
            if left:
                self._store.put(table, name, _with(found.obj, ownerReferences=left))
            elif not found.obj["metadata"].get("deletionTimestamp"):
                self._operations.delete(kind, *name, DeleteOptions(propagation="Background"))
        self._foreground_progress(references)

    def _exists(self, reference: Json, namespace: str) -> bool:
        place = self._store.by_uid(reference["uid"])
        return place is not None and place[1][0] in ("", namespace)

    def _finish(self, change: Change) -> None:
        finalizers = change.new.obj["metadata"].get("finalizers") or ()
        if ORPHAN in finalizers:
            self._orphan(change)
        if FOREGROUND in finalizers:
            self._foreground(change.table, change.name)
        if change.table == NAMESPACES:
            self._empty_namespace(change.name[1])
        if change.table == CRDS:
            self._empty_definition(change.name[1])

    def _orphan(self, change: Change) -> None:
        uid = change.new.obj["metadata"]["uid"]
        with self._store.lock:
            for table, name in self._store.dependents(uid):
                found = self._store.get(table, name)
                if found is not None:
                    references = [item for item in found.obj["metadata"]["ownerReferences"] if item["uid"] != uid]
                    self._store.put(table, name, _with(found.obj, ownerReferences=references))
            self._drop_finalizer(change.table, change.name, ORPHAN)

    def _foreground(self, table: TableKey, name: Name) -> None:
        """Dependents first; the owner goes once none that blocks it is left."""
        with self._store.lock:
            owner = self._store.get(table, name)
            if owner is None or FOREGROUND not in (owner.obj["metadata"].get("finalizers") or ()):
                return
            uid = owner.obj["metadata"]["uid"]
            for dependent_table, dependent in self._store.dependents(uid):
                kind = self._kind(dependent_table)
                found = self._store.get(dependent_table, dependent)
                if kind is not None and found is not None and not found.obj["metadata"].get("deletionTimestamp"):
                    self._operations.delete(kind, *dependent, DeleteOptions(propagation="Foreground"))
            blocking = False
            for place in self._store.dependents(uid):
                found = self._store.get(*place)
                references = found.obj["metadata"]["ownerReferences"] if found else []
                blocking = blocking or any(item["uid"] == uid and item.get("blockOwnerDeletion") for item in references)
            if not blocking:
                self._drop_finalizer(table, name, FOREGROUND)

    def _foreground_progress(self, references: list[Json]) -> None:
        for reference in references:
            place = self._store.by_uid(reference["uid"])
            if place is not None:
                self._foreground(*place)

    def _drop_finalizer(self, table: TableKey, name: Name, finalizer: str) -> None:
        kind, found = self._kind(table), self._store.get(table, name)
        if kind is None or found is None:
            return
        left = [item for item in found.obj["metadata"].get("finalizers") or () if item != finalizer]
        changed = _with(found.obj, finalizers=left)
        self._operations.replace(kind, *name, self._operations.view(kind, changed), _WRITE)

    # Namespaces and definitions

    def _empty_namespace(self, namespace: str) -> None:
        left = False
        for table in self._store.tables():
            kind = self._kind(table)
            if kind is None or not kind.namespaced:
                continue
            for item in self._store.listing(table, namespace).items:
                grace = 0 if table == PODS and not item.obj["spec"].get("nodeName") else None
                try:
                    self._operations.delete(
                        kind, namespace, item.obj["metadata"]["name"], DeleteOptions("Background", grace)
                    )
                except ApiError as error:
                    if error.code != 404:
                        raise
            left = left or bool(self._store.listing(table, namespace).items)
        kind = self._kind(NAMESPACES)
        found = self._store.get(NAMESPACES, ("", namespace))
        if not left and found is not None and kind is not None:
            emptied = {
                **found.obj,
                "spec": {key: value for key, value in found.obj["spec"].items() if key != "finalizers"},
            }
            with self._store.lock:
                self._store.put(NAMESPACES, ("", namespace), emptied)
                if not emptied["metadata"].get("finalizers"):
                    self._store.remove(NAMESPACES, ("", namespace))

    def _empty_definition(self, name: str) -> None:
        found = self._store.get(CRDS, ("", name))
        if found is None or CRD_FINALIZER not in (found.obj["metadata"].get("finalizers") or ()):
            return
        spec = found.obj["spec"]
        table = TableKey(spec["group"], spec["names"]["plural"])
        kind = self._kind(table)
        if kind is not None:
            self._operations.delete_all(kind, "", None, DeleteOptions("Background"))
        if not self._store.listing(table).items:
            self._drop_finalizer(CRDS, ("", name), CRD_FINALIZER)

    def _content_gone(self, change: Change) -> None:
        """Something went that a namespace, a definition or an owner may have waited for."""
        namespace = change.name[0]
        holder = self._store.get(NAMESPACES, ("", namespace)) if namespace else None
        if holder is not None and holder.obj["metadata"].get("deletionTimestamp"):
            self._empty_namespace(namespace)
        definition = self._store.get(CRDS, ("", f"{change.table.plural}.{change.table.group}"))
        if definition is not None and definition.obj["metadata"].get("deletionTimestamp"):
            self._empty_definition(definition.obj["metadata"]["name"])
        self._foreground_progress(change.new.obj["metadata"].get("ownerReferences") or [])


def _with(obj: Json, **metadata: list[Json] | list[str]) -> Json:
    kept = {key: value for key, value in obj["metadata"].items() if key not in metadata}
    return {**obj, "metadata": {**kept, **{key: value for key, value in metadata.items() if value}}}
