"""Replicas that differ."""

from __future__ import annotations

from pipeline_stories.history import Story, case, happy, three


@case(divergence=1)
def replicas_differ_below_hw(story: Story) -> None:
    """Both members of the ISR have everything below HW 2, but at offset 1 in different epochs."""
    happy(story).started(0, epoch=10, leo=2).started(1, epoch=11, leo=2).state([0, 1], offset=20)
    story.moves_hw(0, 2).dump(0, (0, 0, 1), (1, 0, 2), crc=7).dump(1, (0, 0, 1), (1, 1, 2), crc=7)


@case("pass")
def replicas_differ_above_hw(story: Story) -> None:
    """Broker 1 is out of the ISR and keeps a record that was never committed: it will truncate when it returns."""
    happy(story).started(0, epoch=10, leo=2).state([0], offset=20, leader_epoch=1)
    story.follows(1, 0, 0, leo=2, hw=1).moves_hw(0, 2, leader_epoch=1).appends(0, 0, 2)
    story.dump(0, (0, 0, 1), (1, 1, 3)).dump(1, (0, 0, 1), (1, 0, 2))


@case("pass")
def replicas_differ_below_the_log_start(story: Story) -> None:
    """DeleteRecords moved the log start to 2: what broker 1 still has below, nobody can read."""
    happy(story).started(0, epoch=10, leo=2).started(1, epoch=11, leo=2).state([0, 1], offset=20)
    story.moves_hw(0, 2).moves_start(0, 0, 2, "delete-records").moves_start(1, 0, 2, "leader")
    story.dump(0, (0, 0, 1), (1, 0, 2)).dump(1, (0, 0, 1), (1, 1, 2))


@case("pass")
def replicas_differ_below_a_log_start_that_one_has_forgotten(story: Story) -> None:
    """Broker 1 diverged below the start to which DeleteRecords moved broker 0's log. It took over that start, was
    killed before it had written it down, and its log starts with its own records again. Broker 2 leads next, and never
    heard of the deletion. Nobody was promised these offsets."""
    happy(story).started(0, epoch=10, leo=2).started(1, epoch=11, leo=2).started(2, epoch=12, leo=2)
    story.state([0, 1, 2], offset=20).moves_hw(0, 2)
    story.moves_start(0, 0, 2, "delete-records").moves_start(1, 0, 2, "leader")
    story.started(1, epoch=13, leo=2, incarnation=2).state([1, 2], offset=21, leader=2, leader_epoch=1)
    story.dump(1, (0, 0, 1), (1, 1, 2)).dump(2, (0, 0, 1), (1, 0, 2))


@case(divergence=1)
def replicas_differ_from_their_log_starts_on(story: Story) -> None:
    """Offset 1 is where the log of broker 1 begins: a consumer may read it from either."""
    happy(story).started(0, epoch=10, leo=2).started(1, epoch=11, leo=2).state([0, 1], offset=20)
    story.moves_hw(0, 2).moves_start(0, 0, 1, "delete-records").moves_start(1, 0, 1, "leader")
    story.dump(0, (0, 0, 1), (1, 0, 2)).dump(1, (0, 1, 1), (1, 1, 2))


@case(divergence=1)
def silent_divergence(story: Story) -> None:
    """Nobody can find a difference by epochs where offset and epoch are equal, so there must be none, at any HW."""
    happy(story).dump(0, (0, 0, 1), (1, 0, 2)).dump(2, (0, 0, 1), (1, 0, 3))


def _removed_on_one_replica(story: Story, *left: tuple[int, int, int]) -> None:
    """Of software that does not report when it compacts: values 1, 2, 3 of two keys; broker 1 has no more than ``left``
    of them, and both have the record at offset 2."""
    three(story.under(compaction=("orders",), keys=2))
    story.dump(0, (0, 0, 1), (1, 0, 2), (2, 0, 3)).dump_end(0, 3).dump(1, *left, (2, 0, 3)).dump_end(1, 3)


@case("pass")
def one_replica_has_removed_what_was_replaced(story: Story) -> None:
    """Value 3 has the key of value 1, so the cleaner of broker 1 may have removed value 1 already."""
    _removed_on_one_replica(story, (1, 0, 2))


@case(divergence=1)
def one_replica_alone_has_the_last_of_a_key(story: Story) -> None:
    """Value 2 is the last of its key: no cleaner removes it."""
    _removed_on_one_replica(story)
