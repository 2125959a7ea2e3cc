"""Whoever closes the clients of a run sees none of their processes afterwards."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.backends.client_process import LoopClientProcess
from highwater_chaos.backends.local import client_loop
from highwater_chaos.backends.local import clients as module
from highwater_chaos.backends.local.client_loop import ClientLoopError
from highwater_chaos.backends.local.clients import LocalClients

STAYS = [sys.executable, "-c", "import signal; signal.pause()"]


@pytest.fixture
def clients() -> Iterator[LocalClients]:
    made = LocalClients(lambda: None, 7)
    yield made
    made.close()


def ignore(*_: object) -> None:
    pass


def test_closed_means_gone(clients: LocalClients) -> None:
    started = [clients.add_process(STAYS, ignore, ignore).pid for _ in range(8)]
    clients.close()
    assert [pid for pid in started if Path(f"/proc/{pid}").exists()] == []


def test_a_process_whose_start_took_too_long_is_ended_too(
    clients: LocalClients, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a loaded machine: the caller has given up, and the process is started nevertheless."""
    begun, go_on = threading.Event(), threading.Event()
    started: list[int] = []

    def slow(*arguments: Any, **named: Any) -> LoopClientProcess:
        process = LoopClientProcess(*arguments, **named)
        started.append(process.pid)
        begun.set()
        go_on.wait()
        return process

    monkeypatch.setattr(module, "LoopClientProcess", slow)
    with monkeypatch.context() as short:
        short.setattr(client_loop, "_PATIENCE", 0.2)
        with pytest.raises(ClientLoopError, match="did not answer within"):
            clients.add_process(STAYS, ignore, ignore)
    assert begun.wait(30)
    go_on.set()
    clients.close()
    assert not Path(f"/proc/{started[0]}").exists()
