"""Which mutants could make a difference to a run, seen in one run without any of them.

Most seeds never come to the point where a mutant acts, and a run in which it never acts is the run without it, byte by
byte: runs are deterministic. So one run of each seed watches the rules of all mutants at once. Where a mutant changes
an expression, both the expression and its changed form are evaluated, and the mutant is *reached* as soon as they
differ. Where it changes a statement, it is reached when the statement is executed; where it adds one, when the function
is called. Mutants that a seed does not reach
need not be run with it (mutation testing calls the question *infection*).

This holds as long as evaluating a changed expression changes nothing. ``tests/campaign/test_reach.py`` compares.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any, Final, NamedTuple

from highwater_lab.mutants.apply import MutantError, alone, change_of, compiled
from highwater_lab.mutants.mutant import Mutant

_PROBE: Final = "__mutant_probe__"
_SEEN: Final = "__mutant_seen__"

Place = tuple[tuple[str, int], ...]
"""A node of a syntax tree: from the root on, the field of each node and the index in it (-1: the field is no list)."""


class _Difference(NamedTuple):
    """The smallest part of a tree that a mutant changes. ``changed`` is None if that is not a single expression."""

    mutant: str
    at: Place
    changed: ast.expr | None


@contextmanager
def watching(mutants: Iterable[Mutant]) -> Iterator[set[str]]:
    """Watch for the time of the block; the set gets the names of the mutants that are reached."""
    reached: set[str] = set()
    probe, seen = _probe_into(reached), reached.add
    watched = _watched(tuple(mutants))
    before = [(function, function.__code__) for function, _ in watched]
    for function, code in watched:
        function.__globals__[_PROBE], function.__globals__[_SEEN] = probe, seen
        function.__code__ = code
    try:
        yield reached
    finally:
        for function, own in before:
            function.__code__ = own
            function.__globals__.pop(_PROBE, None)
            function.__globals__.pop(_SEEN, None)


def _probe_into(reached: set[str]) -> Callable[[str, Any, Callable[[], Any]], Any]:
    def probe(mutant: str, value: Any, changed: Callable[[], Any]) -> Any:
        if mutant not in reached:
            try:
                other = changed()
                same = bool(value) == bool(other) if bool in (type(value), type(other)) else bool(value == other)
            except Exception:  # the mutant raises here, which is a difference
                same = False
            if not same:
                reached.add(mutant)
        return value

    return probe


_WATCHED: Final[dict[tuple[str, ...], list[tuple[FunctionType, Any]]]] = {}
"""By the names of the mutants: what was compiled for them."""


def _watched(mutants: Sequence[Mutant]) -> list[tuple[FunctionType, Any]]:
    """Each function that one of the mutants changes, and its own code with the probes in it."""
    names = tuple(mutant.name for mutant in mutants)
    if names not in _WATCHED:
        by_function: dict[FunctionType, tuple[str, list[_Difference]]] = {}
        for mutant in mutants:
            function, change = change_of(mutant)
            _, differences = by_function.setdefault(function, (change.original, []))
            own, changed = alone(change.original, function), alone(change.changed, function)
            differences.append(_difference(mutant.name, own, changed))
        made = []
        for function, (original, differences) in by_function.items():
            code = compiled(_with_probes(alone(original, function), differences), function)
            if code is None:
                raise MutantError(f"{function.__qualname__} cannot be watched: it closes over other variables then")
            made.append((function, code))
        _WATCHED[names] = made
    return _WATCHED[names]


def _difference(name: str, own: ast.AST, changed: ast.AST) -> _Difference:
    """Go down as long as exactly one child differs; then up to what can be watched.

    That is an expression, or a statement. A statement that is nothing but a call is there for what the call does, so
    its changed form must not be evaluated. Of a comparison the outcome counts, not the values that are compared.
    """
    at: list[tuple[str, int]] = []
    nodes: list[tuple[ast.AST, ast.AST]] = [(own, changed)]
    while type(own) is type(changed):
        differing = [
            (step, one, other)
            for (step, one), (_, other) in zip(_children(own), _children(changed), strict=False)
            if not _same(one, other)
        ]
        if len(differing) != 1 or _shape(own) != _shape(changed):
            break
        step, own, changed = differing[0]
        at.append(step)
        nodes.append((own, changed))
    while True:
        own, changed = nodes[-1]
        if (
            isinstance(own, ast.expr)
            and isinstance(changed, ast.expr)
            and not isinstance(nodes[-2][0], ast.Expr | ast.Compare)
        ):
            return _Difference(name, tuple(at), changed)
        if isinstance(own, ast.stmt):
            return _Difference(name, tuple(at), None)
        nodes.pop()
        at.pop()


def _same(one: Any, other: Any) -> bool:
    """Whether two trees are the same wherever they stand, as ``ast.dump`` would show them, but sooner."""
    if type(one) is not type(other):
        return False
    if isinstance(one, ast.AST):
        return all(_same(getattr(one, field, None), getattr(other, field, None)) for field in one._fields)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _children(node: ast.AST) -> list[tuple[tuple[str, int], ast.AST]]:
    found: list[tuple[tuple[str, int], ast.AST]] = []
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            found.append(((field, -1), value))
        elif isinstance(value, list):
            found += [((field, index), inner) for index, inner in enumerate(value) if isinstance(inner, ast.AST)]
    return found


def _shape(node: ast.AST) -> list[Any]:
    """All of a node but what its children are: how many there are, in which fields, and its own words."""
    own = [value for _, value in ast.iter_fields(node) if not isinstance(value, ast.AST | list)]
    return [[step for step, _ in _children(node)], *own]


def _with_probes(module: ast.Module, differences: Sequence[_Difference]) -> ast.Module:
    # Inner ones first: what stands around them is wrapped with them in it.
    for difference in sorted(differences, key=lambda one: -len(one.at)):
        if difference.changed is not None:
            _replace(module, difference.at, lambda own, one=difference: [_probed(one, own)])  # type: ignore[misc]
    # Statements from behind, so that those before them keep their places.
    for difference in sorted(differences, key=lambda one: [index for _, index in one.at], reverse=True):
        if difference.changed is None:
            _replace(module, difference.at, lambda own, one=difference: _noted(one, own))  # type: ignore[misc]
    return ast.fix_missing_locations(module)


def _replace(module: ast.Module, at: Place, by: Callable[[Any], list[Any]]) -> None:
    node: Any = module
    for field, index in at[:-1]:
        node = getattr(node, field)
        node = node if index < 0 else node[index]
    field, index = at[-1]
    if index < 0:
        (new,) = by(getattr(node, field))
        setattr(node, field, new)
    else:
        getattr(node, field)[index : index + 1] = by(getattr(node, field)[index])


def _probed(difference: _Difference, own: ast.expr) -> ast.expr:
    assert difference.changed is not None
    arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    call = ast.Call(
        ast.Name(_PROBE, ast.Load()),
        [ast.Constant(difference.mutant), own, ast.Lambda(arguments, difference.changed)],
        [],
    )
    return ast.copy_location(call, own)


def _noted(difference: _Difference, own: ast.stmt) -> list[ast.stmt]:
    call = ast.Call(ast.Name(_SEEN, ast.Load()), [ast.Constant(difference.mutant)], [])
    note = ast.copy_location(ast.Expr(call), own)
    if isinstance(own, ast.FunctionDef):  # the mutant adds a statement: what counts is that the function is called
        own.body.insert(0, note)
        return [own]
    return [note, own]
