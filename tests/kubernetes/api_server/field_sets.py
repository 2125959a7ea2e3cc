"""Sets of fields: what an object sets, what changed between two objects, and how ``fieldsV1`` spells both.

A path is a tuple of elements spelled as in ``fieldsV1``: ``f:name`` a field, ``k:{"name":"x"}`` an item of a list that
is a map, ``v:"x"`` an item of a list that is a set. The rules are those of ``sigs.k8s.io/structured-merge-diff``.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from .errors import Json
from .schema import ANYTHING, Schema

Path = tuple[str, ...]
Fields = frozenset[Path]
META: Final = "f:metadata"
_SERVERS: Final = (
    "name",
    "namespace",
    "creationTimestamp",
    "uid",
    "generation",
    "managedFields",
    "resourceVersion",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_NOT_OWNED: Final = frozenset(
    (("f:apiVersion",), ("f:kind",), (META,), *((META, f"f:{name}") for name in _SERVERS)),
)
_INNER: Final = object()
"""The value of a map or list whose members have owners of their own."""


def _walk(schema: Schema, value: Any, path: Path = (), *, member: bool = False) -> Iterator[tuple[Path, Any, bool]]:
    """Yield every path of an object, its value, and whether who applies the object owns the path itself."""
    is_map = isinstance(value, dict) and not (path and schema.atomic_map)
    is_list = isinstance(value, list) and schema.keyed
    if path and path not in _NOT_OWNED:
        yield path, _INNER if is_map or is_list else value, member or value == {} or not (is_map or is_list)
    if is_map:
        for name, inner in value.items():
            here = (*path, f"f:{name}")
            if here not in _NOT_OWNED or here == (META,):
                free = "object" in schema.types and not schema.is_fixed(name)
                yield from _walk(schema.field(name) or ANYTHING, inner, here, member=free)
    elif is_list:
        for item in value:
            yield from _walk(schema.items, item, (*path, schema.element(item)), member=True)


def fields_of(schema: Schema, value: Any) -> Fields:
    """Every field that an object sets."""
    return frozenset(path for path, _, own in _walk(schema, value) if own)


def compare(schema: Schema, old: Json, new: Json) -> tuple[Fields, Fields]:
    """Return what was added or modified on the way from one object to another, and what was removed."""
    before = {path: value for path, value, _ in _walk(schema, old)}
    after = {path: value for path, value, _ in _walk(schema, new)}
    changed = (path for path, value in after.items() if path not in before or before[path] != value)
    return frozenset(changed), frozenset(before.keys() - after.keys())


def with_named_parents(fields: Iterable[Path]) -> Fields:
    """The set and every field on the way to its members."""
    found = set(fields)
    for path in fields:
        parents = (path[:length] for length in range(1, len(path)))
        found.update(one for one in parents if one[-1].startswith("f:") and one != (META,))
    return frozenset(found)


@functools.lru_cache(maxsize=4096)
def encoded(fields: Fields) -> Json:
    """As ``fieldsV1``: a member without members below is ``{}``, one with some has a dot beside them.

    The result is shared, so it must not be changed.
    """
    root: Json = {}
    for path in sorted(fields):
        node = root
        for length, element in enumerate(path, 1):
            node = node.setdefault(element, {})
            if length < len(path) and path[:length] in fields:
                node["."] = {}
    return root


def decoded(node: Json) -> Fields:
    """From ``fieldsV1``."""
    return frozenset(_members(node, ()))


def _members(node: Json, path: Path) -> Iterator[Path]:
    if not node and path:
        yield path
    for key, below in node.items():
        yield from [path] if key == "." else _members(below, (*path, key))


def spelled(path: Path) -> str:
    """A path as conflicts name it: ``.spec.containers[name="x"].image``."""
    text = ""
    for element in path:
        kind, _, rest = element.partition(":")
        if kind == "k":
            text += "[" + ",".join(f"{key}={json.dumps(value)}" for key, value in json.loads(rest).items()) + "]"
        else:
            text += f".{rest}" if kind == "f" else f"[={rest}]"
    return text
