"""All of consumer groups as a broker has them: the APIs by key, and what follows the metadata."""

from __future__ import annotations

from typing import Final

from highwater_runtime.broker.delta import Delta
from highwater_runtime.broker.groups import groups_api, membership_api
from highwater_runtime.broker.groups.coordinator import GroupCoordinator
from highwater_runtime.broker.groups.offsets_api import OffsetsApi
from highwater_runtime.broker.groups.offsets_topic import OffsetsTopic
from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.broker.replica_manager import ReplicaManager
from highwater_runtime.broker.topic_creation import TopicCreation
from highwater_runtime.metadata import MetadataImage
from highwater_runtime.ports import InboundRequest
from highwater_runtime.wire.api_keys import ApiKey

GROUP_APIS: Final = frozenset(
    {
        ApiKey.FIND_COORDINATOR,
        ApiKey.JOIN_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.HEARTBEAT,
        ApiKey.LEAVE_GROUP,
        ApiKey.OFFSET_COMMIT,
        ApiKey.OFFSET_FETCH,
        ApiKey.OFFSET_DELETE,
        ApiKey.LIST_GROUPS,
        ApiKey.DESCRIBE_GROUPS,
        ApiKey.DELETE_GROUPS,
    }
)
"""What :meth:`Groups.handle` answers."""


class Groups:
    """Consumer groups on one broker.

    Args:
        replicas: the broker's replicas, those of the offsets topic among them.
        creation: has topics created, the offsets topic on the first FindCoordinator.
    """

    def __init__(self, replicas: ReplicaManager, creation: TopicCreation) -> None:
        self._replicas = replicas
        self.coordinator = GroupCoordinator(replicas)
        self._topic = OffsetsTopic(replicas, creation, replicas.ports.clock)
        self._offsets = OffsetsApi(self.coordinator, replicas.options.config.offset_metadata_max_bytes)

    def publish(self, image: MetadataImage, delta: Delta) -> None:
        """The metadata has changed; the replicas follow."""
        self.coordinator.publish(image, delta)

    def replica_changed(self, key: PartitionKey) -> None:
        """A replica on this broker has another state, or is gone."""
        self.coordinator.replica_changed(key)

    def close(self) -> None:
        """End all timers: the broker stops."""
        self.coordinator.close()

    def handle(self, request: InboundRequest) -> None:
        """Answer a request of :data:`GROUP_APIS`, now or later."""
        coordinator = self.coordinator
        match request.api_key:
            case ApiKey.FIND_COORDINATOR:
                self._topic.handle(request)
            case ApiKey.JOIN_GROUP:
                membership_api.join(request, coordinator)
            case ApiKey.SYNC_GROUP:
                membership_api.sync(request, coordinator)
            case ApiKey.HEARTBEAT:
                membership_api.heartbeat(request, coordinator)
            case ApiKey.LEAVE_GROUP:
                membership_api.leave(request, coordinator)
            case ApiKey.OFFSET_COMMIT:
                self._offsets.commit(request, self._replicas.image, self._replicas.ports.clock.wall_ms())
            case ApiKey.OFFSET_FETCH:
                self._offsets.fetch(request)
            case ApiKey.OFFSET_DELETE:
                self._offsets.delete(request)
            case ApiKey.LIST_GROUPS:
                groups_api.list_groups(request, coordinator)
            case ApiKey.DESCRIBE_GROUPS:
                groups_api.describe_groups(request, coordinator)
            case ApiKey.DELETE_GROUPS:
                groups_api.delete_groups(request, coordinator)
            case key:
                raise AssertionError(f"API {key} is none of consumer groups")
