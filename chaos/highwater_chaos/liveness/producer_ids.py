"""Whether all brokers give out producer ids, each another, also if they are asked at the same moment.

Worked example (ZooKeeper mode): brokers write the block of ids that they take into one znode, if it has the version
that they read. A broker that leaves the version out takes a block that another has just taken. Two producers then have
one id, and the batches of one are taken for duplicates of the other's. In a small cluster all ids of a run may come
from the one broker that was asked first, so nobody ever takes a block at the moment at which another does.

The rule (KIP-98, KIP-730): an id is given out once in the life of a cluster. So once the cluster has recovered, each
broker is asked for two ids in the same moment, again until it has given them. Most brokers have no block then: both
requests wait for one.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from highwater_chaos.backends.protocol import Backend
from highwater_chaos.base.process import Process, Sleep
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.nodes import broker_name, broker_names, node_id
from highwater_chaos.experiment.workload import Workload
from highwater_chaos.workload.clients import Clients
from highwater_runtime.ports import MS

_ASK_AGAIN_NS: Final = 500 * MS
_AT_ONCE: Final = 2


class ProducerIds:
    """Of one run. Nobody is asked where producers are not idempotent: they may not be allowed to be."""

    def __init__(self, workload: Workload, cluster: Cluster, backend: Backend, clients: Clients) -> None:
        self._backend = backend
        self._clients = clients
        brokers = [node_id(name) for name in broker_names(cluster) if workload.idempotence]
        self._wanted = [(broker, which) for broker in brokers for which in range(_AT_ONCE)]
        self._given: dict[tuple[int, int], int] = {}

    def ask(self) -> Process[None]:
        """Ask each broker until it has given out its ids."""
        while waiting := [one for one in self._wanted if one not in self._given]:
            for broker, which in waiting:
                self._backend.post(partial(self._ask, broker, which))
            yield Sleep(_ASK_AGAIN_NS)

    def _ask(self, broker: int, which: int) -> None:
        self._clients.metadata_probe.ask_for_producer_id(broker, which, self._given)

    def missing(self) -> list[str]:
        """Which brokers gave no id, or the same as another, as clauses."""
        first: dict[int, tuple[int, int]] = {}
        clauses = dict[str, None]()
        for one in self._wanted:
            given, name = self._given.get(one), broker_name(one[0])
            if given is None:
                clauses[f"{name} gave no producer id"] = None
            elif (before := first.setdefault(given, one)) != one:
                both = f"{broker_name(before[0])} and {name} both gave producer id {given}"
                clauses[f"{name} gave producer id {given} twice" if before[0] == one[0] else both] = None
        return list(clauses)
