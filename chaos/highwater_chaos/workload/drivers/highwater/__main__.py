"""``python -m highwater_chaos.workload.drivers.highwater SETTINGS``: see ``lines.py`` for its input and output."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable

from highwater_chaos.workload.client_group import HostedClients
from highwater_chaos.workload.drivers.lines import END, HARNESS_GONE, TELL_EVERY_NS, roles_of
from highwater_chaos.workload.drivers.program import ClientProgram
from highwater_chaos.workload.history import HistoryRecorder
from highwater_chaos.workload.history_files import HistoryWriter
from highwater_runtime.host import HostedNode
from highwater_runtime.host.files.trace import NoTrace
from highwater_runtime.host.logs import configure
from highwater_runtime.ports import NodeCore, Ports
from highwater_runtime.sim.garbage import freeze_collector


class _HistoryFirst(NoTrace):
    """Clients have no events; what is written before anything of a turn leaves is the history."""

    def __init__(self, history: HistoryWriter) -> None:
        self._history = history

    def flush(self) -> None:
        self._history.flush()


class _Process:
    """Clients on the running loop."""

    def __init__(self, program: ClientProgram) -> None:
        self._program = program
        self._settings = program.settings
        self._security = program.security()
        self._history = program.history
        self._recorder = HistoryRecorder(program.now_ns, self._history.add)
        self._nodes: list[HostedNode] = []
        self._clients = HostedClients(self._add, self._recorder)
        self._heard = b""
        self.ended = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        """Start the clients, then do as stdin says, until it says that it is over."""
        loop = asyncio.get_running_loop()
        self._clients.start(self._settings.clients)
        for node in self._nodes:
            await node.start()
        os.set_blocking(sys.stdin.fileno(), False)
        loop.add_reader(sys.stdin.fileno(), self._listen)
        self._report()
        await self.ended

    def _add(self, name: str, factory: Callable[[Ports], NodeCore]) -> None:
        node = HostedNode(
            name,
            factory,
            seed=self._settings.seed,
            negotiates=self._settings.negotiates,
            security=self._security,
        )
        node.turn.trace = _HistoryFirst(self._history)
        self._nodes.append(node)

    def _listen(self) -> None:
        data = os.read(sys.stdin.fileno(), 1 << 16)
        if not data:
            # The harness is gone.
            os._exit(HARNESS_GONE)
        *lines, self._heard = (self._heard + data).split(b"\n")
        for line in lines:
            if line + b"\n" == END:
                self._say()
                self._history.close()
                self.ended.set_result(None)
                return
            self._clients.finish(roles_of(line))

    def _report(self) -> None:
        if not self.ended.done():
            self._say()
            asyncio.get_running_loop().call_later(TELL_EVERY_NS / 1e9, self._report)

    def _say(self) -> None:
        """Tell how the clients stand, if that has changed."""
        self._history.flush()
        ended = (
            f"client {node.name} ended by itself: {node.end.ending.value}: {node.end.error!r}"
            for node in self._nodes
            if node.end is not None
        )
        status, news = self._clients.status(list(ended)), self._recorder.news
        self._recorder.news = {}
        self._program.report(status, news)


async def _run(program: ClientProgram) -> None:
    await _Process(program).run()


def main() -> int:
    """Host clients until the harness ends the run; returns the exit status."""
    configure("text")
    program = ClientProgram.from_arguments()
    freeze_collector()
    asyncio.run(_run(program))
    return 0


if __name__ == "__main__":
    sys.exit(main())
