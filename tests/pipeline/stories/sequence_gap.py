"""Sequences of idempotent producers."""

from __future__ import annotations

from pipeline_stories.history import Story, case, happy


@case(sequence_gap=1)
def sequences_skipped(story: Story) -> None:
    """Sequence 2 follows sequence 0 on both replicas: what came between would be written behind it."""
    happy(story)
    for broker in (0, 1):
        story.dump_of_producer(broker, (0, 0, 1), (1, 2, 2)).dump_end(broker, 2)


@case(sequence_gap=2)
def sequences_of_other_epochs(story: Story) -> None:
    """Epoch 1 does not begin with 0; then epoch 0 writes again, though it was fenced."""
    happy(story).dump_of_producer(0, (0, 0, 1)).dump_of_producer(0, (1, 4, 2), epoch=1)
    story.dump_of_producer(0, (2, 1, 3)).dump_end(0, 3)


@case("pass")
def sequences_in_order(story: Story) -> None:
    """A first sequence above 0 (retention), a wrap, a new epoch, another producer, and a hole that compaction made."""
    happy(story).dump_of_producer(0, (5, 2**31 - 1, 1), (6, 0, 2)).dump_of_producer(0, (7, 3, 3), producer_id=8)
    story.dump_of_producer(0, (8, 0, 4), (11, 3, 5), epoch=1).dump_end(0, 12)


@case("pass")
def sequences_from_before_the_log_start(story: Story) -> None:
    """DeleteRecords moved the log start to 1. What the follower still has below is not what the leader had there."""
    happy(story).moves_start(0, 0, 1, "delete-records").moves_start(1, 0, 1, "leader")
    for broker in (0, 1):
        story.dump_of_producer(broker, (0, 0, 1), (1, 2, 2)).dump_end(broker, 2)
