"""What a log had flushed is there after every stop. A log that has less is found, however well recovery calls it."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import parse_experiment
from highwater_chaos.verdict.checked_run import check_and_forget
from highwater_lab.mutants import Mutant, applied

EXPERIMENT = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: flushed}}
spec:
  seed: {seed}
  timeout: 5m
  checks: [model-step]
  cluster:
    brokers: 3
    config: {{log.flush.interval.messages: 3}}
    topics: [{{name: orders, assignment: [[0, 1, 2]]}}]
  workload: {{producers: 1, rate: 15/s}}
  schedule:
    - wait: 3s
    - inject: {{{fault}}}
    - wait: 3s
    - inject: {{stop: {{target: {{broker: 1}}, restartAfter: 1s}}}}
    - wait: 2s
"""
POWER_LOSS = "powerLoss: {target: {broker: 2}, keep: none, restartAfter: 1s}"
WIPED = "diskWipe: {target: {broker: 2}, restartAfter: 1s}"
CHAIN, LOADER = "log.segments:SegmentChain", "log.recovery:Loader"
LESS = [
    (f"{CHAIN}.unflushed_files", "files.append(segment.file)", "files.append(segment.offset_index.open())"),
    (f"{LOADER}._scan", "!= batch.crc:", "!= batch.crc or position + size == segment.size:"),
    (f"{LOADER}._scan", "while position < segment.size:", "while position < segment.size // 2:"),
]
"""Only indexes are flushed; recovery cuts the last batch, in good order; or it reads only half of a file."""


def _checked(fault: str, *mutant: str, seed: int = 1) -> tuple[str, list[str]]:
    experiment = parse_experiment(EXPERIMENT.format(seed=seed, fault=fault), "flushed.yaml")
    where, old, new = mutant or ("", "", "")
    with applied(Mutant("broken", where, old, new, "what was flushed is kept")) if mutant else nullcontext():
        result = run_experiment(experiment, SimBackend(watch_invariants=False))
    verdict = check_and_forget(experiment, result, wire=False)
    found = verdict["anomalies"].get("model-step", {"examples": []})["examples"]
    return verdict["verdict"], [example["story"] for example in found]


@pytest.mark.quick("powerLoss")
@pytest.mark.parametrize("fault", [POWER_LOSS, WIPED, WIPED.replace("diskWipe", "kill")])
def test_an_unclean_stop_leaves_what_was_flushed(fault: str) -> None:
    assert _checked(fault) == ("pass", [])


@pytest.mark.quick("mutant0")
@pytest.mark.parametrize("mutant", LESS)
def test_a_log_that_has_less_than_it_had_flushed_is_found(mutant: tuple[str, str, str]) -> None:
    verdict, stories = _checked(POWER_LOSS, *mutant)
    assert verdict == "fail"
    assert any("a log that was flushed up to" in story for story in stories), stories
