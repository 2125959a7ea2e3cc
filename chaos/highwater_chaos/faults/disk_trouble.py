"""``diskFull`` (ENOSPC), ``diskError`` (EIO), ``diskStall`` (flushes never complete): a disk that is there and fails.

A node may end on it, as Kafka does when its log directory fails; healing the disk starts it again. A broker that lives
has logs that are offline until it starts again, so the heal of a full or failing disk restarts it, as an operator does
who has replaced a disk.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Final

from highwater_chaos.backends.protocol import Capability, DiskTrouble, NodeState
from highwater_chaos.experiment.targets import Victims
from highwater_chaos.faults.base import Drawing, Drawn, Fault, FaultContext, Seen, Touch, target_of
from highwater_chaos.faults.nodes import runs, start_all_again
from highwater_chaos.process import Process

_SIGN: Final[dict[DiskTrouble, str]] = {"full": "ENOSPC", "error": "EIO", "stall": "stalled"}
_NEEDS: Final[dict[DiskTrouble, Capability]] = {
    "full": Capability.DISK_FULL,
    "error": Capability.DISK_ERROR,
    "stall": Capability.DISK_STALL,
}


class DiskTroubleFault(Fault):
    """Confirmed by a probe on the disk that meets the trouble; healed when a probe's write and flush succeed, and the
    node runs."""

    TROUBLE: ClassVar[DiskTrouble]
    RESTARTS: ClassVar[bool] = True
    """Whether a node that lived through the trouble needs a restart."""
    target: Victims

    @property
    def needs(self) -> frozenset[Capability]:
        """The trouble, and a kill if the heal restarts the node."""
        return frozenset({_NEEDS[self.TROUBLE], *((Capability.KILL,) if self.RESTARTS else ())})

    @classmethod
    def draw(cls, drawing: Drawing) -> Drawn | None:
        """Draw any node."""
        node = drawing.node("brokers", "controllers")
        return None if node is None else Drawn(cls(target=target_of(node)), (node,))

    def inject(self, context: FaultContext) -> Process[None]:
        """Fill, break or stall the disks."""
        touched = context.aim(self.target)
        for touch in touched:
            context.backend.disk_trouble(touch.name, self.TROUBLE, context.undone_by_ns)
        for touch in touched:
            node, expected = touch.name, _SIGN[self.TROUBLE]
            seen = yield from context.confirm(
                partial(_probe_sees, context, node, expected),
                f"a probe on the disk of {node} sees {expected}",
            )
            found = expected if seen else context.backend.disk_probe(node)
            context.saw(touch, f"a probe on the disk of {node} saw {found}", seen, node=node, probe=found)

    def heal(self, context: FaultContext) -> Process[None]:
        """Mend the disks, end the nodes that lived through a failure, and start all that are down."""

        def end(touch: Touch) -> None:
            lives = context.backend.state(touch.name) in (NodeState.UP, NodeState.PAUSED)
            if lives and context.backend.incarnation(touch.name) == touch.incarnation:
                context.backend.kill(touch.name)

        context.undo_each(lambda touch: context.backend.disk_heal(touch.name))
        if self.RESTARTS:
            context.undo_each(end)
        yield from start_all_again(context)

    def probe(self, context: FaultContext, touch: Touch) -> Seen:
        """Write and flush; the node must run, too, in a new incarnation if it needed a restart."""
        found = context.backend.disk_probe(touch.name)
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
    TROUBLE: ClassVar[DiskTrouble] = "full"


class DiskError(DiskTroubleFault):
    """Reads and writes fail with EIO."""

    KIND: ClassVar[str] = "diskError"
    TROUBLE: ClassVar[DiskTrouble] = "error"


class DiskStall(DiskTroubleFault):
    """Flushes do not complete until healed."""

    KIND: ClassVar[str] = "diskStall"
    TROUBLE: ClassVar[DiskTrouble] = "stall"
    MAY_LOSE_CACHE: ClassVar[bool] = True
    RESTARTS: ClassVar[bool] = False


def _probe_sees(context: FaultContext, node: str, expected: str) -> bool:
    return context.backend.disk_probe(node) == expected
