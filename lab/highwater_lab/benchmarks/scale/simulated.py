"""The simulator with many partitions and always the same load: 2,600 records, one broker killed, 27 s of virtual time.

Three brokers, one controller, RF 3, one producer that spreads its records over all partitions, one consumer that reads
all of them. Each size runs in a process of its own; what is measured is its processor time, from the empty cluster to
the last check, and by phase.

What is equal at every size: the records that are acknowledged, the fault, the phases and their virtual time. The rate
is not. Once the cluster is whole again, a run asks each partition that was written to and has been silent for two
seconds for one more record: with 100/s, 15 of 100 partitions, and 679 of 1,000. These are records like all others, so
with equal rates the load grows with the partitions. The rate of each size is therefore the one with which all records,
these included, come to 2,600: what 1,000 partitions come to with 100/s. It is found by runs that do not count; they are
as deterministic as the one that does.

What partitions cost without any record stays in: their replicas are made, their leaders move, their ISRs change twice,
clients look them up, and everything is checked.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec

from highwater_lab.benchmarks.clusters import end_with_us
from highwater_lab.benchmarks.scale.partitions import say
from highwater_lab.benchmarks.scale.table import Table

RECORDS: Final = 2600
"""Acknowledged at every size."""
_TOLERANCE: Final = 0.01
_FIRST_RATE: Final = 100.0
_MOST_RUNS: Final = 8
_LOWEST_RATE: Final = 1.0

EXPERIMENT: Final = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: scale}}
spec:
  seed: 1
  timeout: 30m
  cluster:
    brokers: 3
    controllers: 1
    topics: [{{name: orders, partitions: {partitions}, replicationFactor: 3}}]
  workload: {{producers: 1, rate: {rate:.3f}/s, acks: all, consumers: 1}}
  schedule:
    - wait: 2s
    - inject: {{kill: {{target: {{broker: 0}}, restartAfter: 10s}}}}
    - wait: 20s
"""


class Simulated(msgspec.Struct, frozen=True):
    """What one size came to. Processor times in seconds."""

    verdict: str
    rate: float
    """Records a second that were asked for."""
    run_seconds: float
    """Of virtual time."""
    acknowledged: int
    probed: int
    """Those among them that the run asked silent partitions for, in the end."""
    phases: tuple[tuple[str, float], ...]
    judging: float
    mebibytes: float
    """The most that the process held."""

    @property
    def processor(self) -> float:
        """All of the run, without the verdict."""
        return sum(seconds for _, seconds in self.phases)


def measure(sizes: Sequence[int], codec: str, table: Table) -> bool:
    """Run each size; returns whether one of them did not pass, or had another load."""
    failed = False
    before: tuple[int, Simulated] | None = None
    for size in sorted(sizes):
        found = _with_equal_load(size, codec)
        if found is None:
            failed = True
            continue
        failed |= found.verdict != "pass"
        _add(table, size, found)
        if before is not None:
            smaller, one = before
            growth = found.processor / one.processor
            say(
                f"simulator, {smaller} to {size} partitions: {growth:.2f}x the processor time"
                f" for {one.acknowledged} and {found.acknowledged} records"
            )
            table.add("simulator", size, "growth since the size before", growth, "x", "100 to 1,000: ≤ 1.5x")
        before = size, found
    return failed


def _with_equal_load(size: int, codec: str) -> Simulated | None:
    """Run a size at the rate with which it acknowledges :data:`RECORDS`; None if a run fails or no rate does."""
    rate = _FIRST_RATE
    for _ in range(_MOST_RUNS):
        found = _in_a_process(size, rate, codec)
        if found is None:
            return None
        say(f"simulator, {size} partitions, {rate:.1f}/s: {found.verdict}, {found.acknowledged} records")
        if abs(found.acknowledged - RECORDS) <= _TOLERANCE * RECORDS:
            return found
        rate = max(_LOWEST_RATE, rate * RECORDS / max(1, found.acknowledged))
    say(f"simulator, {size} partitions: no rate was found with which {RECORDS} records are acknowledged")
    return None


def _in_a_process(size: int, rate: float, codec: str) -> Simulated | None:
    command = (
        *end_with_us(),
        sys.executable,
        "-m",
        "highwater_lab.benchmarks.scale.simulated",
        str(size),
        str(rate),
        codec,
    )
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        say(f"simulator, {size} partitions: the process ended with status {done.returncode}")
        return None
    return msgspec.json.decode(done.stdout, type=Simulated)


def _add(table: Table, size: int, found: Simulated) -> None:
    name = "simulator"
    table.add(name, size, "processor time of the run", found.processor, "s")
    for phase, seconds in found.phases:
        table.add(name, size, phase, seconds, "s", of="run")
    table.add(name, size, "processor time of the verdict", found.judging, "s")
    table.add(name, size, "memory, at most", found.mebibytes, "MiB")
    table.add(name, size, "virtual time", found.run_seconds, "s")
    table.add(name, size, "asked for", found.rate, "records/s")
    table.add(name, size, "acknowledged", float(found.acknowledged), "records")
    table.add(name, size, "asked of silent partitions", float(found.probed), "records", of="acknowledged")


def _run(size: int, rate: float, codec: str) -> Simulated:
    """In a process of its own."""
    # Imported here: the parent has no use for the harness.
    from highwater_chaos.backends import make_backend  # noqa: PLC0415
    from highwater_chaos.engine import run_experiment  # noqa: PLC0415
    from highwater_chaos.experiment import load_experiment  # noqa: PLC0415
    from highwater_chaos.run.summary import read_summary  # noqa: PLC0415
    from highwater_chaos.verdict.check import check_recordings  # noqa: PLC0415
    from highwater_chaos.verdict.checked_run import write_run  # noqa: PLC0415
    from highwater_chaos.verdict.verdict import verdict_of  # noqa: PLC0415
    from highwater_runtime.sim.garbage import freeze_collector  # noqa: PLC0415

    marks: list[tuple[str, float]] = []
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "scale.yaml"
        file.write_text(EXPERIMENT.format(partitions=size, rate=rate), encoding="utf-8")
        experiment = load_experiment(file)
        backend = make_backend("sim", wire=codec == "all")
        freeze_collector()
        result = run_experiment(experiment, backend, progress=lambda phase: marks.append((phase, time.process_time())))
        marks.append(("end", time.process_time()))
        out = Path(directory) / "run"
        out.mkdir()
        write_run(out, experiment, result, wire=codec == "all")
        summary = read_summary(out)
        assert summary is not None, "it was written just now"
        verdict = verdict_of(experiment, summary, check_recordings(experiment, out))
        judging = time.process_time() - marks[-1][1]
    phases: dict[str, float] = {}
    for (phase, began), (_, ended) in pairwise(marks):
        phases[phase] = phases.get(phase, 0.0) + ended - began
    why = (
        verdict["verdict"]
        if verdict["verdict"] == "pass"
        else f"{verdict['verdict']}: {verdict['inconclusive_reasons']}"
    )
    return Simulated(
        why,
        rate,
        result.run_ns / 1e9,
        result.acknowledged,
        sum(row.client == "probe" and row.type == "ok" for row in result.operations),
        tuple(phases.items()),
        judging,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("partitions", type=int)
    parser.add_argument("rate", type=float)
    parser.add_argument("codec")
    given = parser.parse_args()
    sys.stdout.buffer.write(msgspec.json.encode(_run(given.partitions, given.rate, given.codec)))
