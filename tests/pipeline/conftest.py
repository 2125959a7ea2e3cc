"""The tiny histories of ``stories`` as test cases, and one Spark session for all tests that need one."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def _load(name: str, file: Path, folder: Path | None = None) -> ModuleType:
    inside = None if folder is None else [str(folder)]
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=inside)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


HERE = Path(__file__).parent
stories = _load("pipeline_stories", HERE / "stories" / "__init__.py", HERE / "stories")
_load("pipeline_specification", HERE / "specification" / "__init__.py", HERE / "specification")
definitions = _load("pipeline_naive", HERE / "naive.py")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes ``case`` runs once for every story.

    One that takes ``sample`` runs in ``make test`` once for as many stories as show each verdict and each anomaly: that
    rows arrive whatever they say, say. ``make thorough`` runs it for every story.
    """
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", stories.CASES, ids=[case.name for case in stories.CASES])
    if "sample" in metafunc.fixturenames:
        metafunc.parametrize("sample", list(_samples()))


def _samples() -> Iterator[Any]:
    seen: set[str] = set()
    for case in stories.CASES:
        shows = {case.verdict, *case.anomalies}
        marks = pytest.mark.thorough if shows <= seen else ()
        seen |= shows
        yield pytest.param(case, id=case.name, marks=marks)


@pytest.fixture
def story() -> Any:
    """An empty history to write on."""
    return stories.Story()


@pytest.fixture(scope="session")
def new_story() -> Any:
    """Makes empty histories, for tests that need many."""
    return stories.Story


@pytest.fixture(scope="session")
def naive() -> Any:
    """The definitions of the anomalies in plain Python."""
    return definitions


@pytest.fixture(scope="session")
def all_stories() -> list[Any]:
    """Every story, for tests that judge many runs at once."""
    return list(stories.CASES)
