"""Whole requests and responses: size, header, body."""

from __future__ import annotations

import pytest

from highwater_runtime.wire.api_keys import PRIVATE_KEYS_FROM, ApiKey
from highwater_runtime.wire.catalog import message_classes
from highwater_runtime.wire.codec import DecodeError, SchemaError, UnsupportedVersionError
from highwater_runtime.wire.errors import ErrorCode, error_name
from highwater_runtime.wire.framing import (
    SIZE_BYTES,
    decode_request,
    decode_request_header,
    decode_response,
    encode_request,
    encode_response,
)
from highwater_runtime.wire.messages.api_versions_request import ApiVersionsRequest
from highwater_runtime.wire.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from highwater_runtime.wire.messages.metadata_request import MetadataRequest
from highwater_runtime.wire.messages.request_header import RequestHeader
from highwater_runtime.wire.registry import APIS, UnknownApiError, api_of


def frame_of(parts):
    whole = b"".join(parts)
    assert int.from_bytes(whole[:SIZE_BYTES], "big") == len(whole) - SIZE_BYTES
    return whole[SIZE_BYTES:]


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.key.name)
def test_every_request_comes_back(api, full_sample, as_carried):
    for version in api.request.versions():
        message = as_carried(full_sample(api.request), version)
        for client_id in ("producer-0", "", None):
            frame = frame_of(encode_request(message, version, 42, client_id))
            assert decode_request(frame) == (api.key, version, 42, client_id, message)
            assert decode_request(memoryview(frame)).body == message
            header, position = decode_request_header(frame)
            assert frame[position:] == message.encode(version)
            assert (header.request_api_key, header.request_api_version) == (api.key, version)
            assert (header.correlation_id, header.client_id) == (42, client_id)
        for length in range(len(frame)):
            with pytest.raises(DecodeError):
                decode_request(frame[:length])
        assert decode_request(frame + b"\0\0\0").body == message


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.key.name)
def test_every_response_comes_back(api, full_sample, as_carried):
    for version in api.response.versions():
        message = as_carried(full_sample(api.response), version)
        frame = frame_of(encode_response(message, version, -7))
        assert decode_response(frame, api.key, version) == (-7, message)
        with pytest.raises(DecodeError):
            decode_response(frame[:-1], api.key, version)
        with pytest.raises(DecodeError, match="left over"):
            decode_response(frame + b"\0", api.key, version)


def test_metadata_for_all_topics_as_librdkafka_sends_it():
    frame = bytes.fromhex("0003000d00000003000772646b61666b61" + "00" + "00000000010000")
    assert decode_request(frame).body == MetadataRequest(
        topics=None, allow_auto_topic_creation=False, include_topic_authorized_operations=False
    )


def test_golden_request():
    old = frame_of(encode_request(MetadataRequest(topics=[]), 0, 5, "cli"))
    assert old == b"\0\3\0\0\0\0\0\5\0\3cli\0\0\0\0"
    flexible = frame_of(encode_request(ApiVersionsRequest(client_software_name="hw"), 3, 5, "cli"))
    assert flexible == b"\0\x12\0\3\0\0\0\5\0\3cli\0\3hw\1\0"


def test_responses_to_api_versions_always_have_the_oldest_header():
    response = ApiVersionsResponse(api_keys=[ApiVersion(api_key=18, min_version=0, max_version=4)])
    assert frame_of(encode_response(response, 3, 1)) == b"\0\0\0\1" + response.encode(3)


def test_a_broker_that_does_not_know_the_version_answers_in_version_0():
    answer = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[ApiVersion(api_key=18)])
    frame = frame_of(encode_response(answer, 0, 9))
    assert decode_response(frame, ApiKey.API_VERSIONS, 4) == (9, answer)


@pytest.mark.parametrize("version", [5, 99])
def test_whom_to_answer_is_known_even_if_the_version_is_not(version):
    frame = RequestHeader(request_api_key=18, request_api_version=version, correlation_id=3, client_id="x").encode(2)
    with pytest.raises(UnsupportedVersionError, match=f"not {version}"):
        decode_request(frame + b"\1\1\0")
    header, _ = decode_request_header(frame + b"\1\1\0")
    assert (header.correlation_id, header.client_id) == (3, "x")


def test_whom_to_answer_is_known_even_if_the_api_is_not():
    frame = RequestHeader(request_api_key=999, request_api_version=1, correlation_id=3, client_id="x").encode(1)
    with pytest.raises(UnknownApiError, match="999"):
        decode_request(frame)
    assert decode_request_header(frame)[0].correlation_id == 3
    with pytest.raises(UnknownApiError):
        decode_response(b"\0\0\0\1", 999, 0)


def test_a_client_id_that_is_too_long():
    with pytest.raises(SchemaError, match="client id"):
        encode_request(MetadataRequest(), 1, 1, "x" * 32768)


def test_headers_may_carry_unknown_tagged_fields():
    frame = frame_of(encode_request(ApiVersionsRequest(), 3, 5, "cli"))
    with_tag = frame.replace(b"\0\3cli\0", b"\0\3cli\1\x09\2ab")
    assert decode_request(with_tag) == decode_request(frame)


def test_the_registry_has_every_request_and_response():
    listed = {cls for api in APIS.values() for cls in (api.request, api.response)}
    assert listed == {cls for cls in message_classes() if cls.KIND in ("request", "response")}
    assert list(APIS) == sorted(APIS)
    for key, api in APIS.items():
        assert api is api_of(key)
        assert key == api.key == api.request.API_KEY == api.response.API_KEY
        assert [v for v in range(-1, 40) if api.supports(v)] == list(api.request.versions())
        for version in api.request.versions():
            flexible = api.request.MESSAGE.is_flexible(version)
            assert api.request_header_version(version) == (2 if flexible else 1)


def test_private_keys_do_not_meet_kafkas():
    assert all(key < 1000 or key >= PRIVATE_KEYS_FROM for key in ApiKey)
    assert ApiKey.READ_OFFSET == PRIVATE_KEYS_FROM


def test_error_names():
    assert error_name(107) == "INELIGIBLE_REPLICA"
    assert error_name(-1) == "UNKNOWN_SERVER_ERROR"
    assert error_name(4711) == "UNKNOWN(4711)"


def test_a_header_that_is_not_plain_is_read_whole():
    """Client ids beyond ASCII and tagged fields of the header: what most requests do not have."""
    message = MetadataRequest(topics=[])
    frame = frame_of(encode_request(message, 9, 42, "prodüzent"))
    assert decode_request(frame) == (ApiKey.METADATA, 9, 42, "prodüzent", message)
    with pytest.raises(DecodeError, match="RequestHeader"):
        decode_request(frame.replace("ü".encode(), b"\xff\xfe"))

    plain = frame_of(encode_request(message, 9, 42, "producer"))
    tags_at = 10 + len("producer")
    one_tagged_field = b"\x01\x05\x02hi"
    tagged = plain[:tags_at] + one_tagged_field + plain[tags_at + 1 :]
    assert decode_request(tagged) == (ApiKey.METADATA, 9, 42, "producer", message)
