"""Events of nodes whose clocks are off: an order that agrees with clocks and causes, and nothing hidden beyond that."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipeline_stories import Story

from highwater_pipeline.checks.causal_order import causal_order
from highwater_pipeline.in_process import check_run
from highwater_pipeline.tables.files import BadTableError
from highwater_pipeline.tables.run_tables import open_run
from highwater_pipeline.tables.settings import ASSUMED_CLOCK_ERROR_NS

MS = 1_000_000


def array(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64)


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[int], list[int], list[int], list[tuple[int, int]], list[int]]:
    """What happened, as clocks that are off by at most their errors recorded it: nodes, recorded times, errors, causes,
    and the places of the events in the order in which they truly happened."""
    nodes = draw(st.integers(2, 4))
    error = draw(st.lists(st.integers(0, 20), min_size=nodes, max_size=nodes))
    off = [draw(st.integers(-one, one)) for one in error]
    steps = draw(st.lists(st.tuples(st.integers(0, nodes - 1), st.integers(0, 6)), min_size=1, max_size=40))
    node, true = [], []
    now = 0
    for who, later in steps:
        now += later + 1
        node.append(who)
        true.append(now)
    recorded = [at + off[who] for at, who in zip(true, node, strict=True)]
    order = sorted(range(len(node)), key=lambda place: recorded[place])
    place_of = {true_place: place for place, true_place in enumerate(order)}
    pairs = draw(st.lists(st.tuples(st.integers(0, len(node) - 1), st.integers(0, len(node) - 1)), max_size=30))
    causes = [(place_of[a], place_of[b]) for a, b in pairs if a < b]
    return (
        [node[place] for place in order],
        [recorded[place] for place in order],
        [error[node[place]] for place in order],
        causes,
        order,
    )


def put_in_order(node: list[int], time: list[int], error: list[int], causes: list[tuple[int, int]]) -> list[int]:
    first, then = (array([pair[which] for pair in causes]) for which in (0, 1))
    found = causal_order(array(node), array(time), array(error), first, then)
    return list(range(len(node))) if found is None else found.tolist()


def assert_clocks_permit(order: list[int], node: list[int], time: list[int], error: list[int]) -> None:
    """Each node's events keep their order, and nothing comes after what must have happened later."""
    assert sorted(order) == list(range(len(node)))
    for one in set(node):
        mine = [place for place in order if node[place] == one]
        assert mine == sorted(mine)
    latest_start = -(1 << 60)
    for place in order:
        latest_start = max(latest_start, time[place] - error[place])
        assert latest_start <= time[place] + error[place]


@given(histories())
def test_true_causes_are_all_met_within_the_errors_of_the_clocks(history) -> None:  # type: ignore[no-untyped-def]
    node, time, error, causes, _ = history
    order = put_in_order(node, time, error, causes)
    assert_clocks_permit(order, node, time, error)
    at = {place: number for number, place in enumerate(order)}
    assert all(at[first] < at[then] for first, then in causes)
    if all(first < then for first, then in causes):
        assert order == list(range(len(node))), "nothing conflicted"


@given(histories(), st.lists(st.tuples(st.integers(0, 39), st.integers(0, 39)), max_size=20))
def test_causes_that_contradict_each_other_never_break_a_clock(  # type: ignore[no-untyped-def]
    history, wrong: list[tuple[int, int]]
) -> None:
    node, time, error, causes, _ = history
    some = [*causes, *((a, b) for a, b in wrong if max(a, b) < len(node))]
    order = put_in_order(node, time, error, some)
    assert_clocks_permit(order, node, time, error)
    if not any(error):
        assert order == list(range(len(node))), "exact clocks are believed, whatever the causes"


def test_a_cause_is_left_out_if_no_clock_can_be_so_wrong() -> None:
    assert put_in_order([0, 1], [0, 20], [5, 15], [(1, 0)]) == [1, 0]
    assert put_in_order([0, 1], [0, 21], [5, 15], [(1, 0)]) == [0, 1]


def test_what_one_node_did_at_one_time_stays_together() -> None:
    assert put_in_order([0, 1, 0, 2], [0, 0, 0, 3], [5, 5, 5, 5], [(3, 0)]) == [1, 3, 0, 2]


# --- what checks make of it -----------------------------------------------------------------------------------------


def append_recorded_late(by_ms: int, errors_ms: dict[str, int] | None) -> str:
    """Broker 0 moves its high watermark over a record. That broker 1, a member of the ISR, appended it was recorded so
    much later. Returns the verdict of the check that looks at both."""
    story = Story().send(1, at=0).poll((0, 1)).under(unrecorded_sends=True)
    story.started(0, epoch=10, leo=0).started(1, epoch=11, leo=0).state([0, 1], offset=20)
    story.leads(0, 0, leo=0).follows(1, 0, 0, leo=0, hw=0)
    story.appends(0, 0, 1, leader=True).moves_hw(0, 1)
    story.now += by_ms * MS
    story.appends(1, 0, 1)
    story.now += 1000 * MS
    story.event("controller-0", "node-started", incarnation=1)
    errors = None if errors_ms is None else {node: error * MS for node, error in errors_ms.items()}
    tables = story.under(clock_errors_ns=errors).tables()
    return check_run(tables, ["isr-incomplete"]).verdict


@pytest.mark.parametrize(
    ("by_ms", "errors_ms", "verdict"),
    [
        (1, None, "fail"),
        (1, {}, "fail"),
        (1, {"broker-1": 0, "broker-7": 25}, "fail"),
        (20, {"broker-1": 25}, "pass"),
        (45, {"broker-0": 25, "broker-1": 25}, "pass"),
        (45, {"*": 25}, "pass"),
        (101, {"broker-1": 25}, "fail"),
        (500, {"*": 50, "broker-0": 2, "broker-1": 2}, "fail"),
    ],
)
def test_within_the_error_is_unknown_and_beyond_it_a_finding(
    by_ms: int, errors_ms: dict[str, int] | None, verdict: str
) -> None:
    assert append_recorded_late(by_ms, errors_ms) == verdict


@pytest.mark.parametrize(
    ("run", "error_ns"),
    [
        ({"backend": "kubernetes", "settings": {}}, ASSUMED_CLOCK_ERROR_NS),
        ({"backend": "kubernetes", "settings": {"clock_errors_ns": {"broker-1": 7}}}, 7),
        ({"backend": "local", "settings": {}}, 0),
        ({"backend": "sim", "settings": {"exact_order": True}}, 0),
        ({"settings": {}}, 0),
    ],
)
def test_a_recording_without_errors_is_believed_if_its_nodes_had_one_clock(
    run: dict[str, object], error_ns: int, tmp_path: Path
) -> None:
    directory = Story().send(1, at=0).poll((0, 1)).write(tmp_path / "run")
    (directory / "run.json").write_bytes(msgspec.json.encode(run))
    assert open_run(directory).settings.clock_error_ns("broker-1") == error_ns


@pytest.mark.parametrize("errors", [{"broker-1": -1}, {"broker-1": "much"}, [25]])
def test_errors_that_are_none_are_refused(errors: object, tmp_path: Path) -> None:
    directory = Story().send(1, at=0).poll((0, 1)).write(tmp_path / "run")
    (directory / "run.json").write_bytes(msgspec.json.encode({"settings": {"clock_errors_ns": errors}}))
    with pytest.raises(BadTableError, match="clock_errors_ns"):
        open_run(directory)
