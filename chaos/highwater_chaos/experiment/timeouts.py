"""The time-outs of a cluster that decide how long a fault may go on having an effect."""

from __future__ import annotations

from typing import Final

from highwater_chaos.experiment.model import Cluster
from highwater_runtime.config import NodeConfig

_NAMES: Final = (
    "broker.session.timeout.ms",
    "zookeeper.session.timeout.ms",
    "replica.lag.time.max.ms",
    "replica.socket.timeout.ms",
)


def timeouts(cluster: Cluster) -> NodeConfig:
    """Session, lag and socket time-outs as configured. All else has its default: the other properties may be those of
    software that is not ours."""
    return NodeConfig.of({name: cluster.config[name] for name in _NAMES if name in cluster.config})


def session_timeout_ms(cluster: Cluster) -> int:
    """For how long a broker that is not heard of stays registered."""
    config = timeouts(cluster)
    return config.zookeeper_session_timeout_ms if cluster.mode == "zookeeper" else config.broker_session_timeout_ms
