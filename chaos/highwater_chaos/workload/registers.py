"""Clients that treat topic configurations as registers, and write down every operation (KIP-650).

A register is one property of one topic, ``registers``, to which no client writes records: what its properties are is of
no consequence, so that they may take any value. A *writer* sets one to a value that no other operation ever wrote. A
*reader* reads one at a random node, broker or controller, by MetadataRead, linearizable or stale by its options.

What is written down must be certain, or be called unknown:

* A write is tried **once**. A repeated one could take effect twice, the second time over a later write, and no register
  behaves so. So it goes to the controllers directly (brokers repeat what they forward).
* NOT_CONTROLLER leaves a write open: a controller that has just lost its leadership says so of records that its
  successor may still commit. Errors of validation say that it did not happen.
* A read that failed has returned nothing. One that was held too long is tried at another node, within the same
  operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from highwater_chaos.records.register_topic import REGISTER_TOPIC
from highwater_chaos.workload.finishing import FinishingClient
from highwater_chaos.workload.history import HistoryRecorder, MicroOp
from highwater_runtime.metadata.registrations import TOPIC_RESOURCE
from highwater_runtime.ports import MS, SECOND, Endpoint, Ports, RpcFailure
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from highwater_runtime.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from highwater_runtime.wire.messages.metadata_read_request import MetadataReadRequest, MetadataReadTopic
from highwater_runtime.wire.messages.metadata_read_response import MetadataReadResponse

PROPERTIES: Final = ("retention.bytes", "max.message.bytes", "file.delete.delay.ms")
"""The registers: properties that take any whole number."""

VALUES_PER_WRITER: Final = 1_000_000_000
FIRST_VALUE: Final = 10**15
"""Writer *i* counts up from here plus ``i`` times :data:`VALUES_PER_WRITER`: above all values of producers."""

_ATTEMPTS: Final = 3

_CERTAINLY_NOT: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_CONFIG,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.UNSUPPORTED_VERSION,
    }
)


def register(name: str) -> str:
    """A register's key in the history."""
    return f"{REGISTER_TOPIC}/{name}"


@dataclass(frozen=True, slots=True)
class RegisterOptions:
    """``interval_ns``: mean time between the end of an operation and the next; it varies by up to a half.

    A node may hold a read for half of ``request_timeout_ns``; then the reader tries another."""

    name: str
    index: int
    role: Literal["write", "read"]
    brokers: Sequence[Endpoint]
    controllers: Sequence[Endpoint]
    interval_ns: int
    linearizable: bool = True
    request_timeout_ns: int = 2 * SECOND


class RegisterClient(FinishingClient):
    """A client core that writes, or reads, one register after the other until :meth:`finish`."""

    def __init__(self, options: RegisterOptions, ports: Ports, recorder: HistoryRecorder) -> None:
        super().__init__()
        self._options = options
        self._ports = ports
        self._recorder = recorder
        self._controller = options.index % len(options.controllers)
        self._last_value = FIRST_VALUE + options.index * VALUES_PER_WRITER
        self._process: int | None = None

    def start(self) -> None:
        self._later()

    @property
    def _is_busy(self) -> bool:
        return self._process is not None

    # --- operations ---

    def _later(self) -> None:
        mean = self._options.interval_ns
        self._ports.clock.call_later(mean // 2 + self._ports.random.randrange(max(1, mean)), self._next)

    def _next(self) -> None:
        if self._finishing:
            return
        name = self._ports.random.choice(PROPERTIES)
        if self._options.role == "write":
            self._write(name)
        else:
            self._process = self._recorder.invoke(self._options.name, "read", [_read(name, None)])
            self._read(name, 1, self._ports.random.choice((*self._options.brokers, *self._options.controllers)))

    def _ended(self) -> None:
        self._process = None
        self._later()
        self._ended_one()

    # --- writing ---

    def _write(self, name: str) -> None:
        self._last_value += 1
        written = MicroOp("write", register(name), None, self._last_value)
        process = self._process = self._recorder.invoke(self._options.name, "write", [written])
        resource = AlterConfigsResource(
            resource_type=TOPIC_RESOURCE,
            resource_name=REGISTER_TOPIC,
            configs=[AlterableConfig(name=name, config_operation=0, value=str(written.value))],
        )

        def answered(response: IncrementalAlterConfigsResponse | RpcFailure) -> None:
            error = ErrorCode.NETWORK_EXCEPTION
            if not isinstance(response, RpcFailure):
                error = ErrorCode(response.responses[0].error_code)
            match error:
                case ErrorCode.NONE:
                    self._recorder.ok(self._options.name, process, [written])
                case _ if error in _CERTAINLY_NOT:
                    self._recorder.fail(self._options.name, process, [written], error.name)
                case _:
                    self._recorder.info(self._options.name, process, [written], error.name)
                    self._controller = (self._controller + 1) % len(self._options.controllers)
            self._ended()

        self._ports.network.send(
            self._options.controllers[self._controller],
            IncrementalAlterConfigsRequest(resources=[resource]),
            1,
            answered,
            timeout_ns=self._options.request_timeout_ns,
            channel="registers",
        )

    # --- reading ---

    def _read(self, name: str, attempt: int, node: Endpoint) -> None:
        request = MetadataReadRequest(
            linearizable=self._options.linearizable,
            timeout_ms=self._options.request_timeout_ns // 2 // MS,
            topics=[MetadataReadTopic(name=REGISTER_TOPIC)],
        )

        def answered(response: Any) -> None:
            assert self._process is not None
            lost = isinstance(response, RpcFailure)
            error = ErrorCode.NETWORK_EXCEPTION if lost else ErrorCode(response.error_code)
            if error is ErrorCode.NONE:
                self._recorder.ok(self._options.name, self._process, [_read(name, _value_in(response, name))])
            elif attempt < _ATTEMPTS:
                others = [one for one in (*self._options.brokers, *self._options.controllers) if one != node]
                self._read(name, attempt + 1, self._ports.random.choice(others))
                return
            else:
                self._recorder.fail(self._options.name, self._process, [_read(name, None)], f"{error.name} at {node}")
            self._ended()

        self._ports.network.send(
            node, request, 0, answered, timeout_ns=self._options.request_timeout_ns, channel="registers"
        )


def _read(name: str, value: int | None) -> MicroOp:
    return MicroOp("read", register(name), None, value)


def _value_in(response: MetadataReadResponse, name: str) -> int | None:
    """A register's value; None where it is not set. A node that does not know the topic has seen no write either."""
    for topic in response.topics:
        for config in topic.configs:
            if config.name == name:
                return int(config.value)
    return None
