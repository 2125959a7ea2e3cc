"""Leaders, their high watermarks, and nodes that crash."""

from __future__ import annotations

from pipeline_stories.history import Story, case, happy


@case(two_leaders=1)
def two_nodes_one_epoch(story: Story) -> None:
    """Two nodes append as leader in leader epoch 3."""
    happy(story).appends(0, 0, 1, leader=True, leader_epoch=3).appends(1, 0, 1, leader=True, leader_epoch=3)


@case(two_leaders=1)
def two_lives_one_epoch(story: Story) -> None:
    """A leader crashed and led on in its old epoch, as if it had never been away."""
    happy(story).appends(0, 0, 1, leader=True, leader_epoch=3)
    story.appends(0, 0, 1, leader=True, leader_epoch=3, incarnation=2)


@case("pass")
def one_leader_an_epoch(story: Story) -> None:
    """Followers append in the leader's epoch too, and a new leader has a new one."""
    happy(story).appends(0, 0, 1, leader=True, leader_epoch=3).appends(1, 0, 1, leader_epoch=3)
    story.appends(1, 1, 2, leader=True, leader_epoch=4).appends(0, 2, 3, leader=True, leader_epoch=3)


@case(leader_not_in_isr=1)
def leader_outside(story: Story) -> None:
    """Broker 0 leads, and the ISR is broker 1; three controllers report it, and it is one state."""
    happy(story).state([0, 1], offset=20).state([1], offset=21).state([1], offset=21, controller=1)
    story.state([1], offset=22, leader=-1)


@case(hw_regression=1)
def hw_goes_back(story: Story) -> None:
    """The new leader's HW moved, and to less than the old leader's."""
    happy(story).moves_hw(0, 5).moves_hw(1, 3, leader_epoch=1).moves_hw(1, 6, leader_epoch=1)


@case("pass")
def deposed_leader_lags(story: Story) -> None:
    """A deposed leader that does not know it yet may say less than the new one has."""
    happy(story).moves_hw(0, 5).moves_hw(1, 8, leader_epoch=1).moves_hw(0, 6).moves_hw(1, 9, leader_epoch=1)


@case(node_crash=2)
def nodes_crash(story: Story) -> None:
    """A broker and a controller ended by exceptions of their own; one that a fault ended is no crash."""
    happy(story).state([0], offset=20)
    story.event("broker-1", "node-crashed", reason="KeyError: 'x'", stack="Traceback …")
    story.event("broker-1", "node-stopped", reason="crash").event("broker-0", "node-stopped", reason="crash")
    story.event("controller-0", "node-crashed", reason="QuorumBrokenError: two leaders", stack="Traceback …")
