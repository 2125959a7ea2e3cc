"""``highwater shrink``: what it writes and says, and which runs it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

FAILING = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: failing}
spec:
  seed: 1
  timeout: 1m
  cluster:
    brokers: 3
    controllers: 1
    switches: {replica-epoch-check: "off"}
    topics: [{name: orders, partitions: 1, replicationFactor: 2}]
  workload: {producers: 1, rate: 10/s, consumers: 0}
  schedule:
    - random: {for: 4s, every: 400ms, lasting: 2s, faults: {powerLoss: 1}, targets: [brokers], spare: none}
"""


@pytest.mark.thorough
def test_a_failing_run_becomes_a_file_that_fails_as_it_says(highwater: Any) -> None:
    assert highwater("run", highwater.write("failing.yaml", FAILING)).status == 1
    (run,) = (highwater.folder / "runs").iterdir()
    done = highwater("shrink", run, "--runs", "30", "--json")
    assert (done.status, done.json["anomaly"]) == (0, "lost-write")
    assert done.json["after"]["steps"] < done.json["before"]["steps"]
    assert done.json["runs"] <= 30
    shrunk = highwater("run", run / "shrunk.yaml", "--out", "again")
    assert shrunk.status == 0, shrunk.out
    assert "FAIL as expected: failing-shrunk" in shrunk.out
    plain = highwater("shrink", run, "--runs", "4", "--out", "other.yaml")
    assert plain.status == 0
    assert "lost-write: " in plain.out
    assert "highwater run other.yaml" in plain.out
    assert (highwater.folder / "other.yaml").exists()
    for wanted, found in (("divergence", "lost-write"), ("nothing", "lost-write")):
        refused = highwater("shrink", run, "--anomaly", wanted)
        assert refused.status == 254
        assert f"--anomaly {wanted}: {run} shows {found}" in refused.err


def test_what_cannot_be_shrunk_is_refused(highwater: Any, tiny_run: Any) -> None:
    passed = highwater("shrink", tiny_run)
    assert passed.status == 254
    assert "expected a run with an anomaly, found the verdict 'pass'" in passed.err
    verdict = tiny_run / "verdict.json"
    recorded = json.loads(verdict.read_text(encoding="utf-8"))
    elsewhere = highwater.folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "verdict.json").write_text(json.dumps({**recorded, "backend": "local"}), encoding="utf-8")
    refused = highwater("shrink", elsewhere)
    assert refused.status == 254
    assert "was run on 'local'; only simulated runs can be shrunk" in refused.err
    assert highwater("shrink", "nowhere").status == 254
