"""Errors of the quorum: broken invariants, invalid responses, appends to a replica that does not lead."""

from __future__ import annotations

from highwater_runtime.portable import PortableError
from highwater_runtime.ports import NodeHaltError, Trace
from highwater_runtime.ports.trace import RaftBroken


class QuorumBrokenError(NodeHaltError):
    """Raft's promises do not hold (a voter forgot its vote, a disk lost what it had flushed): the replica halts."""


class VotersChangedError(NodeHaltError):
    """The configuration names other voters than those of the quorum: the replica must not start."""


def halt(trace: Trace, invariant: str, epoch: int, leader_id: int | None, what: str) -> QuorumBrokenError:
    """Report the broken ``invariant`` and make the error to raise."""
    trace.emit(RaftBroken(epoch=epoch, leader=-1 if leader_id is None else leader_id, reason=invariant))
    return QuorumBrokenError(what)


class InvalidResponseError(Exception):
    """A response that no correct leader sends. The follower changes nothing and sends the request again later."""


class NotLeaderError(PortableError):
    """This replica does not lead the quorum; ``leader_id`` is who does in ``epoch``, as far as it knows."""

    def __init__(self, leader_id: int | None, epoch: int) -> None:
        known = "none is known" if leader_id is None else f"node {leader_id} does"
        super().__init__(f"this replica does not lead epoch {epoch} of the quorum: {known}")
        self.leader_id = leader_id
        self.epoch = epoch
