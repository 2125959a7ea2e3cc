"""Holes that a switch opens in ZooKeeper mode: the run finds each one, and nothing where it is closed."""

from __future__ import annotations

from pathlib import Path

import pytest

from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import load_experiment
from highwater_chaos.judged_run import judge_recordings, write_run
from highwater_chaos.run_summary import read_summary
from highwater_chaos.verdict import verdict_of

SCENARIOS = Path(__file__).parents[2] / "scenarios"


@pytest.mark.parametrize(
    ("scenario", "switch", "value", "anomalies"),
    [
        ("zookeeper/isr-expansion", "isr-expansion-rule", "as-printed", {"lost-write", "committed-loss"}),
        ("zookeeper/isr-expansion", "isr-expansion-rule", "caught-up", set()),
        ("kafka-7362/zookeeper-moved-away", "stray-cleanup", "off", {"stray-partition"}),
        ("kafka-7362/zookeeper-moved-away", "stray-cleanup", "on", set()),
        ("kafka-7362/zookeeper-created-again", "stray-cleanup", "off", {"stray-partition", "deleted-topic-records"}),
        ("kafka-7362/zookeeper-created-again", "stray-cleanup", "on", set()),
        ("zookeeper/unclean-election", "unclean-leader-election", "on", {"lost-write", "committed-loss"}),
        ("log/unclean-election", "unclean-leader-election", "on", {"lost-write", "committed-loss"}),
        ("log/unclean-election", "unclean-leader-election", "off", set()),
    ],
)
def test_the_run_finds_what_the_switch_opens(
    scenario: str, switch: str, value: str, anomalies: set[str], tmp_path: Path
) -> None:
    experiment = load_experiment(SCENARIOS / f"{scenario}.yaml").with_seed_and_switches(None, {switch: value})
    write_run(tmp_path, experiment, run_experiment(experiment, SimBackend()), wire=False)
    summary = read_summary(tmp_path)
    assert summary is not None
    judged = verdict_of(experiment, summary, judge_recordings(experiment, tmp_path))
    assert judged["verdict"] == ("fail" if anomalies else "pass"), judged["inconclusiveReasons"]
    assert anomalies <= set(judged["anomalies"])
