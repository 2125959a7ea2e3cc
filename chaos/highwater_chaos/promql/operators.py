"""Operators between numbers and vectors: which elements belong together, what comes out, under which labels.

A comparison without ``bool`` filters: what does not compare is left out, and what does keeps its own value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from highwater_chaos.promql.language import ARITHMETIC, COMPARISONS, NAME, Binary, Labels, Matching
from highwater_chaos.promql.vectors import EvaluationError, Sample, Vector, keep, show, without, without_name

# IEEE 754 without Python's exceptions.
_ARITHMETIC: Final[Mapping[str, Callable[[np.float64, np.float64], np.float64]]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
    "^": np.power,
}
_COMPARISON: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
}


def is_comparison(op: str) -> bool:
    """Whether an operator compares."""
    return op in COMPARISONS


def apply(op: str, left: float, right: float) -> float:
    """An operator between numbers; a comparison gives 1 or 0."""
    if op in ARITHMETIC:
        with np.errstate(all="ignore"):
            return float(_ARITHMETIC[op](np.float64(left), np.float64(right)))
    return float(_COMPARISON[op](left, right))


def compare_with_number(binary: Binary, left: Vector | float, right: Vector | float) -> Vector:
    """An operator between a vector and a number, in either order."""
    vector = left if isinstance(left, list) else right
    assert isinstance(vector, list)
    made: Vector = []
    for one in vector:
        a, b = (one.value, right) if isinstance(left, list) else (left, one.value)
        assert isinstance(a, float)
        assert isinstance(b, float)
        value = apply(binary.op, a, b)
        if is_comparison(binary.op) and not binary.return_bool:
            if value:
                made.append(one)
        else:
            made.append(Sample(without_name(one.labels), value))
    return made


def combine_sets(op: str, left: Vector, right: Vector, matching: Matching) -> Vector:
    """``and``, ``or``, ``unless``."""
    signature = _signature(matching)
    on_the_right = {signature(one.labels) for one in right}
    match op:
        case "and":
            return [one for one in left if signature(one.labels) in on_the_right]
        case "unless":
            return [one for one in left if signature(one.labels) not in on_the_right]
        case _:
            on_the_left = {signature(one.labels) for one in left}
            return [*left, *(one for one in right if signature(one.labels) not in on_the_left)]


def combine(binary: Binary, left: Vector, right: Vector) -> Vector:
    """An operator between vectors.

    Raises:
        EvaluationError: several elements of a side belong to one of the other, where that is not asked for.
    """
    matching, signature = binary.matching, _signature(binary.matching)
    swapped = matching.many == "right"
    many, one_side = (right, left) if swapped else (left, right)
    partners: dict[Labels, Sample] = {}
    if many:
        for one in one_side:
            key = signature(one.labels)
            if key in partners:
                raise EvaluationError(
                    f"found duplicate series for the match group {show(key)} on the {'left' if swapped else 'right'}"
                    f" hand-side of the operation: {show(partners[key].labels)}, {show(one.labels)}"
                )
            partners[key] = one
    made: Vector = []
    taken: set[tuple[Labels, Labels]] = set()
    for one in many:
        key = signature(one.labels)
        partner = partners.get(key)
        if partner is None:
            continue
        a, b = (partner.value, one.value) if swapped else (one.value, partner.value)
        value = apply(binary.op, a, b)
        if is_comparison(binary.op) and not binary.return_bool:
            if not value:
                continue
            value = a
        labels = _combined(binary, one.labels, partner.labels)
        mark = (key, () if matching.many == "neither" else labels)
        if mark in taken:
            raise EvaluationError(
                f"multiple matches for labels {show(key)}: "
                + (
                    "many-to-one matching must be explicit (group_left/group_right)"
                    if matching.many == "neither"
                    else "grouping labels must ensure unique matches"
                )
            )
        taken.add(mark)
        made.append(Sample(labels, value))
    return made


def _signature(matching: Matching) -> Callable[[Labels], Labels]:
    if matching.on:
        return lambda labels: keep(labels, matching.labels)
    return lambda labels: without(labels, (*matching.labels, NAME))


def _combined(binary: Binary, many: Labels, one: Labels) -> Labels:
    """The labels of a result: those of the side that may be many, as far as the other agrees."""
    matching = binary.matching
    labels = without_name(many) if binary.op in ARITHMETIC or binary.return_bool else many
    if matching.many == "neither":
        labels = keep(labels, matching.labels) if matching.on else without(labels, matching.labels)
    if matching.include:
        taken_over = keep(one, matching.include)
        labels = tuple(sorted((*without(labels, matching.include), *taken_over)))
    return labels
