"""What clients got that looked up offsets by time stamp."""

from __future__ import annotations

from pipeline_stories.history import Story, case

from highwater_pipeline.tables.rows import MicroOp


def _looks_up(story: Story, offset: int | None, altered: str | None = None, outcome: str = "ok") -> Story:
    asked = MicroOp("lookup", "orders-0", None, 20)
    story.operation(300, "invoke", "lookup", asked)
    return story.operation(300, outcome, "lookup", MicroOp("lookup", "orders-0", offset, 20, None, altered))


def _read(story: Story) -> Story:
    return story.send(1, at=0).send(2, at=1).poll((0, 1), (1, 2))


@case(wrong_lookup=2)
def looked_up_a_later_record(story: Story) -> None:
    """The record at offset 0 is as late, and one response is offset 1, the other that there is none."""
    _looks_up(_looks_up(_read(story), 1, "the record at offset 0 is of 20"), None, "the record at offset 0 is of 20")


@case("pass")
def looked_up_the_first_record(story: Story) -> None:
    """Nothing that the client read contradicts the responses. One look-up came to no end."""
    _looks_up(_looks_up(_looks_up(_read(story), 0), None), None, outcome="fail")
