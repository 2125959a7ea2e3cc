"""Producer ids that two clients have."""

from __future__ import annotations

from pipeline_stories.history import Story, case


@case(producer_id_reused=1)
def id_of_two_producers(story: Story) -> None:
    """Values 1 and 2 are of two producers, and both are in the log under producer id 7, epoch 0."""
    story.send(1, at=0).send(2, at=1, process=1).poll((0, 1), (1, 2))
    story.dump_of_producer(0, (0, 0, 1), (1, 1, 2)).dump_end(0, 2)


@case("pass")
def two_epochs_of_an_id(story: Story) -> None:
    """A producer went on in its next epoch, and another one has another id."""
    story.send(1, at=0).send(2, at=1).send(3, at=2, process=1).poll((0, 1), (1, 2), (2, 3))
    story.dump_of_producer(0, (0, 0, 1)).dump_of_producer(0, (1, 0, 2), epoch=1)
    story.dump_of_producer(0, (2, 0, 3), producer_id=8).dump_end(0, 3)


@case("pass")
def id_of_a_client_that_is_not_recorded(story: Story) -> None:
    """Value 2 is of a client whose sends the history does not have."""
    story.send(1, at=0).poll((0, 1), (1, 2)).under(unrecorded_sends=True)
    story.dump_of_producer(0, (0, 0, 1), (1, 1, 2)).dump_end(0, 2)
