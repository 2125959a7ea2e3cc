"""Log lines of real nodes become events; all others are passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from highwater_chaos.backends.local.apache_kafka.node_log import LogTail, NodeLog
from highwater_runtime.ports import MS
from highwater_runtime.ports.trace import BrokerStateChanged, RaftStateChanged


def test_a_brokers_life_as_it_logs_it(recorded: Path) -> None:
    log = NodeLog(1, is_controller=False)
    found = [event for line in LogTail(recorded / "broker-1.txt").lines() if (event := log.event_of(line)) is not None]
    assert [event for _, event in found] == [
        BrokerStateChanged(broker=1, broker_epoch=13, reason="registered"),
        BrokerStateChanged(broker=1, broker_epoch=13, reason="recovery"),
        BrokerStateChanged(broker=1, broker_epoch=13, reason="running"),
        BrokerStateChanged(broker=1, broker_epoch=13, reason="controlled-shutdown"),
    ]
    assert found[0].wall_ns == 1_795_268_213_498 * MS  # 2026-11-21T13:36:53.498Z


def test_the_quorum_as_two_controllers_log_it(recorded: Path) -> None:
    lines = list(LogTail(recorded / "controllers.txt").lines())
    alone, voter = NodeLog(1000, is_controller=True), NodeLog(1001, is_controller=True)

    def states(log: NodeLog, controller: int) -> list[tuple[str, int, int, int]]:
        mine = [log.event_of(line) for line in lines if f"[RaftManager id={controller}]" in line]
        events = [one.event for one in mine if one is not None]
        assert all(isinstance(event, RaftStateChanged) for event in events)
        return [(event.reason, event.epoch, event.leader, event.broker) for event in events]  # type: ignore[attr-defined]

    assert states(alone, 1000) == [
        ("unattached", 0, -1, -1),
        ("prospective", 0, -1, -1),
        ("candidate", 1, -1, 1000),
        ("leader", 1, 1000, -1),
    ]
    assert states(voter, 1001) == [
        ("unattached", 0, -1, -1),
        ("prospective", 0, -1, -1),
        ("unattached", 1, -1, -1),
        ("voted", 1, -1, 1000),
        ("follower", 1, 1000, 1000),
        ("prospective", 1, 1000, 1000),
        ("candidate", 2, -1, 1001),
        ("unattached", 3, -1, -1),
        ("voted", 3, -1, 1002),
        ("follower", 3, 1002, 1002),
    ]


def test_brokers_observe_the_quorum_and_are_not_asked_about_it(recorded: Path) -> None:
    broker = NodeLog(1000, is_controller=False)
    assert all(broker.event_of(line) is None for line in LogTail(recorded / "controllers.txt").lines())


def test_a_resigned_leader_is_no_leader() -> None:
    line = (
        "2026-11-21T15:07:58.510+02:00 INFO org.apache.kafka.raft.QuorumState - [RaftManager id=1000] Completed"
        " transition to ResignedState(localId=1000, epoch=7, voters=[1000, 1001], electionTimeoutMs=1000,"
        " unackedVoters=[1001], preferredSuccessors=[]) from Leader(epoch=7)"
    )
    found = NodeLog(1000, is_controller=True).event_of(line)
    assert found is not None
    assert found.event == RaftStateChanged(epoch=7, leader=1000, broker=-1, reason="resigned")
    assert found.wall_ns == 1_795_266_478_510 * MS  # the offset of its time zone counts


def test_a_tail_gives_whole_lines_once_and_waits_for_the_file(tmp_path: Path) -> None:
    path = tmp_path / "kafka.1.log"
    tail = LogTail(path)
    assert list(tail.lines()) == []
    with path.open("w") as file:
        file.write("one\ntw")
        file.flush()
        assert list(tail.lines()) == ["one"]
        file.write("o\n")
        file.flush()
        assert list(tail.lines()) == ["two"]
    assert list(tail.lines()) == []
    tail.close()


@pytest.mark.parametrize(("release", "epoch", "winner"), [("3.4.1", 12, 1002), ("3.9.2", 12, 1001)])
def test_the_quorum_as_controllers_of_earlier_releases_log_it(
    recorded: Path, release: str, epoch: int, winner: int
) -> None:
    """A voter that was cut off deposes the leader when it returns: there is no pre-vote."""
    lines = list(LogTail(recorded / f"controllers-{release}.txt").lines())
    loser = 2003 - winner
    told: dict[int, list[tuple[str, int, int]]] = {}
    for controller in (1001, 1002):
        log = NodeLog(controller, is_controller=True)
        found = [log.event_of(line) for line in lines if f"={controller}]" in line]
        events = [one.event for one in found if one is not None]
        told[controller] = [(event.reason, event.epoch, event.leader) for event in events]  # type: ignore[attr-defined]
    assert len(told[1001]) + len(told[1002]) == len(lines)
    assert ("leader", 1, 1002) in told[1002]
    assert ("follower", 1, 1002) in told[1001]
    deposed = told[1002].index(("leader", 1, 1002)) + 1
    assert told[1002][deposed][0] == "unattached"
    assert told[winner][-1] == ("leader", epoch, winner)
    assert told[loser][-2:] == [("voted", epoch, -1), ("follower", epoch, winner)]
