"""Operations, results and events as bytes. Whatever comes from a peer is checked against the types."""

from __future__ import annotations

from typing import Any, Final

from msgspec import MsgspecError, msgpack

from highwater_runtime.ports.coordination import AnyOperation, Operation, Result, WatchEvent

_encoder: Final = msgpack.Encoder()
_operation: Final = msgpack.Decoder(AnyOperation)
_result: Final = msgpack.Decoder(Result)
_events: Final = msgpack.Decoder(list[WatchEvent])

NO_EVENTS: Final = _encoder.encode([])


def encode_operation(operation: Operation[Any]) -> bytes:
    """Inverse of :func:`decode_operation`."""
    return _encoder.encode(operation)


def decode_operation(data: bytes) -> AnyOperation:
    """The operation that a client asks for. Raises ValueError."""
    try:
        operation: AnyOperation = _operation.decode(data)
    except MsgspecError as error:
        raise ValueError(f"no operation: {error}") from error
    return operation


def encode_answer(result: Result, events: list[WatchEvent]) -> tuple[bytes, bytes]:
    """Events and result, for a response."""
    return (_encoder.encode(events) if events else NO_EVENTS), _encoder.encode(result)


def decode_answer(events: bytes, result: bytes) -> tuple[list[WatchEvent], Result]:
    """Inverse of :func:`encode_answer`. Raises ValueError."""
    try:
        return _events.decode(events), _result.decode(result)
    except MsgspecError as error:
        raise ValueError(f"no answer: {error}") from error
