"""How much of the node's disk crashable volumes may take. Pods ask for them by an annotation, which no quota of
Kubernetes counts."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from highwater_operator.agent.refusals import RefusalError

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Limits:
    """``largest``: bytes of one volume; ``namespace``: of all volumes of a namespace on this node together; ``free``:
    that stay free on the disk where the images lie."""

    largest: int = 64 * GIB
    namespace: int = 256 * GIB
    free: int = 1 * GIB
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

    def check(self, name: str, namespace: str, size: int, others: Iterable[tuple[str, int]]) -> None:
        """Raises ``RefusalError`` for a volume that is too large: 422, whatever else there is; 507 beside the others of
        its namespace, for which another node may have room. ``others``: namespaces and sizes of those there are."""
        largest, setting = min((self.largest, "LARGEST_VOLUME"), (self.namespace, "NAMESPACE_VOLUMES"))
        if size > largest:
            raise RefusalError(
                422,
                f"volume {name} is too large for this node's agent (HIGHWATER_AGENT_{setting})",
                expected=f"at most {largest} bytes",
                found=str(size),
            )
        taken = sum(one for other, one in others if other == namespace)
        if taken + size > self.namespace:
            raise RefusalError(
                507,
                f"volume {name} is too large beside the others of namespace {namespace} on this node"
                " (HIGHWATER_AGENT_NAMESPACE_VOLUMES)",
                expected=f"at most {self.namespace} bytes together",
                found=f"{taken} and {size}",
            )

    def room(self, directory: Path) -> int:
        """Return the bytes that a new volume may have, on the disk of a directory."""
        status = os.statvfs(directory)
        return max(0, min(self.largest, self.namespace, status.f_bavail * status.f_frsize - self.free))

    def allocate(self, image: Path, size: int) -> None:
        """Have every block of an image, which may be there already: a write to it never finds the node's disk full.
        Raises ``RefusalError`` (507) where the disk has not enough."""
        with self._one_at_a_time, image.open("ab") as file:
            missing = size - os.fstat(file.fileno()).st_blocks * 512
            if missing <= 0:
                return
            status = os.statvfs(image.parent)
            free = status.f_bavail * status.f_frsize
            if missing + self.free > free:
                raise RefusalError(
                    507,
                    f"the node's disk has no room for {image.name.removesuffix('.img')}",
                    expected=f"{missing} bytes, and {self.free} that stay free (HIGHWATER_AGENT_FREE_SPACE)",
                    found=f"{free} free in {image.parent}",
                )
            os.posix_fallocate(file.fileno(), 0, size)
