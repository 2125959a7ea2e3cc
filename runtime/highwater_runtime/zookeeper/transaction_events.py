"""What transactions mean for the cluster: node events about brokers, partitions and the controller.

In KRaft mode every controller reports what it sees committed. In ZooKeeper mode nobody need believe what a controller
says of itself: what is committed is in the ensemble's transactions, and this is their reading by
:mod:`highwater_runtime.metadata.znodes`. The zxid is the position in the metadata. The simulator's servers report each
transaction as they apply it; of a real ensemble the transaction log says the same.

* A broker is registered for as long as ``/brokers/ids/N`` is there. Its epoch is the node's czxid.
* A partition's state is its leader and ISR, with the replicas of its topic; its epoch is the version of the former. A
  replica that is being removed counts as one until the move is over, as in KRaft mode. A topic is gone from the moment
  in which its deletion is asked for.
* The controller is whom ``/controller`` names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from highwater_runtime.metadata import znodes
from highwater_runtime.metadata.znodes import LeaderAndIsrNode, TopicNode, decode_node, key_of
from highwater_runtime.ports.trace import (
    BrokerRegistered,
    BrokerRegistrationChanged,
    ControllerChanged,
    NodeEvent,
    PartitionChanged,
    Trace,
)
from highwater_runtime.zookeeper.tree import Change


class _State(NamedTuple):
    topic_id: str
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int


class TransactionEvents:
    """Follows one tree. The caller passes every transaction, in order, to :meth:`applied`."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._brokers: dict[int, int] = {}
        self._topics: dict[str, TopicNode] = {}
        self._partitions: dict[str, dict[int, tuple[LeaderAndIsrNode, int]]] = {}
        self._deleting: dict[str, None] = {}
        self._reported: dict[tuple[str, int], _State] = {}
        self._controller = -1
        self._controller_epoch = 0

    def load(self, nodes: Iterable[Change]) -> None:
        """Begin again with a whole tree, and report nothing: others have seen how it came about."""
        fresh = TransactionEvents(_Silence())
        fresh.applied(0, nodes)
        for name, value in vars(fresh).items():
            if name != "_trace":
                setattr(self, name, value)

    def applied(self, zxid: int, changes: Iterable[Change]) -> None:
        """Report what the transaction ``zxid`` has changed.

        Raises:
            ZnodeError: a node does not hold what it must.
        """
        touched: dict[tuple[str, int], None] = {}
        controller = self._controller
        for change in changes:
            parent, _, name = change.path.rpartition("/")
            match parent, name:
                case (znodes.BROKER_IDS, _) if name.isdecimal():
                    self._broker(int(name), change, zxid)
                case (znodes.TOPICS, _):
                    self._topic(name, change)
                    touched.update(self._of(name))
                case (znodes.DELETE_TOPICS, _):
                    _mark(self._deleting, name, present=change.data is not None)
                    touched.update(self._of(name))
                case (_, "leaderAndISR") if parent.startswith(f"{znodes.TOPICS}/"):
                    topic, _, index = parent.removeprefix(f"{znodes.TOPICS}/").rpartition("/")
                    self._partition(topic, int(index), change)
                    touched[topic, int(index)] = None
                case _ if change.path == znodes.CONTROLLER:
                    self._controller = -1 if change.data is None else int(change.data)
                case _ if change.path == znodes.CONTROLLER_EPOCH and change.data is not None:
                    self._controller_epoch = int(change.data)
        if self._controller != controller:
            self._trace.emit(
                ControllerChanged(broker=self._controller, epoch=self._controller_epoch, metadata_offset=zxid)
            )
        for key in touched:
            self._report(*key, zxid)

    def _broker(self, broker: int, change: Change, zxid: int) -> None:
        epoch = self._brokers.get(broker)
        if change.data is None:
            if epoch is not None:
                del self._brokers[broker]
                self._trace.emit(
                    BrokerRegistrationChanged(
                        broker=broker, broker_epoch=epoch, metadata_offset=zxid, reason="unregistered"
                    )
                )
        elif epoch != change.czxid:
            self._brokers[broker] = change.czxid
            self._trace.emit(
                BrokerRegistered(
                    broker=broker, broker_epoch=change.czxid, metadata_offset=zxid, reason=f"{change.owner:032x}"
                )
            )

    def _topic(self, topic: str, change: Change) -> None:
        if change.data is None:
            self._topics.pop(topic, None)
        else:
            self._topics[topic] = decode_node(TopicNode, change.path, change.data)

    def _partition(self, topic: str, index: int, change: Change) -> None:
        partitions = self._partitions.setdefault(topic, {})
        if change.data is None:
            partitions.pop(index, None)
        else:
            partitions[index] = decode_node(LeaderAndIsrNode, change.path, change.data), change.version

    def _of(self, topic: str) -> dict[tuple[str, int], None]:
        return {(topic, index): None for index in sorted(self._partitions.get(topic, {}))}

    def _state(self, topic: str, index: int) -> _State | None:
        """The partition's state as of now; None: there is none, or its topic is to be deleted."""
        node, state = self._topics.get(topic), self._partitions.get(topic, {}).get(index)
        if node is None or state is None or topic in self._deleting or index not in node.partitions:
            return None
        value, version = state
        topic_id = key_of(topic, node.topic_id).hex
        return _State(topic_id, node.partitions[index], value.isr, value.leader, value.leader_epoch, version)

    def _report(self, topic: str, index: int, zxid: int) -> None:
        old, new = self._reported.get((topic, index)), self._state(topic, index)
        if new == old:
            return
        if new is None:
            del self._reported[topic, index]
        else:
            self._reported[topic, index] = new
        state = new or old
        assert state is not None
        self._trace.emit(
            PartitionChanged(
                partition=f"{topic}-{index}",
                topic_id=state.topic_id,
                replicas=list(state.replicas),
                isr=list(state.isr),
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                partition_epoch=state.partition_epoch,
                metadata_offset=zxid,
                reason="deleted" if new is None else "created" if old is None else "changed",
            )
        )


class _Silence:
    follows_records: Final = False

    def emit(self, event: NodeEvent) -> None:
        """Drop the event: nobody reads it."""


def _mark(names: dict[str, None], name: str, *, present: bool) -> None:
    if present:
        names[name] = None
    else:
        names.pop(name, None)
