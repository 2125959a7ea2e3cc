"""Whoever makes a fault may be killed at any moment: after the deadline nothing of it is left."""

from __future__ import annotations

import json
import os
import random
import signal
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import guardian_of

from highwater_chaos.base.lines import whole_lines
from highwater_chaos.machine.kernel.identity import Identity
from highwater_chaos.machine.runs import undoing
from highwater_chaos.machine.runs.directory import locked
from highwater_chaos.machine.runs.guardian import _Apart
from highwater_chaos.machine.runs.heal import heal
from highwater_chaos.machine.runs.journal import JOURNAL, Entry, Journal
from highwater_chaos.machine.runs.kinds import KINDS, from_journal

pytestmark = pytest.mark.whole_machine

HEALER = """
import sys, pathlib, highwater_chaos.machine.runs.heal as healing
for healed in healing.heal(pathlib.Path(sys.argv[1])):
    print(*healed.undone, *(f"left {what}" for what in healed.left), sep="\\n")
"""
KINDS_TO_KILL = (
    "namespace",
    "link",
    "cut",
    "process",
    "pause",
    "barrier",
    "command",
    *(
        f"{fault}-{system}"
        for fault in ("volume", "powerloss", "wipe", "full", "error", "freeze")
        for system in ("ext4", "xfs")
    ),
)
FAULTS = (
    "cut",
    "pause",
    "powerloss-ext4",
    "full-ext4",
    "full-xfs",
    "error-ext4",
    "error-xfs",
    "freeze-ext4",
    "freeze-xfs",
)


def entries(run: Path) -> list[Any]:
    journal = Journal(run / JOURNAL)
    with locked(run):
        journal.refresh()
    return list(journal.entries.values())


def logged(run: Path, event: str) -> list[str]:
    """By what, as the guardian's lines of an event say."""
    lines = [json.loads(line) for line in whole_lines(run / "guardian.log")]  # it may be writing one
    return [line["by"] for line in lines if (line["component"], line["event"]) == ("guardian", event)]


def test_what_keeps_a_fault_from_being_undone_is_logged_once(tmp_path: Path, capfd: Any) -> None:
    apart = _Apart(tmp_path)
    entry = Entry("1", "pause", {}, 0, tag="fault-7:broker-0")
    for error in ("it hangs", "it hangs", "it is gone", "it hangs"):
        apart.log_once(entry, error)
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert [(one["event"], one["fault"], one["error"]) for one in lines] == [
        ("fault not undone", "fault-7", "overdue: it hangs"),
        ("fault not undone", "fault-7", "overdue: it is gone"),
    ]


def test_every_kind_is_killed_here() -> None:
    made = {
        "namespace",
        "hub",
        "link",
        "cut",
        "process",
        "pause",
        "volume",
        "power loss",
        "wipe",
        "full disk",
        "disk error",
        "frozen disk",
        "instruction",
        "start barrier",
        "command",
    }
    assert set(KINDS) == made | {"frozen group"}, "that one has tests of its own: test_frozen_group.py"


class Program(socketserver.ThreadingUnixStreamServer):
    """A program of nobody's run that keeps what it is told, until it is told to forget it."""

    daemon_threads = True

    def __init__(self, place: Path) -> None:
        super().__init__(str(place), Answering)
        self.kept: set[str] = set()
        self.told: list[str] = []


class Answering(socketserver.StreamRequestHandler):
    server: Program

    def handle(self) -> None:
        for line in self.rfile:
            asked = json.loads(line)
            key = asked["params"]["key"]
            self.server.told.append(asked["method"])
            match asked["method"]:
                case "keep":
                    self.server.kept.add(key)
                case "forget":
                    self.server.kept.discard(key)
            answer = {"id": asked["id"], "result": key in self.server.kept}
            self.wfile.write(json.dumps(answer).encode() + b"\n")


@pytest.fixture
def program(state: Path) -> Iterator[Program]:
    with Program(state.parent / "program") as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def test_killed_while_all_last(maker: Any, leftovers: Any, nothing_left: Any, await_true: Any) -> None:
    made = maker(",".join(KINDS_TO_KILL), "hold")
    assert made.line() == "made"
    assert leftovers(made.root)
    made.process.kill()
    await_true(lambda: nothing_left(made.root), "nothing is left of any kind")


@pytest.mark.quick("command", "process", "volume-ext4", "full-ext4", "cut")
@pytest.mark.parametrize("kind", KINDS_TO_KILL)
def test_killed_at_any_moment(maker: Any, nothing_left: Any, await_true: Any, kind: str) -> None:
    made = maker(kind, "churn")
    assert made.line() == "made"
    time.sleep(random.Random(kind).uniform(0, 0.06))  # the moment itself is what varies
    made.process.kill()
    await_true(lambda: nothing_left(made.root), f"nothing is left of {kind}")


def test_killed_while_a_command_does_not_end(maker: Any, state: Path, nothing_left: Any, await_true: Any) -> None:
    """It keeps the lock that its heal needs, but not for longer than it may take."""
    made = maker("hanging", "hold")
    written = state.parent / "commanded"
    await_true(lambda: written.exists() and written.read_text(), "the command runs")
    command = Identity.of(int(written.read_text()))
    made.process.kill()
    await_true(lambda: nothing_left(made.root), "nothing is left")
    assert command is None or command.state() == "gone"
    assert not written.exists()


def test_a_maker_that_hangs_does_not_keep_its_faults(maker: Any, await_true: Any) -> None:
    made = maker(",".join(FAULTS), "hold", "700")
    assert made.line() == "made"
    made.process.send_signal(signal.SIGSTOP)
    faults = entries(made.run)[-len(FAULTS) :]
    await_true(
        lambda: all(one.undone_by == "guardian" for one in entries(made.run)[-len(FAULTS) :]), "the guardian ends them"
    )
    assert [one.kind for one in entries(made.run)[: -len(FAULTS)] if one.undone_by is not None] == []
    for one in faults:
        assert from_journal(one.kind, one.resource).left() is None
    await_true(lambda: logged(made.run, "fault undone") == ["deadline"] * len(faults), "a line for each")
    made.process.send_signal(signal.SIGCONT)


@pytest.mark.thorough
def test_guardian_killed_too_then_heal(maker: Any, leftovers: Any, state: Path) -> None:
    made = maker(",".join(KINDS_TO_KILL), "hold")
    assert made.line() == "made"
    os.kill(guardian_of(made.run), signal.SIGKILL)
    made.process.kill()
    made.process.wait()
    assert leftovers(state)
    (healed,) = heal(state)
    assert (healed.label, healed.owner, healed.skipped, healed.left) == (",".join(KINDS_TO_KILL), None, False, [])
    assert f"network namespace hw-{healed.run}-node" in healed.undone
    assert leftovers(state) == []
    assert heal(state) == []


@pytest.mark.thorough
def test_what_was_told_is_taken_back(maker: Any, nothing_left: Any, await_true: Any, program: Program) -> None:
    moments = random.Random("instruction")
    for _ in range(5):
        made = maker("instruction", "churn")
        assert made.line() == "made"
        time.sleep(moments.uniform(0, 0.06))  # the moment itself is what varies
        made.process.kill()
        await_true(lambda root=made.root: nothing_left(root), "nothing is left of the run")
        assert program.kept == set()
    assert "keep" in program.told


def test_what_was_told_is_taken_back_at_its_deadline(maker: Any, await_true: Any, program: Program) -> None:
    made = maker("instruction", "hold", "700")
    assert made.line() == "made"
    assert program.kept == {"fault"}
    made.process.send_signal(signal.SIGSTOP)
    await_true(lambda: not program.kept, "the deadline has come")
    made.process.send_signal(signal.SIGCONT)


def test_what_was_told_is_taken_back_by_heal(maker: Any, leftovers: Any, state: Path, program: Program) -> None:
    made = maker("instruction", "hold")
    assert made.line() == "made"
    os.kill(guardian_of(made.run), signal.SIGKILL)
    made.process.kill()
    made.process.wait()
    assert program.kept == {"fault"}
    (healed,) = heal(state)
    assert healed.left == []
    assert program.kept == set()
    assert leftovers(state) == []


def test_two_healers_at_once(maker: Any, leftovers: Any, state: Path) -> None:
    made = maker("error-ext4", "hold")
    assert made.line() == "made"
    os.kill(guardian_of(made.run), signal.SIGKILL)
    made.process.kill()
    made.process.wait()
    command = [sys.executable, "-c", HEALER, str(state)]
    healers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = [healer.communicate()[0] for healer in healers]
    assert [healer.returncode for healer in healers] == [0, 0, 0]
    assert leftovers(state) == []
    assert sum("ext4 volume error-ext4-disk" in text for text in said) == 1, "each thing is undone by one of them"


def test_what_was_undone_is_told_though_another_healer_ended_the_run(
    maker: Any, leftovers: Any, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = maker("error-ext4", "hold")
    assert made.line() == "made"
    os.kill(guardian_of(made.run), signal.SIGKILL)
    made.process.kill()
    made.process.wait()
    finish = undoing._finish

    def while_another_heals(*arguments: Any) -> Any:
        monkeypatch.setattr(undoing, "_finish", finish)
        assert undoing.end_run(made.run, "heal").undone == []
        return finish(*arguments)

    monkeypatch.setattr(undoing, "_finish", while_another_heals)
    undone = [what for healed in heal(state) for what in healed.undone]
    assert any("ext4 volume error-ext4-disk" in what for what in undone), undone
    assert leftovers(state) == []


@pytest.mark.quick("1")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_of_a_terminal_do_not_end_the_guardian(
    maker: Any, nothing_left: Any, await_true: Callable[..., None], number: signal.Signals
) -> None:
    made = maker("cut", "hold")
    assert made.line() == "made"
    guardian = Identity.of(guardian_of(made.run))
    assert guardian is not None
    guardian.send(number)
    os.killpg(made.process.pid, number)
    await_true(lambda: nothing_left(made.root), "nothing is left")
    assert guardian.wait_gone(30), "and the guardian goes with the run"


def test_a_run_whose_guardian_was_killed_gets_a_new_one(machine: Any) -> None:
    first = machine.run.guardian
    first.send(signal.SIGKILL)
    assert first.wait_gone(30)
    machine.network("a")
    assert machine.run.guardian not in (None, first)
