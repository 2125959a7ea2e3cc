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
from highwater_runtime.wire.messages.leader_and_isr_request import LeaderAndIsrRequest
from highwater_runtime.wire.messages.leader_and_isr_response import LeaderAndIsrResponse
from highwater_runtime.wire.messages.stop_replica_request import StopReplicaRequest
from highwater_runtime.wire.messages.stop_replica_response import StopReplicaResponse
from highwater_runtime.wire.messages.update_metadata_request import UpdateMetadataRequest
from highwater_runtime.wire.messages.update_metadata_response import UpdateMetadataResponse
from highwater_runtime.wire.messages.controlled_shutdown_request import ControlledShutdownRequest
from highwater_runtime.wire.messages.controlled_shutdown_response import ControlledShutdownResponse
from highwater_runtime.wire.messages.offset_commit_request import OffsetCommitRequest
from highwater_runtime.wire.messages.offset_commit_response import OffsetCommitResponse
from highwater_runtime.wire.messages.offset_fetch_request import OffsetFetchRequest
from highwater_runtime.wire.messages.offset_fetch_response import OffsetFetchResponse
from highwater_runtime.wire.messages.find_coordinator_request import FindCoordinatorRequest
from highwater_runtime.wire.messages.find_coordinator_response import FindCoordinatorResponse
from highwater_runtime.wire.messages.join_group_request import JoinGroupRequest
from highwater_runtime.wire.messages.join_group_response import JoinGroupResponse
from highwater_runtime.wire.messages.heartbeat_request import HeartbeatRequest
from highwater_runtime.wire.messages.heartbeat_response import HeartbeatResponse
from highwater_runtime.wire.messages.leave_group_request import LeaveGroupRequest
from highwater_runtime.wire.messages.leave_group_response import LeaveGroupResponse
from highwater_runtime.wire.messages.sync_group_request import SyncGroupRequest
from highwater_runtime.wire.messages.sync_group_response import SyncGroupResponse
from highwater_runtime.wire.messages.describe_groups_request import DescribeGroupsRequest
from highwater_runtime.wire.messages.describe_groups_response import DescribeGroupsResponse
from highwater_runtime.wire.messages.list_groups_request import ListGroupsRequest
from highwater_runtime.wire.messages.list_groups_response import ListGroupsResponse
from highwater_runtime.wire.messages.sasl_handshake_request import SaslHandshakeRequest
from highwater_runtime.wire.messages.sasl_handshake_response import SaslHandshakeResponse
from highwater_runtime.wire.messages.api_versions_request import ApiVersionsRequest
from highwater_runtime.wire.messages.api_versions_response import ApiVersionsResponse
from highwater_runtime.wire.messages.create_topics_request import CreateTopicsRequest
from highwater_runtime.wire.messages.create_topics_response import CreateTopicsResponse
from highwater_runtime.wire.messages.delete_topics_request import DeleteTopicsRequest
from highwater_runtime.wire.messages.delete_topics_response import DeleteTopicsResponse
from highwater_runtime.wire.messages.delete_records_request import DeleteRecordsRequest
from highwater_runtime.wire.messages.delete_records_response import DeleteRecordsResponse
from highwater_runtime.wire.messages.init_producer_id_request import InitProducerIdRequest
from highwater_runtime.wire.messages.init_producer_id_response import InitProducerIdResponse
from highwater_runtime.wire.messages.offset_for_leader_epoch_request import OffsetForLeaderEpochRequest
from highwater_runtime.wire.messages.offset_for_leader_epoch_response import OffsetForLeaderEpochResponse
from highwater_runtime.wire.messages.describe_configs_request import DescribeConfigsRequest
from highwater_runtime.wire.messages.describe_configs_response import DescribeConfigsResponse
from highwater_runtime.wire.messages.alter_configs_request import AlterConfigsRequest
from highwater_runtime.wire.messages.alter_configs_response import AlterConfigsResponse
from highwater_runtime.wire.messages.describe_log_dirs_request import DescribeLogDirsRequest
from highwater_runtime.wire.messages.describe_log_dirs_response import DescribeLogDirsResponse
from highwater_runtime.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from highwater_runtime.wire.messages.sasl_authenticate_response import SaslAuthenticateResponse
from highwater_runtime.wire.messages.create_partitions_request import CreatePartitionsRequest
from highwater_runtime.wire.messages.create_partitions_response import CreatePartitionsResponse
from highwater_runtime.wire.messages.delete_groups_request import DeleteGroupsRequest
from highwater_runtime.wire.messages.delete_groups_response import DeleteGroupsResponse
from highwater_runtime.wire.messages.elect_leaders_request import ElectLeadersRequest
from highwater_runtime.wire.messages.elect_leaders_response import ElectLeadersResponse
from highwater_runtime.wire.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from highwater_runtime.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from highwater_runtime.wire.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from highwater_runtime.wire.messages.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse
from highwater_runtime.wire.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from highwater_runtime.wire.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from highwater_runtime.wire.messages.offset_delete_request import OffsetDeleteRequest
from highwater_runtime.wire.messages.offset_delete_response import OffsetDeleteResponse
from highwater_runtime.wire.messages.describe_user_scram_credentials_request import DescribeUserScramCredentialsRequest
from highwater_runtime.wire.messages.describe_user_scram_credentials_response import DescribeUserScramCredentialsResponse
from highwater_runtime.wire.messages.alter_user_scram_credentials_request import AlterUserScramCredentialsRequest
from highwater_runtime.wire.messages.alter_user_scram_credentials_response import AlterUserScramCredentialsResponse
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
from highwater_runtime.wire.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from highwater_runtime.wire.messages.assign_replicas_to_dirs_response import AssignReplicasToDirsResponse
from highwater_runtime.wire.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from highwater_runtime.wire.messages.describe_topic_partitions_response import DescribeTopicPartitionsResponse
from highwater_runtime.wire.messages.read_offset_request import ReadOffsetRequest
from highwater_runtime.wire.messages.read_offset_response import ReadOffsetResponse
from highwater_runtime.wire.messages.metadata_read_request import MetadataReadRequest
from highwater_runtime.wire.messages.metadata_read_response import MetadataReadResponse

PAIRS: Final[tuple[tuple[type[Message], type[Message]], ...]] = (
    (ProduceRequest, ProduceResponse),
    (FetchRequest, FetchResponse),
    (ListOffsetsRequest, ListOffsetsResponse),
    (MetadataRequest, MetadataResponse),
    (LeaderAndIsrRequest, LeaderAndIsrResponse),
    (StopReplicaRequest, StopReplicaResponse),
    (UpdateMetadataRequest, UpdateMetadataResponse),
    (ControlledShutdownRequest, ControlledShutdownResponse),
    (OffsetCommitRequest, OffsetCommitResponse),
    (OffsetFetchRequest, OffsetFetchResponse),
    (FindCoordinatorRequest, FindCoordinatorResponse),
    (JoinGroupRequest, JoinGroupResponse),
    (HeartbeatRequest, HeartbeatResponse),
    (LeaveGroupRequest, LeaveGroupResponse),
    (SyncGroupRequest, SyncGroupResponse),
    (DescribeGroupsRequest, DescribeGroupsResponse),
    (ListGroupsRequest, ListGroupsResponse),
    (SaslHandshakeRequest, SaslHandshakeResponse),
    (ApiVersionsRequest, ApiVersionsResponse),
    (CreateTopicsRequest, CreateTopicsResponse),
    (DeleteTopicsRequest, DeleteTopicsResponse),
    (DeleteRecordsRequest, DeleteRecordsResponse),
    (InitProducerIdRequest, InitProducerIdResponse),
    (OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse),
    (DescribeConfigsRequest, DescribeConfigsResponse),
    (AlterConfigsRequest, AlterConfigsResponse),
    (DescribeLogDirsRequest, DescribeLogDirsResponse),
    (SaslAuthenticateRequest, SaslAuthenticateResponse),
    (CreatePartitionsRequest, CreatePartitionsResponse),
    (DeleteGroupsRequest, DeleteGroupsResponse),
    (ElectLeadersRequest, ElectLeadersResponse),
    (IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse),
    (AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse),
    (ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse),
    (OffsetDeleteRequest, OffsetDeleteResponse),
    (DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse),
    (AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse),
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
    (AssignReplicasToDirsRequest, AssignReplicasToDirsResponse),
    (DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse),
    (ReadOffsetRequest, ReadOffsetResponse),
    (MetadataReadRequest, MetadataReadResponse),
)
