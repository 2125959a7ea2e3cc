"""What was deleted, with its topic or below the log start, is missed by nobody; everything else is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_pipeline.anomalies import CHECKS
from highwater_pipeline.checks.promises import LOG_START_MOVED
from highwater_pipeline.in_process import check_run
from highwater_pipeline.tables.rows import MicroOp

P0 = "orders-0"
IDS = [f"{number:032x}" for number in (7, 3, 5)]
"""Ids say nothing about which topic came first."""


class World:
    """A broker, a producer, a slow consumer and a log that is deleted and created again; told truly, but for ``lost``:
    an acknowledged value that nobody reads."""

    def __init__(self, story: Any, *, ids: bool, events: bool, lost: int = 0) -> None:
        self.story, self.ids, self.events, self.lost = story, ids, events, lost
        self.topic = -1
        self.values = 0
        self.logs: list[list[int]] = []
        self.position = (0, 0)
        self.create()

    def create(self) -> None:
        if self.events and self.topic >= 0:
            self._state("deleted")
        if not self.events and self.topic >= 0:
            # That there was a topic only its records can tell, then: somebody reads them while they are there.
            self.send(acknowledged=True, recreated=False)
            for _ in range(self.topic + 1):
                self.read(1000)
        self.topic += 1
        self.logs.append([])
        if self.events:
            self._state("created")
            self.story.leads(0, 0, leo=0, topic_id=IDS[self.topic])

    def _state(self, reason: str) -> None:
        self.story.event(
            "controller-0", "partition-changed", partition=P0, topic_id=IDS[self.topic], replicas=[0], isr=[0],
            leader=0, leader_epoch=0, partition_epoch=0, metadata_offset=self.story.now, reason=reason,
        )  # fmt: skip

    def send(self, *, acknowledged: bool, recreated: bool) -> None:
        """One record, which is written last of all; while it is open the topic may be deleted and created."""
        self.values += 1
        process = value = self.values
        self.story._row(process, "invoke", "send", [MicroOp("send", P0, None, value)], "producer-0")
        if recreated and self.topic + 1 < len(IDS):
            self.create()
        log = self.logs[self.topic]
        log.append(value)
        if self.events:
            self.story.appends(0, len(log) - 1, len(log), leader=True)
        if acknowledged:
            self.story._row(process, "ok", "send", [MicroOp("send", P0, len(log) - 1, value)], "producer-0")

    def read(self, count: int, process: int = 100) -> None:
        """The consumer goes on; it has an old topic's records in its buffer until it has read them."""
        topic, offset = self.position
        if offset == len(self.logs[topic]) and topic < self.topic:
            topic, offset = topic + 1, 0
            self.story.assign(process, orders_0=0)
        end = min(offset + count, len(self.logs[topic]))
        records = [(at, self.logs[topic][at]) for at in range(offset, end)]
        records = [record for record in records if record[1] != self.lost]
        self.story.poll(*records, process=process, topic_id=IDS[topic] if self.ids else None)
        self.position = topic, end

    def end(self) -> None:
        """The final reader reads the last topic from its beginning."""
        self.position = self.topic, 0
        self.story.assign(101, orders_0=0)
        self.read(1000, process=101)


actions = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.booleans(), st.sampled_from([False] * 5 + [True])),
        st.tuples(st.just("read"), st.integers(1, 3)),
        st.just(("create",)),
    ),
    max_size=25,
)


def play(world: World, steps: list[Any]) -> World:
    world.send(acknowledged=True, recreated=False)
    for step in steps:
        match step:
            case ("send", acknowledged, recreated):
                world.send(acknowledged=acknowledged, recreated=recreated)
            case ("read", count):
                world.read(count)
            case _ if world.topic + 1 < len(IDS):
                world.create()
    world.send(acknowledged=True, recreated=False)
    world.end()
    return world


@settings(max_examples=150)
@given(actions, st.booleans())
def test_topics_that_lose_nothing_pass(new_story: Any, steps: list[Any], ids: bool) -> None:
    """Whether clients know ids or not: node events tell the topics apart."""
    story = new_story()
    play(World(story, ids=ids, events=True), steps)
    checks = [name for name in CHECKS if name != "model-step"]  # a sketch: not each step is there
    run_verdict = check_run(story.tables(), checks)
    assert run_verdict.anomalies == {}
    assert run_verdict.verdict == "pass", run_verdict.reasons


@settings(max_examples=100)
@given(actions)
def test_ids_without_events_are_never_a_fail(new_story: Any, steps: list[Any]) -> None:
    story = new_story()
    play(World(story, ids=True, events=False), steps)
    assert check_run(story.tables()).anomalies == {}


@settings(max_examples=150)
@given(actions, st.booleans(), st.booleans())
def test_a_record_lost_by_the_last_topic_is_missed(new_story: Any, steps: list[Any], ids: bool, events: bool) -> None:
    told = play(World(new_story(), ids=ids, events=events), steps)
    acknowledged = {
        one.value for row in told.story.operations if row.type == "ok" and row.f == "send" for one in row.value
    }
    # The last record may be lost behind all others, which is unseen; any other one is read past.
    lost = next(value for value in told.logs[-1] if value in acknowledged)
    story = new_story()
    play(World(story, ids=ids, events=events, lost=lost), steps)
    run_verdict = check_run(story.tables())
    if events:
        assert run_verdict.anomalies["unseen"].examples[0]["value"] == lost
        assert ("lost-write" in run_verdict.anomalies) == (lost != told.logs[-1][-1])
    elif ids or told.topic == 0:
        assert run_verdict.verdict != "pass"


@pytest.mark.parametrize(("start", "missed"), [(0, [1, 2]), (1, [2]), (2, [])])
def test_the_log_start_that_nodes_report_is_the_one_that_counts(story: Any, start: int, missed: list[int]) -> None:
    """Values 1 and 2 stand at offsets 0 and 1; a consumer was put at 2, which says nothing against the nodes."""
    story.under(retention=("orders",)).send(1, at=0).send(2, at=1).send(3, at=2).started(0, epoch=10, leo=3)
    if start:
        story.event(
            "broker-0", LOG_START_MOVED, partition=P0, topic_id="0" * 31 + "1", offset=0, end_offset=start,
            reason="retention-size",
        )  # fmt: skip
    story.assign(orders_0=2).poll((2, 3))
    run_verdict = check_run(story.tables(), ["unseen", "lost-write"])
    for name in ("unseen", "lost-write"):
        examples = run_verdict.anomalies[name].examples if missed else []
        assert [example["value"] for example in examples] == missed


@pytest.mark.parametrize("reason", ["retention-time", "retention-size"])
def test_a_log_start_that_moves_without_evidence_is_too_greedy(story: Any, reason: str) -> None:
    """Age and size may be left out."""
    story.under(retention=("orders",)).send(1, at=0).started(0, epoch=10, leo=3).moves_hw(0, 3)
    story.event(
        "broker-0", LOG_START_MOVED, partition=P0, topic_id="0" * 31 + "1", offset=0, end_offset=1, reason=reason,
        retention_ms=1000, retention_bytes=1000,
    )  # fmt: skip
    run_verdict = check_run(story.tables(), ["retention-too-greedy"])
    assert run_verdict.anomalies["retention-too-greedy"].count == 1


@pytest.mark.parametrize(("appended", "found"), [("before", 0), ("after", 0), ("there", 1), ("late", 0)])
def test_what_an_old_log_removes_is_what_it_had(story: Any, appended: str, found: int) -> None:
    """Broker 0 removes value 2, sent 11 s ago. Value 3 was sent just now, and broker 1, the leader of an unclean
    election, gives it the same offset: before the removal, or after it; or before broker 0, which was paused, appends
    value 2. Had broker 0 copied it, that were too early."""
    story.under(unrecorded_sends=True, unclean=("orders",)).send(1, at=0)
    story.operation(0, "invoke", "send", MicroOp("send", P0, None, 2))
    if appended != "late":
        story.appends(0, 1, 2, leader=True).operation(0, "ok", "send", MicroOp("send", P0, 1, 2)).moves_hw(0, 2)
    story.now += 11_000_000_000
    story.operation(1, "invoke", "send", MicroOp("send", P0, None, 3))
    if appended != "after":
        story.appends(1, 1, 2, leader=True, leader_epoch=1)
    if appended == "there":
        story.truncates(0, 1, 2, leader_epoch=1).appends(0, 1, 2, leader_epoch=1)
    if appended == "late":
        story.appends(0, 1, 2, leader=True).operation(0, "ok", "send", MicroOp("send", P0, 1, 2)).moves_hw(0, 2)
    story.moves_start(0, 0, 2, "retention-time", retention_ms=10_000, age_ms=11_000)
    if appended == "after":
        story.appends(1, 1, 2, leader=True, leader_epoch=1)
    story.operation(1, "ok", "send", MicroOp("send", P0, 1, 3))
    run_verdict = check_run(story.tables(), ["retention-too-greedy"])
    assert {name: report.count for name, report in run_verdict.anomalies.items()} == (
        {"retention-too-greedy": found} if found else {}
    )


@pytest.mark.parametrize(
    ("deleted", "may_be", "missed"),
    [(False, None, True), (True, None, False), (True, ("orders",), False), (True, ("others",), True)],
)
def test_only_a_topic_that_was_deleted_as_it_may_is_missed_by_nobody(
    story: Any, deleted: bool, may_be: tuple[str, ...] | None, missed: bool
) -> None:
    """A consumer says that it read from a topic of another id; only its controller says that a topic was deleted, and
    only the experiment that it may."""
    world = World(story.under(deletion=may_be), ids=True, events=True)
    world.send(acknowledged=True, recreated=False)
    world.send(acknowledged=True, recreated=False)
    if deleted:
        world._state("deleted")
    story.poll((0, 99), topic_id=IDS[1])
    run_verdict = check_run(story.tables(), ["unseen"])
    assert (run_verdict.verdict, list(run_verdict.anomalies)) == (("fail", ["unseen"]) if missed else ("pass", []))
