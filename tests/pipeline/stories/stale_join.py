"""Replicas that join the ISR under the epoch of an earlier incarnation."""

from __future__ import annotations

from pipeline_stories.history import Story, case, happy


@case(stale_isr_join=1)
def proposal_tells_the_epoch(story: Story) -> None:
    """AlterPartition 2 carries no epochs, but the leader says that it knew broker 1 under epoch 11."""
    happy(story).registered(1, epoch=11).state([0], offset=20).proposes(0, [0, 1], [10, 11])
    story.registered(1, epoch=30).handles([0, 1], [-1, -1], [10, 30], offset=40)


@case(stale_isr_join=1)
def registered_between(story: Story) -> None:
    """Nobody tells the epoch, but broker 1 registered again between the proposal and its acceptance."""
    happy(story).registered(1, epoch=11).state([0], offset=20).proposes(0, [0, 1], [-1, -1])
    story.registered(1, epoch=30).handles([0, 1], [-1, -1], [10, 30], offset=40)


@case("pass")
def joins_under_its_own_epoch(story: Story) -> None:
    """Epochs agree; a stale one was refused; an old member's epoch is not the question; a retry changes nothing."""
    happy(story).registered(1, epoch=11).state([0, 2], offset=20).proposes(0, [0, 1], [10, 11])
    story.handles([0, 1], [10, 11], [10, 30], offset=-1, reason="INELIGIBLE_REPLICA")
    story.handles([0, 2, 1], [10, 5, 11], [10, 6, 11], offset=40).state([0, 2, 1], offset=40)
    story.handles([0, 2, 1], [10, 5, 11], [10, 6, 11], offset=-1)


@case(stale_isr_join=1, is_whole=True)
def the_controller_says_what_was_claimed(story: Story) -> None:
    """Broker 1 had registered again under epoch 30, and joined under epoch 11, of which the controller says that it was
    in force."""
    happy(story).registered(1, epoch=11).state([0], offset=20).proposes(0, [0, 1], [10, 11]).registered(1, epoch=30)
    story.handles([0, 1], [10, 11], [10, 11], offset=40).state([0, 1], offset=40, partition_epoch=1)


@case("pass")
def registered_after_it_joined(story: Story) -> None:
    """The registration has a higher metadata offset than the change. Its report by another controller came before."""
    happy(story).registered(1, epoch=11).state([0], offset=20).proposes(0, [0, 1], [10, 11]).registered(1, epoch=50)
    story.handles([0, 1], [10, 11], [10, 11], offset=40).state([0, 1], offset=40, partition_epoch=1)


@case("pass")
def the_controller_was_deposed(story: Story) -> None:
    """Broker 1 registered again at offset 30, and the controller that accepted it at offset 40 did not know. Nothing of
    it was committed: the state of offset 40 is another one."""
    happy(story).registered(1, epoch=11).state([0], offset=20).proposes(0, [0, 1], [10, 11]).registered(1, epoch=30)
    story.handles([0, 1], [10, 11], [10, 11], offset=40).state([0], offset=40, partition_epoch=2)


@case(stale_isr_join=1)
def epochs_are_missing(story: Story) -> None:
    """Neither the request nor the proposal nor the controller tell an epoch of broker 1; it registered in between."""
    happy(story).registered(1, epoch=11).state([0], offset=20).proposes(0, [0, 1], [10, -1])
    story.registered(1, epoch=30).handles([0, 1], [10, -1], [10, -1], offset=40)
    story.state([0, 1], offset=40, partition_epoch=1)
