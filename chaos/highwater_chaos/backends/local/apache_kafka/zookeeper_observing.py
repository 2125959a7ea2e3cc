"""The events of an Apache Kafka cluster in ZooKeeper mode, put together from what can be seen of it from outside.

What the ensemble commits says all that the cluster agrees upon: registrations, the controller, leaders, ISRs, epochs
(:mod:`~highwater_chaos.backends.ensemble.observer`). It names a session for each registration, and no process. Brokers
log the sessions that they begin, so the two together say which process is registered. Leaders are asked for their high
watermarks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from highwater_chaos.backends.ensemble.kafka_nodes import as_our_nodes
from highwater_chaos.backends.local.apache_kafka.high_watermarks import HighWatermarks, Led, Report
from highwater_chaos.backends.local.apache_kafka.hosted_observer import HostedObserver
from highwater_chaos.backends.local.apache_kafka.node_log import SessionLog
from highwater_chaos.backends.local.apache_kafka.tails import NodeLogs
from highwater_chaos.backends.local.program import NodePlace, Observed, Site
from highwater_chaos.backends.local.zookeeper_program import committed, observe_ensemble
from highwater_chaos.experiment.nodes import broker_name
from highwater_runtime.host.node import CoreFactory
from highwater_runtime.ports.trace import BrokerRegistered, PartitionChanged


class LeadersAsked:
    """Asks leaders for their high watermarks; :meth:`saw` is told who leads."""

    def __init__(self, site: Site) -> None:
        self._led: dict[str, Led] = {}
        """By partition. Replaced as a whole, since another thread reads it."""

        def factory_for(report: Report, complain: Callable[[str], None]) -> CoreFactory:
            del complain
            brokers = {place.node_id: place.advertised for place in site.plan.of_role("broker")}
            return lambda ports: HighWatermarks(brokers, self._leading, report, ports)

        self._asking = HostedObserver(site, "high watermarks", factory_for)

    def saw(self, event: PartitionChanged) -> None:
        """The ensemble has committed this."""
        led = {name: one for name, one in self._led.items() if name != event.partition}
        if event.reason != "deleted" and event.leader >= 0:
            topic, _, index = event.partition.rpartition("-")
            led[event.partition] = Led(topic, int(index), event.leader, event.leader_epoch)
        self._led = led

    def _leading(self) -> Sequence[Led]:
        return tuple(self._led.values())

    def take(self) -> list[Observed]:
        """What they have answered since the last call."""
        return self._asking.take()

    def notes(self) -> Sequence[str]:
        """That the asker ended before the run."""
        return self._asking.notes()

    def close(self) -> None:
        self._asking.close()


def mute(name: str) -> str:
    """Say that it does not follow from a node's log whose a registration is: its release logs it in other words."""
    return f"{name} does not log which ZooKeeper session it has, so it is not known when it is registered"


class ZooKeeperModeObserver:
    """An :class:`~highwater_chaos.backends.local.program.Observer` of the brokers of one run.

    ``log_file`` says where an incarnation of a node logs.
    """

    def __init__(self, site: Site, log_file: Callable[[NodePlace, int], Path]) -> None:
        self.records: Sequence[Path] = ()
        self._site = site
        self._logs = NodeLogs(site, log_file, lambda place: SessionLog(place.node_id))
        self._ensemble = observe_ensemble(site, as_our_nodes)
        self._asking = LeadersAsked(site)

    def starting(self, node: str, incarnation: int, time_ns: int) -> None:
        self._logs.starting(node, incarnation, time_ns)

    def poll(self) -> Sequence[Observed]:
        """What has come up since: starts and log lines, then what was committed, in order; then high watermarks."""
        events = self._logs.take()
        high_watermarks = self._asking.take()
        for one in committed(self._site, self._ensemble):
            events.append(one)
            if isinstance(one.event, PartitionChanged):
                self._asking.saw(one.event)
            elif isinstance(one.event, BrokerRegistered):
                present = self._logs.present.get(broker_name(one.event.broker))
                if present is not None:
                    known = present.reader.registered(int(one.event.reason, 16), one.event.broker_epoch)
                    events += [] if known is None else [present.happened(known)]
        return [*events, *high_watermarks]

    def notes(self) -> Sequence[str]:
        """What was not seen of the ensemble, and an asker that ended before the run."""
        unattributed = [mute(name) for name, present in self._logs.present.items() if present.reader.is_mute]
        return [*self._ensemble.notes(), *self._asking.notes(), *unattributed]

    def close(self) -> None:
        self._ensemble.close()
        self._asking.close()
        self._logs.close()
