"""``x-kubernetes-validations`` of CRDs: rules in CEL over ``self`` and, for an update, ``oldSelf``.

The Rust implementation of CEL evaluates them (PyPI ``common-expression-language``).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import cel
from cel.stdlib import add_stdlib_to_context

from .errors import FieldError, Json, invalid_value
from .schema import Schema


@functools.cache
def compiled(rule: str) -> cel.Program:
    """Raises ValueError for what is no rule."""
    return cel.compile(rule)


@functools.cache
def _is_transition(rule: str) -> bool:
    return "oldSelf" in compiled(rule).variables()


def check(schema: Schema, value: Any, old: Any, path: str = "") -> Iterator[FieldError]:
    """Yield what the rules at this node and below find wrong."""
    if schema.open:
        return
    for rule in schema.raw.get("x-kubernetes-validations", ()):
        transition = _is_transition(rule["rule"])
        if (transition and old is None) or (not transition and old is not None and value == old):
            continue
        context = cel.Context(variables={"self": value, "oldSelf": old} if transition else {"self": value})
        add_stdlib_to_context(context)
        context.add_function("sum", _sum)
        kind = schema.types[0] if len(schema.types) == 1 else "object"
        try:
            if compiled(rule["rule"]).execute(context) is not True:
                yield invalid_value(path or "<nil>", kind, rule["message"])
        except (KeyError, TypeError, RuntimeError, ValueError) as error:
            yield invalid_value(path or "<nil>", kind, f"{error} evaluating rule: {rule['message']}")
    match value:
        case dict():
            before: Json = old if isinstance(old, dict) else {}
            for name, inner in value.items():
                below = schema.field(name)
                if below is not None and name != "metadata" and inner is not None:
                    yield from check(below, inner, before.get(name), f"{path}.{name}" if path else name)
        case list():
            for index, item in enumerate(value):
                yield from check(schema.items, item, None, f"{path}[{index}]")


def _sum(durations: list[timedelta]) -> timedelta:
    """Of Kubernetes' own library for lists, as far as our rules use it."""
    return sum(durations, timedelta())
