"""Every exception of our packages crosses processes with its type, its message and what it carries."""

from __future__ import annotations

import gc
import importlib
import pickle
import pkgutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import highwater_chaos
import highwater_operator
import highwater_pipeline
import highwater_runtime
from highwater_chaos.experiment.errors import Problem
from highwater_chaos.schedule.capability import BackendCannotError
from highwater_runtime.sim import SimulationError
from highwater_runtime.wire.errors import ErrorCode

PACKAGES = (highwater_runtime, highwater_chaos, highwater_pipeline, highwater_operator)
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "AgentError": ("no answer", 503),
    "BadEdnError": (3, "the text ends within '['"),
    "BackendCannotError": ("local", ["powerLoss needs root"]),
    "CannotWriteError": (Path("runs"), OSError(28, "No space left on device")),
    "DecodeError": ("Fetch", 7, "too short"),
    "ExperimentError": ("a.yaml", [Problem("spec.seed", "expected a number", 3)]),
    "InvalidRecordError": ("offset deltas", ((3, "no key"),)),
    "KubeError": ("get pods", 403, "no"),
    "NotLeaderError": (1001, 4),
    "RefusalError": (409, "busy"),
    "RefusedError": (ErrorCode.INVALID_REQUEST, "no topic"),
    "_BoundError": ("is nested too deeply", 3),
    "SimulationError": ("broker-0", 1, 5, "fire", KeyError("x")),
}
"""For classes with an ``__init__`` of their own: what they, and those derived from them, are made from."""


def exceptions() -> Iterator[type[BaseException]]:
    for package in PACKAGES:
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    waiting, seen = [BaseException], set[type[BaseException]]()
    while waiting:
        for one in waiting.pop().__subclasses__():
            if one not in seen:
                seen.add(one)
                waiting.append(one)
    ours = (one for one in seen if one.__module__.split(".")[0] in {package.__name__ for package in PACKAGES})
    yield from sorted(ours, key=lambda one: (one.__module__, one.__qualname__))


def made(kind: type[BaseException]) -> BaseException:
    for base in kind.__mro__:
        if base.__module__.startswith("highwater_") and "__init__" in vars(base):
            return kind(*ARGUMENTS[base.__name__])
    return kind("what happened")


def test_every_exception_survives_pickle() -> None:
    checked = 0
    for kind in exceptions():
        error = made(kind)
        try:
            copy = pickle.loads(pickle.dumps(error))
        except Exception as failure:
            raise AssertionError(f"{kind.__module__}.{kind.__qualname__} does not travel: {failure!r}") from failure
        assert type(copy) is kind
        assert (str(copy), copy.args) == (str(error), error.args)
        assert repr(vars(copy)) == repr(vars(error))
        checked += 1
    assert checked > 50, "they were found"


def test_every_exception_is_named_an_error() -> None:
    """Ruff sees only those that are derived from a name with that ending."""
    assert [kind.__qualname__ for kind in exceptions() if not kind.__name__.endswith("Error")] == []


def refuse(how: str) -> None:
    if how == "backend":
        raise BackendCannotError("local", ["powerLoss needs root"])
    raise SimulationError("broker-0", 1, 5, "fire", UnpicklableError())


class UnpicklableError(Exception):
    def __init__(self) -> None:
        super().__init__("holds a live core")
        self.core = lambda: None


@pytest.mark.parametrize(
    ("how", "kind", "message"),
    [
        ("backend", BackendCannotError, "powerLoss needs root"),
        ("simulation", SimulationError, "broker-0 .* raised UnpicklableError .*holds a live core"),
    ],
)
def test_an_exception_of_a_worker_reaches_whoever_asked(how: str, kind: type[Exception], message: str) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("fork"), initializer=gc.freeze) as pool:
        with pytest.raises(kind, match=message):
            pool.submit(refuse, how).result(timeout=60)
        assert pool.submit(len, "abc").result(timeout=60) == 3, "the pool still works"
