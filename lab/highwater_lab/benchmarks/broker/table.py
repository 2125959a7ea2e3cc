"""The table that the benchmark fills: a row for each figure, a column for each cluster, the goal beside them."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class Row:
    """One line: every round's figures of each cluster, by its name."""

    what: str
    of: str
    """What it is a detail of; empty for a row that says it all itself."""
    unit: str
    goal: str
    figures: dict[str, list[float]] = field(default_factory=dict)

    def line(self, clusters: Sequence[str]) -> str:
        """The row as text, with the ratio of the first to the second cluster where there are two."""
        medians = [statistics.median(self.figures[name]) for name in clusters]
        cells = "".join(f"{median:>14,.{0 if median >= 100 else 2}f}" for median in medians)
        ratio = f"{medians[0] / medians[1]:>9.2f}x" if len(medians) > 1 and medians[1] else " " * 10
        return f"{self.what:<44}{cells}{ratio}  {self.unit:<12}{self.goal}".rstrip()


class Table:
    """Rows in the order in which they were first measured."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], Row] = {}

    def add(self, cluster: str, what: str, figure: float, unit: str, goal: str = "", *, of: str = "") -> None:
        """One figure of one round."""
        row = self._rows.setdefault((what, of), Row(what, of, unit, goal))
        row.figures.setdefault(cluster, []).append(figure)

    def show(self, clusters: Sequence[str]) -> None:
        """Print everything."""
        heads = "".join(f"{name:>14}" for name in clusters)
        print(f"{'':<44}{heads}{'ratio' if len(clusters) > 1 else '':>10}  {'unit':<12}goal")
        for row in self._rows.values():
            print(row.line(clusters))

    def save(self, path: Path, machine: str) -> None:
        """Write every round's figures as JSON."""
        rows = [
            {"what": row.what.strip(), "of": row.of, "unit": row.unit, "goal": row.goal, "figures": row.figures}
            for row in self._rows.values()
        ]
        path.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1, ensure_ascii=False) + "\n", "utf-8")
