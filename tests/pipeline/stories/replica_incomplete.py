"""Replicas that lack records on their disks."""

from __future__ import annotations

from pipeline_stories.history import Story, case, happy


def _two_in_sync(story: Story) -> Story:
    """Brokers 0 and 1 are in sync, and HW 2 was reached."""
    happy(story).started(0, epoch=10, leo=0).started(1, epoch=11, leo=0).state([0, 1], offset=20)
    return (
        story.appends(0, 0, 2, leader=True).appends(1, 0, 2).moves_hw(0, 2).dump(0, (0, 0, 1), (1, 0, 2)).dump_end(0, 2)
    )


@case("pass")
def replicas_whole(story: Story) -> None:
    """Both replicas of the ISR hold everything below the HW; damage above it is nobody's."""
    _two_in_sync(story).dump(1, (0, 0, 1), (1, 0, 2)).dump_end(1, 2, ended="corrupt").dump_end(1, 2)


@case(replica_incomplete=1)
def follower_ends_early(story: Story) -> None:
    """Nobody reads from broker 1, whose log ends at offset 1 on the disk, though it is in sync and the HW is 2."""
    _two_in_sync(story).dump(1, (0, 0, 1)).dump_end(1, 1)


@case(replica_incomplete=2)
def damage_below_the_hw(story: Story) -> None:
    """Broker 1 has a corrupt batch at offset 1, broker 0 a gap at offset 0: each is one replica that lacks records."""
    _two_in_sync(story).dump(1, (0, 0, 1)).dump_end(1, 1, ended="corrupt", found="position 70: CRC").dump_end(1, 2)
    story.dump_end(0, 0, ended="gap")


@case(replica_incomplete=1)
def head_is_missing(story: Story) -> None:
    """Broker 1's log begins at offset 1, and nobody has reported that any log start moved."""
    _two_in_sync(story).dump(1, (1, 0, 2)).dump_end(1, 2, start=1)


@case(replica_incomplete=1)
def directory_is_missing(story: Story) -> None:
    """Broker 1 is in the ISR, and has no directory of the partition."""
    _two_in_sync(story)


@case(replica_incomplete=2)
def every_directory_is_missing(story: Story) -> None:
    """No replica of the partition is left on any disk, while another partition's are there."""
    _two_in_sync(story).dumps.clear()
    story.dump_end(0, 0)
    story.dumps[0].partition = "orders-1"


@case("pass")
def head_was_deleted(story: Story) -> None:
    """Broker 1's log begins at offset 1, and broker 0 reported that DeleteRecords moved the log start there."""
    _two_in_sync(story).moves_start(0, 0, 1, "delete-records").dump(1, (1, 0, 2)).dump_end(1, 2, start=1)


@case("pass")
def replica_is_down(story: Story) -> None:
    """Broker 1 lost power, and what it lost is not known to the controller yet."""
    _two_in_sync(story).event("broker-1", "node-stopped", reason="power-loss").dump_end(1, 0)
