"""One seed, one run: byte for byte, in any process and under any hash seed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HIGHWATER = Path(sys.executable).with_name("highwater")
RECORDED = (
    *("history/operations.jsonl", "events/nodes.jsonl", "dumps/replica_log.jsonl", "faults.jsonl", "phases.jsonl"),
    "metrics/samples.parquet",
)
ASSERTION = """\
  assertions:
    - {name: one-leads, promql: sum(kafka_controller_kafkacontroller_activecontrollercount) == 1, during: steady}
"""

RANDOM = """
    - random:
        for: 3s
        every: 500ms
        lasting: 2s
        faults: {powerLoss: 2, kill: 1, partition: 2, pause: 1, sessionExpiry: 1}
"""


@pytest.fixture(scope="module")
def eventful(tiny: str) -> str:
    """An experiment in which everything random that a run has is drawn."""
    text = tiny.replace("brokers: 2", "brokers: 3").replace("controllers: 1", "controllers: 3")
    text = text.replace("partitions: 1", "partitions: 3").replace("producers: 1", "producers: 2")
    text = text.replace("timeout: 1m", "timeout: 3m")
    start, end = text.index("    - inject:"), text.index("  expect:")
    return text[:start] + RANDOM.lstrip("\n") + ASSERTION + text[end:]


def run(folder: Path, text: str, hash_seed: str, *options: str) -> Path:
    folder.mkdir()
    (folder / "experiment.yaml").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [HIGHWATER, "run", "experiment.yaml", "--out", "out", "--json", *options],
        cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / json.loads(done.stdout)["runs"][0]["dir"]


def recording(directory: Path) -> dict[str, bytes]:
    found = {name: (directory / name).read_bytes() for name in RECORDED}
    verdict = json.loads((directory / "verdict.json").read_text(encoding="utf-8"))
    del verdict["timing"]["wallSeconds"], verdict["runId"]
    return {**found, "verdict": json.dumps(verdict).encode()}


def test_equal_seeds_are_equal_runs_and_others_are_not(tmp_path: Path, eventful: str) -> None:
    first = recording(run(tmp_path / "a", eventful, "0", "--seed", "5"))
    second = recording(run(tmp_path / "b", eventful, "4242", "--seed", "5"))
    assert all(first.values())
    assert b'"one-leads"' in first["verdict"]
    for name, content in first.items():
        assert content == second[name], f"{name} differs between two processes"
    other = recording(run(tmp_path / "c", eventful, "0", "--seed", "6"))
    for name, content in first.items():
        assert content != other[name], f"{name} is the same under another seed"
