"""A server's metrics, by the names that the JMX exporter's usual rules for ZooKeeper give, so that existing dashboards
show them. (Debian's package has no Prometheus provider of ZooKeeper's own.)"""

from __future__ import annotations

from typing import Final

from highwater_operator.zookeeper.four_letter_words import Monitored
from highwater_runtime.host.metrics import HostMetrics
from highwater_runtime.host.metrics import exposition as exposition_of

GAUGES: Final = {
    "zookeeper_avgrequestlatency": "zk_avg_latency",
    "zookeeper_maxrequestlatency": "zk_max_latency",
    "zookeeper_minrequestlatency": "zk_min_latency",
    "zookeeper_numaliveconnections": "zk_num_alive_connections",
    "zookeeper_outstandingrequests": "zk_outstanding_requests",
    "zookeeper_inmemorydatatree_nodecount": "zk_znode_count",
    "zookeeper_inmemorydatatree_watchcount": "zk_watch_count",
    "zookeeper_quorumsize": "zk_quorum_size",
}
COUNTERS: Final = {
    "zookeeper_packetsreceived_total": "zk_packets_received",
    "zookeeper_packetssent_total": "zk_packets_sent",
}
SERVING: Final = "highwater_zookeeper_serving"
LEADING: Final = "highwater_zookeeper_leading"
SYNCED_FOLLOWERS: Final = "highwater_zookeeper_synced_followers"


def exposition(found: Monitored | None) -> bytes:
    """Prometheus' text. ``found`` None: the server does not serve, and nothing else is known."""
    metrics = HostMetrics()
    metrics.gauge(SERVING, found is not None)
    if found is not None:
        metrics.gauge(LEADING, found.state != "follower")
        metrics.gauge(SYNCED_FOLLOWERS, found.synced_followers)
        for name, source in GAUGES.items():
            if source in found.values:
                metrics.gauge(name, found.values[source])
        for name, source in COUNTERS.items():
            if source in found.values:
                metrics.counter(name, found.values[source])
    return exposition_of(metrics)
