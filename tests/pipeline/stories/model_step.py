"""Steps that the executable specification permits, and some that it does not."""

from __future__ import annotations

from pipeline_stories.history import P0, TOPIC_ID, Story, case

from highwater_pipeline.tables.settings import Period, TopicPromise


def _replicated(story: Story) -> Story:
    """Brokers 0 and 1 are in sync, and the second of two records is not committed yet."""
    story.under(exact_order=True, deletion=()).state([0, 1], offset=20)
    known = {"partition": P0, "topic_id": TOPIC_ID}
    for broker in (0, 1):
        story.event(f"broker-{broker}", "log-loaded", **known, offset=0, end_offset=0, reason="created")
        story.event(f"broker-{broker}", "min-isr-set", partition=P0, min_isr=2)
    role = {**known, "leader_epoch": 0, "offset": 0, "end_offset": 0}
    story.event("broker-0", "became-leader", **role, partition_epoch=20, isr=[0, 1], replicas=[0, 1, 2])
    story.event("broker-1", "became-follower", **role, leader=0)
    story.appends(0, 0, 1, leader=True).appends(1, 0, 1).moves_hw(0, 1)
    return story.send(1, at=0).poll((0, 1)).appends(0, 1, 2, leader=True)


@case("pass", is_whole=True)
def high_watermark_waits_for_the_isr(story: Story) -> None:
    """Broker 1 has the second record when the high watermark passes it."""
    _replicated(story).appends(1, 1, 2).moves_hw(0, 2).send(2, at=1).poll((1, 2))


@case(model_step=1)
def high_watermark_passes_a_member(story: Story) -> None:
    """Broker 1 was a member of the ISR without the second record. It gets it later, so that nothing is lost."""
    _replicated(story).moves_hw(0, 2).appends(1, 1, 2).send(2, at=1).poll((1, 2))


@case(model_step=1)
def read_beyond_the_high_watermark(story: Story) -> None:
    """A consumer read the second record before it was committed. It was committed later, so that nothing is lost."""
    _replicated(story).send(2, at=1, outcome="info").poll((1, 2)).appends(1, 1, 2).moves_hw(0, 2)


@case(model_step=1)
def acknowledged_before_the_high_watermark(story: Story) -> None:
    """The second record was acknowledged to its producer before it was committed, and was committed and read later."""
    _replicated(story).send(2, at=1).appends(1, 1, 2).moves_hw(0, 2).poll((1, 2))


@case("pass")
def acknowledged_by_the_leader_alone(story: Story) -> None:
    """The producer asked for acks=1."""
    _replicated(story).under(acks="1").send(2, at=1).appends(1, 1, 2).moves_hw(0, 2).poll((1, 2))


@case(model_step=2)
def high_watermark_moves_below_what_was_set(story: Story) -> None:
    """The experiment asks for three in-sync replicas. The leader reports that it obeys two."""
    high_watermark_waits_for_the_isr(story)
    story.under(promised=(Period(0, {"orders": TopicPromise(min_isr=3)}),))


@case("pass", is_whole=True)
def high_watermark_moves_by_what_was_set(story: Story) -> None:
    """The experiment asks for two, as the leader reports, or for less."""
    high_watermark_waits_for_the_isr(story)
    story.under(promised=(Period(0, {"*": TopicPromise(min_isr=2)}),))
