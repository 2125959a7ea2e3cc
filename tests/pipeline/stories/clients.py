"""What clients see: writes lost, doubled, or read though they had failed."""

from __future__ import annotations

from pipeline_stories.history import P0, Story, case

from highwater_pipeline.tables.rows import MicroOp


@case(lost_write=1, unseen=1, int_poll_skip=1)
def read_past(story: Story) -> None:
    """Value 2 was acknowledged at offset 1, and the consumer went from 0 to 2."""
    story.send(1, at=0).send(2, at=1).send(3, at=2).poll((0, 1), (2, 3))


@case("fail", unseen=1)
def not_read_yet(story: Story) -> None:
    """Nobody read past value 2, so it may still be there; but the final reads did not bring it."""
    story.send(1, at=0).send(2, at=1).poll((0, 1))


@case("pass")
def unknown_outcome_may_be_lost(story: Story) -> None:
    """Nobody was promised value 2, so nobody misses it."""
    story.send(1, at=0).send(2, outcome="info", process=1).send(3, at=2).poll((0, 1), (2, 3))


@case("pass")
def never_completed_may_be_lost(story: Story) -> None:
    """A send without completion is one of unknown outcome."""
    story.send(1, at=0).send(2, outcome=None, process=1).send(3, at=2).poll((0, 1), (2, 3))


@case(lost_write=1, int_poll_skip=1)
def seen_in_part(story: Story) -> None:
    """The operation of values 2 and 3 has no known outcome, but 3 was read: so 2 must have been written too."""
    both = [MicroOp("send", P0, 1, 2), MicroOp("send", P0, 2, 3)]
    story.send(1, at=0).operation(5, "invoke", "txn", *both).operation(5, "info", "txn", *both).poll((0, 1), (2, 3))


@case(lost_write=1, int_poll_skip=1)
def seen_in_part_elsewhere(story: Story) -> None:
    """As before, but the part that was read is in another partition."""
    both = [MicroOp("send", P0, 1, 2), MicroOp("send", "orders-1", 0, 3)]
    story.send(1, at=0).operation(5, "invoke", "txn", *both).operation(5, "info", "txn", *both)
    story.send(4, at=2).poll((0, 1), (2, 4)).poll((0, 3), key="orders-1")


@case(duplicate=1)
def written_twice(story: Story) -> None:
    """A retry was appended a second time."""
    story.send(1, at=0).poll((0, 1), (1, 1))


@case(duplicate=1)
def acknowledged_elsewhere(story: Story) -> None:
    """An acknowledgement is evidence too: value 1 stands at 0, says the leader, and at 4, says the reader."""
    story.send(1, at=0).poll((4, 1))


@case(inconsistent_offsets=1)
def two_readers_disagree(story: Story) -> None:
    """Offset 1 is value 2 for one reader and value 3 for another."""
    story.send(1, at=0).send(2, at=1).send(3, outcome="info", process=1)
    story.poll((0, 1), (1, 2)).poll((1, 3), process=101)


@case(aborted_read=1)
def failed_yet_read(story: Story) -> None:
    """The send of value 2 had failed, so the value cannot have been written."""
    story.send(1, at=0).send(2, outcome="fail").poll((0, 1), (1, 2))


@case("pass")
def failed_then_sent_again(story: Story) -> None:
    """The first attempt failed for certain, the second one succeeded: the value may be read."""
    story.send(2, outcome="fail").send(2, at=0).poll((0, 2))


@case(lost_write=1, unseen=2, int_poll_skip=1)
def partitions_are_apart(story: Story) -> None:
    """In orders-0 value 2 is lost; in orders-1 nobody read past value 4, which is only unseen."""
    story.send(1, at=0).send(2, at=1).send(3, at=2).send(4, at=7, key="orders-1").poll((0, 1), (2, 3))


@case(never_sent=1)
def sent_to_another_partition(story: Story) -> None:
    """Value 2 was sent to orders-1, and was read from orders-0."""
    story.send(1, at=0).send(2, at=0, key="orders-1").poll((0, 1), (1, 2)).poll((0, 2), key="orders-1")


@case(never_sent=1)
def read_before_it_was_sent(story: Story) -> None:
    """Value 2 was read, and only then its send began."""
    story.send(1, at=0).poll((0, 1), (1, 2)).send(2, at=1).poll((0, 1), (1, 2), process=101)


@case(never_sent=2)
def dumped_and_never_sent(story: Story) -> None:
    """Nobody sent value 2, which every replica has, nor what one replica has behind it."""
    story.send(1, at=0).poll((0, 1)).dump(0, (0, 0, 1), (1, 0, 2), (2, 0, -7)).dump(1, (0, 0, 1), (1, 0, 2))


@case(altered=1)
def read_with_another_key(story: Story) -> None:
    """Value 2 was read with another key than it was sent with, by two consumers: it is one record."""
    story.send(1, at=0).send(2, at=1)
    for process in (100, 101):
        story.poll((0, 1), (1, 2), altered="key 7, sent with 2", process=process)


@case(altered=2, divergence=1)
def dumped_with_another_time(story: Story) -> None:
    """A follower dates one record itself, and another one has lost its header on every replica."""
    story.send(1, at=0).send(2, at=1).poll((0, 1), (1, 2))
    story.dump(0, (0, 0, 1)).dump(0, (1, 0, 2), altered="headers ()")
    story.dump(1, (0, 0, 1), crc=9, altered="time stamp 8, sent with 7").dump(1, (1, 0, 2), altered="headers ()")


@case("pass")
def altered_says_a_failed_poll(story: Story) -> None:
    """A poll that failed returned nothing to its client."""
    story.send(1, at=0).poll((0, 1), outcome="fail", altered="headers ()").poll((0, 1))


@case("pass")
def sent_whatever_became_of_it(story: Story) -> None:
    """Value 2 was sent, though its outcome is unknown, and value 3 was sent and refused: a log may hold either."""
    story.send(1, at=0).send(2, outcome=None, process=1).send(3, outcome="fail").poll((0, 1))
    story.dump(0, (0, 0, 1), (1, 0, 2), (2, 0, 3))


@case("pass")
def read_while_its_send_is_open(story: Story) -> None:
    """A reader may have a record before its producer has the response."""
    sent = MicroOp("send", P0, None, 1)
    story.operation(5, "invoke", "send", sent).poll((0, 1)).operation(5, "ok", "send", MicroOp("send", P0, 0, 1)).poll()


@case("pass")
def sent_by_clients_without_history(story: Story) -> None:
    """The history has the sends of some clients alone, so others may have sent value 2."""
    story.under(unrecorded_sends=True).send(1, at=0).poll((0, 1), (1, 2))
