"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup as requests and responses.

While a partition is loading, two answers are not what they seem: Heartbeat says that all is well (the session goes on
when the group is there), and SyncGroup says REBALANCE_IN_PROGRESS (the rebalance that it belonged to is lost). Old
clients do not expect COORDINATOR_LOAD_IN_PROGRESS there.
"""

from __future__ import annotations

from typing import Final

from highwater_runtime.broker.groups.coordinator import GroupCoordinator
from highwater_runtime.broker.groups.group import Group, Joined, Protocol, Synced
from highwater_runtime.broker.groups.requests import JoinRequest, SyncRequest
from highwater_runtime.ports import InboundRequest
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.heartbeat_request import HeartbeatRequest
from highwater_runtime.wire.messages.heartbeat_response import HeartbeatResponse
from highwater_runtime.wire.messages.join_group_request import JoinGroupRequest
from highwater_runtime.wire.messages.join_group_response import JoinGroupResponse, JoinGroupResponseMember
from highwater_runtime.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from highwater_runtime.wire.messages.leave_group_response import LeaveGroupResponse, MemberResponse
from highwater_runtime.wire.messages.sync_group_request import SyncGroupRequest
from highwater_runtime.wire.messages.sync_group_response import SyncGroupResponse

MEMBER_ID_REQUIRED_SINCE: Final = 4
NO_PROTOCOL_SINCE: Final = 7
"""JoinGroup: the version from which on a protocol may be absent; before that it is empty."""
SKIP_ASSIGNMENT_SINCE: Final = 9
LEAVE_MANY_SINCE: Final = 3


def join(request: InboundRequest, coordinator: GroupCoordinator) -> None:
    """Answer a JoinGroupRequest, now or when the generation begins."""
    body: JoinGroupRequest = request.body

    def answer(joined: Joined) -> None:
        request.reply(_join_response(joined, request.version))

    if not body.group_id:
        answer(Joined(ErrorCode.INVALID_GROUP_ID, body.member_id))
        return
    here = coordinator.shard_for(body.group_id)
    if isinstance(here, ErrorCode):
        answer(Joined(here, body.member_id))
        return
    if not coordinator.membership.session_timeout_allowed(body.session_timeout_ms):
        answer(Joined(ErrorCode.INVALID_SESSION_TIMEOUT, body.member_id))
        return
    # Only a new member founds a group.
    found = coordinator.find(body.group_id) if body.member_id else coordinator.find_or_create(body.group_id)
    if isinstance(found, ErrorCode):
        answer(Joined(found, body.member_id))
    elif found is None:
        answer(Joined(ErrorCode.UNKNOWN_MEMBER_ID, body.member_id))
    else:
        rebalance_timeout_ms = body.rebalance_timeout_ms if body.rebalance_timeout_ms >= 0 else body.session_timeout_ms
        asked = JoinRequest(
            member_id=body.member_id,
            instance_id=body.group_instance_id,
            client_id=request.client_id,
            client_host=host_of(request.peer),
            protocol_type=body.protocol_type,
            protocols=tuple(Protocol(p.name, bytes(p.metadata)) for p in body.protocols),
            session_timeout_ms=body.session_timeout_ms,
            rebalance_timeout_ms=rebalance_timeout_ms,
            requires_known_member=request.version >= MEMBER_ID_REQUIRED_SINCE,
            can_skip_assignment=request.version >= SKIP_ASSIGNMENT_SINCE,
        )
        coordinator.membership.join(found, asked, answer)


def _join_response(joined: Joined, version: int) -> JoinGroupResponse:
    protocol = joined.protocol
    if protocol is None and version < NO_PROTOCOL_SINCE:
        protocol = ""
    return JoinGroupResponse(
        error_code=joined.error,
        generation_id=joined.generation,
        protocol_type=joined.protocol_type,
        protocol_name=protocol,
        leader=joined.leader_id,
        skip_assignment=joined.skip_assignment,
        member_id=joined.member_id,
        members=[
            JoinGroupResponseMember(member_id=m.member_id, group_instance_id=m.instance_id, metadata=m.metadata)
            for m in joined.members
        ],
    )


def sync(request: InboundRequest, coordinator: GroupCoordinator) -> None:
    """Answer a SyncGroupRequest, now or when the leader's assignment is committed."""
    body: SyncGroupRequest = request.body

    def answer(synced: Synced) -> None:
        request.reply(
            SyncGroupResponse(
                error_code=synced.error,
                protocol_type=synced.protocol_type,
                protocol_name=synced.protocol,
                assignment=synced.assignment,
            )
        )

    found = _find(body.group_id, coordinator)
    if isinstance(found, ErrorCode):
        loading = found is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        answer(Synced(ErrorCode.REBALANCE_IN_PROGRESS if loading else found))
        return
    asked = SyncRequest(
        member_id=body.member_id,
        instance_id=body.group_instance_id,
        generation=body.generation_id,
        protocol_type=body.protocol_type,
        protocol=body.protocol_name,
        assignment={a.member_id: bytes(a.assignment) for a in body.assignments},
    )
    coordinator.membership.sync(found, asked, answer)


def heartbeat(request: InboundRequest, coordinator: GroupCoordinator) -> None:
    """Answer a HeartbeatRequest."""
    body: HeartbeatRequest = request.body
    found = _find(body.group_id, coordinator)
    if isinstance(found, Group):
        error = coordinator.membership.heartbeat(found, body.member_id, body.group_instance_id, body.generation_id)
    else:
        error = ErrorCode.NONE if found is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else found
    request.reply(HeartbeatResponse(error_code=error))


def leave(request: InboundRequest, coordinator: GroupCoordinator) -> None:
    """Answer a LeaveGroupRequest; before v3 the one member's error is that of the whole."""
    body: LeaveGroupRequest = request.body
    many = request.version >= LEAVE_MANY_SINCE
    leaving = body.members if many else [MemberIdentity(member_id=body.member_id)]
    found = _find(body.group_id, coordinator)
    if isinstance(found, ErrorCode) and found is not ErrorCode.UNKNOWN_MEMBER_ID:
        request.reply(LeaveGroupResponse(error_code=found))
        return
    answers = [
        MemberResponse(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            error_code=coordinator.membership.leave(found, member.member_id, member.group_instance_id)
            if isinstance(found, Group)
            else found,
        )
        for member in leaving
    ]
    if many:
        request.reply(LeaveGroupResponse(error_code=ErrorCode.NONE, members=answers))
    else:
        request.reply(LeaveGroupResponse(error_code=answers[0].error_code))


def _find(group_id: str, coordinator: GroupCoordinator) -> Group | ErrorCode:
    """A group that a member names; UNKNOWN_MEMBER_ID where there is none."""
    if not group_id:
        return ErrorCode.INVALID_GROUP_ID
    found = coordinator.find(group_id)
    return ErrorCode.UNKNOWN_MEMBER_ID if found is None else found


def host_of(peer: str) -> str:
    """The peer's address as Kafka shows it: ``/127.0.0.1``, without the port."""
    host, _, port = peer.rpartition(":")
    return f"/{host if host and port.isdigit() else peer}"
