"""What was measured: a figure for each size and cluster, ratios, and how each figure grows with the size."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Value:
    """One figure; ``at_least``: the wait for it was given up at this value."""

    figure: float
    at_least: bool = False

    def text(self) -> str:
        """At most three digits behind the point."""
        digits = 0 if self.figure >= 100 else 2 if self.figure >= 0.1 or not self.figure else 3
        return f"{'> ' if self.at_least else ''}{self.figure:,.{digits}f}"


@dataclass(slots=True)
class Row:
    """One thing that was measured, at every size. ``of``: what it is a detail of."""

    what: str
    of: str
    unit: str
    goal: str
    sizes: dict[int, dict[str, Value]] = field(default_factory=dict)

    def exponent(self, cluster: str) -> float | None:
        """The exponent ``e`` of ``figure = c * size ** e`` that fits best; None where there is nothing to fit."""
        points = [
            (math.log(size), math.log(values[cluster].figure))
            for size, values in self.sizes.items()
            if cluster in values and values[cluster].figure > 0 and not values[cluster].at_least
        ]
        if len(points) < 2:
            return None
        mean_x, mean_y = (sum(axis) / len(points) for axis in zip(*points, strict=True))
        spread = sum((x - mean_x) ** 2 for x, _ in points)
        return float(sum((x - mean_x) * (y - mean_y) for x, y in points) / spread)


class Table:
    """Rows in the order in which they were first measured; ``of_what``: what the sizes count."""

    def __init__(self, of_what: str) -> None:
        self.of_what = of_what
        self._rows: dict[tuple[str, str], Row] = {}

    def add(
        self,
        cluster: str,
        size: int,
        what: str,
        figure: float | None,
        unit: str,
        goal: str = "",
        *,
        of: str = "",
        at_least: bool = False,
    ) -> None:
        """One figure; None is left out."""
        if figure is not None:
            row = self._rows.setdefault((what, of), Row(what, of, unit, goal))
            row.sizes.setdefault(size, {})[cluster] = Value(figure, at_least)

    def reserve(self, what: str, unit: str, goal: str = "") -> None:
        """Put a row here, above its details, though its figure is known after theirs."""
        self._rows.setdefault((what, ""), Row(what, "", unit, goal))

    def lines(self, clusters: Sequence[str]) -> list[str]:
        """The table as text: for each row a line for each size, then its growth."""
        two = len(clusters) > 1
        heads = "".join(f"{name:>14}" for name in clusters)
        found = [f"{'':<46}{self.of_what:>13}{heads}{'ratio' if two else '':>10}  {'unit':<11}goal".rstrip()]
        for row in self._rows.values():
            what, goal = f"  {row.what}" if row.of else row.what, row.goal
            for size, values in sorted(row.sizes.items()):
                cells = "".join(f"{values[name].text() if name in values else '-':>14}" for name in clusters)
                ratio = f"{_ratio([values.get(name) for name in clusters]) if two else '':>10}"
                found.append(f"{what:<46}{size:>13,}{cells}{ratio}  {row.unit:<11}{goal}".rstrip())
                what = goal = ""
            exponents = [row.exponent(name) for name in clusters]
            if any(one is not None for one in exponents):
                cells = "".join(f"{'-' if one is None else f'{one:.2f}':>14}" for one in exponents)
                found.append(f"{'':<46}{'growth':>13}{cells}{'':>10}  exponent")
        return found

    def to_json(self) -> list[dict[str, Any]]:
        """All figures."""
        return [
            {
                "what": row.what,
                "of": row.of,
                "unit": row.unit,
                "goal": row.goal,
                "figures": {
                    str(size): {
                        name: {"figure": value.figure, "atLeast": value.at_least} for name, value in values.items()
                    }
                    for size, values in sorted(row.sizes.items())
                },
            }
            for row in self._rows.values()
        ]


def save(path: Path, machine: str, tables: Sequence[Table]) -> None:
    """Write every figure as JSON."""
    found = {"machine": machine, "tables": [{"of": one.of_what, "rows": one.to_json()} for one in tables]}
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _ratio(values: Sequence[Value | None]) -> str:
    ours, theirs = values[0], values[1]
    if ours is None or theirs is None or not theirs.figure or (ours.at_least and theirs.at_least):
        return ""
    sign = "> " if ours.at_least else "< " if theirs.at_least else ""
    return f"{sign}{ours.figure / theirs.figure:.2f}x"
