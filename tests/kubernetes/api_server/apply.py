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
        new = _pruned(schema, new, last.fields, ownership)
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


def _pruned(schema: Schema, merged: Json, last: Fields, ownership: Ownership) -> Json:
    """Without what the applier set before and nobody owns any more, and without what that leaves empty."""
    owned = with_named_parents({path for one in ownership.managers.values() for path in one.fields})
    before, there = with_named_parents(last) - _NOT_OWNED, with_named_parents(fields_of(schema, merged))
    left: Json = _removed(schema, merged, (before - owned) & there)
    gone = (there - with_named_parents(fields_of(schema, left))) & before
    result: Json = _removed(schema, merged, gone)
    return result


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
            return _merged_items(schema, live, config)
        case _:
            return config


def _merged_items(schema: Schema, live: list[Any], config: list[Any]) -> list[Any]:
    """Items of the configuration in its order; those of others stay where they were among them."""
    before = {element_of(schema, item): item for item in live}
    wanted = {element_of(schema, item): item for item in config}
    there, asked = list(before), list(wanted)
    shared = [element for element in asked if element in before]
    done: set[str] = set()
    merged: list[Any] = []

    def take(element: str) -> None:
        done.add(element)
        if shared and shared[0] == element:
            shared.pop(0)
        item = wanted[element]
        merged.append(merge(schema.items, before[element], item) if element in before else item)

    left = right = 0
    while left < len(there) or right < len(asked):
        if left < len(there):
            element = there[left]
            if element not in wanted:
                merged.append(before[element])
                left += 1
                continue
            if right < len(asked) and asked[right] == element:
                take(element)
                left, right = left + 1, right + 1
                continue
            if element in done or (shared and shared[0] != element):
                left += 1  # another of the shared items comes first
                continue
        take(asked[right])
        right += 1
    return merged


def _removed(schema: Schema, value: Any, gone: Fields) -> Any:
    """The object without some of its fields; a map or list that this empties goes too."""
    if not gone:
        return value
    below: dict[str, Fields] = {}
    for path in gone:
        below.setdefault(path[0], set()).add(path[1:])
    if isinstance(value, dict):
        kept = {}
        for name, inner in value.items():
            rest = below.get(f"f:{name}", set())
            if () in rest:
                continue
            left = _removed(schema.field(name) or ANYTHING, inner, rest)
            if left or not rest:
                kept[name] = left
        return kept
    if isinstance(value, list) and is_granular_list(schema):
        items = []
        for item in value:
            rest = below.get(element_of(schema, item), set())
            if () not in rest:
                items.append(_removed(schema.items, item, rest))
        return items
    return value
