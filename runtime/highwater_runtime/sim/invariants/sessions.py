"""Invariants of brokers' sessions with the active controller (KIP-631, KRaft mode).

``unfencing-refused``: a fenced broker that has followed the metadata up to its own registration, and asks for no fence,
is unfenced by that heartbeat. If it had to be up to date with all of the metadata, it would stay fenced for as long as
the metadata grows (KAFKA-13959).
"""

from __future__ import annotations

from highwater_runtime.sim.connection import SimRequest
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.violation import Violations


class SessionInvariants:
    """Checks active controllers after heartbeats."""

    def __init__(self, live: LiveCluster, violations: Violations) -> None:
        self._live = live
        self._violations = violations

    def on_request(self, node: str, call: SimRequest) -> None:
        """Look at what a controller has made of a heartbeat."""
        body, image = call.body, self._live.latest_image(node)
        broker = None if image is None else image.brokers.get(body.broker_id)
        if broker is None or broker.epoch != body.broker_epoch or body.want_fence or body.want_shut_down:
            return
        # A heartbeat that was sent before a controlled shutdown, and comes late, may be the one that ends it.
        if broker.fenced and not broker.in_controlled_shutdown and body.current_metadata_offset >= broker.epoch:
            what = (
                f"{node} keeps broker {broker.id} fenced, which asks for no fence and has followed the metadata up to"
                f" {body.current_metadata_offset}; its registration is at {broker.epoch}"
            )
            self._violations.add("unfencing-refused", f"broker-{broker.id}", what, broker.epoch)
