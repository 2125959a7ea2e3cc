"""A machine that refuses makes a run inconclusive with its words, and never ends the harness."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from highwater_chaos.backends.local.acting import asked
from highwater_chaos.backends.protocol import BackendError
from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.machine.errors import MachineError

CUT = "- inject: {name: cut, partition: {between: [{broker: 0}, {broker: 1}]}}\n- wait: 1s\n- heal: cut"


class CannotCut(SimBackend):
    def cut(self, cut: str, source: str, destination: str, until_ns: int | None = None) -> None:
        raise BackendError(f"cut: nft refuses {source}")


class CannotJoin(SimBackend):
    def uncut(self, cut: str) -> None:
        raise BackendError(f"uncut: nft refuses {cut}")


def test_a_fault_that_the_machine_refuses(experiment: Callable[..., ChaosExperiment]) -> None:
    result = run_experiment(experiment(CUT), CannotCut())
    assert result.inconclusive_reasons == ["fault fault-1 (cut) did not take hold: cut: nft refuses broker-0"]
    assert result.replica_log, "the run went on to its end"


def test_a_heal_that_the_machine_refuses(experiment: Callable[..., ChaosExperiment]) -> None:
    result = run_experiment(experiment(CUT, timeout="40s"), CannotJoin())
    (reason,) = [one for one in result.inconclusive_reasons if "is not known to be healed" in one]
    assert "uncut: nft refuses fault-1 broker-0 -> broker-1" in reason
    assert "a probe from broker-0 to broker-1 is still lost" in reason


@pytest.mark.parametrize("error", [MachineError("no way"), OSError(28, "No space left on device")])
def test_what_the_machine_says_is_kept(error: Exception) -> None:
    @asked("power loss")
    def power_loss() -> None:
        raise error

    with pytest.raises(BackendError, match=r"power loss: .*(no way|No space left)"):
        power_loss()
