"""Processes of a local cluster: the files of backend ``local``, which the runtime checks, and their start."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import msgspec

from highwater_chaos.backends.local.layout import LOOPBACK
from highwater_chaos.backends.local.program import ClusterPlan, Launch, NodePlace
from highwater_chaos.backends.local.programs import programs_of
from highwater_chaos.experiment import Cluster
from highwater_chaos.local_cluster.errors import LocalClusterError
from highwater_chaos.local_cluster.record import ClusterRecord, NodeProcess, NodeRecord
from highwater_chaos.machine.kernel.identity import Identity
from highwater_runtime.config import ConfigError
from highwater_runtime.host.config.file import read_settings


def write_files(cluster: ClusterRecord, node: NodeRecord) -> Launch:
    """Write the files of a node's next start, and return what to execute.

    Raises:
        LocalClusterError: a property is unknown or has a value that it cannot have.
    """
    plan = _plan(cluster)
    place = plan.place(node.name)
    place.data.mkdir(parents=True, exist_ok=True)
    path = place.files
    try:
        launch = programs_of(plan.cluster)[node.role].launch(plan, place, node.incarnation + 1)
        if node.role != "zookeeper":
            (path,) = launch.paths.values()
            read_settings(path)
    except ConfigError as error:
        raise LocalClusterError(_by_option(str(error), path, cluster.config)) from error
    return launch


def _plan(cluster: ClusterRecord) -> ClusterPlan:
    brokers, quorum = len(cluster.of_role("broker")), len(cluster.of_role(cluster.quorum_role))
    factor = min(3, brokers)
    defaults = {"default.replication.factor": factor, "offsets.topic.replication.factor": factor}
    return ClusterPlan(
        Cluster.model_validate(
            {
                "mode": cluster.mode,
                "brokers": brokers,
                f"{cluster.quorum_role}s": quorum,
                "config": {**defaults, **cluster.config},
            }
        ),
        cluster.cluster_id,
        0,
        tuple(_place(cluster, node) for node in cluster.nodes),
        {node.name: {"highwater.admin.listener": f"http://{LOOPBACK}:0"} for node in cluster.nodes},
    )


def _place(cluster: ClusterRecord, node: NodeRecord) -> NodePlace:
    return NodePlace(
        name=node.name,
        node_id=node.node_id,
        role=node.role,
        bind=node.endpoint,
        advertised=node.endpoint,
        data=cluster.node_path(node) / "data",
        files=cluster.node_path(node),
        record=None,
        peer_ports=node.peer_ports,
    )


def _by_option(problems: str, path: Path, config: Mapping[str, str]) -> str:
    """Name the options, not the lines of the file that was made of them, in what is wrong with that file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() if path.is_file() else (), 1):
        name = line.partition("=")[0].strip()
        if name in config:
            problems = problems.replace(f"{path}:{number}: ", f"--config {name}={config[name]}: ")
    return problems


def start(cluster: ClusterRecord, node: NodeRecord) -> tuple[NodeRecord, subprocess.Popen[bytes]]:
    """Start a node in a session of its own, so that it outlives the terminal; returns it with its process."""
    launch = write_files(cluster, node)
    with cluster.log_path(node).open("ab") as log:
        child = subprocess.Popen(  # noqa: S603 - our own program, or ZooKeeper's
            launch.argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    identity = Identity.of(child.pid)
    process = None if identity is None else NodeProcess.of(identity)
    return msgspec.structs.replace(node, incarnation=node.incarnation + 1, process=process), child
