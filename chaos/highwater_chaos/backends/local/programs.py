"""Which program runs a cluster's nodes, by ``cluster.runtime``."""

from __future__ import annotations

from highwater_chaos.backends.local.apache_kafka import ApacheKafkaProgram
from highwater_chaos.backends.local.highwater_program import HighwaterProgram
from highwater_chaos.backends.local.program import NodeProgram
from highwater_chaos.experiment import Cluster


def program_of(cluster: Cluster) -> NodeProgram:
    """The software that the experiment asks for."""
    match cluster.runtime:
        case "highwater":
            return HighwaterProgram()
        case "apache-kafka":
            return ApacheKafkaProgram()
