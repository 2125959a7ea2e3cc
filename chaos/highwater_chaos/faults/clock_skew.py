"""``clockSkew``: a node's clock is off, or runs fast or slow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from highwater_chaos.backends.protocol import Capability
from highwater_chaos.experiment.faults import ClockSkew
from highwater_chaos.faults.base import FaultContext
from highwater_chaos.schedule.process import Process, Sleep
from highwater_runtime.ports import MS


@dataclass(frozen=True, slots=True)
class ClockSkewFault:
    """Confirmed by reading the node's clock beside the right one."""

    KIND: ClassVar[str] = "clockSkew"
    model: ClockSkew

    @property
    def needs(self) -> frozenset[Capability]:
        """Clock skew."""
        return frozenset({Capability.CLOCK_SKEW})

    @property
    def lasts_ns(self) -> int | None:
        """Until healed."""
        return None

    def inject(self, context: FaultContext) -> Process[None]:
        """Skew the clocks."""
        nodes = context.resolve(self.model.target)
        for node in nodes:
            context.backend.skew_clock(node, self.model.offset, self.model.rate)
        yield Sleep(10 * MS)
        for node in nodes:
            offset, rate = context.backend.clock_error(node)
            # The rate moves the offset while time goes by.
            right = abs(offset - self.model.offset) <= 1_000 * MS and abs(rate - self.model.rate) < 1e-6
            skewed = self.model.offset != 0 or self.model.rate != 1.0
            context.saw(
                f"the clock of {node} is {offset / 1e9:+.3f} s off and runs at rate {rate:g}",
                right and skewed,
                node=node,
                offsetNs=offset,
                rate=rate,
            )

    def heal(self, context: FaultContext) -> Process[None]:
        """Set the clocks right."""
        for node in context.record.targets:
            context.backend.skew_clock(node, 0, 1.0)
            offset, rate = context.backend.clock_error(node)
            context.saw_healed(
                f"the clock of {node} is {offset / 1e9:+.3f} s off and runs at rate {rate:g}",
                offset == 0 and rate == 1.0,
                node=node,
            )
        yield Sleep(0)
