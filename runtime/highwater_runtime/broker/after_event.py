"""Ports that run one more step after each event they deliver.

The host runs every event (request, response, timer) to its end. A broker hangs its wake-ups (see
:mod:`highwater_runtime.broker.purgatory`) behind that end, in this one place, instead of behind each of the many
actions that may have changed something.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from highwater_runtime.ports import ApiMessage, Clock, Endpoint, Heartbeat, Network, Ports, ResponseHandler, Timer


class _Clock:
    def __init__(self, inner: Clock, after: Callable[[], None]) -> None:
        self._inner = inner
        self._after = after
        self.now_ns = inner.now_ns
        self.wall_ms = inner.wall_ms

    def call_later(self, delay_ns: int, callback: Callable[[], None]) -> Timer:
        after = self._after

        def run() -> None:
            callback()
            after()

        return self._inner.call_later(delay_ns, run)


class _Network:
    def __init__(self, inner: Network, after: Callable[[], None]) -> None:
        self._inner = inner
        self._after = after

    def send(
        self,
        to: Endpoint,
        request: ApiMessage,
        version: int,
        on_response: ResponseHandler,
        *,
        timeout_ns: int,
        channel: str = "",
    ) -> None:
        after = self._after

        def run(response: Any) -> None:
            on_response(response)
            after()

        self._inner.send(to, request, version, run, timeout_ns=timeout_ns, channel=channel)

    def repeat_while_held_up(self, heartbeat: Heartbeat) -> None:
        # What a heartbeat is answered changes no replica: no step follows.
        self._inner.repeat_while_held_up(heartbeat)

    def stop_repeating(self) -> None:
        self._inner.stop_repeating()

    def disconnect(self, to: Endpoint) -> None:
        self._inner.disconnect(to)


def with_step_after_events(ports: Ports, after: Callable[[], None]) -> Ports:
    """``ports`` whose timers and responses each end with ``after()``. Inbound requests and disk completions do not."""
    return replace(ports, clock=_Clock(ports.clock, after), network=_Network(ports.network, after))
