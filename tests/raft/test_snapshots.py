"""Snapshots (KIP-630): what is a whole one, what a replica keeps, and how laggards come by it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highwater_runtime.host.files.posix_disk import PosixDisk
from highwater_runtime.log.names import LOG, offsets_in
from highwater_runtime.ports import InboundRequest
from highwater_runtime.raft import download
from highwater_runtime.raft.metadata_log import MetadataLog
from highwater_runtime.raft.snapshot_messages import SnapshotParams, fetch_snapshot, snapshot_piece_of
from highwater_runtime.raft.snapshots import (
    SnapshotError,
    SnapshotId,
    SnapshotStore,
    build_snapshot,
    file_name,
    id_of,
    read_snapshot,
)
from highwater_runtime.raft.snapshotting import SnapshotMissingError
from highwater_runtime.sim import SimulationError
from highwater_runtime.wire.errors import ErrorCode

DIRECTORY = "__cluster_metadata-0"
BIG = [b"%d" % i + bytes(400) for i in range(40)]


# --- the file --------------------------------------------------------------------------------------------------------


@given(st.lists(st.binary(max_size=50), max_size=30), st.integers(1, 2**40), st.integers(1, 2**20))
def test_what_is_written_is_read(records: list[bytes], end_offset: int, epoch: int) -> None:
    assert read_snapshot(build_snapshot(SnapshotId(end_offset, epoch), records, 7)) == records


def test_large_states_take_several_batches() -> None:
    records = [bytes([i]) * 300_000 for i in range(10)]
    assert read_snapshot(build_snapshot(SnapshotId(5, 1), records, 0)) == records


@given(st.data())
def test_nothing_less_than_the_whole_is_read(data: st.DataObject) -> None:
    whole = build_snapshot(SnapshotId(9, 2), [b"a", b"b", b"c"], 7)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(SnapshotError):
        read_snapshot(whole[:cut])
    damaged = bytearray(whole)
    damaged[data.draw(st.integers(17, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with suppress(SnapshotError):
        assert read_snapshot(bytes(damaged)) == [b"a", b"b", b"c"], "only what says nothing may differ"


def test_names() -> None:
    assert file_name(SnapshotId(100, 3)) == "00000000000000000100-0000000003.checkpoint"
    assert id_of("00000000000000000100-0000000003.checkpoint") == SnapshotId(100, 3)
    for name in ("00000000000000000100.log", "100-3.checkpoint", "x-y.checkpoint", "quorum-state"):
        assert id_of(name) is None


def test_no_position_is_too_large_to_be_asked_for(tmp_path: Path) -> None:
    """Linux refuses to read near 2⁶³: an error of the disk would end the leader of whom a peer asks that."""
    disk = PosixDisk(tmp_path, run_blocking=lambda task: task(), post=lambda task: task())
    disk.mkdir(DIRECTORY)
    store, snapshot_id = SnapshotStore(disk, DIRECTORY), SnapshotId(9, 2)
    store.save(snapshot_id, b"0123456789")
    assert store.read_part(snapshot_id, 7, 100) == (b"789", 10)
    for position in (10, 11, (1 << 63) - 1):
        assert store.read_part(snapshot_id, position, 100) == (b"", 10)


# --- stories ---------------------------------------------------------------------------------------------------------


def fill(c, values: list[bytes]) -> None:
    for value in values:
        c.append(value)
        c.run_ms(5)


def reasons(c, node: str) -> list[str]:
    return [event.reason for name, event in c.referee.snapshots if name == node]


def test_the_log_begins_where_the_older_of_two_snapshots_ends(cluster) -> None:
    c = cluster(3, snapshot_every=10)
    leader = c.await_leader()
    fill(c, BIG)
    c.await_everywhere(BIG)
    names = c.sim.node(leader).disk.list(DIRECTORY)
    kept = sorted(snapshot_id for name in names if (snapshot_id := id_of(name)) is not None)
    assert len(kept) == 2
    assert c.raft(leader).log.log_start_offset == kept[0].end_offset
    assert min(offsets_in(names, LOG)) > 0, "segments below are gone"
    assert len({event.crc for _, event in c.referee.snapshots if event.offset == kept[1].end_offset}) == 1
    assert len([name for name, event in c.referee.snapshots if event.offset == kept[1].end_offset]) == 3


@pytest.mark.parametrize("seed", range(4))
def test_a_restart_loads_the_newest_snapshot_then_the_log(cluster, seed: int) -> None:
    c = cluster(3, observers=1, snapshot_every=10, seed=seed)
    c.await_leader()
    fill(c, BIG)
    c.await_everywhere(BIG)
    for name in c.names:
        c.sim.power_loss(name)
    c.start()
    c.await_leader()
    c.append(b"more")
    c.await_everywhere([*BIG, b"more"])
    assert all(reasons(c, name)[-1] in ("loaded", "written") and "loaded" in reasons(c, name) for name in c.voters)


def test_a_single_voter_has_loaded_before_it_leads(cluster) -> None:
    c = cluster(1, snapshot_every=5)
    leader = c.await_leader()
    fill(c, BIG[:12])
    c.sim.kill(leader)
    c.start(leader)
    c.await_leader()
    assert c.heard(leader).values == BIG[:12]
    assert len(c.heard(leader).snapshots) == 1


def test_a_wiped_voter_and_a_new_observer_catch_up_from_a_snapshot(cluster, monkeypatch) -> None:
    monkeypatch.setattr(download, "PIECE_BYTES", 1000)
    c = cluster(3, observers=1, snapshot_every=10, started=False)
    c.start(*c.voters)
    leader = c.await_leader()
    wiped = c.followers(leader)[0]
    fill(c, BIG)
    c.sim.power_loss(wiped)
    c.sim.wipe(wiped)
    c.start(wiped, "broker-0")
    c.append(b"more")
    c.await_everywhere([*BIG, b"more"])
    for name in (wiped, "broker-0"):
        assert reasons(c, name)[-2:] == ["fetched", "loaded"]
        assert c.raft(name).log.log_start_offset > 0
    assert c.leader == leader, "who fetches a snapshot is there as well"


def test_an_observer_whose_leader_dies_amid_a_snapshot_goes_on_at_the_next_one(cluster, monkeypatch) -> None:
    monkeypatch.setattr(download, "PIECE_BYTES", 1000)
    c = cluster(3, observers=1, snapshot_every=10, started=False)
    c.start(*c.voters)
    leader = c.await_leader()
    fill(c, BIG)
    c.await_everywhere(BIG)
    pieces = c.sim.faults.delay(0, "FetchSnapshot", from_nodes=["broker-0"], direction="response")
    c.start("broker-0")
    c.until(lambda: pieces.caught == 2)
    c.sim.power_loss(leader)
    assert reasons(c, "broker-0") == []
    c.await_everywhere(BIG)
    assert reasons(c, "broker-0") == ["fetched", "loaded"]
    assert c.raft("broker-0").leader_id == c.ids[c.leader] != c.ids[leader]


def test_a_snapshot_that_is_damaged_at_the_leader_is_not_asked_for_in_a_storm(cluster) -> None:
    c = cluster(3, observers=1, snapshot_every=10, started=False)
    c.start(*c.voters)
    leader = c.await_leader()
    fill(c, BIG)
    c.await_everywhere(BIG)
    disk = c.sim.node(leader).disk
    newest = max(snapshot_id for name in disk.list(DIRECTORY) if (snapshot_id := id_of(name)) is not None)
    file = disk.open(f"{DIRECTORY}/{file_name(newest)}")
    file.pwrite(file.size() // 2, b"damage")
    c.start("broker-0")
    c.run_ms(1000)
    assert 2 <= reasons(c, "broker-0").count("ignored") <= 10
    for i in range(10):
        c.append(b"%d" % i)
        c.run_ms(5)
    c.await_everywhere([*BIG, *(b"%d" % i for i in range(10))])


def test_a_laggard_keeps_its_state_and_jumps(cluster) -> None:
    c = cluster(3, snapshot_every=10)
    leader = c.await_leader()
    fill(c, BIG[:5])
    c.await_everywhere(BIG[:5])
    laggard = c.followers(leader)[0]
    cut = c.sim.faults.isolate(laggard)
    fill(c, BIG[5:])
    c.sim.faults.heal(cut)
    c.await_everywhere(BIG)
    assert [end for end, _, _ in c.heard(laggard).snapshots] == [
        event.offset for name, event in c.referee.snapshots if name == laggard and event.reason == "loaded"
    ]
    assert len(c.heard(laggard).snapshots) == 1


def test_an_uncommitted_tail_is_replaced_although_it_is_longer(cluster) -> None:
    """The old leader's own tail reaches beyond the snapshot's end, but it is of an epoch that came to nothing."""
    c = cluster(3, snapshot_every=4)
    old = c.await_leader()
    fill(c, BIG[:2])
    c.await_everywhere(BIG[:2])
    cut = c.sim.faults.isolate(old)
    for i in range(60):
        c.raft(old).append([b"lost-%d" % i])
    new = c.await_leader(other_than=old)
    c.until(lambda: not c.raft(old).is_leader)
    fill(c, BIG[2:30])
    assert c.raft(new).log_end_offset < c.raft(old).log_end_offset
    c.sim.faults.heal(cut)
    c.await_everywhere(BIG[:30])
    assert reasons(c, old)[-2:] == ["fetched", "loaded"]
    assert any(name == old for name, _ in c.referee.truncations)


@pytest.mark.parametrize("at", range(1, 9))
def test_a_power_cut_while_a_snapshot_takes_the_log_s_place(cluster, at: int) -> None:
    c = cluster(3, snapshot_every=10)
    leader = c.await_leader()
    laggard = c.followers(leader)[0]
    fill(c, BIG[:5])
    cut = c.sim.faults.isolate(laggard)
    fill(c, BIG[5:])
    c.sim.node(laggard).disk.cut_power_at(at)
    c.sim.faults.heal(cut)
    c.until(lambda: not c.sim.node(laggard).is_alive or c.heard(laggard).values == BIG)
    if not c.sim.node(laggard).is_alive:
        c.start(laggard)
    c.await_everywhere(BIG)


@pytest.mark.parametrize("at", range(1, 12))
def test_a_power_cut_while_a_snapshot_is_written_and_the_log_begins_later(cluster, at: int) -> None:
    c = cluster(1, snapshot_every=10)
    leader = c.await_leader()
    fill(c, BIG[:18])
    c.sim.node(leader).disk.cut_power_at(at)
    for value in BIG[18:]:
        if not c.sim.node(leader).is_alive:
            break
        c.node(leader).do(lambda raft, value=value: raft.append([value]))
        c.run_ms(5)
    if not c.sim.node(leader).is_alive:
        c.start(leader)
    c.await_leader()
    values = c.heard(leader).values
    assert values == BIG[: len(values)]
    assert len(values) >= 18


def test_a_snapshot_that_is_not_whole_is_ignored_and_reported(cluster) -> None:
    c = cluster(3, snapshot_every=10)
    leader = c.await_leader()
    fill(c, BIG)
    c.await_everywhere(BIG)
    victim = c.followers(leader)[0]
    disk = c.sim.node(victim).disk
    newest = max(snapshot_id for name in disk.list(DIRECTORY) if (snapshot_id := id_of(name)) is not None)
    c.sim.kill(victim)
    file = disk.open(f"{DIRECTORY}/{file_name(newest)}")
    file.truncate(file.size() - 10)
    file.fsync()
    c.start(victim)
    c.until(lambda: victim in c.running)
    c.await_everywhere(BIG)
    assert [(event.offset, event.reason) for name, event in c.referee.snapshots if name == victim][-3:] == [
        (newest.end_offset, "ignored"),
        (c.heard(victim).snapshots[0][0], "loaded"),
        (newest.end_offset, "written"),
    ]


def test_without_any_whole_snapshot_it_does_not_start(cluster) -> None:
    c = cluster(1, snapshot_every=10)
    leader = c.await_leader()
    fill(c, BIG)
    disk = c.sim.node(leader).disk
    c.sim.kill(leader)
    for name in disk.list(DIRECTORY):
        if id_of(name) is not None:
            disk.unlink(f"{DIRECTORY}/{name}")
    c.start(leader)
    with pytest.raises(SimulationError) as found:
        c.run_ms(10)
    assert isinstance(found.value.__cause__, SnapshotMissingError)


def ask_piece(raft, **changes):
    answers = []
    kept = raft._snapshots.newest
    params = SnapshotParams(5, raft.epoch, kept, 0, 100)._replace(**changes)
    request = InboundRequest(fetch_snapshot("cluster", params), 0, "test", "test", answers.append)
    assert raft.handles(request)
    raft.on_request(request)
    parts = snapshot_piece_of(answers[0])
    assert parts is not None
    return parts


def test_pieces(cluster) -> None:
    c = cluster(3, snapshot_every=10)
    leader = c.await_leader()
    fill(c, BIG)
    c.await_everywhere(BIG)
    raft, follower = c.raft(leader), c.raft(c.followers(leader)[0])
    answer, piece = ask_piece(raft)
    assert (answer.error, len(piece.data), piece.position) == (ErrorCode.NONE, 100, 0)
    assert ask_piece(raft, position=piece.size - 7)[1].data[-7:] != b""
    assert len(ask_piece(raft, position=piece.size - 7)[1].data) == 7
    assert ask_piece(raft, position=piece.size)[0].error is ErrorCode.POSITION_OUT_OF_RANGE
    assert ask_piece(raft, position=-1)[0].error is ErrorCode.POSITION_OUT_OF_RANGE
    assert ask_piece(raft, position=(1 << 63) - 1)[0].error is ErrorCode.POSITION_OUT_OF_RANGE
    assert ask_piece(raft, snapshot_id=SnapshotId(3, 1))[0].error is ErrorCode.SNAPSHOT_NOT_FOUND
    assert ask_piece(raft, epoch=raft.epoch - 1)[0].error is ErrorCode.FENCED_LEADER_EPOCH
    assert ask_piece(raft, epoch=raft.epoch + 1)[0].error is ErrorCode.UNKNOWN_LEADER_EPOCH
    refused = ask_piece(follower)[0]
    assert (refused.error, refused.leader_id) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, c.ids[leader])


def test_the_referee_sees_a_state_that_differs(cluster) -> None:
    c = cluster(3)
    leader = c.await_leader()
    fill(c, BIG[:3])
    c.await_everywhere(BIG[:3])
    end = c.heard(leader).end_offset
    c.node(leader).do(lambda raft: raft.write_snapshot(end, BIG[:3]))
    c.run_ms(10)
    other = c.followers(leader)[0]
    c.node(other).do(lambda raft: raft.write_snapshot(end, BIG[:2]))
    with pytest.raises(Exception, match="snapshots") as found:
        c.run_ms(10)
    assert "another state" in str(found.value.__cause__ or found.value)


def test_where_a_log_is_behind(cluster) -> None:
    c = cluster(1, snapshot_every=10)
    leader = c.await_leader()
    fill(c, BIG)
    log: MetadataLog = c.raft(leader)._log
    base = log.base
    assert log.is_behind(0, 0)
    assert log.is_behind(base.offset - 1, base.epoch)
    assert log.is_behind(base.offset + 5, base.epoch - 1), "such a tail can only be compared with what is gone"
    assert not log.is_behind(base.offset, base.epoch)
    assert not log.is_behind(base.offset + 5, base.epoch)
