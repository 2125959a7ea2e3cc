"""A machine loses power after its node was cleanly stopped: what the stop did not make durable is gone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from highwater_chaos.backends.local.isolated import local_backend
from highwater_chaos.backends.protocol import Backend
from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.run.result import RunResult

STOPPED = """
- inject: {name: halted, stop: {target: {broker: 1}}}
- inject: {name: dark, powerLoss: {target: {broker: 1}, keep: none}}
- wait: 500ms
- heal: all
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- await: {underReplicated: 0, within: 60s}
"""


def run(experiment: Callable[..., ChaosExperiment], backend: Backend) -> RunResult:
    result = run_experiment(experiment(STOPPED), backend)
    assert result.inconclusive_reasons == []
    stopped = [line for line in result.event_lines if b'"node-stopped"' in line and b'"broker-1"' in line]
    assert [b'"reason":"stop"' in stopped[0], b'"reason":"power-loss"' in stopped[1]] == [True, True]
    (power,) = (record for record in result.faults if record.kind == "powerLoss")
    assert power.confirmed
    assert any("unsynced bytes" in item.what for item in power.inject_evidence)
    return result


def test_in_the_simulator(experiment: Callable[..., ChaosExperiment]) -> None:
    run(experiment, SimBackend())


def test_what_was_written_after_the_last_flush_is_lost(experiment: Callable[..., ChaosExperiment]) -> None:
    """A stop that flushes nothing would be found: its bytes are gone with the power."""

    class ForgetsToFlush(SimBackend):
        def power_loss(self, node: str, keep, *, wipe: bool = False):  # type: ignore[no-untyped-def]
            assert not self.simulator.node(node).is_alive
            self.simulator.node(node).disk.open("unsynced", create=True).append(b"7 bytes")
            return super().power_loss(node, keep, wipe=wipe)

    result = run(experiment, ForgetsToFlush())
    (power,) = (record for record in result.faults if record.kind == "powerLoss")
    assert any(item.data.get("lostBytes") == 7 for item in power.inject_evidence)


@pytest.mark.thorough
@pytest.mark.whole_machine
def test_on_real_disks(experiment: Callable[..., ChaosExperiment], state: Path) -> None:
    run(experiment, local_backend())
