"""Conditions of an object's status (``metav1.Condition``), and the time stamps that go with them.

``observedGeneration`` of a condition is the ``metadata.generation`` of the object that the condition was computed from.
A condition that is not computed again keeps the generation that it has.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, NamedTuple

from highwater_chaos.kube.kinds import Json

_LONGEST_MESSAGE: Final = 2000


class Condition(NamedTuple):
    """One aspect: ``status`` is ``True``, ``False`` or ``Unknown``; ``reason`` is one CamelCase word."""

    type: str
    status: str
    reason: str
    message: str


def with_conditions(
    found: Json, *new: Condition, generation: int | None = None, at: datetime | None = None
) -> list[Json]:
    """Return the conditions of ``found`` with ``new`` in the places of those of their types.

    ``lastTransitionTime`` stays what it is unless the status changes, as Kubernetes asks.

    Args:
        found: the object as it was read.
        new: may be none.
        generation: of the object that ``new`` was computed from, if ``found`` was read later.
        at: the time now.
    """
    computed_from = found["metadata"].get("generation", 0) if generation is None else generation
    conditions = {one["type"]: dict(one) for one in (found.get("status") or {}).get("conditions") or []}
    for one in new:
        old = conditions.get(one.type)
        same = old is not None and old["status"] == one.status
        conditions[one.type] = {
            "type": one.type,
            "status": one.status,
            "observedGeneration": computed_from,
            "lastTransitionTime": old["lastTransitionTime"] if old is not None and same else stamp(at),
            "reason": one.reason,
            "message": one.message[:_LONGEST_MESSAGE],
        }
    return list(conditions.values())


def condition_of(found: Json, kind: str, status: str | None = None) -> Json | None:
    """Return the condition of a type (and of a status, if one is given); None: there is none."""
    for one in (found.get("status") or {}).get("conditions") or []:
        if one["type"] == kind and status in (None, one["status"]):
            condition: Json = one
            return condition
    return None


def stamp(at: datetime | None = None) -> str:
    """Return a time (now, if none is given) as RFC 3339 has it, in whole seconds."""
    return (at or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
