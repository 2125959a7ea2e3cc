"""The pure rules of ISR and HW, one small story each."""

from __future__ import annotations

import pytest

from highwater_runtime.broker.follower_state import FollowerState
from highwater_runtime.broker.isr import (
    IsrState,
    Proposal,
    lagging,
    may_join,
    may_join_as_printed,
    next_high_watermark,
    next_isr,
)
from highwater_runtime.broker.truncation import Cut, EpochEnd, cut_for_divergence

LAG = 1000
NOW = 1_000_000


def follower(broker_id: int, end: int, *, caught_up_ago: int = 0, replica_epoch: int = 7) -> FollowerState:
    return FollowerState(
        broker_id, log_end_offset=end, replica_epoch=replica_epoch, last_caught_up_ns=NOW - caught_up_ago
    )


def high_watermark(*followers: FollowerState, isr: IsrState, end: int = 10, min_isr: int = 1, eligible=lambda _: True):
    return next_high_watermark(
        followers, isr, leader_end_offset=end, min_isr=min_isr, now_ns=NOW, lag_max_ns=LAG, eligible=eligible
    )


def proposal(*isr: int) -> Proposal:
    return Proposal(leader_epoch=1, partition_epoch=1, isr=isr, isr_epochs=(7,) * len(isr), reason="expand")


# --- high watermark -----------------------------------------------------------------------------------------------


def test_the_hw_is_the_least_end_of_the_isr():
    assert high_watermark(follower(2, 8), follower(3, 9), isr=IsrState((1, 2, 3))) == 8


def test_a_lagging_replica_outside_the_isr_is_not_waited_for():
    assert high_watermark(follower(2, 3, caught_up_ago=LAG + 1), isr=IsrState((1,))) == 10


def test_a_caught_up_replica_outside_the_isr_is_waited_for():
    assert high_watermark(follower(2, 8, caught_up_ago=LAG), isr=IsrState((1,))) == 8


def test_a_caught_up_replica_that_may_not_join_is_not_waited_for():
    assert high_watermark(follower(2, 8), isr=IsrState((1,)), eligible=lambda _: False) == 10


def test_a_replica_outside_the_isr_lags_from_the_start_however_young_the_clock_is():
    """A leader that has just started in its former epoch must not wait for one that is still fetching what it missed:
    the HW would stop below where it was."""
    behind = FollowerState.at_epoch_start(2, in_isr=False, now_ns=LAG // 2, lag_max_ns=LAG)
    behind.fetched(8, 0, 7, 10, LAG // 2)
    assert not behind.caught_up(10, LAG // 2, LAG)


def test_a_replica_that_left_the_isr_before_its_first_fetch_is_not_waited_for():
    """The epoch began with it in the ISR, so it counts as caught up for a while; but where its log ends is unknown."""
    removed = FollowerState.at_epoch_start(2, in_isr=True, now_ns=NOW, lag_max_ns=LAG)
    assert high_watermark(removed, isr=IsrState((1, 2))) < 0, "as a member it holds the HW"
    assert high_watermark(removed, isr=IsrState((1,))) == 10


def test_a_proposed_member_is_waited_for_even_if_it_lags_and_is_ineligible_by_now():
    state = IsrState((1,), proposal(1, 2))
    late = follower(2, 3, caught_up_ago=LAG + 1)
    assert high_watermark(late, isr=state, eligible=lambda _: False) == 3


def test_a_member_proposed_for_removal_is_waited_for_until_that_is_committed():
    assert high_watermark(follower(2, 3, caught_up_ago=LAG + 1), isr=IsrState((1, 2), proposal(1))) == 3


def test_the_hw_stays_while_the_committed_isr_is_too_small_whatever_is_proposed():
    assert high_watermark(follower(2, 10), isr=IsrState((1,), proposal(1, 2)), min_isr=2) is None
    assert high_watermark(follower(2, 10), isr=IsrState((1, 2)), min_isr=2) == 10


def test_a_member_that_has_not_fetched_in_this_epoch_holds_the_hw():
    state = FollowerState.at_epoch_start(2, in_isr=True, now_ns=NOW, lag_max_ns=LAG)
    assert high_watermark(state, isr=IsrState((1, 2))) == -1


# --- joining ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "hw", "epoch_start", "eligible", "joins"),
    [
        (10, 10, 5, True, True),
        (9, 10, 5, True, False),  # below the HW
        (9, 8, 10, True, False),  # lacks what came before this leader epoch, though it has the (lagging) HW
        (10, 10, 5, False, False),  # fenced, shutting down, or of another broker epoch
        (-1, 0, 0, True, False),  # has not fetched in this leader epoch
    ],
)
def test_joining_needs_all_of_it(end, hw, epoch_start, eligible, joins):
    found = may_join(follower(2, end), high_watermark=hw, epoch_start_offset=epoch_start, eligible=lambda _: eligible)
    assert found is joins


# --- lagging ------------------------------------------------------------------------------------------------------


def leaves(state: FollowerState, end: int) -> bool:
    return lagging((1, 2), {2: state}, leader_end_offset=end, now_ns=NOW, lag_max_ns=LAG) == (2,)


def test_a_member_leaves_when_it_was_caught_up_too_long_ago():
    assert not leaves(follower(2, 9, caught_up_ago=LAG), end=10)
    assert leaves(follower(2, 9, caught_up_ago=LAG + 1), end=10)


def test_an_idle_member_at_the_end_of_the_log_stays():
    assert not leaves(follower(2, 10, caught_up_ago=100 * LAG), end=10)


def test_a_follower_that_reaches_what_was_the_end_a_fetch_ago_counts_as_caught_up_then():
    state = FollowerState(2)
    state.fetched(5, 0, 7, leader_end_offset=8, now_ns=100)
    assert state.last_caught_up_ns == 0
    state.fetched(8, 0, 7, leader_end_offset=12, now_ns=200)
    assert state.last_caught_up_ns == 100
    state.fetched(12, 0, 7, leader_end_offset=12, now_ns=300)
    assert state.last_caught_up_ns == 300


def test_a_member_has_its_lag_time_to_show_up_in_a_new_epoch():
    inside = FollowerState.at_epoch_start(2, in_isr=True, now_ns=NOW, lag_max_ns=LAG)
    outside = FollowerState.at_epoch_start(3, in_isr=False, now_ns=NOW, lag_max_ns=LAG)
    assert inside.caught_up(10, NOW + LAG, LAG)
    assert not inside.caught_up(10, NOW + LAG + 1, LAG)
    assert not outside.caught_up(10, NOW, LAG)


# --- proposals ----------------------------------------------------------------------------------------------------


def test_shrink_and_expansion_in_one_pass_both_survive():
    assert next_isr((1, 2, 3), joining=(4,), leaving=(2,)) == (1, 3, 4)


def test_the_maximal_isr_is_committed_plus_proposed():
    assert IsrState((1, 2), proposal(1, 3)).maximal == (1, 2, 3)
    assert IsrState((1, 2)).maximal == (1, 2)


# --- truncation ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("leader", "own", "own_end", "cut"),
    [
        # Both have the epoch: up to the nearer end of it.
        (EpochEnd(3, 20), EpochEnd(3, 25), 25, Cut(20, agreed=True)),
        (EpochEnd(3, 20), EpochEnd(3, 15), 30, Cut(15, agreed=True)),
        # The leader never had the follower's epoch, nor the follower the leader's: cut to the older one and ask again.
        (EpochEnd(3, 20), EpochEnd(2, 11), 25, Cut(11, agreed=False)),
        # The follower knows no epoch at all that is as old.
        (EpochEnd(3, 20), None, 25, Cut(20, agreed=True)),
        (EpochEnd(3, 30), None, 25, Cut(25, agreed=True)),
    ],
)
def test_where_a_follower_cuts(leader, own, own_end, cut):
    assert cut_for_divergence(leader, own, own_end) == cut


@pytest.mark.parametrize(
    ("end", "least", "joins"),
    [(0, 100, True), (103, 100, True), (104, 100, False), (200, 100, False)],
)
def test_the_printed_rule_lets_in_whoever_has_few_more_records_than_the_least_member(end, least, joins):
    """Also those that have none: the difference is negative."""
    late = follower(2, end)
    assert may_join_as_printed(late, least_isr_end_offset=least, lag_min=4, eligible=lambda _: True) == joins
    assert not may_join_as_printed(late, least_isr_end_offset=least, lag_min=4, eligible=lambda _: False)
    unheard = FollowerState.at_epoch_start(2, in_isr=False, now_ns=NOW, lag_max_ns=LAG)
    assert not may_join_as_printed(unheard, least_isr_end_offset=least, lag_min=4, eligible=lambda _: True)
