"""What goes through the codec comes back: every message, in every version."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

WIRE = settings.get_profile("wire")


def test_every_value_comes_back(case, values_of):
    @settings(WIRE)
    @given(values_of(case))
    def check(value):
        data = value.encode(case.version)
        assert case.cls.decode(data, case.version) == value
        assert case.cls.decode(memoryview(data), case.version) == value
        assert case.cls.decode_from(b"??" + data + b"!!", 2, case.version) == (value, len(data) + 2)
        assert b"".join(value.encode_parts(case.version)) == data

    check()


def test_a_value_with_everything_in_it_comes_back(case, full_sample):
    value = full_sample(case)
    data = value.encode(case.version)
    assert case.cls.decode(data, case.version) == value
    if any(case.version in f.versions for f in case.schema.root.fields):
        assert data != case.cls().encode(case.version)


def test_defaults_come_back(case):
    assert case.cls.decode(case.cls().encode(case.version), case.version) == case.cls()


def test_objects_share_no_list_or_struct(latest):
    one, other = latest.cls(), latest.cls()
    for field in latest.schema.root.fields:
        if field.is_array or field.struct is not None:
            mine = getattr(one, field.name)
            assert mine is None or mine is not getattr(other, field.name)


def test_equality_looks_at_every_field(latest, full_sample):
    for field in latest.schema.root.fields:
        if latest.version not in field.versions:
            continue
        one, other = full_sample(latest), full_sample(latest)
        assert one == other
        setattr(other, field.name, getattr(latest.cls(), field.name))
        assert one != other, field.name
    assert latest.cls() != object()


def test_repr_names_every_field(latest, full_sample):
    shown = repr(full_sample(latest))
    assert shown.startswith(f"{latest.schema.name}(")
    for field in latest.schema.root.fields:
        assert f"{field.name}=" in shown


def test_long_lists_of_structs_have_lengths_of_two_bytes(case, full_sample):
    lists = [f for f in case.schema.root.fields if f.is_array and f.struct is not None and case.version in f.versions]
    for field in lists:
        value = full_sample(case)
        setattr(value, field.name, getattr(value, field.name) * 100)
        assert case.cls.decode(value.encode(case.version), case.version) == value


@settings(WIRE, max_examples=200)
@given(st.integers(0, 2**32 - 1) | st.sampled_from([0, 127, 128, 16383, 16384, 2**28 - 1, 2**28, 2**32 - 1]))
def test_unsigned_varints(value):
    from highwater_runtime.wire.codec import uvarint, uvarint_at

    data = uvarint(value)
    assert uvarint_at(b"\xff" + data + b"\x01", 1) == (value, 1 + len(data))
    assert len(data) == max(1, -(-value.bit_length() // 7))
