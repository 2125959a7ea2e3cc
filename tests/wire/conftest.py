"""Values of any message, made from its declaration, and its declaration beside Kafka's own schema of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from highwater_runtime.wire.codec import ZERO_UUID
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.message import Message, Struct
from highwater_runtime.wire.schema import Field, MessageSchema, StructSchema, Versions

settings.register_profile(
    "wire", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)

_INTEGER_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_LONG_TEXTS = ["x" * 126, "x" * 127, "x" * 128, "é" * 100, "y" * 300]
_YEAR_9000_MS = 221_845_392_000_000


def _scalar(field: Field, *, legal: bool) -> st.SearchStrategy[Any]:
    if legal and field.name.endswith("error_code"):
        return st.sampled_from([int(code) for code in ErrorCode])
    if legal and field.type == "int64" and ("timestamp" in field.name or field.name.endswith("_ms")):
        return st.integers(-1, _YEAR_9000_MS)
    if field.type in _INTEGER_BITS:
        limit = 1 << (_INTEGER_BITS[field.type] - 1)
        return st.integers(-limit, limit - 1) | st.sampled_from([-limit, -1, 0, 1, limit - 1])
    match field.type:
        case "uint16":
            return st.integers(0, 65535)
        case "uint32":
            return st.integers(0, 2**32 - 1)
        case "bool":
            return st.booleans()
        case "float64":
            return st.floats(allow_nan=False)
        case "uuid":
            return st.uuids() | st.just(ZERO_UUID)
        case "string":
            return st.text(max_size=5) | st.sampled_from(_LONG_TEXTS)
        case _:
            return st.binary(max_size=8) | st.just(b"r" * 200)


def _value(field: Field, *, legal: bool) -> st.SearchStrategy[Any]:
    one = _scalar(field, legal=legal) if field.struct is None else _struct(field.struct, legal=legal)
    if field.is_array:
        one = st.lists(one, max_size=2)
        if field.struct is None and field.type.startswith("int"):
            one |= st.just([7] * 130)
    return one | st.none() if field.nullable.last >= 0 else one


def _struct(struct: StructSchema, *, legal: bool) -> st.SearchStrategy[Any]:
    return st.builds(struct.cls, **{field.name: _value(field, legal=legal) for field in struct.fields})


@pytest.fixture(scope="session")
def values_of() -> Callable[..., st.SearchStrategy[Any]]:
    """``values_of(message)``: messages with a value in every field. ``legal=True``: error codes and times are real."""

    @cache
    def make(message: type[Message], *, legal: bool = False) -> st.SearchStrategy[Any]:
        return _struct(message.SCHEMA, legal=legal)

    return make


@pytest.fixture(scope="session")
def as_carried() -> Callable[[Any, int], Any]:
    """``as_carried(value, version)``: the part of a value that the version can carry, defaults in place of the rest."""

    def carried(value: Struct, version: int) -> Any:
        present = {
            f.name: part(f, getattr(value, f.name), version) for f in value.SCHEMA.fields if version in f.versions
        }
        return type(value)(**present)

    def part(field: Field, value: Any, version: int) -> Any:
        if value is None and version not in field.nullable:
            value = [] if field.is_array else {"string": "", "bytes": b"", "records": b""}[field.type]
        if field.struct is None or value is None:
            return value
        return [carried(item, version) for item in value] if field.is_array else carried(value, version)

    return carried


@pytest.fixture(scope="session")
def full_sample() -> Callable[[type[Message]], Any]:
    """``full_sample(message)``: one fixed value with something in every field, every list and every tagged field."""

    def scalar(field: Field) -> Any:
        match field.type:
            case "bool":
                return not field.default
            case "uuid":
                return UUID(int=0x1234 << 64 | 0x77)
            case "string":
                return field.name
            case "bytes" | "records":
                return field.name.encode() * 3
            case _:
                return 3

    def build(struct: StructSchema) -> Any:
        filled: dict[str, Any] = {}
        for field in struct.fields:
            one = scalar(field) if field.struct is None else build(field.struct)
            filled[field.name] = [one, one] if field.is_array else one
        return struct.cls(**filled)

    return lambda message: build(message.SCHEMA)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _in(message: MessageSchema, versions: Versions) -> list[int]:
    return [v for v in range(message.versions.first, message.versions.last + 1) if v in versions]


def _our_facts(message: MessageSchema, field: Field) -> dict[str, Any]:
    versions = _in(message, field.versions)
    if field.default is None:
        default = "null"
    elif field.is_array or field.struct is not None or field.type in ("uuid", "bytes"):
        default = ""
    else:
        default = str(field.default).lower() if field.type == "bool" else str(field.default)
    return {
        "name": field.name,
        "type": ("[]" if field.is_array else "") + field.type,
        "versions": versions,
        "nullable": [v for v in _in(message, field.nullable) if v in versions],
        "tag": field.tag,
        "ignorable": field.ignorable,
        "default": default if field.type != "records" else "",
    }


def _their_facts(message: MessageSchema, field: dict[str, Any]) -> dict[str, Any]:
    versions = _in(message, Versions.parse(field["versions"]))
    plain = field["type"].removeprefix("[]")
    default = str(field.get("default", "")).lower()
    if default != "null":
        if plain == "bool":
            default = default or "false"
        elif plain.startswith(("int", "uint")) and plain == field["type"]:
            default = str(int(default or "0", 0))
        elif plain == "float64":
            default = str(float(default or "0"))
    return {
        "name": _snake(field["name"]),
        "type": field["type"],
        "versions": versions,
        "nullable": [v for v in _in(message, Versions.parse(field.get("nullableVersions", "none"))) if v in versions],
        "tag": field.get("tag"),
        "ignorable": str(field.get("ignorable", False)).lower() == "true",
        "default": default if plain != "records" else "",
    }


OURS = {(f"{command}Request", "sequence") for command in ("LeaderAndIsr", "StopReplica", "UpdateMetadata")}
"""Tagged fields of ours, which another implementation skips."""


@pytest.fixture(scope="session")
def compare_schemas() -> Callable[..., None]:
    """``compare_schemas(message, theirs)``: our declaration and Kafka's own JSON form of it agree in every fact.

    Also in those that no bytes show, what may be dropped and what the defaults are, unless ``bytes_only`` is true.
    """

    def compare_message(cls: type[Message], theirs: dict[str, Any], *, bytes_only: bool = False) -> None:
        message = cls.MESSAGE
        if message.kind != "coordinator":  # Kafka has counted the keys and versions of these in two ways
            assert theirs.get("apiKey") == message.key
        flexible = _in(message, Versions.parse(theirs["flexibleVersions"]))
        assert (cls.NAME, flexible) == (cls.NAME, _in(message, message.flexible))
        common = {struct["name"]: struct["fields"] for struct in theirs.get("commonStructs", [])}

        def compare(struct: StructSchema, fields: list[dict[str, Any]]) -> None:
            known = [f for f in fields if _in(message, Versions.parse(f["versions"]))]
            ours_in_order = [field for field in struct.fields if (struct.name, field.name) not in OURS]
            if bytes_only:
                known.sort(key=lambda f: f.get("tag", -1))
                ours_in_order.sort(key=lambda f: -1 if f.tag is None else f.tag)
            facts = [_our_facts(message, f) for f in ours_in_order], [_their_facts(message, f) for f in known]
            if bytes_only:
                for fact in (*facts[0], *facts[1]):
                    del fact["ignorable"]
                    if fact["tag"] is None:
                        del fact["default"]
            assert (cls.NAME, facts[0]) == (cls.NAME, facts[1])
            for ours, other in zip(ours_in_order, known, strict=True):
                if ours.struct is not None:
                    compare(ours.struct, other.get("fields") or common[ours.type])

        compare(message.root, theirs["fields"])

    return compare_message
