"""A channel to controllers of which a test says which one leads."""

from __future__ import annotations

from highwater_runtime.broker.controller_channel import ControllerChannel
from highwater_runtime.ports import SECOND, Endpoint, Ports

VOTERS = {1000: Endpoint("controller-0", 9093), 1001: Endpoint("controller-1", 9093)}


def channel_of(ports: Ports, hint: list[int | None]) -> ControllerChannel:
    return ControllerChannel("test", lambda: VOTERS.get(hint[0] or 0), ports, timeout_ns=SECOND)
