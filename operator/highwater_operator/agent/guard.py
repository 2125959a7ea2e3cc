"""Keep the agent's runs guarded from another container, until SIGTERM: ``python -m highwater_operator.agent.guard``.

A container runtime ends all processes of the agent's container with it, so the run's guardian too, and the kubelet may
wait for minutes before it starts the container again. Meanwhile faults would outlast their deadlines. So a second
container of the agent's pod starts a guardian where there is none. It needs no API server and imports no client of one.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Final

from highwater_chaos.machine.errors import MachineError, RunGoneError
from highwater_chaos.machine.runs.directory import RunInfo, guarded, run_directories
from highwater_chaos.machine.runs.run import MachineRun
from highwater_operator.agent.machine_run import STATE, runs_of

_EVERY: Final = 1.0


def main() -> int:
    """Return 0 after SIGTERM. The guardians that it started end with their runs, or with this container."""
    state = Path(os.environ.get("HIGHWATER_AGENT_STATE") or STATE)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    unguarded: set[Path] = set()
    said = ""
    while not stop.wait(_EVERY):
        try:
            unguarded = look(runs_of(state), unguarded)
        except (MachineError, OSError) as error:
            if str(error) != said:
                sys.stderr.write(f"highwater-agent guard: {error}\n")
            said = str(error)
    return 0


def look(root: Path, before: set[Path]) -> set[Path]:
    """Start a guardian for each run that has none now, and had none ``before``: an agent that begins a run, or takes
    one up again, starts one itself, within less than the time between two looks. Returns the runs that have none.

    Raises:
        MachineError, OSError: a guardian did not start.
    """
    found = {path for path in run_directories(root) if not guarded(path)}
    for path in sorted(found & before):
        try:
            if RunInfo.read(path).owned():  # one of an earlier boot is the agent's to end
                MachineRun.attach(path.name, root=root).ensure_guarded()
        except RunGoneError:
            continue
    return found


if __name__ == "__main__":
    sys.exit(main())
