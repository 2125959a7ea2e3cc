"""What every kind of fault is: a request that can be read from JSON, and how it begins and is seen.

Undoing is the machine run's, from its journal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from pydantic import AwareDatetime

from highwater_chaos.base.quantities import Duration
from highwater_chaos.base.strict_model import Model
from highwater_chaos.machine.disk.volumes import Volume
from highwater_chaos.machine.kernel.linux import boot_time_ns
from highwater_chaos.machine.process.processes import Process
from highwater_chaos.machine.resource import Resource
from highwater_chaos.machine.runs.run import MachineRun
from highwater_operator.agent.containers import Container, containers_by_uid, network_of, node_container, running_node
from highwater_operator.agent.machine import Machine
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.records import Evidence
from highwater_operator.agent.refusals import RefusalError
from highwater_operator.agent.requests import PodReference
from highwater_operator.agent.volumes import VolumeRecord, Volumes

R = TypeVar("R", bound=Resource)


@dataclass(frozen=True, slots=True)
class PodNode:
    """The node of a pod, as ``MachineNode``. What it does not have now is a
    ``RefusalError``: 409 where it does not run, 422 where it will not have it."""

    pod: Pod
    run: MachineRun
    volumes: Volumes
    machine: Machine

    @property
    def name(self) -> str:
        """Return namespace and name of the fault's pod."""
        return f"{self.pod.namespace}/{self.pod.name}"

    def running(self) -> Process | None:
        container = node_container(self.pod)
        return None if container is None else self.processes_of(container)

    def processes(self) -> Process:
        return self.processes_of(running_node(self.pod))

    def processes_of(self, container: Container) -> Process:
        """Return all processes of a container."""
        return Process(self.name, self.run.directory, container.processes[0], group=container.id)

    def volume(self) -> Volume:
        return self.machine_volume(self.volume_record())

    def machine_volume(self, record: VolumeRecord) -> Volume:
        """Return a volume of the pod as the machine breaks it."""
        return self.volumes.machine_volume(record, run=self.run.directory, pod=self.pod)

    def has_volume(self) -> bool:
        """Return whether :meth:`volume` finds one."""
        try:
            self.volume_record()
        except RefusalError:
            return False
        return True

    def on_volume(self, record: VolumeRecord) -> list[Container]:
        """Return the living containers that have a volume of the pod: its node, or all of all pods that share a
        claim."""
        if not record.claim:
            node = node_container(self.pod)
            return [] if node is None else [node]
        living = containers_by_uid({place.group for place in record.places})
        having = set(self.volumes.machine_volume(record).holders(shared=True))
        return [one for containers in living.values() for one in containers if having.intersection(one.processes)]

    def volume_record(self) -> VolumeRecord:
        """Return the record of the pod's crashable volume."""
        return self.volume_records()[0]

    def volume_records(self) -> list[VolumeRecord]:
        """Return the records of all its crashable volumes, that with the data first."""
        found = [self.volumes.get(name) for name in self.volumes.all_of_pod(self.pod)]
        records = [one for one in found if one is not None]
        if not records:
            raise RefusalError(
                422,
                f"pod {self.name} has no volume that can be broken",
                expected=f"a crashable volume {self.pod.volume}, or a claim of the class highwater-crashable",
                found="none on this node",
            )
        return records

    def network(self) -> str:
        return network_of(self.pod)


@dataclass(frozen=True, slots=True)
class Context(PodNode):
    """One injection. ``until_ns``: its deadline, in time since boot; what is made in it is undone then by the
    guardian, however long after its beginning it is made."""

    id: str
    until_ns: int

    @property
    def lasts_ns(self) -> int:
        """Return what is left until the deadline; at least 1."""
        return max(1, self.until_ns - boot_time_ns())

    def make(self, resource: R) -> R:
        """Through the machine run's journal, as a part of this fault."""
        return self.run.make(resource, lasts_ns=self.lasts_ns, tag=self.id).resource


@dataclass(frozen=True, slots=True)
class HealContext:
    """The end of a fault, in whatever way it ended. ``resources`` are what it had made."""

    run: MachineRun
    volumes: Volumes
    resources: Sequence[Resource]

    def of(self, *kinds: type[R]) -> list[R]:
        """The resources of these kinds."""
        return [one for one in self.resources if isinstance(one, kinds)]

    def ensure_data(self, fault: Resource) -> None:
        """Have the data directory of the volume that a fault of a disk was done to; nothing where that has gone."""
        volume = getattr(fault, "volume", None)
        if not isinstance(volume, Volume) or volume.share is not None:
            return  # a claim's directory is made where the volume is mounted
        if volume.mounted() and (record := self.volumes.get(volume.name)) is not None:
            self.volumes.ensure_data(record)


class Fault(Model):
    """One fault that was asked for: the body of ``PUT /v1/faults/<id>``. A kind is a subclass."""

    OVER_AT_ONCE: ClassVar[bool] = False
    """Whether nothing of it is in force once it has happened."""
    ON_DISK: ClassVar[bool] = False
    """Whether it is done to the pod's volume, to which nothing else is done meanwhile."""
    TALKS: ClassVar[bool] = False
    """Whether undoing it takes an answer of the pod's program."""
    RESETS: ClassVar[bool] = False
    """Whether the machine is reset once the fault is recorded as in force."""
    kind: str
    pod: PodReference
    deadline: AwareDatetime

    @property
    def keeps_down_ns(self) -> int | None:
        """For how long the node is kept down after a fault that ends it; None: as the kubelet likes."""
        return None

    def inject(self, context: Context) -> list[Evidence]:
        """Bring it about and see that it is there. Raises ``RefusalError``, ``MachineError``, ``OSError``."""
        raise NotImplementedError

    def healed(self, context: HealContext) -> list[Evidence]:
        """What is seen once it is undone."""
        del context
        return []

    def observe(self, context: HealContext) -> list[Evidence]:
        """What is seen of it while it is in force, or just before it is undone."""
        del context
        return []

    def plain(self) -> dict[str, Any]:
        """As JSON has it; equal for equal requests, also of callers and agents that know neither."""
        plain = self.model_dump(mode="json", by_alias=True)
        for name in ("container", "volume"):
            if plain["pod"][name] is None:
                del plain["pod"][name]
        return plain


class DownFault(Fault):
    """A fault that ends the node's processes, and is over then. Starting them again is the kubelet's."""

    OVER_AT_ONCE: ClassVar[bool] = True
    restart_after: Duration | None = None
    """What the kubelet starts in place of the killed one does not begin before."""

    @property
    def keeps_down_ns(self) -> int | None:
        return self.restart_after
