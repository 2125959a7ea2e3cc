"""Events of other kinds are passed over unseen, so no kind may be missing that a check or the view asks for."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from highwater_chaos.backends import view
from highwater_runtime.sim.invariants.claims import OF_CLAIMS, ClaimInvariants
from highwater_runtime.sim.invariants.partitions import OF_PARTITIONS, PartitionInvariants
from highwater_runtime.sim.invariants.quorum import OF_QUORUM, QuorumInvariants
from highwater_runtime.sim.invariants.replicas import OF_REPLICAS, ReplicaInvariants
from highwater_runtime.sim.invariants.reported import OF_REPORTS, ReportInvariants
from highwater_runtime.sim.invariants.states import OF_STATES, StateInvariants


def kinds_asked_for(function: Callable[..., Any]) -> set[str]:
    """The classes in the patterns of the function's ``match`` statements."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return {ast.unparse(node.cls) for node in ast.walk(tree) if isinstance(node, ast.MatchClass)}


@pytest.mark.parametrize(
    ("function", "seen"),
    [
        (PartitionInvariants.on_event, OF_PARTITIONS),
        (ReplicaInvariants.on_event, OF_REPLICAS),
        (ReportInvariants.on_event, OF_REPORTS),
        (StateInvariants.on_event, OF_STATES),
        (ClaimInvariants.on_event, OF_CLAIMS),
        (QuorumInvariants.on_event, OF_QUORUM),
        (view.ClusterView.observe, view._NEWS),
    ],
    ids=["partitions", "replicas", "reports", "states", "claims", "quorum", "view"],
)
def test_every_kind_that_is_asked_for_is_seen(function: Callable[..., Any], seen: frozenset[type]) -> None:
    asked_for = kinds_asked_for(function)
    assert len(asked_for) > 4
    assert asked_for <= {kind.__name__ for kind in seen}


def test_what_tells_of_controllers_is_news() -> None:
    assert view._NEWS.issuperset(view._ABOUT_CONTROLLERS)
