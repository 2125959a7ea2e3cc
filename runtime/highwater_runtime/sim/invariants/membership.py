"""Invariants of the members of groups, by what a coordinator answers and whom it waits for (KIP-62, KIP-394).

``group-state``:

* A heartbeat is not answered with all is well while the group rebalances: its member would not join again. Who has left
  is no member any more.
* A client is a member or on its way to become one, not both. Nobody waits in a rebalance that waits for nobody, nor for
  one that is over. A rebalance of first members ends when nobody has joined for ``group.initial.rebalance.delay.ms``.
* JoinGroup is answered within the rebalance time-out, also by a broker that ceases to be the coordinator. A generation
  waits no longer than that for SyncGroup.
* A generation keeps its members: who leaves, or is heard of no more, leaves to another generation what it consumed.
* Each member that waits for nothing has a session that ends.

(That the coordinator of a cluster at rest has no members is :mod:`.rest`'s affair.)

Worked example: the id of a client that has joined stays among those that were given out. The group waits for a second
client of that id, until the time-out of the id is over, and its members consume nothing meanwhile.

The trap: a broker that was paused is late with everything (see :meth:`.live.LiveCluster.must_end`).
"""

from __future__ import annotations

from typing import Final

from highwater_runtime.broker.groups.group import Group
from highwater_runtime.broker.groups.states import GroupState
from highwater_runtime.ports import MS
from highwater_runtime.sim.connection import SimRequest
from highwater_runtime.sim.invariants.live import Lasts, LiveCluster
from highwater_runtime.sim.invariants.violation import Violations
from highwater_runtime.sim.simulator import Simulator
from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.errors import ErrorCode

OF_MEMBERS: Final = (ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP)
"""Requests after which :meth:`MemberInvariants.on_request` has to look."""
_ANSWERED: Final = (GroupState.COMPLETING_REBALANCE, GroupState.STABLE, GroupState.EMPTY)
"""States in which no rebalance waits for members to join."""


class MemberInvariants:
    """Checks coordinators after the requests of members."""

    def __init__(self, simulator: Simulator, live: LiveCluster, violations: Violations) -> None:
        self._simulator = simulator
        self._live = live
        self._violations = violations
        self._joined: dict[Group, int] = {}
        """When a JoinGroup last reached each group that waits for its first members."""
        self._stable: dict[Group, tuple[int, frozenset[str]]] = {}
        """The last generation that each group was seen in with all its assignments, and its members then."""

    def on_request(self, node: str, call: SimRequest) -> None:
        """Look at the group that a broker has just been asked about."""
        body = call.body
        group = self._find(node, body.group_id)
        if group is None:
            return
        match body.API_KEY:
            case ApiKey.JOIN_GROUP:
                self._asked_to_join(node, group, call)
            case ApiKey.HEARTBEAT if call.response is not None:
                is_well = call.response.error_code == ErrorCode.NONE
                if is_well and group.state is GroupState.PREPARING_REBALANCE:
                    self._found(node, group, f"told {body.member_id} that all is well while the group rebalances")
            case ApiKey.LEAVE_GROUP if call.response is not None and call.response.error_code == ErrorCode.NONE:
                for one in call.response.members:
                    if one.error_code == ErrorCode.NONE and one.member_id in group.members:
                        self._found(node, group, f"let {one.member_id} leave, who is a member still")
        self._is_in_order(node, group)

    def _find(self, node: str, group_id: str) -> Group | None:
        broker = self._live.broker(node)
        group = None if broker is None else broker.coordinator.find(group_id)
        return group if isinstance(group, Group) else None

    def _found(self, node: str, group: Group, what: str) -> None:
        self._violations.now_ns = self._simulator.now_ns
        self._violations.add("group-state", f"group {group.id}", f"{node} {what}", (node, group.generation, what))

    def _is_in_order(self, node: str, group: Group) -> None:
        for member_id in group.pending:
            if member_id in group.members:
                self._found(node, group, f"waits for {member_id} to join, who is a member")
        if group.state is GroupState.STABLE:
            self._keeps_its_members(node, group)
        members = group.members.values()
        preparing = group.state is GroupState.PREPARING_REBALANCE and not group.initial_delay
        if preparing and not group.pending and all(member.joining is not None for member in members):
            self._found(node, group, "rebalances the group, and waits for nobody")
        for member in members:
            if group.state in _ANSWERED and member.joining is not None and member.instance_id is None:
                self._found(node, group, f"does not answer JoinGroup of {member.id}, though that rebalance is over")
            if member.timer is None and member.joining is None and member.syncing is None:
                self._found(node, group, f"has {member.id} as a member whose session never ends")

    def _keeps_its_members(self, node: str, group: Group) -> None:
        there = frozenset(member.id for member in group.members.values() if member.instance_id is None)
        generation, before = self._stable.get(group, (-1, there))
        if generation == group.generation and (gone := sorted(before - there)):
            self._found(node, group, f"lets generation {generation} go on without {', '.join(gone)}")
        self._stable[group] = group.generation, there

    # --- what may not last ---------------------------------------------------------------------------------------

    def _asked_to_join(self, node: str, group: Group, call: SimRequest) -> None:
        delay_ns = self._delay_ns(node)
        if group.initial_delay:
            self._joined[group] = at_ns = self._simulator.now_ns

            def has_waited() -> bool:
                return group.initial_delay and self._joined[group] == at_ns

            self._must_end(
                2 * delay_ns, node, group, "waits for further first members, though nobody joined", has_waited
            )
        if call.response is not None:
            return
        longest_ns = max(group.rebalance_timeout_ms * MS, delay_ns)
        what = f"did not answer JoinGroup of {call.client_id} within {longest_ns // MS} ms"
        self._live.must_end(
            longest_ns, node, lambda: call.response is None, lambda: self._found(node, group, what)
        )  # also if the group has another coordinator by then
        generation = group.generation + 1

        def misses_syncs() -> bool:
            is_it = group.generation == generation and group.state is GroupState.COMPLETING_REBALANCE
            return is_it and bool(group.awaiting_sync)

        self._must_end(2 * longest_ns, node, group, "waits too long for members that send no SyncGroup", misses_syncs)

    def _delay_ns(self, node: str) -> int:
        broker = self._live.broker(node)
        return 0 if broker is None else broker.options.config.group_initial_rebalance_delay_ms * MS

    def _must_end(self, within_ns: int, node: str, group: Group, what: str, lasts: Lasts) -> None:
        """Find ``what`` if it ``lasts`` beyond that time, and the group is still there."""
        self._live.must_end(
            within_ns,
            node,
            lambda: self._find(node, group.id) is group and lasts(),
            lambda: self._found(node, group, what),
        )
