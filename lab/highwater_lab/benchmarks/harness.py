"""The harness under load: what it offers, what that costs it, and whether it can still judge what it saw.

    python -m highwater_lab.benchmarks.harness --rate 4000 --seconds 60
    python -m highwater_lab.benchmarks.harness --rate 10000 --seconds 600 --driver confluent-kafka --producers 8

Runs one experiment on ``--backend local``: twelve partitions, one broker loses power in the middle. While it runs,
processor time and memory are read from ``/proc``: of the harness's own process, of the clients, of the nodes. Prints
them over time, the peaks, and what the verdict says was asked, offered and acknowledged.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

EXPERIMENT = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: harness-load}}
spec:
  seed: 7
  timeout: {timeout}s
  cluster:
    brokers: 3
    controllers: 1
    config: {{min.insync.replicas: 2}}
    topics: [{{name: orders, partitions: {partitions}, replicationFactor: 3}}]
  workload: {{driver: {driver}, producers: {producers}, rate: {rate}/s, consumers: {consumers}}}
  schedule:
    - wait: {before}s
    - inject: {{powerLoss: {{target: {{leaderOf: orders-0}}, restartAfter: 2s}}}}
    - wait: {after}s
"""
TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


class Cost(NamedTuple):
    """What one process has used so far."""

    seconds: float
    bytes: int


def main() -> int:
    """Measure one run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=4000, help="records a second, of all producers together")
    parser.add_argument("--seconds", type=int, default=60, help="of the schedule")
    parser.add_argument("--producers", type=int, default=4)
    parser.add_argument("--consumers", type=int, default=1)
    parser.add_argument("--partitions", type=int, default=12)
    parser.add_argument("--driver", default="highwater")
    parser.add_argument("--every", type=float, default=5.0, help="seconds between rows")
    parser.add_argument("--out", type=Path, help="where to keep the run directory")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="highwater-harness-") as scratch:
        file = Path(scratch) / "harness-load.yaml"
        half = given.seconds // 2
        file.write_text(
            EXPERIMENT.format(
                timeout=3 * given.seconds + 300,
                partitions=given.partitions,
                driver=given.driver,
                producers=given.producers,
                consumers=given.consumers,
                rate=given.rate,
                before=half,
                after=given.seconds - half,
            )
        )
        return measure(file, given.out or Path(scratch) / "runs", given.every)


def measure(file: Path, out: Path, every: float) -> int:
    """Run the file, printing a row every so many seconds."""
    program = Path(sys.executable).with_name("highwater")
    command = [str(program), "run", str(file), "--backend", "local", "--json"]
    errors, answer = file.with_suffix(".stderr"), file.with_suffix(".stdout")
    with errors.open("wb") as stderr, answer.open("wb") as stdout:
        harness = subprocess.Popen([*command, "--out", str(out)], stdout=stdout, stderr=stderr)
    began = time.monotonic()
    before: dict[int, Cost] = {}
    peaks: defaultdict[str, int] = defaultdict(int)
    totals: defaultdict[str, float] = defaultdict(float)
    roles: dict[int, str] = {}
    next_row, since, used = began + every, began, defaultdict[str, float](float)
    print("      s | harness  CPU    MiB | clients  CPU    MiB |   nodes  CPU    MiB | progress")
    try:
        while harness.poll() is None:
            time.sleep(0.5)
            now_bytes: defaultdict[str, int] = defaultdict(int)
            for pid, cost in costs(harness.pid, roles):
                role = roles[pid]
                now_bytes[role] += cost.bytes
                spent = cost.seconds - before.get(pid, Cost(0, 0)).seconds
                used[role] += spent
                totals[role] += spent
                before[pid] = cost
            for role, total in now_bytes.items():
                peaks[role] = max(peaks[role], total)
            if time.monotonic() >= next_row:
                now = time.monotonic()
                cells = [
                    f"{100 * used[role] / (now - since):7.0f} %  {now_bytes[role] >> 20:5}     "
                    for role in ("harness", "clients", "nodes")
                ]
                print(f"{now - began:7.1f} | {'| '.join(cells)}| {last_line(errors)}", flush=True)
                next_row, since, used = now + every, now, defaultdict(float)
    finally:
        if harness.poll() is None:
            harness.terminate()
        harness.wait()
    print(errors.read_text())
    for role in ("harness", "clients", "nodes"):
        print(f"{role:8} {totals[role]:7.1f} s of processor time, {peaks[role] >> 20} MiB at most")
    for run in json.loads(answer.read_text())["runs"]:
        report(Path(run["dir"]))
    return harness.returncode


def last_line(path: Path) -> str:
    """Return the last 60 characters of the last line; an empty string if there is none."""
    lines = path.read_text().splitlines()
    return lines[-1][-60:] if lines else ""


def report(directory: Path) -> None:
    """What the verdict says."""
    verdict = json.loads((directory / "verdict.json").read_text())
    print(f"verdict {verdict['verdict']}: {'; '.join(verdict['reasons'])[:400]}")
    print(f"acknowledged {verdict['acknowledged']}, load {verdict.get('load')}")
    print(f"timing {verdict['timing']['phases']}")


def costs(harness: int, roles: dict[int, str]) -> Iterator[tuple[int, Cost]]:
    """Every process below the harness, and itself. ``roles`` is filled in."""
    found = {
        pid: stat
        for pid in map(int, filter(str.isdigit, (entry.name for entry in Path("/proc").iterdir())))
        if (stat := _stat(pid))
    }
    ours = {harness}
    for _ in range(4):
        ours |= {pid for pid, (parent, _) in found.items() if parent in ours}
    for pid in sorted(ours & set(found)):
        if pid not in roles:
            roles[pid] = "harness" if pid == harness else _role(pid)
        yield pid, found[pid][1]


def _stat(pid: int) -> tuple[int, Cost] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields: list[Any] = text.rpartition(")")[2].split()
    return int(fields[1]), Cost((int(fields[11]) + int(fields[12])) / TICK, int(fields[21]) * PAGE)


def _role(pid: int) -> str:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return "gone"
    if b"host.main" in command:
        return "nodes"
    return "clients" if b"workload" in command else "other"


if __name__ == "__main__":
    sys.exit(main())
