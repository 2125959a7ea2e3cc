"""Any folders of tests can be run in one call: what one of them puts on ``sys.path`` hides nothing of another's."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]
PROGRAMS = {"sim/seeded_chaos.py"}
"""Started as programs, with their own folder first on the path."""
PACKAGES = ("kubernetes/api_server", "pipeline/stories")
"""Their modules are imported by the name of the package."""


def names(path: Path) -> set[str]:
    """Top-level names of the modules that a file with the word ``conftest`` imports, relative imports left out."""
    found = set()
    text = path.read_text()
    for node in ast.walk(ast.parse(text)) if "conftest" in text else ():  # to parse all of them takes seconds
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(str(node.module).partition(".")[0])
    return found


def files() -> dict[str, Path]:
    return {str(path.relative_to(TESTS)): path for path in TESTS.rglob("*.py")}


def test_no_test_imports_a_conftest_by_its_bare_name() -> None:
    """Nearly every folder has one: whichever comes first on the path would be taken."""
    assert {name for name, path in files().items() if "conftest" in names(path)} <= PROGRAMS


def test_helpers_have_names_of_their_own() -> None:
    helpers = Counter(
        path.stem
        for name, path in files().items()
        if not path.stem.startswith(("test_", "conftest", "__")) and not name.startswith(PACKAGES)
    )
    assert [name for name, count in helpers.items() if count > 1] == []


def test_the_order_of_tests_names_tests_that_are_there() -> None:
    """A file that has moved would be taken last, or by one worker, and nobody would see why all takes longer."""
    names = re.findall(r'^    "([a-z_]+/[\w/.]*)(?:::\w+)?",$', (TESTS / "shared" / "work_units.py").read_text(), re.M)
    assert len(names) > 40
    assert [name for name in names if not (TESTS / name).exists()] == []
