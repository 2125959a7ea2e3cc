"""What pods answer for their metrics may be anything: it costs the samples of that pod, and never the run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from highwater_chaos.backends.kubernetes.agents import AgentError
from highwater_chaos.backends.kubernetes.faults import PodPlace
from highwater_chaos.backends.kubernetes.metrics import MetricPolls

GOOD = b"# TYPE up gauge\nup 1\n"


class Agent:
    def __init__(self, answer: bytes | None) -> None:
        self._answer = answer

    def metrics(self, namespace: str, pod: str) -> str:
        if self._answer is None:
            raise AgentError("no answer", 0)
        return self._answer.decode()


@pytest.mark.parametrize(
    "answer",
    [None, b'up{a="b', b"up", b"up 1 2 x", b"up " + b"9" * 400, b"up{ ={}} 1", b'up{ ="x"} 1', b"\xff\xfe", b"# TYPE up"],
)
def test_samples_of_others_are_kept(answer: bytes | None) -> None:
    with ThreadPoolExecutor(2) as threads:
        polls = MetricPolls(threads)
        for node, one in (("broker-0", answer), ("broker-1", GOOD)):
            agent: Any = Agent(one)
            polls.ask(node, 1, PodPlace("default", f"demo-{node}", "uid", agent))
        threads.shutdown(wait=True)
    rows = polls.answered(7)
    assert [(row.node, row.name, row.value) for row in rows] == [("broker-1", "up", 1.0)]
