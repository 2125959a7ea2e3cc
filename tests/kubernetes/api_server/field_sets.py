"""Sets of fields: who owns what of an object (``fieldsV1``), and what changed between two objects.

A path is a tuple of elements spelled as in ``fieldsV1``: ``f:name`` a field, ``k:{"name":"x"}`` an item of a list that
is a map, ``v:"x"`` an item of a list that is a set. The rules are those of ``sigs.k8s.io/structured-merge-diff``.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from .schema import ANYTHING, Json, Schema

Path = tuple[str, ...]
Fields = set[Path]

KEY_DEFAULTS: Final = {"protocol": "TCP"}
"""Keys of list items that have a default, and so may be left out."""


class Comparison(NamedTuple):
    """How an object differs from another."""

    added: Fields
    modified: Fields
    removed: Fields


@functools.lru_cache(maxsize=65536)
def field(name: str) -> str:
    """The path element of a field."""
    return f"f:{name}"


def _dumps(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def element_of(schema: Schema, item: Any) -> str:
    """The path element of an item of a list that is a map or a set."""
    if schema.list_type == "map":
        keys = {}
        for key in schema.list_keys:
            value = item.get(key, KEY_DEFAULTS.get(key)) if isinstance(item, dict) else None
            if value is not None:
                keys[key] = value
        return "k:" + _dumps(keys)
    return "v:" + _dumps(item)


def is_atomic_map(schema: Schema, value: Json) -> bool:
    """Whether a map belongs to one owner as a whole."""
    return schema.atomic_map or not value


def is_granular_list(schema: Schema) -> bool:
    """Whether items of a list belong to owners one by one."""
    return schema.type == "array" and schema.list_type in ("map", "set")


def fields_of(schema: Schema, value: Any) -> Fields:
    """Every field that an object sets."""
    found: Fields = set()
    _collect(schema, value, (), found)
    return found


def _collect(schema: Schema, value: Any, path: Path, found: Fields) -> None:
    if isinstance(value, dict):
        if path and is_atomic_map(schema, value):
            found.add(path)
            return
        for name, inner in value.items():
            below = schema.field(name) or ANYTHING
            here = (*path, field(name))
            _collect(below, inner, here, found)
            if not schema.is_fixed(name) and schema.type == "object":
                found.add(here)
    elif isinstance(value, list) and is_granular_list(schema):
        for item in value:
            here = (*path, element_of(schema, item))
            found.add(here)
            if isinstance(item, dict):
                _collect(schema.items, item, here, found)
    else:
        found.add(path)


def compare(schema: Schema, old: Any, new: Any) -> Comparison:
    """What was added, modified and removed on the way from one object to another."""
    comparison = Comparison(set(), set(), set())
    _compare(schema, old, new, (), comparison)
    return comparison


def _everything(schema: Schema, value: Any, path: Path, found: Fields) -> None:
    """A value that one side lacks: itself and all that is in it."""
    found.add(path)
    if isinstance(value, dict):
        if not is_atomic_map(schema, value):
            for name, inner in value.items():
                _everything(schema.field(name) or ANYTHING, inner, (*path, field(name)), found)
    elif isinstance(value, list) and is_granular_list(schema):
        for item in value:
            _everything(schema.items, item, (*path, element_of(schema, item)), found)


def _compare(schema: Schema, old: Any, new: Any, path: Path, out: Comparison) -> None:
    if old is new:
        return
    match old, new:
        case dict(), dict():
            if path and (schema.atomic_map or (not old and not new)):
                if old != new:
                    out.modified.add(path)
                return
            for name in old.keys() | new.keys():
                below = schema.field(name) or ANYTHING
                here = (*path, field(name))
                if name not in old:
                    _everything(below, new[name], here, out.added)
                elif name not in new:
                    _everything(below, old[name], here, out.removed)
                else:
                    _compare(below, old[name], new[name], here, out)
        case list(), list() if is_granular_list(schema):
            before = {element_of(schema, item): item for item in old}
            after = {element_of(schema, item): item for item in new}
            for element in before.keys() | after.keys():
                here = (*path, element)
                if element not in before:
                    _everything(schema.items, after[element], here, out.added)
                elif element not in after:
                    _everything(schema.items, before[element], here, out.removed)
                else:
                    _compare(schema.items, before[element], after[element], here, out)
        case _:
            if old != new:
                out.modified.add(path)


def with_named_parents(fields: Fields) -> Fields:
    """The set and every field on the way to its members."""
    found = set(fields)
    for path in fields:
        for length in range(len(path) - 1, 0, -1):
            prefix = path[:length]
            if prefix in found:
                continue
            if prefix[-1].startswith("f:"):
                found.add(prefix)
    return found


@functools.lru_cache(maxsize=4096)
def encoded(fields: frozenset[Path]) -> Json:
    """As ``fieldsV1``; shared, so not to be changed."""
    root: Json = {}
    for path in sorted(fields):
        node = root
        for element in path:
            node = node.setdefault(element, {})
        node["."] = {}
    return _trimmed(root)


def _trimmed(node: Json) -> Json:
    """A member without members below is ``{}``; one with some has a dot beside them."""
    if node.keys() == {"."}:
        return {}
    return {key: {} if key == "." else _trimmed(below) for key, below in node.items()}


_DECODED: Final[dict[int, tuple[Json, Fields]]] = {}


def decode(fields: Json) -> Fields:
    """From ``fieldsV1``. Remembered for the very same object, which is never changed."""
    known = _DECODED.get(id(fields))
    if known is not None and known[0] is fields:
        return known[1]
    if len(_DECODED) > 4096:
        _DECODED.clear()
    found = set(_members(fields, ()))
    _DECODED[id(fields)] = (fields, found)
    return found


def _members(node: Json, path: Path) -> Iterator[Path]:
    if not node and path:
        yield path
    for key, below in node.items():
        if key == ".":
            yield path
        else:
            yield from _members(below, (*path, key))


def spelled(path: Path) -> str:
    """A path as conflicts are told: ``.spec.containers[name="x"].image``."""
    said = ""
    for element in path:
        kind, _, rest = element.partition(":")
        if kind == "f":
            said += f".{rest}"
        elif kind == "k":
            keys = json.loads(rest)
            said += "[" + ",".join(f"{key}={_dumps(value)}" for key, value in keys.items()) + "]"
        else:
            said += f"[={rest}]"
    return said
