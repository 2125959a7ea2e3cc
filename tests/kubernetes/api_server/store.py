"""The objects, their versions and their history: what etcd and the watch cache are to a real server.

One counter numbers every write (``resourceVersion``). A watch from a version replays the history after it and then
follows; a version older than the history is gone (410). Objects are never changed in place.
"""

from __future__ import annotations

import functools
import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from typing import Literal, NamedTuple

import msgspec

from .errors import Json, expired
from .kinds import Table

Name = tuple[str, str]
"""Namespace (empty for what has none) and name."""

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode


class Stored:
    """An object and, once they are needed, its bytes."""

    def __init__(self, obj: Json) -> None:
        self.obj = obj

    @functools.cached_property
    def raw(self) -> bytes:
        return encode(self.obj)

    @functools.cached_property
    def bare(self) -> bytes:
        """As an item of a list of built-in objects, which do not say what they are."""
        return encode({key: value for key, value in self.obj.items() if key not in ("apiVersion", "kind")})


class Change(NamedTuple):
    """One write."""

    revision: int
    kind: Literal["ADDED", "MODIFIED", "DELETED"]
    table: Table
    name: Name
    new: Stored
    """After a deletion: the object as it was, with the version of the deletion."""
    old: Stored | None


class Subscription:
    """One follower of a table, or of all tables (None)."""

    def __init__(self, table: Table | None, wake: Callable[[], None]) -> None:
        self.table = table
        self._wake = wake
        self._queue: deque[Change] = deque()

    def offer(self, change: Change) -> None:
        if self.table in (None, change.table):
            self._queue.append(change)
            self._wake()

    def take(self) -> list[Change]:
        """What came since the last call."""
        return [self._queue.popleft() for _ in range(len(self._queue))]


class Store:
    """Safe to use from any thread; hold ``lock`` over several calls to make them one step."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.revision = 1
        self._tables: dict[Table, dict[Name, Stored]] = {}
        self._history: list[Change] = []
        self._compacted = 0
        self._subscriptions: list[Subscription] = []
        self._owned: dict[str, dict[tuple[Table, Name], None]] = {}
        self._uids: set[str] = set()

    def get(self, table: Table, name: Name) -> Stored | None:
        with self.lock:
            return self._tables.get(table, {}).get(name)

    def listing(self, table: Table, namespace: str = "") -> tuple[list[Stored], int]:
        """The objects of a table, or of one namespace of it, by name; and the version of the list."""
        with self.lock:
            found = self._tables.get(table, {})
            return [found[name] for name in sorted(found) if namespace in ("", name[0])], self.revision

    def dependents(self, uid: str) -> list[tuple[Table, Name]]:
        """What names the object with this uid as an owner."""
        with self.lock:
            return sorted(self._owned.get(uid, ()))

    def exists(self, uid: str) -> bool:
        return uid in self._uids

    def put(self, table: Table, name: Name, obj: Json) -> Stored:
        """Write an object. Writing what is there already changes nothing."""
        with self.lock:
            objects = self._tables.setdefault(table, {})
            old = objects.get(name)
            if old is not None:
                obj = _versioned(obj, old.obj["metadata"]["resourceVersion"])
                if obj == old.obj:
                    return old
            return self._change("ADDED" if old is None else "MODIFIED", table, name, obj, old)

    def remove(self, table: Table, name: Name) -> Json | None:
        """Take an object away; return it as it was."""
        with self.lock:
            old = self._tables.get(table, {}).get(name)
            return None if old is None else self._change("DELETED", table, name, old.obj, old).obj

    def _change(
        self, kind: Literal["ADDED", "MODIFIED", "DELETED"], table: Table, name: Name, obj: Json, old: Stored | None
    ) -> Stored:
        self.revision += 1
        stored, place = Stored(_versioned(obj, str(self.revision))), (table, name)
        if old is not None:
            for reference in old.obj["metadata"].get("ownerReferences", ()):
                self._owned.get(reference["uid"], {}).pop(place, None)
            self._uids.discard(old.obj["metadata"]["uid"])
        if kind == "DELETED":
            del self._tables[table][name]
        else:
            self._tables[table][name] = stored
            self._uids.add(obj["metadata"]["uid"])
            for reference in obj["metadata"].get("ownerReferences", ()):
                self._owned.setdefault(reference["uid"], {})[place] = None
        change = Change(self.revision, kind, table, name, stored, old)
        self._history.append(change)
        for subscription in self._subscriptions:
            subscription.offer(change)
        return stored

    def follow(self, table: Table | None, since: int, wake: Callable[[], None]) -> Subscription:
        """Every change after a version, those of the past included. Raises ApiError (410) if they are forgotten."""
        with self.lock:
            if since < self._compacted:
                raise expired(f"too old resource version: {since} ({self._compacted + 1})")
            subscription = Subscription(table, wake)
            for change in self._history[bisect_right(self._history, since, key=lambda one: one.revision) :]:
                subscription.offer(change)
            self._subscriptions.append(subscription)
            return subscription

    def unfollow(self, subscription: Subscription) -> None:
        with self.lock:
            self._subscriptions.remove(subscription)

    def compact(self) -> None:
        """Forget the past."""
        with self.lock:
            self._history.clear()
            self._compacted = self.revision


def _versioned(obj: Json, version: str) -> Json:
    if obj["metadata"].get("resourceVersion") == version:
        return obj
    return obj | {"metadata": obj["metadata"] | {"resourceVersion": version}}
