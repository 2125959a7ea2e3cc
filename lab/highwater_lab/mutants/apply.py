"""Applies a mutant in memory: one function's code object is exchanged for that of the changed source.

The function object stays the same, so modules that imported it by name have the mutant too. Nothing on the disk
changes, and the original code is restored when the block ends.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple

from highwater_lab.mutants.mutant import Mutant

_PACKAGE: Final = "highwater_runtime"
_FIRST_LINE: Final = "from __future__ import annotations\n"
"""Of every module."""


class MutantError(Exception):
    """The mutant does not fit the code; the message says why."""


@contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """The mutant, for the time of the block.

    Raises:
        MutantError: there is no such function, or the text does not stand in it exactly once.
    """
    function, changed = changed_code(mutant)
    original = function.__code__
    function.__code__ = changed
    try:
        yield
    finally:
        function.__code__ = original


def changed_code(mutant: Mutant) -> tuple[FunctionType, CodeType]:
    """The function that a mutant changes, and its changed code."""
    function, change = change_of(mutant)
    code = compiled(alone(change.changed, function), function)
    if code is None:
        raise MutantError(f"mutant {mutant.name}: the changed {mutant.where} closes over other variables")
    return function, code


class Change(NamedTuple):
    """A mutant as two texts of the function that it changes, indented as in the file."""

    original: str
    changed: str


def change_of(mutant: Mutant) -> tuple[FunctionType, Change]:
    """The function that a mutant changes, and how.

    Raises:
        MutantError: there is no such function, or the text does not stand in it exactly once.
    """
    module_name, _, qualified = mutant.where.partition(":")
    try:
        module = importlib.import_module(f"{_PACKAGE}.{module_name}")
        function = _function(module, qualified)
    except (ImportError, AttributeError) as error:
        raise MutantError(f"mutant {mutant.name}: {mutant.where}: there is no such function: {error}") from error
    source = "".join(inspect.getsourcelines(function.__code__)[0])
    if (count := source.count(mutant.old)) != 1:
        raise MutantError(
            f"mutant {mutant.name}: expected its text once in {mutant.where}, found it {count} times: {mutant.old!r}"
        )
    return function, Change(source, source.replace(mutant.old, mutant.new))


def alone(source: str, function: FunctionType) -> ast.Module:
    """A module of nothing but a function, with this source, in its classes and on its lines: soon compiled."""
    code = function.__code__
    *classes, _ = code.co_qualname.split(".")
    around = [_FIRST_LINE, *("    " * depth + f"class {name}:\n" for depth, name in enumerate(classes))]
    module = ast.parse("".join(around) + source)
    ast.increment_lineno(module, code.co_firstlineno - 1 - len(around))
    return module


def compiled(module: ast.Module, function: FunctionType) -> CodeType | None:
    """The code of a function in a changed module; None if it cannot take the place of the function's own."""
    own = function.__code__
    code = _code_of(compile(module, own.co_filename, "exec", dont_inherit=True), own.co_qualname)
    return code if code is not None and code.co_freevars == own.co_freevars else None


def _function(module: ModuleType, qualified: str) -> FunctionType:
    found: Any = module
    for name in qualified.split("."):
        found = inspect.getattr_static(found, name)
    if isinstance(found, (staticmethod, classmethod)):
        found = found.__func__
    if isinstance(found, property):
        found = found.fget
    if isinstance(found, functools.cached_property):
        found = found.func
    found = inspect.unwrap(found)
    if not isinstance(found, FunctionType):
        raise AttributeError(f"{qualified} is {type(found).__name__}")
    return found


def _code_of(code: CodeType, qualified: str) -> CodeType | None:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_qualname == qualified:
                return constant
            if (found := _code_of(constant, qualified)) is not None:
                return found
    return None
