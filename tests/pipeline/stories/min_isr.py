"""Writes acknowledged by fewer replicas than ``min.insync.replicas``."""

from __future__ import annotations

from pipeline_stories.history import Story, case, happy


@case(min_isr=1)
def acknowledged_below_min_isr(story: Story) -> None:
    """Two in-sync replicas were asked for, broker 1 had left the ISR, and the leader acknowledged all the same."""
    happy(story).state([0, 1], offset=20).acknowledges(0, 0, 1, isr=[0, 1], min_isr=2, partition_epoch=20)
    story.state([0], offset=21).acknowledges(0, 1, 2, isr=[0], min_isr=2, partition_epoch=21)


@case(min_isr=1)
def proposed_member_counted(story: Story) -> None:
    """The leader counted broker 1, which it had only proposed to add: the controller committed no such ISR."""
    happy(story).state([0], offset=20).acknowledges(0, 0, 1, isr=[0, 1], min_isr=2, partition_epoch=20)
