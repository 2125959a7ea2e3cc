"""The file ``quorum-state``: epoch, leader and vote, durable before any message that relies on them (KIP-595).

A new state is written to a file of its own, fsynced, renamed over the old one, and the directory fsynced: after a
power loss at any point there is either the old state or the new one, whole. Content as Kafka writes it (version 0).

The file names the voters too, and a replica that is given others does not start (as in Kafka 3.0 to 3.7): a majority of
one set and a majority of the other need not share a voter, so two leaders of one epoch could be elected.

The switch ``quorum-state-sync`` leaves both fsyncs out: a voter that loses power forgets its vote and gives a second.
"""

from __future__ import annotations

import msgspec

from highwater_runtime.ports import Disk
from highwater_runtime.raft.errors import VotersChangedError
from highwater_runtime.raft.states import ElectionState

_FILE = "quorum-state"
_NEW_FILE = "quorum-state.tmp"


class QuorumStateError(ValueError):
    """The file does not hold a quorum state; the replica must not start, since it may have voted."""


class _Voter(msgspec.Struct, frozen=True):
    voter_id: int = msgspec.field(name="voterId")


class _Content(msgspec.Struct, frozen=True):
    """Kafka's QuorumStateData, version 0; −1 stands for none."""

    leader_id: int = msgspec.field(name="leaderId")
    leader_epoch: int = msgspec.field(name="leaderEpoch")
    voted_id: int = msgspec.field(name="votedId")
    applied_offset: int = msgspec.field(name="appliedOffset", default=0)
    current_voters: list[_Voter] = msgspec.field(name="currentVoters", default_factory=list)
    data_version: int = 0


class QuorumStateStore:
    """Reads and writes the quorum state of one replica in ``directory``."""

    def __init__(self, disk: Disk, directory: str, voters: tuple[int, ...], *, sync: bool = True) -> None:
        self._disk = disk
        self._directory = directory
        self._sync = sync
        self._voters = [_Voter(voter) for voter in voters]

    def load(self) -> ElectionState:
        """The saved state; epoch 0 and nothing else where none was ever saved.

        Raises:
            OSError: the disk failed.
            QuorumStateError: the file is not what this store writes.
            VotersChangedError: the quorum had other voters when the file was written.
        """
        path = f"{self._directory}/{_FILE}"
        if not self._disk.exists(path):
            return ElectionState(0)
        file = self._disk.open(path)
        try:
            data = file.read(0, file.size())
        finally:
            file.close()
        try:
            content = msgspec.json.decode(data, type=_Content)
        except msgspec.MsgspecError as error:
            if not self._sync:
                return ElectionState(0)  # the name was durable, the content was not: as if nothing had been saved
            raise QuorumStateError(
                f"{path}: expected Kafka's quorum state as JSON, found {data[:80]!r} ({error}); restore the file, or "
                "wipe the whole directory only if a majority of the other voters is healthy"
            ) from error
        if content.data_version != 0:
            raise QuorumStateError(f"{path}: expected data_version 0, found {content.data_version}")
        if content.leader_epoch < 0:
            raise QuorumStateError(f"{path}: expected a leaderEpoch of 0 or more, found {content.leader_epoch}")
        voters = sorted(voter.voter_id for voter in content.current_voters)
        if voters and voters != [voter.voter_id for voter in self._voters]:
            configured = ", ".join(str(voter.voter_id) for voter in self._voters)
            raise VotersChangedError(
                f"{path}: the voters of this quorum are {', '.join(map(str, voters))}, the configuration names "
                f"{configured}; voters are fixed when a quorum is made: restore controller.quorum.voters"
            )
        return ElectionState(content.leader_epoch, _id_or_none(content.leader_id), _id_or_none(content.voted_id))

    def save(self, state: ElectionState) -> None:
        """Make ``state`` durable before returning. Raises ``OSError`` where the disk fails."""
        content = _Content(
            leader_id=_none_to_id(state.leader_id),
            leader_epoch=state.epoch,
            voted_id=_none_to_id(state.voted_id),
            current_voters=self._voters,
        )
        if not self._disk.is_dir(self._directory):
            self._disk.mkdir(self._directory)
            if self._sync:
                self._disk.fsync_dir("")
        new = f"{self._directory}/{_NEW_FILE}"
        file = self._disk.open(new, create=True)
        try:
            file.truncate(0)
            file.append(msgspec.json.encode(content))
            if self._sync:
                file.fsync()
        finally:
            file.close()
        self._disk.rename(new, f"{self._directory}/{_FILE}")
        if self._sync:
            self._disk.fsync_dir(self._directory)


def _id_or_none(number: int) -> int | None:
    return None if number < 0 else number


def _none_to_id(number: int | None) -> int:
    return -1 if number is None else number
