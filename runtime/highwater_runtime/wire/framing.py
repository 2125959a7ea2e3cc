"""Whole requests and responses: a four-byte size, the header, the body.

Encoders return the pieces of a frame, its size included, ready for ``writelines`` (record batches are not copied);
``b"".join`` makes one byte string. Decoders take a frame *without* its size, as a reader of a stream has it. A host
that cannot decode a body still learns from :func:`decode_request_header` whom to answer, and in what version.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, Final, NamedTuple

from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.codec import Buffer, DecodeError, SchemaError
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.message import Message
from highwater_runtime.wire.messages.request_header import RequestHeader
from highwater_runtime.wire.messages.response_header import ResponseHeader
from highwater_runtime.wire.registry import APIS, api_of

_unpack_key_and_version: Final = Struct(">hh").unpack_from
_unpack_plain_header: Final = Struct(">hhih").unpack_from
_unpack_error_code: Final = Struct(">h").unpack_from
_request_head: Final = Struct(">ihhih").pack
_response_head: Final = Struct(">ii").pack
_response_head_flexible: Final = Struct(">iix").pack

_PLAIN_HEADER_BYTES: Final = 10
"""Of a request's header before the client id: they are the same in every version."""

_API_VERSIONS: Final = int(ApiKey.API_VERSIONS)
"""Its responses always have header version 0 (:meth:`.registry.Api.response_header_version`)."""

SIZE_BYTES: Final = 4
MAX_FRAME_BYTES: Final = 100 * 1024 * 1024
"""Largest frame that a reader should accept (Kafka's ``socket.request.max.bytes``)."""


class DecodedRequest(NamedTuple):
    """A request as it came."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    body: Any


def encode_request(request: Message, version: int, correlation_id: int, client_id: str | None) -> list[bytes]:
    """Return the frame of ``request``. Raises SchemaError if ``version`` cannot carry it."""
    parts = request.encode_parts(version)
    flexible = version >= request.FLEXIBLE_SINCE
    name = b"" if client_id is None else client_id.encode()
    if len(name) > 32767:
        raise SchemaError(f"client id of {len(name)} bytes; at most 32767")
    size = 10 + len(name) + flexible + sum(map(len, parts))
    name_length = -1 if client_id is None else len(name)
    head = _request_head(size, request.API_KEY, version, correlation_id, name_length) + name
    return [head + b"\x00" if flexible else head, *parts]


def _key_and_version(frame: Buffer) -> tuple[int, int]:
    if len(frame) < 4:
        raise DecodeError("RequestHeader", len(frame), f"a frame of {len(frame)} bytes has no header")
    key, version = _unpack_key_and_version(frame, 0)
    return key, version


def decode_request_header(frame: Buffer) -> tuple[RequestHeader, int]:
    """Return the header and the position at which the body begins.

    Works for every key and version, known or not: up to the client id, all headers are alike. For an unknown key or
    version the returned position is where a header of version 1 ends. Raises DecodeError.
    """
    key, version = _key_and_version(frame)
    api = APIS.get(key)
    return RequestHeader.decode_from(frame, 0, 1 if api is None else api.request_header_version(version))


def decode_request(frame: Buffer) -> DecodedRequest:
    """Return the request in ``frame``.

    Bytes after its body are ignored, as Apache Kafka ignores them: librdkafka leaves three in a Metadata request for
    all topics (it makes room for a count of four bytes, and a null array takes one).

    Raises UnknownApiError, UnsupportedVersionError, or DecodeError for malformed bytes.
    """
    if len(frame) > _PLAIN_HEADER_BYTES:
        key, version, correlation_id, length = _unpack_plain_header(frame, 0)
        api = APIS.get(key)
        end = _PLAIN_HEADER_BYTES + length
        if api is not None and length >= 0 and end < len(frame):
            flexible = version >= api.flexible_since
            name = bytes(frame[_PLAIN_HEADER_BYTES:end])
            # As the generated decoder reads it, which takes over where this header has anything else to say.
            if name.isascii() and not (flexible and frame[end]):
                body, _ = api.request.decode_from(frame, end + flexible, version)
                return DecodedRequest(key, version, correlation_id, name.decode("ascii"), body)
    key, version = _key_and_version(frame)
    api = api_of(key)
    header, position = RequestHeader.decode_from(frame, 0, 2 if version >= api.flexible_since else 1)
    body, _ = api.request.decode_from(frame, position, version)
    return DecodedRequest(key, version, header.correlation_id, header.client_id, body)


def encode_response(response: Message, version: int, correlation_id: int) -> list[bytes]:
    """Return the frame of ``response``. Raises SchemaError if ``version`` cannot carry it."""
    parts = response.encode_parts(version)
    body_size = len(parts[0]) if len(parts) == 1 else sum(map(len, parts))
    if version >= response.FLEXIBLE_SINCE and response.API_KEY != _API_VERSIONS:
        return [_response_head_flexible(5 + body_size, correlation_id), *parts]
    return [_response_head(4 + body_size, correlation_id), *parts]


def decode_response(frame: Buffer, api_key: int, version: int) -> tuple[int, Any]:
    """Return the correlation id and the body of the response to a request of ``api_key`` in ``version``.

    A broker that does not know the version of an ApiVersions request answers in version 0 with UNSUPPORTED_VERSION
    (KIP-511); that answer is decoded as what it is. Raises UnknownApiError, UnsupportedVersionError or DecodeError.
    """
    api = api_of(api_key)
    header, position = ResponseHeader.decode_from(frame, 0, api.response_header_version(version))
    if api.key is ApiKey.API_VERSIONS and len(frame) >= position + 2:
        (error_code,) = _unpack_error_code(frame, position)
        if error_code == ErrorCode.UNSUPPORTED_VERSION:
            version = 0
    body, end = api.response.decode_from(frame, position, version)
    if end != len(frame):
        raise DecodeError(api.response.NAME, end, f"{len(frame) - end} bytes left over")
    return header.correlation_id, body
