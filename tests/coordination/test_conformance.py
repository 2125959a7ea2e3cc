"""The simulated ensemble and a real ZooKeeper server answer the same programs with the same results and watch events.

Three sessions; each step is a few operations submitted at once, or the end of a session. Compared is everything that
every session is told, in its order. Zxids and session ids are compared by their order, since their values differ.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from conformance import COVERING, JARS, Program, RealPlace, Run, SimulatedPlace, programs, real_server
from hypothesis import example, given, settings

COMPARED: Counter[str] = Counter()
ROOTS = itertools.count()


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealPlace]:
    if not all(Path(jar).exists() for jar in JARS.split(":")):
        pytest.skip("no ZooKeeper here: scripts/system-packages installs it")
    with real_server(tmp_path_factory.mktemp("zookeeper")) as port:
        place = RealPlace(port)
        yield place
        place.close()
    print(f"\noperations compared: {COMPARED.total()}")  # noqa: T201


@pytest.fixture(scope="module")
def simulated() -> SimulatedPlace:
    return SimulatedPlace()


@settings(max_examples=40)
@given(program=programs())
@example(program=COVERING)
def test_both_answer_alike(real: RealPlace, simulated: SimulatedPlace, program: Program) -> None:
    root = f"/root-{next(ROOTS)}"
    expected, found = Run(real, root), Run(simulated, root)
    expected.run(program)
    found.run(program)
    assert found.transcript() == expected.transcript()
    COMPARED["operations"] += expected.operations
