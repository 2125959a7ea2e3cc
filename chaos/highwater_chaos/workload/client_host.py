"""What clients ask of the place where they live. Backends implement it; clients do not know which backend it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from highwater_runtime.ports import Endpoint, NodeCore, Ports


class ClientHost(Protocol):
    """Where the clients of one run live, from the moment when the cluster is built."""

    def now_ns(self) -> int:
        """Run time in nanoseconds."""

    def bootstrap(self) -> tuple[Endpoint, ...]:
        """Brokers' endpoints for clients."""

    def controllers(self) -> tuple[Endpoint, ...]:
        """Controllers' endpoints for clients that read or change metadata."""

    def add_client(self, name: str, factory: Callable[[Ports], NodeCore]) -> None:
        """Start a client (no disk) that lives until the run ends; faults never touch it unless it is named."""

    def post(self, callback: Callable[[], None]) -> None:
        """Run ``callback`` where clients run, as an event of its own, so that it may call a client's methods."""


@runtime_checkable
class HasClientConfig(Protocol):
    """A place whose brokers let clients in by Kafka's client properties."""

    def client_config(self) -> Path | None:
        """The file that has them; None: they ask for nothing."""


@runtime_checkable
class HasControllersConfig(Protocol):
    """A place whose controllers let clients in otherwise than brokers do."""

    def controllers_config(self) -> Path | None:
        """The file of client properties for controllers; None: as for brokers."""


class ClientProcess(Protocol):
    """A client that is a program of its own."""

    def write(self, line: bytes) -> None:
        """Write to its stdin; nothing if it has ended. Call it where clients run (:meth:`ClientHost.post`)."""

    def kill(self) -> None:
        """SIGKILL, from any thread. Idempotent."""


@runtime_checkable
class HostsClientProcesses(Protocol):
    """A place where clients can also be programs of their own."""

    def add_client_process(
        self,
        name: str,
        argv: Sequence[str],
        on_line: Callable[[bytes], None],
        on_exit: Callable[[int, str], None],
        *,
        log: Path | None = None,
    ) -> ClientProcess:
        """Start a program as a client, from where brokers can be reached under their addresses.

        ``on_line`` hears every line of its stdout, without the line's end; then ``on_exit`` hears its exit status
        (−N: signal N) and the end of what it wrote to stderr, all of which is in ``log`` if that is given. Both are
        called where clients run. The program must end when its stdin does: that is how it outlives no harness. It is
        killed when the backend is closed.
        """
