"""What every program of clients has in common: settings, run time, history, and reports of its status."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from highwater_chaos.base.child_process import end_with_parent
from highwater_chaos.workload.client_group import ClientStatus
from highwater_chaos.workload.drivers.lines import ProcessSettings, decode_settings, encode_status
from highwater_chaos.workload.history_files import HistoryWriter
from highwater_runtime.host.net.listeners import OutboundSecurity
from highwater_runtime.host.security.client_config import ClientConfig, read_client_config
from highwater_runtime.ports import Endpoint


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

    def security(self) -> Callable[[Endpoint], OutboundSecurity]:
        """How the server at an endpoint is met. Raises ``ConfigError``."""
        brokers, file = self.client_config(), self.settings.controllers_config
        if not file:
            return brokers.security
        controllers = read_client_config(Path(file))
        found = {endpoint for one in self.settings.clients.registers for endpoint in one.controllers}
        return lambda at: (controllers if at in found else brokers).outbound

    def now_ns(self) -> int:
        return time.monotonic_ns() - self.settings.origin_ns

    def report(self, status: ClientStatus, news: dict[str, int]) -> None:
        """Tell the harness how the clients stand, if that has changed. What it speaks of must be in the history."""
        if status == self._reported and not news:
            return
        self._reported = status
        line = memoryview(encode_status(msgspec.structs.replace(status, news=news)) + b"\n")
        while line:
            line = line[os.write(sys.stdout.fileno(), line) :]
