"""A rolling restart of controllers whose new addresses resolvers learn only later, with real nodes."""

from __future__ import annotations

import functools
import json
import re
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from log_cluster.moving_nodes import MovingNodes
from log_cluster.real_nodes import PACE

from highwater_operator.admin import wire_admin
from highwater_operator.objects.naming import ADMIN_PORT
from highwater_runtime.ports import Endpoint

LONG = 240.0
TTL_S = 25.0
ELECTION_TIMEOUT_S = 6.0
CONFIG = {
    "controller.quorum.election.timeout.ms": int(ELECTION_TIMEOUT_S * 1000),
    "controller.quorum.fetch.timeout.ms": 3000,
    "replica.fetch.wait.max.ms": 200,
}
ACTIVE = re.compile(rb"^kafka_controller_kafkacontroller_activecontrollercount(?:\{[^}]*\})? 1(?:\.0)?$", re.MULTILINE)


@pytest.fixture
def nodes(kube_api: Any, tmp_path: Path) -> Iterator[MovingNodes]:
    made = MovingNodes(kube_api, tmp_path, TTL_S)
    yield made
    made.close()


class LeaderWatch:
    """Looks for an active controller again and again; ``longest``: between two looks that found one, in seconds."""

    def __init__(self, nodes: MovingNodes) -> None:
        self._pages = [
            nodes.at(Endpoint(f"demo-controller-{n}.demo-controllers.default.svc", ADMIN_PORT)) for n in range(3)
        ]
        self._ended = threading.Event()
        self._seen: float | None = None
        self.looks = 0
        self.longest = 0.0
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> LeaderWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.5):
            now = time.monotonic()
            if any(self._leads(page) for page in self._pages):
                self.looks += 1
                self.longest = max(self.longest, now - (self._seen or now))
                self._seen = now

    @staticmethod
    def _leads(page: Endpoint) -> bool:
        try:
            with urllib.request.urlopen(f"http://{page}/metrics", timeout=2) as answer:
                return ACTIVE.search(answer.read()) is not None
        except OSError:
            return False


@pytest.mark.thorough
def test_a_roll_of_controllers_with_stale_names_never_leaves_the_quorum_without_leader(
    real: Any, nodes: MovingNodes, tmp_path: Path, record_property: Any
) -> None:
    real.start(functools.partial(wire_admin, at=nodes.at), pace=PACE)
    real.create(brokers=1, config=CONFIG)
    real.until_settled(patience=LONG)
    nodes.order.clear()
    with LeaderWatch(nodes) as watch:
        real.patch("demo", config={**CONFIG, "log.retention.ms": 1_000_000})
        real.until_settled(patience=LONG)
    assert sorted(nodes.order) == [
        *(f"demo-{one}" for one in ("broker-0", "controller-0", "controller-1", "controller-2"))
    ]
    record_property("longest_without_leader_s", round(watch.longest, 2))
    record_property("looks", watch.looks)
    assert watch.looks
    first, *_, last = (one for one in nodes.order if one.startswith("demo-controller-"))
    assert _found_again(tmp_path / f"{last}.log", first) < TTL_S / 2, "found by its name, not by its own requests"
    assert watch.longest < ELECTION_TIMEOUT_S, "nobody could be elected until resolvers forgot the old addresses"


def _found_again(log: Path, pod: str) -> float:
    """How long a controller could not reach a pod that moved, by its own log: one that has not moved itself since then,
    as that forgets what it was told."""
    for line in map(json.loads, log.read_text().splitlines()):
        if line["event"] == "peer reached again" and line["server"][0].startswith(pod + "."):
            return float(line["seconds"])
    raise AssertionError(f"{log.name} does not say that {pod} was reached again")
