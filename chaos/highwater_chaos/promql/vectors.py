"""Elements of vectors, and what operators do with their labels."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from highwater_chaos.promql.language import NAME, Labels


class EvaluationError(ValueError):
    """An expression has no result at an instant, as Prometheus says so too: several series match where one may."""


class Sample(NamedTuple):
    """One element of an instant vector."""

    labels: Labels
    value: float


Vector = list[Sample]


def show(labels: Labels) -> str:
    """Labels as PromQL writes a series: ``name{a="b"}``."""
    name = "".join(value for label, value in labels if label == NAME)
    others = ", ".join(f'{label}="{value}"' for label, value in labels if label != NAME)
    return f"{name}{{{others}}}" if others or not name else name


def without(labels: Labels, names: Collection[str]) -> Labels:
    """Labels less those of these names."""
    return tuple(one for one in labels if one[0] not in names)


def keep(labels: Labels, names: Collection[str]) -> Labels:
    """Only the labels of these names."""
    return tuple(one for one in labels if one[0] in names)


def without_name(labels: Labels) -> Labels:
    """Labels less the metric's name."""
    return without(labels, (NAME,))


def distinct(vector: Vector) -> Vector:
    """The vector; raises :class:`EvaluationError` where two elements have the same labels."""
    if len({one.labels for one in vector}) < len(vector):
        raise EvaluationError("vector cannot contain metrics with the same labelset")
    return vector


def grouped(vector: Sequence[Sample], labels: Collection[str], *, leave_out: bool) -> dict[Labels, list[float]]:
    """Values by the labels that an aggregation keeps, in the order in which they are met first."""
    groups: dict[Labels, list[float]] = {}
    for one in vector:
        key = without(one.labels, {*labels, NAME}) if leave_out else keep(one.labels, labels)
        groups.setdefault(key, []).append(one.value)
    return groups
