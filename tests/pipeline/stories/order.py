"""The order of what a consumer polls, and of what a producer sends."""

from __future__ import annotations

from pipeline_stories.history import P0, Story, case, three

from highwater_pipeline.tables.rows import MicroOp

# --- order of polls -------------------------------------------------------------------------------------------------


@case(poll_skip=1)
def two_polls_skip(story: Story) -> None:
    """The consumer read offset 0 and with its next poll offset 2, though there is a record at 1."""
    three(story).poll((0, 1)).poll((2, 3))


@case("pass")
def nothing_was_there(story: Story) -> None:
    """Offset 1 has no record that anybody knows of: logs have gaps, and only records can be skipped."""
    story.send(1, at=0).send(3, at=2).poll((0, 1)).poll((2, 3))


@case(nonmonotonic_poll=1)
def two_polls_go_back(story: Story) -> None:
    """The consumer read offset 1 and with its next poll offset 0, although no assignment had moved it back."""
    three(story).poll((0, 1), (1, 2)).poll((0, 1))


@case(nonmonotonic_poll=1)
def the_same_record_twice(story: Story) -> None:
    """A consumer goes forward: the record that it read last is not the next."""
    three(story).poll((1, 2)).poll((1, 2))


@case(int_poll_skip=1)
def one_poll_skips(story: Story) -> None:
    """One poll has offsets 0 and 2, and not the record between."""
    three(story).poll((0, 1), (2, 3))


@case(int_nonmonotonic_poll=1)
def one_poll_goes_back(story: Story) -> None:
    """One poll has offset 1 before offset 0."""
    three(story).poll((1, 2), (0, 1))


@case("pass")
def put_back(story: Story) -> None:
    """An assignment with an offset is the consumer's new position: to read on from there is no step back."""
    three(story).poll((0, 1), (1, 2)).assign(orders_0=0).poll((0, 1)).assign(orders_0=2).poll((2, 3))


@case(poll_skip=1)
def put_back_and_not_there(story: Story) -> None:
    """The consumer was put at offset 0 and read on from offset 1."""
    three(story).assign(orders_0=0).poll((1, 2))


@case(nonmonotonic_poll=1)
def put_forward_and_not_there(story: Story) -> None:
    """The consumer was put at offset 2 and read offset 1."""
    three(story).assign(orders_0=2).poll((1, 2))


@case(poll_skip=1)
def kept_its_partition(story: Story) -> None:
    """An assignment without an offset keeps the position of a partition that it lists (Jepsen)."""
    three(story).poll((0, 1)).assign(orders_0=None, orders_1=7).poll((2, 3))


@case("pass")
def lost_its_partition(story: Story) -> None:
    """An assignment forgets the partitions that it does not list: listed again, they begin somewhere (Jepsen)."""
    three(story).poll((0, 1)).assign(orders_1=7).assign(orders_0=None).poll((2, 3))


@case("pass")
def moved_by_its_group(story: Story) -> None:
    """A group may rebalance a consumer that subscribed, and the history does not say when."""
    three(story).assign(f="subscribe").poll((0, 1)).poll((2, 3)).poll((0, 1))


@case(poll_skip=1)
def assigned_after_a_subscription(story: Story) -> None:
    """Assigned by hand, a consumer is moved by nobody else."""
    three(story).assign(f="subscribe").assign(orders_0=0).poll((0, 1)).poll((2, 3))


@case("pass")
def consumers_are_apart(story: Story) -> None:
    """Each consumer has its own position; a poll that failed read nothing."""
    three(story).poll((1, 2)).poll((0, 1), process=101).poll((0, 1), outcome="fail").poll((2, 3))


# --- order of sends -------------------------------------------------------------------------------------------------


@case(nonmonotonic_send=1)
def written_before_its_predecessor(story: Story) -> None:
    """Value 2 was sent when value 1 had been acknowledged at offset 1, and was written at offset 0."""
    story.send(1, at=1).send(2, at=0).poll((0, 2), (1, 1))


def _pipelined(story: Story) -> Story:
    """One producer sends 1 and, while that is open, 2; 2 is written first."""
    for process, value in ((0, 1), (1, 2)):
        story._row(process, "invoke", "send", [MicroOp("send", P0, None, value)], "producer-0")
    for process, value, offset in ((1, 2, 0), (0, 1, 1)):
        story._row(process, "ok", "send", [MicroOp("send", P0, offset, value)], "producer-0")
    return story.poll((0, 2), (1, 1))


@case(nonmonotonic_send=1)
def pipelined_sends_change_places(story: Story) -> None:
    """An idempotent producer is promised the order in which its sends began, however many are open."""
    _pipelined(story).dump_of_producer(0, (0, 0, 2), (1, 1, 1)).dump_end(0, 2)


@case(nonmonotonic_send=1)
def pipelined_sends_change_places_behind_others(story: Story) -> None:
    """The leader had a record of the producer, so it knew which sequence is next."""
    story._row(2, "invoke", "send", [MicroOp("send", P0, None, 3)], "producer-0")
    story._row(2, "ok", "send", [MicroOp("send", P0, 0, 3)], "producer-0")
    for process, value in ((0, 1), (1, 2)):
        story._row(process, "invoke", "send", [MicroOp("send", P0, None, value)], "producer-0")
    for process, value, offset in ((1, 2, 1), (0, 1, 2)):
        story._row(process, "ok", "send", [MicroOp("send", P0, offset, value)], "producer-0")
    story.poll((0, 3), (1, 2), (2, 1))


@case("pass")
def first_of_its_producer_has_a_later_sequence(story: Story) -> None:
    """A new leader that has no record of the producer takes any sequence, as Apache Kafka's does: that of value 2. The
    producer then begins another epoch to write value 1."""
    _pipelined(story).dump_of_producer(0, (0, 1, 2)).dump_of_producer(0, (1, 0, 1), epoch=1).dump_end(0, 2)


@case("pass")
def first_of_its_producer_is_below_every_log(story: Story) -> None:
    """The same, but nothing shows the sequence of value 2 any more."""
    _pipelined(story)


@case("pass")
def pipelined_sends_without_idempotence(story: Story) -> None:
    """Without idempotence a retry of the first may come behind the second."""
    _pipelined(story.under(idempotence=False))


@case("pass")
def producers_are_apart(story: Story) -> None:
    """Nobody promised anything of the order of two producers."""
    story.send(1, at=1).send(2, at=0, process=1).poll((0, 2), (1, 1))


@case(int_nonmonotonic_send=1)
def one_operation_backwards(story: Story) -> None:
    """One operation sent 1 and then 2, and 2 was written first."""
    both = [MicroOp("send", P0, 1, 1), MicroOp("send", P0, 0, 2)]
    story.operation(5, "invoke", "txn", *both).operation(5, "ok", "txn", *both).poll((0, 2), (1, 1))


@case("pass")
def one_operation_interleaved(story: Story) -> None:
    """Writes of a transaction are not isolated: another's record may stand between (int-send-skip, on request)."""
    both = [MicroOp("send", P0, 0, 1), MicroOp("send", P0, 2, 3)]
    story.operation(5, "invoke", "txn", *both).send(2, at=1).operation(5, "ok", "txn", *both)
    story.poll((0, 1), (1, 2), (2, 3))


@case(precommitted_read=1)
def read_its_own_write(story: Story) -> None:
    """The operation read value 1, which it had sent itself and not yet committed."""
    both = [MicroOp("send", P0, 0, 1), MicroOp("poll", P0, 0, 1)]
    story.operation(5, "invoke", "txn", both[0]).operation(5, "ok", "txn", *both).poll((0, 1))


@case(int_poll_skip=1, int_nonmonotonic_poll=1)
def subscribed_and_out_of_order_in_one_poll(story: Story) -> None:
    """A group moves its consumers between polls. Inside one poll nothing explains the jump or the way back."""
    three(story).assign(f="subscribe").poll((0, 1), (2, 3), (1, 2)).poll((1, 2))


@case("pass")
def moved_by_its_group_during_the_poll(story: Story) -> None:
    """The client wrote down that its group took the partition away and gave it back during the poll."""
    three(story).assign(f="subscribe")
    polled = [MicroOp("assign", P0), MicroOp("poll", P0, 0, 1), MicroOp("poll", P0, 2, 3), MicroOp("poll", P0, 1, 2)]
    story.operation(100, "invoke", "poll").operation(100, "ok", "poll", *polled)
