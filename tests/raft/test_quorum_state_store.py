"""The file ``quorum-state``: Kafka's content, and old or new but never half after a power loss at any point."""

from __future__ import annotations

import json

import pytest

from highwater_runtime.raft.errors import VotersChangedError
from highwater_runtime.raft.quorum_state_store import QuorumStateError, QuorumStateStore
from highwater_runtime.raft.states import ElectionState
from highwater_runtime.sim import PowerCutError, SimDisk

VOTERS = (1000, 1001)


def store(disk: SimDisk) -> QuorumStateStore:
    return QuorumStateStore(disk, "dir", VOTERS)


@pytest.mark.parametrize("state", [ElectionState(3), ElectionState(3, 1001), ElectionState(3, None, 1001)])
def test_round_trip(state: ElectionState) -> None:
    disk = SimDisk(1)
    assert store(disk).load() == ElectionState(0)
    store(disk).save(ElectionState(2, 1000, 1000))
    store(disk).save(state)
    disk.power_loss("none")
    assert store(disk).load() == state


def test_content_is_kafka_s() -> None:
    disk = SimDisk(1)
    store(disk).save(ElectionState(7, None, 1001))
    file = disk.open("dir/quorum-state")
    assert json.loads(file.read(0, file.size())) == {
        "leaderId": -1,
        "leaderEpoch": 7,
        "votedId": 1001,
        "appliedOffset": 0,
        "currentVoters": [{"voterId": 1000}, {"voterId": 1001}],
        "data_version": 0,
    }


@pytest.mark.parametrize("keep", ["none", "prefix", "torn", "all"])
def test_a_power_loss_at_any_operation_leaves_the_old_state_or_the_new(keep: str) -> None:
    old, new = ElectionState(4, 1000, 1000), ElectionState(5, None, 1001)
    seen = set()
    for operation in range(1, 20):
        for seed in range(10):
            disk = SimDisk(seed)
            store(disk).save(old)
            disk.cut_power_at(operation)
            try:
                store(disk).save(new)
                done = True
            except PowerCutError:
                done = False
            disk.heal()
            disk.power_loss(keep)
            found = store(disk).load()
            assert found == new if done else found in (old, new)
            seen.add((done, found == new))
            store(disk).save(ElectionState(6))
            assert store(disk).load() == ElectionState(6), "what was left behind is not in the way"
    assert {(False, False), (True, True)} <= seen


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"leaderId": 1}',
        b'{"leaderId":1,"leaderEpoch":1,"votedId":1,"data_version":9}',
        b'{"leaderId":1,"leaderEpoch":-4,"votedId":1}',
    ],
)
def test_an_unreadable_file_is_refused(content: bytes) -> None:
    disk = SimDisk(1)
    disk.mkdir("dir")
    disk.open("dir/quorum-state", create=True).append(content)
    with pytest.raises(QuorumStateError, match="quorum-state"):
        store(disk).load()


@pytest.mark.parametrize("others", [(1000,), (1000, 1002), (1000, 1001, 1002)])
def test_a_replica_does_not_start_with_other_voters(others: tuple[int, ...]) -> None:
    """Each set may have a majority of its own, and elect a leader of the same epoch."""
    disk = SimDisk(1)
    store(disk).save(ElectionState(4, None, 1001))
    named = ", ".join(map(str, others))
    with pytest.raises(VotersChangedError, match=f"are 1000, 1001, the configuration names {named};"):
        QuorumStateStore(disk, "dir", others).load()
    assert store(disk).load() == ElectionState(4, None, 1001)


def test_a_file_that_names_no_voters_is_read() -> None:
    disk = SimDisk(1)
    disk.mkdir("dir")
    disk.open("dir/quorum-state", create=True).append(b'{"leaderId":-1,"leaderEpoch":4,"votedId":1001}')
    assert store(disk).load() == ElectionState(4, None, 1001)
