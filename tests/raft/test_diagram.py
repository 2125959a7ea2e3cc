"""The documented diagram is the one that the transition table draws."""

from __future__ import annotations

from pathlib import Path

from highwater_runtime.raft.diagram import state_diagram
from highwater_runtime.raft.states import MAY_GO_TO

PAGE = Path(__file__).parents[2] / "docs" / "quorum.md"


def test_the_page_shows_the_table() -> None:
    drawn = PAGE.read_text(encoding="utf-8").split("```mermaid\n")[1].split("\n```")[0]
    assert drawn == state_diagram(), "run python -m highwater_runtime.raft.diagram and put its output into the page"


def test_every_transition_is_an_arrow() -> None:
    arrows = [line for line in state_diagram().splitlines() if ": " in line]
    assert len(arrows) == len(set(arrows)) == sum(len(row) for row in MAY_GO_TO.values())
