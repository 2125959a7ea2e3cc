"""Whatever the schema lets pass, the operator has a word for it: an exception would have it looked at for ever."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from highwater_chaos.experiment import ChaosExperiment
from highwater_operator.experiments.acceptance import Rejection, examine
from highwater_operator.objects.naming import Owner
from highwater_operator.reconcile.problems import Problem, problem_of, read_spec
from highwater_operator.resources import LogClusterSpec

ROOT = Path(__file__).parents[3]
JUNK: list[Any] = [None, True, -1, 5, 1.5, "", "x", [], {}, [[]], [{}], {"a": 1}, ["x"], {"x": [1]}, 10**30, "9" * 600]
EACH = 150


@pytest.fixture(scope="module")
def specs() -> list[Any]:
    return [
        yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)["spec"]
        for path in sorted((ROOT / "scenarios").rglob("*.yaml"))
        if "atWrite" not in path.read_text("utf-8")
    ]


def paths(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    below = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, inner in below:
        yield from paths(inner, (*path, key))


def spoilt(spec: Any, draw: random.Random) -> Any:
    made = copy.deepcopy(spec)
    *outer, last = draw.choice(list(paths(made)))
    at = made
    for part in outer:
        at = at[part]
    at[last] = copy.deepcopy(draw.choice(JUNK))
    return made


@pytest.mark.parametrize("seed", range(3))
def test_of_experiments(specs: list[Any], seed: int) -> None:
    draw = random.Random(seed)
    words = []
    for _ in range(EACH):
        found = {
            "apiVersion": "highwater.dev/v1alpha1",
            "kind": "ChaosExperiment",
            "metadata": {"name": "x", "namespace": "default", "uid": "u"},
            "spec": spoilt(draw.choice(specs), draw),
        }
        judged = examine(found)
        assert isinstance(judged, Rejection | ChaosExperiment)
        if isinstance(judged, Rejection):
            words.append(judged.message)
    assert len(words) > EACH / 2
    # Where something is wrong, or which fault needs what the backend does not have.
    assert [one for one in words if not one.startswith(("spec", "metadata")) and " needs " not in one] == []


def test_of_clusters(specs: list[Any]) -> None:
    draw = random.Random(7)
    for _ in range(EACH):
        cluster = draw.choice(specs)["cluster"]
        found = read_spec(spoilt(cluster, draw))
        assert isinstance(found, Problem | LogClusterSpec)
        if isinstance(found, LogClusterSpec):
            problem_of(Owner("x", "default", "u", found))
