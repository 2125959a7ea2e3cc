"""Every relative link leads somewhere, and ARCHITECTURE.md has a place for every package."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

PARTS = ("runtime/highwater_runtime", "pipeline/highwater_pipeline", "chaos/highwater_chaos")


def test_links_resolve(document: Any) -> None:
    broken = []
    for link in document.links:
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (document.path.parent / name).resolve() if name else document.path
        if not target.exists() or (anchor and anchor not in type(document)(target).anchors):
            broken.append(link)
    assert broken == []


def test_no_heading_stands_twice(document: Any) -> None:
    """Of one level within one section: a merge that keeps both sides leaves a page with two tails."""
    seen: set[tuple[str, ...]] = set()
    twice: list[tuple[str, ...]] = []
    above: list[str] = []
    for marks, heading in re.findall(r"^(#+) (.*)$", document.prose, flags=re.M):
        above = [*above[: len(marks) - 1], heading]
        if (place := tuple(above)) in seen:
            twice.append(place)
        seen.add(place)
    assert twice == []


def tracked(root: Path) -> list[Path]:
    """Files of the commit at hand (all there are, where this is no git checkout), relative to the root."""
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return [Path(line) for line in listed.stdout.splitlines()]
    return [path.relative_to(root) for path in root.rglob("*") if path.is_file() and ".venv" not in path.parts]


def test_the_architecture_names_every_package(root: Path) -> None:
    text = (root / "ARCHITECTURE.md").read_text(encoding="utf-8")
    missing: list[str] = []
    for part in PARTS:
        section = text[text.index(f"`{part}`") :].split("\n### ")[0]
        packages = [path.parent.name for path in tracked(root) if path.match(f"{part}/*/__init__.py")]
        assert packages, part
        missing += [f"{part}/{name}" for name in packages if f"`{name}`" not in section and f"`{name}/" not in section]
    assert missing == []


def test_the_architecture_names_every_folder(root: Path) -> None:
    text = (root / "ARCHITECTURE.md").read_text(encoding="utf-8")
    folders = {path.parts[0] for path in tracked(root) if len(path.parts) > 1 and not path.parts[0].startswith(".")}
    assert {"runtime", "chaos", "pipeline", "tests"} <= folders
    assert [name for name in sorted(folders) if f"`{name}/" not in text] == []
