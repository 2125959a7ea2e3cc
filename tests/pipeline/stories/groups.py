"""What groups committed, and what they were told of it."""

from __future__ import annotations

from pipeline_stories.history import Story, case

from highwater_pipeline.tables.rows import MicroOp

KEY = "readers/orders-0"


def _under(story: Story, **settings: object) -> Story:
    known = {"unclean": (), "deletion": (), "commit_retention_ms": 60_000, **settings}
    return story.under(**known).send(1, at=0).poll((0, 1))


def _commits(story: Story, offset: int, outcome: str = "ok", process: int = 300) -> Story:
    commit = MicroOp("commit", KEY, offset)
    return story.operation(process, "invoke", "commit", commit).operation(process, outcome, "commit", commit)


def _fetches(story: Story, offset: int | None, process: int = 301) -> Story:
    story.operation(process, "invoke", "committed")
    return story.operation(process, "ok", "committed", MicroOp("committed", KEY, offset))


@case(lost_commit=1)
def fetched_an_earlier_commit(story: Story) -> None:
    """Offset 2 was committed, and the group is told 1: it reads a record once more."""
    _fetches(_commits(_commits(_under(story), 1), 2), 1)


@case(lost_commit=2)
def fetched_no_commit(story: Story) -> None:
    """The group is told that it never committed, or something that it never committed."""
    _fetches(_fetches(_commits(_under(story), 1), None), 7)


@case("pass")
def fetched_the_last_commit_or_a_later_one(story: Story) -> None:
    """Of the commits whose outcome is unknown any may count, and so may one that was refused; the last one is there."""
    _fetches(_commits(_under(story), 1), 1)
    _fetches(_commits(_commits(story, 2, "info"), 3, "fail", process=302), 2)
    _fetches(_fetches(_fetches(story, 3), 1), 2)


@case("pass")
def fetched_while_the_commit_is_open(story: Story) -> None:
    """The fetch began before the commit was acknowledged: it may say either."""
    _fetches(_commits(_under(story), 1), 1)
    story.operation(301, "invoke", "committed")
    _commits(story, 2).operation(301, "ok", "committed", MicroOp("committed", KEY, 1))


@case("pass")
def fetched_none_after_a_deletion(story: Story) -> None:
    """The topic may be deleted, and the group's offsets go with it."""
    _fetches(_commits(_under(story, deletion=("orders",)), 1), None)


@case("pass")
def fetched_none_after_the_retention(story: Story) -> None:
    """A group without members keeps its offsets for a minute, and the last commit was 61 seconds ago."""
    _commits(_under(story), 1).now += 61 * 10**9
    _fetches(story, None)


@case("inconclusive")
def fetched_none_and_nothing_is_known(story: Story) -> None:
    """It is not known how long offsets are kept."""
    _fetches(_commits(_under(story, commit_retention_ms=None), 1), None)


@case("pass")
def committed_by_an_unclean_leader(story: Story) -> None:
    """A leader from outside the ISR may lack commits."""
    _fetches(_commits(_commits(_under(story, unclean=("*",)), 1), 2), 1)
