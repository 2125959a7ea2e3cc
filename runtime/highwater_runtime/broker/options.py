"""Options of a broker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from highwater_runtime.config import NodeConfig
from highwater_runtime.metadata import BrokerListener
from highwater_runtime.ports import Endpoint
from highwater_runtime.switches import Switches


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerOptions:
    """Settings of one broker. ``controllers`` are the quorum's voters by node id; ZooKeeper mode has none.

    ``listeners`` are all that it registers, that of the brokers among themselves (``endpoint``) first; by default there
    is only that one. ``properties`` are those of its configuration file that concern its host (listeners, ``log.dirs``,
    …): the broker only describes them.

    ``hold_until_published``: a broker that starts lets requests wait until it has metadata to answer them from, as
    Kafka's does. One that answers at once says that there are no brokers, and clients that believe it (librdkafka)
    give up what they had for each of them. Simulated brokers answer at once: recorded seeds are of such.
    """

    node_id: int
    endpoint: Endpoint
    cluster_id: str
    controllers: Mapping[int, Endpoint] = field(default_factory=dict)
    rack: str | None = None
    switches: Switches = field(default_factory=Switches)
    config: NodeConfig = field(default_factory=NodeConfig)
    listeners: tuple[BrokerListener, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    hold_until_published: bool = False

    @property
    def all_listeners(self) -> tuple[BrokerListener, ...]:
        """``listeners``, or the only one."""
        return self.listeners or (BrokerListener("PLAINTEXT", self.endpoint),)
