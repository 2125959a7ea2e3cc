"""Events of pods on several machines: one clock, numbered lives, nothing handed out before its cause."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from highwater_chaos.backends.kubernetes.agents import REPLACED, AgentError
from highwater_chaos.backends.kubernetes.backend import KubernetesBackend
from highwater_chaos.backends.kubernetes.faults import PodPlace
from highwater_chaos.backends.kubernetes.intake import Intake
from highwater_chaos.backends.kubernetes.observing import EventPolls, PodEvents
from highwater_chaos.backends.protocol import ObservesWithDelay

FAR = 1 << 62
WALL = 1_700_000_000_000_000_000


def line(at: int, ahead: int, kind: str = "node-started", **fields: Any) -> bytes:
    """As a node writes it: ``at`` on its machine's monotonic clock, whose wall clock is ``ahead`` of that."""
    rest = "".join(f',"{name}":{value}' for name, value in fields.items())
    return b'{"time_ns":%d,"node_time_ns":%d,"node":"x","incarnation":1,"kind":"%b"%b}\n' % (
        at,
        at + ahead,
        kind.encode(),
        rest.encode(),
    )


def polls(*names: str) -> tuple[EventPolls, dict[str, PodEvents], list[tuple[str, int]]]:
    crashed: list[tuple[str, int]] = []
    pods: dict[str, Any] = {name: PodEvents(name, None) for name in names}  # type: ignore[arg-type]
    return EventPolls(list(pods.values()), lambda *who: crashed.append(who)), pods, crashed


def test_machines_with_clocks_of_their_own_are_put_on_one() -> None:
    made, pods, _ = polls("broker-0", "broker-1")
    young, old = line(5, WALL + 10), line(900_000, WALL - 899_990)
    taken = made.take([(pods["broker-0"], young), (pods["broker-1"], old)], FAR)
    assert [(one.node, one.time_ns) for one in taken] == [("broker-1", WALL + 10), ("broker-0", WALL + 15)]


def test_each_start_is_another_life_and_one_that_nobody_asked_for_a_crash() -> None:
    made, pods, crashed = polls("broker-0")
    pod = pods["broker-0"]
    made.take([(pod, line(10, WALL))], FAR)
    pod.ending = "kill"
    (stopped,) = made.stopped(pod, "kill", WALL + 20)
    assert (stopped.incarnation, stopped.event.reason) == (1, "kill")  # type: ignore[attr-defined]
    (again,) = made.take([(pod, line(30, WALL))], FAR)
    assert (again.incarnation, crashed) == (2, [])
    ended, third = made.take([(pod, line(40, WALL))], FAR)
    assert (ended.incarnation, ended.event.reason) == (2, "crash")  # type: ignore[attr-defined]
    assert (third.incarnation, crashed) == (3, [("broker-0", 2)])


def test_a_stop_that_its_successor_told_first_is_told_once() -> None:
    made, pods, crashed = polls("broker-0")
    pod = pods["broker-0"]
    made.take([(pod, line(10, WALL))], FAR)
    pod.ending = "stop"
    ended, again = made.take([(pod, line(50, WALL))], FAR)
    assert (ended.event.reason, again.incarnation) == ("stop", 2)  # type: ignore[attr-defined]
    assert made.stopped(pod, "stop", WALL + 20) == []
    assert crashed == []


def test_a_line_that_a_kill_tore_hides_no_other() -> None:
    made, pods, _ = polls("broker-0")
    torn = line(10, WALL) + line(12, WALL)[:37] + line(20, WALL)
    taken = made.take([(pods["broker-0"], torn)], FAR)
    assert [one.time_ns - WALL for one in taken if one.event.__class__.__name__ == "NodeStarted"] == [10, 20]
    assert made.notes() == []


def test_nothing_is_handed_out_past_what_was_read_of_all() -> None:
    made, pods, _ = polls("broker-0", "broker-1")
    made.take([(pods["broker-0"], line(1, WALL)), (pods["broker-1"], line(1, WALL))], FAR)
    away = AgentError("no answer", 0)
    later = line(9, WALL)
    assert made.take([(pods["broker-0"], later), (pods["broker-1"], away)], FAR) == []
    held = made.take([(pods["broker-0"], b""), (pods["broker-1"], b"")], WALL + 8)
    assert all(one.time_ns <= WALL + 8 for one in held)
    rest = made.take([(pods["broker-0"], b""), (pods["broker-1"], b"")], FAR)
    assert [one.time_ns for one in rest] == [WALL + 9]


def test_a_crash_that_the_node_reported_is_a_finding_alone() -> None:
    made, pods, crashed = polls("broker-0")
    pod = pods["broker-0"]
    report = line(20, WALL, "node-crashed", reason='"KeyError: 1"', stack='"Traceback"')
    made.take([(pod, line(10, WALL) + report)], FAR)
    ended, again = made.take([(pod, line(30, WALL))], FAR)
    assert (ended.event.reason, again.incarnation, crashed) == ("crash", 2, [])  # type: ignore[attr-defined]
    made.take([(pod, line(40, WALL))], FAR)
    assert crashed == [("broker-0", 2)], "the next one said nothing"


def test_the_machine_of_a_stopped_node_loses_power() -> None:
    made, pods, _ = polls("broker-0")
    pod = pods["broker-0"]
    made.take([(pod, line(10, WALL))], FAR)
    reasons = []
    for reason in ("stop", "power-loss"):
        pod.ending = reason
        (ended,) = made.stopped(pod, reason, WALL + 20)
        reasons.append(ended.event.reason)  # type: ignore[attr-defined]
    assert reasons == ["stop", "power-loss"]


class Agent:
    """Of one pod."""

    def __init__(self) -> None:
        self.answer: bytes | AgentError = line(1, WALL)

    def events(self, namespace: str, pod: str, uid: str, offset: int) -> bytes:
        if isinstance(self.answer, AgentError):
            raise self.answer
        return self.answer


def test_all_is_known_up_to_the_last_time_that_all_answered_and_had_no_more() -> None:
    agents = {"broker-0": Agent(), "broker-1": Agent()}
    pods = [PodEvents(name, PodPlace("default", name, "uid", agent)) for name, agent in agents.items()]  # type: ignore[arg-type]
    with ThreadPoolExecutor(2) as threads:
        intake = Intake(threads, borrowed=False)
        intake.follow(pods, lambda *who: None)
        assert intake.observed_until_ns == 0
        intake.take()
        known = intake.observed_until_ns
        assert known > 0
        agents["broker-0"].answer = b""
        for away in (AgentError("no answer", 0), b"\n" * ((1 << 20) + 1)):
            agents["broker-1"].answer = away
            intake.take()
            assert intake.observed_until_ns == known
        agents["broker-1"].answer = b""
        intake.take()
        assert intake.observed_until_ns > known


def test_a_pod_that_was_replaced_is_said_at_once_and_nothing_more_is_handed_out() -> None:
    """Its successor has another file: what comes from there is not what follows."""
    made, pods, _ = polls("broker-0", "broker-1")
    made.take([(pods["broker-0"], line(1, WALL)), (pods["broker-1"], line(1, WALL))], FAR)
    replaced = AgentError("409: pod default/demo-broker-1 has been replaced since", REPLACED)
    for _ in range(2):
        assert made.take([(pods["broker-0"], line(9, WALL)), (pods["broker-1"], replaced)], FAR) == []
    (note,) = made.notes()
    assert "broker-1" in note
    assert "replaced" in note
    assert not made.is_complete


def test_the_engine_asks_this_backend_up_to_when_all_is_known() -> None:
    assert issubclass(KubernetesBackend, ObservesWithDelay)
