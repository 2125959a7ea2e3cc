"""What this machine lets the backend do to a cluster, found by trying, and why not more.

Most need something of the machine (root, a kernel with loop devices, nftables). Stalled flushes and clock skew happen
inside our nodes and need nothing; so does interference by RPC, which for other software happens in a proxy.
"""

from __future__ import annotations

import os
from typing import Final

from highwater_chaos.backends.local.program import NodeProgram
from highwater_chaos.backends.primitives import (
    IN_VIRTUAL_TIME,
    PRIMITIVES,
    AppliesRpcRules,
    DrainsMachines,
    KillsNodes,
    LosesPower,
    LosesPowerAtWrites,
    Primitive,
    RebootsMachines,
    ReplacesPods,
    SkewsClocks,
    StallsDisks,
    StopsNodes,
)
from highwater_chaos.experiment import Cluster
from highwater_chaos.machine.capabilities import NAMESPACES, POWER_LOSS, PROCESSES, VOLUMES, available
from highwater_chaos.machine.disk.volumes import FileSystem
from highwater_chaos.machine.primitives import MACHINE_PRIMITIVES

_NEEDS: Final[dict[Primitive, str]] = {
    LosesPower: POWER_LOSS,
    KillsNodes: PROCESSES,
    StopsNodes: PROCESSES,
    **{primitive: one.title for primitive, one in MACHINE_PRIMITIVES.items()},
}
_BY_THE_NODE: Final = frozenset({AppliesRpcRules, SkewsClocks, StallsDisks})
"""What the process of a node does when its control socket asks for it."""
_OF_PODS: Final = (ReplacesPods, DrainsMachines, RebootsMachines)
_ON_VOLUMES: Final[tuple[Primitive, ...]] = (
    LosesPower,
    *(kind for kind, one in MACHINE_PRIMITIVES.items() if one.fault.ACTS_ON == "volume"),
)


def why_not(file_system: FileSystem = "ext4") -> dict[Primitive, str | None]:
    """Each primitive, and the reason why this machine does not have it on that file system; None: it does."""
    machine = available()
    reasons = {primitive: machine[_NEEDS[primitive]] if primitive in _NEEDS else None for primitive in PRIMITIVES}
    for primitive in _ON_VOLUMES:
        reasons[primitive] = machine[VOLUMES[file_system]] or reasons[primitive]
    reasons[LosesPowerAtWrites] = IN_VIRTUAL_TIME
    return {**reasons, **dict.fromkeys(_OF_PODS, "nodes are processes here, not pods")}


def can_isolate() -> bool:
    """Whether nodes can be given network namespaces and file systems of their own."""
    if os.geteuid() != 0:
        return False
    machine = available()
    return machine[NAMESPACES] is None and machine[VOLUMES["ext4"]] is None


def possible_to(program: NodeProgram, cluster: Cluster, primitives: frozenset[Primitive]) -> frozenset[Primitive]:
    """Those of ``primitives`` that can be done to nodes of this software in such a cluster."""
    possible = primitives - (_BY_THE_NODE - program.done_by_nodes)
    if AppliesRpcRules in possible and program.why_no_rules(cluster) is not None:
        return possible - {AppliesRpcRules}
    return possible


def possible_here(primitives: frozenset[Primitive], file_system: FileSystem = "ext4") -> frozenset[Primitive]:
    """Those of ``primitives`` that the machine allows to isolated nodes."""
    reasons = why_not(file_system)
    return frozenset(primitive for primitive in primitives if reasons[primitive] is None)


def file_system_problem(file_system: FileSystem) -> str | None:
    """Why the disks that a cluster asks for cannot be made."""
    reason = available()[VOLUMES[file_system]]
    return None if reason is None else f"cluster.fileSystem {file_system}: {reason}"
