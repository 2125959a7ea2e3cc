"""What this machine lets the backend do to a cluster: found by trying (:mod:`highwater_chaos.machine.capabilities`)."""

from __future__ import annotations

import os
from typing import Final

from highwater_chaos.backends.local.program import HasControlSocket, NodeProgram
from highwater_chaos.backends.local.reasons import why_not
from highwater_chaos.backends.primitives import AppliesRpcRules, Primitive, SkewsClocks, StallsDisks
from highwater_chaos.machine.capabilities import Ability, available
from highwater_chaos.machine.volumes import FileSystem

_BY_THE_NODE: Final = frozenset({AppliesRpcRules, SkewsClocks, StallsDisks})
"""What a node does to itself when its control socket asks for it."""


def can_isolate() -> bool:
    """Whether nodes can be given network namespaces and file systems of their own."""
    if os.geteuid() != 0:
        return False
    machine = available()
    return machine[Ability.NAMESPACES] is None and machine[Ability.EXT4] is None


def possible_to(program: NodeProgram, primitives: frozenset[Primitive]) -> frozenset[Primitive]:
    """Those of ``primitives`` that can be done to nodes of this software."""
    return primitives if isinstance(program, HasControlSocket) else primitives - _BY_THE_NODE


def possible_here(primitives: frozenset[Primitive], file_system: FileSystem = "ext4") -> frozenset[Primitive]:
    """Those of ``primitives`` that the machine allows to isolated nodes."""
    reasons = why_not(file_system)
    return frozenset(primitive for primitive in primitives if reasons[primitive] is None)


def file_system_problem(file_system: FileSystem) -> str | None:
    """Why the disks that a cluster asks for cannot be made."""
    reason = available()[Ability.EXT4 if file_system == "ext4" else Ability.XFS]
    return None if reason is None else f"cluster.fileSystem {file_system}: {reason}"
