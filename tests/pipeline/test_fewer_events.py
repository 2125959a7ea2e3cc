"""Of software that reports fewer kinds of events than our own nodes, some checks judge less, and say so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pipeline_stories.history import P0, TOPIC_ID

from highwater_pipeline import check_run
from highwater_pipeline.anomalies import BY_FEWER, BY_MOVES, BY_SOME_STEPS
from highwater_pipeline.tables.recorded_events import RecordedEvents
from highwater_pipeline.tables.rows import MicroOp
from highwater_pipeline.tables.settings import Period, TopicPromise
from highwater_pipeline.verdict import RunVerdict

WHY = "it does not log what it flushes"
SAYS_SO = {
    "committed-loss": "committed-loss is judged by offsets and leader epochs alone",
    "min-isr": "min-isr judges only what was acknowledged while no leader knew of enough in-sync replicas",
    "retention-too-greedy": "retention-too-greedy does not judge how far DeleteRecords may go",
    "model-step": "model-step judges neither flushes nor acknowledgements, nor min.insync.replicas",
}


def _judged(story: Any, check: str, kinds: tuple[str, ...] | None = None) -> RunVerdict:
    recorded = RecordedEvents(BY_FEWER[check] if kinds is None else kinds, WHY)
    return check_run(replace(story.tables(), recorded_events=recorded), [check])


def _replicated(story: Any) -> Any:
    """Broker 0 leads, broker 1 has its record; nobody says which min.insync.replicas is in force."""
    story.state([0, 1], offset=20)
    known = {"partition": P0, "topic_id": TOPIC_ID}
    for broker in (0, 1):
        story.event(f"broker-{broker}", "log-loaded", **known, offset=0, end_offset=0, reason="created")
    role = {**known, "leader_epoch": 0, "offset": 0, "end_offset": 0}
    story.event("broker-0", "became-leader", **role, partition_epoch=20, isr=[0, 1], replicas=[])
    story.event("broker-1", "became-follower", **role, leader=0)
    return story.send(1, at=0).appends(0, 0, 1, leader=True).appends(1, 0, 1).moves_hw(0, 1).poll((0, 1))


def _knows(story: Any, broker: int, epoch: int, *isr: int, kind: str = "isr-taken") -> Any:
    """A leader of epoch 0 knows an ISR from now on."""
    reason = {"reason": "committed"} if kind == "isr-proposal-ended" else {}
    return story.event(
        f"broker-{broker}", kind, partition=P0, leader_epoch=0, partition_epoch=epoch, isr=[*isr], **reason
    )


def _alone(story: Any) -> Any:
    """The topic asks for two in-sync replicas, and the leader has heard that it is alone."""
    story = _replicated(story).under(promised=(Period(0, {"orders": TopicPromise(min_isr=2)}),), acks="all")
    return _knows(story.state([0], offset=21), 0, 21, 0)


def _acknowledged(story: Any, *, shrinks: int | None = None, other: bool = False) -> Any:
    """A second record is sent, appended by broker 0, and acknowledged."""
    story.operation(0, "invoke", "send", MicroOp("send", P0, None, 2))
    story.appends(0, 1, 2, leader=True)
    if other:
        story.event("broker-1", "became-leader", partition=P0, topic_id=TOPIC_ID, leader_epoch=1, partition_epoch=22,
            offset=1, end_offset=2, isr=[0, 1], replicas=[])  # fmt: skip
    if shrinks is not None:
        _knows(story, 0, shrinks, 0)
    return story.moves_hw(0, 2).operation(0, "ok", "send", MicroOp("send", P0, 1, 2)).poll((1, 2))


def _wrong(story: Any, check: str) -> Any:
    """A run in which a check finds something by the fewer kinds of events."""
    if check == "model-step":
        return _replicated(story).appends(0, 5, 6, leader=True)
    if check == "retention-too-greedy":
        story = _replicated(story).under(retention=("orders",))
        return story.moves_start(0, 0, 1, "retention-time", retention_ms=1000, age_ms=900)
    if check == "min-isr":
        return _acknowledged(_alone(story))
    story.send(1, at=0).poll((0, 1)).state([0, 1], offset=20).leads(0, 1, leo=0).moves_hw(0, 1, leader_epoch=1)
    return story.state([1], offset=21, leader=1, leader_epoch=2).leads(1, 2, leo=0)


@pytest.mark.parametrize("check", BY_FEWER)
def test_a_check_judges_by_the_fewer_kinds_and_says_so(story: Any, check: str) -> None:
    judged = _judged(_wrong(story, check), check)
    assert judged.anomalies[check].count == 1
    assert f"{WHY}: {SAYS_SO[check]}" in judged.reasons


@pytest.mark.parametrize(("check", "kind"), [(check, kind) for check, kinds in BY_FEWER.items() for kind in kinds])
def test_without_one_of_the_kinds_it_is_not_available(story: Any, check: str, kind: str) -> None:
    """Neither by the fewer ones, nor if the software reports its transitions, as our own nodes do."""
    story = _wrong(story, check)
    fewer = tuple(one for one in BY_FEWER[check] if one != kind)
    for kinds in (fewer, (*fewer, "transition"), (*BY_FEWER[check], "transition")):
        judged = _judged(story, check, kinds)
        assert judged.checks[check] == "not-available"
        assert f"{WHY}: not judged on {check}" in judged.reasons


@pytest.mark.parametrize(("reason", "found"), [("delete-records", 0), ("leader", 1), ("snapshot", 1)])
def test_how_far_clients_asked_to_delete_is_not_judged(story: Any, reason: str, found: int) -> None:
    """A follower's log start still needs a log that had moved so far, and other reasons are none."""
    story = _replicated(story).moves_start(0, 0, 1, reason, asked=False)
    judged = _judged(story.under(deletion=None), "retention-too-greedy", BY_MOVES)
    assert judged.checks["retention-too-greedy"] == ("failed" if found else "ok")


def test_a_log_of_a_topic_that_may_be_compacted_may_have_gaps(story: Any) -> None:
    """Nobody says when compaction began."""
    story = _replicated(story).appends(0, 5, 6, leader=True).under(compaction=("orders",))
    assert _judged(story, "model-step", BY_SOME_STEPS).checks["model-step"] == "ok"


def test_a_record_was_perhaps_acknowledged_while_enough_were_in_sync(story: Any) -> None:
    """The leader hears that it is alone after the append; or another one leads by then, and knows of two."""
    two = (Period(0, {"orders": TopicPromise(min_isr=2)}),)
    shrinking = _acknowledged(_replicated(story).under(promised=two, acks="all"), shrinks=21)
    assert _judged(shrinking, "min-isr").checks["min-isr"] == "ok"


@pytest.mark.parametrize(
    ("settings", "other", "found"),
    [
        ({}, False, 1),
        ({}, True, 0),
        ({"acks": "1"}, False, 0),
        ({"promised": (Period(0, {"orders": TopicPromise(min_isr=1)}),)}, False, 0),
        ({"promised": ()}, False, 0),
    ],
    ids=["alone", "another leader", "acks=1", "one is enough", "not known"],
)
def test_no_leader_knew_of_enough(story: Any, settings: dict[str, Any], other: bool, found: int) -> None:
    judged = _judged(_acknowledged(_alone(story), other=other).under(**settings), "min-isr")
    assert (judged.anomalies["min-isr"].count if found else judged.anomalies) == (found or {})


@pytest.mark.parametrize("end", ["node-stopped", "became-follower", "log-removed"])
def test_a_leader_that_has_gone_knows_of_nothing(story: Any, end: str) -> None:
    """Broker 1 had led with enough; broker 0 leads alone since then."""
    story = _replicated(story).under(promised=(Period(0, {"orders": TopicPromise(min_isr=2)}),), acks="all")
    _knows(story, 1, 20, 0, 1, kind="isr-proposal-ended")
    known = {"partition": P0, "topic_id": TOPIC_ID}
    fields = {
        "node-stopped": {"reason": "kill"},
        "became-follower": {**known, "leader": 0, "leader_epoch": 1, "offset": 0, "end_offset": 1},
        "log-removed": {**known, "reason": "deleted"},
    }
    assert _judged(_alone_and_acknowledged(story), "min-isr").checks["min-isr"] == "ok"
    ended = _replicated(type(story)(settings=story.settings))
    _knows(ended, 1, 20, 0, 1, kind="isr-proposal-ended").event("broker-1", end, **fields[end])
    assert _judged(_alone_and_acknowledged(ended), "min-isr").anomalies["min-isr"].count == 1


def _alone_and_acknowledged(story: Any) -> Any:
    return _acknowledged(_knows(story.state([0], offset=21), 0, 21, 0))


def test_min_insync_replicas_is_not_judged(story: Any) -> None:
    """It is not known when brokers of others took a setting over, and before 4.0 the high watermark did not obey it."""
    story = _replicated(story).under(promised=(Period(0, {"orders": TopicPromise(min_isr=3)}),))
    assert _judged(story, "model-step", BY_SOME_STEPS).checks["model-step"] == "ok"
