"""The commands to brokers that follow from the controller's state (Kafka's ControllerBrokerRequestBatch)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from highwater_runtime.controller.zk.context import NO_NODE, ControllerContext, PartitionKey
from highwater_runtime.controller.zk.sender import Round
from highwater_runtime.metadata import NO_LEADER, PartitionRegistration
from highwater_runtime.wire.messages.leader_and_isr_request import LeaderAndIsrPartitionState
from highwater_runtime.wire.messages.stop_replica_request import StopReplicaPartitionState
from highwater_runtime.wire.messages.update_metadata_request import UpdateMetadataPartitionState

LEADER_DURING_DELETE: Final = -2
"""Leader, in UpdateMetadata, of a partition whose topic is being deleted (Kafka's ``LeaderDuringDelete``)."""

EPOCH_DURING_DELETE: Final = -2
"""Leader epoch, in StopReplica, of the same: it is above all others (Kafka's ``EpochDuringDelete``)."""


class Commands:
    """The commands of one event to the brokers."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self.rounds: dict[int, Round] = {}

    def _round(self, broker_id: int, key: PartitionKey | None = None) -> Round:
        round_ = self.rounds.setdefault(broker_id, Round())
        if key is not None:
            round_.topic_ids[key.topic] = self._context.topic_id(key.topic)
        return round_

    def changed(self, changes: Mapping[PartitionKey, PartitionRegistration]) -> None:
        """Partitions that are another than before: tell their replicas, all brokers, and those that have left. Even if
        there is none, all brokers are told which brokers live."""
        for key, before in changes.items():
            state = self._context.partition(key)
            if state is None:
                continue
            for broker_id in state.replicas:
                if self._context.is_online(broker_id, key):
                    is_new = before.partition_epoch == NO_NODE or broker_id not in before.replicas
                    self._lead(broker_id, key, state, is_new=is_new)
            for broker_id in before.replicas:
                if broker_id not in state.replicas:
                    self.stop(broker_id, key, state.leader_epoch, delete=True)
        self.tell_all(changes)

    def full(self, broker_id: int) -> None:
        """Every replica that is assigned to a broker, even if that is none.

        One that has confirmed the deletion of its topic has none any more, though the topic may wait for others: it
        would create its log again, and nobody would have it deleted (Kafka: no way from ReplicaDeletionSuccessful to
        OnlineReplica).
        """
        round_ = self._round(broker_id)
        round_.full = True
        round_.leader_and_isr = {}
        for key in self._context.keys_on(broker_id):
            state = self._context.partition(key)
            deleting = self._context.deleting.get(key.topic)
            is_deleted = deleting is not None and (key.partition, broker_id) not in deleting
            if state is not None and state.partition_epoch != NO_NODE and not is_deleted:
                self._lead(broker_id, key, state, is_new=False)

    def removed(self, key: PartitionKey, state: PartitionRegistration) -> None:
        """Stop and delete the replicas of a partition that is no longer assigned, and remove it from all brokers."""
        for broker_id in state.replicas:
            self.stop(broker_id, key, EPOCH_DURING_DELETE, delete=True)
        if state.partition_epoch != NO_NODE:
            self._tell(self._context.image.brokers, {key: self._cluster_state(key, state, gone=True)})

    def _lead(self, broker_id: int, key: PartitionKey, state: PartitionRegistration, *, is_new: bool) -> None:
        round_ = self._round(broker_id, key)
        if round_.leader_and_isr is None:
            round_.leader_and_isr = {}
        round_.leader_and_isr[key] = LeaderAndIsrPartitionState(
            topic_name=key.topic,
            partition_index=key.partition,
            controller_epoch=self._context.controller_epochs.get(key, 0),
            leader=NO_LEADER if key.topic in self._context.deleting else state.leader,
            leader_epoch=state.leader_epoch,
            isr=list(state.isr),
            partition_epoch=state.partition_epoch,
            replicas=list(state.replicas),
            adding_replicas=list(state.adding_replicas),
            removing_replicas=list(state.removing_replicas),
            is_new=is_new,
            leader_recovery_state=int(state.leader_recovery_state),
        )

    def introduce(self) -> None:
        """Tell every broker which brokers live, before any of them is to lead."""
        self.tell_all()
        for round_ in self.rounds.values():
            round_.brokers_first = True

    def tell_all(self, keys: Iterable[PartitionKey] = ()) -> None:
        """Tell every broker which brokers live, and of these partitions."""
        self.tell(self._context.image.brokers, keys)

    def tell(self, brokers: Iterable[int], keys: Iterable[PartitionKey]) -> None:
        """Tell some brokers which brokers live, and of these partitions."""
        states = {}
        for key in keys:
            state = self._context.partition(key)
            if state is not None and state.partition_epoch != NO_NODE:
                gone = self._context.is_going(key.topic)
                states[key] = self._cluster_state(key, state, gone=gone)
        self._tell(brokers, states)

    def _tell(self, brokers: Iterable[int], states: dict[PartitionKey, UpdateMetadataPartitionState]) -> None:
        topic_ids = {topic: self._context.topic_id(topic) for topic in {key.topic: None for key in states}}
        for broker_id in brokers:
            round_ = self._round(broker_id)
            round_.update_metadata = (round_.update_metadata or {}) | states
            round_.topic_ids |= topic_ids

    def _cluster_state(
        self, key: PartitionKey, state: PartitionRegistration, *, gone: bool
    ) -> UpdateMetadataPartitionState:
        return UpdateMetadataPartitionState(
            topic_name=key.topic,
            partition_index=key.partition,
            controller_epoch=self._context.controller_epochs.get(key, 0),
            leader=LEADER_DURING_DELETE if gone else state.leader,
            leader_epoch=state.leader_epoch,
            isr=list(state.isr),
            zk_version=state.partition_epoch,
            replicas=list(state.replicas),
            offline_replicas=[r for r in state.replicas if not self._context.is_online(r, key)],
        )

    def delete(self, key: PartitionKey, on: Iterable[int] | None = None) -> None:
        """Have the replicas of a partition deleted that is to be no more: all, or those on some brokers."""
        state = self._context.partition(key)
        assert state is not None, "the topic is dropped when its replicas have been"
        for broker_id in state.replicas if on is None else on:
            self.stop(broker_id, key, EPOCH_DURING_DELETE, delete=True)

    def stop(self, broker_id: int, key: PartitionKey, leader_epoch: int, *, delete: bool) -> None:
        """Tell a broker, if it lives, to stop its replica, and perhaps to delete it."""
        if broker_id not in self._context.image.brokers:
            return
        round_ = self._round(broker_id, key)
        if round_.stop is None:
            round_.stop = {}
        round_.stop[key] = StopReplicaPartitionState(
            partition_index=key.partition, leader_epoch=leader_epoch, delete_partition=delete
        )
