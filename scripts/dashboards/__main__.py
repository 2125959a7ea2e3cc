"""Write every dashboard into both folders."""

from __future__ import annotations

from . import BOARDS, FOLDERS, build

for folder in FOLDERS:
    for board in BOARDS:
        (folder / f"{board.uid}.json").write_text(build(board), encoding="utf-8")
