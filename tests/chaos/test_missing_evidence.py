"""Evidence that is taken away from a good run: no check that reads it may find nothing and call that ``ok``.

Each kind of event and each table is taken away, one at a time, and of each kernel it is recorded what it really reads.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest

from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import parse_experiment
from highwater_chaos.verdict.checked_run import write_checked
from highwater_pipeline import check_run, load_run
from highwater_pipeline.anomalies import CHECKS, CLIENT_CHECKS, NEEDED_EVENTS, NEEDS
from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks import INSIDE_KERNELS, client
from highwater_pipeline.checks.deleted_records import deleted_topic_records
from highwater_pipeline.checks.generations import generations, with_ids
from highwater_pipeline.checks.never_sent import never_sent
from highwater_pipeline.checks.strays import stray_partition
from highwater_pipeline.partitions.partition_tables import PartitionTables, split
from highwater_pipeline.tables.recorded_events import EVERY_KIND, RecordedEvents
from highwater_pipeline.tables.run_tables import RunTables

SCENARIOS = Path(__file__).parents[2] / "scenarios"
RUNS = {
    "kip-903": ("kip-903/late-fetch.yaml", 8),
    "retention": ("random/segments-and-retention.yaml", 12),
    "without idempotence": ("random/without-idempotence.yaml", 4),
    "zookeeper": ("zookeeper/deleted-while-down.yaml", 12),
}
"""File, and the part of its records that leaves every kind of event: each run is judged often."""


@pytest.fixture(scope="module", params=RUNS)
def tables(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunTables:
    """A run whose verdict is a pass, as its directory has it."""
    name, part = RUNS[request.param]
    text = (SCENARIOS / name).read_text()
    fewer = re.sub(r"(?<=rate: )\d+(?=/s)", lambda found: str(int(found[0]) // part), text)
    assert fewer != text
    experiment = parse_experiment(fewer, name)
    done = write_checked(
        experiment, run_experiment(experiment, SimBackend()), tmp_path_factory.mktemp("runs"), "run", wire=False
    )
    assert done.verdict["verdict"] == "pass"
    return load_run(done.directory)


def _without(tables: RunTables, kind: str) -> Iterator[tuple[str, RunTables]]:
    """The run without one kind of events, in each way in which that may be known or not."""
    events = tables.node_events
    assert events is not None
    left = events.filter(pc.not_equal(events["kind"], kind))
    kinds = tuple(one for one in EVERY_KIND.kinds if one != kind)
    yield "said", replace(tables, node_events=left, recorded_events=RecordedEvents(kinds, "nobody told"))
    yield "not said", replace(tables, node_events=left, recorded_events=None)
    if left.num_rows < events.num_rows:
        yield "lost", replace(tables, node_events=left)


def _fresh(unit: PartitionTables) -> PartitionTables:
    """The unit with nothing that was read of its events before."""
    return replace(unit, events=View.of(unit.events.to_arrow()))


def _reads(tables: RunTables, name: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The kinds of events that a check's kernel asks for."""
    asked: set[str] = set()
    is_any = View.is_any

    def noted(self: View, column: str, words: tuple[str, ...]) -> object:
        if column == "kind":
            asked.update(words)
        return is_any(self, column, words)

    def refused(self: View, column: str, *more: object) -> object:
        assert column != "kind", "what is read of it would not be noted"
        return numbers(self, column, *more)  # type: ignore[arg-type]

    numbers = View.numbers
    for unit in split(tables)[1]:
        whole = with_ids(unit)
        topics = [_fresh(topic) for topic in generations(whole)]
        with monkeypatch.context() as patched:
            patched.setattr(View, "is_any", noted)
            patched.setattr(View, "numbers", refused)
            if name == "never-sent":
                never_sent(_fresh(whole))
            elif name == "deleted-topic-records":
                deleted_topic_records(topics)
            elif name == "stray-partition":
                stray_partition(_fresh(whole))
            elif name in CLIENT_CHECKS:
                client.client_anomalies(_fresh(whole), [name])
            else:
                for topic in topics:
                    INSIDE_KERNELS[name](topic)
    return asked


@pytest.mark.quick("kip-903")
def test_no_check_is_ok_that_reads_a_kind_of_events_that_is_not_there(
    tables: RunTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = check_run(tables)
    without_ids = set() if tables.settings.idempotence else {"producer-id-reused"}
    assert whole.verdict == "pass"
    missing = {name for name, state in whole.checks.items() if state == "not-available"}
    assert missing == without_ids, "the run says that all was recorded"
    kernels = [name for name in CHECKS if name != "node-crash"]
    reads = {name: _reads(tables, name, monkeypatch) for name in kernels}
    needed = {kind for kinds in NEEDED_EVENTS.values() for kind in kinds}
    for name in kernels:
        if name in NEEDED_EVENTS and name not in ("replica-incomplete", "stray-partition"):
            assert reads[name] <= set(NEEDED_EVENTS[name]), name
    for kind in sorted(set().union(*reads.values()) | needed):
        # Checks that neither read these events nor need them come to what they came to with them.
        concerned = [n for n in CHECKS if kind in reads.get(n, ()) or kind in NEEDED_EVENTS.get(n, ())]
        for how, without in _without(tables, kind):
            judged = check_run(without, concerned)
            if how == "lost":
                lost = [name for name, kinds in NEEDED_EVENTS.items() if kind in kinds]
                assert judged.verdict == ("inconclusive" if lost else "pass"), kind
                assert check_run(without, [name for name in CHECKS if name not in lost]).verdict != "fail", kind
            for name, state in judged.checks.items():
                if state != "ok" or (kind not in reads.get(name, ()) and kind not in NEEDED_EVENTS.get(name, ())):
                    continue
                # It judged by something else: what it reads now has nothing of this kind.
                assert kind not in NEEDED_EVENTS.get(name, ()), (kind, how, name)
                assert kind not in _reads(without, name, monkeypatch), (kind, how, name)


PROVED = {
    "log-appended": ("isr-incomplete", "two-leaders"),
    "batch-committed": ("committed-loss",),
    "high-watermark": ("isr-incomplete", "hw-regression"),
    "became-leader": ("committed-loss", "model-step"),
    "became-follower": ("isr-incomplete",),
    "log-loaded": ("committed-loss", "live-partition-deleted"),
    "min-isr-set": ("model-step",),
    "write-acknowledged": ("min-isr",),
    "partition-changed": ("leader-not-in-isr", "min-isr"),
    "broker-registered": ("isr-incomplete", "stale-isr-join"),
    "node-started": ("stray-partition",),
    "node-stopped": ("stray-partition",),
    "isr-proposed": ("stale-isr-join",),
    "alter-partition-handled": ("stale-isr-join",),
}
"""Kinds of which the rest of a recording proves that there were some, and checks that need them."""


@pytest.mark.parametrize("tables", ["kip-903"], indirect=True)
@pytest.mark.parametrize("kind", PROVED)
def test_no_check_is_ok_without_events_that_there_must_have_been(tables: RunTables, kind: str) -> None:
    """Whoever took them away changed the counts too; or the nodes kept silent."""
    events = tables.node_events
    assert events is not None
    left = events.filter(pc.not_equal(events["kind"], kind))
    assert left.num_rows < events.num_rows
    judged = check_run(replace(tables, node_events=left, recorded_events=EVERY_KIND))
    assert {judged.checks[name] for name in PROVED[kind]} == {"not-available"}
    assert judged.verdict == "inconclusive"
    assert f"no events of the kind {kind}, though " in " ".join(judged.reasons)
    # Software of which only some kinds are seen promises nothing.
    some = RecordedEvents(tuple(one for one in EVERY_KIND.kinds if one != kind), "the nodes do not report it")
    judged = check_run(replace(tables, node_events=left, recorded_events=some))
    assert {judged.checks[name] for name in PROVED[kind]} == {"not-available"}
    assert judged.verdict == "pass"


@pytest.mark.parametrize("tables", ["kip-903"], indirect=True)
def test_what_is_found_counts_though_no_acknowledgement_was_reported(tables: RunTables) -> None:
    """Who breaks a promise may keep silent of it."""
    events = tables.node_events
    assert events is not None
    left = events.filter(pc.not_equal(events["kind"], "write-acknowledged"))
    offsets = left["offset"].to_pylist()
    offsets[left["kind"].to_pylist().index("high-watermark")] += 1000
    field = left.schema.get_field_index("offset")
    wrong = left.set_column(field, left.schema.field(field), [offsets])
    judged = check_run(replace(tables, node_events=wrong, recorded_events=EVERY_KIND))
    assert (judged.verdict, judged.checks["model-step"]) == ("fail", "failed")
    assert judged.checks["min-isr"] == "not-available"


@pytest.mark.parametrize("tables", ["kip-903"], indirect=True)
def test_a_partition_epoch_that_nobody_reported_is_missed(tables: RunTables) -> None:
    events = tables.node_events
    assert events is not None
    is_second = pc.and_(pc.equal(events["kind"], "partition-changed"), pc.equal(events["partition_epoch"], 1))
    left = events.filter(pc.invert(pc.fill_null(is_second, False)))
    assert left.num_rows < events.num_rows
    judged = check_run(replace(tables, node_events=left, recorded_events=EVERY_KIND))
    assert (judged.verdict, judged.checks["leader-not-in-isr"]) == ("inconclusive", "not-available")
    assert "has partition epoch 2, and none that follows 0" in " ".join(judged.reasons)


@pytest.mark.quick("kip-903")
def test_no_check_is_ok_without_a_table_that_it_reads(tables: RunTables) -> None:
    for table, needs in (
        ("node_events", {"events"}),
        ("replica_log", {"replica-log", "dump-marks"}),
    ):
        judged = check_run(replace(tables, **{table: None}))
        for name in CHECKS:
            if needs & set(NEEDS[name]):
                assert judged.checks[name] == "not-available", (table, name)
    no_marks = tables.replica_log.filter(pc.is_null(tables.replica_log["ended"]))  # type: ignore[union-attr]
    judged = check_run(replace(tables, replica_log=no_marks))
    assert {name for name in CHECKS if "dump-marks" in NEEDS[name]} <= {
        name for name, state in judged.checks.items() if state != "ok"
    }
    nothing = check_run(replace(tables, operations=tables.operations.slice(0, 0)))
    assert {nothing.checks[name] for name in CLIENT_CHECKS} <= {"unknown", "not-available"}


# --- from dumps alone -----------------------------------------------------------------------------------------------


def _as_of_apache_kafka(tables: RunTables) -> RunTables:
    """What of a run can be seen of software that does not report what it appends and commits."""
    kinds = ("broker-registered", "broker-registration-changed", "broker-state", "node-crashed", "node-started")
    kinds += ("node-stopped", "partition-changed", "raft-state")
    events = tables.node_events
    assert events is not None
    left = events.filter(pc.is_in(events["kind"], pc.cast(list(kinds), events["kind"].type)))
    return replace(tables, node_events=left, recorded_events=RecordedEvents(kinds, "the nodes do not report it"))


def _largest(tables: RunTables) -> tuple[str, int, np.ndarray]:
    """A partition, a broker in its last ISR that does not lead, and the offsets that its dump has."""
    log = tables.replica_log
    events = tables.node_events
    assert log is not None
    assert events is not None
    rows = defaultdict(list)
    for at, (partition, broker, ended) in enumerate(
        zip(log["partition"].to_pylist(), log["broker"].to_pylist(), log["ended"].to_pylist(), strict=True)
    ):
        if ended is None:
            rows[partition, broker].append(at)
    states = {row["partition"]: row for row in events.filter(pc.equal(events["kind"], "partition-changed")).to_pylist()}
    (partition, broker), at = max(
        (
            (key, at)
            for key, at in rows.items()
            if key[1] in states[key[0]]["isr"] and key[1] != states[key[0]]["leader"]
        ),
        key=lambda one: len(one[1]),
    )
    return partition, broker, np.array(at)


def _changed(tables: RunTables, rows: np.ndarray, **columns: int) -> RunTables:
    log = tables.replica_log
    assert log is not None
    for name, by in columns.items():
        values = log[name].to_numpy(zero_copy_only=False).copy()
        values[rows] += by
        log = log.set_column(log.schema.get_field_index(name), log.schema.field(name), [values])
    return replace(tables, replica_log=log.cast(tables.replica_log.schema))  # type: ignore[union-attr]


@pytest.mark.parametrize("tables", ["kip-903"], indirect=True)
@pytest.mark.parametrize("where", ["within", "at the end"])
@pytest.mark.parametrize("events", ["as of Apache Kafka", "none"])
def test_dumps_alone_show_that_replicas_differ(tables: RunTables, where: str, events: str) -> None:
    seen = _as_of_apache_kafka(tables)
    if events == "none":
        seen = replace(tables, node_events=None, recorded_events=None)
    good = check_run(seen)
    assert (good.verdict, good.checks["divergence"]) == ("pass", "ok")
    partition, _, at = _largest(tables)
    ten = at[5:15] if where == "within" else at[-10:]
    bad = check_run(_changed(seen, ten, leader_epoch=1, crc=1))
    if events == "none" and where == "at the end":  # it is not known which of them is in sync
        assert (bad.verdict, bad.checks["divergence"]) == ("inconclusive", "unknown")
        return
    assert (bad.verdict, bad.checks["divergence"]) == ("fail", "failed")
    assert bad.anomalies["divergence"].count == 10
    assert {example["partition"] for example in bad.anomalies["divergence"].examples} == {partition}


@pytest.mark.parametrize("tables", ["kip-903"], indirect=True)
@pytest.mark.parametrize("how", ["records are missing", "a gap is marked", "it ends early"])
@pytest.mark.parametrize("events", ["all", "as of Apache Kafka", "none"])
def test_dumps_show_that_a_log_in_sync_has_a_hole(tables: RunTables, how: str, events: str) -> None:
    seen = {
        "all": tables,
        "as of Apache Kafka": _as_of_apache_kafka(tables),
        "none": replace(tables, node_events=None, recorded_events=None),
    }[events]
    partition, broker, at = _largest(tables)
    log = seen.replica_log
    assert log is not None
    rows = log.to_pylist()
    if how == "it ends early":
        gone = set(at[-10:].tolist())
        (mark,) = (
            number
            for number, row in enumerate(rows)
            if (row["partition"], row["broker"], row["ended"]) == (partition, broker, "end")
        )
        rows[mark]["offset"] -= 10
    else:
        gone = set(at[5:15].tolist())
        if how == "a gap is marked":
            rows.insert(at[-1] + 1, {**rows[at[-1]], "offset": rows[at[5]]["offset"], "value": None, "ended": "gap"})
    kept = [row for number, row in enumerate(rows) if number not in gone]
    judged = check_run(replace(seen, replica_log=type(log).from_pylist(kept, schema=log.schema)))
    if how == "it ends early" and events == "none":
        assert judged.checks["replica-incomplete"] == "not-available"
        return
    assert judged.verdict == "fail", judged.reasons
    name = "divergence" if how == "records are missing" else "replica-incomplete"
    assert judged.anomalies[name].count == (10 if name == "divergence" else 1)
