"""JSON patch (RFC 6902), merge patch (RFC 7386) and Kubernetes' strategic merge patch."""

from __future__ import annotations

import copy
from typing import Any

from .errors import ApiError, bad_request
from .schema import ANYTHING, Json, Schema


def merge_patch(target: Any, patch: Any) -> Any:
    """Maps are merged, ``null`` takes away, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


# JSON patch


def json_patch(target: Json, operations: list[Json]) -> Json:
    """One operation after the other, all or none. A failed ``test`` and a missing path are 422."""
    if not isinstance(operations, list):
        raise bad_request("error decoding patch: a JSON patch is a list of operations")
    result: Any = copy.deepcopy(target)
    for operation in operations:
        try:
            result = _operate(result, operation)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            name = operation.get("op") if isinstance(operation, dict) else operation
            path = operation.get("path") if isinstance(operation, dict) else ""
            message = (
                "the server rejected our request due to an error in our request: "
                f"{name} operation does not apply: doc is missing path: {path!r}: {error}"
            )
            raise ApiError(422, "Invalid", message) from error
    if not isinstance(result, dict):
        raise bad_request("the patch leaves no object")
    return result


def _pointer(text: str) -> list[str]:
    if text == "":
        return []
    if not text.startswith("/"):
        raise ValueError(f"a JSON pointer starts with a slash, found {text!r}")
    return [part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/")]


def _look_up(document: Any, parts: list[str]) -> Any:
    for part in parts:
        document = document[_index(document, part, len(document) - 1)] if isinstance(document, list) else document[part]
    return document


def _index(items: list[Any], part: str, last: int) -> int:
    index = int(part)
    if not 0 <= index <= last:
        raise IndexError(f"index {part} of a list of {len(items)}")
    return index


def _operate(document: Any, operation: Json) -> Any:
    name, parts = operation["op"], _pointer(operation["path"])
    match name:
        case "add":
            return _add(document, parts, copy.deepcopy(operation["value"]))
        case "remove":
            _take(document, parts)
            return document
        case "replace":
            _look_up(document, parts)
            if not parts:
                return copy.deepcopy(operation["value"])
            parent = _look_up(document, parts[:-1])
            parent[int(parts[-1]) if isinstance(parent, list) else parts[-1]] = copy.deepcopy(operation["value"])
            return document
        case "move":
            return _add(document, parts, _take(document, _pointer(operation["from"])))
        case "copy":
            return _add(document, parts, copy.deepcopy(_look_up(document, _pointer(operation["from"]))))
        case "test":
            if _look_up(document, parts) != operation["value"]:
                raise ValueError(f"testing value {operation['path']} failed: found {_look_up(document, parts)!r}")
            return document
        case _:
            raise ValueError(f"unexpected kind: {name}")


def _add(document: Any, parts: list[str], value: Any) -> Any:
    if not parts:
        return value
    parent = _look_up(document, parts[:-1])
    if isinstance(parent, list):
        parent.insert(len(parent) if parts[-1] == "-" else _index(parent, parts[-1], len(parent)), value)
    elif isinstance(parent, dict):
        parent[parts[-1]] = value
    else:
        raise TypeError(f"{parts[:-1]} is no object and no list")
    return document


def _take(document: Any, parts: list[str]) -> Any:
    parent = _look_up(document, parts[:-1])
    return parent.pop(_index(parent, parts[-1], len(parent) - 1) if isinstance(parent, list) else parts[-1])


# Strategic merge


def strategic_merge(schema: Schema, target: Any, patch: Any) -> Any:
    """A merge patch that knows by which key the items of a list are told apart.

    ``$patch: delete|replace|merge`` in a map or an item, ``$deleteFromPrimitiveList/x``, ``$setElementOrder/x`` and
    ``$retainKeys`` are honoured.
    """
    if not isinstance(patch, dict):
        return patch
    directive = patch.get("$patch")
    rest = {key: value for key, value in patch.items() if key not in ("$patch", "$retainKeys")}
    if directive == "replace":
        return _without_directives(rest)
    if directive == "delete":
        return {}
    merged = dict(target) if isinstance(target, dict) else {}
    if "$retainKeys" in patch:
        merged = {key: value for key, value in merged.items() if key in patch["$retainKeys"]}
    orders: Json = {}
    for key, value in rest.items():
        if key.startswith("$deleteFromPrimitiveList/"):
            name = key.partition("/")[2]
            merged[name] = [item for item in merged.get(name) or [] if item not in value]
        elif key.startswith("$setElementOrder/"):
            orders[key.partition("/")[2]] = value
        elif value is None:
            merged.pop(key, None)
        else:
            below = schema.field(key) or ANYTHING
            if isinstance(value, list) and "merge" in below.strategy:
                merged[key] = _merged_list(below, merged.get(key) or [], value)
            elif isinstance(value, dict) and "replace" in below.strategy:
                merged[key] = value
            elif isinstance(value, dict):
                merged[key] = strategic_merge(below, merged.get(key), value)
            else:
                merged[key] = value
    for key, order in orders.items():
        below = schema.field(key) or ANYTHING
        if key in merged:
            merged[key] = _ordered(below, merged[key], order)
    return merged


def _without_directives(value: Json) -> Json:
    return {key: item for key, item in value.items() if not key.startswith("$")}


def _merged_list(schema: Schema, target: list[Any], patch: list[Any]) -> list[Any]:
    key = schema.merge_key
    if key is None:
        return [*target, *(item for item in patch if item not in target)]
    if any(isinstance(item, dict) and item.get("$patch") == "replace" for item in patch):
        return [_without_directives(item) for item in patch if item.get("$patch") != "replace" or len(item) > 1]
    merged = list(target)
    for item in patch:
        if not isinstance(item, dict) or key not in item:
            raise bad_request(f"map: {item} does not contain declared merge key: {key}")
        at = next((index for index, found in enumerate(merged) if found.get(key) == item[key]), None)
        if item.get("$patch") == "delete":
            merged = [found for found in merged if found.get(key) != item[key]]
        elif at is None:
            merged.append(strategic_merge(schema.items, {}, item))
        else:
            merged[at] = strategic_merge(schema.items, merged[at], item)
    return merged


def _ordered(schema: Schema, items: list[Any], order: list[Any]) -> list[Any]:
    key = schema.merge_key

    def name(item: Any) -> Any:
        return item.get(key) if key is not None and isinstance(item, dict) else item

    places = {name(item): place for place, item in enumerate(order)}
    listed = sorted((item for item in items if name(item) in places), key=lambda item: places[name(item)])
    chosen = iter(listed)
    return [next(chosen) if name(item) in places else item for item in items]
