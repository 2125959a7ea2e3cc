"""A partition whose tables and columns are larger than the memory that a process may have is judged all the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from highwater_lab.benchmarks import histories

ALLOWED = 64 << 20
"""Bytes that judging may take. The tables of the partition are twice that, and what checks make of them is more."""

JUDGE = f"""
import resource, sys
from dataclasses import replace
from pathlib import Path
import pyarrow
from highwater_pipeline.arrow import columns, view
from highwater_pipeline.partitions import store
from highwater_pipeline.in_process import check_stored
from highwater_pipeline.partitions.store import stored_runs

# Each thread has a stack, and how many there are at once depends on the machine's load.
pyarrow.set_cpu_count(1)
pyarrow.set_io_thread_count(1)
view.CHUNK, columns.KEPT, store.KEPT, store.LARGE = int(sys.argv[2]), 8 << 20, 8 << 20, 1 << 14
checks = ("lost-write", "duplicate", "poll-skip", "nonmonotonic-send", "divergence", "sequence-gap", "committed-loss")
few, many = (replace(run, checks=checks) for run in stored_runs(Path(sys.argv[1])))
check_stored(few)  # whatever is loaded and started once
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
limit = int(status["VmData"].split()[0]) * 1024 + {ALLOWED}
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
run_verdict = check_stored(many)
print({{name: report.count for name, report in run_verdict.anomalies.items()}})
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("large")
    histories.write_store(directory, 5_000, partitions=1, run_id="few")
    histories.write_store(directory, 400_000, partitions=1, run_id="many")
    return directory


def _judged(store: Path, chunk: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", JUDGE, str(store), str(chunk)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_DATA counts what a process allocates on Linux alone")
def test_a_partition_larger_than_memory(large: Path) -> None:
    judged = _judged(large, 1 << 14)
    assert judged.returncode == 0, judged.stderr
    found = {"lost-write": 5, "duplicate": 5, "poll-skip": 5, "nonmonotonic-send": 5, "divergence": 5}
    assert judged.stdout.strip() == str(found)
    # The limit means something: the same, all at once, does not fit; and that is an error, not a pass.
    at_once = _judged(large, 1 << 30)
    assert at_once.returncode != 0
    assert "MemoryError" in at_once.stderr or "malloc" in at_once.stderr, at_once.stderr
