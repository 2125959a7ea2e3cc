"""Invariants of metadata images (KRaft mode): what a snapshot keeps, and what a copy has.

* ``metadata-image``: a snapshot of an image gives the same image again. Else a node that loads it lives in another
  cluster than one that has replayed the log. (At rest, :mod:`.rest` compares the images of all nodes.)

The trap: a snapshot of the image as it usually is says nothing of what is rare: a reassignment that goes on, a broker
that shuts down. So a snapshot is tried each time that a partition or a broker is in a condition of a new kind, whether
or not a controller writes one then.
"""

from __future__ import annotations

from typing import Final

from highwater_runtime.controller.kraft import QuorumController
from highwater_runtime.metadata import MetadataImage, snapshot
from highwater_runtime.metadata.image import MetadataReplayError
from highwater_runtime.ports.trace import BrokerRegistrationChanged, PartitionChanged
from highwater_runtime.sim.invariants.violation import Violations
from highwater_runtime.sim.simulator import Simulator

SUBJECT: Final = "__cluster_metadata-0"
OF_IMAGES: Final = frozenset((BrokerRegistrationChanged, PartitionChanged))
"""Events that :meth:`ImageInvariants.on_event` has to see."""

_WHOLE: Final = ("brokers", "configs", "metadata_version", "next_producer_id", "scram_credentials")


def difference(mine: MetadataImage, other: MetadataImage) -> str:
    """The first thing that two images say differently, as a clause; empty if there is none."""
    for name in _WHOLE:
        one, two = getattr(mine, name), getattr(other, name)
        if one != two:
            return f"{name.replace('_', ' ')} {one}, not {two}"
    topics = [{(one.name, one.id): one.partitions for one in image.topics_by_name.values()} for image in (mine, other)]
    if topics[0].keys() != topics[1].keys():
        return f"topics {sorted(map(str, topics[0]))}, not {sorted(map(str, topics[1]))}"
    for topic, partitions in topics[0].items():
        if partitions != topics[1][topic]:
            return f"partitions of {topic[0]} {partitions}, not {topics[1][topic]}"
    return ""


class ImageInvariants:
    """Checks snapshots; the monitor feeds it events of controllers."""

    def __init__(self, simulator: Simulator, violations: Violations) -> None:
        self._simulator = simulator
        self._violations = violations
        self._tried: dict[tuple[object, ...], None] = {}

    def on_event(self, node: str, _incarnation: int, event: BrokerRegistrationChanged | PartitionChanged) -> None:
        """Try a snapshot if the event brought something of a new kind."""
        process = self._simulator.nodes[node].process
        core = None if process is None else process.core
        if not isinstance(core, QuorumController):
            return
        image = core.committed_image
        kind = _kind_of(image, event)
        if kind in self._tried:
            return
        self._tried[kind] = None
        try:
            again = snapshot.image_of(snapshot.snapshot_records(image), image.offset + 1)
        except MetadataReplayError as error:
            what = f"a snapshot of the image of {node} could not be loaded: {error}"
        else:
            found = difference(again, image)
            if not found:
                return
            what = f"a snapshot of the image of {node} gives {found}"
        self._violations.add("metadata-image", SUBJECT, what, ("snapshot", kind))


def _kind_of(image: MetadataImage, event: BrokerRegistrationChanged | PartitionChanged) -> tuple[object, ...]:
    if isinstance(event, BrokerRegistrationChanged):
        broker = image.brokers.get(event.broker)
        return (None,) if broker is None else (broker.fenced, broker.in_controlled_shutdown)
    topic, _, index = event.partition.rpartition("-")
    state = image.partition(topic, int(index))
    if state is None:
        return (None, None)
    is_led, is_whole = state.leader >= 0, len(state.isr) == len(state.replicas)
    moves = bool(state.adding_replicas), bool(state.removing_replicas)
    return (is_led, is_whole, *moves, state.leader_recovery_state, bool(image.topic_config(topic)))
