"""What clients were not promised: by their settings, by retention, by the end of a topic."""

from __future__ import annotations

from pipeline_stories.history import P0, TOPIC_ID, Story, case, three

from highwater_pipeline.rows import MicroOp

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


# --- producers that a leader forgets --------------------------------------------------------------------------------

_SECOND = 1_000_000_000


def _written_again_after(story: Story, seconds: float, *, waited: float = 0, events: bool = True) -> Story:
    """Values 1 and 2 of one producer are appended, and only value 2 is acknowledged. Seconds later the leader appends
    value 1 again. ``waited``: how long before it was appended value 2 was sent."""
    if events:
        story.started(0, epoch=10, leo=0).leads(0, 0, leo=0)
    story._row(0, "invoke", "send", [MicroOp("send", P0, None, 1)], "producer-0")
    story._row(1, "invoke", "send", [MicroOp("send", P0, None, 2)], "producer-0")
    story.now += int(waited * _SECOND)
    if events:
        story.appends(0, 0, 2, leader=True).commits(0, 0, 1, crc=1).commits(0, 1, 2, crc=2)
    story._row(1, "ok", "send", [MicroOp("send", P0, 1, 2)], "producer-0")
    story.assign(orders_0=0).poll((0, 1), (1, 2))
    story.now += int(seconds * _SECOND)
    if events:
        story.appends(0, 2, 3, leader=True).commits(0, 2, 3, crc=1)
    story._row(0, "ok", "send", [MicroOp("send", P0, 2, 1)], "producer-0")
    return story.poll((2, 1)).dump_of_producer(0, (0, 0, 1), (1, 1, 2), (2, 0, 1)).dump_end(0, 3)


def _two_keys(story: Story, *read: int) -> Story:
    """Values 1 and 3 have one key, 2 and 4 another; of each offset the value is one more."""
    story.under(compaction=("orders",), keys=2).send(1, at=0).send(2, at=1).send(3, at=2).send(4, at=3).send(5, at=4)
    return story.poll(*((value - 1, value) for value in read))


@case("pass")
def superseded_in_a_compacted_topic(story: Story) -> None:
    """What a later record of its key replaces may be gone before anybody reads it."""
    _two_keys(story, 4, 5)


@case(lost_write=1, unseen=1)
def last_of_its_key(story: Story) -> None:
    """Compaction keeps the last record of each key: nobody found value 4."""
    _two_keys(story, 1, 3, 5)


@case("pass")
def perhaps_not_the_last_of_its_key(story: Story) -> None:
    """Value 6 has the key of value 4, and nobody knows whether and where it was written."""
    _two_keys(story, 1, 3, 5).send(6, outcome="info")


@case("pass")
def last_of_its_key_where_keys_are_not_known(story: Story) -> None:
    """The same without a word on keys: any record may have replaced it."""
    _two_keys(story, 1, 3, 5).under(compaction=("orders",), keys=None)


@case("pass")
def producer_forgotten(story: Story) -> None:
    """The leader forgot the producer two seconds after value 2 was created, so it takes any sequence."""
    _written_again_after(story.under(producer_expiration_ms=2000), 2.1)


@case("pass")
def producer_forgotten_whose_record_waited(story: Story) -> None:
    """Value 2 was created, and waited at its producer. So the leader forgot the producer sooner."""
    _written_again_after(story.under(producer_expiration_ms=2000), 1, waited=1.1)


@case(duplicate=1, sequence_gap=1, nonmonotonic_send=1)
def producer_not_forgotten_yet(story: Story) -> None:
    """The leader must know the producer for two seconds."""
    _written_again_after(story.under(producer_expiration_ms=2000), 1.9)


@case(duplicate=1, sequence_gap=1, nonmonotonic_send=1)
def producer_remembered_for_a_day(story: Story) -> None:
    """By default a producer is remembered for a day."""
    _written_again_after(story, 3600)


@case("inconclusive")
def producer_forgotten_perhaps(story: Story) -> None:
    """No node says when the second copy was appended."""
    _written_again_after(story.under(producer_expiration_ms=2000), 2.1, events=False)


# --- retention and idempotence --------------------------------------------------------------------------------------


def _written_again(story: Story, *, began_at: int | None, first: int = 0, begins_late: bool = False) -> Story:
    """Broker 0 appends values 9, 8 and 7, but for value 1 at ``first``, and answers nobody; retention takes what lies
    below offset 2. Broker 1 follows, leads, and appends value 1 again, at offset 3. ``began_at``: where it had begun
    its log again, behind broker 0's log start; ``begins_late``: only afterwards. None: it took over the log start."""

    def begin() -> None:
        if began_at is not None:
            story.truncates(1, began_at, 0, leader_epoch=0, reason="restart-at")

    values = [1 if at == first else 9 - at for at in range(3)]
    story.started(0, epoch=10, leo=0).started(1, epoch=11, leo=0).leads(0, 0, leo=0)
    story._row(0, "invoke", "send", [MicroOp("send", P0, None, 1)], "producer-0")
    for at, value in enumerate(values):
        story.appends(0, at, at + 1, leader=True).commits(0, at, at + 1)
        if value != 1:
            story.send(value, at=at, process=1)
    story.assign(orders_0=0).poll(*enumerate(values))
    for start in (1, 2):
        story.moves_start(0, start - 1, start, "retention-size", retention_bytes=5, size_left=5)
    if not begins_late:
        begin()
    if began_at is None:
        story.appends(1, 0, 3).moves_start(1, 0, 2, "leader")
    else:
        story.appends(1, began_at, 3)
    story.leads(1, 1, leo=3, hw=3).appends(1, 3, 4, leader_epoch=1, leader=True)
    story.commits(1, 3, 4, leader_epoch=1)
    if begins_late:
        begin()
    story._row(0, "ok", "send", [MicroOp("send", P0, 3, 1)], "producer-0")
    return story.poll((3, 1))


@case("pass")
def its_leader_could_not_know(story: Story) -> None:
    """Broker 1 began its log at offset 2, so the copy at offset 0 and its producer were nothing that it knew of."""
    _written_again(story.under(retention=("orders",)), began_at=2)


@case(duplicate=1)
def its_leader_had_the_record(story: Story) -> None:
    """Broker 1 began its log at offset 2, and there the first copy stands."""
    _written_again(story.under(retention=("orders",)), began_at=2, first=2)


@case(duplicate=1)
def its_leader_had_read_the_record(story: Story) -> None:
    """The first copy lies below the log start, but broker 1 had it before retention took it, and knew its producer."""
    _written_again(story.under(retention=("orders",)), began_at=None)


@case(duplicate=1)
def its_leader_forgot_too_late(story: Story) -> None:
    """Broker 1 began its log again when it had appended the second copy: when it did so it knew the first."""
    _written_again(story.under(retention=("orders",)), began_at=2, begins_late=True)


def _followed_on(story: Story, *, stale: bool, late: bool = True) -> None:
    """Broker 0 leads in epoch 1, appends values 1 and 8, and retention takes both. Broker 1 leads in epoch 2, and
    appends value 1 again at offset 2.

    ``stale``: it had records of epoch 0 at offsets 0 and 1, which it never cut off, and thereby knows value 8 at offset
    0. ``late``: it says so to the producer of value 8 at the end, else broker 0 does when it has appended it.
    """
    story.under(retention=("orders",)).started(0, epoch=10, leo=0).started(1, epoch=11, leo=0)
    for process, value in enumerate((1, 8)):
        story._row(process, "invoke", "send", [MicroOp("send", P0, None, value)], f"producer-{process}")
    if stale:
        story.leads(1, 0, leo=0).appends(1, 0, 2, leader=True)
    story.leads(0, 1, leo=0)
    for at in range(2):
        story.appends(0, at, at + 1, leader_epoch=1, leader=True).commits(0, at, at + 1, leader_epoch=1)
    if not stale:
        story.appends(1, 0, 2, leader_epoch=1)
    story.assign(orders_0=0).poll((0, 1), (1, 8))
    if not late:
        story._row(1, "ok", "send", [MicroOp("send", P0, 0, 8)], "producer-1")
    for start in (1, 2):
        story.moves_start(0, start - 1, start, "retention-size", retention_bytes=5, size_left=5)
    story.moves_start(1, 0, 2, "leader").leads(1, 2, leo=2, hw=2)
    story.appends(1, 2, 3, leader_epoch=2, leader=True).commits(1, 2, 3, leader_epoch=2)
    story._row(0, "ok", "send", [MicroOp("send", P0, 2, 1)], "producer-0")
    if late:
        story._row(1, "ok", "send", [MicroOp("send", P0, 0 if stale else 1, 8)], "producer-1")
    story.poll((2, 1))


@case("pass")
def its_leader_has_old_records_in_their_place(story: Story) -> None:
    """Broker 1 never got what broker 0 had appended: it does not know value 1, and knows another place of value 8."""
    _followed_on(story, stale=True)


@case(duplicate=1)
def its_leader_got_the_records(story: Story) -> None:
    """Broker 1 fetched value 1 before it was removed, so it had to know it."""
    _followed_on(story, stale=False)


@case(duplicate=1, inconsistent_offsets=1)
def another_place_is_acknowledged_at_once(story: Story) -> None:
    """Broker 0 acknowledged value 8 at offset 0, where value 1 stands, and nothing was removed yet."""
    _followed_on(story, stale=True, late=False)


@case("inconclusive")
def nobody_says_what_its_leader_knew(story: Story) -> None:
    """Old records may be deleted, and without node events nobody knows what the leader of the second copy knew."""
    story.under(retention=("orders",)).send(1, at=3).assign(orders_0=0).poll((0, 1)).assign(orders_0=3).poll((3, 1))


@case(duplicate=1)
def nothing_was_deleted(story: Story) -> None:
    """Nothing lets records of this topic be deleted, so every leader knows all of its producers."""
    story.send(1, at=3).assign(orders_0=0).poll((0, 1)).assign(orders_0=3).poll((3, 1))
