"""Software that tells only some kinds of events: what is judged, what is said to be not available, and why."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pipeline_stories.history import TOPIC_ID

from highwater_pipeline import BadTableError, check_run, load_run
from highwater_pipeline.anomalies import INSIDE_CHECKS, NEEDED_EVENTS, NEEDS
from highwater_pipeline.partitions.store import read_unit, stored_runs, write_units
from highwater_pipeline.tables.recorded_events import EVERY_KIND
from highwater_pipeline.tables.run_tables import RecordedEvents

WHY = "the nodes do not tell what happens inside them"
SOME = RecordedEvents(("node-started", "partition-changed", "broker-registered"), WHY)


def _seen_in_part(story: Any) -> Any:
    """A high watermark that was sampled once while it was high, and once when it seemed low."""
    return (
        story.send(1, at=0)
        .poll((0, 1))
        .state([0], offset=20)
        .moves_hw(0, 5)
        .moves_hw(0, 4)
        .dump_of_producer(0, (0, 0, 1))
        .dump_end(0, 1)
    )


def test_dumps_without_ids_of_producers_say_nothing_of_their_sequences(story: Any) -> None:
    """Producers were idempotent, and whoever dumped the log did not write down whose records they are."""
    tables = story.send(1, at=0).poll((0, 1)).state([0], offset=20).dump(0, (0, 0, 1)).dump_end(0, 1).tables()
    judged = check_run(tables)
    assert {judged.checks[name] for name in ("sequence-gap", "producer-id-reused")} == {"not-available"}
    assert "no dumped record has the id of a producer: not judged on sequence-gap, producer-id-reused" in judged.reasons


def test_half_of_the_events_prove_nothing_and_pass_nothing(story: Any) -> None:
    tables = _seen_in_part(story).tables()
    assert check_run(tables).checks["hw-regression"] == "failed"

    run_verdict = check_run(replace(tables, recorded_events=SOME))
    not_available = [name for name, state in run_verdict.checks.items() if state == "not-available"]
    assert not_available == [name for name, kinds in NEEDED_EVENTS.items() if not {*kinds} <= {*SOME.kinds}]
    assert run_verdict.checks["leader-not-in-isr"] == run_verdict.checks["divergence"] == "ok"
    assert run_verdict.reasons == [f"{WHY}: not judged on {', '.join(not_available)}"]
    assert run_verdict.verdict == "pass"
    assert run_verdict.anomalies == {}


def _of_two_partitions(story: Any) -> Any:
    """Writes were acknowledged in both, and what the leader reports of its log is the same."""
    for number in (0, 1):
        of = {"partition": f"orders-{number}", "leader_epoch": 0}
        state = {"leader": 0, "isr": [0, 1], "replicas": [0, 1], "partition_epoch": 0, "topic_id": TOPIC_ID}
        story.event("controller-0", "partition-changed", **of, **state, metadata_offset=20 + number, reason="created")
        story.event("broker-0", "log-appended", **of, offset=0, end_offset=1, reason="leader")
        story.event("broker-0", "batch-committed", **of, offset=0, end_offset=1, epoch=0, crc=1)
        story.event("broker-0", "high-watermark", **of, offset=1)
        story.send(1 + number, at=0, key=f"orders-{number}")
    return story


@pytest.mark.parametrize(
    ("partitions", "partition_epoch", "state"),
    [((0, 1), 0, "ok"), ((1,), 0, "unknown"), ((0, 1), 7, "unknown")],
    ids=["reported", "one in silence", "of a state that nobody reported"],
)
def test_acknowledgements_that_nobody_reported_are_not_ok(
    story: Any, partitions: tuple[int, ...], partition_epoch: int, state: str
) -> None:
    _of_two_partitions(story)
    for number in partitions:
        of = {"partition": f"orders-{number}", "topic_id": TOPIC_ID, "leader_epoch": 0, "isr": [0, 1], "min_isr": 2}
        at = {"partition_epoch": partition_epoch, "offset": 0, "end_offset": 1}
        story.event("broker-0", "write-acknowledged", **of, **at)
    judged = check_run(replace(story.tables(), recorded_events=EVERY_KIND), ["min-isr"])
    assert judged.checks["min-isr"] == state
    assert judged.verdict == ("pass" if state == "ok" else "inconclusive")


@pytest.mark.parametrize("partition_epoch", [0, 7])
def test_a_leader_of_a_deleted_topic_may_have_acknowledged(story: Any, partition_epoch: int) -> None:
    """The topic was deleted and created again, and its former leader did not hear of it. In ZooKeeper mode it may even
    have written a state, which nobody reported."""
    _of_two_partitions(story)
    state = {"leader": 0, "leader_epoch": 0, "isr": [0, 1], "replicas": [0, 1], "partition_epoch": 0}
    for number in (0, 1):
        for topic_id, offset, reason in ((TOPIC_ID, 40, "deleted"), (TOPIC_ID[:-1] + "2", 50, "created")):
            of = {"partition": f"orders-{number}", "topic_id": topic_id, "metadata_offset": offset + number}
            story.event("controller-0", "partition-changed", **of, **state, reason=reason)
        story.send(3 + number, at=1, key=f"orders-{number}")
    of = {"partition": "orders-0", "topic_id": TOPIC_ID, "leader_epoch": 0, "isr": [0, 1], "min_isr": 2}
    story.event("broker-0", "write-acknowledged", **of, partition_epoch=partition_epoch, offset=0, end_offset=1)
    assert check_run(replace(story.tables(), recorded_events=EVERY_KIND), ["min-isr"]).checks["min-isr"] == "ok"


@pytest.mark.parametrize(("isr", "missing"), [([0], False), ([0, 1, 2], True)])
def test_a_proposal_may_be_committed_without_a_judgement(isr: list[int], missing: bool, story: Any) -> None:
    """The controller took broker 1 out by itself, as its leader had proposed. It takes nobody in by itself."""
    of = {"partition": "orders-0", "leader_epoch": 0, "isr": isr}
    story.event("controller-0", "node-started").event("broker-0", "node-started").state([0, 1], offset=20)
    story.event("broker-0", "isr-proposed", **of, partition_epoch=20, isr_epochs=[-1 for _ in isr], reason="shrink")
    story.state(isr, offset=21).event("broker-0", "isr-proposal-ended", **of, partition_epoch=21, reason="committed")
    judged = check_run(replace(story.tables(), recorded_events=EVERY_KIND), ["stale-isr-join"])
    assert judged.checks["stale-isr-join"] == ("not-available" if missing else "ok")


def test_what_was_told_in_full_is_judged(story: Any) -> None:
    tables = story.send(1, at=0).poll((0, 1)).state([1], offset=20, leader=0).tables()
    run_verdict = check_run(replace(tables, recorded_events=SOME))
    assert (run_verdict.verdict, list(run_verdict.anomalies)) == ("fail", ["leader-not-in-isr"])


@pytest.mark.parametrize(("compaction", "verdict"), [(("orders",), "pass"), ((), "fail")])
def test_the_compaction_of_nodes_that_report_no_appends_may_leave_gaps(
    story: Any, compaction: tuple[str, ...], verdict: str
) -> None:
    story.event("broker-0", "node-started").registered(0, epoch=10).state([0], offset=20, replicas=[0])
    story.send(1, at=0).send(2, at=2).poll((0, 1), (2, 2)).under(compaction=compaction)
    story.dump(0, (0, 0, 1), (2, 0, 2)).dump_end(0, 1, ended="gap", found="a batch of offset 2").dump_end(0, 3)
    recorded = RecordedEvents(NEEDED_EVENTS["replica-incomplete"], WHY)
    tables = replace(story.tables(), recorded_events=recorded)
    assert check_run(tables, ["replica-incomplete"]).verdict == verdict


def _moved_away(story: Any, *replicas: int, seconds: int, dumped: bool = True) -> Any:
    """Broker 2 is off while its replica is moved away, and returns. Nobody tells which logs brokers have."""
    story.event("broker-2", "node-started").state([0, 2], offset=20, replicas=[0, 2])
    story.event("broker-2", "node-stopped", reason="kill").state([0], offset=21, replicas=list(replicas))
    story.event("broker-2", "node-started", incarnation=2)
    story.event("broker-2", "broker-state", incarnation=2, broker=2, broker_epoch=3, reason="running")
    story.now += seconds * 10**9
    story.send(1, at=0).poll((0, 1)).event("broker-0", "broker-state", broker=0, broker_epoch=1, reason="running")
    story.dump(0, (0, 0, 1)).dump_end(0, 1)
    return story.dump_end(2, 0) if dumped else story


@pytest.mark.parametrize(
    ("replicas", "seconds", "dumped", "strays"),
    [((0, 1), 11, True, 1), ((0, 1), 9, True, 0), ((0, 1), 11, False, 0), ((0, 2), 11, True, 0)],
    ids=["stays", "has time", "is gone", "is assigned again"],
)
def test_a_stray_is_seen_on_the_disk(
    story: Any, replicas: tuple[int, ...], seconds: int, dumped: bool, strays: int
) -> None:
    tables = _moved_away(story, *replicas, seconds=seconds, dumped=dumped).tables()
    kinds = NEEDED_EVENTS["stray-partition"]
    judged = check_run(replace(tables, recorded_events=RecordedEvents(kinds, WHY)), ["stray-partition"])
    assert judged.checks["stray-partition"] == ("failed" if strays else "ok")
    for lacking in kinds:
        fewer = RecordedEvents(tuple(kind for kind in kinds if kind != lacking), WHY)
        judged = check_run(replace(tables, recorded_events=fewer), ["stray-partition"])
        assert judged.checks["stray-partition"] == "not-available"
    blind = replace(tables, recorded_events=RecordedEvents(kinds, WHY), replica_log=None)
    assert check_run(blind, ["stray-partition"]).checks["stray-partition"] == "not-available"


def test_a_missing_table_is_named_beside_missing_kinds(story: Any) -> None:
    tables = story.send(1, at=0).poll((0, 1)).state([0], offset=20).tables()
    reasons = check_run(replace(tables, recorded_events=SOME)).reasons
    assert reasons[-1] == "no replica dumps recorded: not judged on divergence, sequence-gap, producer-id-reused"


def test_every_check_of_events_says_which_it_needs() -> None:
    assert set(NEEDED_EVENTS) == {name for name in INSIDE_CHECKS if "events" in NEEDS[name]}


def test_the_file_of_a_run_directory_is_read_strictly_and_kept_in_a_store(story: Any, tmp_path: Path) -> None:
    run = _seen_in_part(story).write(tmp_path / "run")
    recorded = run / "events" / "recorded.json"
    recorded.write_text(json.dumps({"kinds": list(SOME.kinds), "why": WHY}), encoding="utf-8")
    tables = load_run(run)
    assert tables.recorded_events == SOME

    write_units(tables, tmp_path / "store")
    (stored,) = stored_runs(tmp_path / "store")
    assert stored.facts.recorded_events == SOME.kinds
    assert read_unit(stored.facts, stored.units[0]).facts.why_not_recorded == WHY

    recorded.write_text('{"kinds": "all"}', encoding="utf-8")
    with pytest.raises(BadTableError, match=r"recorded\.json: expected the kinds of events"):
        load_run(run)
