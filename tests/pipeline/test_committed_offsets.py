"""Of software that reports high watermarks and no batches, what is lost is found by offsets and leader epochs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from highwater_pipeline import check_run
from highwater_pipeline.anomalies import BY_OFFSETS
from highwater_pipeline.tables.recorded_events import RecordedEvents
from highwater_pipeline.verdict import RunVerdict

WHY = "it does not log which batches it commits"


def _judged(story: Any, kinds: tuple[str, ...] = BY_OFFSETS) -> RunVerdict:
    tables = replace(story.tables(), recorded_events=RecordedEvents(kinds, WHY))
    return check_run(tables, ["committed-loss"])


def _committed(story: Any) -> Any:
    """Broker 0 leads from offset 0 on and moves its high watermark to 2, and then to 4."""
    story.send(1, at=0).poll((0, 1)).state([0, 1], offset=20).leads(0, 1, leo=0)
    return story.moves_hw(0, 2, leader_epoch=1).moves_hw(0, 4, leader_epoch=1)


def _next_leader(story: Any, leo: int, *records: tuple[int, int, int]) -> Any:
    """Broker 1 becomes leader with so much, and has these records at the end."""
    story.state([1], offset=21, leader=1, leader_epoch=2).leads(1, 2, leo=leo, hw=2)
    return story.dump(1, *records).dump_end(1, len(records))


WHOLE = ((0, 1, 1), (1, 1, 2), (2, 1, 3), (3, 1, 4))


@pytest.mark.parametrize(
    ("leo", "records", "lost"),
    [
        (4, WHOLE, 0),
        (3, (*WHOLE[:3], (3, 2, 9)), 1),
        (0, ((0, 2, 9),), 4),
        (4, (*WHOLE[:2], (2, 2, 8), (3, 2, 9)), 2),
        (4, WHOLE[:3], 1),
        (4, (WHOLE[0], *WHOLE[2:]), 1),
    ],
    ids=["whole", "short leader", "empty leader", "of another epoch", "short log", "hole"],
)
def test_what_a_later_leader_lacks_is_lost(
    story: Any, leo: int, records: tuple[tuple[int, int, int], ...], lost: int
) -> None:
    judged = _judged(_next_leader(_committed(story), leo, *records))
    assert judged.checks["committed-loss"] == ("failed" if lost else "ok")
    assert (judged.anomalies["committed-loss"].count if lost else 0) == lost
    assert f"{WHY}: committed-loss is judged by offsets and leader epochs alone" in judged.reasons


def test_records_copied_from_leaders_before_are_of_an_unknown_epoch(story: Any) -> None:
    """Broker 0 led from offset 2 on; what lies before is of some epoch below."""
    story.send(1, at=0).poll((0, 1)).state([0, 1], offset=20).leads(0, 1, leo=2).moves_hw(0, 4, leader_epoch=1)
    judged = _judged(_next_leader(story, 4, (0, 0, 1), (1, 0, 2), *WHOLE[2:]))
    assert judged.checks["committed-loss"] == "ok"


def test_what_lies_below_a_log_start_or_may_be_compacted_is_not_judged_by_the_dump(story: Any) -> None:
    story = _committed(story)
    story.state([1], offset=21, leader=1, leader_epoch=2).leads(1, 2, leo=4, hw=2)
    story.dump(1, (3, 1, 4)).dump_end(1, 4, start=3)
    assert _judged(story).checks["committed-loss"] == "ok"
    assert _judged(story.under(compaction=("orders",))).checks["committed-loss"] == "ok"


@pytest.mark.parametrize("kind", BY_OFFSETS)
def test_without_one_of_the_kinds_it_is_not_available(story: Any, kind: str) -> None:
    story = _next_leader(_committed(story), 0, (0, 2, 9))
    fewer = tuple(one for one in BY_OFFSETS if one != kind)
    assert _judged(story, fewer).checks["committed-loss"] == "not-available"
    assert _judged(story, (*fewer, "transition")).checks["committed-loss"] == "not-available"


def test_our_own_nodes_report_batches_or_are_not_judged(story: Any) -> None:
    story = _next_leader(_committed(story), 0, (0, 2, 9))
    assert _judged(story, (*BY_OFFSETS, "transition")).checks["committed-loss"] == "not-available"


def test_a_short_leader_is_enough_where_the_dump_proves_nothing(story: Any) -> None:
    """The topic is compacted, so the dump may lack anything."""
    story = _next_leader(_committed(story), 3, *WHOLE).under(compaction=("orders",))
    assert _judged(story).anomalies["committed-loss"].count == 1
