"""One node and one agent for all tests of a worker, as root; pods are each test's own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for ``import agent_world``

if TYPE_CHECKING:
    from agent_world import Agent, World

CRDS = sorted((Path(__file__).parents[3] / "manifests" / "base" / "crds").glob("*.yaml"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    reason = "needs root and a machine that can do everything" if os.geteuid() != 0 else None
    for item in items:
        if reason is not None and item.path.is_relative_to(here) and "world" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="package")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    from agent_world import World
    from api_server import ApiServer

    with ApiServer() as api:
        api.apply_file(*CRDS)
        made = World(tmp_path_factory.mktemp("node"), api)
        try:
            yield made
        finally:
            made.close()


@pytest.fixture(scope="package")
def shared_agent(world: World) -> Iterator[list[Agent]]:
    """The agent that lives now; a test that ends it puts another in its place."""
    from agent_world import Agent

    living = [Agent(world)]
    yield living
    if living[0].process.poll() is None:
        assert living[0].stop() == 0, living[0].log.read_text()


@pytest.fixture
def agent(shared_agent: list[Agent], world: World) -> Agent:
    from agent_world import Agent

    if shared_agent[0].process.poll() is not None:
        shared_agent[0] = Agent(world)
    return shared_agent[0]


@pytest.fixture
def restart(shared_agent: list[Agent], world: World) -> Callable[[], Agent]:
    """Starts an agent in place of the one that a test has ended."""
    from agent_world import Agent

    def start() -> Agent:
        assert shared_agent[0].process.poll() is not None
        shared_agent[0] = Agent(world)
        return shared_agent[0]

    return start


@pytest.fixture(autouse=True)
def pods_end_with_their_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """What the agent looks after does not grow from test to test. Fixtures for more than one test remove theirs."""
    world: World | None = request.getfixturevalue("world") if "world" in request.fixturenames else None
    before = 0 if world is None else len(world.pods)
    yield
    for pod in world.pods[before:] if world is not None else ():
        world.remove(pod)
