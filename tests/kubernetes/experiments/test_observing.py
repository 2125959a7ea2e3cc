"""Events of pods on several machines: one clock, numbered lives, nothing handed out before its cause."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock

from highwater_chaos.backends.kubernetes.agents import GONE, REPLACED, AgentError, MachineClock
from highwater_chaos.backends.kubernetes.backend import KubernetesBackend
from highwater_chaos.backends.kubernetes.clocks import MachineClocks
from highwater_chaos.backends.kubernetes.faults import PodPlace
from highwater_chaos.backends.kubernetes.intake import Intake
from highwater_chaos.backends.kubernetes.observing import EventPolls, PodEvents
from highwater_chaos.backends.local.program import Observed
from highwater_chaos.backends.protocol import Borrows, HasClocks, ObservesWithDelay
from highwater_pipeline.tables.settings import ASSUMED_CLOCK_ERROR_NS
from highwater_runtime.ports import SECOND
from highwater_runtime.ports.trace import NodeStarted

FAR = 1 << 62
RUNNING: dict[str, Any] = {"broker": 0, "broker_epoch": 1, "reason": '"running"'}
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


def kind_of(one: Observed) -> str:
    return str(one.event.__struct_config__.tag)


class Machine:
    """The agent of one machine, whose clock is ahead of ours by ``ahead``."""

    def __init__(self, ahead: int = 0, error: int = 0, boot: str = "a", wall_ahead: int = WALL) -> None:
        self.told = MachineClock(boot, ahead, error, wall_ahead)
        self.answer: bytes | AgentError = line(1, WALL)

    def clock(self) -> MachineClock:
        return self.told

    def events(self, namespace: str, pod: str, uid: str, offset: int) -> bytes:
        if isinstance(self.answer, AgentError):
            raise self.answer
        return self.answer


def pod_on(name: str, machine: Machine) -> PodEvents:
    return PodEvents(name, PodPlace("default", name, "uid", machine))  # type: ignore[arg-type]


def polls(
    *names: str, on: Mapping[str, Machine] | None = None
) -> tuple[EventPolls, dict[str, PodEvents], list[tuple[str, int]]]:
    crashed: list[tuple[str, int]] = []
    pods = {name: pod_on(name, (on or {}).get(name, Machine())) for name in names}
    clocks = MachineClocks(0)
    for pod in pods.values():
        clocks.look(pod.place.agent)
    return EventPolls([*pods.values()], clocks, lambda *who: crashed.append(who)), pods, crashed


def test_machines_with_clocks_of_their_own_are_put_on_one() -> None:
    """Whatever their wall clocks say."""
    on = {"broker-0": Machine(ahead=-10, error=3), "broker-1": Machine(ahead=899_990, error=2)}
    made, pods, _ = polls("broker-0", "broker-1", on=on)
    young, old = line(5, WALL + 10), line(900_000, WALL - 1_000_000)
    taken = made.take([(pods["broker-0"], young), (pods["broker-1"], old)], FAR)
    assert [(one.node, one.time_ns) for one in taken] == [("broker-1", 10), ("broker-0", 15)]
    assert pods["broker-0"].clock_error_ns >= 3
    assert pods["broker-1"].clock_error_ns >= 2


def test_a_process_that_was_preempted_between_its_clocks_is_not_off() -> None:
    """The wall clock of the first event was read 13 ms after the other."""
    made, pods, _ = polls("broker-0")
    late = line(5, WALL + 13_000_000) + line(6, WALL, "node-stopped", reason='"stop"')
    assert [one.time_ns for one in made.take([(pods["broker-0"], late)], FAR)] == [5, 6]


def test_a_machine_that_booted_counts_from_0_again() -> None:
    machine = Machine(ahead=1_000 * SECOND, boot="before", wall_ahead=WALL)
    now = [0]
    clocks = MachineClocks(0, lambda: now[0])
    pod = pod_on("broker-0", machine)
    made = EventPolls([pod], clocks, lambda *who: None)
    clocks.look(pod.place.agent)
    (first,) = made.take([(pod, line(1_001 * SECOND, WALL))], FAR)
    pod.ending = "power-loss"
    now[0] = 10 * SECOND
    machine.told = MachineClock("after", -8 * SECOND, 5, WALL + 1_008 * SECOND)
    clocks.look(pod.place.agent)
    _, again = made.take([(pod, line(SECOND, WALL + 1_008 * SECOND + 7))], FAR)
    assert (first.time_ns, again.time_ns, again.incarnation) == (SECOND, 9 * SECOND, 2)


def test_where_no_agent_tells_the_wall_clock_must_do() -> None:
    machine = Machine()
    machine.clock = Mock(side_effect=AgentError("404: Not Found", 404))  # type: ignore[method-assign]
    made, pods, _ = polls("broker-0", on={"broker-0": machine})
    ahead = time.time_ns() - time.monotonic_ns()
    (one,) = made.take([(pods["broker-0"], line(7, ahead))], FAR)
    assert abs(one.time_ns - 7) < SECOND
    assert pods["broker-0"].clock_error_ns == ASSUMED_CLOCK_ERROR_NS


def test_an_error_grows_until_the_clock_is_read_again() -> None:
    machine, now = Machine(ahead=100, error=5), [0]
    clocks = MachineClocks(0, lambda: now[0])
    agent: Any = machine
    clocks.look(agent)
    boot = clocks.of(agent, Observed(100, WALL, "x", 1, NodeStarted()))
    assert boot.time_of(100) == (0, 5)
    assert boot.time_of(100 + 10 * SECOND) == (10 * SECOND, 5 + 10 * SECOND * 500 // 1_000_000)
    machine.told, now[0] = MachineClock("a", 104, 9, WALL), 10 * SECOND
    clocks.look(agent)
    assert boot.time_of(104 + 10 * SECOND) == (10 * SECOND, 9)
    assert boot.time_of(100) == (0, 5), "the reading that was nearer"


def test_processes_of_one_kernel_have_one_clock() -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    agent: Any = Machine(ahead=-300_000, error=700_000, boot=boot)
    clocks = MachineClocks(0)
    clocks.look(agent)
    assert clocks.of(agent, Observed(5, WALL, "x", 1, NodeStarted())).time_of(5)[0] == 5
    other: Any = Machine(ahead=5_000_000, error=700_000, boot=boot)  # in a time namespace
    clocks.look(other)
    assert clocks.of(other, Observed(6_000_000, WALL, "x", 1, NodeStarted())).time_of(6_000_000)[0] == 1_000_000


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


def test_what_is_read_late_of_an_incarnation_was_before_its_end() -> None:
    """An agent that is slow answers with a node's last events when the end is recorded already."""
    made, pods, _ = polls("broker-0")
    pod = pods["broker-0"]
    first = line(10, WALL)
    late = b"".join(line(at, WALL, "transition", reason='"produce-lost-leadership"') for at in (15, 25))
    taken = made.take([(pod, first)], FAR)
    pod.ending = "kill"
    taken += made.stopped(pod, "kill", WALL + 20)
    taken += made.take([(pod, late)], FAR)
    taken += made.take([(pod, line(18, WALL))], FAR)
    assert made.notes() == []
    taken.sort(key=lambda one: one.time_ns)
    kinds = [(one.incarnation, one.event.__class__.__name__) for one in taken]
    assert kinds == [(1, "NodeStarted"), *[(1, "TransitionTaken")] * 2, (1, "NodeStopped"), (2, "NodeStarted")]


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
    assert [one.time_ns for one in taken if one.event.__class__.__name__ == "NodeStarted"] == [10, 20]
    assert made.notes() == []


def test_nothing_is_handed_out_past_what_was_read_of_all() -> None:
    made, pods, _ = polls("broker-0", "broker-1")
    made.take([(pods["broker-0"], line(1, WALL)), (pods["broker-1"], line(1, WALL))], FAR)
    away = AgentError("no answer", 0)
    later = line(9, WALL)
    assert made.take([(pods["broker-0"], later), (pods["broker-1"], away)], FAR) == []
    held = made.take([(pods["broker-0"], b""), (pods["broker-1"], b"")], 8)
    assert all(one.time_ns <= 8 for one in held)
    rest = made.take([(pods["broker-0"], b""), (pods["broker-1"], b"")], FAR)
    assert [one.time_ns for one in rest] == [9]


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


def test_how_far_events_may_be_off_is_told_of_each_node() -> None:
    """Those of the ensemble have the leader's wall clock, of which no agent is asked."""
    agents = {"broker-0": Machine(ahead=5, error=70 * SECOND), "zookeeper-0": Machine()}
    with ThreadPoolExecutor(2) as threads:
        intake = Intake(threads, borrowed=False)
        intake.follow([pod_on(name, agent) for name, agent in agents.items()], lambda *who: None)
        for agent in agents.values():
            agent.answer = line(time.monotonic_ns(), WALL)
            intake._clocks.look(agent)  # type: ignore[arg-type]
        intake.take()
        errors = intake.clock_errors_ns()
    assert errors["broker-0"] >= 70 * SECOND
    assert errors["zookeeper-0"] == ASSUMED_CLOCK_ERROR_NS


def test_all_is_known_up_to_the_last_time_that_all_answered_and_had_no_more() -> None:
    agents = {"broker-0": Machine(), "broker-1": Machine()}
    pods = [pod_on(name, agent) for name, agent in agents.items()]
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


def test_the_next_pod_of_a_node_is_its_next_incarnation() -> None:
    """Its file begins with byte 0, and may not be there yet; what the one before wrote last comes first."""
    made, pods, crashed = polls("broker-0", "broker-1")
    pod, other = pods["broker-0"], pods["broker-1"]
    made.take([(pod, line(1, WALL)), (other, line(1, WALL))], FAR)
    before = pod.offset
    ends = made.pod_is_gone(pod, line(7, WALL, "broker-state", **RUNNING) + line(9, WALL, "broker-state", **RUNNING))
    assert [(one.incarnation, kind_of(one)) for one in ends] == [
        (1, "broker-state"),
        (1, "broker-state"),
        (1, "node-stopped"),
    ]
    assert ends[-1].event.reason == "pod-gone"  # type: ignore[attr-defined]
    assert ends[-1].time_ns == 10, "the next pod may have begun before anybody saw that this one is gone"
    assert pod.offset > before
    made.next_pod(pod, PodPlace("default", "broker-0", "another", Machine()))  # type: ignore[arg-type]
    assert (pod.offset, pod.place.uid) == (0, "another")
    assert made.fetch(pod.place, 0) == line(1, WALL), "its machine's clock is known by then"
    nothing = AgentError("404: no events", 404)
    (one,) = made.take([(pod, nothing), (other, line(20, WALL, "broker-state", **RUNNING))], FAR)
    assert (one.node, made.is_complete) == ("broker-1", True)
    (started,) = made.take([(pod, line(15, WALL)), (other, b"")], FAR)
    assert (started.time_ns, started.incarnation, kind_of(started)) == (15, 2, "node-started")
    assert (crashed, made.notes()) == ([], [])


def test_what_a_pod_did_last_is_missed_where_its_agent_does_not_have_it() -> None:
    made, pods, _ = polls("broker-0")
    made.take([(pods["broker-0"], line(1, WALL))], FAR)
    (end,) = made.pod_is_gone(pods["broker-0"], AgentError("409: replaced since", REPLACED))
    assert kind_of(end) == "node-stopped"
    assert made.notes() == ["what broker-0 did last is not known, since its pod was replaced: 409: replaced since"]


def test_events_that_are_not_kept_any_more_are_said_once() -> None:
    made, pods, _ = polls("broker-0")
    gone = AgentError("410: of the events of pod default/demo-broker-0 the last 1024 MiB are kept", GONE)
    for _ in range(2):
        assert made.take([(pods["broker-0"], gone)], FAR) == []
    (note,) = made.notes()
    assert note.startswith("events of broker-0 were not read in time, and are gone: 410")
    assert made.gone is gone, "a run on a LogCluster that has run for long is refused"


def test_the_engine_asks_this_backend_what_is_known() -> None:
    assert issubclass(KubernetesBackend, ObservesWithDelay)
    assert issubclass(KubernetesBackend, HasClocks)
    assert issubclass(KubernetesBackend, Borrows)
