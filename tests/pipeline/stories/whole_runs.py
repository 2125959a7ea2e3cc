"""Whole runs: nothing wrong, or nothing to judge by."""

from __future__ import annotations

from pipeline_stories.history import Story, case


@case("pass")
def everything_read(story: Story) -> None:
    """Every acknowledged value is read where it was acknowledged."""
    story.send(1, at=0).send(2, at=1, process=1).poll((0, 1)).poll((1, 2))


@case("inconclusive")
def empty(story: Story) -> None:
    """Where nothing was done nothing can have gone wrong, nor right."""


@case("inconclusive")
def all_failed(story: Story) -> None:
    """Nothing was acknowledged, so no promise was tried."""
    story.send(1, outcome="fail").send(2, outcome="info", process=1).poll()


@case("inconclusive")
def no_final_reads(story: Story) -> None:
    """The last poll began before the last acknowledgement: the second value may yet be read."""
    story.send(1, at=0).poll((0, 1)).send(2, at=1)


@case("pass")
def failed_over_without_loss(story: Story) -> None:
    """A new leader begins with an older copy of the HW and cuts nobody's committed records."""
    story.send(1, at=0).send(2, at=1).poll((0, 1), (1, 2))
    story.started(0, epoch=10, leo=0).started(1, epoch=11, leo=0).state([0, 1], offset=20)
    story.leads(0, 0, leo=0).follows(1, 0, 0, leo=0, hw=0)
    story.appends(0, 0, 2, leader=True).appends(1, 0, 2).commits(0, 0, 2, crc=7)
    story.appends(0, 2, 3, leader=True)  # never replicated
    story.state([1], leader=1, leader_epoch=1, offset=30).leads(1, 1, leo=2, hw=0)
    story.commits(1, 0, 2, leader_epoch=1, epoch=0, crc=7).follows(0, 1, 1, leo=3, hw=2)
    story.truncates(0, 2, 3, leader_epoch=1).state([1, 0], leader=1, leader_epoch=1, offset=40)
    story.dump(0, (0, 0, 1), (1, 0, 2), crc=7).dump(1, (0, 0, 1), (1, 0, 2), crc=7)
