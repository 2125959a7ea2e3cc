"""What a host calls on a core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from highwater_runtime.ports.network import InboundRequest


class NodeHaltError(Exception):
    """A core found that another node broke a promise on which it relies: it must stop.

    Raised out of the event in which it was found; the host ends the node, as after a disk failure.
    """


class NodeCore(Protocol):
    """One incarnation of a broker, a controller or a client, without I/O.

    A crash is not announced: the host drops the core, its timers, its connections and its unfinished disk
    completions. A restart builds a new core over the same (or a wiped) disk.
    """

    def start(self) -> None:
        """Load state from disk, begin to act. Called once, before anything else.

        Raises ``OSError`` where the disk fails; the host then treats the node as crashed.
        """

    def on_request(self, request: InboundRequest) -> None:
        """React to one inbound request. Must respond to every request at some time; to unknown ones with an error."""

    def stop(self, on_stopped: Callable[[], None]) -> None:
        """Shut down cleanly (controlled shutdown, flush, clean-shutdown marker), then call ``on_stopped`` once."""


class ClientCore:
    """A :class:`NodeCore` that serves nothing. Unless it says otherwise, it begins nothing and finishes nothing."""

    def start(self) -> None:
        """Do nothing yet."""

    def on_request(self, request: InboundRequest) -> None:
        """Raise AssertionError: nobody knows an address of a client."""
        raise AssertionError(f"{type(self).__name__} is a client and got {request.body!r}")

    def stop(self, on_stopped: Callable[[], None]) -> None:
        """Call back at once."""
        on_stopped()


@runtime_checkable
class TakesRequestsTogether(Protocol):
    """A core that does once for many requests what follows from them, as waking those who wait. A host that reads many
    requests at once calls these two instead of :meth:`NodeCore.on_request`."""

    def take(self, request: InboundRequest) -> None:
        """React to a request as :meth:`NodeCore.on_request` does, but for what :meth:`settle` does."""

    def settle(self) -> None:
        """Do what follows from the requests taken. Called before anything else happens to the core."""


@runtime_checkable
class RefreshesMetrics(Protocol):
    """A core with gauges that are not kept up to date all the time. A host that is asked for them calls this first."""

    def refresh_metrics(self, *, of_records: bool = True) -> None:
        """Bring these gauges up to date; changes nothing else. ``of_records``: those of single partitions too, which
        move with every record and are many."""
