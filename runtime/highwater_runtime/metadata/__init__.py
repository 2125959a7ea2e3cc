"""Cluster metadata: the image that controllers and brokers build from the records of ``__cluster_metadata``.

The metadata log is the only truth about brokers, topics, partitions, configurations and feature levels (KIP-500,
KIP-631). Each node that replays it (active controller, standby controllers, brokers) holds a :class:`MetadataImage`.
:meth:`MetadataImage.apply` returns what each record changed.
"""

from __future__ import annotations

from highwater_runtime.metadata.changes import (
    BrokerChanged,
    Change,
    ConfigChanged,
    FeatureChanged,
    NothingChanged,
    PartitionChanged,
    ProducerIdsChanged,
    ScramCredentialChanged,
    TopicCreated,
    TopicDeleted,
)
from highwater_runtime.metadata.image import MetadataImage
from highwater_runtime.metadata.metadata_version import MetadataVersion
from highwater_runtime.metadata.registrations import (
    NO_LEADER,
    BrokerListener,
    BrokerRegistration,
    ConfigResource,
    LeaderRecoveryState,
    PartitionRegistration,
    TopicImage,
    reachable,
)
from highwater_runtime.metadata.replica_epoch import has_stale_epoch, replica_epoch_matches
from highwater_runtime.metadata.snapshot import differences, image_of, snapshot_records

__all__ = [
    "NO_LEADER",
    "BrokerChanged",
    "BrokerListener",
    "BrokerRegistration",
    "Change",
    "ConfigChanged",
    "ConfigResource",
    "FeatureChanged",
    "LeaderRecoveryState",
    "MetadataImage",
    "MetadataVersion",
    "NothingChanged",
    "PartitionChanged",
    "PartitionRegistration",
    "ProducerIdsChanged",
    "ScramCredentialChanged",
    "TopicCreated",
    "TopicDeleted",
    "TopicImage",
    "differences",
    "has_stale_epoch",
    "image_of",
    "reachable",
    "replica_epoch_matches",
    "snapshot_records",
]
