"""``produce`` steps: one batch each, written by a producer of its own, which ends when the run does."""

from __future__ import annotations

from typing import Final

from highwater_chaos.base.process import Process, Until
from highwater_chaos.experiment.steps import Produce
from highwater_chaos.workload.clients import Clients
from highwater_runtime.ports import SECOND

_PATIENCE_NS: Final = 60 * SECOND


class Batches:
    """Carries out ``produce`` steps. No other producers run, so all acknowledged records are theirs."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._steps = 0
        self._records = 0

    def write(self, step: Produce) -> Process[str | None]:
        """Write the batch of one step; returns why it was not acknowledged, or None."""
        self._steps += 1
        self._records += step.records
        expected = self._records
        self._clients.start_batch(self._steps, step.partition, step.records, _PATIENCE_NS)
        written = yield Until(
            lambda: self._clients.acknowledged >= expected, _PATIENCE_NS, f"{step.records} records of a batch are acked"
        )
        return None if written else f"the batch for {step.partition} was not acknowledged in time"
