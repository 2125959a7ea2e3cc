"""Tiny histories of registers, each with the verdict that it must have and one sentence why (the docstring)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from table_files import parse_jsonl, write_jsonl

from highwater_pipeline.in_process import check_run
from highwater_pipeline.linearizability import Limits, check_registers
from highwater_pipeline.tables.files import BadTableError
from highwater_pipeline.tables.rows import OPERATION_ROWS
from highwater_pipeline.tables.run_tables import load_run


def verdict(story: Any) -> tuple[str, list[str]]:
    run_verdict = check_registers(story.tables())
    return run_verdict.verdict, list(run_verdict.anomalies)


def test_reads_and_writes_one_after_another(story: Any) -> None:
    """Each read returns what was written last; before the first write that is nothing."""
    story.done(0, "read", None).done(0, "write", 1).done(1, "read", 1).done(0, "write", 2).done(1, "read", 2)
    assert verdict(story) == ("pass", [])


def test_stale_read(story: Any) -> None:
    """2 was acknowledged before the read began, which returned 1."""
    story.done(0, "write", 1).done(0, "write", 2).done(1, "read", 1)
    run_verdict = check_registers(story.tables())
    assert run_verdict.verdict == "fail"
    assert run_verdict.checks == {"stale-read": "failed", "nonlinearizable": "ok"}
    (example,) = run_verdict.anomalies["stale-read"].examples
    assert example["story"] == (
        "client-1 (operation 5) read 1 in register x, although client-0 (operation 3) had written 2 before that began;"
        " the 2 operations completed before fit."
    )
    assert example["rows"] == [{"table": "operations", "index": row} for row in (1, 3, 4, 5)]
    assert (example["operation"]["index"], example["prefix"]["operations"], example["prefix"]["last_row"]) == (5, 2, 3)
    assert [operation["value"] for operation in example["prefix"]["ends"]] == [1, 2]


def test_reading_nothing_after_something_is_stale(story: Any) -> None:
    """The state before the first write is a state like any other."""
    assert verdict(story.done(0, "write", 1).done(1, "read", None)) == ("fail", ["stale-read"])


def test_a_read_that_went_back_while_the_write_was_open(story: Any) -> None:
    """The write is open all the while, but one had read it when the next began, which read what was before."""
    story.done(0, "write", 1).row(0, "invoke", "write", 2).done(1, "read", 2).done(2, "read", 1)
    assert verdict(story.row(0, "ok", "write", 2)) == ("fail", ["stale-read"])


def test_reads_that_overlap_a_write_may_see_it_or_not(story: Any) -> None:
    """Old before new, both while the write is open."""
    story.done(0, "write", 1).row(0, "invoke", "write", 2).done(1, "read", 1).done(2, "read", 2)
    assert verdict(story.row(0, "ok", "write", 2)) == ("pass", [])


def test_a_value_from_nowhere(story: Any) -> None:
    """Nobody wrote 7: that is not stale, it is nothing that can be."""
    run_verdict = check_registers(story.done(0, "write", 1).done(1, "read", 7).tables())
    assert list(run_verdict.anomalies) == ["nonlinearizable"]
    assert "which no client had written" in run_verdict.anomalies["nonlinearizable"].examples[0]["story"]


def test_what_failed_did_not_happen(story: Any) -> None:
    """A read of a value whose only write failed."""
    assert verdict(story.done(0, "write", 1, outcome="fail").done(1, "read", 1)) == ("fail", ["nonlinearizable"])


@pytest.mark.parametrize("reads", [[1, 1, 2], [1, 1, 1], [2, 2, 2]])
def test_an_unknown_write_may_take_effect_late_or_never(story: Any, reads: list[int]) -> None:
    """Nobody knows whether 2 was written; readers may see it from any moment on, or not at all."""
    story.done(0, "write", 1).row(5, "invoke", "write", 2).row(5, "info", "write")
    for value in reads:
        story.done(1, "read", value)
    assert verdict(story) == ("pass", [])


def test_an_unknown_write_takes_effect_once(story: Any) -> None:
    """Seen, then overwritten, then seen again: the second time it is stale."""
    story.done(0, "write", 1).row(5, "invoke", "write", 2)  # never completed: unknown too
    story.done(1, "read", 2).done(0, "write", 3).done(1, "read", 3).done(1, "read", 2)
    assert verdict(story) == ("fail", ["stale-read"])


def test_a_write_that_never_completed_begins_at_its_invocation(story: Any) -> None:
    """7 was read before anybody had begun to write it: that the write has no completion does not make it older."""
    story.done(1, "read", 7).row(0, "invoke", "write", 7)
    assert verdict(story) == ("fail", ["nonlinearizable"])


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            [(0, "invoke", "write", 1), (0, "invoke", "write", 2), (0, "ok", "write", 2), (1, "invoke", "read", None)],
            ":2: expected process 0 to complete its open operation first, found another invocation",
        ),
        (
            [(0, "invoke", "write", 1), (0, "ok", "write", 1), (1, "ok", "read", 1)],
            ":3: expected process 1 to have an open operation, found a completion of none",
        ),
        (
            [(0, "invoke", "write", 1), (0, "ok", "write", 1), (0, "ok", "write", 1)],
            ":3: expected process 0 to have an open operation, found a completion of none",
        ),
    ],
)
def test_what_no_single_threaded_process_can_do_is_refused(
    story: Any, tmp_path: Path, rows: list[Any], expected: str
) -> None:
    """Which invocation goes with which completion would be a guess, and the verdict with it."""
    for row in rows:
        story.row(*row)
    with pytest.raises(BadTableError, match=expected):
        check_registers(story.tables())
    write_jsonl(tmp_path / "registers.jsonl", story.operations)
    with pytest.raises(BadTableError, match=rf"registers\.jsonl{expected}"):
        load_run(tmp_path / "registers.jsonl")


def test_cas(story: Any) -> None:
    """A compare-and-set that succeeded must have found what it expected; one that failed says nothing."""
    story.done(0, "write", 1).done(1, "cas", 1, 2).done(2, "cas", 1, 3, outcome="fail").done(2, "read", 2)
    assert verdict(story) == ("pass", [])
    story.done(2, "cas", 1, 4)
    run_verdict = check_registers(story.tables())
    assert list(run_verdict.anomalies) == ["nonlinearizable"]
    (example,) = run_verdict.anomalies["nonlinearizable"].examples
    assert "changed 1 to 4 in register x, although client-2 (operation 7) had read 2" in example["story"]
    assert (example["operation"]["name"], example["operation"]["expected"]) == ("cas", 1)


def test_two_cas_that_expected_the_same(story: Any) -> None:
    """Both succeeded at once, but only one can have been first."""
    story.done(0, "write", 1).row(1, "invoke", "cas", 1, 2).row(2, "invoke", "cas", 1, 3)
    story.row(1, "ok", "cas", 1, 2).row(2, "ok", "cas", 1, 3)
    assert verdict(story) == ("fail", ["nonlinearizable"])


def test_an_unknown_cas_that_another_built_upon(story: Any) -> None:
    """Nobody knows whether 1 became 2, but somebody made 3 of it: so it did, and 1 is gone."""
    story.done(0, "write", 1).done(1, "cas", 1, 2, outcome="info").done(2, "cas", 2, 3)
    assert verdict(story) == ("pass", [])
    assert verdict(story.done(3, "read", 1)) == ("fail", ["stale-read"])


def test_registers_are_judged_one_by_one(story: Any) -> None:
    """Each key has its own anomaly; what is fine elsewhere does not matter."""
    for key in ("a", "b", "c"):
        story.done(0, "write", 1, key=key).done(0, "write", 2, key=key)
    story.done(1, "read", 1, key="c").done(1, "read", 9, key="a").done(1, "read", 2, key="b")
    run_verdict = check_registers(story.tables())
    keys = {name: [example["key"] for example in report.examples] for name, report in run_verdict.anomalies.items()}
    assert keys == {"stale-read": ["c"], "nonlinearizable": ["a"]}


def test_nothing_acknowledged_is_unknown(story: Any) -> None:
    """A history without operations on registers, or in which all failed, is not valid: it is unknown."""
    assert verdict(story) == ("inconclusive", [])
    run_verdict = check_registers(story.done(0, "write", 1, outcome="fail").done(0, "read", outcome="info").tables())
    assert run_verdict.verdict == "inconclusive"
    assert run_verdict.reasons == [
        "nothing can be said on registers: none of 2 operations on registers was acknowledged"
    ]


def test_what_is_not_decided_is_unknown(story: Any) -> None:
    """The same value twice needs a search, and a search of one step finds nothing: unknown, never valid."""
    story.done(0, "write", 1).done(0, "write", 1).done(1, "read", 1)
    run_verdict = check_registers(story.tables(), Limits(steps=1, steps_per_operation=0))
    assert (run_verdict.verdict, set(run_verdict.checks.values())) == ("inconclusive", {"unknown"})
    assert run_verdict.reasons == ["register x: not decided in 2 steps over 3 operations"]
    assert check_registers(story.tables()).verdict == "pass"


def test_the_log_model_sees_no_registers(story: Any) -> None:
    """A write to a register is no record: a history of registers says nothing about logs."""
    run_verdict = check_run(story.done(0, "write", 1).done(1, "read", 7).tables())
    assert (run_verdict.verdict, run_verdict.anomalies) == ("inconclusive", {})


LINE = '{"index":0,"time":0,"process":0,"type":"ok","f":"%s","value":%s}\n'


@pytest.mark.parametrize(
    ("f", "value", "expected"),
    [
        ("read", "[]", "expected `value` of a read to be [read], found []"),
        ("cas", '[{"op":"write","key":"x","value":1}]', "to be [read, write], found [write]"),
        ("cas", '[{"op":"read","key":"x"},{"op":"write","key":"y","value":1}]', "one key in a cas, found 'x' and 'y'"),
        ("write", '[{"op":"write","key":"x"}]', "expected a `value` in `value[0]` of a write, found null"),
        (
            "read",
            '[{"op":"read","key":"x","offset":3}]',
            "expected `offset` of `value[0]` of a read to be null, found 3",
        ),
        ("send", '[{"op":"write","key":"x","value":1}]', "expected send, poll or assign in `value[0]` of a send"),
    ],
)
def test_rows_of_registers_are_strict(f: str, value: str, expected: str) -> None:
    with pytest.raises(BadTableError) as refused:
        parse_jsonl((LINE % (f, value)).encode(), OPERATION_ROWS, "run", "operations.jsonl")
    assert str(refused.value).startswith("operations.jsonl:1: ")
    assert expected in str(refused.value)
