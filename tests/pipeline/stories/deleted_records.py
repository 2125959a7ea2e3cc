"""Records of a deleted topic in the topic that was created under its name; most of these topics have no ids."""

from __future__ import annotations

from pipeline_stories.history import P0, TOPIC_ID, Story, case

from highwater_pipeline.tables.rows import MicroOp

_OTHER_ID = "0" * 31 + "2"


def _loads(story: Story, broker: int, leo: int, *, incarnation: int = 1) -> Story:
    """A broker creates or opens its log. Without topic ids nothing says which topic's it is."""
    return story.event(
        f"broker-{broker}", "log-loaded", incarnation=incarnation, partition=P0, topic_id="", offset=0,
        end_offset=leo, reason="clean" if leo else "created",
    )  # fmt: skip


def _removes(story: Story, broker: int, reason: str = "deleted") -> Story:
    return story.event(f"broker-{broker}", "log-removed", partition=P0, topic_id="", reason=reason)


def _committed(
    story: Story, replicas: list[int], *, offset: int, version: int, reason: str = "changed", topic_id: str = TOPIC_ID
) -> Story:
    """A committed state; the first replica leads."""
    return story.event(
        "zookeeper-0", "partition-changed", partition=P0, topic_id=topic_id, replicas=replicas, isr=replicas,
        leader=replicas[0], leader_epoch=version, partition_epoch=version, metadata_offset=offset, reason=reason,
    )  # fmt: skip


def _leads(
    story: Story, broker: int, isr: list[int], *, leo: int, version: int = 0, hw: int = 0, topic_id: str = TOPIC_ID
) -> Story:
    return story.event(
        f"broker-{broker}", "became-leader", partition=P0, topic_id=topic_id, leader_epoch=version,
        partition_epoch=version, offset=hw, end_offset=leo, isr=isr, replicas=isr,
    )  # fmt: skip


def _writes(story: Story, broker: int, follower: int, start: int, *values: int) -> Story:
    """A producer's records reach both replicas and are acknowledged."""
    end = start + len(values)
    story._row(0, "invoke", "send", [MicroOp("send", P0, None, value) for value in values], "producer-0")
    story.appends(broker, start, end, leader=True).appends(follower, start, end)
    for offset, value in enumerate(values, start):
        story.commits(broker, offset, offset + 1, crc=value)
    sent = [MicroOp("send", P0, start + i, value) for i, value in enumerate(values)]
    story._row(0, "ok", "send", sent, "producer-0")
    return story


def _deleted_while_away(story: Story) -> Story:
    """Brokers 0 and 2 hold values 1 and 2. Broker 2 is down while its replica is moved away and the topic deleted."""
    _loads(_committed(story.under(deletion=("orders",)), [0, 2], offset=1, version=0, reason="created"), 0, 0)
    _leads(story, 0, [0, 2], leo=0)
    _loads(story, 2, 0).follows(2, 0, 0, leo=0, hw=0)
    _writes(story, 0, 2, 0, 1, 2).poll((0, 1), (1, 2), process=100)
    story.event("broker-2", "node-stopped", reason="kill")
    _committed(story, [0], offset=2, version=1)
    _leads(story, 0, [0], leo=2, version=1, hw=2)
    _committed(story, [0], offset=3, version=1, reason="deleted")
    return _removes(story, 0)


def _back(story: Story) -> Story:
    """Broker 2 starts, with its log."""
    story.event("broker-2", "node-started", incarnation=2)
    return _loads(story, 2, 2, incarnation=2)


def _created_again(story: Story, *, topic_id: str = TOPIC_ID) -> Story:
    return _committed(story, [2, 0], offset=4, version=0, reason="created", topic_id=topic_id)


@case(deleted_topic_records=2)
def stray_log_leads_the_next_topic(story: Story) -> None:
    """Broker 2 leads the new topic with the two records of the deleted one, and broker 0 copies them."""
    _created_again(_back(_deleted_while_away(story)))
    _leads(story, 2, [2, 0], leo=2, hw=2)
    _loads(story, 0, 0).follows(0, 2, 0, leo=0, hw=0)
    _writes(story.appends(0, 0, 2), 2, 0, 2, 3).poll((0, 1), (1, 2), (2, 3), process=101)
    for broker in (0, 2):
        story.dump(broker, (0, 0, 1), (1, 0, 2), (2, 0, 3), topic_id="")


@case("pass")
def stray_log_set_aside_before_the_next_topic(story: Story) -> None:
    """Both logs of the new topic are empty when it begins. Offsets, epochs and high watermark begin again."""
    _removes(_back(_deleted_while_away(story)), 2, "stray")
    _loads(_created_again(story), 2, 0)
    _leads(story, 2, [2, 0], leo=0)
    _loads(story, 0, 0).follows(0, 2, 0, leo=0, hw=0)
    _writes(story, 2, 0, 0, 3).poll((0, 3), process=101)
    for broker in (0, 2):
        story.dump(broker, (0, 0, 3), topic_id="")


@case("pass")
def late_reader_of_the_deleted_topic(story: Story) -> None:
    """Broker 2, cut off all the time, has no replica of the new topic. Somebody reads from its log of the old one."""
    _deleted_while_away(story)
    _committed(story, [0, 1], offset=4, version=0, reason="created")
    _loads(story, 0, 0)
    _leads(story, 0, [0, 1], leo=0)
    _loads(story, 1, 0).follows(1, 0, 0, leo=0, hw=0)
    story.poll((0, 1), (1, 2), process=102)
    _writes(story, 0, 1, 0, 3).poll((0, 3), process=101)
    for broker in (0, 1):
        story.dump(broker, (0, 0, 3), topic_id="")
    story.dump(2, (0, 0, 1), (1, 0, 2), topic_id="")


@case(deleted_topic_records=2)
def log_of_another_id_taken_for_the_next_topic(story: Story) -> None:
    """With topic ids: broker 2 gives the new topic's id to a log with records that nobody has written to that topic."""
    _created_again(_deleted_while_away(story), topic_id=_OTHER_ID)
    _leads(story, 2, [2, 0], leo=2, topic_id=_OTHER_ID)
    story.event(
        "broker-0",
        "became-follower",
        partition=P0,
        topic_id=_OTHER_ID,
        leader=2,
        leader_epoch=0,
        offset=0,
        end_offset=0,
    )
    _writes(story.appends(0, 0, 2), 2, 0, 2, 3).poll((2, 3), process=101)
    for broker in (0, 2):
        story.dump(broker, (0, 0, 1), (1, 0, 2), (2, 0, 3), topic_id=_OTHER_ID)


@case("pass")
def value_written_to_both_topics_and_a_reader_that_goes_on(story: Story) -> None:
    """Without ids: value 3 was read from the deleted topic, and its producer sends it again to the new one and gets its
    acknowledgement there. The reader goes on in the new topic at the position that it had in the deleted one."""
    story.assign(100, orders_0=0)
    _loads(_committed(story.under(deletion=("orders",)), [0, 2], offset=1, version=0, reason="created"), 0, 0)
    _leads(story, 0, [0, 2], leo=0)
    _loads(story, 2, 0).follows(2, 0, 0, leo=0, hw=0)
    _writes(story, 0, 2, 0, 1, 2)
    story._row(0, "invoke", "send", [MicroOp("send", P0, None, 3)], "producer-0")
    story.appends(0, 2, 3, leader=True).appends(2, 2, 3).commits(0, 2, 3, crc=3)
    story.poll((0, 1), (1, 2), (2, 3), process=100)
    _removes(_removes(_committed(story, [0, 2], offset=2, version=0, reason="deleted"), 0), 2)
    _committed(story, [0, 2], offset=3, version=0, reason="created")
    _leads(_loads(story, 0, 0), 0, [0, 2], leo=0)
    _loads(story, 2, 0).follows(2, 0, 0, leo=0, hw=0)
    story.appends(0, 0, 1, leader=True).appends(2, 0, 1).commits(0, 0, 1, crc=3)
    story._row(0, "ok", "send", [MicroOp("send", P0, 0, 3)], "producer-0")
    _writes(story, 0, 2, 1, 4, 5, 6)
    story.poll((3, 6), process=100).assign(101, orders_0=0)
    story.poll((0, 3), (1, 4), (2, 5), (3, 6), process=101)
    for broker in (0, 2):
        story.dump(broker, (0, 0, 3), (1, 0, 4), (2, 0, 5), (3, 0, 6), topic_id="")
