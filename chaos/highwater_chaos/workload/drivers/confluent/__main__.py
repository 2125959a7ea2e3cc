"""``python -m highwater_chaos.workload.drivers.confluent SETTINGS``: see ``lines.py`` for its input and output.

Every client has a thread; librdkafka has its own beside them.
"""

from __future__ import annotations

import os
import sys
import threading

from highwater_chaos.workload.client_group import ROLES, ClientStatus, Role
from highwater_chaos.workload.consumer import ConsumerOptions
from highwater_chaos.workload.drivers.confluent.connection import SECURITY
from highwater_chaos.workload.drivers.confluent.consumer import drive_consumer
from highwater_chaos.workload.drivers.confluent.producer import drive_producer
from highwater_chaos.workload.drivers.confluent.reporter import Reporter
from highwater_chaos.workload.drivers.lines import END, HARNESS_GONE, TELL_EVERY_NS, roles_of
from highwater_chaos.workload.drivers.program import ClientProgram
from highwater_chaos.workload.history import Operation
from highwater_chaos.workload.producer import ProducerOptions


class _Process:
    def __init__(self, program: ClientProgram) -> None:
        self._program = program
        self._settings = program.settings
        self._history = program.history
        self._reporter = Reporter(program.now_ns, self._write)
        self._finish: dict[Role, threading.Event] = {role: threading.Event() for role in ROLES}
        self._end = threading.Event()
        self._inconclusive_reasons: list[str] = []
        self._threads: dict[Role, list[threading.Thread]] = {role: [] for role in ROLES}

    def run(self) -> None:
        """Drive all clients until the harness says that it is over."""
        clients, seed = self._settings.clients, self._settings.seed
        SECURITY.update(self._program.client_config().librdkafka)
        for producer in clients.producers:
            self._start("producer", drive_producer, producer, seed)
        for consumer in clients.consumers:
            self._start("consumer", drive_consumer, consumer)
        threading.Thread(target=self._listen, daemon=True).start()
        while not self._end.wait(TELL_EVERY_NS / 1e9):
            self._report()
        self._report()

    def _start(self, role: Role, drive: object, options: ProducerOptions | ConsumerOptions, *more: object) -> None:
        def live() -> None:
            self._finish[role].wait(options.start_after_ns / 1e9)
            try:
                drive(options, *more, self._reporter, self._finish[role])  # type: ignore[operator]
            except Exception as error:
                self._inconclusive_reasons.append(f"client {options.name} ended by itself: {error!r}")
                raise

        thread = threading.Thread(target=live, daemon=True)
        self._threads[role].append(thread)
        thread.start()

    def _write(self, operation: Operation) -> None:
        self._history.add(operation)
        self._history.flush()

    def _listen(self) -> None:
        # Unbuffered: a thread that waits inside of a buffered stdin holds its lock, and Python aborts at exit over it.
        with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as lines:
            for line in lines:
                for role in roles_of(line):
                    self._finish[role].set()
                if line == END:
                    self._end.set()
                    return
        # The harness is gone, and the library may be in the middle of waiting for a broker that is gone as well.
        os._exit(HARNESS_GONE)

    def _report(self) -> None:
        recorder = self._reporter.recorder
        # Look first which threads have ended: their counts are then complete.
        idle = tuple(
            role
            for role in ROLES
            if (self._finish[role].is_set() or not self._threads[role])
            and not any(thread.is_alive() for thread in self._threads[role])
        )
        status = ClientStatus(
            offered=recorder.offered,
            first_offered_ns=recorder.first_offered_ns,
            acknowledged=recorder.acknowledged,
            waited_ns=recorder.waited_ns,
            held_back=self._reporter.held_back,
            read=recorder.read,
            open=recorder.open_operations,
            idle=idle,
            drained=True,
            inconclusive_reasons=tuple(self._inconclusive_reasons),
        )
        self._program.report(status, self._reporter.take_news())


def main() -> int:
    """Drive clients until the harness ends the run; returns the exit status."""
    _Process(ClientProgram.from_arguments()).run()
    sys.stdout.flush()
    # Threads of a client that did not finish would be waited for; what they had open stays open.
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
