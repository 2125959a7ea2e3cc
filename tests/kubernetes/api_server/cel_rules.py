"""``x-kubernetes-validations``: rules in CEL over ``self`` and, for what is updated, ``oldSelf``.

Evaluated by the Rust implementation of CEL (PyPI ``common-expression-language``) with the functions of the strings,
lists and sets libraries. A rule that names ``oldSelf`` is a transition rule and runs only where there was a value.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import cel
from cel.stdlib import add_stdlib_to_context

from .errors import FieldError, invalid_value
from .field_sets import element_of
from .schema import Json, Schema

_RESERVED: Final = frozenset(
    [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_REASONS: Final = {
    "FieldValueRequired": "Required value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueDuplicate": "Duplicate value",
}


def has_rules(raw: Any) -> bool:
    """Whether a schema holds any rule at any depth."""
    match raw:
        case dict():
            return "x-kubernetes-validations" in raw or any(has_rules(value) for value in raw.values())
        case list():
            return any(has_rules(value) for value in raw)
        case _:
            return False


@functools.cache
def compiled(rule: str) -> cel.Program:
    """A rule; ``ValueError`` says what is wrong with one that is none."""
    return cel.compile(rule)


@functools.cache
def _uses_old(rule: str) -> bool:
    return "oldSelf" in compiled(rule).variables()


@functools.lru_cache(maxsize=65536)
def _escaped(name: str) -> str:
    """A property's name as CEL sees it."""
    if name in _RESERVED:
        return f"__{name}__"
    escaped = name.replace("__", "__underscores__") if "__" in name else name
    return escaped.replace(".", "__dot__").replace("-", "__dash__").replace("/", "__slash__")


def _as_cel(schema: Schema, value: Any) -> Any:
    """Fields of structs are escaped, keys of maps are not; unknown fields are not seen."""
    match value:
        case dict():
            if "properties" in schema.raw or schema.embedded:
                return {
                    _escaped(name): _as_cel(below, inner)
                    for name, inner in value.items()
                    if (below := schema.field(name)) is not None
                }
            if schema.additional is not None:
                return {name: _as_cel(schema.additional, inner) for name, inner in value.items()}
            return value
        case list():
            return [_as_cel(schema.items, item) for item in value]
        case float() | int() if schema.type == "number" and not isinstance(value, bool):
            return float(value)
        case _:
            return value


def check(schema: Schema, value: Any, old: Any, path: str) -> Iterator[FieldError]:
    """What the rules at this node and below say."""
    if value is None or not _within(schema):
        return
    unchanged = old is not None and value == old
    for rule in schema.raw.get("x-kubernetes-validations", ()):
        yield from _evaluate(schema, rule, value, old, path, unchanged=unchanged)
    match value:
        case dict():
            before = old if isinstance(old, dict) else {}
            for name, inner in value.items():
                below = schema.field(name)
                if below is not None and name != "metadata":
                    here = f"{path}.{name}" if schema.is_fixed(name) and path else f"{path}[{name}]" if path else name
                    yield from check(below, inner, before.get(name), here)
        case list():
            correlated = (
                {element_of(schema, item): item for item in old}
                if isinstance(old, list) and schema.list_type == "map"
                else {}
            )
            for index, item in enumerate(value):
                previous = correlated.get(element_of(schema, item)) if correlated else None
                yield from check(schema.items, item, previous, f"{path}[{index}]")


_KNOWN: dict[int, tuple[Schema, bool]] = {}


def _within(schema: Schema) -> bool:
    """Whether there are rules at a node or below it, remembered per node."""
    known = _KNOWN.get(id(schema))
    if known is None or known[0] is not schema:
        known = _KNOWN[id(schema)] = (schema, has_rules(schema.raw))
    return known[1]


def _evaluate(schema: Schema, rule: Json, value: Any, old: Any, path: str, *, unchanged: bool) -> Iterator[FieldError]:
    text = rule["rule"]
    transition = _uses_old(text)
    optional = bool(rule.get("optionalOldSelf"))
    if (transition and old is None and not optional) or (unchanged and not transition):
        return
    variables: Json = {"self": _as_cel(schema, value)}
    if transition:
        variables["oldSelf"] = None if old is None else _as_cel(schema, old)
        if optional:
            variables["oldSelf"] = (
                cel.OptionalValue.none() if old is None else cel.OptionalValue.of(variables["oldSelf"])
            )
    kind = schema.type or "object"
    try:
        held = compiled(text).execute(_context(variables))
    except (KeyError, TypeError, RuntimeError, ValueError) as error:
        yield invalid_value(path or "<nil>", kind, f"{error} evaluating rule: {rule.get('message') or text}")
        return
    if held is True:
        return
    message = str(rule.get("message") or f"failed rule: {text}").strip()
    if "messageExpression" in rule:
        said = compiled(rule["messageExpression"]).execute(_context(variables))
        if isinstance(said, str) and said.strip():
            message = said.strip()
    where = path + rule["fieldPath"] if "fieldPath" in rule else path
    reason = rule.get("reason", "FieldValueInvalid")
    if reason == "FieldValueInvalid":
        yield invalid_value(where or "<nil>", kind, message)
    else:
        value_shown = f': "{kind}"' if reason == "FieldValueDuplicate" else ""
        yield FieldError(reason, where, f"{_REASONS[reason]}{value_shown}: {message}")


_FUNCTIONS_OF_KUBERNETES: Final[dict[str, Callable[..., Any]]] = {
    "isSorted": lambda items: all(a <= b for a, b in itertools.pairwise(items)),
    "find": lambda text, pattern: found.group() if (found := re.search(pattern, text)) else "",
    "findAll": lambda text, pattern: re.findall(pattern, text),
}


def _context(variables: Json) -> cel.Context:
    context = cel.Context(variables=variables, functions=dict(_FUNCTIONS_OF_KUBERNETES))
    add_stdlib_to_context(context)
    return context
