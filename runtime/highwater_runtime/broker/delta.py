"""What a publication of metadata changed, beside the image itself."""

from __future__ import annotations

from dataclasses import dataclass, field

from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.metadata import (
    BrokerChanged,
    Change,
    ConfigChanged,
    ConfigResource,
    MetadataImage,
    PartitionChanged,
    TopicDeleted,
    TopicImage,
)
from highwater_runtime.metadata.registrations import TOPIC_RESOURCE


@dataclass(slots=True)
class Delta:
    """What one publication changed, in order of first change."""

    partitions: dict[PartitionKey, None] = field(default_factory=dict)
    deleted: list[TopicImage] = field(default_factory=list)
    brokers: dict[int, None] = field(default_factory=dict)
    configs: dict[ConfigResource, None] = field(default_factory=dict)

    def note(self, change: Change) -> None:
        match change:
            case PartitionChanged():
                self.partitions[(change.topic_id, change.partition)] = None
            case TopicDeleted(topic):
                self.deleted.append(topic)
                self.configs[ConfigResource(TOPIC_RESOURCE, topic.name)] = None  # its settings went with it
            case BrokerChanged(broker_id):
                self.brokers[broker_id] = None
            case ConfigChanged(resource):
                self.configs[resource] = None
            case _:
                pass  # features and producer ids are read from the image when they are needed

    @classmethod
    def everything(cls, image: MetadataImage) -> Delta:
        """All that the image holds, as for the first publication."""
        delta = cls(configs=dict.fromkeys(image.configs))
        for topic, index, _ in image.all_partitions():
            delta.partitions[(topic.id, index)] = None
        for broker_id in image.brokers:
            delta.brokers[broker_id] = None
        return delta
