"""A thread where clients live, and programs that speak as drivers do."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from functools import partial

import pytest
from waiting import until

from highwater_chaos.backends.client_process import LoopClientProcess
from highwater_chaos.workload.client_group import ClientSettings
from highwater_chaos.workload.client_process import ClientProcessGroup
from highwater_chaos.workload.drivers.lines import ProcessSettings, encode_settings


@pytest.fixture
def loop():
    """An asyncio loop that runs on a thread of its own."""
    made = asyncio.new_event_loop()
    thread = threading.Thread(target=made.run_forever)
    thread.start()
    yield made
    made.call_soon_threadsafe(made.stop)
    thread.join()
    made.close()


@pytest.fixture
def wait_until():
    return partial(until, what="what a driver does")


@pytest.fixture
def start(loop, wait_until):
    """``start(group, argv)``: a process, told to ``group``; nothing of it outlives the test."""
    started = []

    def run(client, argv):
        async def begin():
            process = LoopClientProcess(loop, argv, client.on_line, client.on_exit)
            client.on_started(process)
            return process

        process = asyncio.run_coroutine_threadsafe(begin(), loop).result(30)
        started.append((client, process))
        return process

    yield run
    for client, process in started:
        process.kill()
        wait_until(lambda client=client: client.has_ended)


@pytest.fixture
def scripted():
    """The command of a program that prints these lines and then waits for the end of its stdin."""

    def make(*lines, then="sys.stdin.read()"):
        body = "".join(f"print({line!r}, flush=True);" for line in lines)
        return [sys.executable, "-c", f"import sys,os,time,signal;{body}{then}"]

    return make


@pytest.fixture
def group(loop, tmp_path):
    """A group of two clients, whose process is yet to be started."""
    history = tmp_path / "clients-0.jsonl"
    return ClientProcessGroup("clients-0", ["producer-0", "producer-1"], history, loop.call_soon_threadsafe)


@pytest.fixture
def settings(tmp_path, group):
    """A file of settings for clients of a cluster that nobody runs."""

    def make(**clients):
        path = tmp_path / "clients-0.json"
        path.write_bytes(
            encode_settings(
                ProcessSettings(
                    history=str(group.history), origin_ns=time.monotonic_ns(), seed=7, clients=ClientSettings(**clients)
                )
            )
        )
        return str(path)

    return make
