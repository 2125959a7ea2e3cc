"""A node as a process on loopback, for tests of clients that are not ours."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from highwater_chaos.backends.local.properties import render_properties

PATIENCE = 90
"""Seconds that the end of a node may take."""


class Node:
    """A process over a data directory; may be killed and started again."""

    def __init__(self, folder: Path, name: str, properties: dict[str, Any]) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self.config = folder / f"{name}.properties"
        self.ready = folder / f"{name}.ready.json"
        self.properties = {**properties, "log.dirs": str(folder / name), "highwater.ready.path": str(self.ready)}
        self.incarnation = 0
        self.process: Any = None

    def start(self) -> None:
        self.incarnation += 1
        self.ready.unlink(missing_ok=True)
        self.config.write_text(render_properties({**self.properties, "highwater.incarnation": self.incarnation}))
        self.run([sys.executable, "-m", "highwater_runtime.host.main", str(self.config)])

    def run(self, command: list[str]) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def is_ready(self) -> bool:
        assert self.process.poll() is None, f"{self.name} ended: {self.log.read_text()[-2000:]}"
        return self.ready.exists() and bool(json.loads(self.ready.read_text())["pid"] == self.process.pid)

    @property
    def ports(self) -> dict[str, int]:
        """By listener."""
        found: dict[str, int] = json.loads(self.ready.read_text())["listeners"]
        return found

    def end(self, how: int = signal.SIGKILL) -> int | None:
        """Send a signal and return the exit status; None: it never ran."""
        if self.process is None:
            return None
        self.process.send_signal(how)
        try:
            return int(self.process.wait(PATIENCE))
        finally:
            self.process.kill()
            self.process.wait()
