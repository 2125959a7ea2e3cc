"""Both ends of a fetch session know what is asked for in it (``fetch-session``)."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Final

import pytest

from highwater_lab.mutants import Mutant, applied

_TOPIC: Final = "{{name: orders, partitions: {0}, assignment: [{1}]}}"
_MOVES: Final = """
  - wait: 2s
  - admin: {reassign: {partition: orders-1, replicas: [1, 0]}}
  - admin: {electLeaders: {partitions: [orders-1]}}
  - wait: 3s
  - admin: {reassign: {partition: orders-1, replicas: [0, 1]}}
  - admin: {electLeaders: {partitions: [orders-1]}}
  - wait: 2s
"""
"""Broker 1 stops to fetch one partition of several from broker 0, and begins again."""
_BROKEN: Final = {
    "kept": ("session.partitions.pop((name, topic_id, index), None)", "None"),
    "answered": ("session.news.pop(forgotten, None)\n                    self._forget(forgotten)", "pass"),
    "not taken in": ("self.add(session, asked)", "pass"),
}


# A session of more than a hundred partitions is not compared at each request.
@pytest.mark.parametrize(
    ("partitions", "broken"),
    [*((3, one) for one in (None, *_BROKEN)), (110, None), (110, "kept"), (110, "not taken in")],
)
def test_a_broker_whose_session_is_not_what_is_asked_for_is_found(
    simulate: Any, partitions: int, broken: str | None
) -> None:
    where = "broker.fetch_sessions:FetchSessions._continue"
    mutant = None if broken is None else Mutant(broken, where, *_BROKEN[broken], "a rule of fetch sessions")
    with nullcontext() if mutant is None else applied(mutant):
        topic = _TOPIC.format(partitions, ", ".join(["[0, 1]"] * partitions))
        run = simulate(_MOVES, topic=topic, controllers=1, workload="{producers: 1, rate: 30/s}")
    assert run.result.acknowledged > 100
    assert ("fetch-session" in run.violations) == (broken is not None), run.violations
    assert broken is not None or run.violations == set()
