"""Writes acknowledged by fewer replicas than ``min.insync.replicas``."""

from __future__ import annotations

from pipeline_stories.history import Story, case, happy

from highwater_pipeline.tables.settings import Period, TopicPromise


@case(min_isr=1)
def acknowledged_below_min_isr(story: Story) -> None:
    """Two in-sync replicas were asked for, broker 1 had left the ISR, and the leader acknowledged all the same."""
    happy(story).state([0, 1], offset=20).acknowledges(0, 0, 1, isr=[0, 1], min_isr=2, partition_epoch=20)
    story.state([0], offset=21).acknowledges(0, 1, 2, isr=[0], min_isr=2, partition_epoch=21)


@case(min_isr=1)
def proposed_member_counted(story: Story) -> None:
    """The leader counted broker 1, which it had only proposed to add: the controller committed no such ISR."""
    happy(story).state([0], offset=20).acknowledges(0, 0, 1, isr=[0, 1], min_isr=2, partition_epoch=20)


def _reports_one(story: Story, *periods: Period) -> None:
    """Alone in the ISR of three replicas, and then as the only replica, the leader acknowledges, and says that one is
    enough."""
    happy(story).under(exact_order=True, promised=periods)
    for offset, replicas in ((20, [0, 1, 2]), (21, [0])):
        story.state([0], offset=offset, replicas=replicas)
        story.acknowledges(0, offset - 20, offset - 19, isr=[0], min_isr=1, partition_epoch=offset)


@case(min_isr=1)
def reported_less_than_was_set(story: Story) -> None:
    """The experiment asks for two, whatever the leader says. A leader with one replica obeys one."""
    _reports_one(story, Period(0, {"*": TopicPromise(min_isr=1), "orders": TopicPromise(min_isr=2)}))


@case("pass")
def one_was_set(story: Story) -> None:
    """One is set for this topic, two for others."""
    _reports_one(story, Period(0, {"*": TopicPromise(min_isr=2), "orders": TopicPromise(min_isr=1)}))


@case("pass")
def nobody_set_it(story: Story) -> None:
    """What the leader reports counts alone where the experiment sets nothing, as in a borrowed cluster."""
    _reports_one(story, Period(0, {"orders": TopicPromise()}), Period(2, {"others": TopicPromise(min_isr=2)}))


@case("pass")
def less_was_set_in_time(story: Story) -> None:
    """Two were asked for until a change began, before the acknowledgements."""
    _reports_one(story, Period(0, {"*": TopicPromise(min_isr=2)}), Period(2, {"*": TopicPromise(min_isr=1)}))


@case(min_isr=1)
def more_was_set_in_time(story: Story) -> None:
    """A change from one to two was over before."""
    _reports_one(story, Period(0, {"*": TopicPromise(min_isr=1)}), Period(2, {"*": TopicPromise(min_isr=2)}))
