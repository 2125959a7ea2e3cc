"""Two clocks are read as if at once, though the process may stop running between two readings."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from highwater_chaos.backends.ensemble.observer import EnsembleObserver
from highwater_chaos.backends.kubernetes.agents import AgentClient
from highwater_chaos.backends.kubernetes.clocks import MachineClocks
from highwater_chaos.backends.local.apache_kafka import tails
from highwater_chaos.backends.local.apache_kafka.hosted_observer import HostedObserver
from highwater_chaos.backends.local.apache_kafka.node_log import NodeLog
from highwater_chaos.backends.local.event_files import parse_line
from highwater_chaos.backends.local.program import Observed
from highwater_chaos.backends.local.recording import EventLog
from highwater_chaos.backends.local.zookeeper_program import ZooKeeperObserver
from highwater_chaos.experiment import load_experiment
from highwater_chaos.workload.client_group import ClientSettings
from highwater_chaos.workload.clients import Clients
from highwater_chaos.workload.drivers.lines import decode_settings
from highwater_runtime.host.clock_pairs import how_far_ahead
from highwater_runtime.host.files.trace import FileSink, HostTrace
from highwater_runtime.ports import MS
from highwater_runtime.ports.trace import NodeStarted

WALL, MONOTONIC = time.time_ns, time.monotonic_ns
TINY = Path(__file__).parents[1] / "tiny-experiment.yaml"


class Machine:
    """Time that passes only while clocks are read: ``stops`` are ns for which the process does not run, reading after
    reading, then none."""

    def __init__(self, *stops: int, ahead: int = 0) -> None:
        self.now = 0
        self._stops = [*stops]
        self._ahead = ahead
        self._readings: list[int] = []

    def _pass(self) -> None:
        self.now += 50 + (self._stops.pop(0) if self._stops else 0)

    def monotonic_ns(self) -> int:
        self._pass()
        self._readings.append(self.now)
        return self.now

    @property
    def errors_ns(self) -> list[int]:
        """Of the readings so far."""
        pairs = zip(self._readings[::2], self._readings[1::2], strict=True)
        return [(after - before + 1) // 2 for before, after in pairs]

    def wall_ns(self) -> int:
        self._pass()
        return self.now + self._ahead


@example([0, MS, 0, *[20 * MS] * 21], 0)
@given(st.lists(st.integers(0, 20 * MS), max_size=24), st.integers(-(10**18), 10**18))
def test_the_true_difference_is_within_the_error(stops: list[int], ahead: int) -> None:
    machine = Machine(*stops, ahead=ahead)
    found = how_far_ahead(machine.wall_ns, of=machine.monotonic_ns)
    assert abs(found.by_ns - ahead) <= found.error_ns
    assert found.error_ns == min(machine.errors_ns), "the narrowest reading counts"
    if len(stops) < 12:
        assert found.error_ns <= 20_000


def test_a_clock_that_always_takes_long_is_read_some_times_and_no_more() -> None:
    machine = Machine(*[15 * MS] * 100)
    found = how_far_ahead(machine.wall_ns, of=machine.monotonic_ns)
    assert found.error_ns >= 15 * MS
    assert machine.now < 30 * 20 * MS


def planted(first: int, clock: Callable[[], int] = WALL, *, after: bool = False) -> Callable[[], int]:
    """The wall clock, or another; the process does not run for 15 ms before it is read, or after, the first few
    times."""
    left = [first]

    def now_ns() -> int:
        found = clock()
        if left[0]:
            left[0] -= 1
            time.sleep(0.015)
            found = found if after else clock()
        return found

    return now_ns


def test_an_event_has_the_times_of_one_moment(tmp_path: Path) -> None:
    ahead = how_far_ahead(time.time_ns, of=time.monotonic_ns).by_ns
    trace = HostTrace(FileSink(tmp_path / "events.jsonl"), "broker-0", 1, planted(3))
    before = time.monotonic_ns()
    trace.emit(NodeStarted())
    trace.flush()
    one = parse_line((tmp_path / "events.jsonl").read_bytes())
    assert abs(one.node_time_ns - one.time_ns - ahead) < 3 * MS
    assert one.time_ns - before < 10 * MS, "an event happens before its times are looked up again"


# The two times of whatever has a time on both clocks, each as the harness makes them of the planted wall clock.


def of_the_harness() -> tuple[int, int]:
    log = EventLog()
    log.host_event("broker-0", 1, NodeStarted())
    one = parse_line(next(iter(log.lines())))
    return one.time_ns, one.node_time_ns


def start_of_a_zookeeper_server() -> tuple[int, int]:
    observer: Any = SimpleNamespace(_started=[])
    ZooKeeperObserver.starting(observer, "zookeeper-0", 1, MONOTONIC())
    return observer._started[0].time_ns, observer._started[0].node_time_ns


def committed_by_zookeeper() -> tuple[int, int]:
    witness = SimpleNamespace(applied=lambda *_: None)
    observer: Any = SimpleNamespace(
        _transaction_events=witness, _heard=[NodeStarted()], _last_ns=0, _events=deque(), _read=list
    )
    EnsembleObserver._report(observer, "zookeeper-0", 1, [], WALL() - 100 * MS)
    return observer._events[0].time_ns, observer._events[0].wall_ns


def in_kafkas_metadata_log() -> tuple[int, int]:
    site = SimpleNamespace(incarnation=lambda _: 1)
    observer: Any = SimpleNamespace(_names={0: "broker-0"}, _events=deque(), _site=site)
    HostedObserver._report(observer, 0, NodeStarted())
    return observer._events[0].time_ns, observer._events[0].node_time_ns


def start_of_a_kafka_broker() -> tuple[int, int]:
    now = MONOTONIC()
    return now, tails.wall_of(now)


def line_of_a_kafka_broker() -> tuple[int, int]:
    stamp = datetime.fromtimestamp((WALL() // MS - 100) / 1000, UTC).isoformat(timespec="milliseconds")
    who = "BrokerLifecycleManager"
    text = f"INFO {who} - [{who} id=1] Successfully registered broker 1 with broker epoch 3"
    tail: Any = SimpleNamespace(lines=lambda: [f"{stamp.replace('+00:00', 'Z')} {text}"])
    place: Any = SimpleNamespace(node_id=1, role="broker", name="broker-1")
    (one,) = tails.Incarnation(place, 1, 0, tail, NodeLog(1, is_controller=False)).read()
    return one.time_ns, one.node_time_ns


def end_of_a_pod() -> tuple[int, int]:
    agent: Any = object()
    wall = WALL() - 100 * MS
    return MachineClocks(0).time_of_wall(agent, wall), wall


def event_of_a_pod_without_a_clock() -> tuple[int, int]:
    agent: Any = object()
    now, ahead = MONOTONIC(), how_far_ahead(WALL, of=MONOTONIC).by_ns
    clock = MachineClocks(0).of(agent, Observed(now, now + ahead, "broker-0", 1, NodeStarted()))
    return clock.time_of(now).at_ns, now + ahead


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    "times",
    [
        of_the_harness,
        start_of_a_zookeeper_server,
        committed_by_zookeeper,
        in_kafkas_metadata_log,
        start_of_a_kafka_broker,
        line_of_a_kafka_broker,
        end_of_a_pod,
        event_of_a_pod_without_a_clock,
    ],
)
def test_so_has_whatever_is_put_on_both_clocks(
    times: Callable[[], tuple[int, int]], after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead = how_far_ahead(WALL, of=MONOTONIC).by_ns
    monkeypatch.setattr(time, "time_ns", planted(3, after=after))
    time_ns, wall_ns = times()
    assert abs(wall_ns - time_ns - ahead) < 5 * MS


def test_clients_in_processes_of_their_own_count_from_the_begin_of_the_run(tmp_path: Path) -> None:
    began = MONOTONIC()
    host: Any = SimpleNamespace(
        now_ns=planted(3, lambda: MONOTONIC() - began),
        post=lambda _: None,
        add_client=lambda *_: None,
        add_client_process=lambda *_, **__: None,
    )
    own: Any = SimpleNamespace(command=())
    Clients(host, load_experiment(TINY), tmp_path)._start_process(host, own, ClientSettings())
    settings = decode_settings((tmp_path / "clients-0.json").read_bytes())
    assert abs(settings.origin_ns - began) < 5 * MS


def test_the_clock_of_another_machine_is_known_within_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent was preempted between its clocks, the first three times; its answers take 1 ms more than requests."""
    left = [3]

    def ask(*_: Any) -> bytes:
        now = MONOTONIC() + 5_000 * MS
        late = 15 * MS if left[0] else 0
        left[0] = max(0, left[0] - 1)
        time.sleep(0.001)
        return msgspec.json.encode({"bootId": "a", "wallNs": now + 900 * MS - late, "monotonicNs": now})

    monkeypatch.setattr(AgentClient, "_ask", ask)
    found = AgentClient("https://127.0.0.1:1", "token").clock()
    assert 0 < abs(found.ahead_ns - 5_000 * MS) <= found.error_ns
    assert found.wall_ahead_ns == 900 * MS
