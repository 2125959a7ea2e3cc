"""Logs that stay although they are assigned no more, and logs that go although they are."""

from __future__ import annotations

import msgspec
from pipeline_stories.history import P0, TOPIC_ID, Story, case, happy

_OTHER_ID = "0" * 31 + "2"


def _runs(story: Story, broker: int, *, incarnation: int = 1, leo: int = 0) -> Story:
    """A broker starts, loads its log and runs."""
    node = f"broker-{broker}"
    story.event(node, "node-started", incarnation=incarnation).event(
        node, "log-loaded", incarnation=incarnation, partition=P0, topic_id=TOPIC_ID, offset=0, end_offset=leo,
        reason="clean",
    )  # fmt: skip
    return story.event(node, "broker-state", incarnation=incarnation, broker=broker, broker_epoch=1, reason="running")


def _assigned(
    story: Story,
    replicas: list[int],
    *,
    offset: int,
    isr: list[int] | None = None,
    epoch: int = 0,
    reason: str = "changed",
    leader: int = 0,
) -> Story:
    return story.event(
        "zookeeper-0", "partition-changed", partition=P0, topic_id=TOPIC_ID, replicas=replicas,
        isr=replicas if isr is None else isr, leader=leader, leader_epoch=epoch, partition_epoch=offset,
        metadata_offset=offset, reason=reason,
    )  # fmt: skip


def _removed(story: Story, broker: int, *, incarnation: int = 1, reason: str = "deleted") -> Story:
    node = f"broker-{broker}"
    return story.event(node, "log-removed", incarnation=incarnation, partition=P0, topic_id=TOPIC_ID, reason=reason)


def _later(story: Story, seconds: float) -> Story:
    story.now += int(seconds * 1e9)
    return story.event("broker-0", "broker-state", broker=0, broker_epoch=1, reason="running")


def _moved_while_away(story: Story) -> Story:
    """Broker 2 is down while its replica is moved to broker 1, and comes back."""
    happy(_runs(_assigned(story, [0, 2], offset=1), 2))
    story.event("broker-2", "node-stopped", reason="kill")
    return _runs(_assigned(story, [0, 1], offset=2), 2, incarnation=2, leo=5)


@case(stray_partition=1)
def stray_log_stays(story: Story) -> None:
    """Broker 2 has run for eleven seconds with a log that is assigned to brokers 0 and 1."""
    _later(_moved_while_away(story), 11)


@case("pass")
def stray_log_while_a_command_may_wait(story: Story) -> None:
    """The response to the command before may have been lost: for that long the controller waits."""
    _later(_moved_while_away(story.under(lost_command_ms=2000, deletion=())), 11)


@case("pass")
def stray_log_is_young(story: Story) -> None:
    """It has run for nine seconds only, and has ten."""
    _later(_moved_while_away(story), 9)


@case("pass")
def stray_log_set_aside(story: Story) -> None:
    """It set the log aside."""
    _later(_removed(_moved_while_away(story), 2, incarnation=2, reason="stray"), 11)


@case("pass")
def stray_log_of_a_dead_broker(story: Story) -> None:
    """A broker that is down can delete nothing."""
    _moved_while_away(story).event("broker-2", "node-stopped", incarnation=2, reason="kill")
    _later(story, 11)


@case("pass")
def stray_log_on_a_replaced_disk(story: Story) -> None:
    """The log went with the disk: the broker's present incarnation has loaded none."""
    _moved_while_away(story).event("broker-2", "node-stopped", incarnation=2, reason="power-loss")
    story.event("broker-2", "node-started", incarnation=3)
    story.event("broker-2", "broker-state", incarnation=3, broker=2, broker_epoch=3, reason="running")
    _later(story, 11)


@case("pass")
def stray_log_assigned_again(story: Story) -> None:
    """The replica was moved back."""
    _later(_assigned(_moved_while_away(story), [0, 2], offset=3), 11)


def _made_again_and_killed(story: Story, *, has_role: bool = False, topic_id: str = _OTHER_ID) -> Story:
    """Broker 2 makes the log of the topic that was created again, and dies before the file with the id is written."""
    happy(_runs(_assigned(story, [0, 2], offset=1, reason="created"), 2))
    _removed(_assigned(story.under(deletion=("orders",)), [0, 2], offset=2, reason="deleted"), 2)
    story.event(
        "zookeeper-0", "partition-changed", partition=P0, topic_id=topic_id, replicas=[0, 2], isr=[0, 2], leader=0,
        leader_epoch=0, partition_epoch=0, metadata_offset=3, reason="created",
    )  # fmt: skip
    story.event("broker-2", "node-stopped", reason="crash").event("broker-2", "node-started", incarnation=2)
    story.event(
        "broker-2", "log-loaded", incarnation=2, partition=P0, topic_id="", offset=0, end_offset=0, reason="recovered"
    )
    story.event("broker-2", "broker-state", incarnation=2, broker=2, broker_epoch=2, reason="running")
    if has_role:
        story.event(
            "broker-2", "became-follower", incarnation=2, partition=P0, topic_id=topic_id, leader=0, leader_epoch=0,
            offset=0, end_offset=0,
        )  # fmt: skip
    return story


@case("pass")
def log_without_an_id_gets_a_role(story: Story) -> None:
    """The topic in which the broker gets a role with it has this log, not the one that was deleted."""
    _later(_made_again_and_killed(story, has_role=True), 11)


@case("pass")
def log_without_an_id_gets_no_role(story: Story) -> None:
    """The log of the deleted topic had its id, so this one was made for the topic of which the broker is a replica."""
    _later(_made_again_and_killed(story, has_role=False), 11)


@case(stray_partition=1)
def log_of_a_deleted_topic_stays(story: Story) -> None:
    """The topic is gone, and broker 2 keeps its log."""
    happy(_runs(_assigned(story.under(deletion=("orders",)), [0, 2], offset=1), 2))
    _later(_assigned(story, [0, 2], offset=2, reason="deleted"), 11)


@case(live_partition_deleted=1)
def assigned_log_deleted(story: Story) -> None:
    """No committed state has ever removed the replica from broker 2."""
    _removed(_assigned(happy(_runs(_assigned(story, [0, 2], offset=1), 2)), [0, 2], isr=[0], offset=2), 2)


@case("pass")
def removed_replica_deleted(story: Story) -> None:
    """The replica was moved away first."""
    _removed(_assigned(happy(_runs(_assigned(story, [0, 2], offset=1), 2)), [0, 1], offset=2), 2)


@case("pass")
def late_order_to_delete(story: Story) -> None:
    """The replica was moved away and back; broker 2, out of the ISR, carries out the first order now."""
    _assigned(happy(_runs(_assigned(story, [0, 2], offset=1), 2)), [0, 1], offset=2)
    _removed(_assigned(story, [0, 2], isr=[0], offset=3), 2)


def _moved_there_and_back_before(story: Story) -> Story:
    """The replica was moved away from broker 2 and back, before broker 2 creates a log."""
    _assigned(_assigned(happy(story), [0, 2], offset=1), [0, 1], offset=2, epoch=1)
    return _runs(_assigned(story, [0, 2], isr=[0], offset=3, epoch=2), 2)


@case("pass")
def late_orders_to_create_and_delete(story: Story) -> None:
    """Broker 2 is slow: it creates the log by the first state and deletes it by the second, after the third."""
    _removed(_moved_there_and_back_before(story).follows(2, 0, 0, leo=0, hw=0), 2)


@case(live_partition_deleted=1)
def created_by_the_last_state_and_deleted(story: Story) -> None:
    """It created the log by the third state. None since then orders it to delete the log."""
    _removed(_moved_there_and_back_before(story).follows(2, 0, 2, leo=0, hw=0), 2)


@case("pass")
def created_and_not_wanted_any_more(story: Story) -> None:
    """The disk was slow, and the state that wanted the log is long gone: it is created anew for the last one."""
    _assigned(_assigned(happy(story), [0, 1], offset=1), [0, 2], isr=[0], offset=2, epoch=1)
    for ended in (True, False):
        story.event("broker-2", "log-loaded", partition=P0, topic_id=TOPIC_ID, offset=0, end_offset=0, reason="created")
        if ended:
            _removed(story, 2)
    story.follows(2, 0, 1, leo=0, hw=0)


@case(live_partition_deleted=1)
def member_of_the_isr_deleted(story: Story) -> None:
    """Broker 2 is back in the ISR: it has fetched by a newer order than the one to delete."""
    _assigned(happy(_runs(_assigned(story, [0, 2], offset=1), 2)), [0, 1], offset=2)
    _removed(_assigned(story, [0, 2], isr=[0, 2], offset=3), 2)


def _made_the_isr_alone(story: Story) -> None:
    """Moved away from broker 2 and back; then broker 2, which has heard of none of that, is elected from outside."""
    _assigned(happy(_runs(_assigned(story, [0, 2], offset=1), 2)), [0, 1], offset=2)
    _assigned(_assigned(story, [0, 2], isr=[0], offset=3), [0, 2], isr=[2], offset=4, epoch=2, leader=2)
    _removed(story, 2)


@case("pass")
def late_order_to_delete_at_an_unclean_leader(story: Story) -> None:
    """It carries out the first order now: it has fetched under none of the newer ones."""
    _made_the_isr_alone(story.under(unclean=("orders",)))


@case(live_partition_deleted=1)
def late_order_to_delete_at_a_leader(story: Story) -> None:
    """Where no unclean election is allowed, nobody is elected who has not fetched."""
    _made_the_isr_alone(story.under(never_unclean=("orders",)))


@case("pass")
def stray_found_at_a_start_goes(story: Story) -> None:
    """When broker 2 loaded the log again it was not assigned any more."""
    _removed(_moved_while_away(story), 2, incarnation=2)


@case("pass")
def log_of_the_next_topic_without_ids(story: Story) -> None:
    """Broker 2 had deleted the log of the first topic, so what it loads is of the second."""
    _later(_made_again_and_killed(story, topic_id=TOPIC_ID), 11)


def _serves_the_next_topic(story: Story, seconds: int) -> None:
    """Without ids broker 2 follows in the next topic with the log that it has of the deleted one."""
    happy(_runs(_assigned(story.under(deletion=("orders",)), [0, 2], offset=1, reason="created"), 2))
    _later(_assigned(story, [0, 2], offset=2, reason="deleted"), seconds)
    _assigned(story, [0, 2], offset=0, reason="created", epoch=1)
    story.events[-1] = msgspec.structs.replace(story.events[-1], metadata_offset=3)
    story.event(
        "broker-2", "became-follower", partition=P0, topic_id=TOPIC_ID, leader=0, leader_epoch=1, offset=0, end_offset=0
    )
    _later(story, 11)


@case("pass")
def log_of_the_deleted_topic_that_serves_the_next_one(story: Story) -> None:
    """Broker 2 was paused while its topic was deleted, and had no time to delete its log."""
    _serves_the_next_topic(story, 1)


@case(stray_partition=1)
def log_of_the_deleted_topic_that_serves_the_next_one_much_later(story: Story) -> None:
    """Broker 2 had 11 seconds to delete it."""
    _serves_the_next_topic(story, 11)


@case("pass")
def log_of_the_deleted_topic_whose_deletion_was_not_heard_of(story: Story) -> None:
    """A fault may have kept the controller's commands from broker 2 for all that time."""
    _serves_the_next_topic(story.under(lost_command_ms=2000), 14)


@case(stray_partition=1)
def log_of_the_next_topic_that_is_deleted_too(story: Story) -> None:
    """The log that broker 2 loads is of the second topic, which was deleted eleven seconds ago."""
    _made_again_and_killed(story)
    _assigned(story, [0, 2], offset=4, reason="deleted")
    story.events[-1] = msgspec.structs.replace(story.events[-1], topic_id=_OTHER_ID)
    _later(story, 11)
