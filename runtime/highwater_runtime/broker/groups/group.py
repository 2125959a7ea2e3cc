"""One group: its members, their common protocol, and its generation. Pure decisions: no time-outs, no responses.

Rules in words:

* All members have one *protocol type* ("consumer", "connect") and at least one *protocol* (assignor) in common. If a
  new member would leave no common protocol, it is refused. The protocol of a generation is the one that most members
  prefer among those that all of them support.
* A *generation* is one set of members with one protocol. It begins when all members have joined (or time is up). Its
  number is one higher, even if no member is left.
* The *leader* is the member that computes the assignment: the first one that joined, else one that has rejoined.
* A member with a ``group.instance.id`` is *static* (KIP-345). If a client joins with the same instance id, it takes
  over the place of that member with a new member id, and the earlier member id is fenced.
* A *pending* member (KIP-394) has got a member id, and has not joined with it yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from highwater_runtime.broker.groups.offsets import GroupOffsets
from highwater_runtime.broker.groups.states import MAY_FOLLOW, GroupState
from highwater_runtime.ports import Timer
from highwater_runtime.wire.codec import DecodeError
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from highwater_runtime.wire.versioned import decode_consumer_protocol

NO_GENERATION: Final = -1
NO_MEMBER_ID: Final = ""
CONSUMER_PROTOCOL_TYPE: Final = "consumer"


class Protocol(NamedTuple):
    """An assignor that a member supports, with the member's subscription in that assignor's form."""

    name: str
    metadata: bytes


class JoinedMember(NamedTuple):
    """A member in the JoinGroup response of the leader."""

    member_id: str
    instance_id: str | None
    metadata: bytes


class Joined(NamedTuple):
    """The answer to a JoinGroup. ``members`` for the leader alone."""

    error: ErrorCode
    member_id: str
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol: str | None = None
    leader_id: str = NO_MEMBER_ID
    members: tuple[JoinedMember, ...] = ()
    skip_assignment: bool = False


class Synced(NamedTuple):
    """The answer to a SyncGroup."""

    error: ErrorCode
    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""


@dataclass(slots=True, kw_only=True, eq=False)
class Member:
    """One member. ``joining`` and ``syncing`` are set while its request waits for the others."""

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[Protocol, ...]
    assignment: bytes = b""
    is_new: bool = False
    """It has joined for the first time and not been answered yet: it cannot send heartbeats."""
    joining: Callable[[Joined], None] | None = None
    syncing: Callable[[Synced], None] | None = None
    deadline_ns: int = 0
    """When its session ends, by the node's clock."""
    timer: Timer | None = None
    """Fires at the deadline or before; see ``membership``."""

    def metadata_for(self, protocol: str) -> bytes:
        """Its subscription under a protocol, which it must support."""
        return next(p.metadata for p in self.protocols if p.name == protocol)

    def vote(self, candidates: Iterable[str]) -> str:
        """The first of its protocols that is among ``candidates``."""
        return next(p.name for p in self.protocols if p.name in candidates)


@dataclass(slots=True, eq=False)
class Group:
    """One group, on its coordinator. ``state_since_ms`` is wall time; ``None``: not known (an old record)."""

    id: str
    state: GroupState = GroupState.EMPTY
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader_id: str | None = None
    state_since_ms: int | None = None
    members: dict[str, Member] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    """``group.instance.id`` → member id."""
    pending: dict[str, Timer] = field(default_factory=dict)
    """Member ids given out (MEMBER_ID_REQUIRED) under which no member has joined yet; each with its time-out."""
    awaiting_sync: dict[str, None] = field(default_factory=dict)
    """Members of this generation that have not sent SyncGroup."""
    offsets: GroupOffsets = field(default_factory=GroupOffsets)
    new_member_added: bool = False
    """A member joined during the initial delay, which may be extended for that."""
    initial_delay: bool = False
    """It was empty, and waits for more first members, however many have joined."""
    rebalance_timer: Timer | None = None
    sync_timer: Timer | None = None

    def transition_to(self, state: GroupState, now_ms: int) -> None:
        """Enter ``state``. A transition that the table does not have is a bug."""
        assert self.state in MAY_FOLLOW[state], f"group {self.id!r}: {self.state.value} may not become {state.value}"
        self.state = state
        self.state_since_ms = now_ms

    # --- members --------------------------------------------------------------------------------------------------

    def add(self, member: Member) -> None:
        """Take in a new member; the first one leads."""
        assert member.id not in self.members
        self.members[member.id] = member
        if member.instance_id is not None:
            assert member.instance_id not in self.static_members
            self.static_members[member.instance_id] = member.id
        if self.leader_id is None:
            self.leader_id = member.id

    def remove(self, member: Member) -> None:
        """Let a member go; another one leads if this one did. Its answers and timer are the caller's affair."""
        del self.members[member.id]
        if member.instance_id is not None:
            del self.static_members[member.instance_id]
        if self.leader_id == member.id:
            self.leader_id = next(iter(self.members), None)
        self.awaiting_sync.pop(member.id, None)

    def rename(self, member: Member, new_id: str) -> None:
        """Let a static member go on under another id, in its place among the others."""
        assert member.instance_id is not None
        old_id = member.id
        member.id = new_id
        self.members = {m.id: m for m in self.members.values()}
        self.static_members[member.instance_id] = new_id
        if self.leader_id == old_id:
            self.leader_id = new_id
        if old_id in self.awaiting_sync:
            self.awaiting_sync = {new_id if m == old_id else m: None for m in self.awaiting_sync}

    def is_leader(self, member_id: str) -> bool:
        """Whether this member computes the assignment."""
        return self.leader_id == member_id

    def check_member(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """NONE, or why this is not a present member: UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID where another process
        has taken over the static member since."""
        if instance_id is not None:
            present = self.static_members.get(instance_id)
            if present is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if present != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    @property
    def joining_count(self) -> int:
        """How many members wait for the others to join."""
        return sum(member.joining is not None for member in self.members.values())

    @property
    def all_have_joined(self) -> bool:
        """Return whether the group waits for no member, and for no client that was given an id."""
        return not self.pending and all(member.joining is not None for member in self.members.values())

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long members may take to rejoin: the longest that any of them asks for."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def members_joined(self) -> tuple[JoinedMember, ...]:
        """All members with their subscriptions under the chosen protocol, as the leader needs them."""
        assert self.protocol is not None
        return tuple(JoinedMember(m.id, m.instance_id, m.metadata_for(self.protocol)) for m in self.members.values())

    # --- protocol -------------------------------------------------------------------------------------------------

    def accepts(self, protocol_type: str, protocols: Iterable[Protocol]) -> bool:
        """Return whether a client with these protocols may be (or stay) a member: all have at least one in common."""
        names = [protocol.name for protocol in protocols]
        if self.state is GroupState.EMPTY:
            return bool(protocol_type) and bool(names)
        if self.protocol_type != protocol_type:
            return False
        common = self.common_protocols() if self.members else names
        return any(name in common for name in names)

    def common_protocols(self) -> list[str]:
        """Names of the protocols that every member supports."""
        members = list(self.members.values())
        if not members:
            return []
        return [p.name for p in members[0].protocols if all(p.name in [q.name for q in m.protocols] for m in members)]

    def select_protocol(self) -> str:
        """The common protocol with the most votes; of equal ones the one that was voted for first."""
        candidates = self.common_protocols()
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=lambda name: votes[name])

    # --- generation -----------------------------------------------------------------------------------------------

    def elect_joined_leader(self) -> bool:
        """Make sure that the leader has rejoined. Return False if no member has."""
        if self.leader_id is None or self.members[self.leader_id].joining is not None:
            return True
        joined = next((m.id for m in self.members.values() if m.joining is not None), None)
        if joined is None:
            return False
        self.leader_id = joined
        return True

    def begin_generation(self, now_ms: int) -> None:
        """The next generation, of the members as they are now; Empty where there are none."""
        self.generation += 1
        self.awaiting_sync = dict.fromkeys(self.members)
        if self.members:
            self.protocol = self.select_protocol()
            self.transition_to(GroupState.COMPLETING_REBALANCE, now_ms)
        else:
            self.protocol = None
            self.transition_to(GroupState.EMPTY, now_ms)

    # --- subscriptions --------------------------------------------------------------------------------------------

    def subscribed_topics(self) -> frozenset[str] | None:
        """Return the topics to which consumers of this generation subscribe; None if they are not known."""
        if self.protocol_type != CONSUMER_PROTOCOL_TYPE or not self.members or self.protocol is None:
            return None
        topics: list[str] = []
        for member in self.members.values():
            subscribed = subscription_topics(member.metadata_for(self.protocol))
            if subscribed is None:
                return None
            topics += subscribed
        return frozenset(topics)


def subscription_topics(metadata: bytes) -> list[str] | None:
    """The topics that a consumer subscribes to; ``None`` where its metadata is not a consumer's."""
    try:
        topics: list[str] = decode_consumer_protocol(ConsumerProtocolSubscription, metadata).topics
    except DecodeError:
        return None
    return topics
