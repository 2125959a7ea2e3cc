"""The journal survives whoever writes it: torn lines, other writers, later versions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from highwater_chaos.machine.disk.power_loss import PowerLoss
from highwater_chaos.machine.disk.volumes import Volume
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.faults.cuts import Cut
from highwater_chaos.machine.faults.pauses import Pause
from highwater_chaos.machine.kernel.identity import Identity
from highwater_chaos.machine.process.processes import Process, Spawn
from highwater_chaos.machine.resource import Resource
from highwater_chaos.machine.runs import undoing
from highwater_chaos.machine.runs.journal import Journal
from highwater_chaos.machine.runs.kinds import from_journal, to_journal

PROCESS = Process("p", "/run/x", Identity(12, 345), "mark")
VOLUME = Volume("v", "/run/x", "/run/x/v.img", "/run/x/v", "xfs", 1 << 30)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    path = tmp_path / "journal.jsonl"
    path.touch()
    return Journal(path)


def test_what_is_outstanding_is_what_was_announced_and_not_undone(journal: Journal) -> None:
    first, second, third = (journal.intent("cut", {"n": n}, None) for n in range(3))
    journal.done(first, {"n": 10})
    journal.undone(second, "guardian")
    seen = Journal(journal.path)
    seen.refresh()
    assert [(entry.id, entry.resource, entry.done) for entry in seen.outstanding()] == [
        (first, {"n": 10}, True),
        (third, {"n": 2}, False),
    ]
    assert seen.entries[second].undone_by == "guardian"


def test_two_writers_see_each_other(journal: Journal) -> None:
    other = Journal(journal.path)
    first = journal.intent("cut", {}, 5)
    other.refresh()
    second = other.intent("cut", {}, None)
    assert first != second
    journal.refresh()
    assert list(journal.entries) == [first, second]
    assert journal.entries[first].deadline_ns == 5


def test_who_undoes_one_thing_after_the_other_reads_each_line_once(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        journal.intent("cut", {}, None)
    read: list[bytes] = []
    monkeypatch.setattr(Journal, "_take", lambda _, line: read.append(line))
    for _ in range(2):
        undoing._journal(journal.path.parent)
    assert len(read) == 3


@pytest.mark.parametrize("torn", [b'{"step": "inten', b"{", b'{"step":"undone","id":"m1","by":"run"'])
def test_a_torn_last_line_is_nothing(journal: Journal, torn: bytes) -> None:
    first = journal.intent("cut", {}, None)
    with journal.path.open("ab") as file:
        file.write(torn)
    seen = Journal(journal.path)
    seen.refresh()
    assert [entry.id for entry in seen.outstanding()] == [first]
    second = seen.intent("cut", {}, None)
    again = Journal(journal.path)
    again.refresh()
    assert [entry.id for entry in again.outstanding()] == [first, second], "the next writer ends it"


def test_lines_of_another_version_stop_the_healer(journal: Journal) -> None:
    journal.path.write_text('{"step": "moved", "id": "m1"}\n')
    with pytest.raises(MachineError, match="not a line of this journal's version"):
        journal.refresh()


@pytest.mark.parametrize(
    "resource", [PROCESS, VOLUME, Cut("n", "10.0.0.1"), Pause(PROCESS), PowerLoss(VOLUME, (PROCESS,))]
)
def test_a_resource_comes_back_from_the_journal(resource: Resource) -> None:
    row = json.loads(json.dumps(to_journal(resource)))
    assert from_journal(resource.KIND, row) == resource


def test_what_only_making_needs_is_not_journaled() -> None:
    process = Process("p", "/run/x", spawn=Spawn(["secret"], Path("/x"), environment={"PASSWORD": "x"}))
    assert set(to_journal(process)) == {"name", "run", "identity", "mark", "group"}


def test_unknown_kinds_are_named() -> None:
    with pytest.raises(MachineError, match="'moonbeam'"):
        from_journal("moonbeam", {})
    with pytest.raises(MachineError, match="'cut' cannot be read"):
        from_journal("cut", {"namespace": 3})
