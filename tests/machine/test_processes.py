"""Processes: identity, marks, signals, pauses. Nothing here needs root."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.faults.pauses import Pause
from highwater_chaos.machine.kernel.identity import Identity
from highwater_chaos.machine.process.processes import PROCESS_MARK, Process, Spawn, marked


def test_output_session_and_status(machine: Any, tmp_path: Path) -> None:
    process = machine.process("sh", "-c", "echo out; echo err >&2; ps -o sid= -p $$; exit 3")
    assert process.wait_gone(60)
    assert process.status() == 3
    out, err, session = (tmp_path / "log").read_text().split()
    assert (out, err, int(session)) == ("out", "err", process.identity.pid)


def test_undo_kills_what_it_started_too(machine: Any, await_true: Any) -> None:
    run = machine.run
    spawn = Spawn(["sh", "-c", "setsid sleep 1000 & setsid sleep 1000 & wait"], machine.folder / "log")
    held = run.make(Process("tree", run.directory, spawn=spawn))
    await_true(lambda: len(held.resource.members()) == 3, "the shell has started its children")
    assert run.undo(held)
    assert held.resource.left() is None
    assert held.resource.status() == -signal.SIGKILL
    assert not run.undo(held), "undone once"


def test_a_reused_pid_is_another_process(machine: Any) -> None:
    process = machine.process()
    other = replace(process.identity, started=process.identity.started - 1)
    assert other.state() == "gone"
    assert not other.send(signal.SIGKILL)
    assert other.wait_gone(0)
    assert process.state() == "running"


def test_a_process_whose_pid_was_never_written_down_is_found_by_its_mark(machine: Any) -> None:
    process = machine.process()
    forgotten = replace(process, identity=None)
    assert forgotten.members() == [process.identity]
    forgotten.undo()
    assert process.state() == "gone"
    assert marked(PROCESS_MARK, process.mark) == []


def test_a_zombie_is_gone() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    identity = Identity.of(child.pid)
    assert identity is not None
    child.kill()
    assert identity.wait_gone(60)
    assert identity.state() == "gone"
    assert Identity.of(child.pid) is None
    child.communicate()


def test_pause_and_resume(machine: Any, await_true: Any) -> None:
    process = machine.process("sh", "-c", "sleep 1000 & wait")
    await_true(lambda: len(process.members()) == 2, "the shell has its child")
    held = machine.run.make(Pause(process))
    assert {member.state() for member in process.members()} == {"stopped"}
    assert held.resource.left() is not None
    machine.run.undo(held)
    assert {member.state() for member in process.members()} == {"running"}
    assert held.resource.left() is None


def test_pause_ends_at_its_deadline_by_the_guardian(machine: Any, await_true: Any) -> None:
    process = machine.process()
    held = machine.run.make(Pause(process), lasts_ns=300_000_000)
    assert process.state() == "stopped"
    await_true(lambda: process.state() == "running", "the guardian resumes it")
    await_true(lambda: machine.run.undone_by(held) == "guardian", "and says so")
    assert not machine.run.undo(held)


def test_a_gone_process_cannot_be_paused(machine: Any) -> None:
    process = machine.process("true")
    assert process.wait_gone(60)
    with pytest.raises(MachineError, match="is gone and cannot be paused"):
        machine.run.make(Pause(process))
    assert [resource.KIND for _, resource in machine.run.outstanding()] == ["process"]


def test_a_program_that_does_not_exist(machine: Any) -> None:
    with pytest.raises(FileNotFoundError):
        machine.process("/no/such/program")
    assert machine.run.outstanding() == []


def test_the_environment_is_what_was_given_and_the_marks(machine: Any, tmp_path: Path) -> None:
    spawn = Spawn(["/usr/bin/env"], tmp_path / "log", environment={"A": "b"}, directory=tmp_path)
    process = machine.run.make(Process("p", machine.run.directory, spawn=spawn)).resource
    assert process.wait_gone(60)
    names = {line.split("=")[0] for line in (tmp_path / "log").read_text().splitlines()}
    assert {"A", PROCESS_MARK} <= names
    assert "HOME" not in names


def test_a_pidfd_becomes_readable_at_exit(machine: Any, await_true: Any) -> None:
    process = machine.process()
    fd = process.pidfd()
    assert fd is not None
    try:
        assert process.signal(signal.SIGTERM)
        assert process.wait_gone(60)
        assert process.status() == -signal.SIGTERM
        assert process.pidfd() is None
    finally:
        os.close(fd)
