"""Write every dashboard."""

from __future__ import annotations

from . import BOARDS, FOLDER, build

for board in BOARDS:
    (FOLDER / f"{board.uid}.json").write_text(build(board), encoding="utf-8")
