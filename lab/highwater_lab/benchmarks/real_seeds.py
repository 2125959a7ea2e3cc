"""Experiments of ``campaign random`` on real processes of this machine, as root: do real kernels and disks agree?

    python -m highwater_lab.benchmarks.real_seeds [--seeds 1..20] [--apache-kafka] [--out DIR]

Each seed draws the experiment that ``campaign random`` draws. It is run with the backend ``local``, judged, and kept
below ``--out``. One line a seed: verdict, anomalies, records, seconds of real time, and why it is inconclusive.

``--apache-kafka`` runs the same on Apache Kafka, in KRaft mode, without faults that need our nodes, without readers of
metadata (they judge what only our nodes answer), and without segments smaller than it allows.

Real time is not drawn: the same seed is another run each time.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any, Final

from highwater_chaos.campaign.draw import draw_data
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.schedule.capability import BackendCannotError
from highwater_chaos.verdict.checked_run import run_and_check
from highwater_runtime.seeds import derive_random

_NEED_OUR_NODES: Final = {"sessionExpiry", "diskStall", "clockSkew", "hold", "drop", "delay", "duplicate"}
_OTHER_IN_KAFKA: Final = ("log.segment.bytes", "offsets.topic.segment.bytes", "leader.imbalance.check.interval.ms")
"""Kafka 4 refuses segments below 1 MiB, and measures the last one in seconds."""
_DEFAULTS: Final = {"replica.lag.time.max.ms": 30_000, "replica.fetch.wait.max.ms": 500}


def drawn(seed: int, *, apache_kafka: bool) -> ChaosExperiment | None:
    """The experiment of a seed; None if no fault is left of it."""
    data = draw_data(derive_random(seed, "campaign"), seed, "kraft" if apache_kafka else "")
    return ChaosExperiment.model_validate(data) if not apache_kafka or _for_apache_kafka(data) else None


def _for_apache_kafka(data: dict[str, Any]) -> bool:
    cluster, (parallel, *_) = data["spec"]["cluster"], data["spec"]["schedule"]
    cluster["runtime"] = "apache-kafka"
    data["spec"]["workload"].pop("metadata", None)
    config = cluster["config"]
    lag, wait = (config.get(name, _DEFAULTS[name]) for name in _DEFAULTS)
    config["replica.fetch.wait.max.ms"] = min(wait, lag)  # Kafka does not start with a longer one
    for name in _OTHER_IN_KAFKA:
        cluster["config"].pop(name, None)
    for (step,) in parallel["parallel"]:
        for kind in _NEED_OUR_NODES & step["random"]["faults"].keys():
            del step["random"]["faults"][kind]
    parallel["parallel"] = [branch for branch in parallel["parallel"] if branch[0]["random"]["faults"]]
    return bool(parallel["parallel"])


def main() -> int:
    """Print one line a seed. Exit status 1 if an anomaly was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1..20", help="first and last, as 1..20")
    parser.add_argument("--apache-kafka", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("runs/real-seeds"))
    given = parser.parse_args()
    first, _, last = given.seeds.partition("..")
    found = False
    for seed in range(int(first), int(last or first) + 1):
        experiment = drawn(seed, apache_kafka=given.apache_kafka)
        if experiment is None:
            print(f"{seed:6} no fault that Apache Kafka's nodes can have", flush=True)
            continue
        began = time.monotonic()
        try:
            done = run_and_check(experiment, "local", given.out, lambda _phase: None, varied={}, wire=False)
        except BackendCannotError as error:
            print(f"{seed:6} refused: {error}", flush=True)
            continue
        verdict = done.verdict
        found |= verdict["verdict"] == "fail"
        what = ", ".join([*verdict["anomalies"], *verdict["inconclusiveReasons"]])
        took = time.monotonic() - began
        print(f"{seed:6} {verdict['verdict']:12} {verdict['acknowledged']:6} {took:6.0f} s  {what}", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
