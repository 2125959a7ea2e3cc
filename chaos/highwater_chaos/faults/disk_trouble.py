"""``diskFull`` (ENOSPC), ``diskError`` (EIO), ``diskStall`` (flushes, or writes too, never end): a disk that fails.

A node may end on it, as Kafka does when its log directory fails; healing the disk starts it again. A broker that lives
has logs that are offline until it starts again, so the heal of a full or failing disk restarts it, as an operator would
after replacing a disk.

A disk may stall so badly that ``write()`` does not return: dirty pages are throttled, the file system's journal waits
for a commit, a hypervisor has frozen the volume for a snapshot. A process that writes waits in the kernel then, and
neither SIGKILL nor SIGSTOP reaches it there. So faults that signal the process are refused until the disk is healed
(:meth:`~.base.FaultContext.aim_at_processes`).
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, ClassVar, Final

from pydantic import Field

from highwater_chaos.backends.primitives import (
    BlocksWrites,
    FailsDisks,
    FillsDisks,
    KillsNodes,
    MendsDisks,
    Primitive,
    StallsDisks,
)
from highwater_chaos.backends.protocol import NodeState
from highwater_chaos.base.process import Process
from highwater_chaos.experiment.faults import Effect
from highwater_chaos.experiment.targets import Victims
from highwater_chaos.faults.base import Drawn, Fault, FaultContext, FaultTarget, ProbeResult, target_of
from highwater_chaos.faults.drawing import Drawing
from highwater_chaos.faults.nodes import runs, start_all_again

_TROUBLES: Final = ("diskFull", "diskError", "diskStall")
"""All of them: a disk is mended as a whole."""


class DiskTroubleFault(Fault):
    """Confirmed by a probe on the disk that meets the trouble; healed when a probe's write and flush succeed, and the
    node runs."""

    RESTARTS: ClassVar[bool] = True
    """Whether a node that lived through the trouble needs a restart."""
    target: Victims

    @property
    def troubles(self) -> Primitive:
        """What brings the trouble about."""
        raise NotImplementedError(f"{type(self).__name__}.troubles")

    @property
    def sign(self) -> str:
        """What a probe on the disk meets."""
        raise NotImplementedError(f"{type(self).__name__}.sign")

    @property
    def needs(self) -> frozenset[Primitive]:
        """The trouble, and a kill if the heal restarts the node."""
        return frozenset({self.troubles, *((KillsNodes,) if self.RESTARTS else ())})

    @classmethod
    def draw(cls, drawing: Drawing) -> Drawn | None:
        node = drawing.node("brokers", "quorum")
        return None if node is None else Drawn(cls(target=target_of(node)), (node,))

    def inject(self, context: FaultContext) -> Process[None]:
        """Fill, break or stall the disks."""
        touched = context.aim_alone(self.target, _TROUBLES, running=self.blocks_processes)
        for touch in touched:
            self._trouble(context, touch.name)
        for touch in touched:
            node, expected = touch.name, self.sign
            seen = yield from context.confirm(
                partial(_probe_sees, context, node, expected),
                f"a probe on the disk of {node} sees {expected}",
            )
            found = expected if seen else context.using(MendsDisks).disk_probe(node)
            context.record_evidence(touch, f"a probe on the disk of {node} saw {found}", seen, node=node, probe=found)

    def _trouble(self, context: FaultContext, node: str) -> None:
        raise NotImplementedError(f"{type(self).__name__}._trouble")

    def heal(self, context: FaultContext) -> Process[None]:
        """Mend the disks, end the nodes that lived through a failure, and start all that are down."""

        def end(touch: FaultTarget) -> None:
            lives = context.backend.state(touch.name) in (NodeState.UP, NodeState.PAUSED)
            if lives and context.backend.incarnation(touch.name) == touch.incarnation:
                context.using(KillsNodes).kill(touch.name)

        context.undo_each(lambda touch: context.using(MendsDisks).disk_heal(touch.name))
        if self.RESTARTS:
            context.undo_each(end)
        yield from start_all_again(context)

    def probe(self, context: FaultContext, touch: FaultTarget) -> ProbeResult:
        """Write and flush; the node must run, too, in a new incarnation if it needed a restart."""
        found = context.using(MendsDisks).disk_probe(touch.name)
        seen = ProbeResult(
            found == "ok", f"a probe on the disk of {touch.name} saw {found}", {"node": touch.name, "probe": found}
        )
        if not seen.ok:
            return seen
        node = runs(context, touch, touch.incarnation if self.RESTARTS else 0)
        return ProbeResult(node.ok, f"{seen.what}; {node.what}", {**node.data, **seen.data})


class DiskFull(DiskTroubleFault):
    """Every write that needs space fails with ENOSPC."""

    KIND: ClassVar[str] = "diskFull"
    RANK: ClassVar[int] = 5
    EFFECT: ClassVar[Effect] = Effect.FAILS_LOGS
    troubles: ClassVar[Primitive] = FillsDisks
    sign: ClassVar[str] = "ENOSPC"

    def _trouble(self, context: FaultContext, node: str) -> None:
        context.using(FillsDisks).fill_disk(node, context.undone_by_ns)


class DiskError(DiskTroubleFault):
    """Reads and writes fail with EIO."""

    KIND: ClassVar[str] = "diskError"
    RANK: ClassVar[int] = 6
    EFFECT: ClassVar[Effect] = Effect.FAILS_LOGS
    troubles: ClassVar[Primitive] = FailsDisks
    sign: ClassVar[str] = "EIO"

    def _trouble(self, context: FaultContext, node: str) -> None:
        context.using(FailsDisks).fail_disk(node, context.undone_by_ns)


class DiskStall(DiskTroubleFault):
    """Flushes do not complete until healed; with ``writes`` no write returns either, so the node's process waits."""

    KIND: ClassVar[str] = "diskStall"
    RANK: ClassVar[int] = 7
    RESTARTS: ClassVar[bool] = False
    writes: Annotated[
        bool | None,
        Field(
            description="write() blocks too (absent: false). A process that waits in it can be neither stopped nor"
            " killed until this is healed."
        ),
    ] = None

    @property
    def troubles(self) -> Primitive:
        """Flushes are the node's own affair; writes are the file system's."""
        return BlocksWrites if self.writes else StallsDisks

    @property
    def sign(self) -> str:
        """Return which call does not end."""
        return "blocked" if self.writes else "stalled"

    @property
    def may_lose_cache(self) -> bool:
        """What was written before the stall can be lost for as long as flushes alone do not end."""
        return not self.writes

    @property
    def blocks_processes(self) -> bool:
        """Each waits in its first write."""
        return bool(self.writes)

    def _trouble(self, context: FaultContext, node: str) -> None:
        if self.writes:
            context.using(BlocksWrites).block_writes(node, context.undone_by_ns)
            return
        context.using(StallsDisks).stall_disk(node, context.undone_by_ns)


def _probe_sees(context: FaultContext, node: str, expected: str) -> bool:
    return context.using(MendsDisks).disk_probe(node) == expected
