"""Server-side apply and field ownership.

An applier owns the fields that it sets; what it no longer sets and nobody else owns goes; what another owns and it sets
to another value is a conflict, unless it forces. Every other write makes its author the owner of what it changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple

from .errors import ApiError
from .field_sets import (
    Fields,
    Path,
    compare,
    decode,
    element_of,
    encoded,
    fields_of,
    is_granular_list,
    prefixes,
    spelled,
    with_named_parents,
)
from .schema import ANYTHING, Json, Schema

Operation = Literal["Apply", "Update"]

_META: Final = "f:metadata"
_NOT_OWNED: Final[frozenset[Path]] = frozenset(
    {
        ("f:apiVersion",),
        ("f:kind",),
        (_META,),
        *(
            (_META, f"f:{name}")
            for name in (
                "name",
                "namespace",
                "creationTimestamp",
                "selfLink",
                "uid",
                "generation",
                "managedFields",
                "resourceVersion",
                "deletionTimestamp",
                "deletionGracePeriodSeconds",
            )
        ),
    }
)
_MANAGED_FIELDS: Final = (_META, "f:managedFields")


class Manager(NamedTuple):
    """Who writes: one name may apply and update, and do so to a subresource too."""

    name: str
    operation: Operation
    subresource: str


@dataclass(frozen=True)
class Owned:
    """The fields of one manager."""

    fields: Fields
    api_version: str
    time: str


@dataclass
class Ownership:
    """``metadata.managedFields``."""

    managers: dict[Manager, Owned] = field(default_factory=dict)

    @staticmethod
    def of(obj: Json | None) -> Ownership:
        """As an object tells it."""
        entries = ((obj or {}).get("metadata") or {}).get("managedFields") or []
        return Ownership(
            {
                Manager(entry["manager"], entry["operation"], entry.get("subresource", "")): Owned(
                    decode(entry.get("fieldsV1") or {}), entry.get("apiVersion", ""), entry.get("time", "")
                )
                for entry in entries
            }
        )

    def entries(self) -> list[Json]:
        """For ``metadata.managedFields``, in the order in which servers list them."""
        kept = sorted(self.managers.items(), key=lambda pair: (pair[0].operation, pair[1].time, pair[0].name))
        return [
            {
                "manager": manager.name,
                "operation": manager.operation,
                "apiVersion": owned.api_version,
                **({"time": owned.time} if owned.time else {}),
                "fieldsType": "FieldsV1",
                "fieldsV1": encoded(frozenset(owned.fields)),
                **({"subresource": manager.subresource} if manager.subresource else {}),
            }
            for manager, owned in kept
            if owned.fields
        ]


def _without_managed(obj: Json) -> Json:
    metadata = obj.get("metadata") or {}
    if "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def after_update(schema: Schema, live: Json, new: Json, manager: Manager, api_version: str, now: str) -> list[Json]:
    """``managedFields`` once ``new`` has replaced ``live`` (``{}`` on create)."""
    # Whoever sends an object without managedFields, or with an empty list, resets or keeps them: the server keeps.
    metadata = new.get("metadata") or {}
    sent = metadata.get("managedFields")
    ownership = Ownership() if sent in ([], [{}]) else Ownership.of(live)
    change = compare(schema, _without_managed(live), _without_managed(new))
    changed = {path for path in change.added | change.modified if not _ignored(path)}
    removed = change.removed
    if not changed and not removed:
        return ownership.entries()
    for other, owned in list(ownership.managers.items()):
        if other != manager and not owned.fields.isdisjoint(changed | removed):
            ownership.managers[other] = replace(owned, fields=owned.fields - changed - removed)
    before = ownership.managers.get(manager)
    mine = ((before.fields if before else set()) - removed) | changed
    if before is None or mine != before.fields or changed:
        ownership.managers[manager] = Owned(mine, api_version, now)
    return ownership.entries()


def _ignored(path: Path) -> bool:
    return path in _NOT_OWNED or path[:2] == _MANAGED_FIELDS


def apply(
    schema: Schema,
    live: Json,
    config: Json,
    manager: Manager,
    now: str,
    *,
    force: bool,
) -> Json:
    """The object once ``config`` is applied to ``live`` (``{}`` where there is none), with its ``managedFields``."""
    ownership = Ownership.of(live)
    config = _without_managed(config)
    new = merge(schema, _without_managed(live), config)
    wanted = {path for path in fields_of(schema, config) if not _ignored(path)}
    last = ownership.managers.get(manager)
    ownership.managers[manager] = Owned(wanted, config["apiVersion"], now)
    if last is not None and last.fields:
        owned_by_any = prefixes(path for owned in ownership.managers.values() for path in owned.fields)
        gone = (last.fields | {p for p in with_named_parents(last.fields) if p not in _NOT_OWNED}) - owned_by_any
        new = _removed(schema, new, gone & (last.fields | _emptied(schema, new, gone, last.fields)))
    change = compare(schema, _without_managed(live), new)
    changed = change.added | change.modified
    conflicts = {
        other: owned.fields & changed
        for other, owned in ownership.managers.items()
        if other != manager and owned.fields & changed
    }
    if conflicts and not force:
        raise _conflict(conflicts, ownership)
    for other, owned in list(ownership.managers.items()):
        if other != manager:
            ownership.managers[other] = replace(owned, fields=owned.fields - changed - change.removed)
    if last is not None and last.fields == wanted and not changed and not change.removed:
        ownership.managers[manager] = last
    new = dict(new)
    entries = ownership.entries()
    new["metadata"] = {**(new.get("metadata") or {}), **({"managedFields": entries} if entries else {})}
    return new


def _emptied(schema: Schema, merged: Json, gone: Fields, last: Fields) -> Fields:
    """Parents that hold nothing but what goes: they go too, rather than stay behind empty."""
    everything = fields_of(schema, merged)
    staying = prefixes(path for path in everything if not _below_any(path, gone & last))
    return {path for path in gone if path not in last and path not in staying}


def _below_any(path: Path, roots: Fields) -> bool:
    return any(path[:length] in roots for length in range(1, len(path) + 1))


def _conflict(conflicts: dict[Manager, Fields], ownership: Ownership) -> ApiError:
    def said(manager: Manager) -> str:
        text = f'"{manager.name}"'
        if manager.subresource:
            text += f' with subresource "{manager.subresource}"'
        if manager.operation == "Update":
            owned = ownership.managers[manager]
            text += f" using {owned.api_version}" + (f" at {owned.time}" if owned.time else "")
        return text

    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {said(manager)}", "field": spelled(path)}
        for manager in sorted(conflicts)
        for path in sorted(conflicts[manager])
    ]
    if len(causes) == 1:
        message = f"Apply failed with 1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        lines = []
        for manager in sorted(conflicts):
            lines.append(f"conflicts with {said(manager)}:")
            lines += [f"- {spelled(path)}" for path in sorted(conflicts[manager])]
        message = f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines)
    return ApiError(409, "Conflict", message, {"causes": causes})


def merge(schema: Schema, live: Any, config: Any) -> Any:
    """What is configured over what is there: maps and keyed lists by their keys, everything else as a whole."""
    match live, config:
        case dict(), dict():
            if schema.atomic_map:
                return config
            merged = dict(live)
            for name, value in config.items():
                merged[name] = merge(schema.field(name) or ANYTHING, live[name], value) if name in live else value
            return merged
        case list(), list() if is_granular_list(schema):
            before = {element_of(schema, item): item for item in live}
            wanted = {element_of(schema, item): item for item in config}
            # Items keep the order of the configuration, those of others stay where they are.
            merged_items = []
            rest = [element for element in wanted if element not in before]
            order = iter([element for element in wanted if element in before])
            for element, item in before.items():
                if element in wanted:
                    chosen = next(order)
                    merged_items.append(merge(schema.items, before[chosen], wanted[chosen]))
                else:
                    merged_items.append(item)
            merged_items += [wanted[element] for element in rest]
            return merged_items
        case _:
            return config


def _removed(schema: Schema, value: Any, gone: Fields) -> Any:
    """The object without some of its fields."""
    if not gone:
        return value
    below: dict[str, Fields] = {}
    for path in gone:
        below.setdefault(path[0], set()).add(path[1:])
    if isinstance(value, dict):
        kept = {}
        for name, inner in value.items():
            rest = below.get(f"f:{name}")
            if rest is None:
                kept[name] = inner
            elif () not in rest:
                kept[name] = _removed(schema.field(name) or ANYTHING, inner, rest)
        return kept
    if isinstance(value, list) and is_granular_list(schema):
        items = []
        for item in value:
            rest = below.get(element_of(schema, item))
            if rest is None:
                items.append(item)
            elif () not in rest:
                items.append(_removed(schema.items, item, rest))
        return items
    return value
