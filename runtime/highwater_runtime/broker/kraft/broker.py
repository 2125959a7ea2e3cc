"""A broker in KRaft mode."""

from __future__ import annotations

from highwater_runtime.broker.broker import Broker
from highwater_runtime.broker.kraft.mode import KraftMode
from highwater_runtime.broker.options import BrokerOptions
from highwater_runtime.ports import Ports


class KraftBroker(Broker):
    """One incarnation of a broker of a KRaft cluster (a :class:`~highwater_runtime.ports.NodeCore`)."""

    def __init__(self, options: BrokerOptions, ports: Ports) -> None:
        super().__init__(options, ports, KraftMode)
