"""The shape of objects, built-in and custom: which fields there are, how lists merge, what a value may be.

Built-in types come from the OpenAPI definitions of Kubernetes 1.34, as the package ``kubernetes-validate`` ships them;
custom types from their CRD. Nodes are made when they are needed: built-in types refer to each other without end.
Errors are worded as Kubernetes words them, since users and tests read them.
"""

from __future__ import annotations

import copy
import datetime
import functools
import json
import re
from collections.abc import Iterator
from importlib import resources
from typing import Any, Final

import msgspec

from .errors import FieldError, Json, invalid_value, required, shown

_DEFINITIONS: Final = "kubernetes-json-schema/v1.34.0-local/_definitions.json"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_SPECIAL: Final[dict[str, Json]] = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"x-kubernetes-int-or-string": True},
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": {},
}
_KEY_DEFAULTS: Final = {"protocol": "TCP"}
"""Keys of list items that may be left out."""
_OF_EVERY_OBJECT: Final = ("apiVersion", "kind", "metadata")
_KEYWORDS: Final = frozenset(
    (
        *("type", "description", "properties", "additionalProperties", "required", "items", "default", "enum"),
        *("minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "pattern", "format", "nullable"),
        *("minItems", "maxItems", "minProperties", "maxProperties", "x-kubernetes-validations"),
        *("x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"),
        *("x-kubernetes-list-type", "x-kubernetes-list-map-keys"),
    )
)
"""What CRDs may use here. One that uses more is refused, rather than checked less than a real server would."""


@functools.cache
def definitions() -> dict[str, Json]:
    text = resources.files("kubernetes_validate").joinpath(_DEFINITIONS).read_bytes()
    found: dict[str, Json] = msgspec.json.decode(text)["$defs"]
    return found


class Schema:
    """One node: an object, a list, a scalar, or anything at all."""

    def __init__(self, raw: Json, *, root: bool = False) -> None:
        self.raw = raw
        kinds = raw.get("type", ())
        self.types: tuple[str, ...] = (kinds,) if isinstance(kinds, str) else tuple(kinds)
        if raw.get("x-kubernetes-int-or-string"):
            self.types = ("integer", "string")
        self.nullable = bool(raw.get("nullable")) or "null" in self.types or not self.types
        self.properties: Json = raw.get("properties", {})
        self.open = not self.types and not self.properties
        self.keeps_unknown = self.open or bool(raw.get("x-kubernetes-preserve-unknown-fields"))
        self.atomic_map = raw.get("x-kubernetes-map-type") == "atomic"
        self.list_keys: tuple[str, ...] = tuple(raw.get("x-kubernetes-list-map-keys", ()))
        self.keyed = raw.get("x-kubernetes-list-type") in ("map", "set")
        self._root = root
        self._fields: dict[str, Schema | None] = {}

    @functools.cached_property
    def items(self) -> Schema:
        return schema_of(self.raw.get("items") or {})

    def field(self, name: str) -> Schema | None:
        """The node of a field; None: there is no such field."""
        if name not in self._fields:
            self._fields[name] = self._find(name)
        return self._fields[name]

    def _find(self, name: str) -> Schema | None:
        if self._root and name in _OF_EVERY_OBJECT:
            return built_in(_META) if name == "metadata" else Schema({"type": "string"})
        raw = self.properties.get(name, self.raw.get("additionalProperties"))
        return (
            schema_of({} if raw is True else raw) if raw not in (None, False) else None if not self.open else ANYTHING
        )

    def is_fixed(self, name: str) -> bool:
        """Whether the schema itself names a field, as it does not name the keys of a map."""
        return name in self.properties or (self._root and name in _OF_EVERY_OBJECT)

    def element(self, item: Any) -> str:
        """What tells an item of a keyed list from others, as ``managedFields`` has it."""
        if not self.list_keys:
            return "v:" + json.dumps(item, separators=(",", ":"))
        found = {key: item.get(key, _KEY_DEFAULTS.get(key)) for key in self.list_keys}
        kept = {key: value for key, value in found.items() if value is not None}
        return "k:" + json.dumps(kept, separators=(",", ":"), sort_keys=True)


def schema_of(raw: Json) -> Schema:
    """The node for a piece of OpenAPI; keywords beside a reference are about the field."""
    if "$ref" not in raw:
        return Schema(raw) if raw else ANYTHING
    name = raw["$ref"].rpartition("/")[2]
    beside = {key: value for key, value in raw.items() if key.startswith("x-kubernetes-")}
    return Schema(built_in(name).raw | beside) if beside else built_in(name)


@functools.cache
def built_in(name: str) -> Schema:
    """A built-in type by the long name of its definition."""
    return Schema(_SPECIAL.get(name, definitions()[name]))


_CUSTOM: Final[dict[int, tuple[Json, Schema]]] = {}


def custom(raw: Json) -> Schema:
    """The schema of a CRD. Kept for the very same schema: most tests begin with the same definitions."""
    if id(raw) not in _CUSTOM:
        for keyword in _keywords(raw):
            if keyword not in _KEYWORDS:
                raise NotImplementedError(f"the stand-in API server does not know {keyword!r} in the schema of a CRD")
        _CUSTOM[id(raw)] = (raw, Schema(raw, root=True))
    return _CUSTOM[id(raw)][1]


def _keywords(raw: Any) -> Iterator[str]:
    if isinstance(raw, dict):
        yield from raw
        for below in (*raw.get("properties", {}).values(), raw.get("items"), raw.get("additionalProperties")):
            yield from _keywords(below)


ANYTHING: Final = Schema({})


def prune(schema: Schema, value: Any, path: str, dropped: list[str]) -> Any:
    """Return the value without fields that the schema does not know; add their paths to ``dropped``."""
    if isinstance(value, dict) and not schema.open:
        kept = {}
        for name, inner in value.items():
            below, here = schema.field(name), f"{path}.{name}" if path else name
            if below is not None:
                kept[name] = prune(below, inner, here, dropped)
            elif schema.keeps_unknown:
                kept[name] = inner
            else:
                dropped.append(here)
        return kept
    if isinstance(value, list) and "items" in schema.raw:
        return [prune(schema.items, item, f"{path}[{index}]", dropped) for index, item in enumerate(value)]
    return value


def with_defaults(schema: Schema, value: Any) -> Any:
    """Return the value with the defaults of missing fields; a null where none may be counts as missing."""
    if isinstance(value, dict) and not schema.open:
        filled = dict(value)
        for name, raw in schema.properties.items():
            if filled.get(name, ...) is None and not raw.get("nullable"):
                del filled[name]
            if name not in filled and "default" in raw:
                filled[name] = copy.deepcopy(raw["default"])
        return {
            name: inner if name == "metadata" else with_defaults(schema.field(name) or ANYTHING, inner)
            for name, inner in filled.items()
        }
    if isinstance(value, list) and "items" in schema.raw:
        return [with_defaults(schema.items, item) for item in value]
    return value


_NAMES: Final = {bool: "boolean", dict: "object", list: "array", int: "integer", float: "number", str: "string"}


def type_name(value: Any) -> str:
    return "null" if value is None else _NAMES[type(value)]


def check(schema: Schema, value: Any, old: Any, path: str = "") -> Iterator[FieldError]:
    """Yield what is wrong with a value. What an update leaves as it was is not judged again."""
    if (old is not None and value == old) or schema.open or (value is None and schema.nullable):
        return
    name, where = type_name(value), path or "<nil>"
    place = f"{where} in body"
    if schema.types and name not in schema.types and not (name == "integer" and "number" in schema.types):
        wanted = ",".join(kind for kind in schema.types if kind != "null")
        said = f'Invalid value: "{name}": {place} must be of type {wanted}: "{name}"'
        yield FieldError("FieldValueTypeInvalid", where, said)
        return
    raw = schema.raw
    if "enum" in raw and value not in raw["enum"]:
        supported = ", ".join(shown(item) for item in raw["enum"])
        said = f"Unsupported value: {shown(value)}: supported values: {supported}"
        yield FieldError("FieldValueNotSupported", path, said)
    match value:
        case bool():
            return
        case int() | float():
            yield from _number(raw, value, path, place)
        case str():
            yield from _text(raw, value, path, place)
        case list():
            yield from _count(raw, len(value), path, place, "Items", "items")
            yield from _items(schema, value, old, path)
        case dict():
            yield from _count(raw, len(value), path, place, "Properties", "properties")
            yield from _fields(schema, value, old if isinstance(old, dict) else {}, path)


def _number(raw: Json, value: float, path: str, place: str) -> Iterator[FieldError]:
    least, most = raw.get("minimum"), raw.get("maximum")
    if least is not None and (value <= least if raw.get("exclusiveMinimum") else value < least):
        than = "greater than" if raw.get("exclusiveMinimum") else "greater than or equal to"
        yield invalid_value(path, value, f"{place} should be {than} {least:g}")
    if most is not None and value > most:
        yield invalid_value(path, value, f"{place} should be less than or equal to {most:g}")


def _text(raw: Json, value: str, path: str, place: str) -> Iterator[FieldError]:
    most, least, pattern = raw.get("maxLength"), raw.get("minLength", 0), raw.get("pattern")
    if most is not None and len(value) > most:
        said = f"Too long: may not be more than {most} {'byte' if most == 1 else 'bytes'}"
        yield FieldError("FieldValueTooLong", path, said)
    if len(value) < least:
        yield invalid_value(path, value, f"{place} should be at least {least} chars long")
    if pattern is not None and re.search(pattern, value) is None:
        yield invalid_value(path, value, f"{place} should match '{pattern}'")
    if raw.get("format") == "date-time":
        try:
            datetime.datetime.fromisoformat(value)
        except ValueError:
            yield invalid_value(path, value, f"{place} must be of type date-time: {shown(value)}")


def _count(raw: Json, count: int, path: str, place: str, suffix: str, what: str) -> Iterator[FieldError]:
    most, least = raw.get(f"max{suffix}"), raw.get(f"min{suffix}", 0)
    if most is not None and count > most:
        yield FieldError("FieldValueTooMany", path, f"Too many: {count}: must have at most {most} {what}")
    if count < least:
        yield invalid_value(path, count, f"{place} should have at least {least} {what}")


def _items(schema: Schema, value: list[Any], old: Any, path: str) -> Iterator[FieldError]:
    before = {schema.element(item): item for item in old} if schema.list_keys and isinstance(old, list) else {}
    seen: set[str] = set()
    for index, item in enumerate(value):
        here = f"{path}[{index}]"
        if not schema.keyed or (schema.list_keys and not isinstance(item, dict)):
            yield from check(schema.items, item, None, here)
            continue
        element = schema.element(item)
        yield from check(schema.items, item, before.get(element), here)
        if element in seen:
            keys = {key: item.get(key) for key in schema.list_keys} if schema.list_keys else item
            yield FieldError("FieldValueDuplicate", here, f"Duplicate value: {shown(keys)}")
        seen.add(element)


def _fields(schema: Schema, value: Json, before: Json, path: str) -> Iterator[FieldError]:
    for name in schema.raw.get("required", ()):
        if value.get(name) is None:
            yield required(f"{path}.{name}" if path else name)
    for name, inner in value.items():
        below = schema.field(name)
        if below is not None and (path or name not in ("apiVersion", "kind", "metadata")) and inner is not None:
            yield from check(below, inner, before.get(name), f"{path}.{name}" if path else name)
