"""``powerLoss``: a hard reboot. Process and page cache are gone; what was fsynced stays, the rest as ``keep`` says.

The difference to ``kill`` is the heart of KIP-903: Kafka does not fsync what producers send, so a machine that loses
power comes back without records that it had acknowledged as a follower.

With ``atWrite`` the power fails in the middle of what the node does: instead of one of its next changes of the disk.
What is right between two events may be wrong between two writes.

The target need not run: a machine whose node was stopped or killed before loses its page cache all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from highwater_chaos.backends.primitives import (
    KeepMode,
    LosesPower,
    LosesPowerAtWrites,
    PowerLossReport,
    Primitive,
    WipesDisks,
)
from highwater_chaos.base.process import Process
from highwater_chaos.experiment.faults import Effect
from highwater_chaos.experiment.targets import Victims
from highwater_chaos.faults.base import Drawn, FaultContext, target_of
from highwater_chaos.faults.drawing import Drawing
from highwater_chaos.faults.nodes import NodeDownFault, RestartAfter, seen_down, start_all_again

_KEEP_MODES: Final[tuple[KeepMode, ...]] = ("none", "prefix", "torn")


class PowerLoss(NodeDownFault):
    """Hard reboot: the page cache is lost, peers hear nothing. ``keep`` says what survives of unsynced writes
    (nothing, a prefix, or torn pages; drawn by the seed where absent); ``wipe`` replaces the disk as well."""

    KIND: ClassVar[str] = "powerLoss"
    RANK: ClassVar[int] = 0
    ALSO_CALLED: ClassVar[tuple[str, ...]] = ("reboot",)
    EFFECT: ClassVar[Effect] = Effect.ENDS_PROCESSES
    LOSES_CACHE: ClassVar[bool] = True
    COUNTS_LOST_BYTES: ClassVar[bool] = True
    target: Victims
    keep: Annotated[
        Literal["none", "prefix", "torn"] | None,
        Field(description="What survives of unsynced writes; absent: drawn by the seed."),
    ] = None
    at_write: Annotated[
        int | None,
        Field(
            ge=1,
            le=1_000_000,
            description="N: the power fails just before the N-th change of the disk from now on (a write, a creation,"
            " a rename, a removal, a flush); absent: at once.",
        ),
    ] = None
    wipe: Annotated[bool, Field(description="The disk is replaced by an empty one, too.")] = False
    restart_after: RestartAfter = None

    @property
    def needs(self) -> frozenset[Primitive]:
        """Power loss, and disk wipe if asked for."""
        loses: Primitive = LosesPower if self.at_write is None else LosesPowerAtWrites
        return frozenset({loses} | ({WipesDisks} if self.wipe else set()))

    @property
    def lasts_ns(self) -> int | None:
        """Until ``restartAfter``."""
        return self.restart_after

    @property
    def replaces_disk(self) -> bool:
        """Return whether the disk is replaced, too."""
        return self.wipe

    def suffered(self, who: str, others: Sequence[str]) -> str:
        """Power, or the disk with it."""
        del others
        return f"{who} lost {'its disk' if self.wipe else 'power'}"

    @classmethod
    def draw(cls, drawing: Drawing) -> Drawn | None:
        """Draw any node. A machine that comes back with another disk is the rarer and the harsher case."""
        node = drawing.node("brokers", "quorum")
        if node is None:
            return None
        wipe = node.startswith("broker-") and drawing.random.random() < 0.3
        return Drawn(cls(target=target_of(node), wipe=wipe), (node,))

    def inject(self, context: FaultContext) -> Process[None]:
        """Take the power away from all targets at the same instant, or each at its write. Confirmed by the host's event
        that the power went, with the bytes that were lost, and by an empty disk if wiped."""
        touches = context.aim_at_processes(self.target)
        keeps: dict[str, KeepMode] = {}
        for touch in touches:
            drawn = context.random.choice(_KEEP_MODES)
            keeps[touch.name] = drawn if self.keep is None else self.keep
            if self.at_write is not None:
                context.using(LosesPowerAtWrites).plan_power_loss(touch.name, self.at_write, keeps[touch.name])
        for touch in touches:
            node = touch.name
            if self.at_write is None:
                report = context.using(LosesPower).power_loss(node, keeps[node], wipe=self.wipe)
            elif (planned := (yield from _planned(context, node))) is not None:
                report = planned
            else:
                context.record_evidence(
                    touch, f"{node} has not come to the write at which its power fails", False, node=node
                )
                continue
            down = yield from seen_down(context, touch, "power-loss")
            context.record_evidence(
                touch,
                f"{node} lost {report.lost_bytes} unsynced bytes",
                node=node,
                lostBytes=report.lost_bytes,
                keep=keeps[node],
            )
            if self.wipe and down:
                if self.at_write is not None:
                    context.using(WipesDisks).kill_and_wipe(node)
                empty = context.using(WipesDisks).disk_is_empty(node)
                context.record_evidence(
                    touch, f"the disk of {node} is {'empty' if empty else 'not empty'}", empty, node=node
                )

    def heal(self, context: FaultContext) -> Process[None]:
        """Forget a power loss that has not come to pass, and start all again."""
        if self.at_write is not None:
            context.undo_each(lambda touch: context.using(LosesPowerAtWrites).drop_power_loss(touch.name))
        yield from start_all_again(context)


def _planned(context: FaultContext, node: str) -> Process[PowerLossReport | None]:
    """Wait for a planned power loss; None: it did not come in time."""
    backend = context.using(LosesPowerAtWrites)
    yield from context.confirm(lambda: backend.planned_power_loss(node) is not None, f"the power of {node} fails")
    return backend.planned_power_loss(node)
