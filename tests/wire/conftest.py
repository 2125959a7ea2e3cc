"""Every message in every version as a test parameter, and hypothesis strategies made from the schemas."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from highwater_runtime.wire.codec import ZERO_UUID
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.generate import load_schemas
from highwater_runtime.wire.generator.emit import module_name
from highwater_runtime.wire.generator.schema import Field, Message, Struct, Versions

settings.register_profile("wire", derandomize=True, database=None, deadline=None, max_examples=8)


@dataclass(frozen=True, eq=False)
class Case:
    """One message in one version."""

    schema: Message
    version: int
    module: ModuleType

    @property
    def cls(self) -> Any:
        return getattr(self.module, self.schema.name)

    def __str__(self) -> str:
        return f"{self.schema.name}-v{self.version}"


@cache
def _cases() -> list[Case]:
    return [
        Case(schema, version, importlib.import_module(f"highwater_runtime.wire.messages.{module_name(schema)}"))
        for schema in load_schemas()
        for version in range(schema.versions.first, schema.versions.last + 1)
    ]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", _cases(), ids=str)
    if "request_case" in metafunc.fixturenames:
        requests = [case for case in _cases() if case.schema.kind == "request"]
        metafunc.parametrize("request_case", requests, ids=str)
    if "latest" in metafunc.fixturenames:
        metafunc.parametrize("latest", [c for c in _cases() if c.version == c.schema.versions.last], ids=str)


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


def _value(case: Case, field: Field, *, legal: bool) -> st.SearchStrategy[Any]:
    one = _scalar(field, legal=legal) if field.struct is None else _struct(case, field.struct, legal=legal)
    if field.is_array:
        one = st.lists(one, max_size=2)
        if field.struct is None and field.type.startswith("int"):
            one |= st.just([7] * 130)
    if case.version in field.nullable:
        one |= st.none()
    return one


def _struct(case: Case, struct: Struct, *, legal: bool) -> st.SearchStrategy[Any]:
    present = {f.name: _value(case, f, legal=legal) for f in struct.fields if case.version in f.versions}
    return st.builds(getattr(case.module, struct.name), **present)


@pytest.fixture(scope="session")
def values_of() -> Callable[..., st.SearchStrategy[Any]]:
    """``values_of(case)``: any value of the case's message. With ``legal=True`` error codes and times are real ones."""

    @cache
    def make(case: Case, *, legal: bool = False) -> st.SearchStrategy[Any]:
        return _struct(case, case.schema.root, legal=legal)

    return make


@pytest.fixture(scope="session")
def full_sample() -> Callable[[Case], Any]:
    """``full_sample(case)``: one fixed value with something in every field, every list and every tagged field."""

    def scalar(field: Field) -> Any:
        match field.type:
            case "bool":
                return field.default != "true"
            case "uuid":
                return importlib.import_module("uuid").UUID(int=0x1234 << 64 | 0x77)
            case "string":
                return field.name
            case "bytes" | "records":
                return field.name.encode() * 3
            case _:
                return 3

    def build(case: Case, struct: Struct) -> Any:
        filled: dict[str, Any] = {}
        for field in struct.fields:
            if case.version in field.versions:
                one = scalar(field) if field.struct is None else build(case, field.struct)
                filled[field.name] = [one, one] if field.is_array else one
        return getattr(case.module, struct.name)(**filled)

    return lambda case: build(case, case.schema.root)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _in(message: Message, versions: Versions) -> list[int]:
    return [v for v in range(message.versions.first, message.versions.last + 1) if v in versions]


def _default(field_type: str, value: Any) -> str:
    if isinstance(value, bool):
        value = str(value).lower()
    if field_type == "bool":
        return value or "false"
    if field_type.startswith(("int", "uint")) and value != "null":
        return str(int(str(value or "0"), 0))
    return value or ""


def _our_facts(message: Message, field: Field) -> dict[str, Any]:
    versions = _in(message, field.versions)
    return {
        "name": field.name,
        "type": ("[]" if field.is_array else "") + field.type,
        "versions": versions,
        "nullable": [v for v in _in(message, field.nullable) if v in versions],
        "tag": field.tag,
        "ignorable": field.ignorable,
        "default": _default(field.type, field.default) if field.type != "records" else "",
    }


def _their_facts(message: Message, field: dict[str, Any]) -> dict[str, Any]:
    versions = _in(message, Versions.parse(field["versions"]))
    plain = field["type"].removeprefix("[]")
    return {
        "name": _snake(field["name"]),
        "type": field["type"],
        "versions": versions,
        "nullable": [v for v in _in(message, Versions.parse(field.get("nullableVersions", "none"))) if v in versions],
        "tag": field.get("tag"),
        "ignorable": str(field.get("ignorable", False)).lower() == "true",
        "default": _default(plain, field.get("default")) if plain != "records" else "",
    }


@pytest.fixture(scope="session")
def compare_schemas() -> Callable[..., None]:
    """``compare_schemas(message, theirs)``: our schema and Kafka's own JSON form of it agree in every fact.

    Also in those that no bytes show, what may be dropped and what the defaults are, unless ``bytes_only`` is true.
    """

    def compare_message(message: Message, theirs: dict[str, Any], *, bytes_only: bool = False) -> None:
        if message.kind != "coordinator":  # Kafka has counted the keys and versions of these in two ways
            assert theirs.get("apiKey") == message.key
        assert _in(message, Versions.parse(theirs["flexibleVersions"])) == _in(message, message.flexible)
        common = {struct["name"]: struct["fields"] for struct in theirs.get("commonStructs", [])}

        def compare(struct: Struct, fields: list[dict[str, Any]]) -> None:
            known = [f for f in fields if _in(message, Versions.parse(f["versions"]))]
            ours_in_order = list(struct.fields)
            if bytes_only:
                known.sort(key=lambda f: f.get("tag", -1))
                ours_in_order.sort(key=lambda f: -1 if f.tag is None else f.tag)
            facts = [_our_facts(message, f) for f in ours_in_order], [_their_facts(message, f) for f in known]
            if bytes_only:
                for fact in (*facts[0], *facts[1]):
                    del fact["ignorable"]
                    if fact["tag"] is None:
                        del fact["default"]
            assert facts[0] == facts[1]
            for ours, other in zip(ours_in_order, known, strict=True):
                if ours.struct is not None:
                    compare(ours.struct, other.get("fields") or common[ours.type])

        compare(message.root, theirs["fields"])

    return compare_message
