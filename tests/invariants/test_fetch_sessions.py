"""Both ends of a fetch session know what is asked for in it (``fetch-session``)."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest

from highwater_lab.mutants import Mutant, applied
from highwater_runtime.broker import Broker
from highwater_runtime.sim.connection import SimRequest
from highwater_runtime.sim.invariants.asked import AskedPartitions
from highwater_runtime.sim.invariants.violation import Violations
from highwater_runtime.sim.simulator import Simulator
from highwater_runtime.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic

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


def test_a_fetcher_that_is_gone_asked_for_nothing_in_the_session_of_the_next() -> None:
    """Its full request arrives late, over the same connection, between two requests of the next fetcher's session."""
    violations, connection, answer = Violations(), object(), SimpleNamespace(error_code=0, session_id=7, responses=[])
    asked = AskedPartitions(cast(Simulator, SimpleNamespace(now_ns=0)), violations)
    session = SimpleNamespace(by_id=False, partitions={})
    broker = SimpleNamespace(fetch_sessions=SimpleNamespace(find=lambda number: session if number == 7 else None))

    def ask(number: int, epoch: int, *partitions: int, response: object = answer) -> object:
        one = [FetchPartition(partition=index, fetch_offset=0) for index in partitions]
        topics = [FetchTopic(topic="orders", partitions=one)] if one else []
        body = FetchRequest(session_id=number, session_epoch=epoch, topics=topics)
        call = SimpleNamespace(body=body, connection=connection, version=12, response=response, peer="broker-1")
        for part in one:
            key = str(part.partition)
            session.partitions |= {key: SimpleNamespace(topic="orders", fetch=part)} if response is answer else {}
        return asked.of("broker-0", cast(SimRequest, call), cast(Broker, broker))

    ask(0, 0, 0)
    ask(0, 0, 1, response=None)
    assert ask(7, 1, 2) is None
    assert not violations.found
    session.partitions.clear()
    ask(0, 0, 0)
    assert ask(7, 1, 1) == {("orders", 0): 0, ("orders", 1): 0}
    session.partitions.clear()
    ask(7, 2, 2)
    assert violations.found
