"""The clients of one run: cores on the clients' thread, and programs of their own that it started."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from highwater_chaos.backends.client_process import LoopClientProcess
from highwater_chaos.backends.local.client_loop import ClientLoop
from highwater_runtime.host import HostedNode
from highwater_runtime.host.node import CoreFactory
from highwater_runtime.ports import NodeCore, Ports

T = TypeVar("T")


class LocalClients:
    """``enter`` moves the calling thread to where clients live; ``seed`` is the run's."""

    def __init__(self, enter: Callable[[], None], seed: int) -> None:
        self._loop = ClientLoop(enter)
        self._seed = seed
        self._hosted: list[HostedNode] = []
        self._processes: list[LoopClientProcess] = []

    def add(self, name: str, factory: Callable[[Ports], NodeCore]) -> None:
        """Start a core."""
        self.add_hosted(name, lambda _: factory)

    def add_hosted(self, name: str, factory_for: Callable[[HostedNode], CoreFactory]) -> None:
        """Start a core whose making needs its host."""

        def make(ports: Ports) -> NodeCore:
            return factory_for(client)(ports)

        client: HostedNode

        async def begin() -> None:
            nonlocal client
            client = HostedNode(name, make, seed=self._seed)
            self._hosted.append(client)
            await client.start()

        self._loop.wait(begin())

    def add_process(
        self,
        argv: Sequence[str],
        on_line: Callable[[bytes], None],
        on_exit: Callable[[int, str], None],
        log: Path | None = None,
    ) -> LoopClientProcess:
        """Start a program in the clients' network; ``log`` gets its stderr."""
        process = self._loop.call(lambda: LoopClientProcess(self._loop.loop, argv, on_line, on_exit, log=log))
        self._processes.append(process)
        return process

    def call(self, function: Callable[[], T]) -> T:
        """Run a function where the clients run; returns what it returns."""
        return self._loop.call(function)

    def post(self, callback: Callable[[], None]) -> None:
        """Run ``callback`` where the clients run."""
        self._loop.post(callback)

    def inconclusive_reasons(self) -> list[str]:
        """Cores that ended by themselves, and what else failed on the thread."""
        ended = [
            f"client {client.name} ended by itself: {client.end.ending.value}: {client.end.error!r}"
            for client in self._hosted
            if client.end is not None
        ]
        return [*ended, *self._loop.failures()]

    def close(self) -> None:
        """All of them are gone. Idempotent."""
        for process in self._processes:
            process.kill()
        self._loop.close()
