"""Which nodes nothing was done to, and when, by the records of faults."""

from __future__ import annotations

from typing import Any

import pytest

from highwater_chaos.experiment import Cluster
from highwater_chaos.faults import FaultRecord
from highwater_chaos.faults.base import Evidence, FaultTarget
from highwater_chaos.liveness.health import CLIENTS, Condition, Health, Interval, windows

CLUSTER = Cluster(brokers=3, controllers=3)
END = 100
NODES = (*(f"broker-{i}" for i in range(3)), *(f"controller-{i}" for i in range(3)))


def _record(kind: str, targets: tuple[str, ...] = (), links: str = "", **parameters: Any) -> FaultRecord:
    """In force from 10 to 50: injected at 12, undone at 40. ``links``: ``broker-0>broker-1 …``."""
    pairs = [tuple(link.split(">")) for link in links.split()]
    touches = [FaultTarget("link", "->".join(pair), pair) for pair in pairs] or [
        FaultTarget("node", n, (n,)) for n in targets
    ]
    if kind in ("drop", "delay"):
        touches = [FaultTarget("rule", "rule 1", targets or NODES)]
    return FaultRecord(
        id="fault-1",
        name=None,
        kind=kind,
        parameters={"rpc": "Fetch", **{name.rstrip("_"): value for name, value in parameters.items()}},
        targets=targets,
        started_ns=10,
        injected_ns=12,
        heal_started_ns=40,
        healed_ns=50,
        intent=touches,
        inject_evidence=[Evidence(12, "seen", True, {}, touch.name) for touch in touches],
        heal_evidence=[Evidence(50, "seen", True, {}, touch.name) for touch in touches],
        delay_ns=7 if kind == "delay" else 0,
    )


def _alone(node: str, *, inwards: bool = True, outwards: bool = True) -> str:
    others = [other for other in NODES if other != node]
    return " ".join([f"{node}>{one}" for one in others] * outwards + [f"{one}>{node}" for one in others] * inwards)


def _of_a_rule(kind: str) -> FaultRecord:
    fault = _record(kind, ("broker-0",))
    fault.intent = [FaultTarget("rule", "broker-0", ("broker-0",))]
    return fault


def _without(fault: FaultRecord, *fields: str) -> FaultRecord:
    for name in fields:
        setattr(fault, name, [] if isinstance(getattr(fault, name), list) else None)
    return fault


W, S, I, T = Condition.WELL, Condition.SILENT, Condition.ISOLATED, Condition.TROUBLED  # noqa: E741 - one column each


@pytest.mark.parametrize(
    ("fault", "node", "at_11_20_45_55"),
    [
        (_record("kill", ("broker-0",)), "broker-0", [T, W, T, W]),  # events say that it does not run
        (_record("kill", ("broker-0",)), "broker-1", [W, W, W, W]),
        (_record("pause", ("broker-0",)), "broker-0", [T, S, T, W]),
        (_record("diskStall", ("broker-0",)), "broker-0", [T, T, T, W]),
        (_record("clockSkew", ("controller-1",)), "controller-1", [T, T, T, W]),
        (_record("sessionExpiry", ("broker-0",)), "broker-0", [T, T, T, W]),
        (_record("restart", ("broker-0", "broker-1")), "broker-1", [T, T, T, W]),
        (_record("partition", links=_alone("broker-0")), "broker-0", [T, I, T, W]),
        (_record("partition", links=_alone("broker-0")), "broker-1", [W, W, W, W]),
        (_record("partition", links="broker-0>broker-1"), "broker-1", [T, T, T, W]),
        (_record("partition", links="broker-0>broker-1"), "broker-2", [W, W, W, W]),
        (_record("drop"), "controller-2", [T, T, T, W]),
        (_record("drop", ("broker-0",), from_={"broker": 0}), "broker-0", [T, T, T, W]),
        (_record("drop", ("broker-0",), from_={"broker": 0}), "broker-1", [W, W, W, W]),
        (_record("drop", ("broker-0",), to={"broker": 0}), "broker-1", [T, T, T, W]),
        (_record("drop", rpc="Produce"), "broker-0", [W, W, W, W]),
        (_record("drop", rpc="Produce"), CLIENTS, [T, T, T, W]),
        (_record("drop", rpc="SomethingNew"), "broker-0", [T, T, T, W]),
        (_record("delay"), "broker-0", [T, T, T, T]),  # the last message is under way
        (_record("somethingElse", ("broker-0",)), "broker-0", [T, T, T, W]),
        (_record("somethingElse", ("broker-0",)), "broker-1", [W, W, W, W]),
        *((_record(kind, ("broker-0",)), "broker-0", [T, W, T, W]) for kind in ("stop", "powerLoss", "diskWipe")),
        (_record("partition", links=_alone("broker-0", inwards=False)), "broker-0", [T, T, T, W]),
        (_record("partition", links=_alone("broker-0", outwards=False)), "broker-0", [T, T, T, W]),
        # Rules of which nothing is known act on all, those that end a session on that one.
        (_of_a_rule("somethingElse"), "broker-1", [T, T, T, W]),
        (_of_a_rule("sessionExpiry"), "broker-0", [T, T, T, W]),
        (_of_a_rule("sessionExpiry"), "broker-1", [W, W, W, W]),
        # What was never injected, or of which no probe saw that, may have acted at any time.
        (_without(_record("pause", ("broker-0",)), "injected_ns", "inject_evidence"), "broker-0", [T, T, T, W]),
        (_without(_record("pause", ("broker-0",)), "inject_evidence"), "broker-0", [T, T, T, W]),
        (_without(_record("pause", ("broker-0",)), "heal_started_ns", "healed_ns"), "broker-0", [T, S, S, S]),
        (_without(_record("diskStall", ("broker-0",)), "intent"), "broker-0", [T, T, T, T]),
        (_without(_record("drop"), "intent"), "broker-0", [W, W, W, W]),  # it found nothing to act on
    ],
)
def test_what_a_fault_does_to_a_node(fault: FaultRecord, node: str, at_11_20_45_55: list[Condition]) -> None:
    sight = Health(CLUSTER, [fault], {}, END).among((*NODES, CLIENTS))
    assert [sight.condition(node, at_ns) for at_ns in (11, 20, 45, 55)] == at_11_20_45_55


BROKERS, VOTERS = NODES[:3], NODES[3:]
ALL = (*NODES, CLIENTS)
FROM_0, TO_0 = {"from_": {"broker": 0}}, {"to": {"broker": 0}}


@pytest.mark.parametrize("kind", ["hold", "drop", "delay", "duplicate"])
@pytest.mark.parametrize(
    ("rpc", "targets", "ends", "troubled"),
    [
        ("Produce", (), {}, (CLIENTS,)),
        *((rpc, (), {}, (CLIENTS,)) for rpc in ("AllocateProducerIds", "CreatePartitions", "CreateTopics")),
        ("Vote", (), {}, VOTERS),
        ("FetchSnapshot", (), {}, NODES),
        *(
            case
            for rpc in ("BrokerHeartbeat", "BrokerRegistration", "AlterPartition")
            for case in (
                (rpc, ("broker-0", "controller-1"), FROM_0, ("broker-0",)),
                (rpc, ("controller-1",), {"to": {"controller": 1}}, BROKERS),
            )
        ),
        ("Fetch", ("broker-0",), FROM_0, ("broker-0",)),
        ("Fetch", ("broker-0",), TO_0, ALL),
        ("Fetch", ("broker-0", "broker-1"), {**FROM_0, "to": {"broker": 1}}, ALL),
        ("Fetch", ("controller-1",), {"from_": {"controller": 1}}, ALL),
        ("ListOffsets", ("broker-0",), FROM_0, ALL),
    ],
)
def test_who_depends_on_messages(
    kind: str, rpc: str, targets: tuple[str, ...], ends: dict[str, Any], troubled: tuple[str, ...]
) -> None:
    fault = _record(kind, targets, rpc=rpc, **ends)
    fault.intent = [FaultTarget("rule", "rule 1", targets or NODES)]
    sight = Health(CLUSTER, [fault], {}, END).among(ALL)
    assert {node for node in ALL if sight.condition(node, 20) is T} == {*troubled}


@pytest.mark.parametrize("kind", ["kill", "stop", "restart", "powerLoss", "pause", "diskStall", "partition"])
def test_peers_hear_at_once_only_of_processes_that_end(kind: str) -> None:
    links = _alone("broker-0") if kind == "partition" else ""
    sight = Health(CLUSTER, [_record(kind, ("broker-0",), links)], {}, END).among(NODES)
    assert {one.quiet for one in sight.disturbances} == {kind not in ("kill", "stop", "restart")}


def test_what_a_fault_touches_is_troubled_whoever_it_was_aimed_at() -> None:
    fault = _record("somethingElse", ("broker-0",))
    fault.intent = [FaultTarget("node", "broker-1", ("broker-1",))]
    sight = Health(CLUSTER, [fault], {}, END).among(NODES)
    assert [sight.condition(f"broker-{n}", 20) for n in range(3)] == [T, T, W]


def test_commands_of_the_user_may_trouble_anybody() -> None:
    fault = _record("external", ("broker-0",))
    fault.intent = [FaultTarget("commands", "commands of fault-1", ("broker-0",))]
    sight = Health(CLUSTER, [fault], {}, END).among(ALL)
    assert {sight.condition(node, 20) for node in ALL} == {T}


def test_two_nodes_without_a_link_are_both_isolated() -> None:
    links = "broker-0>controller-0 controller-0>broker-0"
    sight = Health(Cluster(brokers=1, controllers=1), [_record("partition", links=links)], {}, END).among(
        ("broker-0", "controller-0")
    )
    assert {sight.condition(node, 20) for node in ("broker-0", "controller-0")} == {I}


def test_the_worst_of_several_troubles_counts() -> None:
    faults = [_record("pause", ("broker-0",)), _record("diskStall", ("broker-0",))]
    for order in (faults, faults[::-1]):
        assert Health(CLUSTER, order, {}, END).among(NODES).condition("broker-0", 20) is T


def test_when_a_node_was_ill_within_a_time() -> None:
    down = {"broker-0": [Interval(20, 30), Interval(60, 60)], "broker-1": [Interval(25, 27)]}
    sight = Health(CLUSTER, [], down, END).among(NODES)
    times = [(0, END), (0, 25), (22, 28), (25, END), (30, 60), (20, 30)]
    assert [sight.ill("broker-0", *time) for time in times] == [
        [(20, 30), (60, 61)],  # a process that is replaced at once has been away
        [(20, 25)],
        [(22, 28)],
        [(25, 30), (60, 61)],
        [],
        [(20, 30)],
    ]


def test_a_node_that_does_not_run_is_silent() -> None:
    sight = Health(CLUSTER, [], {"broker-0": [Interval(20, 30)]}, END).among(NODES)
    assert [sight.condition("broker-0", at_ns) for at_ns in (19, 20, 29, 30)] == [W, S, S, W]
    assert sight.ill("broker-0", 0, END) == [Interval(20, 30)]


def test_a_link_troubles_only_who_needs_it() -> None:
    health = Health(CLUSTER, [_record("partition", links="broker-0>broker-1")], {}, END)
    assert health.among(("broker-0", "broker-1")).condition("broker-0", 20) is T
    sight = health.among(("broker-0", "controller-0"))
    assert (sight.condition("broker-0", 20), sight.disturbances) == (W, [])


def test_a_fault_of_which_no_probe_saw_the_end_goes_on() -> None:
    fault = _record("pause", ("broker-0",))
    fault.heal_evidence.clear()
    assert Health(CLUSTER, [fault], {}, END).among(NODES).condition("broker-0", END - 1) is T


@pytest.mark.parametrize(
    ("disturbed", "impossible", "expected"),
    [
        ([], (), [(5, 100)]),
        ([(10, 30)], (), [(5, 10), (40, 100)]),
        ([(10, 30), (20, 5)], (), [(5, 10), (40, 100)]),  # the longer effect counts
        ([(10, 30), (60, 0)], (), [(5, 10), (40, 60), (60, 100)]),
        ([(2, 30)], (), [(32, 100)]),
        ([(10, 95)], (), [(5, 10)]),
        ([(10, 0), (10, 30)], (), [(5, 10), (40, 100)]),
        ([(10, 0), (20, 0)], (10,), [(5, 10), (27, 100)]),  # once it is possible again, it takes 7
        ([(10, 0)], (5, 10), []),
        ([(10, 50), (20, 0)], (10,), [(5, 10), (60, 100)]),
        ([(2, 30), (3, 5), (5, 40)], (), [(45, 100)]),
        ([(10, 10), (20, 0)], (), [(5, 10), (20, 100)]),
        ([(100, 0)], (), [(5, 100)]),
    ],
)
def test_windows(
    disturbed: list[tuple[int, int]], impossible: tuple[int, ...], expected: list[tuple[int, int]]
) -> None:
    assert windows(disturbed, lambda at_ns: at_ns not in impossible, Interval(5, END), 7) == expected
