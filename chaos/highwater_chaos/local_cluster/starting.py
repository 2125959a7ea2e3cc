"""Processes of a local cluster: their config, which the runtime checks, and their start."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import msgspec

from highwater_chaos.backends.ensemble import servers
from highwater_chaos.backends.local.layout import LOOPBACK, voters_text
from highwater_chaos.backends.local.properties import render_properties
from highwater_chaos.local_cluster.errors import LocalClusterError
from highwater_chaos.local_cluster.record import ClusterRecord, NodeProcess, NodeRecord
from highwater_chaos.machine.identity import Identity
from highwater_chaos.machine.own_program import own_program
from highwater_runtime.config import ConfigError, NodeConfig
from highwater_runtime.host.config.file import read_settings


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
    ours = own_program("highwater_runtime.host.main", str(config))
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
