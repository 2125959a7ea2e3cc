"""Pods as real ``highwater-node`` and ``highwater-zookeeper`` processes on loopback: what a pod's ConfigMap says, with
addresses that exist here.

A pod keeps its port and its data directory as long as its name: that is what a Service and a claim give it.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from highwater_chaos.backends.local.layout import free_ports
from highwater_operator.objects.naming import ADMIN_PORT, QUORUM_PORT
from highwater_operator.reconcile.context import Pace
from highwater_runtime.ports import Endpoint

PACE = Pace(steady=2.0, waiting=1.0, moving=0.4)
"""Of an operator of real nodes, which take seconds to start: it would look at nothing new."""
_HOST = re.compile(r"([a-z0-9-]+-(?:broker|controller|zookeeper)-\d+)\.[a-z0-9.-]+\.svc:\d+")
_SERVER = re.compile(r"([a-z0-9-]+-zookeeper-\d+)\.[a-z0-9.-]+\.svc:2888:3888")
_MOST_PODS = 16
POLL = {None: 0.1, False: 0.1, True: 0.5}
"""Seconds until a pod is asked again, by whether it was ready."""


class RealNodes:
    """A ``PodRunner`` of the miniature cluster."""

    def __init__(self, api: Any, folder: Path) -> None:
        self._api = api
        self._folder = folder
        self._ports: dict[str, int] = {}
        self._free = free_ports(2 * _MOST_PODS)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._ended = threading.Event()
        self.order: list[str] = []
        """Pods in the order in which they were told to stop."""

    # --- addresses ---

    def at(self, endpoint: Endpoint) -> Endpoint:
        """Where an address of the pods' network is on this machine."""
        found = _HOST.fullmatch(str(endpoint))
        if found is None:
            return endpoint
        door = {QUORUM_PORT: ".quorum", ADMIN_PORT: ".admin"}.get(endpoint.port, "")
        return Endpoint("127.0.0.1", self._port(f"{found[1]}{door}"))

    def _port(self, name: str) -> int:
        with self._lock:
            if name not in self._ports:
                self._ports[name] = self._free.pop()
            return self._ports[name]

    def environment(self, pod: str) -> dict[str, str]:
        """Of a node's process. What one that is killed leaves in its directory for temporary files goes with the
        test."""
        return {**os.environ, "TMPDIR": str(self._folder)}

    def substitute(self, pod: Any, text: str) -> str:
        """A node's properties, with addresses that exist here."""
        return _HOST.sub(lambda match: f"127.0.0.1:{self._port(match[1])}", text)

    def host(self, pod: Any) -> str:
        """Where a pod's node listens, in the life that begins."""
        return "127.0.0.1"

    # --- runner ---

    def start(self, handle: Any) -> None:
        thread = threading.Thread(target=self._life, args=(handle,), name=handle.pod["metadata"]["name"], daemon=True)
        self._threads.append(thread)
        thread.start()

    def stop(self, handle: Any, grace_seconds: int) -> None:
        name = handle.pod["metadata"]["name"]
        self.order.append(name)
        process = self._processes.get(name)
        if process is None:
            handle.stopped()
        else:
            process.terminate()

    def logs(self, pod: Any, container: str) -> str:
        path = self._folder / f"{pod['metadata']['name']}.log"
        return path.read_text() if path.exists() else ""

    def close(self) -> None:
        """Ends all that is left."""
        self._ended.set()
        for process in list(self._processes.values()):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # a server of ZooKeeper's is a process of its own
            process.wait()

    # --- one pod ---

    def _life(self, handle: Any) -> None:
        name = handle.pod["metadata"]["name"]
        admin = self._port(f"{name}.admin")
        with (self._folder / f"{name}.log").open("ab") as log:
            command = [sys.executable, "-m", *self._program(handle.pod, admin)]
            process = self._processes[name] = subprocess.Popen(
                command, stderr=log, start_new_session=True, env=self.environment(name)
            )
        ready: bool | None = None
        while process.poll() is None and not self._ended.is_set():
            now = answers(admin)
            if now != ready:
                ready = now
                handle.running(ready=now)
            time.sleep(POLL[ready])
        if self._ended.is_set():
            return
        process.wait()
        if self._processes.get(name) is process:
            del self._processes[name]
        handle.stopped()

    def _program(self, pod: Any, admin: int) -> list[str]:
        name = pod["metadata"]["name"]
        (container,) = pod["spec"]["containers"]
        home = self._folder / name
        home.mkdir(exist_ok=True)
        if container["command"] == ["highwater-node"]:
            return ["highwater_runtime.host.main", str(self._node_config(pod, home, admin))]
        assert container["command"] == ["highwater-zookeeper"]
        return [
            "highwater_operator.zookeeper.main",
            str(self._zoo_cfg(pod, home)),
            *("--pod", name, "--trace", str(home / "events.jsonl"), "--admin", f"http://127.0.0.1:{admin}"),
        ]

    def _text(self, pod: Any, suffix: str) -> str:
        metadata = pod["metadata"]
        volumes = {one["name"]: one for one in pod["spec"]["volumes"]}
        found = self._api.get("v1", "ConfigMap", volumes["config"]["configMap"]["name"], metadata["namespace"])
        text: str = found["data"][f"{metadata['name']}.{suffix}"]
        return text

    def _zoo_cfg(self, pod: Any, home: Path) -> Path:
        def server(match: re.Match[str]) -> str:
            return f"127.0.0.1:{self._port(f'{match[1]}.quorum')}:{self._port(f'{match[1]}.election')}"

        here = {"dataDir": str(home / "data"), "clientPort": str(self._port(pod["metadata"]["name"]))}
        return _written(home / "zoo.cfg", _SERVER.sub(server, self._text(pod, "cfg")), here)

    def _node_config(self, pod: Any, home: Path, admin: int) -> Path:
        metadata = pod["metadata"]
        text = self._text(pod, "properties")
        text = self.substitute(pod, text)
        here = {
            "listeners": f"PLAINTEXT://{self.host(pod)}:{self._port(metadata['name'])}",
            "log.dirs": str(home / "data"),
            "highwater.trace.path": str(home / "events.jsonl"),
            "highwater.control.path": str(home / "control.sock"),
            "highwater.admin.listener": f"http://127.0.0.1:{admin}",
        }
        return _written(home / "node.properties", text, here)


def _written(path: Path, text: str, here: dict[str, str]) -> Path:
    for key, value in here.items():
        text = re.sub(rf"^{re.escape(key)}=.*$", f"{key}={value}", text, flags=re.MULTILINE)
    path.write_text(text)
    return path


def answers(port: int) -> bool:
    """Asked of every pod several times a second, so it speaks no more HTTP than it must."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(b"GET /readyz HTTP/1.0\r\n\r\n")
            return connection.recv(64).split(b" ", 2)[1:2] == [b"200"]
    except OSError:
        return False
