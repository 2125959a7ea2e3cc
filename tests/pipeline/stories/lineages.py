"""Unclean elections that are allowed, and the only replica of a partition that is wiped: what is owed ends there."""

from __future__ import annotations

from pipeline_stories.history import P0, TOPIC_ID, Story, case


def _two_committed(story: Story) -> Story:
    """Values 1 and 2 are committed by brokers 0 and 1; broker 2 has the first."""
    story.under(unclean=("orders",))
    story.send(1, at=0).send(2, at=1).poll((0, 1), (1, 2))
    for broker, epoch in ((0, 10), (1, 11), (2, 12)):
        story.started(broker, epoch=epoch, leo=0)
    story.state([0, 1], offset=20).leads(0, 0, leo=0)
    story.appends(0, 0, 2, leader=True).appends(1, 0, 2).appends(2, 0, 1)
    return story.commits(0, 0, 1, crc=1).commits(0, 1, 2, crc=2)


def _elected_uncleanly(story: Story) -> Story:
    story.state([2], offset=30, leader=2, leader_epoch=1)
    return story.leads(2, 1, leo=1)


def _next_lineage(story: Story) -> Story:
    """Value 3 takes the offset of value 2."""
    story.send(3, at=1).appends(2, 1, 2, leader=True, leader_epoch=1)
    return story.commits(2, 1, 2, leader_epoch=1, crc=3).poll((1, 3), process=101)


@case("pass")
def unclean_election_that_is_allowed(story: Story) -> None:
    """Broker 2 was not in the ISR, and leads without value 2, as the topic allows; value 3 gets its offset."""
    _next_lineage(_elected_uncleanly(_two_committed(story)))
    story.dump(2, (0, 0, 1), (1, 1, 3)).dump_end(2, 2)


@case(committed_loss=1, isr_incomplete=1, inconsistent_offsets=1, nonmonotonic_send=1)
def unclean_election_that_is_not_allowed(story: Story) -> None:
    """The same, and the topic does not allow it, though the nodes do."""
    _next_lineage(_elected_uncleanly(_two_committed(story)))
    story.under(unclean=("*",), never_unclean=("orders",))


@case(committed_loss=1, isr_incomplete=1)
def loss_by_a_clean_election_before(story: Story) -> None:
    """Broker 1 led without value 2 before broker 2 was elected uncleanly."""
    _two_committed(story).truncates(1, 1, 2, leader_epoch=0)
    story.state([0, 1], offset=25, leader=1, leader_epoch=1).leads(1, 1, leo=1)
    story.state([2], offset=30, leader=2, leader_epoch=2).leads(2, 2, leo=1)


@case(committed_loss=1, isr_incomplete=1)
def loss_by_a_clean_election_after(story: Story) -> None:
    """Value 3 was committed after the unclean election, and broker 0 leads without it."""
    _next_lineage(_elected_uncleanly(_two_committed(story))).truncates(0, 1, 2, leader_epoch=1)
    story.state([2, 0], offset=35, leader=2, leader_epoch=1).state([2, 0], offset=40, leader=0, leader_epoch=2).leads(
        0, 2, leo=1
    )


@case("pass")
def deposed_leader_commits_alone(story: Story) -> None:
    """Broker 0 does not know of the unclean election, and goes on to commit and to acknowledge as the only member."""
    _elected_uncleanly(_two_committed(story))
    story.send(4, at=2).appends(0, 2, 3, leader=True).commits(0, 2, 3, crc=4).poll((2, 4), process=102)
    _next_lineage(story)


@case("pass")
def election_of_a_proposed_replica(story: Story) -> None:
    """One state takes broker 2 into the ISR and lets it lead: its leader had proposed it, so it has everything."""
    _two_committed(story).appends(2, 1, 2).proposes(0, [0, 1, 2], [10, 11, 12])
    story.handles([0, 1, 2], [10, 11, 12], [10, 11, 12], offset=30)
    story.state([0, 1, 2], offset=30, leader=2, leader_epoch=1)
    story.leads(2, 1, leo=2)


@case("pass")
def only_replica_is_wiped(story: Story) -> None:
    """The partition has one replica, whose broker gets a new disk."""
    story.send(1, at=0).poll((0, 1)).started(0, epoch=10, leo=0).state([0], offset=20, replicas=[0])
    story.leads(0, 0, leo=0).appends(0, 0, 1, leader=True).commits(0, 0, 1, crc=1)
    story.event("broker-0", "node-stopped", reason="kill", offset=0)
    story.event("broker-0", "node-started", incarnation=2)
    story.event(
        "broker-0", "log-loaded", incarnation=2, partition=P0, topic_id=TOPIC_ID, offset=0, end_offset=0,
        reason="created",
    )  # fmt: skip
    story.registered(0, epoch=22).state([0], offset=23, leader_epoch=1, replicas=[0])
    story.leads(0, 1, leo=0, incarnation=2)
    story.dump_end(0, 0)


@case(committed_loss=1, isr_incomplete=1, replica_incomplete=1)
def only_replica_is_said_to_be_wiped(story: Story) -> None:
    """The same, and no fault of the experiment took a disk: the broker lost its log by itself."""
    only_replica_is_wiped(story)
    story.under(disks_kept=True)
