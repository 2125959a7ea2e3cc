"""Our own runtime as the system under test: ``highwater-node CONFIG``, one process a node.

Nodes write their events to a file each, before anything that others could see of them leaves (so SIGKILL cannot hide an
event whose effect is known); the observer reads along.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from highwater_chaos.backends.local.event_files import EventFiles
from highwater_chaos.backends.local.layout import voters_text
from highwater_chaos.backends.local.program import ClusterPlan, Launch, NodePlace, Observer, Site
from highwater_chaos.backends.local.properties import render_properties
from highwater_chaos.backends.primitives import AppliesRpcRules, Primitive, SkewsClocks, StallsDisks
from highwater_chaos.base.distribution import installing
from highwater_chaos.experiment import Cluster
from highwater_chaos.machine.kernel.own_program import own_program
from highwater_runtime.metadata.metadata_version import MetadataVersion

_CONTROL: Final = "control.sock"
_CONFIG: Final = "node.properties"
_READY: Final = "ready.json"


class HighwaterProgram:
    """See :class:`~highwater_chaos.backends.local.program.NodeProgram`."""

    name = "highwater"
    stopped_status = 0
    memory_mib = 100
    says_why_it_ends = True
    done_by_nodes = frozenset[Primitive]({AppliesRpcRules, SkewsClocks, StallsDisks})

    def problems(self, cluster: Cluster) -> list[str]:
        """It is always there: it is this package. What brokers need to reach ZooKeeper is optional."""
        problem = kazoo_missing() if cluster.mode == "zookeeper" else None
        return [] if problem is None else [problem]

    def why_no_rules(self, cluster: Cluster) -> str | None:
        """Nothing: every node has a server of ours."""
        del cluster
        return None

    def launch(self, plan: ClusterPlan, place: NodePlace, incarnation: int) -> Launch:
        config = place.files / _CONFIG
        config.write_text(render_properties(node_properties(plan, place, incarnation)), encoding="utf-8")
        (place.files / _CONTROL).unlink(missing_ok=True)
        (place.files / _READY).unlink(missing_ok=True)
        return Launch(
            argv=own_program("highwater_runtime.host.main", str(config)),
            paths={f"config/{place.name}.properties": config},
            control=None if place.record is None else place.files / _CONTROL,
        )

    def observer(self, site: Site) -> Observer:
        places = (*site.plan.of_role("controller"), *site.plan.of_role("broker"))
        return EventFiles({place.name: place.record for place in places if place.record is not None})


def kazoo_missing() -> str | None:
    """Why brokers of ZooKeeper mode cannot run here; None: they can."""
    found = find_spec("kazoo") is not None
    return None if found else f"mode zookeeper needs kazoo: {installing('zookeeper')}"


def node_properties(plan: ClusterPlan, place: NodePlace, incarnation: int) -> dict[str, str | int | bool]:
    """The config of one incarnation of a node."""
    properties: dict[str, str | int | bool] = {
        "process.roles": place.role,
        "node.id": place.node_id,
        "cluster.id": plan.cluster_id,
        **_quorum(plan),
        "listeners": f"PLAINTEXT://{place.bind}",
        "log.dirs": str(place.data),
        **plan.config_of(place.name),
        "highwater.node.name": place.name,
        "highwater.incarnation": incarnation,
        "highwater.seed": plan.seed,
        "highwater.ready.path": str(place.files / _READY),
    }
    if place.record is not None:
        properties["highwater.trace.path"] = str(place.record)
        properties["highwater.control.path"] = str(place.files / _CONTROL)
    if plan.cluster.switches:
        switches = sorted(plan.cluster.switches.items())
        properties["highwater.switches"] = ",".join(f"{name}={value}" for name, value in switches)
    if place.role == "broker":
        properties.setdefault("advertised.listeners", f"PLAINTEXT://{place.advertised}")
    else:
        asked = plan.cluster.metadata_version
        version = MetadataVersion.latest() if asked is None else MetadataVersion.of(asked)
        properties.setdefault("highwater.bootstrap.metadata.version", version.version)
    return properties


def _quorum(plan: ClusterPlan) -> dict[str, str]:
    """Who keeps the metadata."""
    if plan.cluster.mode == "zookeeper":
        return {"zookeeper.connect": ",".join(str(one.advertised) for one in plan.of_role("zookeeper"))}
    voters = [(one.node_id, one.advertised) for one in plan.of_role("controller")]
    return {"controller.quorum.voters": voters_text(voters)}
