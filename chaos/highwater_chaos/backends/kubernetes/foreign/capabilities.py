"""What agents do to pods of others; known before the cluster is."""

from __future__ import annotations

from typing import Final

from highwater_chaos.backends.attach.backend import AttachBackend
from highwater_chaos.backends.primitives import (
    BY_THE_USER,
    BlocksWrites,
    FailsDisks,
    FillsDisks,
    LosesPower,
    Primitive,
    RunsCommands,
    StallsDisks,
    WipesDisks,
    implemented_by,
)

NO_PODS: Final = "expected strimzi or selector in spec.clusterRef: without pods nothing can be broken"
_BY_PROGRAM: Final = (
    "it is made inside the node's program, on its disk or in the way of its messages, and these are of others: use a"
    " LogCluster with runtime apache-kafka"
)
_BY_VOLUME: Final = frozenset[Primitive]({LosesPower, WipesDisks, FillsDisks, FailsDisks, BlocksWrites})
_NO_VOLUMES: Final = (
    "not every pod has its data on a claim of the StorageClass highwater-crashable, or some have several claims and"
    " spec.clusterRef.volume does not name the volume with the data: see highwater doctor --kubernetes"
)
_FLUSHES: Final = (
    "flushes alone are held by the program of a node, and these are of others: with writes: true the file system of a"
    " claim of the StorageClass highwater-crashable takes no writes"
)


class ForeignCapabilities:
    """A part of a backend, or of its class. ``has_pods``: the experiment names pods, not brokers alone."""

    def __init__(self, backend: type[object], *, has_pods: bool) -> None:
        self._has_pods = has_pods
        self._able = implemented_by(backend if has_pods else AttachBackend) - {RunsCommands}

    @property
    def primitives(self) -> frozenset[Primitive]:
        return self._able

    def why_not(self, primitive: Primitive) -> str:
        """Return why a primitive is not among them."""
        if primitive is RunsCommands:
            return BY_THE_USER
        if not self._has_pods:
            return NO_PODS
        if primitive is StallsDisks:
            return _FLUSHES
        return _NO_VOLUMES if primitive in _BY_VOLUME else _BY_PROGRAM
