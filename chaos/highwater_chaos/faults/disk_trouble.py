"""``diskFull`` (ENOSPC), ``diskError`` (EIO), ``diskStall`` (flushes never complete): a disk that is there and fails.

A broker may crash on it, as Kafka does when its log directory fails; healing the disk starts it again.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Final

from highwater_chaos.backends.protocol import Capability, DiskTrouble
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
    target: Victims

    @property
    def needs(self) -> frozenset[Capability]:
        """The trouble."""
        return frozenset({_NEEDS[self.TROUBLE]})

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
        """Mend the disks, and start the nodes that ended because of them."""
        context.undo_each(lambda touch: context.backend.disk_heal(touch.name))
        yield from start_all_again(context)

    def probe(self, context: FaultContext, touch: Touch) -> Seen:
        """Write and flush; the node must run, too."""
        found = context.backend.disk_probe(touch.name)
        seen = Seen(
            found == "ok", f"a probe on the disk of {touch.name} saw {found}", {"node": touch.name, "probe": found}
        )
        if not seen.ok:
            return seen
        node = runs(context, touch)
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


def _probe_sees(context: FaultContext, node: str, expected: str) -> bool:
    return context.backend.disk_probe(node) == expected
