"""The documented transitions are those of the code."""

from __future__ import annotations

from pathlib import Path

from highwater_runtime.raft.diagram import transition_table
from highwater_runtime.raft.states import MAY_GO_TO

PAGE = Path(__file__).parents[2] / "docs" / "quorum.md"


def test_the_page_shows_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert transition_table() in page, "run python -m highwater_runtime.raft.diagram and put its output into the page"


def test_every_transition_is_a_cell() -> None:
    shown = {}
    names, _, *rows = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in transition_table().splitlines()]
    for old, *cells in rows:
        shown |= {(old, new): cell for new, cell in zip(names[1:], cells, strict=True) if cell}
    assert shown == {
        (old.NAME, new.NAME): rule.value  # type: ignore[attr-defined]
        for old, row in MAY_GO_TO.items()
        for new, rule in row.items()
    }
