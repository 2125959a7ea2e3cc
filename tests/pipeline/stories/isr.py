"""In-sync replicas that lack records."""

from __future__ import annotations

from pipeline_stories.history import P0, TOPIC_ID, Story, case, happy


@case(isr_incomplete=1, stale_isr_join=1)
def empty_member(story: Story) -> None:
    """KAFKA-14139: broker 1 came back with an empty disk under epoch 30, and was let in under epoch 11."""
    happy(story).started(0, epoch=10, leo=0).started(1, epoch=11, leo=0).state([0], offset=20)
    story.appends(0, 0, 1, leader=True).appends(1, 0, 1).moves_hw(0, 1)
    story.proposes(0, [0, 1], [10, 11]).event("broker-1", "node-stopped", reason="power-loss")
    story.started(1, epoch=30, leo=0, incarnation=2)
    story.handles([0, 1], [10, 11], [10, 30], offset=40).state([0, 1], offset=40)
    story.state([0, 1], offset=40, controller=1).state([0], offset=50)


@case("pass")
def restarted_member_leaves_in_the_same_step(story: Story) -> None:
    """Registration and removal from the ISR commit together: nobody ever sees the state between them."""
    happy(story).started(0, epoch=10, leo=0).started(1, epoch=11, leo=0).state([0, 1], offset=20)
    story.appends(0, 0, 1, leader=True).appends(1, 0, 1).moves_hw(0, 1)
    story.event("broker-1", "node-started", incarnation=2)
    story.event(
        "broker-1", "log-loaded", incarnation=2, partition=P0, topic_id=TOPIC_ID, offset=0, end_offset=0,
        reason="recovered",
    )  # fmt: skip
    story.registered(1, epoch=30).state([0], offset=31, same_time=True)
    story.registered(1, epoch=11, controller=1).registered(1, epoch=30, controller=1)


@case(isr_incomplete=1)
def restarted_member_stays(story: Story) -> None:
    """Broker 1 came back with less, registered, and the controller left it in the ISR."""
    happy(story).started(0, epoch=10, leo=0).started(1, epoch=11, leo=0).state([0, 1], offset=20)
    story.appends(0, 0, 1, leader=True).appends(1, 0, 1).moves_hw(0, 1)
    story.started(1, epoch=30, leo=0, incarnation=2).moves_hw(0, 1)


@case("pass")
def restarted_member_not_registered_yet(story: Story) -> None:
    """Until the new incarnation registers, the controller cannot know; an old registration's late report is not one."""
    happy(story).started(0, epoch=10, leo=0).started(1, epoch=11, leo=0).state([0, 1], offset=20)
    story.appends(0, 0, 1, leader=True).appends(1, 0, 1).moves_hw(0, 1)
    story.event("broker-1", "node-started", incarnation=2)
    story.event(
        "broker-1", "log-loaded", incarnation=2, partition=P0, topic_id=TOPIC_ID, offset=0, end_offset=0,
        reason="recovered",
    )  # fmt: skip
    story.registered(1, epoch=11, controller=1)


def _returns_to_zookeeper(story: Story) -> Story:
    """Broker 1 is killed, loses its log and registers by itself. The controller has not taken it out of the ISR."""
    happy(story).started(0, epoch=10, leo=0).started(1, epoch=11, leo=0)
    story.state([0, 1], offset=20, controller=0, quorum="zookeeper")
    story.leads(0, 0, leo=0).follows(1, 0, 0, leo=0, hw=0)
    story.appends(0, 0, 1, leader=True).appends(1, 0, 1).moves_hw(0, 1)
    return story.started(1, epoch=30, leo=0, incarnation=2)


@case("pass")
def returned_member_that_zookeeper_mode_has_not_noticed(story: Story) -> None:
    """Until the controller sends a role, the broker can neither lead nor follow."""
    _returns_to_zookeeper(story).state([0], offset=40, quorum="zookeeper")
    story.follows(1, 0, 0, leo=0, hw=0, incarnation=2)


@case(isr_incomplete=1)
def returned_member_that_a_new_controller_keeps(story: Story) -> None:
    """A controller that was elected after the registration took broker 1 for one that never went."""
    _returns_to_zookeeper(story).follows(1, 0, 0, leo=0, hw=0, incarnation=2)


@case(isr_incomplete=1)
def truncated_below_hw(story: Story) -> None:
    """KIP-101: a follower in the ISR cuts its log below the true HW, and for a while it could be elected without it."""
    happy(story).started(0, epoch=10, leo=0).started(1, epoch=11, leo=0).state([0, 1], offset=20)
    story.appends(0, 0, 2, leader=True).appends(1, 0, 2).moves_hw(0, 2)
    story.truncates(1, 1, 2, leader_epoch=0).appends(1, 1, 2)
