"""Runs of the simulator, as they would have been recorded if one clock had been off: no false finding comes of it, and
what is wrong is still found.

Each node's events are shifted in turn, back and forth, by 20 ms, many times what the simulator's network takes. The
recording says that the clock of that node may be off by 25 ms, or that all may.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from highwater_chaos.backends.kubernetes.quorum_order import in_causal_order
from highwater_chaos.backends.local.event_files import parse_line
from highwater_chaos.backends.local.quorum_events import QuorumJudge
from highwater_chaos.backends.protocol import TimedEvent
from highwater_chaos.experiment import ChaosExperiment, load_experiment, parse_experiment
from highwater_chaos.experiment.nodes import controller_names, node_id
from highwater_chaos.verdict.checked_run import run_and_forget
from highwater_pipeline.checks import check_partition
from highwater_pipeline.in_process import check_run, check_stored
from highwater_pipeline.partitions.partition_tables import split
from highwater_pipeline.partitions.store import open_stored_run, write_units
from highwater_pipeline.tables.run_tables import RunTables, load_run
from highwater_pipeline.tables.settings import Settings
from highwater_pipeline.verdict import RunVerdict, merge

MS: Final = 1_000_000
SCENARIOS: Final = Path(__file__).parents[2] / "scenarios"
DIRECTED: Final = Path(__file__).parents[2] / "lab/scenarios"
SHIFT_MS: Final = 20
ERROR_MS: Final = 25
THOROUGH: Final = os.environ.get("HIGHWATER_THOROUGH") == "1"


@dataclass(frozen=True, slots=True)
class Recorded:
    """One run: its tables, and the events of its quorum."""

    experiment: ChaosExperiment
    tables: RunTables
    quorum: Sequence[TimedEvent]

    def nodes(self) -> list[str]:
        """The nodes that reported something."""
        assert self.tables.node_events is not None
        return sorted(self.tables.node_events["node"].unique().to_pylist())

    def judge(self, errors_ms: Mapping[str, int] | None = None) -> RunVerdict:
        """The verdict, if clocks may be off by so much."""
        errors = None if errors_ms is None else {node: error * MS for node, error in errors_ms.items()}
        settings = msgspec.structs.replace(self.tables.settings, clock_errors_ns=errors)
        return check_run(replace(self.tables, settings=settings), self.experiment.spec.checks)

    def judge_quorum(self, errors_ms: Mapping[str, int]) -> set[str]:
        """What the events of the quorum show, if clocks may be off by so much."""
        cluster = self.experiment.spec.cluster
        assert cluster is not None
        voters = {node_id(name): name for name in controller_names(cluster)}
        settings = Settings(clock_errors_ns={node: error * MS for node, error in errors_ms.items()})
        events = in_causal_order(self.quorum, voters, settings.clock_error_ns)
        return {violation.name for violation in QuorumJudge(voters).judge(events)}

    def shifted(self, node: str, by_ms: int) -> Recorded:
        """The same with all times of one node shifted, and in the order of times."""
        events = self.tables.node_events
        assert events is not None
        is_it = pc.equal(events["node"], node).to_numpy()
        times = events["time_ns"].to_numpy() + np.where(is_it, by_ms * MS, 0)
        order = np.argsort(times, kind="stable")
        moved = _with(events, "time_ns", times).take(pa.array(order))
        moved = _with(moved, "seq", np.arange(len(times)))
        quorum = [
            msgspec.structs.replace(one, time_ns=one.time_ns + by_ms * MS * (one.node == node)) for one in self.quorum
        ]
        quorum.sort(key=lambda one: one.time_ns)
        return Recorded(self.experiment, replace(self.tables, node_events=moved), quorum)

    def shifts(self, by_ms: int) -> Iterator[tuple[str, Recorded]]:
        """Each node in turn, back and forth; in ``make test`` one way each."""
        for number, node in enumerate(self.nodes()):
            ways = (-by_ms, by_ms)
            for by in ways if THOROUGH else ways[number % 2 :: 2]:
                yield f"{node} {by:+} ms", self.shifted(node, by)


def allowances(which: str) -> tuple[dict[str, int], ...]:
    """What the recording may say of clocks, if this one was off. ``make thorough`` tries both."""
    of_one = {which.split(maxsplit=1)[0]: ERROR_MS}
    return (of_one, {"*": ERROR_MS}) if THOROUGH else (of_one,)


def record(name: str, seed: int | None = None, switches: Mapping[str, str] | None = None) -> Recorded:
    """Run a scenario in the simulator; in `make test` with a tenth of the records, for it is judged many times."""
    return _record(name, seed, tuple((switches or {}).items()))


@lru_cache(maxsize=16)
def _record(name: str, seed: int | None, switches: tuple[tuple[str, str], ...]) -> Recorded:
    path = SCENARIOS / f"{name}.yaml"
    text = path.read_text()
    if not THOROUGH:
        text = re.sub(r"(?<=rate: )\d+(?=/s)", lambda found: str(int(found[0]) // 10), text)
    experiment = parse_experiment(text, str(path)).with_seed_and_switches(seed, dict(switches))
    tables: list[RunTables] = []
    result, _ = run_and_forget(experiment, wire=False, keep=lambda directory, _: tables.append(load_run(directory)))
    quorum = []
    for line in result.event_lines:
        if any(b'"kind":"%b' % kind in line for kind in (b"raft-", b"node-started", b"node-stopped")):
            one = parse_line(line)
            quorum.append(TimedEvent(len(quorum), one.time_ns, one.node, one.incarnation, one.event))
    return Recorded(experiment, tables[0], quorum)


def _with(table: pa.Table, name: str, values: np.ndarray) -> pa.Table:
    at = table.schema.get_field_index(name)
    return table.set_column(at, table.schema.field(name), pa.array(values, pa.int64()))


def expected(path: Path) -> Iterator[tuple[dict[str, str], frozenset[str]]]:
    """Switch values of a file, each with the anomalies that it expects."""
    entries = load_experiment(path).spec.expect
    yield from ((entry.when, frozenset(entry.anomalies)) for entry in entries)
    if not entries:
        yield {}, frozenset()


SAMPLE: Final = (
    ("kafka-7362/kraft-moved-away", {}),
    ("kafka-7362/zookeeper-created-again", {}),
    ("raft/zombie-leader", {}),
    *((("random/topics-come-and-go", {}),) if THOROUGH else ()),
)
"""Of these the false findings of each check that compares nodes are known (:func:`test_the_sample_can_fail`)."""

OPENS_A_STEP: Final = {"truncation": "to-high-watermark"}
"""With this switch a follower truncates further than the specification permits. Whether ``model-step`` can know depends
on which of two nodes is heard of first."""
SLOW: Final = ("long-run", "metadata-reads")
# Else each worker would read all files.
GOOD: Final = [
    *(pytest.param(name, when, None, id=name) for name, when in SAMPLE),
    *(
        pytest.param(name, when, seed, marks=pytest.mark.thorough, id=f"{name}-{when}-{seed}")
        for path in (sorted((*SCENARIOS.glob("*/*.yaml"), *DIRECTED.glob("*.yaml"))) if THOROUGH else ())
        if path.parent.name != "apache-kafka" and path.stem not in SLOW
        for name in [os.path.relpath(path.with_suffix(""), SCENARIOS)]
        for when, anomalies in expected(path)
        if not anomalies and when != OPENS_A_STEP
        for seed in ((None, 11, 12) if path.parent.name == "random" else (None,))
        if (name, when, seed) not in [(*one, None) for one in SAMPLE]
    ),
]


@pytest.mark.quick("kafka-7362/zookeeper")
@pytest.mark.parametrize(("name", "when", "seed"), GOOD)
def test_a_good_run_shows_nothing_if_a_clock_is_off(name: str, when: dict[str, str], seed: int | None) -> None:
    recorded = record(name, seed, when)
    good, of_quorum = recorded.judge(), recorded.judge_quorum({})
    if good.verdict == "fail":
        pytest.skip("this seed's run shows something without any shift")
    for which, shifted in recorded.shifts(SHIFT_MS):
        for errors in allowances(which):
            run_verdict = shifted.judge(errors)
            assert run_verdict.verdict != "fail", f"{which}, {errors}: {run_verdict.reasons}"
            assert shifted.judge_quorum(errors) <= of_quorum, which


@pytest.mark.thorough
def test_the_sample_can_fail() -> None:
    """If the recording says that all clocks are exact, the same shifts are findings."""
    wanted = {"isr-incomplete", "live-partition-deleted", "model-step", "raft-commit-majority", "epoch-inflation"}
    wanted |= {"deleted-topic-records", "hw-regression", "stray-partition", "two-leaders"}
    for name, when in SAMPLE:
        recorded = record(name, None, when)
        of_quorum = recorded.judge_quorum({})
        for _, shifted in recorded.shifts(SHIFT_MS):
            wanted -= {*shifted.judge().anomalies} | (shifted.judge_quorum({}) - of_quorum)
            if not wanted:
                return
    pytest.fail(f"no shift shows {sorted(wanted)}")


BAD_SAMPLE: Final = ("kafka-7362/kraft-moved-away", "kip-903/kafka-14139", "zookeeper/leader-returns-first")
BAD: Final = [
    pytest.param(
        name,
        when,
        marks=() if name in BAD_SAMPLE else pytest.mark.thorough,
        id=f"{name}-{when}",
    )
    for path in sorted(SCENARIOS.glob("*/*.yaml"))
    if path.parent.name != "apache-kafka" and path.stem not in SLOW
    for name in [str(path.relative_to(SCENARIOS).with_suffix(""))]
    if THOROUGH or name in BAD_SAMPLE
    for when, anomalies in expected(path)
    if anomalies
]


@pytest.mark.quick("zookeeper/leader-returns-first")
@pytest.mark.parametrize(("name", "when"), BAD)
def test_what_is_wrong_is_still_found(name: str, when: dict[str, str]) -> None:
    recorded = record(name, None, when)
    if recorded.judge().verdict != "fail":
        pytest.skip("the tables do not show what is wrong here: the harness or the simulator itself saw it")
    missed = {
        which: shifted.judge(errors).reasons
        for which, shifted in recorded.shifts(SHIFT_MS)
        for errors in allowances(which)
        if shifted.judge(errors).verdict != "fail"
    }
    assert not missed


def test_exact_clocks_change_nothing() -> None:
    recorded = record("kip-903/kafka-14139", None, {"replica-epoch-check": "off"})
    exact = recorded.judge(None)
    assert exact.verdict == "fail"
    assert exact == recorded.judge({}) == recorded.judge({"broker-0": 0, "*": 0})


def test_a_store_and_each_unit_alone_come_to_the_same(tmp_path: Path) -> None:
    recorded = record("kip-903/kafka-14139", None, {"replica-epoch-check": "off"})
    shifted = recorded.shifted("broker-1", SHIFT_MS)
    settings = msgspec.structs.replace(shifted.tables.settings, clock_errors_ns={"*": ERROR_MS * MS})
    tables = replace(shifted.tables, settings=settings)
    checks = tuple(shifted.experiment.spec.checks)
    judged = check_run(tables, checks)
    assert judged.verdict == "fail"
    assert check_stored(open_stored_run(write_units(tables, tmp_path, checks))) == judged
    facts, units = split(tables)
    assert merge(facts, [check_partition(unit, checks) for unit in units], checks) == judged
