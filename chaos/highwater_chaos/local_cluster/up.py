"""Brings a local cluster up: all of its nodes ready, or nothing."""

from __future__ import annotations

import secrets
import shutil
import subprocess
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from highwater_chaos.backends.ensemble.servers import available
from highwater_chaos.backends.local.layout import LOOPBACK, free_ports, is_free
from highwater_chaos.experiment.nodes import CONTROLLER_ID_BASE
from highwater_chaos.local_cluster.errors import LocalClusterError
from highwater_chaos.local_cluster.nodes import end, wait_ready
from highwater_chaos.local_cluster.record import (
    ClusterRecord,
    Mode,
    NodeRecord,
    Role,
    directory_of,
    load,
    locked,
    point_to,
)
from highwater_chaos.local_cluster.starting import start, write_files
from highwater_chaos.machine.kernel.identity import Identity
from highwater_runtime.ports import Endpoint

FIRST_PORT: Final = 9092
BROKERS: Final = 3
CONTROLLERS: Final = 1
_READY_WITHIN: Final = 120.0
_UNDO_PATIENCE: Final = 10.0
_UUID_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """What is asked for; None: as the cluster was before, or the default for a new one.

    ``port``: of broker 0, the others have the next ones. ``config``: properties of all nodes, by Kafka's names.
    """

    name: str = "default"
    directory: Path | None = None
    brokers: int | None = None
    controllers: int | None = None
    """Controllers, or in ZooKeeper mode its servers."""
    port: int | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    wipe: bool = False
    mode: Mode | None = None


def bring_up(wish: ClusterOptions, progress: Callable[[str], None] = lambda _: None) -> ClusterRecord:
    """Start all nodes and wait until they work; of a cluster of which some nodes have died, those.

    Raises:
        LocalClusterError: it runs already, or a part of it does and something else is asked for than it was made with;
            its data are of another shape, an address is taken, a property is wrong, a node does not come up. What was
            started is ended then, and a directory that was made for it is gone again.
    """
    directory = directory_of(wish.name) if wish.directory is None else wish.directory.absolute()
    _check_directory(wish, directory)
    made = not directory.exists()
    directory.mkdir(parents=True, exist_ok=True)
    try:
        with locked(directory):
            before = load(directory)
            if before is not None and before.living():
                return _start_dead(wish, before, progress)
            cluster = _planned(wish, directory, None if wish.wipe else before)
            if cluster.mode == "zookeeper" and (problem := available()):
                raise LocalClusterError(problem)
            _check_ports(cluster)
            for node in cluster.nodes:
                write_files(cluster, node)
            if wish.wipe and before is not None:
                # Last of all, once everything that can be wrong with what is asked for has been found.
                for node in before.nodes:
                    shutil.rmtree(before.node_path(node))
            running = _start(cluster, cluster.nodes, progress)
            point_to(wish.name, directory)
            return running
    except BaseException:
        if made:
            shutil.rmtree(directory, ignore_errors=True)
        raise


def _check_directory(wish: ClusterOptions, directory: Path) -> None:
    if wish.directory is None:
        return
    pointed = directory_of(wish.name)
    if pointed != directory and load(pointed) is not None:
        raise LocalClusterError(
            f"cluster {wish.name} has its data in {pointed}; give another --name, or take it away first with"
            f" 'highwater cluster down --name {wish.name} --wipe'"
        )
    if directory.is_dir() and any(directory.iterdir()) and load(directory) is None:
        raise LocalClusterError(f"{directory} is not empty and holds no cluster of ours; give an empty directory")
    there = load(directory)
    if there is not None and there.name != wish.name:
        raise LocalClusterError(f"{directory} holds the cluster {there.name!r}: give --name {there.name}")


def _planned(wish: ClusterOptions, directory: Path, before: ClusterRecord | None) -> ClusterRecord:
    """What is to run: as before where nothing else is asked for."""
    had = {} if before is None else {node.name: node for node in before.nodes}
    brokers = wish.brokers or (BROKERS if before is None else len(before.of_role("broker")))
    mode: Mode = wish.mode or ("kraft" if before is None else before.mode)
    controllers = wish.controllers or (CONTROLLERS if before is None else len(before.of_role(before.quorum_role)))
    option = "--zookeepers" if mode == "zookeeper" else "--controllers"
    if before is not None:
        if mode != before.mode:
            raise LocalClusterError(
                f"the data in {directory} are of mode {before.mode}, not {mode}:"
                " leave --mode out, or start with an empty cluster: --wipe"
            )
        if controllers != len(before.of_role(before.quorum_role)):
            raise LocalClusterError(
                f"the data in {directory} are of a quorum of {len(before.of_role(before.quorum_role))},"
                f" not {controllers}: leave {option} out, or start with an empty cluster: --wipe"
            )
        if brokers < len(before.of_role("broker")):
            raise LocalClusterError(
                f"the data in {directory} are of {len(before.of_role('broker'))} brokers, not {brokers}:"
                " leave --brokers out, or start with an empty cluster: --wipe"
            )
    first = wish.port or (had["broker-0"].port if "broker-0" in had else FIRST_PORT)
    nodes: list[NodeRecord] = []
    for index in range(brokers):
        name = f"broker-{index}"
        incarnation = had[name].incarnation if name in had else 0
        nodes.append(NodeRecord(name, "broker", index, first + index, incarnation))
    taken = {node.port for node in nodes}
    role: Role = "zookeeper" if mode == "zookeeper" else "controller"
    ports = 3 if mode == "zookeeper" else 1
    unused = [port for port in free_ports(ports * controllers + brokers) if port not in taken]
    for index in range(controllers):
        name = f"{role}-{index}"
        old = had.get(name)
        if old is None or taken & {old.port, *old.peer_ports}:
            port, *peers = (unused.pop() for _ in range(ports))
        else:
            port, peers = old.port, list(old.peer_ports)
        number = index + (2 if mode == "zookeeper" else 1) * CONTROLLER_ID_BASE
        incarnation = 0 if old is None else old.incarnation
        nodes.insert(index, NodeRecord(name, role, number, port, incarnation, peer_ports=tuple(peers)))
    config = {**({} if before is None else before.config), **wish.config}
    cluster_id = _cluster_id() if before is None else before.cluster_id
    return ClusterRecord(wish.name, str(directory), cluster_id, tuple(nodes), config, mode)


def _start_dead(wish: ClusterOptions, before: ClusterRecord, progress: Callable[[str], None]) -> ClusterRecord:
    """Start the nodes whose processes have ended, as they were; those that live are not touched."""
    living = before.living()
    pids = ", ".join(f"{node.name} (pid {identity.pid})" for node, identity in living)
    names = {node.name for node, _ in living}
    dead = [node for node in before.nodes if node.name not in names]
    if not dead:
        raise LocalClusterError(f"cluster {before.name} runs already: {pids}; see 'highwater cluster status'")
    stopped = tuple(msgspec.structs.replace(node, process=None) for node in before.nodes)
    as_before = msgspec.structs.replace(before, nodes=stopped)
    if wish.wipe or _planned(wish, before.path, before) != as_before:
        raise LocalClusterError(
            f"cluster {before.name} runs already, without {', '.join(node.name for node in dead)}: {pids}; 'highwater"
            f" cluster up --name {before.name}' without other options starts what is missing, 'highwater cluster down"
            f" --name {before.name}' stops the rest"
        )
    _check_ports(msgspec.structs.replace(before, nodes=tuple(dead)))
    return _start(before, dead, progress)


def _check_ports(cluster: ClusterRecord) -> None:
    ports = [port for node in cluster.nodes for port in (node.port, *node.peer_ports)]
    if taken := [str(Endpoint(LOOPBACK, port)) for port in ports if not is_free(port)]:
        raise LocalClusterError(
            f"ports in use by other processes: {', '.join(taken)}; choose another --port, or stop those processes"
        )


def _start(cluster: ClusterRecord, nodes: Iterable[NodeRecord], progress: Callable[[str], None]) -> ClusterRecord:
    """Start ``nodes`` of the cluster; if one of them does not come up, none of them runs."""
    children: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for node in nodes:
            running, child = start(cluster, node)
            children[node.name] = child
            now = tuple(running if one.name == node.name else one for one in cluster.nodes)
            cluster = msgspec.structs.replace(cluster, nodes=now)
            # After each: `cluster down` must find every process, also if this one is killed meanwhile.
            cluster.save()
        wait_ready(cluster, children, _READY_WITHIN, progress)
    except BaseException:
        _undo(cluster, children)
        raise
    return cluster


def _undo(cluster: ClusterRecord, children: Mapping[str, subprocess.Popen[bytes]]) -> None:
    identities = [(node, Identity.of(children[node.name].pid)) for node in cluster.nodes if node.name in children]
    end([(node, identity) for node, identity in identities if identity is not None], _UNDO_PATIENCE)
    for child in children.values():
        child.wait()


def _cluster_id() -> str:
    """22 characters, as Kafka's cluster ids."""
    while (text := urlsafe_b64encode(secrets.token_bytes(_UUID_BYTES))[:22].decode()).startswith("-"):
        pass
    return text


__all__ = ["BROKERS", "CONTROLLERS", "FIRST_PORT", "ClusterOptions", "bring_up"]
