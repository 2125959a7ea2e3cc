"""A thread that repeats a node's heartbeats while its event loop is held up.

A broker of Apache Kafka sends its heartbeats from a thread of their own (``BrokerLifecycleManager``, all releases with
KRaft). So a broker whose disk stalls keeps its session, though the threads that serve requests block in ``write()``. A
core of ours runs in one event loop. It appends there too, and a ``write()`` blocks if the kernel throttles writers, if
the file system waits for its journal, or if it is frozen.

The thread knows the last heartbeat that the core has sent (:meth:`HeartbeatThread.remember`). If the next one is
overdue, the thread asks the loop whether it runs. A loop that does not answer is held up: the thread sends that
heartbeat again and again, over a connection of its own, until the loop answers. The heartbeat is still true, since
nothing happens to the core meanwhile.

A loop that answers waits for the controller, which is the core's affair: the thread sends nothing. Nor does it once the
core leaves its cluster (:meth:`HeartbeatThread.close`), however long that takes.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import monotonic_ns
from typing import Any, Final, NamedTuple

from highwater_runtime.host.net.listeners import OutboundSecurity
from highwater_runtime.host.node import HostedNode
from highwater_runtime.ports import SECOND, ClientCore, Endpoint, Heartbeat, Ports, RpcFailure

_CHANNEL: Final = "heartbeat-repeated"
_OVERDUE: Final = 1.25
"""Intervals after which the next heartbeat is overdue."""
_ANSWERS_WITHIN: Final = 0.25
"""Intervals that the loop may take to answer before it counts as held up."""
_ANSWERS_WITHIN_S: Final = 0.25
"""The least of that: a busy machine holds up every loop for a moment."""
_LOOK_S: Final = 0.02
"""How often the thread looks whether the loop goes on."""


class _Sent(NamedTuple):
    at_ns: int
    heartbeat: Heartbeat


class HeartbeatThread:
    """Of ``node``; it starts with the first heartbeat. ``security``: how the node meets the server at an endpoint."""

    def __init__(self, node: HostedNode, security: Callable[[Endpoint], OutboundSecurity]) -> None:
        self._node = node
        self._security = security
        self._last: _Sent | None = None
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()
        self.asked = 0
        """How often a heartbeat was overdue, and the loop was asked whether it runs."""
        self.repeated = 0
        """Heartbeats that this thread has sent."""
        node.network.heartbeats = self

    def remember(self, heartbeat: Heartbeat) -> None:
        """Take note of a heartbeat that the core sends now; see :meth:`.Network.repeat_while_held_up`."""
        self._last = _Sent(monotonic_ns(), heartbeat)
        if self._thread is None and not self._closed.is_set():
            # A daemon: no process waits for a name that is being resolved.
            thread = threading.Thread(target=self._run, name=f"{self._node.name}-heartbeat", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # the system gives no more threads; the next heartbeat tries again
                self._node.log.warning("no thread for heartbeats while the event loop is held up", why=str(error))
            else:
                self._thread = thread

    def close(self) -> None:
        self._closed.set()

    @property
    def is_alive(self) -> bool:
        """Whether there is a thread that may send."""
        return self._thread is not None and self._thread.is_alive()

    # --- in the thread ---

    def _run(self) -> None:
        while (sent := self._last) is not None:
            every_ns = sent.heartbeat.every_ns
            overdue_ns = sent.at_ns + int(every_ns * _OVERDUE) - monotonic_ns()
            if overdue_ns > 0:
                if self._closed.wait(overdue_ns / SECOND):
                    return
                continue
            goes_on = threading.Event()
            self.asked += 1
            if not self._ask_loop(goes_on.set) or self._closed.is_set():
                return
            patience_s = max(_ANSWERS_WITHIN_S, every_ns * _ANSWERS_WITHIN / SECOND)
            if not goes_on.wait(patience_s):
                self._repeat_for_now(sent, goes_on)
            elif self._last is sent and self._closed.wait(patience_s):  # the core waits for the controller
                return

    def _ask_loop(self, answer: Callable[[], None]) -> bool:
        """Have the node's loop call ``answer``; returns whether there is a loop."""
        with suppress(RuntimeError):  # it is closed
            self._node.loop.call_soon_threadsafe(answer)
            return True
        return False

    def _repeat_for_now(self, sent: _Sent, goes_on: threading.Event) -> None:
        """Send the heartbeat until the node's loop goes on, or fails for want of what only the machine can give."""
        try:
            # Not asyncio.run, which would wait for a name that is being resolved: the next hold-up may come before.
            loop = asyncio.new_event_loop()
            try:
                loop.run_until_complete(self._repeat(sent, goes_on))
            finally:
                loop.close()
        except OSError as error:  # no more file descriptors
            self._node.log.warning("the event loop is held up, and heartbeats cannot go on", why=str(error))
            self._closed.wait(sent.heartbeat.every_ns / SECOND)

    async def _repeat(self, sent: _Sent, goes_on: threading.Event) -> None:
        """Send the last heartbeat each interval until the node's loop goes on.

        The core may have sent another one, to another controller, between the question to the loop and the hold-up.
        """
        sender = HostedNode(self._node.name, _Sender, security=self._security)
        sender.network.addresses = self._node.network.addresses
        await sender.start()
        began_ns, repeated_before = monotonic_ns(), self.repeated
        sender.log.warning(
            "the event loop is held up: heartbeats go on from another thread",
            last_heartbeat_ms=(began_ns - sent.at_ns) // 1_000_000,
        )
        next_ns = began_ns
        try:
            while not (goes_on.is_set() or self._closed.is_set()):
                now, last = monotonic_ns(), (self._last or sent).heartbeat
                if now >= next_ns:
                    next_ns = now + last.every_ns
                    self.repeated += 1
                    sender.run(partial(self._send, sender, last))
                await asyncio.sleep(_LOOK_S)
        finally:
            sender.kill()
            await asyncio.sleep(0)  # what was connecting ends
        sender.log.info(
            "the event loop goes on",
            held_up_ms=(monotonic_ns() - began_ns) // 1_000_000,
            heartbeats=self.repeated - repeated_before,
        )

    def _send(self, sender: HostedNode, beat: Heartbeat) -> None:
        sent_ns = self._node.clock.now_ns()

        def answered(response: Any) -> None:
            if not isinstance(response, RpcFailure):
                self._ask_loop(partial(self._node.run, partial(beat.on_response, sent_ns, response)))

        sender.network.send(beat.to, beat.request, beat.version, answered, timeout_ns=beat.timeout_ns, channel=_CHANNEL)


class _Sender(ClientCore):
    """The core of the node in the thread: its host sends for it."""

    def __init__(self, ports: Ports) -> None:
        """``ports`` are not used."""
