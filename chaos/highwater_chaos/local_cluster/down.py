"""Takes a local cluster down: brokers first, so that they can hand over what they lead, then the controllers, or the
ZooKeeper servers."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from highwater_chaos.local_cluster.errors import LocalClusterError
from highwater_chaos.local_cluster.nodes import STOP_PATIENCE, end
from highwater_chaos.local_cluster.record import ClusterRecord, find, forget, locked


@dataclass(frozen=True, slots=True)
class TakenDown:
    """What was done. ``killed``: nodes that did not stop in time."""

    cluster: ClusterRecord
    stopped: tuple[str, ...]
    killed: tuple[str, ...]
    wiped: bool


def take_down(
    name: str, *, wipe: bool = False, patience: float = STOP_PATIENCE, progress: Callable[[str], None] = lambda _: None
) -> TakenDown:
    """Stop every node that runs; ``wipe`` deletes the data too. Fine where none runs.

    Raises:
        LocalClusterError: there is no cluster of this name.
    """
    cluster = find(name)
    if cluster is None:
        raise LocalClusterError(f"there is no cluster {name!r}; 'highwater cluster up --name {name}' makes one")
    with locked(cluster.path):
        cluster = find(name) or cluster
        killed: list[str] = []
        stopped: list[str] = []
        # A broker leaves cleanly only while a controller hears it, or a server its session: brokers are last to come
        # and first to go.
        for role in ("broker", cluster.quorum_role):
            living = [(node, identity) for node, identity in cluster.living() if node.role == role]
            if living:
                progress(f"stopping {', '.join(node.name for node, _ in living)}")
            killed += end(living, patience)
            stopped += [node.name for node, _ in living]
        nodes = tuple(msgspec.structs.replace(node, process=None) for node in cluster.nodes)
        cluster = msgspec.structs.replace(cluster, nodes=nodes)
        cluster.save()
        if wipe:
            shutil.rmtree(cluster.path)
            forget(name)
    return TakenDown(cluster, tuple(stopped), tuple(killed), wipe)
