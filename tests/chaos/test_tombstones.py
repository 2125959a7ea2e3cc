"""Tombstones: they stay for their time, and what they deleted does not come back."""

from __future__ import annotations

from typing import Any

import pytest

from highwater_chaos.experiment import parse_experiment
from highwater_chaos.verdict.checked_run import run_and_forget
from highwater_lab.mutants import Mutant, applied

EXPERIMENT = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: tombstones}}
spec:
  seed: 1
  timeout: 4m
  cluster:
    mode: {mode}
    brokers: 3
    config: {{min.insync.replicas: 2, log.retention.check.interval.ms: 1000}}
    topics:
      - name: orders
        partitions: 1
        replicationFactor: 3
        config: {{cleanup.policy: compact, segment.bytes: 2000, delete.retention.ms: {retention}}}
  workload: {{producers: 2, rate: 40/s, consumers: 1, tombstones: 0.3, keys: 2000}}
  schedule: [{{wait: 30s}}]
  checks: {checks}
"""


def _verdict(mode: str, retention: int, *, checks: str = "[all]") -> dict[str, Any]:
    return run_and_forget(
        parse_experiment(EXPERIMENT.format(mode=mode, retention=retention, checks=checks), "tombstones.yaml"),
        wire=False,
    )[1]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("mode", "retention"), [("kraft", 86_400_000), ("kraft", 8000), ("kraft", 0), ("zookeeper", 8000)]
)
def test_a_sound_cleaner_is_not_blamed(mode: str, retention: int) -> None:
    verdict = _verdict(mode, retention)
    assert (verdict["verdict"], verdict["anomalies"]) == ("pass", {}), verdict["reasons"]
    removed = verdict["removed"]["compaction"]
    assert removed > 100
    assert removed > (400 if retention < 86_400_000 else 0), "tombstones that are over go too"


KEPT = "log.compaction:kept_records"
NOTED = "log.compaction:Compaction._note_keys"
BROKEN = {
    "tombstones go at once": (86_400_000, KEPT, "horizon is not None and horizon <= now_ms", "True"),
    "older records of some keys stay, and tombstones go": (
        3000,
        KEPT,
        "replaced = last is not None and record.offset < last",
        "replaced = last is not None and record.offset < last and (record.key or b'')[-1:] not in b'357'",
    ),
    "a value goes with the tombstone before it": (
        86_400_000,
        NOTED,
        "self._last_of[record.key] = record.offset",
        "gone = record.value is None or self._last_of.get(record.key) == 1 << 60\n"
        "                        self._last_of[record.key] = 1 << 60 if gone else record.offset",
    ),
}


@pytest.mark.quick("a value goes with the tombstone before it-kraft")
@pytest.mark.parametrize("mode", ["kraft", "zookeeper"])
@pytest.mark.parametrize("what", BROKEN)
def test_a_cleaner_that_breaks_a_rule_is_found(what: str, mode: str) -> None:
    """By the dumps, as it would be on real processes; the simulator's invariant is left out."""
    retention, where, old, new = BROKEN[what]
    with applied(Mutant("tombstones", where, old, new, what)):
        verdict = _verdict(mode, retention, checks="[committed-loss]")
    assert verdict["verdict"] == "fail"
    stories = [example["story"] for example in verdict["anomalies"]["committed-loss"]["examples"]]
    assert ("still has record" in stories[0]) == (retention == 3000), stories[0]
