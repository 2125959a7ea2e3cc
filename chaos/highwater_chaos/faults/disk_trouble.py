"""``diskFull`` (ENOSPC), ``diskError`` (EIO), ``diskStall`` (flushes never complete): a disk that is there and fails.

A node may end on it, as Kafka does when its log directory fails; healing the disk starts it again. A broker that lives
has logs that are offline until it starts again, so the heal of a full or failing disk restarts it, as an operator would
after replacing a disk.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Final

from highwater_chaos.backends.primitives import FailsDisks, FillsDisks, KillsNodes, MendsDisks, Primitive, StallsDisks
from highwater_chaos.backends.protocol import NodeState
from highwater_chaos.experiment.targets import Victims
from highwater_chaos.faults.base import Drawing, Drawn, Fault, FaultContext, Seen, Touch, target_of
from highwater_chaos.faults.nodes import runs, start_all_again
from highwater_chaos.process import Process

_TROUBLES: Final = ("diskFull", "diskError", "diskStall")
"""All of them: a disk is mended as a whole."""


class DiskTroubleFault(Fault):
    """Confirmed by a probe on the disk that meets the trouble; healed when a probe's write and flush succeed, and the
    node runs."""

    TROUBLES: ClassVar[Primitive]
    SIGN: ClassVar[str]
    """What a probe on the disk meets."""
    RESTARTS: ClassVar[bool] = True
    """Whether a node that lived through the trouble needs a restart."""
    target: Victims

    @property
    def needs(self) -> frozenset[Primitive]:
        """The trouble, and a kill if the heal restarts the node."""
        return frozenset({self.TROUBLES, *((KillsNodes,) if self.RESTARTS else ())})

    @classmethod
    def draw(cls, drawing: Drawing) -> Drawn | None:
        """Draw any node."""
        node = drawing.node("brokers", "quorum")
        return None if node is None else Drawn(cls(target=target_of(node)), (node,))

    def inject(self, context: FaultContext) -> Process[None]:
        """Fill, break or stall the disks."""
        touched = context.aim_alone(self.target, _TROUBLES)
        for touch in touched:
            self._trouble(context, touch.name)
        for touch in touched:
            node, expected = touch.name, self.SIGN
            seen = yield from context.confirm(
                partial(_probe_sees, context, node, expected),
                f"a probe on the disk of {node} sees {expected}",
            )
            found = expected if seen else context.using(MendsDisks).disk_probe(node)
            context.saw(touch, f"a probe on the disk of {node} saw {found}", seen, node=node, probe=found)

    def _trouble(self, context: FaultContext, node: str) -> None:
        raise NotImplementedError(f"{type(self).__name__}._trouble")

    def heal(self, context: FaultContext) -> Process[None]:
        """Mend the disks, end the nodes that lived through a failure, and start all that are down."""

        def end(touch: Touch) -> None:
            lives = context.backend.state(touch.name) in (NodeState.UP, NodeState.PAUSED)
            if lives and context.backend.incarnation(touch.name) == touch.incarnation:
                context.using(KillsNodes).kill(touch.name)

        context.undo_each(lambda touch: context.using(MendsDisks).disk_heal(touch.name))
        if self.RESTARTS:
            context.undo_each(end)
        yield from start_all_again(context)

    def probe(self, context: FaultContext, touch: Touch) -> Seen:
        """Write and flush; the node must run, too, in a new incarnation if it needed a restart."""
        found = context.using(MendsDisks).disk_probe(touch.name)
        seen = Seen(
            found == "ok", f"a probe on the disk of {touch.name} saw {found}", {"node": touch.name, "probe": found}
        )
        if not seen.ok:
            return seen
        node = runs(context, touch, touch.incarnation if self.RESTARTS else 0)
        return Seen(node.ok, f"{seen.what}; {node.what}", {**node.data, **seen.data})


class DiskFull(DiskTroubleFault):
    """Every write that needs space fails with ENOSPC."""

    KIND: ClassVar[str] = "diskFull"
    TROUBLES: ClassVar[Primitive] = FillsDisks
    SIGN: ClassVar[str] = "ENOSPC"

    def _trouble(self, context: FaultContext, node: str) -> None:
        context.using(FillsDisks).fill_disk(node, context.undone_by_ns)


class DiskError(DiskTroubleFault):
    """Reads and writes fail with EIO."""

    KIND: ClassVar[str] = "diskError"
    TROUBLES: ClassVar[Primitive] = FailsDisks
    SIGN: ClassVar[str] = "EIO"

    def _trouble(self, context: FaultContext, node: str) -> None:
        context.using(FailsDisks).fail_disk(node, context.undone_by_ns)


class DiskStall(DiskTroubleFault):
    """Flushes do not complete until healed."""

    KIND: ClassVar[str] = "diskStall"
    TROUBLES: ClassVar[Primitive] = StallsDisks
    SIGN: ClassVar[str] = "stalled"
    MAY_LOSE_CACHE: ClassVar[bool] = True
    RESTARTS: ClassVar[bool] = False

    def _trouble(self, context: FaultContext, node: str) -> None:
        context.using(StallsDisks).stall_disk(node, context.undone_by_ns)


def _probe_sees(context: FaultContext, node: str, expected: str) -> bool:
    return context.using(MendsDisks).disk_probe(node) == expected
