"""Records that passed the high watermark and are gone."""

from __future__ import annotations

from pipeline_stories.history import P0, TOPIC_ID, Story, case, happy


def _committed_by_0(story: Story) -> Story:
    """Values 1 and 2 are committed by broker 0 alone, in leader epoch 0."""
    story.send(1, at=0).send(2, at=1).poll((0, 1), (1, 2)).under(unrecorded_sends=True)
    story.started(0, epoch=10, leo=0).state([0], offset=20).leads(0, 0, leo=0)
    story.appends(0, 0, 2, leader=True)
    return story.commits(0, 0, 1, crc=1).commits(0, 1, 2, crc=2)


@case(committed_loss=2)
def leader_with_less(story: Story) -> None:
    """Two records had passed the HW, and the next leader began with an empty log."""
    _committed_by_0(story).leads(1, 1, leo=0)


@case(committed_loss=1)
def leader_with_one_less(story: Story) -> None:
    """Only the second record is above the next leader's log end."""
    _committed_by_0(story).leads(1, 1, leo=1)


@case(committed_loss=1, divergence=1)
def another_record_committed(story: Story) -> None:
    """The next leader committed another batch at offset 1, though its log was long enough."""
    _committed_by_0(story).leads(1, 1, leo=2).commits(1, 1, 2, leader_epoch=1, epoch=0, crc=99)
    story.dump(0, (0, 0, 1), (1, 0, 2)).dump(1, (0, 0, 1), (1, 0, 99))


@case("pass")
def same_record_committed_again(story: Story) -> None:
    """A new leader begins with an old HW and sees old batches pass it once more: that is no loss."""
    _committed_by_0(story).leads(1, 1, leo=2).passes_hw(1, 0, 1, leader_epoch=1, epoch=0, crc=1)
    story.commits(1, 1, 2, leader_epoch=1, epoch=0, crc=2)


@case("pass")
def same_record_committed_twice_in_one_epoch(story: Story) -> None:
    """In ZooKeeper mode a leader that restarted may lead on in its epoch, and commits its last batch again."""
    _committed_by_0(story).leads(1, 1, leo=2).passes_hw(1, 1, 2, leader_epoch=1, epoch=0, crc=2)
    story.commits(1, 1, 2, leader_epoch=1, epoch=0, crc=2)


@case(committed_loss=1)
def last_leaders_log_ends_early(story: Story) -> None:
    """At the end of the run the last leader's log has record 0 and no longer record 1."""
    _committed_by_0(story).dump(0, (0, 0, 1))


@case(committed_loss=1)
def last_leaders_log_differs(story: Story) -> None:
    """At the end of the run the last leader's log has another record at offset 1."""
    _committed_by_0(story).dump(0, (0, 0, 1), (1, 0, 3))


@case("pass")
def retention_deleted_the_head(story: Story) -> None:
    """What lies below the first offset of a log was deleted by retention, not lost."""
    _committed_by_0(story).dump(0, (1, 0, 2))


@case("pass")
def last_leaders_log_differs_below_its_log_start(story: Story) -> None:
    """DeleteRecords deleted record 1. A follower that had another one there took over the log start, and leads."""
    _committed_by_0(story).moves_start(0, 0, 2, "delete-records").moves_start(1, 0, 2, "leader").leads(1, 1, leo=2)
    story.dump(1, (0, 0, 1), (1, 0, 3))


@case(committed_loss=1)
def last_leaders_log_differs_from_its_log_start_on(story: Story) -> None:
    """Record 0 was deleted, record 1 was not."""
    _committed_by_0(story).moves_start(0, 0, 1, "delete-records").moves_start(1, 0, 1, "leader").leads(1, 1, leo=2)
    story.dump(1, (0, 0, 1), (1, 0, 3))


def _half_of_a_batch_is_left(story: Story) -> Story:
    happy(story).leads(0, 0, leo=0).commits(0, 0, 2, crc=7).state([0, 1], offset=20)
    return story.dump(0, (1, 0, 2), crc=9).dump(1, (0, 0, 1), (1, 0, 2), crc=7)


@case("pass")
def compacted(story: Story) -> None:
    """Broker 0 has compacted its log: of a batch of two records one is left, in a batch that has another CRC."""
    _half_of_a_batch_is_left(story).event("broker-0", "transition", reason="compaction-begun", partition=P0)
    story.under(compaction=("orders",))


@case(committed_loss=2, divergence=1)
def compacted_though_it_must_not(story: Story) -> None:
    """The same, and the experiment does not let this topic be compacted."""
    compacted(story)
    story.under(compaction=("others",))


@case(committed_loss=2, divergence=1)
def not_compacted(story: Story) -> None:
    """The same without compaction; another transition excuses nothing."""
    _half_of_a_batch_is_left(story).event("broker-0", "transition", reason="segment-rolled", partition=P0)


def _before_compaction(story: Story) -> Story:
    """Values 1, 2, 3 of two keys were read, and compaction has begun."""
    story.send(1, at=0).send(2, at=1).send(3, at=2).poll((0, 1), (1, 2), (2, 3)).under(compaction=("orders",), keys=2)
    story.started(0, epoch=10, leo=0).state([0], offset=20).leads(0, 0, leo=0).appends(0, 0, 3, leader=True)
    story.commits(0, 0, 1, crc=1).commits(0, 1, 2, crc=2).commits(0, 2, 3, crc=3)
    return story.event("broker-0", "transition", reason="compaction-begun", partition=P0)


def _compacted_twice(story: Story) -> Story:
    """Compaction has left value 3 alone."""
    return _before_compaction(story).dump(0, (2, 0, 3))


@case(committed_loss=1)
def compaction_took_the_last_of_a_key(story: Story) -> None:
    """Value 2 was read, so no client misses it. But it is the last of its key, and no replica has it."""
    _compacted_twice(story)


@case(committed_loss=1)
def one_replica_lacks_the_last_of_a_key(story: Story) -> None:
    """Broker 1 has value 2 still. But broker 0 leads, and whoever reads from the beginning does not find it."""
    _compacted_twice(story).dump(1, (1, 0, 2), (2, 0, 3))


@case(committed_loss=1)
def a_follower_lacks_the_last_of_a_key(story: Story) -> None:
    """The leader has both; broker 1, whose log is as long, has not, and may lead next."""
    _before_compaction(story).dump(0, (1, 0, 2), (2, 0, 3)).dump_end(0, 3).dump(1, (1, 0, 2)).dump_end(1, 3)


@case("pass")
def a_follower_has_not_got_the_last_of_a_key(story: Story) -> None:
    """The log of broker 1 ends below both: it has not fetched them. That of broker 2 could not be read up to there."""
    _before_compaction(story).dump(0, (1, 0, 2), (2, 0, 3)).dump_end(0, 3).dump(1, (0, 0, 1)).dump_end(1, 1)
    story.dump(2, (0, 0, 1)).dump_end(2, 1, ended="corrupt", found="torn")


@case("pass")
def a_tail_may_have_replaced_it(story: Story) -> None:
    """Value 4, of which nobody knows where it was written, has the key of value 2."""
    _compacted_twice(story).send(4, outcome="info")


def _of_tombstones(story: Story, retention_ms: int) -> Story:
    """Values 1, 2, 3 are tombstones, and the run ends 2 ms after they were compacted."""
    _before_compaction(story).under(tombstones=300, tombstone_retention_ms={"orders": retention_ms})
    story.now += 2_000_000
    return story.moves_hw(0, 3)


@case(committed_loss=1)
def compaction_took_a_tombstone_before_its_time(story: Story) -> None:
    """Value 2, the last of its key, is a tombstone that must stay for 3 ms."""
    _of_tombstones(story, 3).dump(0, (2, 0, 3))


@case("pass")
def compaction_took_a_tombstone_after_its_time(story: Story) -> None:
    """The 1 ms for which tombstones stay are over, and nothing of their keys is left."""
    _of_tombstones(story, 1).dump(0).dump_end(0, 3)


@case(committed_loss=1)
def a_record_is_back_that_a_tombstone_deleted(story: Story) -> None:
    """The tombstone at offset 2 may be gone, but its replica had it, and has the older record of its key."""
    _of_tombstones(story, 1).dump(0, (0, 0, 1), (1, 0, 2)).dump_end(0, 3)


@case("pass")
def a_tombstone_was_gone_when_a_replica_copied_its_offset(story: Story) -> None:
    """Nothing told broker 1 to remove the older record."""
    story = _of_tombstones(story, 1).appends(1, 0, 3)
    story.dump(1, (0, 0, 1), (1, 0, 2)).dump_end(1, 3).dump(0).dump_end(0, 3)


@case("pass")
def compaction_takes_what_stands_where_an_unpromised_record_stood(story: Story) -> None:
    """With acks=1 a leader acknowledged value 2 at offset 1 and lost it. What the next one wrote there is replaced."""
    story.send(1, at=0).send(2, at=1).under(acks="1", idempotence=False, compaction=("orders",), keys=2)
    story.started(0, epoch=10, leo=0).state([0], offset=20).leads(0, 0, leo=0)
    story.state([1], leader=1, leader_epoch=1, offset=21)
    story.leads(1, 1, leo=1).commits(1, 0, 1, leader_epoch=1, epoch=0, crc=1)
    story.send(3, at=1).appends(1, 1, 2, leader_epoch=1, leader=True).commits(1, 1, 2, leader_epoch=1, crc=3)
    story.send(5, at=2).appends(1, 2, 3, leader_epoch=1, leader=True).commits(1, 2, 3, leader_epoch=1, crc=5)
    story.event("broker-1", "transition", reason="compaction-begun", partition=P0).dump(1, (2, 1, 5)).poll((2, 5))


@case("pass")
def topic_created_anew(story: Story) -> None:
    """Offsets and epochs begin again with a topic of the same name: its first generation was deleted, not lost."""
    _committed_by_0(story)
    new = "f" * 32
    story.state([1], leader=1, offset=50, topic_id=new).leads(1, 0, leo=0, topic_id=new)
    story.commits(1, 0, 1, leader_epoch=0, crc=55).moves_hw(1, 1)
    story.dump(0, (0, 0, 1), (1, 0, 2)).dump(1, (0, 0, 55), topic_id=new)


def _deleted(story: Story) -> Story:
    """The topic of two records that passed the high watermark is deleted."""
    _committed_by_0(story)
    return story.event(
        "controller-0", "partition-changed", partition=P0, topic_id=TOPIC_ID, replicas=[0], isr=[0], leader=0,
        leader_epoch=0, partition_epoch=1, metadata_offset=99, reason="deleted",
    ).poll()  # fmt: skip


@case(committed_loss=2)
def deleted_by_nobody(story: Story) -> None:
    """The experiment deletes no topic."""
    _deleted(story.under(deletion=()))


@case("pass")
def deleted_as_asked(story: Story) -> None:
    """Somebody may have deleted it. Broker 0, which led last, was away and has a part of the log still."""
    _deleted(story.under(deletion=("orders",)))
    story.dump_of_producer(0, (0, 0, 1)).dump_end(0, 1)
