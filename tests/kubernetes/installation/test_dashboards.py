"""The dashboards that ship are those that the generator makes."""

from __future__ import annotations

import importlib.util
import json
import sys
from types import ModuleType

import pytest

from .conftest import CHART, MONITORING, ROOT


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    folder = ROOT / "scripts" / "dashboards"
    spec = importlib.util.spec_from_file_location(
        "highwater_dashboards", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_they_are_current(generator):
    made = {f"{board.uid}.json": generator.build(board) for board in generator.BOARDS}
    for folder in (CHART / "dashboards", MONITORING):
        written = {path.name: path.read_text() for path in folder.glob("*.json")}
        assert written == made, "write them anew: .venv/bin/python -m scripts.dashboards"


def test_the_docs_list_every_query(generator):
    rows = []
    for board in sorted((json.loads(generator.build(board)) for board in generator.BOARDS), key=lambda one: one["uid"]):
        title = board["title"].removeprefix("Highwater / ")
        queries = [(panel["title"], target["expr"]) for panel in board["panels"] for target in panel.get("targets", [])]
        queries += [(f"annotation {one['name']}", one["expr"]) for one in board.get("annotations", {}).get("list", [])]
        rows += [f"| {title}: {where} | `{query}` |" for where, query in queries]
    documented = (ROOT / "docs" / "dashboards.md").read_text().splitlines()
    assert [line for line in documented if line.startswith("| ") and "`" in line] == rows


def test_a_config_map_takes_them(generator):
    # 1 MiB at most; and `kubectl apply` keeps a copy in an annotation, of at most 256 KiB.
    assert sum(len(generator.build(board)) for board in generator.BOARDS) < 200_000
