"""``python -m highwater_chaos.workload.drivers.confluent SETTINGS``: see ``lines.py`` for what is said to whom."""

from __future__ import annotations

import os
import sys
import threading

import msgspec

from highwater_chaos.workload.drivers.confluent.consumer import drive_consumer
from highwater_chaos.workload.drivers.confluent.producer import drive_producer
from highwater_chaos.workload.drivers.confluent.reporter import Reporter
from highwater_chaos.workload.drivers.lines import FINISH, DriverSettings

_HARNESS_GONE = 3


def main() -> int:
    """Drive one client until told to finish."""
    settings = msgspec.json.decode(sys.argv[1], type=DriverSettings)
    finish = threading.Event()
    threading.Thread(target=_listen, args=(finish,), daemon=True).start()
    reporter = Reporter(sys.stdout.fileno())
    match settings.role:
        case "producer":
            drive_producer(settings, reporter, finish)
        case "consumer":
            drive_consumer(settings, reporter, finish)
    reporter.done()
    return 0


def _listen(finish: threading.Event) -> None:
    # Unbuffered: a thread that waits inside of a buffered stdin holds its lock, and Python aborts at exit over that.
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as lines:
        for line in lines:
            if line == FINISH:
                finish.set()
    # Nobody is left to tell, and the library may be in the middle of waiting for a broker that is gone as well.
    os._exit(_HARNESS_GONE)


if __name__ == "__main__":
    sys.exit(main())
