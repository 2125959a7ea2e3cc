"""Server-side apply and field ownership (``metadata.managedFields``).

An applier owns the fields that it sets. A field that it no longer sets, and nobody else owns, goes. A field that it
sets to another value than another manager, who owns it, is a conflict, unless it forces. Every other write makes its
author the owner of what it changed.

An object is compared as a map of its leaves: path to value. Scalars and lists without keys are leaves, and so are empty
maps; items of keyed lists count by their key. The rules are those of ``sigs.k8s.io/structured-merge-diff``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from .errors import ApiError, Json
from .schema import ANYTHING, Schema

Path = tuple[str, ...]
Fields = frozenset[Path]
_SERVERS: Final = frozenset(
    (
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
)
"""Fields of metadata that nobody owns."""


class Manager(NamedTuple):
    """One name may apply and update, and do either to a subresource."""

    name: str
    operation: str
    subresource: str = ""


class _Owned(NamedTuple):
    fields: Fields
    api_version: str
    time: str


Owners = dict[Manager, _Owned]


def _leaves(schema: Schema, value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict) and value and not (path and schema.atomic_map):
        for name, inner in value.items():
            here = (*path, f"f:{name}")
            if here in (("f:apiVersion",), ("f:kind",)) or (path == ("f:metadata",) and name in _SERVERS):
                continue
            yield from _leaves(schema.field(name) or ANYTHING, inner, here)
    elif isinstance(value, list) and schema.keyed:
        for item in value:
            here = (*path, schema.element(item))
            yield here, None
            if isinstance(item, dict):
                yield from _leaves(schema.items, item, here)
    elif path and path != ("f:metadata",):
        yield path, value


def owners_of(obj: Json) -> Owners:
    """Read ``managedFields``."""
    return {
        Manager(one["manager"], one["operation"], one.get("subresource", "")): _Owned(
            frozenset(_members(one["fieldsV1"], ())), one["apiVersion"], one["time"]
        )
        for one in obj.get("metadata", {}).get("managedFields", ())
    }


def _members(node: Json, path: Path) -> Iterator[Path]:
    if not node:
        yield path
    for key, below in node.items():
        yield from [path] if key == "." else _members(below, (*path, key))


def _entries(owners: Owners) -> list[Json]:
    """``managedFields``, in the order in which servers list them."""
    return [
        {
            "manager": manager.name,
            "operation": manager.operation,
            "apiVersion": owned.api_version,
            "time": owned.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": _encoded(owned.fields),
            **({"subresource": manager.subresource} if manager.subresource else {}),
        }
        for manager, owned in sorted(owners.items(), key=lambda pair: (pair[0].operation, pair[1].time, pair[0].name))
        if owned.fields
    ]


def _encoded(fields: Fields) -> Json:
    """As ``fieldsV1``: a member without members below is ``{}``, one with some has a dot beside them."""
    root: Json = {}
    for path in sorted(fields):
        node = root
        for length, element in enumerate(path, 1):
            node = node.setdefault(element, {})
            if length < len(path) and path[:length] in fields:
                node["."] = {}
    return root


def _with_owners(obj: Json, owners: Owners) -> Json:
    metadata = {key: value for key, value in obj.get("metadata", {}).items() if key != "managedFields"}
    entries = _entries(owners)
    return obj | {"metadata": metadata | ({"managedFields": entries} if entries else {})}


def _changes(schema: Schema, old: Json, new: Json) -> tuple[Fields, Fields]:
    """Paths that were set or changed, and paths that are gone."""
    before, after = dict(_leaves(schema, old)), dict(_leaves(schema, new))
    changed = {path for path, value in after.items() if path not in before or before[path] != value}
    return frozenset(changed), frozenset(before.keys() - after.keys())


def update(schema: Schema, live: Json, new: Json, manager: Manager, api_version: str, now: str) -> Json:
    """Return ``new``, which replaces ``live`` (empty for a creation), with its owners."""
    owners = owners_of(live)
    changed, removed = _changes(schema, live, new)
    for other, owned in owners.items():
        owners[other] = owned._replace(fields=owned.fields - changed - removed)
    if changed:
        mine = owners[manager].fields if manager in owners else frozenset()
        owners[manager] = _Owned(mine | changed, api_version, now)
    return _with_owners(new, owners)


def apply(schema: Schema, live: Json, config: Json, manager: Manager, now: str, *, force: bool) -> Json:
    """Return the object with ``config`` applied to ``live`` (empty: there is none), with its owners.

    Raises:
        ApiError: 409 for a conflict with another manager, unless ``force``.
    """
    owners = owners_of(live)
    wanted = frozenset(path for path, _ in _leaves(schema, config))
    last = owners.pop(manager, None)
    new = _merged(schema, live, config)
    if last is not None:
        kept = wanted.union(*(owned.fields for owned in owners.values()))
        new = _without(schema, new, last.fields - kept, kept)
    changed, removed = _changes(schema, live, new)
    conflicts = {other: owned.fields & changed for other, owned in owners.items() if owned.fields & changed}
    if conflicts and not force:
        raise _conflict(conflicts, owners)
    for other, owned in owners.items():
        owners[other] = owned._replace(fields=owned.fields - changed - removed)
    rests = last is not None and last.fields == wanted and not changed and not removed
    owners[manager] = last if rests and last is not None else _Owned(wanted, config["apiVersion"], now)
    return _with_owners(new, owners)


def _merged(schema: Schema, live: Any, config: Any) -> Any:
    """Maps and keyed lists are merged by their keys; everything else is replaced. New items follow those there."""
    if isinstance(live, dict) and isinstance(config, dict) and not schema.atomic_map:
        both = {
            name: _merged(schema.field(name) or ANYTHING, live[name], value) if name in live else value
            for name, value in config.items()
        }
        return live | both
    if isinstance(live, list) and isinstance(config, list) and schema.keyed:
        asked = {schema.element(item): item for item in config}
        there = {schema.element(item): item for item in live}
        old = [_merged(schema.items, item, asked.get(element, item)) for element, item in there.items()]
        return old + [item for element, item in asked.items() if element not in there]
    return config


def _without(schema: Schema, value: Any, gone: Fields, kept: Fields, path: Path = ()) -> Any:
    """Take paths away, and maps and lists that this empties; what has something kept below it stays."""

    def goes(here: Path) -> bool:
        return here in gone and not any(one[: len(here)] == here for one in kept)

    if isinstance(value, dict):
        made = {}
        for name, inner in value.items():
            here = (*path, f"f:{name}")
            if not goes(here):
                left = _without(schema.field(name) or ANYTHING, inner, gone, kept, here)
                if left or left == inner or here in kept:
                    made[name] = left
        return made
    if isinstance(value, list) and schema.keyed:
        places = [(item, (*path, schema.element(item))) for item in value]
        return [_without(schema.items, item, gone, kept, here) for item, here in places if not goes(here)]
    return value


def _conflict(conflicts: dict[Manager, Fields], owners: Owners) -> ApiError:
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {_named(one, owners)}", "field": _spelled(path)}
        for one in sorted(conflicts)
        for path in sorted(conflicts[one])
    ]
    told: Iterable[str] = (f"{cause['message']}: {cause['field']}" for cause in causes)
    count = f"{len(causes)} conflict{'s' if len(causes) > 1 else ''}"
    return ApiError(409, "Conflict", f"Apply failed with {count}: " + "\n".join(told), {"causes": causes})


def _named(manager: Manager, owners: Owners) -> str:
    text = f'"{manager.name}"' + (f' with subresource "{manager.subresource}"' if manager.subresource else "")
    owned = owners[manager]
    return text if manager.operation == "Apply" else f"{text} using {owned.api_version} at {owned.time}"


def _spelled(path: Path) -> str:
    """As conflicts name it: ``.spec.containers[name="x"].image``."""
    text = ""
    for element in path:
        kind, _, rest = element.partition(":")
        if kind == "k":
            text += "[" + ",".join(f"{key}={json.dumps(value)}" for key, value in json.loads(rest).items()) + "]"
        else:
            text += f".{rest}" if kind == "f" else f"[={rest}]"
    return text
