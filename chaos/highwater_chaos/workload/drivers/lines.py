"""What the harness and a driver say to each other.

A driver gets its :class:`DriverSettings` as JSON in its only argument. It writes one JSON object a line to stdout: each
operation's beginning and outcome, in the order in which they happened, with the time on ``CLOCK_MONOTONIC``, which is
the same for every process of a machine. The line that begins a send leaves (``write(2)``) before the client library
hears of the record: a driver that dies can have sent nothing that the history does not know.

On stdin it hears :data:`FINISH`: begin nothing new, wait for every outcome, say ``done``, exit 0. The end of its stdin
means that the harness is gone: exit at once.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from highwater_chaos.workload.history import MicroOp, OperationKind

FINISH: Final = b"finish\n"


class DriverSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a driver is to do. ``bootstrap`` as Kafka's ``bootstrap.servers``; ``interval_ns``: mean time between sends,
    each varies by up to a half; ``values_from``: the first value; ``max_open``: sends that may be open at once."""

    role: Literal["producer", "consumer"]
    name: str
    bootstrap: str
    topics: tuple[str, ...]
    seed: str
    request_timeout_ns: int
    delivery_timeout_ns: int
    ack_timeout_ns: int | None = None
    interval_ns: int = 0
    values_from: int = 1
    acks: int = -1
    idempotence: bool = True
    max_open: int = 200


class Told(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a driver. ``at``: ns on ``CLOCK_MONOTONIC``; ``operation``: its own number of the operation."""

    type: Literal["invoke", "ok", "fail", "info", "done"]
    at: int
    operation: int = -1
    f: OperationKind = "poll"
    value: tuple[MicroOp, ...] = ()
    error: str = ""


encode_line = msgspec.json.Encoder().encode
decode_line = msgspec.json.Decoder(Told).decode
