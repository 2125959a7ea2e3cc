"""A broker of a cluster in ZooKeeper mode: the broker's core, and the controller that it is while it is elected."""

from __future__ import annotations

from collections.abc import Callable

from highwater_runtime.broker import Broker, BrokerOptions
from highwater_runtime.broker.mode import BrokerContext, Mode
from highwater_runtime.broker.zk import ControllerPart, ZooKeeperMode
from highwater_runtime.controller.zk.controller import ZkController
from highwater_runtime.controller.zk.options import ZkControllerOptions
from highwater_runtime.ports import Ports
from highwater_runtime.ports.coordination import Coordination, Session


class ZooKeeperBroker(Broker):
    """One incarnation of a broker (a :class:`~highwater_runtime.ports.NodeCore`).

    ``coordination`` is its way to the ensemble; broker and controller share one session. ``controller`` is its part of
    the controller, active or not.
    """

    keeps_strays = False  # KAFKA-7362: they are "scheduled for deletion"
    controller: ZkController

    def __init__(self, options: BrokerOptions, ports: Ports, coordination: Coordination) -> None:
        facts = ZkControllerOptions(
            node_id=options.node_id,
            config=options.config,
            switches=options.switches,
            topic_ids=options.config.has_topic_ids,
        )

        def make_controller(session_of: Callable[[], Session | None]) -> ControllerPart:
            self.controller = ZkController(facts, session_of, ports)
            return self.controller

        def make_mode(context: BrokerContext) -> Mode:
            self._zookeeper = ZooKeeperMode(context, coordination, make_controller)
            return self._zookeeper

        super().__init__(options, ports, make_mode)

    @property
    def session(self) -> Session | None:
        """Its session with the ensemble; None before its start."""
        return self._zookeeper.session

    @property
    def is_registered(self) -> bool:
        """Whether its node ``/brokers/ids/N`` belongs to that session."""
        return self._zookeeper.is_registered
