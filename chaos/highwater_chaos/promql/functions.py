"""Functions over a range of samples, and aggregations over elements: from values to a value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

Values: TypeAlias = Sequence[float]
OverRange: TypeAlias = Callable[[Sequence[int], Values, int, int], float | None]
"""Times (ms), values, start and end of the range (ms) → the function's value; None: too few samples to say."""


def _largest(values: Values) -> float:
    # NaN only where there is nothing else.
    there = [value for value in values if not math.isnan(value)]
    return max(there) if there else math.nan


def _smallest(values: Values) -> float:
    there = [value for value in values if not math.isnan(value)]
    return min(there) if there else math.nan


def _add(value: float, total: float, lost: float) -> tuple[float, float]:
    """Add ``value`` to ``total`` as Kahan and Neumaier do; ``lost`` is what rounding has lost so far."""
    after = total + value
    if math.isinf(after):
        return after, 0.0
    if abs(total) >= abs(value):
        return after, lost + ((total - after) + value)
    return after, lost + ((value - after) + total)


def _sum(values: Values) -> float:
    total, lost = 0.0, 0.0
    for value in values:
        total, lost = _add(value, total, lost)
    return total + lost


def _mean(values: Values) -> float:
    """The mean, also of values whose sum is too large for a number: from there on it is updated value by value."""
    total, lost = 0.0, 0.0
    for number, value in enumerate(values):
        after, lost_after = _add(value, total, lost)
        if number > 0 and math.isinf(after):
            return _running_mean(total / number, lost / number, number, values[number:])
        total, lost = after, lost_after
    return (total + lost) / len(values)


def _running_mean(mean: float, lost: float, count: int, values: Values) -> float:
    """The mean of ``count`` values and of ``values``. An infinite mean stays what it is unless an infinity of the other
    sign or a NaN comes."""
    for value in values:
        count += 1
        if math.isinf(mean) and (value == mean or math.isfinite(value)):
            continue
        mean, lost = _add(value / count - (mean + lost) / count, mean, lost)
    return mean + lost


AGGREGATORS: Final[Mapping[str, Callable[[Values], float]]] = {
    "sum": _sum,
    "min": _smallest,
    "max": _largest,
    "avg": _mean,
    "count": lambda values: float(len(values)),
    "group": lambda _: 1.0,
}


def _plain(how: Callable[[Values], float]) -> OverRange:
    return lambda _times, values, _start, _end: how(values)


def _changes(values: Values) -> float:
    return float(
        sum(before != after and not (math.isnan(before) and math.isnan(after)) for before, after in pairwise(values))
    )


def _resets(values: Values) -> float:
    return float(sum(after < before for before, after in pairwise(values)))


def _extrapolated(times: Sequence[int], values: Values, start: int, end: int, *, counter: bool) -> float | None:
    """How much the samples grew, as if they had been taken at the ends of the range too.

    If an end of the range is not more than a tenth further away than samples are from each other, they are taken to
    have gone on up to it; else for half of that distance. A counter is not taken back below 0, and its resets count for
    nothing.
    """
    if len(times) < 2:
        return None
    grown = values[-1] - values[0]
    if counter:
        grown += sum(before for before, after in pairwise(values) if after < before)
    to_start, to_end = (times[0] - start) / 1000, (end - times[-1]) / 1000
    sampled = (times[-1] - times[0]) / 1000
    apart = sampled / (len(times) - 1)
    to_start, to_end = (distance if distance < apart * 1.1 else apart / 2 for distance in (to_start, to_end))
    if counter and grown > 0 and values[0] >= 0:
        to_start = min(to_start, sampled * (values[0] / grown))
    return grown * ((sampled + to_start + to_end) / sampled)


def _increase(times: Sequence[int], values: Values, start: int, end: int) -> float | None:
    return _extrapolated(times, values, start, end, counter=True)


def _delta(times: Sequence[int], values: Values, start: int, end: int) -> float | None:
    return _extrapolated(times, values, start, end, counter=False)


def _rate(times: Sequence[int], values: Values, start: int, end: int) -> float | None:
    grown = _increase(times, values, start, end)
    return None if grown is None else grown / ((end - start) / 1000)


OVER_RANGE: Final[Mapping[str, OverRange]] = {
    "rate": _rate,
    "increase": _increase,
    "delta": _delta,
    "changes": _plain(_changes),
    "resets": _plain(_resets),
    "max_over_time": _plain(_largest),
    "min_over_time": _plain(_smallest),
    "avg_over_time": _plain(_mean),
    "sum_over_time": _plain(_sum),
    "count_over_time": _plain(lambda values: float(len(values))),
    "last_over_time": _plain(lambda values: values[-1]),
}
