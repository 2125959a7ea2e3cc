"""What pods answer for their metrics may be anything: it costs the samples of that pod, and never the run."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from typing import Any

import pytest

from highwater_chaos.assertions.unknown import NOT_KNOWN
from highwater_chaos.backends.kubernetes.agents import AgentError
from highwater_chaos.backends.kubernetes.faults import PodPlace
from highwater_chaos.backends.kubernetes.metrics import MetricPolls
from highwater_runtime.ports import SECOND

GOOD = b"# TYPE up gauge\nup 1\n"


class Agent:
    def __init__(self) -> None:
        self.answer: bytes | AgentError = GOOD

    def metrics(self, namespace: str, pod: str) -> str:
        if isinstance(self.answer, AgentError):
            raise self.answer
        return self.answer.decode()


class Now(Executor):
    """Carries out at once."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done


@pytest.fixture
def agents() -> dict[str, Any]:
    return {"broker-0": Agent(), "broker-1": Agent()}


def nodes(agents: dict[str, Any]) -> dict[str, tuple[int, PodPlace]]:
    return {node: (1, PodPlace("default", f"demo-{node}", "uid", agent)) for node, agent in agents.items()}


@pytest.mark.parametrize(
    "answer",
    [
        AgentError("no answer", 0),
        AgentError("the pod does not answer", 502),
        b'up{a="b',
        b"up",
        b"up " + b"9" * 400,
        b"up{ ={}} 1",
        b'up{ ="x"} 1',
        b"\xff\xfe",
        b"# TYPE up",
    ],
)
def test_samples_of_others_are_kept(agents: dict[str, Any], answer: bytes | AgentError) -> None:
    agents["broker-0"].answer = answer
    polls = MetricPolls(Now())
    polls.ask(nodes(agents), 0)
    assert [(row.node, row.name, row.value) for row in polls.answered(7)] == [("broker-1", "up", 1.0)]


def not_known(polls: MetricPolls, agents: dict[str, Any], seconds: range) -> list[int]:
    """The seconds at which a node is not known, where all are asked every second."""
    found = []
    for second in seconds:
        found += [second for row in polls.answered(second * SECOND) if row.name == NOT_KNOWN]
        polls.ask(nodes(agents), second * SECOND)
    return found


@pytest.mark.parametrize("status", [0, 503])
def test_a_node_whose_agent_does_not_answer_is_not_known(agents: dict[str, Any], status: int) -> None:
    """Its last samples, of second 3, are believed for five seconds."""
    polls = MetricPolls(Now())
    assert not_known(polls, agents, range(3)) == []
    agents["broker-0"].answer = AgentError("no answer", status)
    assert not_known(polls, agents, range(3, 12)) == [8, 9, 10, 11]
    agents["broker-0"].answer = GOOD
    assert not_known(polls, agents, range(12, 15)) == [12]


def test_one_that_does_not_answer_its_agent_is_known_to_be_silent(agents: dict[str, Any]) -> None:
    polls = MetricPolls(Now())
    agents["broker-0"].answer = AgentError("the pod does not answer", 502)
    assert not_known(polls, agents, range(20)) == []


def test_one_that_is_down_is_known_to_be(agents: dict[str, Any]) -> None:
    polls = MetricPolls(Now())
    agents["broker-0"].answer = AgentError("no answer", 0)
    assert not_known(polls, agents, range(4)) == []
    del agents["broker-0"]
    assert not_known(polls, agents, range(4, 20)) == []
