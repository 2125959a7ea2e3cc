"""ListGroups, DescribeGroups and DeleteGroups as requests and responses."""

from __future__ import annotations

from functools import partial
from typing import Final

from highwater_runtime.broker.groups.coordinator import GroupCoordinator
from highwater_runtime.broker.groups.group import Group
from highwater_runtime.broker.groups.states import GroupState
from highwater_runtime.ports import InboundRequest
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.delete_groups_request import DeleteGroupsRequest
from highwater_runtime.wire.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from highwater_runtime.wire.messages.describe_groups_request import DescribeGroupsRequest
from highwater_runtime.wire.messages.describe_groups_response import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)
from highwater_runtime.wire.messages.list_groups_request import ListGroupsRequest
from highwater_runtime.wire.messages.list_groups_response import ListedGroup, ListGroupsResponse

CLASSIC: Final = "classic"
NOT_FOUND_SINCE: Final = 6
"""DescribeGroups: from this version on a group that does not exist is GROUP_ID_NOT_FOUND; before, it is Dead."""


def list_groups(request: InboundRequest, coordinator: GroupCoordinator) -> None:
    """Respond to a ListGroupsRequest with the groups of this broker, or with an error while one is loaded."""
    body: ListGroupsRequest = request.body
    states = [state.lower() for state in body.states_filter]
    types = [kind.lower() for kind in body.types_filter]
    groups = [
        ListedGroup(
            group_id=group.id,
            protocol_type=group.protocol_type or "",
            group_state=group.state.value,
            group_type=CLASSIC,
        )
        for group in coordinator.all_groups()
        if (not states or group.state.value.lower() in states) and (not types or CLASSIC in types)
    ]
    error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if coordinator.loading else ErrorCode.NONE
    request.reply(ListGroupsResponse(error_code=error, groups=groups))


def describe_groups(request: InboundRequest, coordinator: GroupCoordinator) -> None:
    """Answer a DescribeGroupsRequest."""
    body: DescribeGroupsRequest = request.body
    described = []
    for group_id in body.groups:
        found = coordinator.find(group_id)
        match found:
            case Group():
                described.append(_described(found))
            case None if request.version >= NOT_FOUND_SINCE:
                described.append(
                    _nothing(group_id, ErrorCode.GROUP_ID_NOT_FOUND, GroupState.DEAD.value, f"no group {group_id!r}")
                )
            case None:
                described.append(_nothing(group_id, ErrorCode.NONE, GroupState.DEAD.value))
            case error:
                described.append(_nothing(group_id, error))
    request.reply(DescribeGroupsResponse(groups=described))


def _described(group: Group) -> DescribedGroup:
    """A group with its members; subscriptions and assignments only when Stable, for before they change."""
    protocol = group.protocol if group.state is GroupState.STABLE else None
    return DescribedGroup(
        error_code=ErrorCode.NONE,
        group_id=group.id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol or "",
        members=[
            DescribedGroupMember(
                member_id=m.id,
                group_instance_id=m.instance_id,
                client_id=m.client_id,
                client_host=m.client_host,
                member_metadata=b"" if protocol is None else m.metadata_for(protocol),
                member_assignment=b"" if protocol is None else m.assignment,
            )
            for m in group.members.values()
        ],
    )


def _nothing(group_id: str, error: ErrorCode, state: str = "", message: str | None = None) -> DescribedGroup:
    return DescribedGroup(
        error_code=error,
        error_message=message,
        group_id=group_id,
        group_state=state,
        protocol_type="",
        protocol_data="",
    )


def delete_groups(request: InboundRequest, coordinator: GroupCoordinator) -> None:
    """Answer a DeleteGroupsRequest once it is known of each group whether it is gone for good."""
    body: DeleteGroupsRequest = request.body
    names = list(dict.fromkeys(body.groups_names))
    results: dict[str, ErrorCode] = {}

    def note(group_id: str, error: ErrorCode) -> None:
        results[group_id] = error
        if len(results) == len(names):
            request.reply(
                DeleteGroupsResponse(
                    results=[DeletableGroupResult(group_id=name, error_code=results[name]) for name in names]
                )
            )

    if not names:
        request.reply(DeleteGroupsResponse())
    for group_id in names:
        found = coordinator.find(group_id)
        match found:
            case None:
                note(group_id, ErrorCode.GROUP_ID_NOT_FOUND)
            case Group() if found.state is GroupState.EMPTY:
                coordinator.delete(found, partial(note, group_id))
            case Group():
                note(group_id, ErrorCode.NON_EMPTY_GROUP)
            case error:
                note(group_id, error)
