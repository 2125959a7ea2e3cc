"""What a verdict says beside its anomalies: what was asked, what could not be answered, and why."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from highwater_pipeline.anomalies import CHECKS, CLIENT_CHECKS, INSIDE_CHECKS
from highwater_pipeline.in_process import check_run
from highwater_pipeline.tables.rows import FAULT_ROWS, REPLICA_LOG_ROWS, FaultRow
from highwater_pipeline.tables.run_tables import RunTables
from highwater_pipeline.verdict import MAX_EXAMPLES


def test_a_history_alone_says_nothing_of_what_only_nodes_see(story: Any) -> None:
    run_verdict = check_run(story.send(1, at=0).poll((0, 1)).tables())
    assert {run_verdict.checks[name] for name in CLIENT_CHECKS} == {"ok"}
    assert {run_verdict.checks[name] for name in INSIDE_CHECKS} == {"not-available"}
    assert run_verdict.verdict == "pass"
    assert run_verdict.reasons == [
        f"no node events and replica dumps recorded: not judged on {', '.join(INSIDE_CHECKS)}"
    ]


def test_dumps_and_events_are_asked_for_where_they_are_missing(story: Any) -> None:
    run_verdict = check_run(story.send(1, at=0).poll((0, 1)).moves_hw(0, 1).tables())
    assert run_verdict.checks["divergence"] == "not-available"
    assert run_verdict.checks["hw-regression"] == "ok"


def test_an_anomaly_found_inside_fails_a_run_whose_history_says_nothing(story: Any) -> None:
    run_verdict = check_run(story.moves_hw(0, 5).moves_hw(0, 4).tables())
    assert (run_verdict.verdict, run_verdict.checks["lost-write"]) == ("fail", "unknown")


def test_reasons_of_an_inconclusive_run_are_sentences(story: Any) -> None:
    (empty, *_) = check_run(story.tables()).reasons
    assert empty.startswith("the history has no operations: nothing can be said on lost-write")
    (failed, *_) = check_run(story.send(1, outcome="fail").tables()).reasons
    assert failed.startswith("none of 1 operations acknowledged a record")
    (unread, *_) = check_run(story.send(2, at=0).tables()).reasons
    assert unread.startswith("no poll began after the last acknowledged send")
    assert unread.endswith("nothing can be said on unseen")


@pytest.mark.parametrize(
    ("cut_short", "verdict", "state"), [(False, "fail", "failed"), (True, "inconclusive", "unknown")]
)
def test_what_final_reads_had_no_time_for_is_not_lost(story: Any, cut_short: bool, verdict: str, state: str) -> None:
    """The last of two records was acknowledged and not read."""
    tables = story.send(1, at=0).send(2, at=1).poll((0, 1)).tables()
    settings = msgspec.structs.replace(tables.settings, final_reads_cut_short=cut_short)
    run_verdict = check_run(dataclasses.replace(tables, settings=settings))
    assert (run_verdict.verdict, run_verdict.checks["unseen"]) == (verdict, state)
    assert ("the final reads were cut short: nothing can be said on unseen" in run_verdict.reasons) is cut_short


def test_final_reads_that_were_cut_short_hide_no_lost_write(story: Any) -> None:
    tables = story.send(1, at=0).send(2, at=1).poll((1, 2)).tables()
    settings = msgspec.structs.replace(tables.settings, final_reads_cut_short=True)
    run_verdict = check_run(dataclasses.replace(tables, settings=settings))
    assert (run_verdict.verdict, run_verdict.checks["lost-write"]) == ("fail", "failed")


def test_only_the_checks_asked_for(story: Any) -> None:
    tables = story.send(1, at=0).poll((0, 1), (1, 1)).tables()
    run_verdict = check_run(tables, ["unseen", "lost-write"])
    assert (run_verdict.verdict, list(run_verdict.checks)) == ("pass", ["lost-write", "unseen"])
    assert list(check_run(tables, ["all"]).checks) == list(CHECKS)
    with pytest.raises(ValueError, match="found 'lost-wirte'"):
        check_run(tables, ["lost-wirte"])


def test_nothing_judged_is_not_a_pass(story: Any) -> None:
    assert check_run(story.send(1, at=0).poll((0, 1)).tables(), ["hw-regression"]).verdict == "inconclusive"


def test_counts_are_whole_and_examples_few(story: Any) -> None:
    for value in range(1, 41):
        story.send(value, at=value, key=f"orders-{value % 4}")
    story.poll((0, 1000))
    run_verdict = check_run(story.tables())
    report = run_verdict.anomalies["unseen"]
    assert (report.count, len(report.examples)) == (40, MAX_EXAMPLES)
    assert report.examples[0]["partition"] == "orders-0"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (FaultRow("hold", id="1", name="held", confirmed=False), "fault 1 (held) is not confirmed to have taken hold"),
        (FaultRow("kill", id="2", confirmed=True, healed=False), "fault 2 (kill) is not confirmed to be gone"),
        (FaultRow("kill", id="5", healed=True), "fault 5 (kill) is not confirmed to have taken hold"),
        (FaultRow("kill", id="6", confirmed=True), "fault 6 (kill) is not confirmed to be gone"),
        (FaultRow("drop", id="3", confirmed=False, idle=True), "fault 3 (drop) is not confirmed to have taken hold"),
        (
            FaultRow("drop", id="4", confirmed=False, healed=False, idle=True, drawn=True),
            "fault 4 (drop) is not confirmed to be gone",
        ),
    ],
)
def test_a_fault_in_doubt_makes_a_pass_inconclusive_and_no_fail_less_a_fail(
    story: Any, fault: FaultRow, reason: str
) -> None:
    def judged(history: Any) -> Any:
        clean = history.tables()
        faults = FAULT_ROWS.to_table([fault], "tiny", [b"{}"])
        return check_run(RunTables("tiny", clean.operations, faults=faults, settings=clean.settings))

    doubtful = judged(story.send(1, at=0).poll((0, 1)))
    assert doubtful.verdict == "inconclusive"
    assert reason in doubtful.reasons
    assert judged(story.poll((1, 1))).verdict == "fail"


def test_a_drawn_rule_that_caught_nothing_is_no_reason_for_doubt(story: Any) -> None:
    clean = story.send(1, at=0).poll((0, 1)).tables()
    idle = FaultRow("drop", id="1", confirmed=False, healed=True, idle=True, drawn=True)
    run_verdict = check_run(RunTables("tiny", clean.operations, faults=FAULT_ROWS.to_table([idle], "tiny", [b"{}"])))
    assert run_verdict.verdict == "pass"
    assert not [reason for reason in run_verdict.reasons if "fault 1" in reason]


@pytest.mark.parametrize(
    ("parameters", "idle", "verdict"),
    [
        (b'{"rpc":"Produce"}', False, "pass"),
        (b"{}", None, "pass"),
        (b'{"rpc":"Produce"}', True, "fail"),
        (b'{"rpc":"Fetch"}', False, "fail"),
    ],
)
def test_only_duplicated_sends_excuse_a_duplicate(
    story: Any, parameters: bytes, idle: bool | None, verdict: str
) -> None:
    """A producer without idempotence sent value 1 once, and it stands twice."""
    told = story.under(idempotence=False).send(1, at=0).poll((0, 1), (1, 1)).tables()
    attempts = told.operations.schema.get_field_index("attempts")
    operations = told.operations.set_column(attempts, "attempts", pa.array([1] * told.operations.num_rows))
    fault = FaultRow("duplicate", id="1", confirmed=not idle, healed=True, idle=idle, drawn=True)
    faults = FAULT_ROWS.to_table([fault], "tiny", [b'{"parameters":' + parameters + b"}"])
    tables = RunTables("tiny", operations, faults=faults, settings=told.settings)
    assert check_run(tables, ["duplicate"]).verdict == verdict


def test_a_dump_without_any_log_is_no_pass(story: Any) -> None:
    """Not the same as no dump: logs were looked for, and none was there."""
    told = story.send(1, at=0).poll((0, 1)).started(0, epoch=10, leo=0).appends(0, 0, 1, leader=True)
    assert _with_empty_dump(told).verdict == "pass"
    assert _with_empty_dump(told.moves_hw(0, 1)).verdict == "inconclusive"


def _with_empty_dump(told: Any) -> Any:
    tables = told.tables()
    empty = REPLICA_LOG_ROWS.to_table([], "tiny")
    return check_run(RunTables("tiny", tables.operations, tables.node_events, empty, settings=tables.settings))


def test_stories_name_who_and_where(story: Any) -> None:
    """The committed loss of KAFKA-14139, as a person reads it; the record that took its place is not blamed."""
    story.send(1, at=0).started(0, epoch=10, leo=0).state([0], offset=20).leads(0, 0, leo=0)
    story.appends(0, 0, 1, leader=True).commits(0, 0, 1, crc=5).leads(1, 1, leo=0).send(2, at=0, process=1)
    story.poll((0, 2))
    (example,) = check_run(story.tables()).anomalies["committed-loss"].examples
    assert example["story"] == (
        "Record 0 of orders-0 (value 1; acknowledged to producer-0 (operation 1)) passed the high watermark of broker-0"
        " in leader epoch 0, but broker-1 became leader in epoch 1 with log end offset 0: gone."
    )
    assert example["values"] == [1]


def test_json_is_the_layout_of_verdicts(story: Any) -> None:
    document = json.loads(check_run(story.send(1, at=0).poll((0, 1), (1, 1)).tables()).to_json())
    assert list(document) == ["run_id", "verdict", "reasons", "anomalies", "checks", "stats", "removed", "lost"]
    assert document["anomalies"]["duplicate"]["count"] == 1
    assert document["anomalies"]["duplicate"]["examples"][0]["rows"] == [
        {"table": "operations", "index": 1},
        {"table": "operations", "index": 3},
    ]


WITHOUT_PANDAS = """
import sys
import pyarrow
from highwater_pipeline import check_run, open_run
check_run(open_run(sys.argv[1]))
assert "pandas" not in sys.modules, "pandas was imported"
assert pyarrow.table({"a": [1, 2]}).to_pandas()["a"].sum() == 3
"""


def test_judging_does_not_import_pandas(story: Any, tmp_path: Path) -> None:
    """It would take longer than judging a short run. What needs pandas still gets it."""
    pytest.importorskip("pandas")
    run = story.send(1, at=0).poll((0, 1)).moves_hw(0, 1).write(tmp_path / "run")
    subprocess.run([sys.executable, "-c", WITHOUT_PANDAS, str(run)], check=True)


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        (["INVALID_RECORD"] * 3, "acknowledged a record (every send that ended got INVALID_RECORD, 3 of them): "),
        (["A", "B", "A"], "acknowledged a record (sends ended with A 2 times, B 1 times): "),
        ([None] * 2, "none of 2 operations acknowledged a record: "),
    ],
)
def test_a_history_without_an_acknowledgement_names_the_errors(story: Any, errors: list[str | None], said: str) -> None:
    for value, error in enumerate(errors):
        story.send(value, outcome="fail")
        story.operations[-1].error = error
    run_verdict = check_run(story.tables())
    assert run_verdict.verdict == "inconclusive"
    assert any(said in reason for reason in run_verdict.reasons), run_verdict.reasons
