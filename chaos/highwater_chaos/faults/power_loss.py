"""``powerLoss``: a hard reboot. Process and page cache are gone; what was fsynced stays, the rest as ``keep`` says.

The difference to ``kill`` is the heart of KIP-903: Kafka does not fsync what producers send, so a machine that loses
power comes back without records that it had acknowledged as a follower.

The target need not run: a machine whose node was stopped or killed before loses its page cache all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from highwater_chaos.backends.protocol import Capability, KeepMode
from highwater_chaos.experiment.faults import PowerLoss
from highwater_chaos.faults.base import FaultContext
from highwater_chaos.faults.nodes import bring_back, seen_down
from highwater_chaos.schedule.process import Process

_KEEP_MODES: tuple[KeepMode, ...] = ("none", "prefix", "torn")


@dataclass(frozen=True, slots=True)
class PowerLossFault:
    """Confirmed by the host's event that the power went, with the bytes that were lost; by an empty disk if wiped."""

    KIND: ClassVar[str] = "powerLoss"
    model: PowerLoss

    @property
    def needs(self) -> frozenset[Capability]:
        """Power loss, and disk wipe where asked for."""
        return frozenset({Capability.POWER_LOSS} | ({Capability.DISK_WIPE} if self.model.wipe else set()))

    @property
    def lasts_ns(self) -> int | None:
        """Until ``restartAfter``."""
        return self.model.restart_after

    def inject(self, context: FaultContext) -> Process[None]:
        """Take the power away from all targets at the same instant."""
        for node in context.resolve(self.model.target):
            drawn = context.random.choice(_KEEP_MODES)
            keep = drawn if self.model.keep is None else self.model.keep
            report = context.backend.power_loss(node, keep)
            if self.model.wipe:
                context.backend.wipe(node)
            yield from seen_down(context, node, "power-loss")
            context.saw(
                f"{node} lost {report.lost_bytes} unsynced bytes", node=node, lostBytes=report.lost_bytes, keep=keep
            )
            if self.model.wipe:
                empty = context.backend.disk_is_empty(node)
                context.saw(f"the disk of {node} is {'empty' if empty else 'not empty'}", empty, node=node)

    def heal(self, context: FaultContext) -> Process[None]:
        """Power on."""
        yield from bring_back(context, context.record.targets)
