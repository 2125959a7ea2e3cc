"""Heads of logs that were deleted."""

from __future__ import annotations

from typing import Any

from pipeline_stories.history import P0, TOPIC_ID, Story, case, happy

from highwater_pipeline.tables.rows import MicroOp
from highwater_pipeline.tables.settings import Period, TopicPromise


@case(retention_too_greedy=3)
def retention_takes_too_much(story: Story) -> None:
    """One segment went too young, one left less than the limit, and one was not committed."""
    happy(story).moves_hw(0, 3)
    story.moves_start(0, 0, 1, "retention-time", retention_ms=1000, age_ms=1000)
    story.moves_start(0, 1, 2, "retention-size", retention_bytes=500, size_left=499)
    story.moves_start(0, 2, 4, "delete-records")


@case(retention_too_greedy=2)
def deletes_records_that_nobody_asked_for(story: Story) -> None:
    """Clients asked broker 0 for less, asked another broker, and asked too late; then for all that is committed."""
    happy(story).moves_hw(0, 3).is_asked_to_delete(0, 1).is_asked_to_delete(1, 3)
    for new in (1, 2, 3):
        story.moves_start(0, new - 1, new, "delete-records", asked=False)
    story.is_asked_to_delete(0, -1).moves_start(0, 2, 3, "delete-records", asked=False)


@case(retention_too_greedy=1)
def follower_begins_on_its_own(story: Story) -> None:
    """Broker 1 says that its leader's log begins at 2, and no other log does."""
    happy(story).moves_hw(0, 3).moves_start(0, 0, 1, "delete-records").moves_start(1, 0, 2, "leader")


def _head_is_gone(story: Story) -> Story:
    """Broker 0 comes back with a log that begins at 2, and broker 1 takes that over."""
    happy(story).started(0, epoch=10, leo=3).moves_hw(0, 3).event("broker-0", "node-started", incarnation=2)
    story.event(
        "broker-0", "log-loaded", incarnation=2, partition=P0, topic_id=TOPIC_ID, offset=2, end_offset=3,
        reason="recovered",
    )  # fmt: skip
    return story.moves_start(1, 0, 2, "leader")


@case(retention_too_greedy=2)
def a_restart_is_no_reason(story: Story) -> None:
    """No retention is set, and the head of broker 0's log is gone when it comes back; broker 1 follows it."""
    _head_is_gone(story)


@case("inconclusive")
def a_restart_may_hide_retention(story: Story) -> None:
    """Old records may be deleted, and a node that was killed may not have got to report that it did."""
    _head_is_gone(story.under(retention=("orders",)))


@case(retention_too_greedy=2)
def begun_anew_too_late(story: Story) -> None:
    """Brokers 1 and 2 empty their logs and begin at 2, where no log begins."""
    happy(story).started(0, epoch=10, leo=3).moves_hw(0, 3)
    for broker in (1, 2):
        story.event(
            f"broker-{broker}", "log-truncated", partition=P0, leader_epoch=0, offset=2, end_offset=1,
            reason="restart-at",
        )  # fmt: skip


@case("pass")
def begun_anew_where_the_leader_begins(story: Story) -> None:
    """Broker 1 begins again at its leader's log start, and broker 0, which lost its disk, where broker 1 does."""
    happy(story).moves_hw(0, 3).moves_start(0, 0, 2, "delete-records")
    for broker in (1, 0):
        story.event(
            f"broker-{broker}", "log-truncated", partition=P0, leader_epoch=0, offset=2, end_offset=0,
            reason="restart-at",
        )  # fmt: skip


@case("pass")
def retention_by_its_settings(story: Story) -> None:
    """Old enough, much enough, asked for, and followed."""
    happy(story).moves_hw(0, 3).moves_start(0, 0, 1, "retention-time", retention_ms=1000, age_ms=1001)
    story.moves_start(0, 1, 2, "retention-size", retention_bytes=500, size_left=500)
    story.moves_start(0, 2, 3, "delete-records").moves_start(1, 0, 3, "leader")


def _sent_and_removed(story: Story, seconds_later: float) -> Story:
    """Value 2 is sent, and broker 0 removes it some time later: by its clock, and the timestamp, it is 11 s old."""
    happy(story)
    story.operation(0, "invoke", "send", MicroOp("send", P0, None, 2))
    story.appends(0, 1, 2, leader=True)
    story.operation(0, "ok", "send", MicroOp("send", P0, 1, 2)).moves_hw(0, 2).poll((1, 2))
    story.now += int(seconds_later * 1e9)
    return story.moves_start(0, 0, 2, "retention-time", retention_ms=10_000, age_ms=11_000)


@case(retention_too_greedy=1)
def old_by_a_wrong_clock(story: Story) -> None:
    """Two clocks disagree, and by the true one the record was sent eight seconds before; it may be kept for ten."""
    _sent_and_removed(story, 8)


@case("pass")
def old_by_the_true_clock(story: Story) -> None:
    """It was sent eleven seconds before."""
    _sent_and_removed(story, 11)


@case("pass")
def old_within_what_clocks_of_two_machines_may_be_apart(story: Story) -> None:
    """It was sent nine and a half seconds before, as another machine's clock had it."""
    _sent_and_removed(story, 9.5)


def _by_what_is_reported(story: Story, **promised: Any) -> None:
    """Every move is right by what brokers report that they obey, or were asked for."""
    retention_by_its_settings(story)
    story.under(promised=(Period(0, {"orders": TopicPromise(**promised)}),))


@case(retention_too_greedy=3)
def reported_less_than_was_set(story: Story) -> None:
    """The experiment sets more than each limit that was reported, and asks for no DeleteRecords."""
    _by_what_is_reported(story, retention_ms=1001, retention_bytes=501, deletes=True, deletes_records=False)


@case(retention_too_greedy=2)
def no_limit_was_set(story: Story) -> None:
    """The experiment lets records stay for ever."""
    _by_what_is_reported(story, retention_ms=-1, retention_bytes=-1, deletes=True, deletes_records=True)


@case(retention_too_greedy=2)
def no_deletion_was_set(story: Story) -> None:
    """The limits are right, but the experiment sets ``cleanup.policy: compact``."""
    _by_what_is_reported(story, retention_ms=1000, retention_bytes=500, deletes=False, deletes_records=True)


@case("pass")
def reported_as_it_was_set(story: Story) -> None:
    """The experiment sets these limits, or lower ones."""
    _by_what_is_reported(story, retention_ms=1000, retention_bytes=10, deletes=True, deletes_records=True)


@case(retention_too_greedy=1)
def old_by_what_is_reported_alone(story: Story) -> None:
    """Eleven seconds old, as the clocks and the broker's own limit want it; the experiment keeps records for twenty."""
    _sent_and_removed(story, 11).under(promised=(Period(0, {"*": TopicPromise(retention_ms=20_000)}),))
