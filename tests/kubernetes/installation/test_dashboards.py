"""The dashboards that ship are those that the generator makes."""

from __future__ import annotations

import importlib.util
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


def test_a_config_map_takes_them(generator):
    # 1 MiB at most; and `kubectl apply` keeps a copy in an annotation, of at most 256 KiB.
    assert sum(len(generator.build(board)) for board in generator.BOARDS) < 200_000
