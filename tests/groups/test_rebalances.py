"""The classic group protocol as stories: the state machine alone, its writes in the test's hands."""

from __future__ import annotations

import pytest

from highwater_runtime.broker.groups.group import NO_GENERATION, Protocol
from highwater_runtime.broker.groups.membership import NEW_MEMBER_JOIN_TIMEOUT_MS
from highwater_runtime.broker.groups.states import GroupState
from highwater_runtime.wire.errors import ErrorCode

NONE = ErrorCode.NONE


# --- joining --------------------------------------------------------------------------------------------------------


def test_a_new_member_is_given_an_id_and_joins_under_it(bench):
    (first,) = bench.join()
    assert (first.error, first.generation) == (ErrorCode.MEMBER_ID_REQUIRED, NO_GENERATION)
    assert first.member_id.startswith("client-")
    assert bench.group.members == {}
    answers = bench.join(first.member_id)
    assert answers == [], "the group waits for others before its first generation"
    bench.clock.advance_ms(0)
    (joined,) = answers
    assert (joined.error, joined.generation, joined.member_id) == (NONE, 1, first.member_id)
    assert joined.leader_id == joined.member_id
    assert [(m.member_id, m.metadata) for m in joined.members] == [(joined.member_id, b"sub")]
    assert bench.group.state is GroupState.COMPLETING_REBALANCE


def test_before_v4_a_member_joins_at_once(bench):
    answers = bench.join(version=3)
    bench.clock.advance_ms(0)
    assert answers[0].error is NONE


def test_an_id_that_nobody_joins_under_is_forgotten_after_the_session_time_out(bench):
    (first,) = bench.join(session_timeout_ms=6000)
    bench.clock.advance_ms(5999)
    assert first.member_id in bench.group.pending
    bench.clock.advance_ms(1)
    assert bench.group.pending == {}
    assert bench.join(first.member_id)[0].error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance_waits_for_ids_that_were_given_out(bench):
    (leader,) = bench.stable(1)
    (pending,) = bench.join()
    rejoined = bench.join(leader.member_id)
    assert rejoined == []
    assert bench.membership.leave(bench.group, pending.member_id, None) is NONE
    assert rejoined[0].generation == 2


def test_only_the_leader_is_told_of_the_members(bench):
    leader, follower = bench.stable(2)
    assert [m.member_id for m in leader.members] == [leader.member_id, follower.member_id]
    assert follower.members == ()
    assert follower.leader_id == leader.member_id


def test_the_first_generation_waits_and_again_when_somebody_came(make_bench):
    bench = make_bench(group_initial_rebalance_delay_ms=3000)
    a = bench.enter()
    bench.clock.advance_ms(2000)
    b = bench.enter()
    bench.clock.advance_ms(1000)
    assert (a, b) == ([], []), "somebody came within the delay: it begins again"
    bench.clock.advance_ms(3000)
    assert [a[0].generation, b[0].generation] == [1, 1]


def test_the_delay_of_the_first_generation_ends_with_the_rebalance_time_out(make_bench):
    bench = make_bench(group_initial_rebalance_delay_ms=3000)
    a = bench.enter(rebalance_timeout_ms=7000)
    for _ in range(4):
        bench.clock.advance_ms(1700)
        bench.enter(rebalance_timeout_ms=7000)
    assert a == []
    bench.clock.advance_ms(200)
    assert a[0].generation == 1


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": (Protocol("sticky", b""),)}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "nobody", "instance_id": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_who_does_not_fit_is_refused(bench, changes, error):
    bench.stable(1)
    assert bench.join(**changes)[0].error is error


def test_a_first_member_without_protocols_is_refused(bench):
    assert bench.join(protocols=())[0].error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert bench.join(protocol_type="")[0].error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_the_protocol_with_most_votes_among_the_common_ones_is_chosen(bench):
    preferences = [("range", "sticky", "own"), ("sticky", "range"), ("sticky", "range")]
    answers = [bench.enter(protocols=tuple(Protocol(name, name.encode()) for name in p)) for p in preferences[:1]]
    answers += [bench.enter(protocols=tuple(Protocol(name, name.encode()) for name in p)) for p in preferences[1:]]
    bench.clock.advance_ms(0)
    assert {a[0].protocol for a in answers} == {"sticky"}
    assert [m.metadata for m in answers[0][0].members] == [b"sticky"] * 3


def test_the_group_is_full(make_bench):
    bench = make_bench(group_max_size=2)
    bench.stable(2)
    (refused,) = bench.join()
    assert (refused.error, refused.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")


def test_while_the_group_rebalances_the_first_to_come_have_the_places(make_bench):
    bench = make_bench(group_max_size=2, group_initial_rebalance_delay_ms=1000)
    a, b = bench.enter(), bench.enter()
    (pending,) = bench.join()
    assert pending.error is ErrorCode.GROUP_MAX_SIZE_REACHED
    bench.clock.advance_ms(2000)
    assert a[0].error is b[0].error is NONE


# --- rebalances -----------------------------------------------------------------------------------------------------


def test_a_newcomer_makes_everybody_join_again(bench):
    leader, follower = bench.stable(2)
    third = bench.enter()
    assert bench.heartbeat(leader) is ErrorCode.REBALANCE_IN_PROGRESS
    assert bench.heartbeat(follower) is ErrorCode.REBALANCE_IN_PROGRESS
    again = [bench.join(leader.member_id), bench.join(follower.member_id)]
    assert [a[0].generation for a in (*again, third)] == [leader.generation + 1] * 3
    assert again[0][0].leader_id == leader.member_id, "the leader stays"
    assert bench.heartbeat(leader) is ErrorCode.ILLEGAL_GENERATION


def test_who_does_not_rejoin_within_the_rebalance_time_out_is_out(bench):
    leader, follower = bench.stable(2, rebalance_timeout_ms=30_000, session_timeout_ms=60_000)
    again = bench.join(follower.member_id, rebalance_timeout_ms=30_000, protocols=(Protocol("range", b"new"),))
    bench.clock.advance_ms(29_999)
    assert again == []
    bench.clock.advance_ms(1)
    assert (again[0].error, again[0].leader_id) == (NONE, follower.member_id)
    assert bench.heartbeat(leader) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_follower_that_joins_again_unchanged_is_told_what_it_knows(bench):
    _, follower = bench.stable(2)
    assert bench.join(follower.member_id)[0] == follower
    assert bench.group.state is GroupState.STABLE


def test_a_leader_that_joins_again_wants_to_assign_anew(bench):
    leader, _ = bench.stable(2)
    assert bench.join(leader.member_id) == []
    assert bench.group.state is GroupState.PREPARING_REBALANCE


def test_the_answer_to_a_join_may_be_had_again_while_the_assignment_is_awaited(bench):
    answers = bench.enter()
    bench.clock.advance_ms(0)
    assert bench.join(answers[0].member_id) == answers


def test_a_second_join_under_the_same_id_answers_the_first(bench):
    leader, follower = bench.stable(2)
    first = bench.join(leader.member_id)
    second = bench.join(leader.member_id)
    assert (first[0].error, second) == (ErrorCode.REBALANCE_IN_PROGRESS, [])
    bench.join(follower.member_id)
    assert second[0].error is NONE
    assert len(first) == 1


def test_the_last_member_leaves_an_empty_generation(bench):
    (leader,) = bench.stable(1)
    assert bench.membership.leave(bench.group, leader.member_id, None) is NONE
    assert (bench.group.state, bench.group.generation) == (GroupState.EMPTY, 2)
    assert bench.store.stored[-1] == (2, {})
    assert bench.group.protocol is None


# --- assignment -----------------------------------------------------------------------------------------------------


def test_nobody_gets_an_assignment_before_it_is_committed(bench):
    bench.store.immediate = False
    joining = bench.enter()
    bench.clock.advance_ms(0)
    (leader,) = joining
    synced = bench.sync(leader, {leader.member_id: b"all"})
    assert (synced, bench.group.state) == ([], GroupState.COMPLETING_REBALANCE)
    bench.store.finish()
    assert (synced[0].error, synced[0].assignment) == (NONE, b"all")
    assert bench.group.state is GroupState.STABLE


def test_members_that_the_leader_forgot_get_nothing(bench):
    answers = [bench.enter(), bench.enter()]
    bench.clock.advance_ms(0)
    leader, follower = (a[0] for a in answers)
    theirs = bench.sync(follower)
    assert theirs == []
    bench.sync(leader, {leader.member_id: b"all", "nobody": b"x"})
    assert (theirs[0].error, theirs[0].assignment) == (NONE, b"")
    assert bench.store.stored[-1] == (1, {leader.member_id: b"all", follower.member_id: b""})


def test_an_assignment_that_cannot_be_written_is_asked_for_again(bench):
    bench.store.immediate = False
    answers = [bench.enter(), bench.enter()]
    bench.clock.advance_ms(0)
    leader, follower = (a[0] for a in answers)
    syncs = [bench.sync(follower), bench.sync(leader)]
    bench.store.finish(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert [s[0].error for s in syncs] == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2
    assert bench.group.state is GroupState.PREPARING_REBALANCE


def test_an_assignment_that_is_committed_too_late_is_nobodys(bench):
    bench.store.immediate = False
    answers = bench.enter()
    bench.clock.advance_ms(0)
    synced = bench.sync(answers[0], {answers[0].member_id: b"all"})
    newcomer = bench.enter()
    assert synced[0].error is ErrorCode.REBALANCE_IN_PROGRESS
    again = bench.join(answers[0].member_id)
    assert [again[0].generation, newcomer[0].generation] == [2, 2]
    bench.store.finish()
    assert bench.group.state is GroupState.COMPLETING_REBALANCE
    assert [m.assignment for m in bench.group.members.values()] == [b"", b""]


def test_who_does_not_sync_within_the_rebalance_time_out_is_out(bench):
    answers = [bench.enter(session_timeout_ms=100_000), bench.enter(session_timeout_ms=100_000)]
    bench.clock.advance_ms(0)
    leader, follower = (a[0] for a in answers)
    synced = bench.sync(leader)
    assert synced[0].error is NONE
    bench.clock.advance_ms(60_000)
    assert list(bench.group.members) == [leader.member_id]
    assert bench.heartbeat(leader) is ErrorCode.REBALANCE_IN_PROGRESS
    assert bench.heartbeat(follower) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"generation": 7}, ErrorCode.ILLEGAL_GENERATION),
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol": "sticky"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": "consumer", "protocol": "range"}, NONE),
    ],
)
def test_a_sync_names_what_it_belongs_to(bench, changes, error):
    (leader,) = bench.stable(1)
    assert bench.sync(leader, **changes)[0].error is error


def test_a_sync_during_the_next_rebalance(bench):
    leader, _ = bench.stable(2)
    bench.enter()
    assert bench.sync(leader)[0].error is ErrorCode.REBALANCE_IN_PROGRESS


# --- sessions -------------------------------------------------------------------------------------------------------


def test_a_member_that_is_not_heard_of_is_out(bench):
    leader, follower = bench.stable(2)
    for _ in range(4):
        bench.clock.advance_ms(4000)
        bench.heartbeat(leader)
    assert list(bench.group.members) == [leader.member_id]
    assert bench.group.state is GroupState.PREPARING_REBALANCE
    assert bench.heartbeat(follower) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_session_ends_exactly_a_time_out_after_the_last_heartbeat(bench):
    (leader,) = bench.stable(1)
    bench.clock.advance_ms(9999)
    assert bench.heartbeat(leader) is NONE
    bench.clock.advance_ms(9999)
    assert leader.member_id in bench.group.members
    bench.clock.advance_ms(1)
    assert bench.group.members == {}


def test_who_waits_for_the_others_is_alive(bench):
    leader, _ = bench.stable(2, rebalance_timeout_ms=50_000)
    again = bench.join(leader.member_id, rebalance_timeout_ms=50_000)
    bench.clock.advance_ms(9_999)
    assert again == []
    bench.clock.advance_ms(1)  # the follower's session ends, and with it the wait
    assert again[0].error is NONE


def test_a_first_join_waits_five_minutes_and_no_longer(bench):
    (leader,) = bench.stable(1, rebalance_timeout_ms=3_600_000, session_timeout_ms=1_800_000)
    newcomer = bench.enter(rebalance_timeout_ms=3_600_000, session_timeout_ms=1_800_000)
    bench.clock.advance_ms(NEW_MEMBER_JOIN_TIMEOUT_MS - 1)
    assert newcomer == []
    bench.clock.advance_ms(1)
    assert (newcomer[0].error, newcomer[0].member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")
    assert list(bench.group.members) == [leader.member_id]


def test_heartbeats_cost_no_timers(bench):
    (leader,) = bench.stable(1)
    before = bench.clock.armed()
    for _ in range(50):
        bench.clock.advance_ms(100)
        assert bench.heartbeat(leader) is NONE
    assert bench.clock.armed() <= before


def test_nothing_is_left_of_a_group_that_was_given_up(bench):
    leader, follower = bench.stable(2)
    joining = bench.join(leader.member_id)
    bench.join()
    bench.membership.give_up(bench.group, ErrorCode.NOT_COORDINATOR)
    assert joining[0].error is ErrorCode.NOT_COORDINATOR
    assert bench.clock.armed() == 0
    assert bench.heartbeat(follower) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert bench.join(follower.member_id)[0].error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert bench.sync(follower)[0].error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert bench.membership.leave(bench.group, follower.member_id, None) is ErrorCode.COORDINATOR_NOT_AVAILABLE


# --- static membership (KIP-345) ------------------------------------------------------------------------------------


def static_pair(bench, **changes):
    """A Stable group of the static members ``a`` (leader) and ``b``."""
    answers = [bench.join(instance_id=i, **changes) for i in "ab"]
    bench.clock.advance_ms(0)
    joined = [a[0] for a in answers]
    syncs = [bench.sync(joined[1], instance_id="b")]
    syncs.insert(0, bench.sync(joined[0], {j.member_id: j.member_id[:1].encode() for j in joined}, instance_id="a"))
    assert [s[0].error for s in syncs] == [NONE, NONE]
    return joined


def test_a_static_member_comes_back_without_a_rebalance(bench):
    leader, follower = static_pair(bench)
    (back,) = bench.join(instance_id="b")
    assert (back.error, back.generation, back.leader_id) == (NONE, 1, leader.member_id)
    assert back.member_id != follower.member_id
    assert bench.group.state is GroupState.STABLE
    (synced,) = bench.sync(back, instance_id="b")
    assert synced.assignment == b"b"
    assert bench.store.stored[-1] == (1, {leader.member_id: b"a", back.member_id: b"b"})
    assert bench.heartbeat(follower, "b") is ErrorCode.FENCED_INSTANCE_ID
    assert bench.join(follower.member_id, instance_id="b")[0].error is ErrorCode.FENCED_INSTANCE_ID
    assert bench.sync(follower, instance_id="b")[0].error is ErrorCode.FENCED_INSTANCE_ID
    assert bench.membership.leave(bench.group, follower.member_id, "b") is ErrorCode.FENCED_INSTANCE_ID


def test_a_static_leader_that_comes_back_assigns_nothing_before_v9(bench):
    leader, _ = static_pair(bench)
    (back,) = bench.join(instance_id="a", version=8)
    assert back.leader_id == leader.member_id != back.member_id
    assert (back.members, back.skip_assignment) == ((), False)


def test_a_static_leader_that_comes_back_is_told_to_keep_the_assignment_from_v9_on(bench):
    _, follower = static_pair(bench)
    (back,) = bench.join(instance_id="a", version=9)
    assert back.leader_id == back.member_id
    assert [m.member_id for m in back.members] == [back.member_id, follower.member_id]
    assert back.skip_assignment
    assert bench.group.is_leader(back.member_id)


def test_a_static_member_with_another_protocol_rebalances(bench):
    both = (Protocol("range", b""), Protocol("sticky", b""))
    static_pair(bench, protocols=both)
    assert bench.join(instance_id="b", protocols=(Protocol("sticky", b""),)) == []
    assert bench.group.state is GroupState.PREPARING_REBALANCE


def test_a_static_member_whose_return_cannot_be_written_keeps_its_earlier_id(bench):
    leader, follower = static_pair(bench)
    bench.store.immediate = False
    back = bench.join(instance_id="b")
    assert back == []
    bench.store.finish(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert (back[0].error, back[0].member_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, "")
    assert bench.heartbeat(follower, "b") is NONE
    assert list(bench.group.members) == [leader.member_id, follower.member_id]


def test_a_static_member_that_returns_twice_fences_its_first_return(bench):
    static_pair(bench)
    bench.store.immediate = False
    first, second = bench.join(instance_id="b"), bench.join(instance_id="b")
    assert first[0].error is ErrorCode.FENCED_INSTANCE_ID
    bench.store.finish()
    assert second == [], "the first write does not answer the second join"
    bench.store.finish()
    assert second[0].error is NONE


def test_the_return_of_a_static_member_during_a_rebalance_fences_who_waits(bench):
    leader, follower = static_pair(bench)
    bench.enter()
    waiting = bench.join(follower.member_id, instance_id="b")
    back = bench.join(instance_id="b")
    assert waiting[0].error is ErrorCode.FENCED_INSTANCE_ID
    bench.join(leader.member_id, instance_id="a")
    assert back[0].generation == 2


def test_the_return_of_a_static_member_before_the_assignment_begins_another_rebalance(bench):
    answers = [bench.join(instance_id=i) for i in "ab"]
    bench.clock.advance_ms(0)
    syncing = bench.sync(answers[1][0], instance_id="b")
    assert bench.join(instance_id="b") == []
    assert syncing[0].error is ErrorCode.FENCED_INSTANCE_ID
    assert bench.group.state is GroupState.PREPARING_REBALANCE


def test_a_static_member_keeps_its_place_through_a_rebalance_that_it_misses(bench):
    leader, follower = static_pair(bench, session_timeout_ms=120_000)
    again = bench.join(leader.member_id, instance_id="a", session_timeout_ms=120_000)
    bench.clock.advance_ms(60_000)
    assert again[0].generation == 2
    assert [m.member_id for m in again[0].members] == [leader.member_id, follower.member_id]


def test_an_administrator_removes_a_static_member_by_its_name(bench):
    _, follower = static_pair(bench)
    assert bench.membership.leave(bench.group, "", "b") is NONE
    assert bench.membership.leave(bench.group, "", "b") is ErrorCode.UNKNOWN_MEMBER_ID
    assert follower.member_id not in bench.group.members
