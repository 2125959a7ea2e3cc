"""Invariants of brokers' sessions with the active controller (KIP-631, KRaft mode).

* ``unfencing-refused``: a fenced broker that has followed the metadata up to its own registration, and asks for no
  fence, is unfenced by that heartbeat. If it had to be up to date with all of the metadata, it would stay fenced for as
  long as the metadata grows (KAFKA-13959).
* ``unfencing-early``: a broker asks for a fence until it has opened its replicas. Else it is elected, and has no log.
* ``shutdown-early``: a broker that is told to stop waits for the leave of the controller, or until its time is over.
  Else it leads partitions that nobody serves until its session ends.
"""

from __future__ import annotations

from highwater_runtime.ports import MS
from highwater_runtime.ports.trace import BrokerStateChanged
from highwater_runtime.sim.connection import SimRequest
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.violation import Violations
from highwater_runtime.sim.simulator import Simulator


class SessionInvariants:
    """Checks active controllers after heartbeats, and brokers when they stop."""

    def __init__(self, simulator: Simulator, live: LiveCluster, violations: Violations) -> None:
        self._simulator = simulator
        self._live = live
        self._violations = violations
        self._leaving: dict[str, tuple[int, list[str]]] = {}
        """Brokers that were told to stop: when, by their own clocks, and which controllers were active then."""

    def on_request(self, node: str, call: SimRequest) -> None:
        """Look at what a controller has made of a heartbeat."""
        self._violations.now_ns = self._simulator.now_ns
        body, image = call.body, self._live.latest_image(node)
        broker = None if image is None else image.brokers.get(body.broker_id)
        if broker is None or broker.epoch != body.broker_epoch or body.want_fence or body.want_shut_down:
            return
        live = self._live.broker(f"broker-{broker.id}")
        if live is not None and live.broker_epoch == broker.epoch and not live.replicas_are_loaded:
            what = f"broker {broker.id} asks for no fence, and has not opened its replicas"
            self._violations.add("unfencing-early", f"broker-{broker.id}", what, broker.epoch)
        # A heartbeat that was sent before a controlled shutdown, and comes late, may be the one that ends it.
        if broker.fenced and not broker.in_controlled_shutdown and body.current_metadata_offset >= broker.epoch:
            what = (
                f"{node} keeps broker {broker.id} fenced, which asks for no fence and has followed the metadata up to"
                f" {body.current_metadata_offset}; its registration is at {broker.epoch}"
            )
            self._violations.add("unfencing-refused", f"broker-{broker.id}", what, broker.epoch)

    def on_event(self, node: str, _incarnation: int, event: BrokerStateChanged) -> None:
        """Look at a broker that stops."""
        match event.reason:
            case "controlled-shutdown":
                self._leaving[node] = self._live.node_time_ns(node), self._active()
            case "stopped" if node in self._leaving:
                self._stops(node, event, *self._leaving.pop(node))

    def _active(self) -> list[str]:
        return [name for name in self._simulator.nodes if self._live.latest_image(name) is not None]

    def _stops(self, node: str, event: BrokerStateChanged, began_ns: int, active: list[str]) -> None:
        live = self._live.broker(node)
        if live is None or len(active) != 1 or self._active() != active:
            return  # another controller may have given leave
        image = self._live.latest_image(active[0])
        broker = None if image is None else image.brokers.get(event.broker)
        waited_ns = self._live.node_time_ns(node) - began_ns
        most_ns = live.options.config.controlled_shutdown_timeout_ms * MS
        if broker is not None and broker.epoch == event.broker_epoch and not broker.fenced and waited_ns < most_ns:
            what = f"broker {broker.id} stops {waited_ns // MS} ms after it was told to, without leave of {active[0]}"
            self._violations.add("shutdown-early", node, what, broker.epoch)
