"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup: what moves a group from state to state, and the time-outs that do.

A rebalance in words: every change of the set of members starts a rebalance; the leader can start one too. Members learn
of it from their heartbeats and join again. When all have joined, or the longest rebalance time-out is over, members
that did not join are removed, the generation begins, and every JoinGroup gets its response. That of the leader lists
all members. The leader sends the assignment with its SyncGroup. The coordinator writes it to ``__consumer_offsets``.
When that is committed, every SyncGroup gets its response. A group that was empty waits
``group.initial.rebalance.delay.ms`` instead. It waits again if a member joined in that time, so that consumers that
start together are balanced once.

Time-outs:

* The session of a member ends when no request of it arrived for its session time-out. While its JoinGroup or SyncGroup
  waits for other members, it does not end. Only the *first* join of a member has a time-out, of five minutes: its
  client has no member id yet, so a retry creates another member, and this one would wait forever.
* A member that got its JoinGroup response but sends no SyncGroup within the rebalance time-out is removed.
* A member id without a member (MEMBER_ID_REQUIRED) expires after the session time-out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Final, Protocol
from uuid import UUID

from highwater_runtime.broker.groups.group import NO_MEMBER_ID, Group, Joined, Member, Synced
from highwater_runtime.broker.groups.requests import JoinRequest, SyncRequest
from highwater_runtime.broker.groups.sessions import Sessions
from highwater_runtime.broker.groups.states import GroupState
from highwater_runtime.config import NodeConfig
from highwater_runtime.ports import MS, Clock
from highwater_runtime.ports.trace import Transition
from highwater_runtime.wire.errors import ErrorCode

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 300_000

_REBALANCEABLE: Final = (GroupState.EMPTY, GroupState.COMPLETING_REBALANCE, GroupState.STABLE)


class GroupStore(Protocol):
    """Where groups are kept."""

    def store_group(self, group: Group, assignment: Mapping[str, bytes], on_done: Callable[[ErrorCode], None]) -> None:
        """Write the group as it is now, with ``assignment`` by member id; ``on_done`` with NONE once that is
        committed, else with the error for the client. May call ``on_done`` before it returns."""


class Membership:
    """The classic group protocol, for any number of groups."""

    def __init__(
        self,
        clock: Clock,
        random: Random,
        config: NodeConfig,
        store: GroupStore,
        took: Callable[[Transition], None] = lambda _: None,
    ) -> None:
        """``took`` is called with each transition of a group that the report of reached transitions names."""
        self._clock = clock
        self._random = random
        self._config = config
        self._store = store
        self._took = took
        self._sessions = Sessions(clock, self._expired)

    # --- JoinGroup ------------------------------------------------------------------------------------------------

    def session_timeout_allowed(self, session_timeout_ms: int) -> bool:
        """Whether it lies within ``group.min.session.timeout.ms`` and ``group.max.session.timeout.ms``."""
        return (
            self._config.group_min_session_timeout_ms <= session_timeout_ms <= self._config.group_max_session_timeout_ms
        )

    def join(self, group: Group, request: JoinRequest, answer: Callable[[Joined], None]) -> None:
        """Join; ``answer`` is called exactly once, when the generation begins or with an error."""
        member_id = request.member_id
        if not self._has_room(group, member_id):
            member = group.members.get(member_id)
            if member is not None:
                self._drop(group, member, ErrorCode.GROUP_MAX_SIZE_REACHED)
            self._forget_pending(group, member_id)
            answer(Joined(ErrorCode.GROUP_MAX_SIZE_REACHED, NO_MEMBER_ID))
        elif group.state is GroupState.DEAD:
            answer(Joined(ErrorCode.COORDINATOR_NOT_AVAILABLE, member_id))
        elif not group.accepts(request.protocol_type, request.protocols):
            answer(Joined(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id))
        elif not member_id:
            self._join_new(group, request, answer)
        else:
            self._join_known(group, request, answer)
        self._complete_join_if_all_are_there(group)

    def _has_room(self, group: Group, member_id: str) -> bool:
        most = self._config.group_max_size
        match group.state:
            case GroupState.EMPTY | GroupState.DEAD:
                return True
            case GroupState.PREPARING_REBALANCE:
                # Members that wait have their place already; of the others, first come, first served.
                member = group.members.get(member_id)
                return (member is not None and member.joining is not None) or group.joining_count < most
            case _:
                return member_id in group.members or len(group.members) < most

    def _join_new(self, group: Group, request: JoinRequest, answer: Callable[[Joined], None]) -> None:
        stem = request.instance_id if request.instance_id is not None else request.client_id
        new_id = f"{stem}-{UUID(int=self._random.getrandbits(128), version=4)}"
        if request.instance_id is not None:
            present = group.static_members.get(request.instance_id)
            if present is None:
                self._add(group, new_id, request, answer)
            else:
                self._replace(group, group.members[present], new_id, request, answer)
        elif request.requires_known_member:
            self._give_out(group, new_id, request.session_timeout_ms)
            answer(Joined(ErrorCode.MEMBER_ID_REQUIRED, new_id))
        else:
            self._add(group, new_id, request, answer)

    def _give_out(self, group: Group, new_id: str, session_timeout_ms: int) -> None:
        def expire() -> None:
            del group.pending[new_id]
            self._complete_join_if_all_are_there(group)

        group.pending[new_id] = self._clock.call_later(session_timeout_ms * MS, expire)

    def _join_known(self, group: Group, request: JoinRequest, answer: Callable[[Joined], None]) -> None:
        member_id = request.member_id
        if member_id in group.pending:
            if request.instance_id is not None:  # ids are given out to dynamic members only
                answer(Joined(ErrorCode.UNKNOWN_MEMBER_ID, member_id))
                return
            self._forget_pending(group, member_id)
            self._add(group, member_id, request, answer)
            return
        error = group.check_member(member_id, request.instance_id)
        if error is not ErrorCode.NONE:
            answer(Joined(error, member_id))
            return
        member = group.members[member_id]
        unchanged = member.protocols == request.protocols
        match group.state:
            case GroupState.COMPLETING_REBALANCE if unchanged:
                # The answer to its first try was lost.
                answer(self._joined(group, member))
            case GroupState.STABLE if unchanged and not group.is_leader(member_id):
                # A follower with nothing new. A leader that joins wants to assign again.
                answer(self._joined(group, member))
            case _:
                self._update(member, request, answer)
                self._prepare_if_possible(group)

    def _add(self, group: Group, member_id: str, request: JoinRequest, answer: Callable[[Joined], None]) -> None:
        if group.state is GroupState.PREPARING_REBALANCE and group.generation == 0:
            group.new_member_added = True
        if not group.members:
            group.protocol_type = request.protocol_type
        member = Member(
            id=member_id,
            instance_id=request.instance_id,
            client_id=request.client_id,
            client_host=request.client_host,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocols=request.protocols,
            is_new=True,
            joining=answer,
        )
        group.add(member)
        self._sessions.keep_alive(group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
        self._prepare_if_possible(group)

    def _update(self, member: Member, request: JoinRequest, answer: Callable[[Joined], None] | None) -> None:
        member.protocols = request.protocols
        member.rebalance_timeout_ms = request.rebalance_timeout_ms
        member.session_timeout_ms = request.session_timeout_ms
        earlier, member.joining = member.joining, answer
        if earlier is not None:
            # The client has given that one up and asked again, perhaps over another connection.
            earlier(Joined(ErrorCode.REBALANCE_IN_PROGRESS, member.id))

    def _replace(
        self, group: Group, member: Member, new_id: str, request: JoinRequest, answer: Callable[[Joined], None]
    ) -> None:
        """A static member is back, as another process or without memory: fence the earlier id and go on as it."""
        old_id, leader_before = member.id, group.leader_id or NO_MEMBER_ID
        before = (member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms)
        self._stop_waiting(member, ErrorCode.FENCED_INSTANCE_ID)
        group.rename(member, new_id)
        self._update(member, request, answer)
        member.is_new = False
        self._sessions.keep_alive(group, member)
        if group.state is GroupState.COMPLETING_REBALANCE:
            # The leader may be assigning to the earlier id.
            self._prepare(group)
        elif group.state is GroupState.STABLE:
            if group.select_protocol() != group.protocol:
                self._prepare(group)
                return
            assignment = {m.id: m.assignment for m in group.members.values()}

            def stored(error: ErrorCode) -> None:
                if member.joining is not answer:
                    return  # a rebalance, or the next one under this name, has answered it meanwhile
                self._sessions.keep_alive(group, member)
                if error is not ErrorCode.NONE:
                    # A failover would not know the new id: take it back.
                    member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms = before
                    group.rename(member, old_id)
                    self._answer_join(member, Joined(error, NO_MEMBER_ID))
                    return
                leads = group.is_leader(new_id)
                answered = self._joined(group, member)
                if not request.can_skip_assignment:
                    # If it gets the earlier leader's id, the client takes itself for a follower and assigns nothing.
                    answered = answered._replace(leader_id=leader_before, members=())
                self._answer_join(member, answered._replace(skip_assignment=leads and request.can_skip_assignment))

            self._store.store_group(group, assignment, stored)

    # --- the rebalance --------------------------------------------------------------------------------------------

    def _prepare_if_possible(self, group: Group) -> None:
        if group.state in _REBALANCEABLE:
            self._prepare(group)

    def _prepare(self, group: Group) -> None:
        """Ask all members to join again, and wait for that."""
        if group.state is GroupState.COMPLETING_REBALANCE:
            self._fail_syncs(group, ErrorCode.REBALANCE_IN_PROGRESS)
        if group.sync_timer is not None:
            group.sync_timer.cancel()
            group.sync_timer = None
        was_empty = group.state is GroupState.EMPTY
        self._took("group-rebalance-begun")
        group.transition_to(GroupState.PREPARING_REBALANCE, self._clock.wall_ms())
        if was_empty:
            delay_ms = self._config.group_initial_rebalance_delay_ms
            self._wait_for_first_members(group, delay_ms, max(0, group.rebalance_timeout_ms - delay_ms))
        elif group.all_have_joined:
            self._complete_join(group)
        else:
            self._wait_for_members(group)

    def _wait_for_first_members(self, group: Group, delay_ms: int, remaining_ms: int) -> None:
        def over() -> None:
            group.rebalance_timer = None
            if group.new_member_added and remaining_ms > 0:
                group.new_member_added = False
                again_ms = min(self._config.group_initial_rebalance_delay_ms, remaining_ms)
                self._wait_for_first_members(group, again_ms, remaining_ms - again_ms)
            else:
                self._complete_join(group)

        group.initial_delay = True
        group.rebalance_timer = self._clock.call_later(delay_ms * MS, over)

    def _wait_for_members(self, group: Group) -> None:
        def over() -> None:
            group.rebalance_timer = None
            self._complete_join(group)

        group.initial_delay = False
        group.rebalance_timer = self._clock.call_later(group.rebalance_timeout_ms * MS, over)

    def _complete_join_if_all_are_there(self, group: Group) -> None:
        if group.state is GroupState.PREPARING_REBALANCE and not group.initial_delay and group.all_have_joined:
            self._complete_join(group)

    def _complete_join(self, group: Group) -> None:
        """Begin the next generation with the members that have joined."""
        if group.rebalance_timer is not None:
            group.rebalance_timer.cancel()
            group.rebalance_timer = None
        group.initial_delay = False
        # Static members keep their place until their session ends: a restart is no reason to rebalance twice.
        for member in [m for m in group.members.values() if m.joining is None and m.instance_id is None]:
            self._drop(group, member, ErrorCode.UNKNOWN_MEMBER_ID)
        if group.members and not group.elect_joined_leader():
            self._wait_for_members(group)
            return
        group.begin_generation(self._clock.wall_ms())
        self._took("group-generation-begun")
        if group.state is GroupState.EMPTY:
            # Should this be lost, the generation before comes back after a failover, and times out for want of
            # members: no response is due.
            self._store.store_group(group, {}, lambda _error: None)
            return
        for member in list(group.members.values()):
            self._answer_join(member, self._joined(group, member))
            self._sessions.keep_alive(group, member)
            member.is_new = False
        generation = group.generation
        group.sync_timer = self._clock.call_later(
            group.rebalance_timeout_ms * MS, lambda: self._sync_time_is_up(group, generation)
        )

    def _sync_time_is_up(self, group: Group, generation: int) -> None:
        group.sync_timer = None
        if generation != group.generation or not group.awaiting_sync:
            return
        for member_id in list(group.awaiting_sync):
            self._drop(group, group.members[member_id], ErrorCode.UNKNOWN_MEMBER_ID)
        self._prepare_if_possible(group)

    def _joined(self, group: Group, member: Member) -> Joined:
        return Joined(
            error=ErrorCode.NONE,
            member_id=member.id,
            generation=group.generation,
            protocol_type=group.protocol_type,
            protocol=group.protocol,
            leader_id=group.leader_id or NO_MEMBER_ID,
            members=group.members_joined() if group.is_leader(member.id) else (),
        )

    # --- SyncGroup ------------------------------------------------------------------------------------------------

    def sync(self, group: Group, request: SyncRequest, answer: Callable[[Synced], None]) -> None:
        """Hand in the assignment (the leader), get one's own; ``answer`` is called exactly once."""
        error = self._check_sync(group, request)
        if error is not ErrorCode.NONE:
            answer(Synced(error))
            return
        member = group.members[request.member_id]
        match group.state:
            case GroupState.PREPARING_REBALANCE:
                answer(Synced(ErrorCode.REBALANCE_IN_PROGRESS))
            case GroupState.COMPLETING_REBALANCE:
                earlier, member.syncing = member.syncing, answer
                if earlier is not None:
                    earlier(Synced(ErrorCode.REBALANCE_IN_PROGRESS))
                group.awaiting_sync.pop(member.id, None)
                if group.is_leader(member.id):
                    self._store_assignment(group, request.assignment)
            case GroupState.STABLE:
                group.awaiting_sync.pop(member.id, None)
                answer(Synced(ErrorCode.NONE, group.protocol_type, group.protocol, member.assignment))
                self._sessions.keep_alive(group, member)
            case state:
                raise AssertionError(f"group {group.id!r} is {state.value} and has member {member.id!r}")

    def _check_sync(self, group: Group, request: SyncRequest) -> ErrorCode:
        if group.state is GroupState.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        error = group.check_member(request.member_id, request.instance_id)
        if error is not ErrorCode.NONE:
            return error
        if request.generation != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        for named, present in ((request.protocol_type, group.protocol_type), (request.protocol, group.protocol)):
            if named is not None and named != present:
                return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return ErrorCode.NONE

    def _store_assignment(self, group: Group, given: Mapping[str, bytes]) -> None:
        generation = group.generation
        assignment = {member_id: given.get(member_id, b"") for member_id in group.members}

        def stored(error: ErrorCode) -> None:
            if group.state is not GroupState.COMPLETING_REBALANCE or group.generation != generation:
                return  # a member came or went meanwhile
            if error is not ErrorCode.NONE:
                self._fail_syncs(group, error)
                self._prepare(group)
                return
            group.transition_to(GroupState.STABLE, self._clock.wall_ms())
            self._took("group-stable")
            for member in list(group.members.values()):
                member.assignment = assignment[member.id]
                synced = Synced(ErrorCode.NONE, group.protocol_type, group.protocol, member.assignment)
                self._answer_sync(group, member, synced)

        self._store.store_group(group, assignment, stored)

    def _fail_syncs(self, group: Group, error: ErrorCode) -> None:
        for member in list(group.members.values()):
            member.assignment = b""
            self._answer_sync(group, member, Synced(error))

    def _answer_sync(self, group: Group, member: Member, synced: Synced) -> None:
        answer, member.syncing = member.syncing, None
        if answer is not None:
            answer(synced)
            # A session that ended while it waited was let pass, with nothing to end the next one.
            self._sessions.keep_alive(group, member)

    # --- Heartbeat ------------------------------------------------------------------------------------------------

    def heartbeat(self, group: Group, member_id: str, instance_id: str | None, generation: int) -> ErrorCode:
        """Note that the member is alive; returns the error for it. After REBALANCE_IN_PROGRESS it must join again."""
        if group.state is GroupState.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        error = group.check_member(member_id, instance_id)
        if error is not ErrorCode.NONE:
            return error
        if generation != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        self._sessions.keep_alive(group, group.members[member_id])
        preparing = group.state is GroupState.PREPARING_REBALANCE
        return ErrorCode.REBALANCE_IN_PROGRESS if preparing else ErrorCode.NONE

    def heard_of(self, group: Group, member_id: str) -> None:
        """Whatever else a member sends (a commit) shows that it is alive as well."""
        self._sessions.keep_alive(group, group.members[member_id])

    # --- LeaveGroup -----------------------------------------------------------------------------------------------

    def leave(self, group: Group, member_id: str, instance_id: str | None) -> ErrorCode:
        """One member goes. An administrator may name a static member by its ``instance_id`` alone."""
        if group.state is GroupState.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if not member_id and instance_id is not None:
            member_id = group.static_members.get(instance_id, NO_MEMBER_ID)
        if member_id in group.pending:
            if instance_id is not None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            self._forget_pending(group, member_id)
            self._complete_join_if_all_are_there(group)
            return ErrorCode.NONE
        error = group.check_member(member_id, instance_id)
        if error is ErrorCode.NONE:
            self._remove(group, group.members[member_id])
        return error

    def _expired(self, group: Group, member: Member) -> None:
        self._took("group-member-expired")
        self._remove(group, member)

    def _remove(self, group: Group, member: Member) -> None:
        """Take a member out, and let the others balance without it."""
        self._drop(group, member, ErrorCode.UNKNOWN_MEMBER_ID)
        if group.state is GroupState.PREPARING_REBALANCE:
            self._complete_join_if_all_are_there(group)
        else:
            self._prepare_if_possible(group)

    def _drop(self, group: Group, member: Member, error: ErrorCode) -> None:
        """Take a member out; what it waits for is answered with ``error``."""
        self._stop_waiting(member, error)
        self._sessions.stop(member)
        group.remove(member)

    def _forget_pending(self, group: Group, member_id: str) -> None:
        timer = group.pending.pop(member_id, None)
        if timer is not None:
            timer.cancel()

    # --- answers --------------------------------------------------------------------------------------------------

    def _answer_join(self, member: Member, joined: Joined) -> None:
        answer, member.joining = member.joining, None
        if answer is not None:
            answer(joined)

    def _stop_waiting(self, member: Member, error: ErrorCode) -> None:
        """Answer whatever the member waits for with ``error``."""
        named = NO_MEMBER_ID if error is ErrorCode.UNKNOWN_MEMBER_ID else member.id
        self._answer_join(member, Joined(error, named))
        answer, member.syncing = member.syncing, None
        if answer is not None:
            answer(Synced(error))

    # --- coming and going of the whole group ----------------------------------------------------------------------

    def take_up(self, group: Group) -> None:
        """A group has been loaded: its members have a session time-out to be heard of."""
        for member in list(group.members.values()):
            self._sessions.keep_alive(group, member)
        if len(group.members) > self._config.group_max_size:
            self._prepare_if_possible(group)

    def give_up(self, group: Group, error: ErrorCode) -> None:
        """The group is dead to this broker: no timers any more, and who waits is answered with ``error``."""
        group.transition_to(GroupState.DEAD, self._clock.wall_ms())
        for timer in (group.rebalance_timer, group.sync_timer, *group.pending.values()):
            if timer is not None:
                timer.cancel()
        group.rebalance_timer = group.sync_timer = None
        group.pending.clear()
        for member in group.members.values():
            self._sessions.stop(member)
            self._stop_waiting(member, error)
