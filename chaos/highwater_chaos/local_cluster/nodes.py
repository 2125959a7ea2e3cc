"""Processes of a local cluster: their readiness, their end."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Final

import msgspec

from highwater_chaos.backends.local.layout import LOOPBACK
from highwater_chaos.local_cluster.errors import LocalClusterError
from highwater_chaos.local_cluster.record import ClusterRecord, NodeRecord
from highwater_chaos.machine.kernel.identity import Identity

_TAIL_LINES: Final = 12
_HTTP_PATIENCE: Final = 2.0
_LONGEST_WORD: Final = 65536
STOP_PATIENCE: Final = 75.0
"""Longer than a node's own bound on its shutdown (60 s)."""


def admin_page(cluster: ClusterRecord, node: NodeRecord, page: str) -> tuple[int, str] | None:
    """Status and body of a page of a node's admin endpoint; None: it does not answer."""
    try:
        port = msgspec.json.decode(cluster.ready_path(node).read_bytes())["admin"]
    except (FileNotFoundError, msgspec.DecodeError, KeyError):
        return None
    try:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{port}/{page}", timeout=_HTTP_PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return None


def why_unready(cluster: ClusterRecord, node: NodeRecord) -> str | None:
    """Why a node does not do its work; None: it does."""
    if node.role == "zookeeper":
        return _why_server_unready(node)
    answer = admin_page(cluster, node, "readyz")
    if answer is None:
        return "does not answer yet"
    status, text = answer
    return None if status == HTTPStatus.OK else text.strip()


def _why_server_unready(node: NodeRecord) -> str | None:
    """A server that serves says its mode; one without a quorum, that it does not serve."""
    try:
        with socket.create_connection((LOOPBACK, node.port), timeout=_HTTP_PATIENCE) as connection:
            connection.sendall(b"srvr")
            said = b""
            while len(said) < _LONGEST_WORD and (more := connection.recv(4096)):
                said += more
    except OSError:
        return "does not answer yet"
    return None if b"Mode: " in said else said.decode("utf-8", "replace").strip() or "says nothing"


def wait_ready(
    cluster: ClusterRecord,
    children: dict[str, subprocess.Popen[bytes]],
    patience: float,
    progress: Callable[[str], None],
) -> None:
    """Wait until every node of ``children`` does its work.

    Raises:
        LocalClusterError: one has ended, or is not ready in time; the end of its log is in the message.
    """
    waiting = {node.name: node for node in cluster.nodes if node.name in children}
    deadline = time.monotonic() + patience
    while waiting:
        for name, node in list(waiting.items()):
            status = children[name].poll()
            if status is not None:
                raise LocalClusterError(f"{name} ended with status {status}; its log ends:\n{tail(cluster, node)}")
            if why_unready(cluster, node) is None:
                del waiting[name]
                progress(f"{name} is ready")
        if waiting and time.monotonic() > deadline:
            reasons = "; ".join(f"{name}: {why_unready(cluster, node)}" for name, node in waiting.items())
            logs = "\n".join(tail(cluster, node) for node in waiting.values())
            raise LocalClusterError(f"not ready within {patience:g} s: {reasons}\n{logs}")
        time.sleep(0.05)


def end(nodes: Iterable[tuple[NodeRecord, Identity]], patience: float) -> list[str]:
    """SIGTERM, and SIGKILL to those that take longer than ``patience`` seconds; returns the names of these."""
    nodes = list(nodes)
    for _, identity in nodes:
        identity.send(signal.SIGTERM)
    killed: list[str] = []
    deadline = time.monotonic() + patience
    for node, identity in nodes:
        if not identity.wait_gone(max(0.0, deadline - time.monotonic())):
            identity.send(signal.SIGKILL)
            identity.wait_gone(10.0)
            killed.append(node.name)
    return killed


def tail(cluster: ClusterRecord, node: NodeRecord) -> str:
    """The end of a node's log, each line with its name."""
    try:
        lines = cluster.log_path(node).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return f"  {node.name}: no log"
    return "\n".join(f"  {node.name}: {line}" for line in lines[-_TAIL_LINES:])
