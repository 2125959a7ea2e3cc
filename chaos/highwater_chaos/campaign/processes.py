"""Seeds on the processes of this machine.

Each process runs one seed at a time, so it is known which one took it along. A process that ends gets a successor, and
its seed a second chance, for the process may have been killed from outside; a seed that ends two is a finding.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, Final

import msgspec

from highwater_chaos.base.child_process import how_it_ended
from highwater_chaos.campaign.seed import Outcome, Run, SeedJob, failed, prepare_new_process, run_seed_job

ATTEMPTS: Final = 2
"""How many processes a seed may end before that is its outcome."""
_LOOK_FOR_PARENT_SECONDS: Final = 1.0
_ENDING_SECONDS: Final = 5.0

_CONTEXT: Final = multiprocessing.get_context("fork")  # what was imported need not be imported again


def on_processes(units: Iterable[SeedJob], jobs: int, run: Run = run_seed_job) -> Iterator[Outcome]:
    """Outcomes as they come, in no particular order. ``units`` are taken as they are needed, in order.

    Closing the iterator ends the processes and leaves out what they were at.
    """
    waiting = iter(units)
    again: deque[tuple[SeedJob, int]] = deque()
    workers: list[_Worker] = []
    try:
        while True:
            while len(workers) < jobs:
                following = again.popleft() if again else _first(waiting)
                if following is None:
                    break
                workers.append(_Worker(run, *following))
            if not workers:
                return
            by_handle = {
                handle: worker for worker in workers for handle in (worker.connection, worker.process.sentinel)
            }
            ready: dict[int, _Worker] = {}
            for handle in wait(list(by_handle)):
                worker = by_handle[handle]  # type: ignore[index]
                ready[id(worker)] = worker
            for worker in ready.values():
                outcome = worker.take()
                unit, attempts = worker.unit, worker.attempts
                if outcome is not None:
                    following = again.popleft() if again else _first(waiting)
                    if following is None:
                        workers.remove(worker)
                        worker.end()
                    else:
                        worker.give(*following)
                    yield msgspec.structs.replace(outcome, attempts=attempts)
                    continue
                workers.remove(worker)
                how = worker.how_it_ended()
                worker.end()
                if attempts < ATTEMPTS:
                    again.append((unit, attempts + 1))
                else:
                    yield failed(unit, f"its process ended, {attempts} times: {how}", attempts)
    finally:
        for worker in workers:
            worker.end()


def _first(units: Iterator[SeedJob]) -> tuple[SeedJob, int] | None:
    unit = next(units, None)
    return None if unit is None else (unit, 1)


class _Worker:
    """One process, and the unit that it is at."""

    def __init__(self, run: Run, unit: SeedJob, attempts: int) -> None:
        self.connection, theirs = _CONTEXT.Pipe()
        self.process: ForkProcess = _CONTEXT.Process(target=_work, args=(theirs, run), daemon=True)
        self.process.start()
        theirs.close()
        self.give(unit, attempts)

    def give(self, unit: SeedJob, attempts: int) -> None:
        self.unit, self.attempts = unit, attempts
        with suppress(OSError):  # it may have ended: its sentinel says so
            self.connection.send_bytes(msgspec.msgpack.encode(unit))

    def take(self) -> Outcome | None:
        """What it sent; None if it has ended without."""
        try:
            if self.connection.poll():
                return msgspec.msgpack.decode(self.connection.recv_bytes(), type=Outcome)
        except (OSError, EOFError):
            pass
        return None

    def how_it_ended(self) -> str:
        """Why it sent nothing: its exit status or signal."""
        self.process.join(_ENDING_SECONDS)  # the connection may be closed a little before
        return how_it_ended(self.process.exitcode)

    def end(self) -> None:
        """End the process, whatever it is at."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def _work(connection: Connection, run: Any) -> None:
    """The life of a process: it ends with the one that started it, even if that was killed."""
    parent = os.getppid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches all; the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    prepare_new_process()
    encode = msgspec.msgpack.Encoder().encode
    while os.getppid() == parent:
        if connection.poll(_LOOK_FOR_PARENT_SECONDS):
            try:
                message = connection.recv_bytes()
            except (EOFError, OSError):
                return
            connection.send_bytes(encode(run(msgspec.msgpack.decode(message, type=SeedJob))))
