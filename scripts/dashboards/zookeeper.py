"""ZooKeeper mode: the ensemble and the controller."""

from __future__ import annotations

from typing import Final

from .model import (
    CLUSTERS,
    OF,
    POD,
    Board,
    Row,
    controller,
    lines,
    number,
    rate,
)

ZOOKEEPER: Final = Board(
    "highwater-zookeeper",
    "Highwater / ZooKeeper",
    "The ensemble, and the controller that it elects (ZooKeeper mode).",
    CLUSTERS,
    [
        Row(
            "Controller",
            [
                number("Active controllers", "One.", f"sum({controller('activecontrollercount')})"),
                number("Offline", "Without a leader.", f"max({controller('offlinepartitionscount')})", bad=1),
                number("Brokers", "That the controller has alive.", f"max({controller('activebrokercount')})"),
                lines("Active controllers by broker", "", (controller("activecontrollercount"), POD)),
            ],
        ),
        Row(
            "Ensemble",
            [
                lines(
                    "Servers that serve, and their leader",
                    "A server without a quorum does not serve.",
                    (f"highwater_zookeeper_serving{{{OF}}}", f"{POD} serves"),
                    (f"highwater_zookeeper_leading{{{OF}}}", f"{POD} leads"),
                    (f"max(highwater_zookeeper_synced_followers{{{OF}}})", "synced followers"),
                ),
                lines(
                    "Latency of requests",
                    "Mean and maximum since the server's start.",
                    (f"zookeeper_avgrequestlatency{{{OF}}}", f"{POD} mean"),
                    (f"zookeeper_maxrequestlatency{{{OF}}}", f"{POD} max"),
                    unit="ms",
                ),
                lines("Outstanding requests", "By server.", (f"zookeeper_outstandingrequests{{{OF}}}", POD)),
                lines(
                    "Connections, nodes and watches",
                    "By server.",
                    (f"zookeeper_numaliveconnections{{{OF}}}", f"{POD} connections"),
                    (f"zookeeper_inmemorydatatree_nodecount{{{OF}}}", f"{POD} nodes"),
                    (f"zookeeper_inmemorydatatree_watchcount{{{OF}}}", f"{POD} watches"),
                ),
                lines(
                    "Packets",
                    "By server.",
                    (rate(f"zookeeper_packetsreceived_total{{{OF}}}", "kubernetes_pod_name"), f"{POD} received"),
                    (rate(f"zookeeper_packetssent_total{{{OF}}}", "kubernetes_pod_name"), f"{POD} sent"),
                    unit="pps",
                ),
            ],
        ),
    ],
)
