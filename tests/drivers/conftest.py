"""A thread where clients live, and programs that speak as drivers do."""

from __future__ import annotations

import asyncio
import sys
import threading
import time

import pytest

from highwater_chaos.backends.client_process import LoopClientProcess


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
    def until(condition, seconds=60):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "still waiting"
            time.sleep(0.02)

    return until


@pytest.fixture
def start(loop, wait_until):
    """``start(client, argv)``: a driver's process, told to ``client``; nothing of it outlives the test."""
    started = []

    def run(client, argv):
        async def begin():
            process = LoopClientProcess(loop, argv, client.on_line, client.on_exit)
            client.started(process)
            return process

        process = asyncio.run_coroutine_threadsafe(begin(), loop).result(30)
        started.append((client, process))
        return process

    yield run
    for client, process in started:
        process.kill()
        wait_until(lambda client=client: client.idle)


@pytest.fixture
def scripted():
    """The command of a program that prints these lines and then waits for the end of its stdin."""

    def make(*lines, then="sys.stdin.read()"):
        body = "".join(f"print({line!r}, flush=True);" for line in lines)
        return [sys.executable, "-c", f"import sys,os,time,signal;{body}{then}"]

    return make
