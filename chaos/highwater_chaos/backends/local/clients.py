"""The clients of one run: cores on the clients' thread, and programs of their own that it started."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from highwater_chaos.backends.client_process import LoopClientProcess
from highwater_chaos.backends.local.client_loop import ClientLoop, ClientLoopError
from highwater_runtime.host import HostedNode
from highwater_runtime.host.net.listeners import PLAINTEXT_OUTBOUND, OutboundSecurity
from highwater_runtime.host.node import CoreFactory
from highwater_runtime.ports import Endpoint, NodeCore, Ports

T = TypeVar("T")

_GONE_WITHIN: Final = 30.0
"""Seconds for the kernel to end a process that has got SIGKILL: a loaded machine needs some."""


class LocalClients:
    """``enter`` moves the calling thread to where clients live; ``seed`` is the run's. ``negotiates``: servers are not
    our own, and may be of any release. ``security``: how they are met."""

    def __init__(
        self,
        enter: Callable[[], None],
        seed: int,
        *,
        negotiates: bool = False,
        security: Callable[[Endpoint], OutboundSecurity] = lambda _: PLAINTEXT_OUTBOUND,
    ) -> None:
        self._loop = ClientLoop(enter)
        self._seed = seed
        self._negotiates = negotiates
        self._security = security
        self._hosted: list[HostedNode] = []
        self._processes: list[LoopClientProcess] = []

    def add(self, name: str, factory: Callable[[Ports], NodeCore]) -> None:
        self.add_hosted(name, lambda _: factory)

    def add_hosted(self, name: str, factory_for: Callable[[HostedNode], CoreFactory]) -> None:
        """Start a core whose making needs its host."""

        def make(ports: Ports) -> NodeCore:
            return factory_for(client)(ports)

        client: HostedNode

        async def begin() -> None:
            nonlocal client
            client = HostedNode(name, make, seed=self._seed, negotiates=self._negotiates, security=self._security)
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

        def start() -> LoopClientProcess:
            # Noted where it is started: a caller that no longer waits (a time-out, an interrupt) would not note it, and
            # then nobody would kill it.
            process = LoopClientProcess(self._loop.loop, argv, on_line, on_exit, log=log)
            self._processes.append(process)
            return process

        return self._loop.call(start)

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
        """All of them are gone. Idempotent.

        Raises:
            ClientLoopError: a process did not end: it waits in the kernel.
        """
        for process in list(self._processes):
            process.kill()
        self._loop.close()
        # The loop may have started one more before it ended. None is started from here on.
        for process in self._processes:
            process.kill()
        living = [process.pid for process in self._processes if not process.wait_gone(_GONE_WITHIN)]
        if living:
            raise ClientLoopError(f"client processes {living} got SIGKILL and are still there after {_GONE_WITHIN:g} s")
