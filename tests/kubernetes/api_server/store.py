"""The objects, their versions and their history: what etcd and the watch cache are to a real server.

One counter numbers every write (``resourceVersion``). A watch from a version replays the history after it and then
follows, so that nothing is lost between a list and a watch; a version older than the history is gone (410).
Objects are never changed in place: whoever writes puts a new one.
"""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import msgspec

from .errors import expired
from .resource_types import TableKey
from .schema import Json

HISTORY: Final = 100_000
"""Events that are kept; older ones are compacted away."""

Name = tuple[str, str]
"""Namespace (empty for what has none) and name."""

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode


class Stored:
    """An object and, once somebody wants them, its bytes."""

    def __init__(self, obj: Json, revision: int) -> None:
        self.obj = obj
        self.revision = revision

    @functools.cached_property
    def raw(self) -> bytes:
        """As JSON."""
        return encode(self.obj)

    @functools.cached_property
    def bare(self) -> bytes:
        """As an item of a list of built-in objects, which do not say what they are."""
        return encode({key: value for key, value in self.obj.items() if key not in ("apiVersion", "kind")})


class Change(NamedTuple):
    """One write."""

    revision: int
    kind: Literal["ADDED", "MODIFIED", "DELETED"]
    table: TableKey
    name: Name
    new: Stored
    """As it is now; for a deletion as it was at last, with the version of the deletion."""
    old: Stored | None


class Subscription:
    """One follower of a table (of all, where the table is none)."""

    def __init__(self, table: TableKey | None, wake: Callable[[], None]) -> None:
        self.table = table
        self._wake = wake
        self._queue: deque[Change] = deque()

    def offer(self, change: Change) -> None:
        """Called by the store, with its lock held."""
        self._queue.append(change)
        self._wake()

    def pending(self) -> bool:
        """Whether something waits to be taken."""
        return bool(self._queue)

    def take(self) -> list[Change]:
        """What came since the last call."""
        taken = []
        while self._queue:
            taken.append(self._queue.popleft())
        return taken


@dataclass
class Listed:
    """A consistent list."""

    items: list[Stored]
    revision: int


class Store:
    """Thread-safe; ``lock`` may be held over several calls to make them one step."""

    def __init__(self, history: int = HISTORY) -> None:
        self.lock = threading.RLock()
        self.revision = 1
        self._tables: dict[TableKey, dict[Name, Stored]] = {}
        self._history: deque[Change] = deque()
        self._kept = history
        self._oldest = 0
        """Changes up to this revision are forgotten."""
        self._subscriptions: dict[TableKey | None, list[Subscription]] = {}
        self._owned: dict[str, set[tuple[TableKey, Name]]] = {}
        self._uids: dict[str, tuple[TableKey, Name]] = {}

    # Reading

    def get(self, table: TableKey, name: Name) -> Stored | None:
        """One object."""
        with self.lock:
            return self._tables.get(table, {}).get(name)

    def listing(self, table: TableKey, namespace: str = "") -> Listed:
        """All objects of a table or of one namespace of it, by namespace and name."""
        with self.lock:
            found = self._tables.get(table, {})
            names = sorted(name for name in found if not namespace or name[0] == namespace)
            return Listed([found[name] for name in names], self.revision)

    def tables(self) -> Iterable[TableKey]:
        """Those that hold or held anything."""
        with self.lock:
            return list(self._tables)

    def dependents(self, uid: str) -> list[tuple[TableKey, Name]]:
        """What names this object as an owner."""
        with self.lock:
            return sorted(self._owned.get(uid, ()))

    def by_uid(self, uid: str) -> tuple[TableKey, Name] | None:
        """Where the object with this uid is, if it is."""
        with self.lock:
            return self._uids.get(uid)

    # Writing

    def put(self, table: TableKey, name: Name, obj: Json) -> Stored:
        """Writes an object that is new or replaces another; writing what is there already changes nothing."""
        with self.lock:
            objects = self._tables.setdefault(table, {})
            old = objects.get(name)
            if old is not None:
                old_version = old.obj["metadata"]["resourceVersion"]
                if obj["metadata"].get("resourceVersion") != old_version:
                    obj = {**obj, "metadata": {**obj["metadata"], "resourceVersion": old_version}}
                if obj == old.obj:
                    return old
            self.revision += 1
            obj = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.revision)}}
            stored = Stored(obj, self.revision)
            objects[name] = stored
            self._index(table, name, old, stored)
            self._record(Change(self.revision, "MODIFIED" if old else "ADDED", table, name, stored, old))
            return stored

    def remove(self, table: TableKey, name: Name) -> Stored | None:
        """Takes an object away."""
        with self.lock:
            old = self._tables.get(table, {}).pop(name, None)
            if old is None:
                return None
            self.revision += 1
            obj = {**old.obj, "metadata": {**old.obj["metadata"], "resourceVersion": str(self.revision)}}
            last = Stored(obj, self.revision)
            self._index(table, name, old, None)
            self._record(Change(self.revision, "DELETED", table, name, last, old))
            return last

    def _index(self, table: TableKey, name: Name, old: Stored | None, new: Stored | None) -> None:
        place = (table, name)
        if old is not None:
            for reference in old.obj["metadata"].get("ownerReferences") or ():
                self._owned.get(reference["uid"], set()).discard(place)
            self._uids.pop(old.obj["metadata"]["uid"], None)
        if new is not None:
            for reference in new.obj["metadata"].get("ownerReferences") or ():
                self._owned.setdefault(reference["uid"], set()).add(place)
            self._uids[new.obj["metadata"]["uid"]] = place

    def _record(self, change: Change) -> None:
        self._history.append(change)
        while len(self._history) > self._kept:
            self._oldest = self._history.popleft().revision
        for subscription in (*self._subscriptions.get(change.table, ()), *self._subscriptions.get(None, ())):
            subscription.offer(change)

    # Following

    def follow(self, table: TableKey | None, since: int, wake: Callable[[], None]) -> Subscription:
        """Every change after a revision, those of the past included.

        Raises 410 where the past is not known any more.
        """
        with self.lock:
            if since < self._oldest:
                raise expired(f"too old resource version: {since} ({self._oldest + 1})")
            subscription = Subscription(table, wake)
            if since < self.revision:
                past: list[Change] = []
                for change in reversed(self._history):
                    if change.revision <= since:
                        break
                    if table is None or change.table == table:
                        past.append(change)
                for change in reversed(past):
                    subscription.offer(change)
            self._subscriptions.setdefault(table, []).append(subscription)
            return subscription

    def unfollow(self, subscription: Subscription) -> None:
        """Ends it."""
        with self.lock:
            self._subscriptions[subscription.table].remove(subscription)

    def compact(self) -> None:
        """Forgets the past: every watch from before now is told that it is gone."""
        with self.lock:
            self._history.clear()
            self._oldest = self.revision
