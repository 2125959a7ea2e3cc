"""The controller quorum of KRaft mode."""

from __future__ import annotations

from typing import Final

from .model import (
    CLUSTERS,
    POD,
    Board,
    Row,
    controller,
    lines,
    number,
    raft,
)

QUORUM: Final = Board(
    "highwater-quorum",
    "Highwater / Controller quorum",
    "The Raft quorum that replicates the metadata log (KRaft mode).",
    CLUSTERS,
    [
        Row(
            "Now",
            [
                number("Raft epoch", "One more with every election.", f"max({raft('current_epoch')})"),
                number("Leader", "The id of the leader; -1: none is known.", f"max({raft('current_leader')})"),
                number("Metadata log end", "", f"max({raft('log_end_offset')})"),
            ],
        ),
        Row(
            "Elections",
            [
                lines("Epoch by node", "They agree but for moments.", (raft("current_epoch"), POD)),
                lines("Leader by node", "-1: it knows none.", (raft("current_leader"), POD)),
                lines(
                    "Nodes by state",
                    "Leader, follower, candidate and so on.",
                    (f"count by (current_state) ({raft('current_state')})", "{{current_state}}"),
                ),
                lines("Vote by node", "-1: it has not voted in this epoch.", (raft("current_vote"), POD)),
            ],
        ),
        Row(
            "Metadata log",
            [
                lines("High watermark", "What is committed.", (raft("high_watermark"), POD)),
                lines(
                    "Replica lag",
                    "Records behind the longest log.",
                    (
                        "max by (namespace, strimzi_io_cluster) ("
                        f"{raft('log_end_offset')}) - on (namespace, strimzi_io_cluster) group_right () "
                        f"{raft('log_end_offset')}",
                        POD,
                    ),
                ),
                lines(
                    "Records appended and fetched",
                    "Over the last 30 to 60 seconds.",
                    (f"sum({raft('append_records_rate')})", "appended"),
                    (f"sum({raft('fetch_records_rate')})", "fetched"),
                    unit="ops",
                ),
                lines(
                    "Commit latency",
                    "From append to commit, the mean of 30 to 60 seconds.",
                    (f"max({raft('commit_latency_avg')})", "mean"),
                    unit="ms",
                ),
            ],
        ),
        Row(
            "Brokers as the controller sees them",
            [
                lines(
                    "Fenced and unfenced",
                    "By the controllers.",
                    (f"max({controller('fencedbrokercount')})", "fenced"),
                    (f"max({controller('activebrokercount')})", "unfenced"),
                ),
                lines(
                    "Active controllers",
                    "By node.",
                    (controller("activecontrollercount"), POD),
                ),
            ],
        ),
    ],
)
