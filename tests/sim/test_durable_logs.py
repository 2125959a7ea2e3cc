"""How much of a log ``raft-commit-durable`` finds on a disk, whether it reads it at once or as it grows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from highwater_runtime.log.names import LOG, file_name
from highwater_runtime.log.records import build_batch
from highwater_runtime.ports.trace import RaftAppended, RaftHighWatermark
from highwater_runtime.sim import Simulator
from highwater_runtime.sim.directories import Directory
from highwater_runtime.sim.invariants.durable import DurableLogs
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.quorum import QuorumInvariants
from highwater_runtime.sim.invariants.violation import Violations
from highwater_runtime.sim.page_cache import CachedFile


def _batch(base_offset: int, records: int = 1) -> bytes:
    return bytes(build_batch([b"value"] * records, base_offset=base_offset, leader_epoch=1))


class _Disk:
    """A directory of segments, by base offset."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"quorum-state": CachedFile()}
        self.logs = DurableLogs()
        self._disk: Any = SimpleNamespace(durable_names=lambda _directory: self.names)

    def segment(self, base_offset: int) -> bytearray:
        file = self.names.setdefault(file_name(base_offset, LOG), CachedFile())
        assert isinstance(file, CachedFile)
        return file.durable

    def end(self) -> int:
        """What a reader that has read before says, and one that reads everything must say too."""
        fresh = DurableLogs().end_offset("a", self._disk, "log")
        assert self.logs.end_offset("a", self._disk, "log") == fresh
        return fresh


def test_a_log_ends_behind_its_last_whole_batch() -> None:
    disk = _Disk()
    assert disk.end() == 0
    disk.segment(0)
    assert disk.end() == 0
    disk.segment(0).extend(_batch(0, 3))
    assert disk.end() == 3
    following = _batch(3, 2)
    for byte in following[:-1]:
        disk.segment(0).append(byte)
        assert disk.end() == 3
    disk.segment(0).append(following[-1])
    assert disk.end() == 5


def test_the_next_segment_counts_if_nothing_is_missing_before_it() -> None:
    disk = _Disk()
    disk.segment(0).extend(_batch(0, 3))
    disk.segment(5).extend(_batch(5, 2))
    assert disk.end() == 3, "records 3 and 4 are not there"
    disk.segment(0).extend(_batch(3, 2))
    assert disk.end() == 7
    disk.segment(7)
    assert disk.end() == 7
    disk.segment(7).extend(_batch(7))
    disk.segment(8).extend(_batch(8))
    assert disk.end() == 9


@pytest.mark.parametrize(
    "wrong", [_batch(4), _batch(3).replace(b"value", b"other"), bytes(80)], ids=["gap", "damaged", "zeros"]
)
def test_what_is_no_batch_there_ends_the_log(wrong: bytes) -> None:
    disk = _Disk()
    disk.segment(0).extend(_batch(0, 3) + wrong + _batch(4))
    disk.segment(5).extend(_batch(5))
    assert disk.end() == 3


def test_a_log_that_was_deleted_or_replaced_is_read_from_its_beginning() -> None:
    disk = _Disk()
    disk.segment(0).extend(_batch(0, 3))
    disk.segment(3).extend(_batch(3, 2))
    assert disk.end() == 5
    del disk.names[file_name(0, LOG)]
    assert disk.end() == 5, "the log starts at 3 now"
    disk.names[file_name(3, LOG)] = CachedFile()
    assert disk.end() == 3, "another file of that name is empty"
    disk.segment(3).extend(_batch(3))
    assert disk.end() == 4
    disk.segment(3).clear()
    assert disk.end() == 3
    disk.names[file_name(3, LOG)] = Directory()
    assert disk.end() == 0


def test_an_earlier_segment_may_grow_late() -> None:
    disk = _Disk()
    disk.segment(0).extend(_batch(0, 3))
    disk.segment(3).extend(_batch(3))
    assert disk.end() == 4
    disk.segment(0).extend(_batch(3, 2))
    assert disk.end() == 5


def test_an_earlier_segment_may_appear() -> None:
    disk = _Disk()
    disk.segment(3).extend(_batch(3))
    assert disk.end() == 4
    disk.segment(0).extend(_batch(0, 2))
    assert disk.end() == 2


def test_what_was_cut_is_read_again() -> None:
    disk = _Disk()
    disk.segment(0).extend(_batch(0, 3) + _batch(3, 2))
    assert disk.end() == 5
    disk.segment(0)[:] = _batch(0, 3) + _batch(3, 1) + _batch(4, 1) + _batch(5, 1)
    disk.logs.forget("a")
    assert disk.end() == 6


def test_nothing_follows_from_a_name_that_is_no_segment() -> None:
    disk = _Disk()
    disk.names["no-offset" + LOG] = CachedFile()
    assert disk.end() == 0


@pytest.mark.parametrize(
    ("on_disk", "wiped", "voters", "is_found"),
    [
        ({"a": 5, "b": 5, "c": 4}, "", "abc", False),
        ({"a": 5, "b": 4, "c": 4}, "", "abc", True),
        ({"a": 5, "b": 5, "c": 4, "d": 4}, "", "abcd", True),  # half is no majority
        ({"a": 5, "b": 4, "c": 4, "d": 5}, "", "abc", True),  # an observer does not count
        ({"a": 5, "b": 0, "c": 4}, "b", "abc", False),  # what it had on the disk before counts
    ],
)
def test_a_commit_is_on_the_disks_of_a_majority_of_the_voters(
    on_disk: dict[str, int], wiped: str, voters: str, is_found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = {name: SimpleNamespace(disk=SimpleNamespace(wipes=int(name == wiped))) for name in on_disk}
    violations, simulator = Violations(), Simulator(1)
    invariants = QuorumInvariants(simulator, LiveCluster(simulator), violations)
    for name in on_disk:
        invariants.on_event(name, 1, RaftAppended(offset=0, end_offset=5, epoch=1, crc=7))
    monkeypatch.setattr(simulator, "nodes", nodes)
    monkeypatch.setattr("highwater_runtime.sim.invariants.quorum.is_voter", lambda name: name in voters)
    monkeypatch.setattr(invariants._durable, "end_offset", lambda name, _disk, _directory: on_disk[name], raising=False)
    leader: Any = SimpleNamespace(voter_count=len(voters))
    invariants._commit_durable("a", leader, RaftHighWatermark(offset=5, epoch=1, leader=1))
    assert [one.name for one in violations.found] == ["raft-commit-durable"] * is_found
