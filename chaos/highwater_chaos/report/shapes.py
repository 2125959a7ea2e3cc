"""Shapes on a time axis, as SVG. Positions are percentages of the run, so that a page zooms by its width alone.

Spans are nested ``svg`` elements, which clip the text in them. Curves have the values themselves as coordinates: what
reads the page back reads exact values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import Final, TypeVar

UNITS: Final = 100_000
"""Horizontal units of a curve, from the begin of the run to its end."""
NOMINAL: Final = 1000
"""Pixels that a whole run has at least on a desk: what text fits into a span is judged by it."""
_LETTER: Final = 6.3
"""Pixels of a letter, about."""

Held = TypeVar("Held")
Step = tuple[int, float | None]
"""A time (ns) and the value from then on; None: there is none."""


class TimeScale:
    """Run time (ns) to percentages and to units of curves."""

    def __init__(self, end_ns: int) -> None:
        self.end_ns = end_ns

    def percent(self, time_ns: int) -> str:
        """Return the share of the run, as SVG writes it."""
        return _short(100 * time_ns / self.end_ns, 5)

    def units(self, time_ns: int) -> int:
        """Return the x of a curve."""
        return round(UNITS * time_ns / self.end_ns)


def _short(number: float, digits: int) -> str:
    text = f"{number:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def span(x: TimeScale, start: int, end: int, css: str, text: str) -> str:
    """Return a stretch of time with its text in it, if there is room."""
    shown = text if (end - start) / x.end_ns * NOMINAL > room_of(text) else ""
    return _stretch(x, start, end, css, text, shown, "")


def running_on(x: TimeScale, start: int, end: int, css: str, text: str, shown: str, y: int) -> str:
    """Return a stretch of time whose text, ``shown``, may run on to its right. ``y``: its top, in a track of rows."""
    return _stretch(x, start, end, css, text, shown, f' y="{y}"')


def room_of(text: str) -> float:
    """Return how many pixels a text needs, of the :data:`NOMINAL` that the run has."""
    return _LETTER * len(text) + 6


def _stretch(x: TimeScale, start: int, end: int, css: str, text: str, shown: str, at: str) -> str:
    share = (end - start) / x.end_ns
    inner = f'<text x="4" y="11">{escape(shown)}</text>' if shown else ""
    return (
        f'<svg class="s {css}" x="{x.percent(start)}%"{at} width="{max(0.06, 100 * share):.5g}%">'
        f"<title>{escape(text)}</title><rect/>{inner}</svg>"
    )


def mark(x: TimeScale, time: int, css: str, text: str) -> str:
    """Return a mark at an instant."""
    diamond = '<path d="M0 1L5 7L0 13L-5 7Z"/>'
    return f'<svg class="m {css}" x="{x.percent(time)}%"><title>{escape(text)}</title>{diamond}</svg>'


def notch(x: TimeScale, time: int, css: str, text: str, y: int) -> str:
    """Return a small mark at the bottom of a row, which begins at ``y``."""
    triangle = '<path d="M-4 15L0 9L4 15Z"/>'
    return f'<svg class="m {css}" x="{x.percent(time)}%" y="{y}"><title>{escape(text)}</title>{triangle}</svg>'


def tick(x: TimeScale, time: int, text: str) -> str:
    """Return a tick of the axis."""
    css = "" if time else ' class="first"'
    return f'<text{css} x="{x.percent(time)}%" y="12">{escape(text)}</text>'


def band(x: TimeScale, start: int, end: int) -> str:
    """Return a stretch of time through all tracks."""
    return f'<rect x="{x.percent(start)}%" width="{max(0.08, 100 * (end - start) / x.end_ns):.5g}%" height="100%"/>'


def line(x: TimeScale, start: int, end: int, css: str) -> str:
    """Return a thin line below a span."""
    width = f"{max(0.06, 100 * (end - start) / x.end_ns):.5g}"
    return f'<rect class="under {css}" x="{x.percent(start)}%" y="15" width="{width}%" height="3"/>'


def curves(paths: Iterable[str], top: float) -> str:
    """Return curves with one scale, from 0 to ``top``."""
    high = _short(max(top, 1e-6) * 1.04, 6)
    return f'<svg class="c" viewBox="0 -{high} {UNITS} {high}" preserveAspectRatio="none">{"".join(paths)}</svg>'


def level(y: float, css: str) -> str:
    """Return a horizontal line at a value, among :func:`curves`."""
    return f'<path class="{css}" d="M0 {_short(-y, 6)}H{UNITS}"/>'


def curve(steps: Sequence[Step], x: TimeScale, css: str, name: str, *, most: int, area: bool = False) -> str:
    """Return a line that holds each value until the next. ``most``: its points at most, more or less: of those that lie
    close to each other the first is kept, and every fall."""
    kept = _thinned(steps, x, most)
    if not kept:
        return ""
    path, pen = "", False
    at, height = 0, 0.0
    for (time, exact), after in zip(kept, [*kept[1:], (x.end_ns, None)], strict=True):
        here, following = x.units(time), x.units(after[0])
        if exact is None:
            pen = False
        else:
            value = round(exact, 3)
            if not pen:
                path += f"M{here} {_number(-value)}"
                pen, at, height = True, here, value
            elif value != height:
                path += f"v{_number(round(height - value, 3))}"
                height = value
        if pen and following > at:
            path += f"h{following - at}"
            at = following
    if area:
        path = f"M0 0{path.replace('M', 'L', 1)}V0Z"
    return f'<path class="{css}" data-name="{escape(name)}" d="{path}"/>'


def _number(value: float) -> str:
    return _short(value, 3) if value != int(value) else str(int(value))


def _thinned(steps: Sequence[Step], x: TimeScale, most: int) -> list[Step]:
    if len(steps) <= most:
        return list(steps)
    apart = UNITS / most
    kept: list[Step] = [steps[0]]
    for before, step in pairwise(steps):
        falls = step[1] is None or before[1] is None or step[1] < before[1]
        if falls or x.units(step[0]) - x.units(kept[-1][0]) >= apart:
            kept.append(step)
    if kept[-1] != steps[-1]:
        kept.append(steps[-1])
    return kept


def held(steps: Sequence[tuple[int, Held]], end: int) -> list[tuple[int, int, Held]]:
    """Steps as spans with their ends; equal neighbours become one."""
    merged = [step for index, step in enumerate(steps) if index == 0 or step[1] != steps[index - 1][1]]
    starts = [*(time for time, _ in merged), end]
    return [(time, starts[index + 1], value) for index, (time, value) in enumerate(merged)]


def duration_ticks(end_ns: int) -> list[int]:
    """Return the times of an axis' ticks, at most a dozen."""
    steps = (0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600)
    rough = end_ns / 1e9 / 10
    step_ns = round(next((step for step in steps if step >= rough), rough) * 1e9)
    return [step_ns * index for index in range(end_ns // step_ns + 1)]
