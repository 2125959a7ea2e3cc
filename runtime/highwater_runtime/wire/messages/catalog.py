"""Every API that has schemas: its request and its response class.

Generated from ``schemas``: edit those, then ``python -m highwater_runtime.wire.generate``.
"""

from __future__ import annotations

from typing import Final

from highwater_runtime.wire.codec import Message
from highwater_runtime.wire.messages.produce_request import ProduceRequest
from highwater_runtime.wire.messages.produce_response import ProduceResponse
from highwater_runtime.wire.messages.fetch_request import FetchRequest
from highwater_runtime.wire.messages.fetch_response import FetchResponse
from highwater_runtime.wire.messages.list_offsets_request import ListOffsetsRequest
from highwater_runtime.wire.messages.list_offsets_response import ListOffsetsResponse
from highwater_runtime.wire.messages.metadata_request import MetadataRequest
from highwater_runtime.wire.messages.metadata_response import MetadataResponse
from highwater_runtime.wire.messages.find_coordinator_request import FindCoordinatorRequest
from highwater_runtime.wire.messages.find_coordinator_response import FindCoordinatorResponse
from highwater_runtime.wire.messages.api_versions_request import ApiVersionsRequest
from highwater_runtime.wire.messages.api_versions_response import ApiVersionsResponse
from highwater_runtime.wire.messages.create_topics_request import CreateTopicsRequest
from highwater_runtime.wire.messages.create_topics_response import CreateTopicsResponse
from highwater_runtime.wire.messages.delete_topics_request import DeleteTopicsRequest
from highwater_runtime.wire.messages.delete_topics_response import DeleteTopicsResponse
from highwater_runtime.wire.messages.init_producer_id_request import InitProducerIdRequest
from highwater_runtime.wire.messages.init_producer_id_response import InitProducerIdResponse
from highwater_runtime.wire.messages.offset_for_leader_epoch_request import OffsetForLeaderEpochRequest
from highwater_runtime.wire.messages.offset_for_leader_epoch_response import OffsetForLeaderEpochResponse
from highwater_runtime.wire.messages.describe_configs_request import DescribeConfigsRequest
from highwater_runtime.wire.messages.describe_configs_response import DescribeConfigsResponse
from highwater_runtime.wire.messages.create_partitions_request import CreatePartitionsRequest
from highwater_runtime.wire.messages.create_partitions_response import CreatePartitionsResponse
from highwater_runtime.wire.messages.elect_leaders_request import ElectLeadersRequest
from highwater_runtime.wire.messages.elect_leaders_response import ElectLeadersResponse
from highwater_runtime.wire.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from highwater_runtime.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from highwater_runtime.wire.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from highwater_runtime.wire.messages.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse
from highwater_runtime.wire.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from highwater_runtime.wire.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from highwater_runtime.wire.messages.vote_request import VoteRequest
from highwater_runtime.wire.messages.vote_response import VoteResponse
from highwater_runtime.wire.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from highwater_runtime.wire.messages.begin_quorum_epoch_response import BeginQuorumEpochResponse
from highwater_runtime.wire.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from highwater_runtime.wire.messages.end_quorum_epoch_response import EndQuorumEpochResponse
from highwater_runtime.wire.messages.describe_quorum_request import DescribeQuorumRequest
from highwater_runtime.wire.messages.describe_quorum_response import DescribeQuorumResponse
from highwater_runtime.wire.messages.alter_partition_request import AlterPartitionRequest
from highwater_runtime.wire.messages.alter_partition_response import AlterPartitionResponse
from highwater_runtime.wire.messages.update_features_request import UpdateFeaturesRequest
from highwater_runtime.wire.messages.update_features_response import UpdateFeaturesResponse
from highwater_runtime.wire.messages.fetch_snapshot_request import FetchSnapshotRequest
from highwater_runtime.wire.messages.fetch_snapshot_response import FetchSnapshotResponse
from highwater_runtime.wire.messages.describe_cluster_request import DescribeClusterRequest
from highwater_runtime.wire.messages.describe_cluster_response import DescribeClusterResponse
from highwater_runtime.wire.messages.broker_registration_request import BrokerRegistrationRequest
from highwater_runtime.wire.messages.broker_registration_response import BrokerRegistrationResponse
from highwater_runtime.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from highwater_runtime.wire.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from highwater_runtime.wire.messages.unregister_broker_request import UnregisterBrokerRequest
from highwater_runtime.wire.messages.unregister_broker_response import UnregisterBrokerResponse
from highwater_runtime.wire.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from highwater_runtime.wire.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from highwater_runtime.wire.messages.read_offset_request import ReadOffsetRequest
from highwater_runtime.wire.messages.read_offset_response import ReadOffsetResponse
from highwater_runtime.wire.messages.metadata_read_request import MetadataReadRequest
from highwater_runtime.wire.messages.metadata_read_response import MetadataReadResponse

PAIRS: Final[tuple[tuple[type[Message], type[Message]], ...]] = (
    (ProduceRequest, ProduceResponse),
    (FetchRequest, FetchResponse),
    (ListOffsetsRequest, ListOffsetsResponse),
    (MetadataRequest, MetadataResponse),
    (FindCoordinatorRequest, FindCoordinatorResponse),
    (ApiVersionsRequest, ApiVersionsResponse),
    (CreateTopicsRequest, CreateTopicsResponse),
    (DeleteTopicsRequest, DeleteTopicsResponse),
    (InitProducerIdRequest, InitProducerIdResponse),
    (OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse),
    (DescribeConfigsRequest, DescribeConfigsResponse),
    (CreatePartitionsRequest, CreatePartitionsResponse),
    (ElectLeadersRequest, ElectLeadersResponse),
    (IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse),
    (AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse),
    (ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse),
    (VoteRequest, VoteResponse),
    (BeginQuorumEpochRequest, BeginQuorumEpochResponse),
    (EndQuorumEpochRequest, EndQuorumEpochResponse),
    (DescribeQuorumRequest, DescribeQuorumResponse),
    (AlterPartitionRequest, AlterPartitionResponse),
    (UpdateFeaturesRequest, UpdateFeaturesResponse),
    (FetchSnapshotRequest, FetchSnapshotResponse),
    (DescribeClusterRequest, DescribeClusterResponse),
    (BrokerRegistrationRequest, BrokerRegistrationResponse),
    (BrokerHeartbeatRequest, BrokerHeartbeatResponse),
    (UnregisterBrokerRequest, UnregisterBrokerResponse),
    (AllocateProducerIdsRequest, AllocateProducerIdsResponse),
    (ReadOffsetRequest, ReadOffsetResponse),
    (MetadataReadRequest, MetadataReadResponse),
)
