"""What a member asks for when it joins and when it hands in or fetches an assignment, whatever version says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from highwater_runtime.broker.groups.group import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinRequest:
    """A JoinGroup.

    ``requires_known_member``: a new member is first given an id (from v4 on); ``can_skip_assignment``: the client
    understands that a leader may keep the assignment (from v9 on).
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    protocol_type: str
    protocols: tuple[Protocol, ...]
    session_timeout_ms: int
    rebalance_timeout_ms: int
    requires_known_member: bool = False
    can_skip_assignment: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest:
    """A SyncGroup; ``protocol_type`` and ``protocol`` from v5 on. ``assignment`` by member id, from the leader."""

    member_id: str
    instance_id: str | None
    generation: int
    protocol_type: str | None
    protocol: str | None
    assignment: Mapping[str, bytes]
