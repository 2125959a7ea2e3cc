"""What every program of clients has in common: its settings, run time, its history, and how it tells its standing."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import msgspec

from highwater_chaos.workload.client_group import Standing
from highwater_chaos.workload.drivers.lines import ProcessSettings, decode_settings, encode_standing
from highwater_chaos.workload.history_files import HistoryWriter


class ClientProgram:
    """One process of clients, as far as it is the same for every kind of client."""

    def __init__(self, settings: ProcessSettings) -> None:
        self.settings = settings
        self.history = HistoryWriter(Path(settings.history))
        self._told = Standing()

    @classmethod
    def from_arguments(cls) -> ClientProgram:
        """The program whose settings the command line names."""
        return cls(decode_settings(Path(sys.argv[1]).read_bytes()))

    def now_ns(self) -> int:
        """Run time."""
        return time.monotonic_ns() - self.settings.origin_ns

    def tell(self, standing: Standing, news: dict[str, int]) -> None:
        """Tell the harness how the clients stand, if that has changed. What it speaks of must be in the history."""
        if standing == self._told and not news:
            return
        self._told = standing
        line = memoryview(encode_standing(msgspec.structs.replace(standing, news=news)) + b"\n")
        while line:
            line = line[os.write(sys.stdout.fileno(), line) :]
