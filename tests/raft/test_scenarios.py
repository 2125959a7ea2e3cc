"""The scenarios of the quorum come out as they say, with every switch value that they speak of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.experiment import load_experiment
from highwater_chaos.verdict.checked_run import run_and_forget

READS = ("deposed-leader-answers-reads", "read-held-on-slow-follower", "read-times-out")
"""``chaos/test_registers.py`` runs them, with both values of their switch."""
FILES = sorted((Path(__file__).parents[2] / "scenarios" / "raft").glob("*.yaml"))
OWN = {"pre-vote", "quorum-state-sync"}
CASES = [
    (path, entry.when)
    for path in FILES
    if path.stem not in READS
    for entry in load_experiment(path).spec.expect
    if set(entry.when) <= OWN
]


@pytest.mark.quick(
    "zombie-leader-{'pre-vote': 'off'}", "quorum-state-not-synced-{'quorum-state-sync': 'off'}", "two-prospective"
)
@pytest.mark.parametrize(("path", "switches"), CASES, ids=[f"{path.stem}-{when}" for path, when in CASES])
def test_as_expected(path: Path, switches: dict[str, str], fewer_records: Any) -> None:
    """It is the quorum that they are about."""
    experiment = load_experiment(path).with_seed_and_switches(None, switches)
    _, verdict = run_and_forget(fewer_records(experiment, 5), wire=False)
    assert verdict["asExpected"], verdict["expected"]["whyNot"]


@pytest.mark.parametrize("seed", [1, 10])
def test_the_voter_that_forgets_its_vote_is_found_at_other_seeds_too(seed: int, fewer_records: Any) -> None:
    """Whichever controller leads at first, the file brings about the leader that it needs."""
    (path,) = [one for one in FILES if one.stem == "quorum-state-not-synced"]
    experiment = load_experiment(path).with_seed_and_switches(seed, {"quorum-state-sync": "off"})
    _, verdict = run_and_forget(fewer_records(experiment, 5), wire=False)
    assert verdict["asExpected"], verdict["expected"]["whyNot"]


def test_what_a_switch_turned_off_is_found_under() -> None:
    anomalies = {
        name: {
            anomaly
            for path in FILES
            for entry in load_experiment(path).spec.expect
            for anomaly in entry.anomalies
            if entry.when.get(name) == "off"
        }
        for name in OWN
    }
    assert anomalies == {
        "pre-vote": {"epoch-inflation", "stable-leadership"},
        "quorum-state-sync": {"raft-election-safety"},
    }
