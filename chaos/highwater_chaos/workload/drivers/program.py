"""What every program of clients has in common: settings, run time, history, and reports of its status."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from typing import Final

import msgspec

from highwater_chaos.workload.client_group import ClientStatus
from highwater_chaos.workload.drivers.lines import ProcessSettings, decode_settings, encode_status
from highwater_chaos.workload.history_files import HistoryWriter
from highwater_runtime.host.security.client_config import ClientConfig, read_client_config

_PR_SET_PDEATHSIG: Final = 1


def end_with_parent() -> None:
    """Have the kernel send SIGKILL to this process when the thread that started it has ended.

    The end of stdin says the same, but a program that is stopped, or whose loop is stuck, does not read it. If the
    harness was gone before this call, only stdin says so. Nothing happens on systems other than Linux.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)


class ClientProgram:
    """One process of clients, as far as it is the same for every kind of client."""

    def __init__(self, settings: ProcessSettings) -> None:
        self.settings = settings
        self.history = HistoryWriter(Path(settings.history))
        self._reported = ClientStatus()

    @classmethod
    def from_arguments(cls) -> ClientProgram:
        """The program whose settings the command line names. From now on it does not outlive the harness."""
        end_with_parent()
        return cls(decode_settings(Path(sys.argv[1]).read_bytes()))

    def client_config(self) -> ClientConfig:
        """How to meet servers. Raises ``ConfigError``."""
        file = self.settings.client_config
        return read_client_config(Path(file)) if file else ClientConfig()

    def now_ns(self) -> int:
        """Run time."""
        return time.monotonic_ns() - self.settings.origin_ns

    def report(self, status: ClientStatus, news: dict[str, int]) -> None:
        """Tell the harness how the clients stand, if that has changed. What it speaks of must be in the history."""
        if status == self._reported and not news:
            return
        self._reported = status
        line = memoryview(encode_status(msgspec.structs.replace(status, news=news)) + b"\n")
        while line:
            line = line[os.write(sys.stdout.fileno(), line) :]
