"""Which connections of a server wait for which nodes.

A watch belongs to a connection and fires once. There are two kinds, as in ZooKeeper: on a node (set by Get and Exists)
and on its children (set by Children). A deleted node fires both, and a connection that has both gets one event.
"""

from __future__ import annotations

from highwater_runtime.ports.coordination import WatchEvent, WatchKind

_Table = dict[str, dict[int, None]]


class Watches:
    """The watches of all connections, by path."""

    def __init__(self) -> None:
        self._nodes: _Table = {}
        self._children: _Table = {}

    def add(self, connection: int, path: str, *, children: bool) -> None:
        """Let ``connection`` wait for ``path``, or for its children."""
        table = self._children if children else self._nodes
        table.setdefault(path, {})[connection] = None

    def fire(self, event: WatchEvent) -> list[int]:
        """Take out the watches that ``event`` ends; returns their connections in the order in which they were set."""
        match event.kind:
            case WatchKind.CHILDREN:
                waiting = self._children.pop(event.path, {})
            case WatchKind.DELETED:
                waiting = self._nodes.pop(event.path, {}) | self._children.pop(event.path, {})
            case _:
                waiting = self._nodes.pop(event.path, {})
        return list(waiting)

    def forget(self, connection: int) -> None:
        """Take out all watches of ``connection``."""
        for table in (self._nodes, self._children):
            for path in [path for path, waiting in table.items() if connection in waiting]:
                del table[path][connection]
                if not table[path]:
                    del table[path]
