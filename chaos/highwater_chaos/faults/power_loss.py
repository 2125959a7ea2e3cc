"""``powerLoss``: a hard reboot. Process and page cache are gone; what was fsynced stays, the rest as ``keep`` says.

The difference to ``kill`` is the heart of KIP-903: Kafka does not fsync what producers send, so a machine that loses
power comes back without records that it had acknowledged as a follower.

The target need not run: a machine whose node was stopped or killed before loses its page cache all the same.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from highwater_chaos.backends.primitives import KeepMode, LosesPower, Primitive, WipesDisks
from highwater_chaos.experiment.targets import Victims
from highwater_chaos.faults.base import Drawing, Drawn, FaultContext, target_of
from highwater_chaos.faults.nodes import NodeDownFault, RestartAfter, seen_down
from highwater_chaos.process import Process

_KEEP_MODES: Final[tuple[KeepMode, ...]] = ("none", "prefix", "torn")


class PowerLoss(NodeDownFault):
    """Hard reboot: the page cache is lost, peers hear nothing. ``keep`` says what survives of unsynced writes
    (nothing, a prefix, or torn pages; drawn by the seed where absent); ``wipe`` replaces the disk as well."""

    KIND: ClassVar[str] = "powerLoss"
    LOSES_CACHE: ClassVar[bool] = True
    target: Victims
    keep: Annotated[
        Literal["none", "prefix", "torn"] | None,
        Field(description="What survives of unsynced writes; absent: drawn by the seed."),
    ] = None
    wipe: Annotated[bool, Field(description="The disk is replaced by an empty one, too.")] = False
    restart_after: RestartAfter = None

    @property
    def needs(self) -> frozenset[Primitive]:
        """Power loss, and disk wipe if asked for."""
        return frozenset({LosesPower} | ({WipesDisks} if self.wipe else set()))

    @property
    def lasts_ns(self) -> int | None:
        """Until ``restartAfter``."""
        return self.restart_after

    @classmethod
    def draw(cls, drawing: Drawing) -> Drawn | None:
        """Draw any node. A machine that comes back with another disk is the rarer and the harsher case."""
        node = drawing.node("brokers", "quorum")
        if node is None:
            return None
        wipe = node.startswith("broker-") and drawing.random.random() < 0.3
        return Drawn(cls(target=target_of(node), wipe=wipe), (node,))

    def inject(self, context: FaultContext) -> Process[None]:
        """Take the power away from all targets at the same instant. Confirmed by the host's event that the power went,
        with the bytes that were lost, and by an empty disk if wiped."""
        for touch in context.aim(self.target):
            node = touch.name
            drawn = context.random.choice(_KEEP_MODES)
            keep = drawn if self.keep is None else self.keep
            report = context.using(LosesPower).power_loss(node, keep)
            down = yield from seen_down(context, touch, "power-loss")
            context.saw(
                touch,
                f"{node} lost {report.lost_bytes} unsynced bytes",
                node=node,
                lostBytes=report.lost_bytes,
                keep=keep,
            )
            if self.wipe and down:
                context.using(WipesDisks).wipe(node)
                empty = context.using(WipesDisks).disk_is_empty(node)
                context.saw(touch, f"the disk of {node} is {'empty' if empty else 'not empty'}", empty, node=node)
