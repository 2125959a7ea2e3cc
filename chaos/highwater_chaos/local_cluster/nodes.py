"""Processes of a local cluster: their config, their start, their readiness, their end."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final

import msgspec

from highwater_chaos.backends.ensemble import servers
from highwater_chaos.backends.local.layout import LOOPBACK, voters_text
from highwater_chaos.backends.local.properties import render_properties
from highwater_chaos.local_cluster.errors import LocalClusterError
from highwater_chaos.local_cluster.record import ClusterRecord, NodeProcess, NodeRecord
from highwater_chaos.machine.identity import Identity
from highwater_runtime.config import ConfigError, NodeConfig
from highwater_runtime.host.config_file import read_settings

_TAIL_LINES: Final = 12
_HTTP_PATIENCE: Final = 2.0
_LONGEST_WORD: Final = 65536
STOP_PATIENCE: Final = 75.0
"""Longer than a node's own bound on its shutdown (60 s)."""


def write_config(cluster: ClusterRecord, node: NodeRecord) -> Path:
    """Write the properties of a node's next start.

    Raises:
        LocalClusterError: a property is unknown or has a value that it cannot have.
    """
    folder = cluster.node_path(node)
    (folder / "data").mkdir(parents=True, exist_ok=True)
    if node.role == "zookeeper":
        return _write_server_config(cluster, node, folder)
    factor = min(3, len(cluster.of_role("broker")))
    properties: dict[str, str | int | bool] = {
        "process.roles": node.role,
        "node.id": node.node_id,
        "cluster.id": cluster.cluster_id,
        **_quorum(cluster),
        "listeners": f"PLAINTEXT://{node.endpoint}",
        "log.dirs": str(folder / "data"),
        "default.replication.factor": factor,
        "offsets.topic.replication.factor": factor,
        **cluster.config,
        "highwater.node.name": node.name,
        "highwater.incarnation": node.incarnation + 1,
        "highwater.ready.path": str(cluster.ready_path(node)),
        "highwater.admin.listener": f"http://{LOOPBACK}:0",
    }
    path = folder / "node.properties"
    path.write_text(render_properties(properties), encoding="utf-8")
    try:
        read_settings(path)
    except ConfigError as error:
        raise LocalClusterError(_by_option(str(error), path, cluster.config)) from error
    return path


def _quorum(cluster: ClusterRecord) -> dict[str, str]:
    if cluster.mode == "zookeeper":
        return {"zookeeper.connect": ",".join(str(one.endpoint) for one in cluster.of_role("zookeeper"))}
    voters = [(one.node_id, one.endpoint) for one in cluster.of_role("controller")]
    return {"controller.quorum.voters": voters_text(voters)}


def _write_server_config(cluster: ClusterRecord, node: NodeRecord, folder: Path) -> Path:
    """``zoo.cfg``, and the server's number."""
    members = {
        _number(one): servers.Member(LOOPBACK, one.port, *one.peer_ports) for one in cluster.of_role("zookeeper")
    }
    name = "zookeeper.session.timeout.ms"
    timeout_ms = NodeConfig.of({name: int(cluster.config[name])} if name in cluster.config else {})
    text = servers.server_config(
        members,
        _number(node),
        data=folder / "data",
        session_timeout_ms=timeout_ms.zookeeper_session_timeout_ms,
        bind=LOOPBACK,
    )
    path = folder / "zoo.cfg"
    path.write_text(text, encoding="utf-8")
    (folder / "data" / servers.MYID).write_text(f"{_number(node)}\n", encoding="ascii")
    return path


def _number(node: NodeRecord) -> int:
    return int(node.name.rpartition("-")[2]) + 1


def _by_option(problems: str, path: Path, config: Mapping[str, str]) -> str:
    """Name the options, not the lines of the file that was made of them, in what is wrong with that file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        name = line.partition("=")[0].strip()
        if name in config:
            problems = problems.replace(f"{path}:{number}: ", f"--config {name}={config[name]}: ")
    return problems


def start(cluster: ClusterRecord, node: NodeRecord) -> tuple[NodeRecord, subprocess.Popen[bytes]]:
    """Start a node in a session of its own, so that it outlives the terminal; returns it with its process."""
    config = write_config(cluster, node)
    cluster.ready_path(node).unlink(missing_ok=True)
    ours = (sys.executable, "-m", "highwater_runtime.host.main", str(config))
    with cluster.log_path(node).open("ab") as log:
        child = subprocess.Popen(  # noqa: S603 - our own program, or ZooKeeper's
            servers.command(config) if node.role == "zookeeper" else ours,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    identity = Identity.of(child.pid)
    process = None if identity is None else NodeProcess.of(identity)
    return msgspec.structs.replace(node, incarnation=node.incarnation + 1, process=process), child


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
