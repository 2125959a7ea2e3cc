"""Which producers a leader could not know: it forgot them, or retention took their records before it had them."""

from __future__ import annotations

from pipeline_stories.history import P0, TOPIC_ID, Story, case

from highwater_pipeline.tables.rows import MicroOp

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


@case("pass")
def producer_forgotten_whose_record_waited_and_is_removed(story: Story) -> None:
    """As before, but the first copy waited, and retention has removed it: only clients know when it was sent."""
    story.under(producer_expiration_ms=2000, retention=("orders",)).started(0, epoch=10, leo=0).leads(0, 0, leo=0)
    story._row(0, "invoke", "send", [MicroOp("send", P0, None, 1)], "producer-0")
    story.now += int(1.1 * _SECOND)
    story.appends(0, 0, 1, leader=True).commits(0, 0, 1, crc=1).assign(orders_0=0).poll((0, 1))
    story.now += _SECOND
    story.appends(0, 1, 2, leader=True).commits(0, 1, 2, crc=1)
    story._row(0, "ok", "send", [MicroOp("send", P0, 1, 1)], "producer-0")
    story.poll((1, 1)).moves_start(0, 0, 1, "retention-size", retention_bytes=5, size_left=5)
    story.dump_of_producer(0, (1, 0, 1)).dump_end(0, 2)


@case("pass")
def producer_forgotten_in_a_topic_that_was_deleted(story: Story) -> None:
    """The dump at the end is of the next topic of the name, where one producer wrote at the same offsets."""
    story.under(producer_expiration_ms=2000, deletion=("orders",)).started(0, epoch=10, leo=0)
    story.state([0], offset=20).leads(0, 0, leo=0)
    story._row(0, "invoke", "send", [MicroOp("send", P0, None, 1)], "producer-0")
    story.appends(0, 0, 1, leader=True).commits(0, 0, 1, crc=1).assign(orders_0=0).poll((0, 1), topic_id=TOPIC_ID)
    story.now += int(2.1 * _SECOND)
    for at, value in ((1, 9), (2, 1)):
        story.appends(0, at, at + 1, leader=True).commits(0, at, at + 1, crc=value)
    story._row(0, "ok", "send", [MicroOp("send", P0, 2, 1)], "producer-0")
    story.send(9, at=1, process=1).poll((1, 9), (2, 1), topic_id=TOPIC_ID)
    story.event(
        "controller-0", "partition-changed", partition=P0, topic_id=TOPIC_ID, replicas=[0], isr=[0], leader=0,
        leader_epoch=0, partition_epoch=1, metadata_offset=40, reason="deleted",
    )  # fmt: skip
    new = "f" * 32
    story.state([0], offset=50, topic_id=new).leads(0, 0, leo=0, topic_id=new)
    for at in range(3):
        story.appends(0, at, at + 1, leader=True).commits(0, at, at + 1, crc=11 + at).send(11 + at, at=at, process=2)
        story.poll((at, 11 + at), topic_id=new).dump_of_producer(0, (at, at, 11 + at), topic_id=new)


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
