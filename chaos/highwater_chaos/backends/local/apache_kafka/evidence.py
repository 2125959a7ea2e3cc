"""Which kinds of events a run of Apache Kafka has, by mode and release.

A kind is *exact* if none is missed and what an event says is what happened; it is *seen* if each event is true and some
are missed; else it is absent. Lines of logs differ from release to release, so what rests on them is exact only for
releases whose lines tests read. Of another release nobody knows, so it is absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from highwater_chaos.apache_kafka.node_logging import lines_known
from highwater_chaos.apache_kafka.versions import Mode
from highwater_pipeline.tables.recorded_events import RecordedEvents
from highwater_runtime.ports.trace import (
    AlterPartitionHandled,
    BecameFollower,
    BecameLeader,
    BrokerRegistered,
    BrokerRegistrationChanged,
    BrokerStateChanged,
    ControllerChanged,
    HighWatermarkAdvanced,
    IsrProposalEnded,
    IsrProposed,
    IsrTaken,
    LogAppended,
    LogCut,
    LogLoaded,
    LogRemoved,
    LogStartMoved,
    LogTruncated,
    NodeCrashed,
    NodeEvent,
    NodeStarted,
    NodeStopped,
    PartitionChanged,
    RaftStateChanged,
)

Kinds = tuple[type[NodeEvent], ...]

_IN_EITHER_MODE: Final[Kinds] = (
    NodeStarted,
    NodeStopped,
    NodeCrashed,
    BrokerRegistered,
    BrokerRegistrationChanged,
    BrokerStateChanged,
    PartitionChanged,
)
DECIDED: Final[dict[Mode, Kinds]] = {
    "kraft": (*_IN_EITHER_MODE, RaftStateChanged),
    "zookeeper": (*_IN_EITHER_MODE, ControllerChanged),
}
"""What the metadata log or the ensemble shows, the harness knows, and all releases log."""
OF_BROKERS: Final[Kinds] = (
    LogLoaded,
    LogCut,
    LogRemoved,
    LogAppended,
    LogTruncated,
    LogStartMoved,
    BecameLeader,
    BecameFollower,
    HighWatermarkAdvanced,
    IsrProposed,
    IsrProposalEnded,
    IsrTaken,
)
"""What brokers log of their replicas."""
OF_CONTROLLERS: Final[Kinds] = (AlterPartitionHandled,)
"""What controllers log of requests."""
_ASKED_FOR: Final[Kinds] = (HighWatermarkAdvanced,)


def recorded_events(release: str, mode: Mode) -> RecordedEvents:
    """Return what a run declares of its events as long as none is lost."""
    if not lines_known(release, mode):
        why = f"it is not known what Apache Kafka {release} logs of what it appends and commits"
        return RecordedEvents(names_of(DECIDED[mode]), why, seen=names_of(_ASKED_FOR))
    return RecordedEvents(
        names_of((*DECIDED[mode], *OF_BROKERS, *OF_CONTROLLERS)),
        "Apache Kafka does not log which batches it commits, flushes and acknowledges",
    )


def without(declared: RecordedEvents, lost: Kinds, why: str) -> RecordedEvents:
    """Return what is declared once lines on some kinds of events were lost: those that came are true."""
    gone = [kind for kind in declared.kinds if kind in names_of(lost)]
    if not gone:
        return declared
    kinds = tuple(kind for kind in declared.kinds if kind not in gone)
    seen = tuple(dict.fromkeys([*declared.seen, *gone]))
    return msgspec.structs.replace(declared, kinds=kinds, seen=seen, why=f"{declared.why}; {why}")


class Declaration:
    """The file of a run that says which kinds of events it has; the same for every node, so each node's place has it.

    Raises ``OSError`` where a file cannot be written.
    """

    def __init__(self, release: str, mode: Mode, files: Sequence[Path]) -> None:
        self._declared = recorded_events(release, mode)
        self._files = files

    def write(self) -> None:
        for file in self._files:
            file.write_bytes(self.encoded())

    def encoded(self) -> bytes:
        return msgspec.json.encode(self._declared)

    def lose(self, role: str, why: str) -> None:
        """Lines of a node of this role were lost."""
        self._declared = without(self._declared, OF_BROKERS if role == "broker" else OF_CONTROLLERS, why)
        self.write()


def names_of(kinds: Kinds) -> tuple[str, ...]:
    """The names of kinds, as tables have them."""
    return tuple(str(kind.__struct_config__.tag) for kind in kinds)
