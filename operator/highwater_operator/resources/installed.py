"""What an installed CustomResourceDefinition lacks of what this operator writes and reads.

The API server drops fields that its definition does not have, without a word. Helm installs the definitions of a chart
once and never upgrades them, so an operator may find those of an earlier version. Those of a later one have more, which
does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from highwater_chaos.kube.kinds import VERSION, Json

_ANYTHING: Final = "x-kubernetes-preserve-unknown-fields"
_BOUNDS: Final = ("maxLength", "maxItems", "maxProperties")


def lacking(wanted: Json, installed: Json) -> list[str]:
    """Return paths of the fields, values and bounds that ``installed`` does not have.

    Args:
        wanted: the CustomResourceDefinition of this version.
        installed: that of the API server.
    """
    ours, theirs = (
        next((one for one in made["spec"]["versions"] if one["name"] == VERSION), None) for made in (wanted, installed)
    )
    assert ours is not None
    if theirs is None or not theirs.get("served"):
        return [f"version {VERSION}"]
    missing = [f"subresource {one}" for one in ours["subresources"] if one not in (theirs.get("subresources") or {})]
    schemas = (one["schema"]["openAPIV3Schema"]["properties"] for one in (ours, theirs))
    mine, found = ({name: one for name, one in made.items() if name in ("spec", "status")} for made in schemas)
    return missing + list(_lacking({"properties": mine}, {"properties": found}, ""))


def _lacking(wanted: Any, found: Any, path: str) -> Iterator[str]:
    if found.get(_ANYTHING) and not found.get("properties"):
        return
    if wanted.get(_ANYTHING) and not found.get(_ANYTHING):
        yield f"{path} (any field)"
        return
    if wanted.get("type") != found.get("type") and "type" in found:
        yield f"{path} (type {wanted.get('type', 'any')})"
        return
    yield from (f"{path}={one}" for one in wanted.get("enum") or () if one not in (found.get("enum") or [one]))
    yield from (
        f"{path} ({bound} {wanted.get(bound, 'none')})"
        for bound in _BOUNDS
        if bound in found and found[bound] < wanted.get(bound, found[bound] + 1)
    )
    properties = found.get("properties") or {}
    for name, one in (wanted.get("properties") or {}).items():
        here = f"{path}.{name}".lstrip(".")
        if name in properties:
            yield from _lacking(one, properties[name], here)
        elif not isinstance(found.get("additionalProperties"), dict):
            yield here
    for part, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(wanted.get(part), dict) and isinstance(found.get(part), dict):
            yield from _lacking(wanted[part], found[part], f"{path}{mark}")
        elif isinstance(wanted.get(part), dict):
            yield f"{path}{mark}"
