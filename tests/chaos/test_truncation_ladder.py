"""The switch ``truncation`` through the whole harness: the cases of KAFKA-6361 with each protocol, to the offset.

Every message goes through the codec, so each protocol can say all that it needs in the versions of its release.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from highwater_chaos.backends import make_backend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import load_experiment
from highwater_chaos.report.leader_changes import last_epochs, leader_changes
from highwater_chaos.run.summary import read_summary
from highwater_chaos.verdict.check import check_recordings
from highwater_chaos.verdict.checked_run import write_run
from highwater_chaos.verdict.verdict import verdict_of

SCENARIOS = Path(__file__).parents[2] / "scenarios/kafka-6361"


N_CASES = [
    ("n-below-20", "as-1.1.1", 16, None, "unavailable"),
    ("n-is-20", "as-1.1.1", 21, None, "divergence"),
    ("n-above-20", "as-1.1.1", 31, 11, "replica-incomplete"),
    ("n-below-20", "by-leader-epoch", 16, None, "unavailable"),
    ("n-is-20", "by-leader-epoch", 21, None, "divergence"),
    ("n-above-20", "by-leader-epoch", 31, 11, None),
    ("n-below-20", "by-exact-leader-epoch", 16, 11, None),
    ("n-is-20", "by-exact-leader-epoch", 21, 11, None),
    ("n-above-20", "by-exact-leader-epoch", 31, 11, None),
    ("n-below-20", "fenced", 16, 11, None),
    ("n-is-20", "fenced", 21, 11, None),
    ("n-above-20", "fenced", 31, 11, None),
]


@pytest.mark.quick(
    "kraft-n-is-20-as-1.1.1",
    "zookeeper-n-above-20-fenced",
    "kraft-two-failures-to-high-watermark",
)
@pytest.mark.parametrize(
    ("case", "protocol", "before", "cut_to", "anomaly"),
    [
        *((f"{mode}-{case}", *rest) for mode in ("kraft", "zookeeper") for case, *rest in N_CASES),
        ("kraft-two-failures", "to-high-watermark", 0, None, "committed-loss"),
        ("kraft-two-failures", "by-leader-epoch", 20, None, None),
    ],
)
def test_what_broker_1_does(
    tmp_path: Path, case: str, protocol: str, before: int, cut_to: int | None, anomaly: str | None
) -> None:
    experiment = load_experiment(SCENARIOS / f"{case}.yaml").with_seed_and_switches(None, {"truncation": protocol})
    write_run(tmp_path, experiment, run_experiment(experiment, make_backend("sim", wire=True)), wire=True)
    summary = read_summary(tmp_path)
    assert summary is not None
    judged = verdict_of(experiment, summary, check_recordings(experiment, tmp_path))
    assert judged["verdict"] == ("fail" if anomaly else "pass"), judged["inconclusiveReasons"]
    assert anomaly is None or anomaly in judged["anomalies"]
    events = map(json.loads, (tmp_path / "events/nodes.jsonl").read_text(encoding="utf-8").splitlines())
    rows = {row.broker: row for row in last_epochs(leader_changes(events))}
    assert (rows[1].before, rows[1].cut_to) == (before, cut_to)
