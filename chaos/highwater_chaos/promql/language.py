"""The part of PromQL that is evaluated here, as a tree: what the parser's result is turned into.

Parentheses are gone: the tree has the order. :func:`~highwater_chaos.promql.text.text_of` writes it as PromQL again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

NAME: Final = "__name__"
"""The label that is a metric's name."""

Labels: TypeAlias = tuple[tuple[str, str], ...]
"""Sorted by name, each once, none empty; the metric's name is one of them."""

ARITHMETIC: Final = frozenset({"+", "-", "*", "/", "%", "^"})
COMPARISONS: Final = frozenset({"==", "!=", ">", "<", ">=", "<="})
SETS: Final = frozenset({"and", "or", "unless"})
AGGREGATIONS: Final = frozenset({"sum", "min", "max", "avg", "count", "group"})
RANGE_FUNCTIONS: Final = frozenset(
    {"rate", "increase", "delta", "changes", "resets"}
    | {f"{how}_over_time" for how in ("max", "min", "avg", "sum", "count", "last")}
)
OTHER_FUNCTIONS: Final = frozenset({"abs", "absent", "scalar", "vector"})
FUNCTIONS: Final = RANGE_FUNCTIONS | OTHER_FUNCTIONS

SUPPORTED: Final = (
    "selectors with =, !=, =~, !~ and offset, range selectors, + - * / % ^ and unary -, comparisons and bool,"
    " and/or/unless, on/ignoring with group_left/group_right, "
    f"{', '.join(sorted(AGGREGATIONS))} with by/without, {', '.join(sorted(FUNCTIONS))}"
)


class PromqlError(ValueError):
    """An expression that is refused; the message says what was found and what there is."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """One condition on a label; a label that is not there is empty. ``pattern`` is that of
    RE2 for ``=~`` and ``!~``."""

    name: str
    op: Literal["=", "!=", "=~", "!~"]
    value: str
    pattern: Any = None

    def matches(self, found: str) -> bool:
        """Whether a label with this value is meant. Patterns match whole values."""
        if self.pattern is None:
            return (found == self.value) == (self.op == "=")
        return (self.pattern.fullmatch(found) is not None) == (self.op == "=~")


@dataclass(frozen=True, slots=True)
class Number:
    """A number literal."""

    value: float


@dataclass(frozen=True, slots=True)
class Selector:
    """An instant selector; its metric's name is among the matchers. ``offset_ms`` looks back where it is above 0."""

    matchers: tuple[Matcher, ...]
    offset_ms: int

    def without_exclusions(self) -> Selector:
        """The selector less its ``!=`` and ``!~``: what they leave out may be all there is."""
        return replace(self, matchers=tuple(one for one in self.matchers if one.op in ("=", "=~")))


@dataclass(frozen=True, slots=True)
class Range:
    """A range selector: the samples of the last ``range_ms``, both ends included."""

    selector: Selector
    range_ms: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function of :data:`FUNCTIONS` and its one argument."""

    function: str
    argument: Expression | Range


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregation over all elements that agree on ``labels`` (``without``: on all others)."""

    op: str
    inner: Expression
    labels: tuple[str, ...]
    without: bool


@dataclass(frozen=True, slots=True)
class Negated:
    """Unary minus."""

    inner: Expression


@dataclass(frozen=True, slots=True)
class Matching:
    """Which elements of two vectors belong together: those that agree on ``labels`` (``on``) or on all others.

    ``many`` is the side of which several may belong to one of the other; ``include`` are labels that they take over.
    """

    on: bool = False
    labels: tuple[str, ...] = ()
    many: Literal["neither", "left", "right"] = "neither"
    include: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator and its operands."""

    op: str
    left: Expression
    right: Expression
    matching: Matching
    return_bool: bool


Expression: TypeAlias = Number | Selector | Call | Aggregate | Negated | Binary


def is_scalar(expression: Expression) -> bool:
    """Whether it is a number instead of a vector."""
    match expression:
        case Number():
            return True
        case Call(function="scalar"):
            return True
        case Negated(inner=inner):
            return is_scalar(inner)
        case Binary(left=left, right=right):
            return is_scalar(left) and is_scalar(right)
        case _:
            return False


def parts(expression: Expression) -> tuple[Expression | Range, ...]:
    """What an expression consists of, one level down."""
    match expression:
        case Call(argument=inner) | Aggregate(inner=inner) | Negated(inner=inner):
            return (inner,)
        case Binary(left=left, right=right):
            return (left, right)
        case _:
            return ()


def selectors(expression: Expression | Range) -> Iterator[Selector]:
    """Every selector in it, from left to right."""
    if isinstance(expression, Range):
        yield expression.selector
    elif isinstance(expression, Selector):
        yield expression
    else:
        for part in parts(expression):
            yield from selectors(part)


def is_never_empty(expression: Expression) -> bool:
    """A comparison that answers with 0 or 1 for each element: as a condition it would hold whatever is compared."""
    return (
        isinstance(expression, Binary)
        and expression.op in COMPARISONS
        and expression.return_bool
        and not is_scalar(expression)
    )
