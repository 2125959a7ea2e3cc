"""What happened, as JSON lines that are byte-identical for equal seeds.

Every :class:`highwater_runtime.ports.trace.NodeEvent` becomes one line: the host's fields, then the event's own.
Lines about messages (``send``, ``deliver``, ``drop``) are kept apart and only made when asked for. A running BLAKE2
digest covers all lines of both kinds: equal digests mean equal runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from highwater_runtime.ports.trace import NodeEvent

if TYPE_CHECKING:
    from highwater_runtime.sim.clock import HostClock
    from highwater_runtime.sim.process import Process

Subscriber = Callable[[int, str, int, NodeEvent], None]
"""Gets ``(time_ns, node, incarnation, event)`` in the moment of the event."""

_ENCODE: Final = msgspec.json.Encoder().encode


class SimTrace:
    """All events of one run."""

    __slots__ = ("_digest", "_unhashed", "message_lines", "messages", "node_lines", "subscribers")

    def __init__(self, *, messages: bool = False) -> None:
        self.messages = messages
        """Whether every message is traced too."""
        self.node_lines: list[bytes] = []
        """Lines of ``events/nodes.jsonl``, without line ends."""
        self.message_lines: list[bytes] = []
        self.subscribers: list[Subscriber] = []
        self._digest = blake2b(digest_size=16)
        self._unhashed: list[bytes] = []

    def add_event(self, process: Process, host_clock: HostClock, prefix: bytes, event: NodeEvent) -> None:
        """Record ``event``; ``prefix`` is the JSON of the process's name and incarnation."""
        time_ns = process.loop.now
        line = b'{"seq":%d,"time_ns":%d,"node_time_ns":%d,%b%b' % (
            len(self.node_lines),
            time_ns,
            host_clock.wall_ns(),
            prefix,
            _ENCODE(event)[1:],
        )
        self.node_lines.append(line)
        self._unhashed.append(line)
        for subscriber in self.subscribers:
            subscriber(time_ns, process.name, process.incarnation, event)

    def add_message(
        self, time_ns: int, what: str, direction: str, api: str, version: int, source: str, target: str
    ) -> None:
        """Record what became of one message; ``what``: ``send``, ``deliver`` or ``drop``."""
        line = b'{"time_ns":%d,"message":"%b","direction":"%b","api":"%b","version":%d,"from":"%b","to":"%b"}' % (
            time_ns,
            what.encode(),
            direction.encode(),
            api.encode(),
            version,
            source.encode(),
            target.encode(),
        )
        self.message_lines.append(line)
        self._unhashed.append(line)

    def digest(self) -> str:
        """32 hex digits over everything so far."""
        self._digest.update(b"".join(self._unhashed))
        self._unhashed.clear()
        return self._digest.hexdigest()

    def write(self, directory: Path) -> None:
        """Write ``nodes.jsonl``, and ``messages.jsonl`` if messages were traced."""
        directory.mkdir(parents=True, exist_ok=True)
        _write_lines(directory / "nodes.jsonl", self.node_lines)
        if self.messages:
            _write_lines(directory / "messages.jsonl", self.message_lines)


class ProcessTrace:
    """The :class:`highwater_runtime.ports.Trace` of one process."""

    follows_records: Final = True
    __slots__ = ("_host_clock", "_prefix", "_process", "_trace")

    def __init__(self, trace: SimTrace, process: Process, host_clock: HostClock) -> None:
        self._trace = trace
        self._process = process
        self._host_clock = host_clock
        self._prefix = b'"node":%b,"incarnation":%d,' % (_ENCODE(process.name), process.incarnation)

    def emit(self, event: NodeEvent) -> None:
        self._trace.add_event(self._process, self._host_clock, self._prefix, event)


def _write_lines(path: Path, lines: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        for line in lines:
            file.write(line)
            file.write(b"\n")
