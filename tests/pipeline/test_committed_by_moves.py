"""What passed the high watermark with acks=1, by its moves and by which leader's records a log holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pipeline_stories.history import P0, TOPIC_ID

from highwater_pipeline import check_run
from highwater_pipeline.anomalies import BY_OFFSETS
from highwater_pipeline.tables.recorded_events import RecordedEvents
from highwater_pipeline.tables.rows import MicroOp
from highwater_pipeline.verdict import RunVerdict

WHY = "it does not log which batches it commits"
KINDS = (*BY_OFFSETS, "log-appended")


def _judged(story: Any, kinds: tuple[str, ...] = KINDS) -> RunVerdict:
    tables = replace(story.under(acks="1").tables(), recorded_events=RecordedEvents(kinds, WHY))
    return check_run(tables, ["lost-write", "unseen"])


def _sent(story: Any, value: int, at: int, *, leader: int = 0, epoch: int = 0) -> Any:
    """A record is sent, appended by a leader, and acknowledged."""
    story.operation(0, "invoke", "send", MicroOp("send", P0, None, value))
    story.appends(leader, at, at + 1, leader=True, leader_epoch=epoch)
    return story.operation(0, "ok", "send", MicroOp("send", P0, at, value))


def _led_by_0(story: Any) -> Any:
    """Brokers 0 and 1 have the first record, which is committed; broker 0 alone has the second one."""
    story.state([0, 1], offset=20)
    for broker in (0, 1):
        story.event(f"broker-{broker}", "log-loaded", partition=P0, topic_id=TOPIC_ID, offset=0, end_offset=0,
            reason="created")  # fmt: skip
    _sent(story.leads(0, 0, leo=0), 1, 0).appends(1, 0, 1).moves_hw(0, 1)
    return _sent(story, 2, 1)


def _led_by_1(story: Any, leo: int) -> Any:
    """Broker 1 leads from there on, gets a third record, and commits all that it has."""
    story.state([1], offset=21, leader=1, leader_epoch=1).leads(1, 1, leo=leo, hw=1)
    return _sent(story, 3, leo, leader=1, epoch=1).moves_hw(1, leo + 1, leader_epoch=1)


def _lost(judged: RunVerdict) -> list[int]:
    return [example["value"] for example in judged.anomalies["lost-write"].examples] if judged.anomalies else []


def test_what_a_leader_commits_of_an_earlier_epoch_is_promised(story: Any) -> None:
    """Broker 1 had copied the second record. A reader finds a hole."""
    story = _led_by_1(_led_by_0(story).appends(1, 1, 2), 2).poll((0, 1)).poll((2, 3))
    assert _lost(_judged(story)) == [2]


def test_what_no_leader_committed_is_not(story: Any) -> None:
    """Broker 1 had not copied it, and has another record there."""
    story = _led_by_1(_led_by_0(story), 1).poll((0, 1), (1, 3))
    assert _judged(story).checks == {"lost-write": "ok", "unseen": "ok"}


def test_what_was_cut_off_and_copied_from_another_leader_is_of_that_leader(story: Any) -> None:
    """Broker 1 had copied the second record, and lost it when it followed broker 2, which led with another one."""
    story = _led_by_0(story).appends(1, 1, 2)
    story.leads(2, 1, leo=1, hw=1).appends(2, 1, 2, leader=True, leader_epoch=1)
    story.truncates(1, 1, 2, leader_epoch=1).appends(1, 1, 2, leader_epoch=1)
    story.leads(1, 2, leo=2, hw=1).moves_hw(1, 2, leader_epoch=2).poll((0, 1), (1, 9))
    assert _lost(_judged(story)) == []


def test_a_leader_commits_its_own_records(story: Any) -> None:
    story = _led_by_0(story).moves_hw(0, 2).poll((0, 1)).poll((2, 3))
    assert _lost(_judged(story)) == [2]


@pytest.mark.parametrize("how", ["not all appends are known", "appends are not recorded"])
def test_what_is_not_known_is_neither_promised_nor_not(story: Any, how: str) -> None:
    """Broker 1 leads with two records; nobody said where it has the second one from."""
    story = _led_by_1(_led_by_0(story), 2).poll((0, 1)).poll((2, 3))
    if how == "not all appends are known":
        judged, why = _judged(story), "of some records it is not known which one passed the high watermark"
    else:
        judged, why = _judged(story, BY_OFFSETS), "with acks=1 only node events show which records passed"
    assert judged.checks["lost-write"] == "unknown"
    assert judged.verdict == "inconclusive"
    assert any(why in reason for reason in judged.reasons), judged.reasons
