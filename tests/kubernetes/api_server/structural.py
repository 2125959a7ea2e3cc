"""Structural schemas: unknown fields are pruned, missing ones get defaults, wrong ones are told.

The wording follows ``k8s.io/kube-openapi`` and ``apiextensions-apiserver`` 1.34, since people and tests read it.
Values that an update leaves as they are are not judged again (ratcheting, as Kubernetes does since 1.33).
"""

from __future__ import annotations

import copy
import datetime
import re
from collections.abc import Iterator
from typing import Any, Final

from . import cel_rules
from .errors import FieldError, duplicate, invalid_value, required, shown
from .field_sets import element_of
from .schema import Json, Schema

_META_FIELDS: Final = ("apiVersion", "kind", "metadata")
_UNCHECKED: Final = FieldError(
    "FieldValueInvalid",
    "<nil>",
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)
_BLOCKING: Final = frozenset(
    {
        "FieldValueRequired",
        "FieldValueNotSupported",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)


def prune(schema: Schema, value: Any, path: str = "", dropped: list[str] | None = None) -> Any:
    """Without the fields that the schema does not know; their paths are added to ``dropped``."""
    if isinstance(value, dict) and not schema.open:
        kept = {}
        changed = False
        for name, inner in value.items():
            below = schema.field(name)
            here = f"{path}.{name}" if path else name
            if below is not None:
                kept[name] = pruned = prune(below, inner, here, dropped)
                changed = changed or pruned is not inner
            elif schema.preserves:
                kept[name] = inner
            else:
                changed = True
                if dropped is not None:
                    dropped.append(here)
        return kept if changed else value
    if isinstance(value, list) and "items" in schema.raw:
        items = [prune(schema.items, item, f"{path}[{index}]", dropped) for index, item in enumerate(value)]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value


def with_defaults(schema: Schema, value: Any) -> Any:
    """With the defaults of missing fields; a null where none may be counts as missing, with a default or without."""
    if isinstance(value, dict):
        filled = value
        for name, raw in schema.raw.get("properties", {}).items():
            null = name in value and value[name] is None and not raw.get("nullable")
            if "default" in raw and (null or name not in value):
                filled = {**filled, name: copy.deepcopy(raw["default"])}
            elif null:
                filled = {key: inner for key, inner in filled.items() if key != name}
        for name, inner in filled.items():
            below = schema.field(name) if schema.raw.get("properties") or schema.additional else None
            if below is None or name in ("metadata",):
                continue
            new = with_defaults(below, inner)
            if new is not inner:
                filled = {**filled, name: new}
        return filled
    if isinstance(value, list) and "items" in schema.raw:
        items = [with_defaults(schema.items, item) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value


def validate(schema: Schema, new: Json, old: Json | None) -> list[FieldError]:
    """Everything wrong with a custom resource: its schema first, and its rules where the schema holds."""
    errors = [*_check(schema, new, old, "", root=True), *_list_keys(schema, new, old, "")]
    if any(error.reason in _BLOCKING for error in errors):
        return [*errors, _UNCHECKED]
    return [*errors, *cel_rules.check(schema, new, old, "")]


def _child(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _check(schema: Schema, value: Any, old: Any, path: str, *, root: bool = False) -> Iterator[FieldError]:
    if old is not None and value == old:
        return
    if value is None:
        if not schema.nullable and not schema.open and not schema.int_or_string:
            yield _wrong_type(path, schema.type or "object", None)
        return
    if not _has_type(schema, value):
        yield _wrong_type(path, "integer,string" if schema.int_or_string else str(schema.type), value)
        return
    yield from _value_rules(schema.raw, value, path)
    match value:
        case dict():
            yield from _check_object(schema, value, old, path, root=root)
        case list():
            before = _by_element(schema, old)
            for index, item in enumerate(value):
                previous = before.get(element_of(schema, item)) if before else None
                yield from _check(schema.items, item, previous, f"{path}[{index}]")
    yield from _combinations(schema, value, path)


def _by_element(schema: Schema, old: Any) -> dict[str, Any]:
    if not isinstance(old, list) or schema.list_type != "map":
        return {}
    return {element_of(schema, item): item for item in old}


def _check_object(schema: Schema, value: Json, old: Any, path: str, *, root: bool) -> Iterator[FieldError]:
    for name in schema.raw.get("required", ()):
        if name not in value:
            yield required(_child(path, name))
    before = old if isinstance(old, dict) else {}
    for name, inner in value.items():
        if root and name in _META_FIELDS:
            continue
        below = schema.field(name)
        if below is not None:
            yield from _check(below, inner, before.get(name), _child(path, name))


def _has_type(schema: Schema, value: Any) -> bool:
    if schema.int_or_string:
        return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))
    match schema.type:
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return not isinstance(value, bool) and (
                isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            )
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case _:
            return True


def _type_name(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case dict():
            return "object"
        case list():
            return "array"
        case int():
            return "integer"
        case float():
            return "number"
        case _:
            return "string"


def _wrong_type(path: str, wanted: str, value: Any) -> FieldError:
    where, found = path or "<nil>", _type_name(value)
    said = f'Invalid value: "{found}": {where} in body must be of type {wanted}: "{found}"'
    return FieldError("FieldValueTypeInvalid", where, said)


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)


def _value_rules(raw: Json, value: Any, path: str) -> Iterator[FieldError]:
    """What ``validation`` in JSON schema says of one value alone."""
    place = f"{path or '<nil>'} in body"
    if "enum" in raw and value not in raw["enum"]:
        supported = ", ".join(shown(str(item)) if not isinstance(item, str) else shown(item) for item in raw["enum"])
        yield FieldError(
            "FieldValueNotSupported", path, f"Unsupported value: {shown(value)}: supported values: {supported}"
        )
    match value:
        case bool():
            return
        case int() | float():
            yield from _number_rules(raw, value, path, place)
        case str():
            yield from _string_rules(raw, value, path, place)
        case list():
            yield from _count_rules(raw, len(value), path, place, "Items", "items")
            if raw.get("uniqueItems") and any(item in value[:index] for index, item in enumerate(value)):
                yield invalid_value(path, value, f"{place} shouldn't contain duplicates")
        case dict():
            yield from _count_rules(raw, len(value), path, place, "Properties", "properties")


def _number_rules(raw: Json, value: float, path: str, place: str) -> Iterator[FieldError]:
    low, high, step = raw.get("minimum"), raw.get("maximum"), raw.get("multipleOf")
    if low is not None and (value <= low if raw.get("exclusiveMinimum") else value < low):
        than = "greater than" if raw.get("exclusiveMinimum") else "greater than or equal to"
        yield invalid_value(path, value, f"{place} should be {than} {_number(low)}")
    if high is not None and (value >= high if raw.get("exclusiveMaximum") else value > high):
        than = "less than" if raw.get("exclusiveMaximum") else "less than or equal to"
        yield invalid_value(path, value, f"{place} should be {than} {_number(high)}")
    if step is not None and value % step:
        yield invalid_value(path, value, f"{place} should be a multiple of {_number(step)}")


def _string_rules(raw: Json, value: str, path: str, place: str) -> Iterator[FieldError]:
    limit = raw.get("maxLength")
    if limit is not None and len(value) > limit:
        yield FieldError(
            "FieldValueTooLong", path, f"Too long: may not be more than {limit} {'byte' if limit == 1 else 'bytes'}"
        )
    if len(value) < raw.get("minLength", 0):
        yield invalid_value(path, value, f"{place} should be at least {raw['minLength']} chars long")
    if "pattern" in raw and not re.search(raw["pattern"], value):
        yield invalid_value(path, value, f"{place} should match '{raw['pattern']}'")
    if "format" in raw and not _has_format(raw["format"], value):
        yield invalid_value(path, value, f"{place} must be of type {raw['format']}: {shown(value)}")


def _count_rules(raw: Json, count: int, path: str, place: str, suffix: str, what: str) -> Iterator[FieldError]:
    most, least = raw.get(f"max{suffix}"), raw.get(f"min{suffix}", 0)
    if most is not None and count > most:
        yield FieldError(
            "FieldValueTooMany", path, f"Too many: {count}: must have at most {most} {'item' if most == 1 else 'items'}"
        )
    if count < least:
        yield invalid_value(path, count, f"{place} should have at least {least} {what}")


def _has_format(name: str, value: str) -> bool:
    match name:
        case "date-time":
            try:
                datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
            except ValueError:
                return False
            return "T" in value
        case "duration":
            return re.fullmatch(r"[-+]?(\d+(\.\d*)?(ns|us|µs|ms|s|m|h)\s*)+", value) is not None
        case "ipv4":
            return re.fullmatch(r"(\d{1,3}\.){3}\d{1,3}", value) is not None
        case _:
            return True


def _combinations(schema: Schema, value: Any, path: str) -> Iterator[FieldError]:
    raw = schema.raw
    shown_path = path or "<nil>"

    def holds(alternative: Json) -> bool:
        return not list(_check(Schema(alternative), value, None, path))

    def failure(text: str) -> FieldError:
        return FieldError("FieldValueInvalid", shown_path, f'Invalid value: "": "{path}" must validate {text}')

    if schema.int_or_string:
        return
    for part in raw.get("allOf", ()):
        yield from _check(Schema(part), value, None, path)
    if "anyOf" in raw and not any(holds(part) for part in raw["anyOf"]):
        yield failure("at least one schema (anyOf)")
    if "oneOf" in raw:
        count = sum(holds(part) for part in raw["oneOf"])
        if count != 1:
            found = "Found none valid" if count == 0 else f"Found {count} valid alternatives"
            yield failure(f"one and only one schema (oneOf). {found}")
    if "not" in raw and holds(raw["not"]):
        yield FieldError(
            "FieldValueInvalid", shown_path, f'Invalid value: "": "{path}" must not validate the schema (not)'
        )


def _list_keys(schema: Schema, value: Any, old: Any, path: str) -> Iterator[FieldError]:
    """Items of keyed lists must differ in their keys."""
    if old is not None and value == old:
        return
    match value:
        case dict():
            for name, inner in value.items():
                below = schema.field(name)
                if below is not None and name != "metadata":
                    before = old.get(name) if isinstance(old, dict) else None
                    yield from _list_keys(below, inner, before, _child(path, name))
        case list():
            seen: set[str] = set()
            for index, item in enumerate(value):
                here = f"{path}[{index}]"
                if schema.list_type in ("set", "map"):
                    element = element_of(schema, item)
                    if element in seen:
                        keys = {key: item.get(key) for key in schema.list_keys} if schema.list_type == "map" else item
                        yield duplicate(here, keys)
                    seen.add(element)
                yield from _list_keys(schema.items, item, None, here)
