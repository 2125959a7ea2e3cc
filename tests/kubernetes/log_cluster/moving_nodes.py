"""Real nodes that move: a controller listens on another loopback address after each start, as a replaced pod has
another address, and the resolver of every node answers with the old one until its time to live has passed.

The resolver is put before the C library's by ``sitecustomize`` (:data:`SITE`), in the node processes alone. It answers
as badly as a cache may: as if it had asked for the name just before the pod moved.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

from log_cluster.real_nodes import RealNodes

SITE = '''
import os, pathlib, socket, time
_real, _names = socket.getaddrinfo, pathlib.Path(os.environ["HIGHWATER_TEST_NAMES"])

def getaddrinfo(host, port, *args, **kwargs):
    text = host.decode() if isinstance(host, bytes) else host
    if isinstance(text, str) and text.endswith(".svc"):
        try:
            old, new, until = (_names / text).read_text().split()
        except FileNotFoundError:
            raise socket.gaierror(socket.EAI_NONAME, "no such name") from None
        host = old if time.time() < float(until) else new
    return _real(host, port, *args, **kwargs)

class Socket(socket.socket):
    """Connects from the pod's own address, as in a network namespace of its own."""

    def connect(self, address):
        if self.family == socket.AF_INET and address[0].startswith("127.77."):
            self.bind((os.environ["HIGHWATER_TEST_ADDRESS"], 0))
        super().connect(address)

socket.getaddrinfo, socket.socket = getaddrinfo, Socket
'''
_VOTERS = re.compile(r"^controller\.quorum\.voters=(.*)$", re.MULTILINE)


class MovingNodes(RealNodes):
    """See the module; ``ttl`` in seconds."""

    def __init__(self, api: Any, folder: Path, ttl: float) -> None:
        super().__init__(api, folder)
        self._names = folder / "names"
        self._site = folder / "site"
        self._ttl = ttl
        self._lives: dict[str, int] = {}
        self._hosts: dict[str, str] = {}
        self._names.mkdir()
        self._site.mkdir()
        (self._site / "sitecustomize.py").write_text(SITE)

    def environment(self, pod: str) -> dict[str, str]:
        path = os.pathsep.join((str(self._site), os.environ.get("PYTHONPATH", "")))
        names, own = str(self._names), self._hosts.get(pod, "127.0.0.1")
        return {**os.environ, "PYTHONPATH": path, "HIGHWATER_TEST_NAMES": names, "HIGHWATER_TEST_ADDRESS": own}

    def substitute(self, pod: Any, text: str) -> str:
        """Voters keep their names, with the port that each has here."""
        voters = _VOTERS.search(text)
        assert voters is not None
        kept = re.sub(
            r"@([a-z0-9-]+)(\.[a-z0-9.-]+\.svc):\d+", lambda m: f"@{m[1]}{m[2]}:{self._port(m[1])}", voters[1]
        )
        return _VOTERS.sub(f"controller.quorum.voters={kept}", super().substitute(pod, text))

    def host(self, pod: Any) -> str:
        metadata = pod["metadata"]
        name = metadata["name"]
        if "-controller-" not in name:
            return "127.0.0.1"
        life = self._lives[name] = self._lives.get(name, -1) + 1
        number = int(name.rpartition("-")[2])
        here, before = f"127.77.{number}.{life + 1}", f"127.77.{number}.{max(life, 1)}"
        self._hosts[name] = here
        until = time.time() + self._ttl if life else 0.0
        answer = self._names / f"{name}.demo-controllers.{metadata['namespace']}.svc"
        whole = answer.with_suffix(".tmp")
        whole.write_text(f"{before} {here} {until}")
        whole.replace(answer)
        return here
