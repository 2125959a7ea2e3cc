"""A home, a cache, a state directory or a disk that cannot be written to: one line, never a traceback."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.cli.machine_refuses import refusal_of_machine
from highwater_chaos.machine.errors import MachineError, PlaceError

LOCAL = ("run", "tiny.yaml", "--backend", "local")
COMMANDS: dict[str, tuple[tuple[str, ...], int, str]] = {
    "cluster up": (("cluster", "up"), 254, "choose a place that you can write to"),
    "cluster status": (("cluster", "status"), 254, "choose a place that you can write to"),
    "cluster down": (("cluster", "down"), 254, "choose a place that you can write to"),
    "run": (LOCAL, 254, "no run can be kept in /dev/null/"),
    "doctor": (("doctor",), 0, ""),
    "heal": (("heal",), 0, ""),
}


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_home_that_is_no_directory(
    highwater: Any, tiny_file: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/dev/null")
    monkeypatch.setenv("HIGHWATER_STATE_DIR", "/dev/null/state")
    arguments, status, why = COMMANDS[command]
    done = highwater(*arguments)
    assert (done.status, why in done.err) == (status, True), done.err
    assert len(done.err.splitlines()) == (1 if status else 0), done.err


def test_a_run_on_a_cache_that_cannot_be_made(highwater: Any, tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    file = highwater.write("kafka.yaml", tiny.replace("  cluster:\n", "  cluster:\n    runtime: apache-kafka\n"))
    done = highwater("run", file, "--backend", "local")
    assert (done.status, len(done.err.splitlines())) == (254, 1), done.err


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 254),
        (PermissionError(errno.EACCES, "Permission denied", "/somewhere"), 254),
        (PermissionError(errno.EPERM, "a signal that may not be sent"), None),
        (FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']"), 254),
        (FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "/somewhere"), None),
        (PlaceError("no run can be kept"), 254),
        (MachineError("it does not go"), 255),
        (ZeroDivisionError(), None),
    ],
    ids=repr,
)
def test_what_is_no_bug(error: Exception, status: int | None) -> None:
    refusal = refusal_of_machine(error)
    assert (None if refusal is None else refusal[1]) == status
