"""Which program runs a cluster's nodes: by ``cluster.runtime``, and ZooKeeper's servers beside it."""

from __future__ import annotations

from highwater_chaos.backends.local.apache_kafka import ApacheKafkaProgram
from highwater_chaos.backends.local.highwater_program import HighwaterProgram
from highwater_chaos.backends.local.program import NodeProgram, Role
from highwater_chaos.backends.local.zookeeper_program import ZooKeeperProgram
from highwater_chaos.experiment import Cluster


def program_of(cluster: Cluster) -> NodeProgram:
    """The software that the experiment asks for: its brokers' and controllers'."""
    match cluster.runtime:
        case "highwater":
            return HighwaterProgram()
        case "apache-kafka":
            return ApacheKafkaProgram(cluster.kafka)


def programs_of(cluster: Cluster) -> dict[Role, NodeProgram]:
    """The software of each role that the cluster has."""
    program = program_of(cluster)
    if cluster.mode == "zookeeper":
        return {"zookeeper": ZooKeeperProgram(is_observed=cluster.runtime == "highwater"), "broker": program}
    return {"controller": program, "broker": program}
