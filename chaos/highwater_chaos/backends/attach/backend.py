"""See :mod:`highwater_chaos.backends.attach`."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from highwater_chaos.backends.attach.discovery import Found
from highwater_chaos.backends.attach.noted_topics import NotesTopics
from highwater_chaos.backends.attach.observing import AttachObserver
from highwater_chaos.backends.attach.session import Access
from highwater_chaos.backends.attach.topics import WITHIN_S, Made
from highwater_chaos.backends.local.clients import LocalClients
from highwater_chaos.backends.local.own_run import OwnRun
from highwater_chaos.backends.local.real_nodes import RealClients
from highwater_chaos.backends.primitives import Needs, Primitive
from highwater_chaos.backends.protocol import (
    BackendError,
    HeldUp,
    InvariantViolation,
    MetricRow,
    NodeState,
)
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.nodes import node_id, node_names
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel.own_program import own_program
from highwater_chaos.machine.process.commands import Command
from highwater_chaos.records.dump import Dumped
from highwater_pipeline.tables.recorded_events import RecordedEvents
from highwater_pipeline.tables.recordings import RECORDED_EVENTS_FILE
from highwater_runtime.ports import MS, Endpoint
from highwater_runtime.ports.trace import (
    BrokerRegistered,
    BrokerRegistrationChanged,
    BrokerStateChanged,
    ControllerChanged,
    HighWatermarkAdvanced,
    NodeStarted,
    PartitionChanged,
    RaftStateChanged,
)

_SLICE: Final = 0.02
_MADE: Final = "made.json"
_SEEN: Final = (
    NodeStarted,
    BrokerRegistered,
    BrokerRegistrationChanged,
    BrokerStateChanged,
    PartitionChanged,
    ControllerChanged,
    RaftStateChanged,
    HighWatermarkAdvanced,
)
_WHY: Final = "a cluster of others is only asked, a few times a second, and reports nothing by itself"


class AttachBackend(NotesTopics, RealClients, OwnRun):
    """See :class:`highwater_chaos.backends.protocol.Backend`. ``root``: the state directory; None: the user's."""

    name = "attach"
    poll_ns = 20 * MS

    def __init__(self, access: Access, found: Found, *, root: Path | None = None) -> None:
        super().__init__(root)
        self._access = access
        self._found = found
        self._observer: AttachObserver | None = None
        self._cluster: Cluster
        file = None if access.file is None else str(access.file)
        self._begin_notes(Made([str(one) for one in access.bootstrap], file, found.cluster_id, []))

    # --- before the run ---

    def is_attached(self) -> bool:
        return True

    def can(self, cluster: Cluster) -> frozenset[Primitive]:
        """Return what this backend can do: all that it implements."""
        del cluster
        return self.primitives

    def why_not(self, cluster: Cluster, primitive: Primitive) -> str | None:
        """The machines are those of others."""
        del cluster, primitive
        return "the nodes' machines, disks and network belong to somebody else"

    def problems(self, cluster: Cluster) -> list[str]:
        """What keeps clients from the brokers was found out when the cluster was looked at."""
        if cluster.attached is None:
            return ["spec.cluster: was not resolved for a cluster of others"]
        return []

    # --- start and end of the run ---

    def build(self, cluster: Cluster, seed: int, spool: Path | None = None, *, needs: Needs = None) -> None:
        """Note what is going to be made, then begin to observe."""
        del needs
        self._cluster = cluster
        run = self._begin("highwater run --backend attach", spool)
        made = run.path / _MADE
        self._made.write(made)
        program = "highwater_chaos.backends.attach.topics"
        run.make(
            Command(
                f"topics of the experiment on cluster {self._found.cluster_id}",
                heal=own_program(program, "remove", str(made)),
                probe=own_program(program, "look", str(made)),
                directory="/",
                seconds=WITHIN_S,
            )
        )
        self._observe(seed)

    def _observe(self, seed: int) -> None:
        self._clients = LocalClients(lambda: None, seed, negotiates=True, security=self._access.config().security)
        self._observer = AttachObserver(
            self._found, self._access, lambda: list(self._made.topics), seed, incarnation=self.incarnation
        )

    def _write_made(self) -> None:
        assert self._run is not None
        self._made.write(self._run.path / _MADE)

    def advance(self, until_ns: int) -> None:
        while (left := until_ns - self.now_ns()) > 0:
            time.sleep(min(left / 1e9, _SLICE))
        self._take_events()

    def start(self, node: str) -> None:
        """Raises :class:`BackendError`: nodes are started by whom they belong to."""
        raise BackendError(f"{node} belongs to somebody else, and is not started from here")

    def held_up(self, node: str) -> HeldUp | None:
        """Nothing is started here."""
        del node
        return None

    def close(self) -> None:
        """End clients and observation, delete the experiment's topics."""
        if self._clients is not None:
            self._clients.close()
        if self._observer is not None:
            self._observer.close()
        if self._run is None:
            return
        self._log.close()
        run, self._run = self._run, None
        try:
            run.__exit__()
        except MachineError as error:
            # The guardian goes on trying for a while; what was recorded is worth keeping in any case.
            sys.stderr.write(f"highwater: {error}\n")

    # --- for clients ---

    def bootstrap(self) -> tuple[Endpoint, ...]:
        """Each broker as it advertises itself, by id."""
        return tuple(self._found.brokers.values())

    def controllers(self) -> tuple[Endpoint, ...]:
        """Clients cannot reach them."""
        return ()

    def client_config(self) -> Path | None:
        """As the command line gave it."""
        return self._access.file

    # --- observation ---

    def state(self, node: str) -> NodeState:
        """By the other brokers' word; of controllers nothing is known but that the quorum has a leader."""
        if node not in node_names(self._cluster):
            raise KeyError(node)
        if node.startswith("controller-") or self._observer is None:
            return NodeState.UP
        return NodeState.UP if self._observer.watcher.is_live(node_id(node)) else NodeState.DOWN

    def incarnation(self, node: str) -> int:
        """Return 1: clients do not see that a node starts."""
        del node
        return 1

    def metric_samples(self) -> Iterable[MetricRow]:
        """None: others have their own monitoring."""
        return ()

    def violations(self) -> Sequence[InvariantViolation]:
        """Return none: clients see no state of nodes."""
        return ()

    def replica_dump(self) -> Generator[Dumped, None, None]:
        """Nothing: the disks are those of others."""
        yield from ()

    def inconclusive_reasons(self) -> Sequence[str]:
        """Clients that ended, an observer that did, another cluster that answers."""
        clients = [] if self._clients is None else self._clients.inconclusive_reasons()
        observer = [] if self._observer is None else self._observer.notes()
        return [*clients, *observer]

    def files(self) -> Mapping[str, bytes]:
        """Which events were seen: none of them completely."""
        seen = tuple(sorted(str(one.__struct_config__.tag) for one in _SEEN))
        return {RECORDED_EVENTS_FILE: msgspec.json.encode(RecordedEvents((), _WHY, seen=seen))}

    def _take_events(self) -> None:
        if self._observer is not None:
            self._log.add(self._observer.take())
