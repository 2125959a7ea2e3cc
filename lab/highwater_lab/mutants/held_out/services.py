"""Consumer groups and their offsets."""

from __future__ import annotations

from typing import Final

from highwater_lab.mutants.mutant import Mutant

SERVICES: Final = (
    Mutant(
        "offsets-expire-while-rebalancing",
        "broker.groups.offsets:GroupOffsets.expired",
        "elif state is GroupState.STABLE and subscribed is not None:",
        "elif subscribed is not None:",
        "offsets of a group may expire while it rebalances (KAFKA-13636)",
    ),
    Mutant(
        "deleted-offsets-return-on-load",
        "broker.groups.loading:Loader._replay_offset",
        "            offsets.pop(partition, None)\n",
        "",
        "a new coordinator knows offsets that were deleted",
    ),
    Mutant(
        "loaded-members-never-expire",
        "broker.groups.membership:Membership.take_up",
        "            self._sessions.keep_alive(group, member)",
        "            pass",
        "a new coordinator waits for members that died during its election for ever",
    ),
    Mutant(
        "heartbeat-hides-rebalance",
        "broker.groups.membership:Membership.heartbeat",
        "preparing = group.state is GroupState.PREPARING_REBALANCE",
        "preparing = group.state is GroupState.COMPLETING_REBALANCE",
        "members do not learn that they must join again",
    ),
    Mutant(
        "first-rebalance-waits-to-the-end",
        "broker.groups.membership:Membership._wait_for_first_members",
        "                group.new_member_added = False\n",
        "",
        "the first rebalance of a group is put off again though nobody has joined meanwhile",
    ),
    Mutant(
        "joined-member-stays-pending",
        "broker.groups.membership:Membership._join_known",
        "            self._forget_pending(group, member_id)\n            self._add(",
        "            self._add(",
        "a group waits for a member that has joined already, until the time-out of its member id",
    ),
    Mutant(
        "rejoining-member-not-answered",
        "broker.groups.membership:Membership._complete_join",
        "for member in list(group.members.values()):",
        "for member in [m for m in group.members.values() if m.is_new]:",
        "JoinGroup of a member that joins again is never answered",
    ),
    Mutant(
        "missing-sync-is-waited-for",
        "broker.groups.membership:Membership._sync_time_is_up",
        "if generation != group.generation or not group.awaiting_sync:",
        "if generation != group.generation or group.awaiting_sync:",
        "a member that never sends SyncGroup is not removed",
    ),
    Mutant(
        "leaving-member-stays",
        "broker.groups.membership:Membership.leave",
        "            self._remove(group, group.members[member_id])",
        "            pass",
        "LeaveGroup is answered without an error, and the member stays until its session ends",
    ),
    Mutant(
        "commit-waits-by-another-key",
        "broker.groups.offsets_log:OffsetsLog.append",
        "self._replicas.produces.park(waiting, [partition.name], self._timeout_ns)",
        "self._replicas.produces.park(waiting, [partition.key], self._timeout_ns)",
        "a commit of offsets is not answered before its time-out, unless it is committed at once",
    ),
    Mutant(
        "coordinator-keeps-groups-over-epochs",
        "broker.groups.coordinator:GroupCoordinator._follow",
        "if leads and shard.partition is partition and shard.leader_epoch == partition.leader_epoch:",
        "if leads and shard.partition is partition:",
        "a coordinator that is elected again goes on with the groups of its former leader epoch",
    ),
)
