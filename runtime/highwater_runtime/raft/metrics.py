"""The quorum's gauges, under the names that Kafka's JMX exporter rules give them."""

from __future__ import annotations

from typing import Final

from highwater_runtime.ports import Metrics
from highwater_runtime.raft.metadata_log import MetadataLog
from highwater_runtime.raft.quorum import Quorum

_PREFIX: Final = "kafka_server_raftmetrics_"


class RaftMetrics:
    """Sets the gauges that have changed. ``current_state`` is a series of value 1 whose label names the state."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._state = ""
        self._set: dict[str, int] = {}
        self._reported: tuple[object, object, int, int] | None = None

    def report(self, quorum: Quorum, log: MetadataLog, high_watermark: int) -> None:
        """Bring the gauges up to date. Called after every event, and most change nothing."""
        reported = (quorum.state, quorum.saved, high_watermark, log.end_offset)
        if reported == self._reported:
            return
        self._reported = reported
        state = quorum.state.NAME
        if state != self._state:
            if self._state:
                self._metrics.forget(f"{_PREFIX}current_state", current_state=self._state)
            self._metrics.gauge(f"{_PREFIX}current_state", 1, current_state=state)
            self._state = state
        self._gauge("current_leader", -1 if quorum.leader_id is None else quorum.leader_id)
        self._gauge("current_vote", -1 if quorum.voted_id is None else quorum.voted_id)
        self._gauge("current_epoch", quorum.epoch)
        self._gauge("high_watermark", high_watermark)
        self._gauge("log_end_offset", log.end_offset)

    def _gauge(self, name: str, value: int) -> None:
        if self._set.get(name) != value:
            self._set[name] = value
            self._metrics.gauge(_PREFIX + name, value)
