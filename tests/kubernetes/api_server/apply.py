"""Server-side apply and field ownership (``metadata.managedFields``).

An applier owns the fields that it sets. A field that it no longer sets, and nobody else owns, goes. A field that it
sets to another value than another manager, who owns it, is a conflict, unless it forces. Every other write makes its
author the owner of what it changed.

``test_apply_reference`` compares this with what Kubernetes' own library makes of random applies and updates.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .errors import ApiError, Json
from .field_sets import Fields, compare, decoded, encoded, fields_of, spelled, with_named_parents
from .schema import ANYTHING, Schema


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


def owners_of(obj: Json) -> Owners:
    """Read ``managedFields``."""
    return {
        Manager(one["manager"], one["operation"], one.get("subresource", "")): _Owned(
            decoded(one["fieldsV1"]), one["apiVersion"], one["time"]
        )
        for one in obj.get("metadata", {}).get("managedFields", ())
    }


def _with_owners(obj: Json, owners: Owners) -> Json:
    """Entries in the order in which servers list them."""
    metadata = {key: value for key, value in obj.get("metadata", {}).items() if key != "managedFields"}
    entries = [
        {
            "manager": manager.name,
            "operation": manager.operation,
            "apiVersion": owned.api_version,
            "time": owned.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": encoded(owned.fields),
            **({"subresource": manager.subresource} if manager.subresource else {}),
        }
        for manager, owned in sorted(owners.items(), key=lambda pair: (pair[0].operation, pair[1].time, pair[0].name))
        if owned.fields
    ]
    return obj | {"metadata": metadata | ({"managedFields": entries} if entries else {})}


def update(schema: Schema, live: Json, new: Json, manager: Manager, api_version: str, now: str) -> Json:
    """Return ``new``, which replaces ``live`` (empty for a creation), with its owners."""
    owners = owners_of(live)
    changed, removed = compare(schema, live, new)
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
    wanted = fields_of(schema, config)
    last = owners.pop(manager, None)
    new = _merged(schema, live, config)
    if last is not None:
        kept = wanted.union(*(owned.fields for owned in owners.values()))
        new = _pruned(schema, new, last.fields, kept)
    changed, removed = compare(schema, live, new)
    conflicts = {other: owned.fields & changed for other, owned in owners.items() if owned.fields & changed}
    if conflicts and not force:
        raise _conflict(conflicts, owners)
    for other, owned in owners.items():
        owners[other] = owned._replace(fields=owned.fields - changed - removed)
    rests = last is not None and last.fields == wanted and not changed and not removed
    owners[manager] = last if rests and last is not None else _Owned(wanted, config["apiVersion"], now)
    return _with_owners(new, owners)


def without_a_change_of_times(live: Json, new: Json) -> Json:
    """Return ``live`` if ``new`` differs only in times of ``managedFields``: as servers do, or no write would rest."""
    entries = new["metadata"].get("managedFields", ())
    times = {Manager(one["manager"], one["operation"], one.get("subresource", "")): one["time"] for one in entries}
    owners = {
        manager: owned._replace(time=times.get(manager, owned.time)) for manager, owned in owners_of(live).items()
    }
    return live if _with_owners(live, owners) == new else new


def _merged(schema: Schema, live: Any, config: Any) -> Any:
    """Maps and keyed lists are merged by their keys; everything else is replaced."""
    if isinstance(live, dict) and isinstance(config, dict) and not schema.atomic_map:
        both = {
            name: _merged(schema.field(name) or ANYTHING, live[name], value) if name in live else value
            for name, value in config.items()
        }
        return live | both
    if isinstance(live, list) and isinstance(config, list) and schema.keyed:
        return _merged_items(schema, live, config)
    return config


def _merged_items(schema: Schema, live: list[Any], config: list[Any]) -> list[Any]:
    """Items of the configuration in its order; those of others stay where they were among them."""
    before = {schema.element(item): item for item in live}
    wanted = {schema.element(item): item for item in config}
    shared = [element for element in wanted if element in before]
    there, asked, merged = list(before), list(wanted), list[Any]()
    while there or asked:
        if there and there[0] not in wanted:
            merged.append(before[there.pop(0)])
        elif there and (not asked or asked[0] != there[0]) and there[0] != (shared[0] if shared else None):
            there.pop(0)  # it is taken in the order of the configuration
        else:
            element = asked.pop(0)
            if there and there[0] == element:
                there.pop(0)
            if shared and shared[0] == element:
                shared.pop(0)
            item = wanted[element]
            merged.append(_merged(schema.items, before[element], item) if element in before else item)
    return merged


def _pruned(schema: Schema, new: Json, last: Fields, kept: Fields) -> Json:
    """Without what the applier set before and nobody owns any more, and without what that leaves empty."""
    before, there = with_named_parents(last), with_named_parents(fields_of(schema, new))
    left = _without(schema, new, (before - with_named_parents(kept)) & there)
    emptied = there - with_named_parents(fields_of(schema, left))
    pruned: Json = _without(schema, new, emptied & before)
    return pruned


def _without(schema: Schema, value: Any, gone: Fields) -> Any:
    """Take fields away, and the maps that this empties."""
    if not gone:
        return value

    def below(element: str) -> Fields:
        return frozenset(path[1:] for path in gone if path[0] == element)

    if isinstance(value, dict):
        made = {}
        for name, inner in value.items():
            rest = below(f"f:{name}")
            if () not in rest:
                left = _without(schema.field(name) or ANYTHING, inner, rest)
                if left or not rest:
                    made[name] = left
        return made
    if isinstance(value, list) and schema.keyed:
        rests = [(item, below(schema.element(item))) for item in value]
        return [_without(schema.items, item, rest) for item, rest in rests if () not in rest]
    return value


def _conflict(conflicts: dict[Manager, Fields], owners: Owners) -> ApiError:
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {_named(one, owners)}", "field": spelled(path)}
        for one in sorted(conflicts)
        for path in sorted(conflicts[one])
    ]
    lines = [f"{cause['message']}: {cause['field']}" for cause in causes]
    count = f"{len(causes)} conflict{'s' if len(causes) > 1 else ''}"
    return ApiError(409, "Conflict", f"Apply failed with {count}: " + "\n".join(lines), {"causes": causes})


def _named(manager: Manager, owners: Owners) -> str:
    text = f'"{manager.name}"' + (f' with subresource "{manager.subresource}"' if manager.subresource else "")
    owned = owners[manager]
    return text if manager.operation == "Apply" else f"{text} using {owned.api_version} at {owned.time}"
