"""Whether all brokers give out producer ids, each another, also if they are asked at the same moment.

Worked example (ZooKeeper mode): brokers write the block of ids that they take into one znode, if it has the version
that they read. A broker that leaves the version out takes a block that another has just taken. Two producers then have
one id, and the batches of one are taken for duplicates of the other's. In a small cluster all ids of a run may come
from the one broker that was asked first, so nobody ever takes a block at the moment at which another does.

The rule (KIP-98, KIP-730): an id is given out once in the life of a cluster. So once the cluster has recovered, each
broker is asked for an id in the same moment, again until it has given one.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from highwater_chaos.backends.protocol import Backend
from highwater_chaos.base.process import Process, Sleep
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.model import Workload
from highwater_chaos.experiment.nodes import broker_name, broker_names, node_id
from highwater_chaos.workload.clients import Clients
from highwater_runtime.ports import MS

_ASK_AGAIN_NS: Final = 500 * MS


class ProducerIds:
    """Of one run. Nobody is asked where producers are not idempotent: they may not be allowed to be."""

    def __init__(self, workload: Workload, cluster: Cluster, backend: Backend, clients: Clients) -> None:
        self._backend = backend
        self._clients = clients
        self._brokers = [node_id(name) for name in broker_names(cluster) if workload.idempotence]
        self._given: dict[int, int] = {}

    def ask(self) -> Process[None]:
        """Ask each broker until it has given out an id."""
        while waiting := [broker for broker in self._brokers if broker not in self._given]:
            for broker in waiting:
                self._backend.post(partial(self._ask, broker))
            yield Sleep(_ASK_AGAIN_NS)

    def _ask(self, broker: int) -> None:
        self._clients.metadata_probe.ask_for_producer_id(broker, self._given)

    def missing(self) -> list[str]:
        """Which brokers gave no id, or the same as another, as clauses."""
        first: dict[int, int] = {}
        clauses = []
        for broker in self._brokers:
            given = self._given.get(broker)
            if given is None:
                clauses.append(f"{broker_name(broker)} gave no producer id")
            elif first.setdefault(given, broker) != broker:
                both = f"{broker_name(first[given])} and {broker_name(broker)}"
                clauses.append(f"{both} both gave producer id {given}")
        return clauses
