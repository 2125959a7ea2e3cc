"""The systematic set: one condition, assignment or call of the runtime changed, at places that nobody chose.

People write the bugs that they can think of. Here each place at which brokers, controllers, logs and the quorum decide
something is a candidate, and a fixed share of them is taken, by a hash of their names: so the sample stays the same
where the code stays the same. What is found is a rate without an author. What changes a run and is not found is a rule
that nobody looks at, or one that does not matter; which of the two, a reader has to say.

=========================  ===========================================
text                       becomes
=========================  ===========================================
``a < b`` (any order)      ``a <= b`` (with or without the equal)
``a == b``, ``is``, ``in`` the opposite
``a and b``, ``a or b``    without one of the parts
``not a``                  ``a``
``a + 1``, ``a - 1``       ``a``
``x.y = z``, ``x += y``    ``pass``
``call(…)`` alone          ``pass``
=========================  ===========================================

Expressions with a call are left alone: :mod:`.reach` evaluates both forms, and a call may change something. So are
reports (trace and metrics), which are about the log and not the log, and assertions.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Final

import highwater_runtime
from highwater_lab.mutants.apply import MutantError, changed_code
from highwater_lab.mutants.mutant import Mutant

SIZE: Final = 200
_PACKAGES: Final = ("broker", "controller", "log", "raft", "zookeeper")
_OPPOSITE: Final[dict[type[ast.cmpop], ast.cmpop]] = {
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
}
_REPORTS: Final = ("trace.", "metrics", "gauge", "counter", "_report")
"""In a statement that only tells."""


class Systematic(Mapping[str, Mutant]):
    """The set, by name: the place, and which change of it. The code is read when somebody asks for the first time."""

    def __getitem__(self, name: str) -> Mutant:
        return self._taken[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._taken)

    def __len__(self) -> int:
        return SIZE

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and "#" in name and name in self._taken

    @cached_property
    def _taken(self) -> dict[str, Mutant]:
        by_hash = sorted(_every(), key=lambda mutant: hashlib.sha256(mutant.name.encode()).digest())
        taken = itertools.islice((mutant for mutant in by_hash if _fits(mutant)), SIZE)
        return {mutant.name: mutant for mutant in sorted(taken)}


def _fits(mutant: Mutant) -> bool:
    """Whether the changed function can take the place of its own: it may be a generated one, or a closure."""
    try:
        changed_code(mutant)
    except MutantError:
        return False
    return True


def _every() -> Iterator[Mutant]:
    root = Path(highwater_runtime.__file__).parent
    for package in _PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            text = file.read_text(encoding="utf-8")
            lines = text.splitlines(keepends=True)
            module = ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            for qualified, function in _functions(ast.parse(text).body):
                yield from _of_function(f"{module}:{qualified}", function, lines)


def _functions(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{prefix}{node.name}.")


def _of_function(where: str, function: ast.FunctionDef, lines: list[str]) -> Iterator[Mutant]:
    begin = min([function.lineno, *(one.lineno for one in function.decorator_list)])
    lines = lines[begin - 1 : function.end_lineno]
    mode = "zookeeper" if where.startswith(("zookeeper.", "controller.zk.", "broker.zk.")) else ""
    mode = "kraft" if where.startswith(("controller.kraft.", "broker.kraft.")) else mode
    number = 0
    for node in _deciding(function):
        for new in _changes(node):
            number += 1
            changed = _replaced(lines, node, begin, new)
            breaks = f"line {node.lineno}: {ast.unparse(node)} becomes {new}"
            yield Mutant(f"{where}#{number}", where, "".join(lines), changed, breaks, mode)


def _deciding(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """What may be changed, from the first to the last."""
    for child in ast.iter_child_nodes(node):
        is_report = isinstance(child, ast.Expr) and any(word in ast.unparse(child) for word in _REPORTS)
        if isinstance(child, ast.Assert | ast.Raise | ast.arguments) or is_report:
            continue
        if isinstance(child, ast.expr | ast.stmt):
            yield child
        yield from _deciding(child)


def _changes(node: ast.expr | ast.stmt) -> Iterator[str]:
    match node:
        case ast.Expr(ast.Call()) | ast.Assign([ast.Attribute()]) | ast.AugAssign():
            yield "pass"
        case ast.expr() if any(isinstance(one, ast.Call | ast.NamedExpr) for one in ast.walk(node)):
            return
        case ast.Compare(left, [operator], [right]) if type(operator) in _OPPOSITE:
            yield f"({ast.unparse(ast.Compare(left, [_OPPOSITE[type(operator)]], [right]))})"
        case ast.BoolOp(operator, values):
            for index in range(len(values)):
                rest = values[:index] + values[index + 1 :]
                yield f"({ast.unparse(rest[0] if len(rest) == 1 else ast.BoolOp(operator, rest))})"
        case ast.UnaryOp(ast.Not(), inner) | ast.BinOp(inner, ast.Add() | ast.Sub(), ast.Constant(1)):
            yield f"({ast.unparse(inner)})"


def _replaced(lines: list[str], node: ast.expr | ast.stmt, begin: int, new: str) -> str:
    first, last = node.lineno - begin, (node.end_lineno or node.lineno) - begin
    before = lines[first].encode()[: node.col_offset].decode()
    behind = lines[last].encode()[node.end_col_offset :].decode()
    return "".join([*lines[:first], before + new + behind, *lines[last + 1 :]])
