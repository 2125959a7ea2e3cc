"""What tests of several areas share, and in what order several workers take tests.

A file's tests go to one worker, and those that use a session of Spark too, so that what is slow to make is made once.
Long tests that share nothing go to whichever worker is free. Tests of real processes mostly wait; they are spread among
those that compute, so that more workers than the machine has cores fill the waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

SHORT_NS = 2_000_000_000
WAITING = ("apache_kafka", "drivers", "host", "interop", "kubernetes", "local", "machine", "security")
"""Folders whose tests mostly wait: for processes, servers, deadlines."""
SPARK = ("assertions/test_runs.py", "cli/test_check.py", "linearizability/test_spark.py", "pipeline/test_spark.py")
APART = ("chaos/", "kubernetes/experiments/", "kubernetes/log_cluster/", "local/", "machine/")
"""Folders of long tests that share nothing, but for these files of theirs."""
TOGETHER = ("kubernetes/experiments/test_judging.py", "local/test_broken_faults.py")


def unit_of(nodeid: str) -> str:
    """What goes to one worker."""
    file = nodeid.partition("::")[0].removeprefix("tests/")
    if file in SPARK:
        return "spark"
    return nodeid if file.startswith(APART) and file not in TOGETHER else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class Units(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

    config.option.loadscopereorder = False
    return Units(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not hasattr(config, "workerinput"):
        return
    units: dict[str, list[pytest.Item]] = {}
    for item in items:
        units.setdefault(unit_of(item.nodeid), []).append(item)
    items[:] = [item for unit in _spread(units) for item in unit]


def _spread(units: dict[str, list[pytest.Item]]) -> Iterator[list[pytest.Item]]:
    """Spark first, for it takes long; then those that wait, evenly among the others."""
    yield units.pop("spark", [])
    waiting = [unit for name, unit in units.items() if name.removeprefix("tests/").startswith(WAITING)]
    computing = [unit for name, unit in units.items() if not name.removeprefix("tests/").startswith(WAITING)]
    done = 0
    for number, unit in enumerate(waiting, 1):
        yield unit
        until = len(computing) * number // len(waiting)
        yield from computing[done:until]
        done = until
    yield from computing[done:]


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One session for the whole test run."""
    from highwater_pipeline.spark.session import open_session

    with open_session(master="local[2]") as session:
        yield session


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not come about is not waited for as long as on a busy machine."""
    from highwater_chaos.faults import FaultContext, nodes, restart, session_expiry, stop
    from highwater_chaos.faults.base import Fault

    monkeypatch.setattr(FaultContext.confirm, "__defaults__", (SHORT_NS,))
    monkeypatch.setattr(nodes.seen_down, "__defaults__", (SHORT_NS,))
    for module in (nodes, stop, restart):
        monkeypatch.setattr(module, "SHUTDOWN_NS", 3 * SHORT_NS)
    monkeypatch.setattr(restart, "BACK_NS", SHORT_NS)
    monkeypatch.setattr(session_expiry, "_SLACK_NS", SHORT_NS)
    for kind in (Fault, session_expiry.SessionExpiry):
        monkeypatch.setattr(kind, "healed_within_ns", SHORT_NS)
