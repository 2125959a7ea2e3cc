from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class Voter(Struct):
    voter_id: Int32 = field()
    voter_directory_id: UUID = field("1+")


class LeaderChangeMessage(Message, kind="data", versions="0-1", flexible="0+"):
    """The first record of a leader's epoch in the metadata log."""

    version: Int16 = field()
    leader_id: Int32 = field()
    voters: list[Voter] = field()
    granting_voters: list[Voter] = field()  # Those who voted for the leader.
