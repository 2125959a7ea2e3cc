"""Malformed bytes end in DecodeError and in nothing else, and a false length costs nothing."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from highwater_runtime.wire.catalog import message_classes
from highwater_runtime.wire.codec import ZERO_UUID, DecodeError, skip_tagged, uvarint, uvarint_at
from highwater_runtime.wire.messages.fetch_request import FetchRequest
from highwater_runtime.wire.messages.metadata_response import MetadataResponse
from highwater_runtime.wire.messages.produce_request import ProduceRequest


@pytest.mark.parametrize("message", message_classes())
def test_bytes_cut_off_or_left_over_are_an_error(message, full_sample, as_carried):
    for version in message.versions():
        data = as_carried(full_sample(message), version).encode(version)
        for length in range(len(data)):
            with pytest.raises(DecodeError) as caught:
                message.decode(data[:length], version)
            assert 0 <= caught.value.position <= length
        with pytest.raises(DecodeError, match="left over") as caught:
            message.decode(data + b"\x00", version)
        assert caught.value.position == len(data)


@pytest.mark.parametrize("message", message_classes())
def test_changed_or_random_bytes_are_an_error_or_a_message(message, full_sample, as_carried, thorough):
    few = 10 if thorough else 2
    rng = random.Random(message.NAME)
    for version in message.versions():
        data = as_carried(full_sample(message), version).encode(version)
        inputs = [_mutant(data, rng) for _ in range(4 * few)] + [
            rng.randbytes(rng.randrange(60)) for _ in range(3 * few)
        ]
        for changed in inputs:
            try:
                value = message.decode(changed, version)
            except DecodeError:
                continue
            assert message.decode(value.encode(version), version) == value


def _mutant(data: bytes, rng: random.Random) -> bytes:
    mutant = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        if mutant:
            mutant[rng.randrange(len(mutant))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return bytes(mutant)


@pytest.mark.parametrize(
    ("cls", "version", "data"),
    [
        pytest.param(FetchRequest, 4, bytes(17) + b"\x7f\xff\xff\xff", id="old array length"),
        pytest.param(FetchRequest, 15, bytes(21) + b"\xff\xff\xff\xff\x0f", id="compact array length"),
        pytest.param(ProduceRequest, 3, b"\x7f\xff" + bytes(20), id="old string length"),
        pytest.param(ProduceRequest, 9, b"\xff\xff\xff\xff\x0f" + bytes(20), id="compact string length"),
        pytest.param(
            ProduceRequest,
            3,
            b"\xff\xff" + bytes(6) + b"\0\0\0\1\0\1t\0\0\0\1\0\0\0\0\x7f\xff\xff\xff",
            id="records length",
        ),
        pytest.param(
            MetadataResponse,
            1,
            bytes(4 + 4) + b"\0\0\0\1\0\0\0\1t\0\0\0\0\1" + bytes(10) + b"\x7f\xff\xff\xff",
            id="length of an array of numbers",
        ),
        pytest.param(FetchRequest, 4, bytes(17) + b"\0\0\x3a\x98" + bytes(60_000), id="15000 topics in room for 10000"),
        pytest.param(
            FetchRequest,
            15,
            bytes(21) + uvarint(5001) + (bytes(16) + b"\1\0") * 3000,
            id="5000 topics in room for 3000",
        ),
        pytest.param(FetchRequest, 15, bytes(21) + b"\1\1\1\xff\xff\xff\xff\x0f\5\5", id="count of tagged fields"),
        pytest.param(FetchRequest, 15, bytes(21) + b"\1\1\1\1\x09\xff\xff\xff\xff\x0f", id="length of a tagged field"),
    ],
)
def test_a_false_length_costs_nothing(cls, version, data):
    cls.decode(cls().encode(version), version)  # the decoder itself is not counted
    tracemalloc.start()
    try:
        with pytest.raises(DecodeError):
            cls.decode(data, version)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 * 1024


def test_null_where_there_must_be_a_value():
    with pytest.raises(DecodeError, match=r"FetchRequest\.topics: null") as caught:
        FetchRequest.decode(bytes(21) + b"\0", 15)
    assert caught.value.position == 22
    with pytest.raises(DecodeError, match=r"TopicProduceData\.name: null"):
        ProduceRequest.decode(b"\xff\xff" + bytes(6) + b"\0\0\0\1\xff\xff" + bytes(4), 3)


def test_bytes_that_are_no_utf8():
    with pytest.raises(DecodeError, match="utf-8"):
        ProduceRequest.decode(b"\0\1\xff" + bytes(10), 3)


@pytest.mark.parametrize("data", [b"\x80\x80\x80\x80\x80\x00", b"\xff\xff\xff\xff\x1f"])
def test_varints_beyond_32_bits(data):
    with pytest.raises(DecodeError):
        uvarint_at(data, 0)


def test_a_tagged_field_must_have_the_length_that_it_announces():
    good = FetchRequest(cluster_id="abc").encode(15)
    assert good.endswith(b"\x01\x00\x04\x04abc")
    longer = good[: -len(b"\x04\x04abc")] + b"\x05\x04abc\x00"
    with pytest.raises(DecodeError, match="another length"):
        FetchRequest.decode(longer, 15)


def test_unknown_tagged_fields_are_passed_over():
    unknown = uvarint(77) + uvarint(3) + b"abc"
    plain = FetchRequest(cluster_id="abc").encode(15)
    head, tagged = plain[: -len(b"\x01\x00\x04\x04abc")], b"\x00\x04\x04abc"
    assert FetchRequest.decode(head + b"\x02" + tagged + unknown, 15) == FetchRequest(cluster_id="abc")
    many = unknown * 200
    assert FetchRequest.decode(head + uvarint(201) + tagged + many, 15) == FetchRequest(cluster_id="abc")
    assert skip_tagged("x", b"?" + uvarint(200) + many, 1) == 3 + len(many)


def _most_memory_for(frame, cls, version) -> int:
    cls.decode(frame, version)  # the decoder itself is not counted
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        message = cls.decode(frame, version)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    del message
    return after - before


@pytest.mark.parametrize("message", [m for m in message_classes() if any(f.is_array for f in m.SCHEMA.fields)])
def test_what_is_received_bounds_what_is_made_of_it(message, as_carried):
    """The worst that a peer can send: lists of as many of the least elements as the frame has room for."""
    for field in message.SCHEMA.fields:
        least = {"uuid": ZERO_UUID, "string": "", "bytes": b""}.get(field.type, 0)
        element = least if field.struct is None else field.struct.cls()
        for version in message.versions():
            if field.is_array and version in field.versions:
                frame = as_carried(message(**{field.name: [element] * 500}), version).encode(version)
                assert _most_memory_for(frame, message, version) < 256 * len(frame), (field.name, version)
