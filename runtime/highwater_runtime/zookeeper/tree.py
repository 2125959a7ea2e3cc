"""The tree of nodes: what an operation of one session does to it, and which watches that fires.

No I/O, no time, no randomness: the same operations with the same zxids make the same tree and the same results on every
server. An operation that fails changes nothing; of a multi that fails in the middle everything is taken back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from highwater_runtime.ports.coordination import (
    ANY_VERSION,
    Aborted,
    Check,
    Children,
    Create,
    Created,
    Data,
    Delete,
    Exists,
    Failure,
    Get,
    Listing,
    Multi,
    Operation,
    Result,
    Set,
    Stat,
    Step,
    StepResult,
    WatchEvent,
    WatchKind,
    parent_of,
)

K = TypeVar("K")


class Change(NamedTuple):
    """What a transaction made of one node. ``data`` None: it is gone. ``owner``: see ``Stat.ephemeral_owner``."""

    path: str
    data: bytes | None
    version: int = -1
    czxid: int = 0
    owner: int = 0


class Node(Struct, frozen=True):
    """One node. ``creations`` counts children ever created: the next sequential one bears that number."""

    data: bytes
    czxid: int
    mzxid: int
    pzxid: int
    version: int = 0
    creations: int = 0
    owner: int = 0


ROOT: Final = Node(b"", 0, 0, 0)


class DataTree:
    """All nodes by path. A parent is always there."""

    def __init__(self, nodes: dict[str, Node] | None = None) -> None:
        self._nodes: dict[str, Node] = {}
        self._children: dict[str, dict[str, None]] = {}
        self._ephemerals: dict[int, dict[str, None]] = {}
        self._undo: list[tuple[str, Node | None]] = []
        for path, node in ({"/": ROOT} if nodes is None else nodes).items():
            self._put(path, node)
        self._undo.clear()

    def __iter__(self) -> Iterator[tuple[str, Node]]:
        return iter(sorted(self._nodes.items()))

    def ephemerals_of(self, session: int) -> list[str]:
        """Paths of the nodes that end with ``session``, ascending."""
        return sorted(self._ephemerals.get(session, ()))

    # --- reading ---

    def read(self, operation: Get | Exists | Children) -> Data | Listing | Stat | Failure | None:
        """The result of a read."""
        node = self._nodes.get(operation.path)
        if node is None:
            return None if isinstance(operation, Exists) else Failure.NO_NODE
        stat = self._stat(operation.path, node)
        match operation:
            case Get():
                return Data(node.data, stat)
            case Exists():
                return stat
            case Children():
                return Listing(tuple(sorted(self._children.get(operation.path, ()))), stat)

    def _stat(self, path: str, node: Node) -> Stat:
        children = len(self._children.get(path, ()))
        return Stat(
            node.czxid,
            node.mzxid,
            node.pzxid,
            node.version,
            2 * node.creations - children,
            node.owner,
            children,
        )

    # --- writing ---

    def write(self, operation: Operation[Any], session: int, zxid: int) -> tuple[Result, list[WatchEvent]]:
        """Carry out a write of ``session`` in the transaction ``zxid``: its result, and the events that it causes."""
        self._undo.clear()
        events: list[WatchEvent] = []
        if not isinstance(operation, Multi):
            assert isinstance(operation, Step), f"{operation} is no write"
            return self._step(operation, session, zxid, events), events
        results: list[StepResult] = []
        for index, step in enumerate(operation.steps):
            result = self._step(step, session, zxid, events)
            if isinstance(result, Failure):
                self._take_back()
                return Aborted(index, result), []
            results.append(result.path if isinstance(result, Created) else result)
        return tuple(results), events

    def end_session(self, session: int, zxid: int) -> list[WatchEvent]:
        """Delete the ephemeral nodes of ``session`` in the transaction ``zxid``; the events that this causes."""
        self._undo.clear()
        events: list[WatchEvent] = []
        for path in self.ephemerals_of(session):
            self._remove(path, zxid, events)
        return events

    def _step(self, step: Step, session: int, zxid: int, events: list[WatchEvent]) -> Created | Stat | Failure | None:
        if isinstance(step, Create):
            return self._create(step, session, zxid, events)
        node = self._nodes.get(step.path)
        if isinstance(step, Delete) and step.path == "/":
            return Failure.BAD_ARGUMENTS
        if node is None:
            return Failure.NO_NODE
        if step.version not in (ANY_VERSION, node.version):
            return Failure.BAD_VERSION
        match step:
            case Set():
                changed = replace(node, data=step.data, mzxid=zxid, version=node.version + 1)
                self._put(step.path, changed)
                events.append(WatchEvent(WatchKind.CHANGED, step.path))
                return self._stat(step.path, changed)
            case Delete():
                if self._children.get(step.path):
                    return Failure.NOT_EMPTY
                self._remove(step.path, zxid, events)
                return None
            case Check():
                return None

    def _create(self, step: Create, session: int, zxid: int, events: list[WatchEvent]) -> Created | Failure:
        if step.path == "/":
            return Failure.NODE_EXISTS
        parent_path = parent_of(step.path)
        parent = self._nodes.get(parent_path)
        if parent is None:
            return Failure.NO_NODE
        path = f"{step.path}{parent.creations:010d}" if step.sequential else step.path
        if path in self._nodes:
            return Failure.NODE_EXISTS
        if parent.owner:
            return Failure.NO_CHILDREN_FOR_EPHEMERALS
        node = Node(step.data, zxid, zxid, zxid, owner=session if step.ephemeral else 0)
        self._put(path, node)
        self._put(parent_path, replace(parent, pzxid=zxid, creations=parent.creations + 1))
        events += (WatchEvent(WatchKind.CREATED, path), WatchEvent(WatchKind.CHILDREN, parent_path))
        return Created(path, self._stat(path, node))

    def _remove(self, path: str, zxid: int, events: list[WatchEvent]) -> None:
        parent_path = parent_of(path)
        self._put(path, None)
        self._put(parent_path, replace(self._nodes[parent_path], pzxid=zxid))
        events += (WatchEvent(WatchKind.DELETED, path), WatchEvent(WatchKind.CHILDREN, parent_path))

    @property
    def all(self) -> list[Change]:
        """The whole tree, as if a transaction had just made it."""
        return [_as_change(path, node) for path, node in self]

    def forget_changes(self) -> None:
        """A transaction begins, which may not touch the tree at all."""
        self._undo.clear()

    @property
    def changes(self) -> list[Change]:
        """What the transaction made of each node that it created, set or deleted, in the order in which it first
        touched them."""
        before: dict[str, Node | None] = {}
        for path, old in self._undo:
            before.setdefault(path, old)
        found = []
        for path, old in before.items():
            node = self._nodes.get(path)
            if node is None:
                found += [Change(path, None)] if old is not None else []
            elif old is None or (old.czxid, old.version) != (node.czxid, node.version):
                found.append(_as_change(path, node))
        return found

    # --- the only change there is ---

    def _put(self, path: str, node: Node | None) -> None:
        """Put ``node`` at ``path``; None removes the one that is there."""
        old = self._nodes.get(path)
        self._undo.append((path, old))
        if node is not None:
            self._nodes[path] = node
        else:
            del self._nodes[path]
        if (old is None) != (node is None) and path != "/":
            _mark(self._children, parent_of(path), path.rpartition("/")[2], present=node is not None)
        for one, present in ((old, False), (node, True)):
            if one is not None and one.owner:
                _mark(self._ephemerals, one.owner, path, present=present)

    def _take_back(self) -> None:
        for path, old in reversed(tuple(self._undo)):
            self._put(path, old)
        self._undo.clear()


def _as_change(path: str, node: Node) -> Change:
    return Change(path, node.data, node.version, node.czxid, node.owner)


def _mark(index: dict[K, dict[str, None]], key: K, entry: str, *, present: bool) -> None:
    """Put ``entry`` in ``index`` under ``key``, or take it out."""
    if present:
        index.setdefault(key, {})[entry] = None
    else:
        entries = index[key]
        del entries[entry]
        if not entries:
            del index[key]
