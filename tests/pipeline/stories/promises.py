"""What clients were not promised: by their settings, by retention, by the end of a topic."""

from __future__ import annotations

from pipeline_stories.history import P0, TOPIC_ID, Story, case, three

from highwater_pipeline.tables.rows import MicroOp

NEW = "f" * 32


# --- idempotence: false ---------------------------------------------------------------------------------------------


@case("pass")
def a_retry_wrote_twice(story: Story) -> None:
    """The producer sent value 1 twice, and without idempotence a broker cannot know it again."""
    story.under(idempotence=False).send(1, at=0, attempts=2).poll((0, 1), (1, 1))


@case(duplicate=1)
def written_twice_and_sent_once(story: Story) -> None:
    """The producer sent value 1 once: no retry wrote the second copy."""
    story.under(idempotence=False).send(1, at=0, attempts=1).poll((0, 1), (1, 1))


@case(duplicate=1)
def written_more_often_than_sent(story: Story) -> None:
    """Two attempts do not make three copies."""
    story.under(idempotence=False).send(1, at=0, attempts=2).poll((0, 1), (1, 1), (2, 1))


@case("pass")
def who_knows_how_often_it_was_sent(story: Story) -> None:
    """A client that does not count its attempts (librdkafka) may have retried."""
    story.under(idempotence=False).send(1, at=0).poll((0, 1), (1, 1))


@case(duplicate=1)
def a_retry_of_an_idempotent_producer(story: Story) -> None:
    """What idempotence promises is that a retry does not write twice."""
    story.send(1, at=0, attempts=2).poll((0, 1), (1, 1))


def _in_two_epochs(story: Story, *, again: int) -> None:
    """Value 1 stands at two offsets; the dump says that the second copy was written in the epoch ``again``."""
    story.send(1, at=1, attempts=2).poll((0, 1), (1, 1))
    story.dump_of_producer(0, (0, 0, 1)).dump_of_producer(0, (1, 0 if again else 1, 1), epoch=again).dump_end(0, 2)


@case("pass")
def sent_again_in_a_new_epoch(story: Story) -> None:
    """librdkafka began a new epoch without a response for value 1, and sent it again. No log can know it again."""
    _in_two_epochs(story, again=1)


@case(duplicate=1)
def sent_again_in_the_same_epoch(story: Story) -> None:
    """Within an epoch a record that comes twice is to be written once."""
    _in_two_epochs(story, again=0)


@case(duplicate=1)
def not_sent_again_in_a_new_epoch(story: Story) -> None:
    """Our own producer does not send again in a new epoch what may have been written: a leader refused value 1 and
    appended it all the same."""
    _in_two_epochs(story.under(resends_in_new_epochs=False), again=1)


def _removed_copies(story: Story, *producers: tuple[int, int]) -> None:
    """Value 1 stood at two offsets, and compaction has removed both; what leaders committed shows the producers."""
    story.under(resends_in_new_epochs=True, compaction=("orders",)).started(0, epoch=10, leo=0).state([0], offset=20)
    story.leads(0, 0, leo=0)
    for offset, producer in enumerate(producers):
        story.appends(0, offset, offset + 1, leader=True).passes_hw(0, offset, offset + 1, producer=producer)
        story.moves_hw(0, offset + 1)
    story.send(1, at=1, attempts=2).poll((0, 1), (1, 1)).dump_end(0, 2)


@case("pass")
def copies_of_two_epochs_are_removed(story: Story) -> None:
    """librdkafka sent value 1 again in a new epoch, and no log has the copies any more."""
    _removed_copies(story, (7, 0), (7, 1))


@case(duplicate=1)
def copies_of_one_epoch_are_removed(story: Story) -> None:
    """librdkafka sent value 1 again in the same epoch, so the leader had to know it."""
    _removed_copies(story, (7, 0), (7, 0))


@case("inconclusive")
def nobody_knows_who_wrote_a_copy(story: Story) -> None:
    """librdkafka may have sent value 1 again in a new epoch: nothing shows who wrote the first copy."""
    _removed_copies(story, (-1, -1), (7, 1))


@case("inconclusive")
def duplicate_by_who_knows_whom(story: Story) -> None:
    """Whether the producer was idempotent is not known, so neither is whether the second copy is an anomaly."""
    story.under(idempotence=None).send(1, at=0).poll((0, 1), (1, 1))


# --- acks: 1 and 0 --------------------------------------------------------------------------------------------------


def _acknowledged_by_one(story: Story, *, commits: bool) -> Story:
    """Value 2 was acknowledged by broker 0 alone at offset 1; value 3 was written there by the next leader."""
    story.under(acks="1", idempotence=False).started(0, epoch=10, leo=0).state([0, 1], offset=20).leads(0, 0, leo=0)
    story._row(0, "invoke", "send", [MicroOp("send", P0, None, 1)], "producer-0")
    story.appends(0, 0, 1, leader=True)
    story._row(0, "ok", "send", [MicroOp("send", P0, 0, 1)], "producer-0")
    story.commits(0, 0, 1, crc=1)
    story._row(0, "invoke", "send", [MicroOp("send", P0, None, 2)], "producer-0")
    story.appends(0, 1, 2, leader=True)
    story._row(0, "ok", "send", [MicroOp("send", P0, 1, 2)], "producer-0")
    if commits:
        story.commits(0, 1, 2, crc=2)
    story.leads(1, 1, leo=1)
    story._row(0, "invoke", "send", [MicroOp("send", P0, None, 3)], "producer-0")
    story.appends(1, 1, 2, leader=True, leader_epoch=1)
    story._row(0, "ok", "send", [MicroOp("send", P0, 1, 3)], "producer-0")
    story.commits(1, 1, 2, leader_epoch=1, crc=3)
    return story.poll((0, 1), (1, 3))


@case("pass")
def lost_before_the_high_watermark(story: Story) -> None:
    """acks=1: value 2 never passed the high watermark, so its leader could take it along."""
    _acknowledged_by_one(story, commits=False)


@case(lost_write=1, unseen=1, committed_loss=1, inconsistent_offsets=1, nonmonotonic_send=1)
def lost_after_the_high_watermark(story: Story) -> None:
    """acks=1: value 2 had passed the high watermark in leader epoch 0, and nobody may lose it then."""
    _acknowledged_by_one(story, commits=True)


@case("inconclusive")
def lost_with_no_witness(story: Story) -> None:
    """acks=1 and no node events: whether value 2 had passed the high watermark is not known."""
    story.under(acks="1", idempotence=False).send(1, at=0).send(2, at=1).send(3, at=2).poll((0, 1)).poll((2, 3))


@case("inconclusive")
def lost_with_unknown_acks(story: Story) -> None:
    """Nobody says with which acks value 2 was acknowledged."""
    story.under(acks=None).send(1, at=0).send(2, at=1).send(3, at=2).poll((0, 1)).poll((2, 3))


@case("pass")
def nothing_lost_with_unknown_acks(story: Story) -> None:
    """What keeps every promise keeps those that were made."""
    three(story.under(acks=None, idempotence=None, retention=None, compaction=None))


@case("pass")
def acks_0(story: Story) -> None:
    """Nothing is acknowledged, and nothing promised; that records were read says that something was tried."""
    story.under(acks="0", idempotence=False).send(1, outcome="info").send(2, outcome="info", process=1).poll((0, 2))


@case("inconclusive")
def acks_0_and_nothing_read(story: Story) -> None:
    """Nothing was acknowledged and nothing read: nothing was tried."""
    story.under(acks="0", idempotence=False).send(1, outcome="info").poll()


@case(inconsistent_offsets=1)
def readers_disagree_whatever_the_acks(story: Story) -> None:
    """Consumers read below the high watermark: there nothing may change, whatever producers asked for."""
    story.under(acks="1", idempotence=False).send(1, at=0).send(2, outcome="info", process=1)
    story.poll((0, 1)).poll((0, 2), process=101).poll((0, 1), process=102)


# --- deleted topics -------------------------------------------------------------------------------------------------


def _recreated(story: Story) -> Story:
    """Value 1 is written to a topic that is then deleted; another topic under its name begins at offset 0."""
    story.started(0, epoch=10, leo=0).state([0], offset=20).leads(0, 0, leo=0)
    story._row(0, "invoke", "send", [MicroOp("send", P0, None, 1)], "producer-0")
    story.appends(0, 0, 1, leader=True)
    story._row(0, "ok", "send", [MicroOp("send", P0, 0, 1)], "producer-0")
    story.event(
        "controller-0", "partition-changed", partition=P0, topic_id=TOPIC_ID, replicas=[0], isr=[0], leader=-1,
        leader_epoch=0, partition_epoch=9, metadata_offset=30, reason="deleted",
    )  # fmt: skip
    story.state([0], offset=40, topic_id=NEW).leads(0, 0, leo=0, topic_id=NEW)
    return story


def _sends_anew(story: Story, value: int, offset: int) -> Story:
    story._row(0, "invoke", "send", [MicroOp("send", P0, None, value)], "producer-0")
    story.appends(0, offset, offset + 1, leader=True)
    story._row(0, "ok", "send", [MicroOp("send", P0, offset, value)], "producer-0")
    return story


@case("pass")
def deleted_with_its_topic(story: Story) -> None:
    """Value 1 was deleted with its topic; in the new one offset 0 is value 2, and no send went back."""
    _sends_anew(_recreated(story), 2, 0).poll((0, 2), topic_id=NEW)


@case("pass")
def read_in_both_topics(story: Story) -> None:
    """Offset 0 of the old topic and offset 0 of the new one are not one offset."""
    story.send(7, at=0, key="orders-1").poll((0, 7), key="orders-1")
    _recreated(story).poll((0, 1), topic_id=TOPIC_ID)
    _sends_anew(story, 2, 0).poll((0, 2), topic_id=NEW)


@case("pass")
def appended_in_both_topics(story: Story) -> None:
    """While value 1 was being sent both topics appended at offset 0: which of the two was its own is not known."""
    story.started(0, epoch=10, leo=0).state([0], offset=20).leads(0, 0, leo=0)
    story._row(5, "invoke", "send", [MicroOp("send", P0, None, 1)], "producer-5")
    story.appends(0, 0, 1, leader=True).state([0], offset=40, topic_id=NEW).leads(0, 0, leo=0, topic_id=NEW)
    _sends_anew(story, 2, 0)._row(5, "ok", "send", [MicroOp("send", P0, 0, 1)], "producer-5")
    story.poll((0, 2), topic_id=NEW)


@case(unseen=1, lost_write=1, int_poll_skip=1)
def lost_in_the_new_topic(story: Story) -> None:
    """Value 3 was written to the new topic, which nobody deleted."""
    _sends_anew(_sends_anew(_sends_anew(_recreated(story), 2, 0), 3, 1), 4, 2).poll((0, 2), (2, 4), topic_id=NEW)


@case("pass")
def deleted_for_good(story: Story) -> None:
    """The topic was deleted at the end: what was in it is missed by nobody."""
    story.send(1, at=0).poll((0, 1)).send(2, at=1)
    story.event(
        "controller-0", "partition-changed", partition=P0, topic_id=TOPIC_ID, replicas=[0], isr=[0], leader=-1,
        leader_epoch=0, partition_epoch=9, metadata_offset=30, reason="deleted",
    ).poll()  # fmt: skip


def _late_attempts(story: Story, attempts: int) -> Story:
    """The first topic acknowledged value 1. Late copies of its request reach the new topic, which has the same name."""
    _recreated(story.under(idempotence=False)).operations[-1].attempts = attempts
    return story.appends(0, 0, 2, leader=True).poll((0, 1), (1, 1), topic_id=NEW)


@case("pass")
def late_attempts_reach_the_new_topic(story: Story) -> None:
    """Of three attempts one wrote to the first topic and two to the second."""
    _late_attempts(story, 3)


@case(duplicate=1)
def more_copies_in_both_topics_than_attempts(story: Story) -> None:
    """One of two attempts wrote to the first topic. So the other one cannot have written twice to the second."""
    _late_attempts(story, 2)


@case("inconclusive")
def ids_without_events(story: Story) -> None:
    """Two topics were read, and no node says to which of them value 3 was written."""
    story.send(1, at=0).poll((0, 1), topic_id=TOPIC_ID).send(3, at=1).send(2, at=0, process=1).poll(
        (0, 2), topic_id=NEW
    )


@case(inconsistent_offsets=1)
def ids_and_two_values(story: Story) -> None:
    """Within one topic an offset has one value, whatever was there in the topic before."""
    story.send(1, outcome="info").send(2, outcome="info", process=1).send(3, outcome="info", process=2)
    story.send(4, at=0, key="orders-1").poll((0, 4), key="orders-1")
    story.poll((0, 1), topic_id=TOPIC_ID).poll((0, 2), topic_id=NEW).poll((0, 3), topic_id=NEW, process=101)


# --- retention ------------------------------------------------------------------------------------------------------


@case("pass")
def deleted_by_retention(story: Story) -> None:
    """The settings let old records be deleted, and the consumer was put at offset 1, where the log began."""
    story.under(retention=("orders",)).send(1, at=0).send(2, at=1).assign(orders_0=1).poll((1, 2))


@case(lost_write=1, unseen=1)
def no_retention(story: Story) -> None:
    """Nothing lets records of this topic be deleted, so a log that begins at offset 1 has lost one."""
    story.under(retention=("others",)).send(1, at=0).send(2, at=1).assign(orders_0=1).poll((1, 2))


@case("inconclusive")
def retention_unknown(story: Story) -> None:
    """Whether old records may be deleted is not known."""
    story.under(retention=None).send(1, at=0).send(2, at=1).assign(orders_0=1).poll((1, 2))


@case(lost_write=1, unseen=1, int_poll_skip=1)
def lost_above_the_log_start(story: Story) -> None:
    """Retention deletes from the beginning: a record above the log start is not its work."""
    story.under(retention=("orders",)).send(1, at=0).send(2, at=1).send(3, at=2).send(4, at=3)
    story.assign(orders_0=1).poll((1, 2), (3, 4))


@case("pass")
def compacted_topic(story: Story) -> None:
    """Compaction removes records from the middle of a log."""
    story.under(compaction=("orders",)).send(1, at=0).send(2, at=1).send(3, at=2).poll((0, 1), (2, 3))
