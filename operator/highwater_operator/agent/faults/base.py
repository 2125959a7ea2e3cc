"""What every kind of fault is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from highwater_chaos.machine.resource import Resource
from highwater_chaos.machine.run import MachineRun
from highwater_chaos.machine.volumes import Volume
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.records import Evidence
from highwater_operator.agent.refusals import RefusalError
from highwater_operator.agent.volumes import VolumeRecord, Volumes

R = TypeVar("R", bound=Resource)


@dataclass(frozen=True, slots=True)
class Context:
    """One injection. ``lasts_ns``: until its deadline; what is made in it is undone then by the guardian."""

    id: str
    pod: Pod
    run: MachineRun
    volumes: Volumes
    lasts_ns: int

    def make(self, resource: R, *, lasts_ns: int | None = None) -> R:
        """Through the machine run's journal, as a part of this fault."""
        return self.run.make(resource, lasts_ns=self.lasts_ns if lasts_ns is None else lasts_ns, tag=self.id).resource

    def volume(self) -> tuple[VolumeRecord, Volume]:
        """The pod's crashable volume. Raises ``RefusalError`` (422) where it has none."""
        record = self.volumes.get(self.pod.volume)
        if record is None:
            raise RefusalError(
                422,
                f"pod {self.pod.namespace}/{self.pod.name} has no volume that can be broken",
                expected=f"a crashable volume {self.pod.volume}",
                found="none on this node",
            )
        return record, self.volumes.machine_volume(record, run=self.run.directory, pod=self.pod)


@dataclass(frozen=True, slots=True)
class HealContext:
    """The end of a fault, in whatever way it ended. ``resources`` are what it had made."""

    run: MachineRun
    volumes: Volumes
    resources: Sequence[Resource]


class FaultKind(Protocol):
    """How one kind of fault begins, and what is seen when it is over. Undoing is the machine run's."""

    def inject(self, context: Context) -> list[Evidence]:
        """Bring it about and see that it is there. Raises ``RefusalError``, ``MachineError``, ``OSError``."""

    def healed(self, context: HealContext) -> list[Evidence]:
        """What is seen once it is undone."""

    def observe(self, context: HealContext) -> list[Evidence]:
        """What is seen of it while it is in force, or just before it is undone."""
