"""Apply ZooKeeper's transactions and snapshots to a tree, and return what they changed.

The encodings are those of ``zookeeper.jute`` (module ``txn``) and of the snapshot that a leader sends, as of release
3.8. Every server carries out the same transactions, so the tree that is kept here is that of the servers, as far as it
matters: which nodes there are, their data, versions and sessions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from highwater_chaos.backends.ensemble.jute import JuteError, Reader
from highwater_runtime.zookeeper.tree import Change

_CREATE: Final = 1
_DELETE: Final = 2
_SET_DATA: Final = 5
_MULTI: Final = 14
_CREATE2: Final = 15
_RECONFIG: Final = 16
_CREATE_CONTAINER: Final = 19
_DELETE_CONTAINER: Final = 20
_CREATE_TTL: Final = 21
_ERROR: Final = -1
_CLOSE_SESSION: Final = -11
_NOTHING: Final = (7, 13, -10)
"""setACL, check (within a multi), createSession: they change no node's data."""
_SIGNATURE: Final = "BenWasHere"
"""Behind a snapshot on the wire."""


class Header(NamedTuple):
    """Of a transaction. ``wall_ms``: the leader's clock when it took the request in."""

    session: int
    zxid: int
    wall_ms: int
    kind: int


def read_header(reader: Reader) -> Header:
    """``TxnHeader``."""
    session, _, zxid, wall_ms, kind = reader.long(), reader.number(), reader.long(), reader.long(), reader.number()
    return Header(session, zxid, wall_ms, kind)


class EnsembleTree:
    """The tree after the transaction :attr:`zxid`."""

    def __init__(self) -> None:
        self.zxid = 0
        self._nodes: dict[str, Change] = {}
        self._ephemerals: dict[int, dict[str, None]] = {}

    def apply(self, header: Header, body: Reader) -> list[Change]:
        """Carry out a transaction; returns what it changed. Raises :class:`.jute.JuteError`."""
        self.zxid = header.zxid
        return list(self._apply(header, header.kind, body))

    def _apply(self, header: Header, kind: int, body: Reader) -> Iterator[Change]:
        match kind:
            case _ if kind == _MULTI:
                steps = [(body.number(), body.buffer()) for _ in range(body.count())]
                if any(step == _ERROR for step, _ in steps):
                    return  # it was taken back as a whole
                for step, data in steps:
                    yield from self._apply(header, step, Reader.of(data))
            case _ if kind in (_CREATE, _CREATE2, _CREATE_CONTAINER, _CREATE_TTL):
                path, data = body.text(), body.buffer()
                for _ in range(body.count()):
                    _read_acl(body)
                owner = header.session if kind in (_CREATE, _CREATE2) and body.boolean() else 0
                yield self._put(Change(path, data, 0, header.zxid, owner))
            case _ if kind in (_SET_DATA, _RECONFIG):
                path, data, version = body.text(), body.buffer(), body.number()
                if (node := self._nodes.get(path)) is not None:
                    yield self._put(node._replace(data=data, version=version))
            case _ if kind in (_DELETE, _DELETE_CONTAINER):
                yield from self._remove(body.text())
            case _ if kind == _CLOSE_SESSION:
                for path in sorted(self._ephemerals.get(header.session, ())):
                    yield from self._remove(path)
            case _ if kind == _ERROR or kind in _NOTHING:
                return
            case _:
                raise JuteError(f"unknown type {kind} of a transaction, zxid {header.zxid:#x}")

    def replace(self, zxid: int, nodes: list[Change]) -> list[Change]:
        """Take over a whole tree; returns how it differs from the one before."""
        before = self._nodes
        self.zxid, self._nodes, self._ephemerals = zxid, {}, {}
        for node in nodes:
            self._put(node)
        gone = [Change(path, None) for path in before if path not in self._nodes]
        return [*gone, *(node for path, node in self._nodes.items() if before.get(path) != node)]

    def _put(self, node: Change) -> Change:
        self._nodes[node.path] = node
        if node.owner:
            self._ephemerals.setdefault(node.owner, {})[node.path] = None
        return node

    def _remove(self, path: str) -> Iterator[Change]:
        node = self._nodes.pop(path, None)
        if node is not None:
            self._ephemerals.get(node.owner, {}).pop(path, None)
            yield Change(path, None)


def read_snapshot(reader: Reader) -> list[Change]:
    """All nodes of the tree that a leader sends behind ``SNAP``, parents first. Raises :class:`.jute.JuteError`."""
    for _ in range(reader.number()):
        reader.long(), reader.number()  # a session and its time-out
    for _ in range(reader.number()):
        reader.long()
        for _ in range(reader.count()):
            _read_acl(reader)
    nodes: list[Change] = []
    while (path := reader.text()) != "/":
        data, _ = reader.buffer(), reader.long()
        czxid, _, _, _ = reader.long(), reader.long(), reader.long(), reader.long()
        version, _, _ = reader.number(), reader.number(), reader.number()
        owner, _ = reader.long(), reader.long()
        nodes.append(Change(path, data, version, czxid, owner))
    if (signature := reader.text()) != _SIGNATURE:
        raise JuteError(f"expected {_SIGNATURE} behind a snapshot, found {signature!r}")
    return nodes


def _read_acl(reader: Reader) -> None:
    reader.number(), reader.text(), reader.text()
