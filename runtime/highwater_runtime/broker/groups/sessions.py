"""Sessions: a member is removed if no request of it arrives for its session time-out.

A heartbeat only moves the deadline of the member. When the timer fires, it is set again for the rest. So there is one
timer per session time-out, not one per heartbeat. While the JoinGroup or SyncGroup of a member waits for other members,
its session does not end, and it starts again with the response. The first join of a member has a time-out of its own.
"""

from __future__ import annotations

from collections.abc import Callable

from highwater_runtime.broker.groups.group import Group, Member
from highwater_runtime.ports import MS, Clock


class Sessions:
    """The sessions of all members; calls ``on_end`` with the group and the member whose session has ended."""

    def __init__(self, clock: Clock, on_end: Callable[[Group, Member], None]) -> None:
        self._clock = clock
        self._on_end = on_end

    def keep_alive(self, group: Group, member: Member, for_ms: int | None = None) -> None:
        """The member was heard of: its session lasts for another session time-out, or for ``for_ms``."""
        timeout_ns = (member.session_timeout_ms if for_ms is None else for_ms) * MS
        earlier_ns, member.deadline_ns = member.deadline_ns, self._clock.now_ns() + timeout_ns
        if member.timer is not None:
            if member.deadline_ns >= earlier_ns:
                return
            member.timer.cancel()
        self._watch(group, member, timeout_ns)

    def _watch(self, group: Group, member: Member, delay_ns: int) -> None:
        def due() -> None:
            member.timer = None
            left_ns = member.deadline_ns - self._clock.now_ns()
            if left_ns > 0:
                self._watch(group, member, left_ns)
            elif member.is_new or (member.joining is None and member.syncing is None):
                self._on_end(group, member)

        member.timer = self._clock.call_later(delay_ns, due)

    def stop(self, member: Member) -> None:
        """End the member's session timer."""
        if member.timer is not None:
            member.timer.cancel()
            member.timer = None
