"""The cluster as UpdateMetadata and ``/config`` tell it, kept as the image that the rest of the broker reads.

Each piece of news becomes the metadata record that says the same, so that one way of changing an image serves both
modes; the image's offset counts them. UpdateMetadata names all live brokers each time and only the partitions that have
changed. It does not carry broker epochs: those of other brokers are −1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from highwater_runtime.broker.delta import Delta
from highwater_runtime.epochs import is_too_far
from highwater_runtime.metadata import ConfigResource, MetadataImage
from highwater_runtime.metadata.znodes import key_of
from highwater_runtime.wire.messages.config_record import ConfigRecord
from highwater_runtime.wire.messages.partition_record import PartitionRecord
from highwater_runtime.wire.messages.register_broker_record import BrokerEndpoint, RegisterBrokerRecord
from highwater_runtime.wire.messages.remove_topic_record import RemoveTopicRecord
from highwater_runtime.wire.messages.topic_record import TopicRecord
from highwater_runtime.wire.messages.unregister_broker_record import UnregisterBrokerRecord
from highwater_runtime.wire.messages.update_metadata_request import (
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)

LEADER_DURING_DELETE: Final = -2
NO_ID: Final = UUID(int=0)
_UNKNOWN_EPOCH: Final = -1


class ClusterImage:
    """The image and what has changed since it was last published. ``node_id`` is this broker."""

    def __init__(self, node_id: int) -> None:
        self.image = MetadataImage()
        self._node_id = node_id
        self._delta = Delta()

    def take_delta(self) -> Delta:
        """What has changed since the last call."""
        delta, self._delta = self._delta, Delta()
        return delta

    def _apply(self, record: Any) -> None:
        self._delta.note(self.image.apply(record, self.image.offset + 1))

    def configure(self, resource: ConfigResource, values: Mapping[str, str]) -> None:
        """The whole configuration of one resource."""
        before = self.image.configs.get(resource, {})
        for name in [name for name in before if name not in values]:
            self._apply(ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=None))
        for name, value in values.items():
            if before.get(name) != value:
                self._apply(
                    ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=value)
                )

    def is_ahead(self, body: UpdateMetadataRequest) -> bool:
        """Return whether the command names an epoch of a leader that nobody can have come to."""
        for topic in body.topic_states:
            topic_id = key_of(topic.topic_name, None if topic.topic_id == NO_ID else topic.topic_id)
            known = self.image.topics_by_id.get(topic_id)
            for state in topic.partition_states:
                partition = None if known is None else known.partitions.get(state.partition_index)
                if is_too_far(state.leader_epoch, 0 if partition is None else partition.leader_epoch):
                    return True
        return False

    def update(self, body: UpdateMetadataRequest, own_epoch: int) -> list[str]:
        """Take in an UpdateMetadata; returns the topics that are gone. ``own_epoch`` is this broker's."""
        self._brokers(body.live_brokers, own_epoch)
        gone: list[str] = []
        for topic in body.topic_states:
            topic_id = key_of(topic.topic_name, None if topic.topic_id == NO_ID else topic.topic_id)
            deleted = [p.partition_index for p in topic.partition_states if p.leader == LEADER_DURING_DELETE]
            live = [p for p in topic.partition_states if p.leader != LEADER_DURING_DELETE]
            if live:
                self._topic(topic.topic_name, topic_id, live)
            known = self.image.topics_by_id.get(topic_id)
            if known is None and deleted and topic.topic_name not in self.image.topics_by_name:
                gone.append(topic.topic_name)  # named by this command alone: its settings were read for it
            if known is None or not deleted:
                continue
            if all(index in deleted for index in known.partitions):
                self._apply(RemoveTopicRecord(topic_id=topic_id))
                gone.append(topic.topic_name)
            else:
                for index in deleted:
                    self.image.remove_partition(topic_id, index)
        return gone

    def _topic(self, name: str, topic_id: UUID, states: list[UpdateMetadataPartitionState]) -> None:
        known = self.image.topics_by_name.get(name)
        if known is not None and known.id != topic_id:
            self._apply(RemoveTopicRecord(topic_id=known.id))
            known = None
        if known is None:
            self._apply(TopicRecord(name=name, topic_id=topic_id))
        for state in states:
            self._apply(
                PartitionRecord(
                    partition_id=state.partition_index,
                    topic_id=topic_id,
                    replicas=list(state.replicas),
                    isr=list(state.isr),
                    leader=max(state.leader, -1),
                    leader_epoch=state.leader_epoch,
                    partition_epoch=state.zk_version,
                )
            )

    def _brokers(self, live: list[UpdateMetadataBroker], own_epoch: int) -> None:
        named: dict[int, None] = {}
        for broker in live:
            if not broker.endpoints:
                continue
            named[broker.id] = None
            record = RegisterBrokerRecord(
                broker_id=broker.id,
                incarnation_id=NO_ID,
                broker_epoch=own_epoch if broker.id == self._node_id else _UNKNOWN_EPOCH,
                end_points=[
                    BrokerEndpoint(name=e.listener, host=e.host, port=e.port, security_protocol=e.security_protocol)
                    for e in broker.endpoints
                ],
                features=[],
                rack=broker.rack,
                fenced=False,
            )
            known = self.image.brokers.get(broker.id)
            listeners = [(e.listener, (e.host, e.port), e.security_protocol) for e in broker.endpoints]
            if (
                known is None
                or known.epoch != record.broker_epoch
                or known.rack != broker.rack
                or [(name, tuple(at), protocol) for name, at, protocol in known.listeners] != listeners
            ):
                self._apply(record)
        for broker_id in [broker_id for broker_id in self.image.brokers if broker_id not in named]:
            epoch = self.image.brokers[broker_id].epoch
            self._apply(UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=epoch))
