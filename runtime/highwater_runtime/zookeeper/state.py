"""The replicated state of an ensemble, the tree and its sessions, as a state machine over transactions.

A record of the log holds one :class:`Transaction`. Every server applies the same ones in the same order, so all of them
come to the same results; the server that a transaction came from (``connection``) hands the result to its client.
A session's id is the zxid of the transaction that opened it.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from msgspec import Struct, ValidationError, msgpack

from highwater_runtime.ports.coordination import (
    Create,
    Delete,
    Failure,
    Multi,
    Result,
    SessionKey,
    Set,
    WatchEvent,
)
from highwater_runtime.zookeeper.tree import DataTree, Node


class OpenSession(Struct, frozen=True, tag="open"):
    """Begin a session of ``timeout_ms``."""

    password: bytes
    timeout_ms: int


class CloseSession(Struct, frozen=True, tag="close"):
    """End a session, because its client says so or because it has expired."""


Write: TypeAlias = Create | Set | Delete | Multi
WRITES = (Create, Set, Delete, Multi)


class Transaction(Struct, frozen=True):
    """One record of the log. ``connection`` is the id of the client's connection that it came by; 0: the leader's own.
    ``session`` is 0 for one that opens a session."""

    session: int
    connection: int
    action: OpenSession | CloseSession | Write


class SessionFacts(Struct, frozen=True):
    """What the ensemble knows of a session for good."""

    password: bytes
    timeout_ms: int


class Applied(NamedTuple):
    """What a transaction did: its result (of OpenSession the session's key), and the events for watches."""

    result: Result | SessionKey
    events: list[WatchEvent]


class _SnapshotNode(Struct, frozen=True, tag="node"):
    path: str
    node: Node


class _SnapshotSession(Struct, frozen=True, tag="session"):
    id: int
    facts: SessionFacts


_encoder = msgpack.Encoder()
_transaction_decoder = msgpack.Decoder(Transaction)
_snapshot_decoder = msgpack.Decoder(_SnapshotNode | _SnapshotSession)


def encode_transaction(transaction: Transaction) -> bytes:
    """The record of ``transaction``."""
    return _encoder.encode(transaction)


def decode_transaction(record: bytes) -> Transaction:
    """Inverse of :func:`encode_transaction`. Raises ValueError."""
    try:
        return _transaction_decoder.decode(record)
    except ValidationError as error:
        raise ValueError(f"no transaction: {error}") from error


class EnsembleState:
    """The tree and the living sessions as of :attr:`zxid`."""

    def __init__(self) -> None:
        self.zxid = 0
        """The last transaction that is in it."""
        self.tree = DataTree()
        self.sessions: dict[int, SessionFacts] = {}

    def apply(self, transaction: Transaction, zxid: int) -> Applied:
        """Take in the transaction ``zxid``, the next one."""
        assert zxid > self.zxid, f"transaction {zxid} after {self.zxid}"
        self.zxid = zxid
        self.tree.forget_changes()
        match transaction.action:
            case OpenSession(password=password, timeout_ms=timeout_ms):
                self.sessions[zxid] = SessionFacts(password, timeout_ms)
                return Applied(SessionKey(zxid, password), [])
            case _ if transaction.session not in self.sessions:
                return Applied(Failure.SESSION_EXPIRED, [])
            case CloseSession():
                del self.sessions[transaction.session]
                return Applied(None, self.tree.end_session(transaction.session, zxid))
            case write:
                return Applied(*self.tree.write(write, transaction.session, zxid))

    def snapshot(self) -> list[bytes]:
        """The state as records for a snapshot of the log."""
        sessions = [_encoder.encode(_SnapshotSession(one, facts)) for one, facts in sorted(self.sessions.items())]
        return sessions + [_encoder.encode(_SnapshotNode(path, node)) for path, node in self.tree]

    @classmethod
    def load(cls, zxid: int, records: list[bytes]) -> EnsembleState:
        """Inverse of :meth:`snapshot`."""
        state = cls()
        nodes: dict[str, Node] = {}
        for record in records:
            match _snapshot_decoder.decode(record):
                case _SnapshotNode(path=path, node=node):
                    nodes[path] = node
                case _SnapshotSession(id=session, facts=facts):
                    state.sessions[session] = facts
        state.tree = DataTree(nodes)
        state.zxid = zxid
        return state
