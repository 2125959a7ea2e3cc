"""What goes through the codec comes back: every message, in every version."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_runtime.wire.catalog import message_classes
from highwater_runtime.wire.codec import uvarint, uvarint_at
from highwater_runtime.wire.message import Message

WIRE = settings.get_profile("wire")


def _comes_back(value: Message, version: int) -> bytes:
    cls = type(value)
    data = value.encode(version)
    assert cls.decode(data, version) == value, version
    assert cls.decode(memoryview(data), version) == value
    assert cls.decode_from(b"??" + data + b"!!", 2, version) == (value, len(data) + 2)
    assert b"".join(value.encode_parts(version)) == data
    return data


@pytest.mark.parametrize("message", message_classes())
def test_every_value_comes_back(message, values_of, as_carried, thorough):
    @settings(WIRE, max_examples=24 if thorough else 8)
    @given(values_of(message))
    def check(value):
        for version in message.versions():
            _comes_back(as_carried(value, version), version)

    check()


@pytest.mark.parametrize("message", message_classes())
def test_all_and_nothing_and_long_lists_come_back(message, full_sample, as_carried):
    for version in message.versions():
        nothing = _comes_back(message(), version)
        everything = as_carried(full_sample(message), version)
        present = [f for f in message.SCHEMA.fields if version in f.versions]
        assert (_comes_back(everything, version) != nothing) == bool(present)
        for field in present:
            if field.is_array and field.struct is not None:
                longer = as_carried(full_sample(message), version)
                setattr(longer, field.name, getattr(longer, field.name) * 100)
                _comes_back(longer, version)


def test_objects_share_no_list_or_struct():
    checked = 0
    for message in message_classes():
        one, other = message(), message()
        for field in message.SCHEMA.fields:
            if (field.is_array or field.struct is not None) and field.default is not None:
                checked += 1
                assert getattr(one, field.name) is not getattr(other, field.name), message
    assert checked > 100


def test_equality_looks_at_every_field_and_repr_names_it(full_sample):
    for message in message_classes():
        assert message() != object()
        assert repr(full_sample(message)).startswith(f"{message.NAME}(")
        for field in message.SCHEMA.fields:
            one, other = full_sample(message), full_sample(message)
            assert one == other
            setattr(other, field.name, getattr(message(), field.name))
            assert one != other, (message, field.name)
            assert f"{field.name}=" in repr(one)


@settings(WIRE, max_examples=200)
@given(st.integers(0, 2**32 - 1) | st.sampled_from([0, 127, 128, 16383, 16384, 2**28 - 1, 2**28, 2**32 - 1]))
def test_unsigned_varints(value):
    data = uvarint(value)
    assert uvarint_at(b"\xff" + data + b"\x01", 1) == (value, 1 + len(data))
    assert len(data) == max(1, -(-value.bit_length() // 7))
