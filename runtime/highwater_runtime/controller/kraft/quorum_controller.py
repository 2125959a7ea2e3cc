"""The controller of a KRaft cluster (KIP-500, KIP-631): one node of the quorum, active or standby.

Theory of operation. The metadata log is the state; everything else follows from it. Every controller replays what is
committed into its *committed* image. The one that leads the quorum is *active* and holds a second, *latest* image: the
committed one plus what it has written and the quorum has not yet confirmed. A request is judged against the latest
image by a pure function, which returns records and a response. The records are appended in atomic batches and
applied to the latest image at once, so that the next request already sees them; the response waits until everything
that it rests on is committed. A controller that loses the leadership drops its latest image and answers what is
waiting with NOT_CONTROLLER: whether those records survive is for its successor to say.

Brokers' sessions are soft state of the active controller (:mod:`.sessions`); a new one begins with fresh sessions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from highwater_runtime.controller import configs, leadership, topics
from highwater_runtime.controller.decision import MOST_RECORDS, RefusedError
from highwater_runtime.controller.kraft import broker_state, cluster_control, settings
from highwater_runtime.controller.kraft.alter_partition import AlterPartitionDecision, alter_partition
from highwater_runtime.controller.kraft.answers import api_versions
from highwater_runtime.controller.kraft.cluster_control import BrokerControlState, Heartbeat
from highwater_runtime.controller.kraft.feature_control import update_features
from highwater_runtime.controller.kraft.lost_replicas import assign_replicas_to_dirs
from highwater_runtime.controller.kraft.published import PublishedState
from highwater_runtime.controller.kraft.quorum import ControllerOptions, MetadataQuorum, QuorumOpener, open_quorum
from highwater_runtime.controller.kraft.scram_control import alter_user_scram_credentials
from highwater_runtime.controller.kraft.sessions import BrokerSessions
from highwater_runtime.controller.partition_change import UncleanAllowed
from highwater_runtime.log.errors import RecordBatchTooLargeError
from highwater_runtime.metadata import NO_LEADER, MetadataImage, image_of, replica_epoch_matches, snapshot_records
from highwater_runtime.metadata.effective_config import allows_unclean_election
from highwater_runtime.metadata.reading import handle_metadata_read
from highwater_runtime.ports import MS, ApiMessage, InboundRequest, Ports, Timer
from highwater_runtime.ports.trace import AlterPartitionHandled, TransitionTaken
from highwater_runtime.raft import NotLeaderError, RaftReplica
from highwater_runtime.raft.metadata_log import close_metadata_log, ensure_fits
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from highwater_runtime.wire.messages.alter_configs_request import AlterConfigsRequest
from highwater_runtime.wire.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from highwater_runtime.wire.messages.alter_partition_request import AlterPartitionRequest
from highwater_runtime.wire.messages.alter_user_scram_credentials_request import AlterUserScramCredentialsRequest
from highwater_runtime.wire.messages.api_versions_request import ApiVersionsRequest
from highwater_runtime.wire.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from highwater_runtime.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from highwater_runtime.wire.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from highwater_runtime.wire.messages.broker_registration_request import BrokerRegistrationRequest
from highwater_runtime.wire.messages.create_partitions_request import CreatePartitionsRequest
from highwater_runtime.wire.messages.create_topics_request import CreateTopicsRequest
from highwater_runtime.wire.messages.delete_topics_request import DeleteTopicsRequest
from highwater_runtime.wire.messages.elect_leaders_request import ElectLeadersRequest
from highwater_runtime.wire.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from highwater_runtime.wire.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from highwater_runtime.wire.messages.metadata_read_request import MetadataReadRequest
from highwater_runtime.wire.messages.no_op_record import NoOpRecord
from highwater_runtime.wire.messages.register_broker_record import RegisterBrokerRecord
from highwater_runtime.wire.messages.unregister_broker_request import UnregisterBrokerRequest
from highwater_runtime.wire.messages.update_features_request import UpdateFeaturesRequest
from highwater_runtime.wire.records_codec import (
    decode_committed_record,
    decode_metadata_record,
    encode_metadata_record,
)
from highwater_runtime.wire.refusal import refusal

_RECORD_VERSIONS: dict[type, int] = {RegisterBrokerRecord: 1, BrokerRegistrationChangeRecord: 1}
"""Record versions other than 0: those with ``in_controlled_shutdown``, known to every supported metadata.version."""

FENCING_SLICE: Final = 1_000
"""Partitions that a broker without a session leaves in one event; heartbeats of the others come between two events."""

_NOT_ACTIVE = "this controller is not the active one"


def _encoded(records: list[Any]) -> list[bytes]:
    return [encode_metadata_record(record, _RECORD_VERSIONS.get(type(record), 0)) for record in records]


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A response that goes out once ``offset`` is committed."""

    offset: int
    request: InboundRequest
    response: ApiMessage


class QuorumController:
    """One incarnation of a controller (a ``NodeCore`` and a ``RaftListener``).

    ``committed_image``, ``latest_image``, ``is_active`` and ``raft`` are for observers and must not be changed from
    outside.
    """

    def __init__(self, options: ControllerOptions, ports: Ports, opener: QuorumOpener = open_quorum) -> None:
        self.options = options
        self._ports = ports
        self._open = opener
        self._quorum: MetadataQuorum | None = None
        self._published = PublishedState(ports.trace, ports.metrics, node_min_isr=options.config.min_insync_replicas)
        self._committed_offset = -1
        self._bytes_since_snapshot = 0
        self._latest: MetadataImage | None = None
        """What is committed and what this controller has written since; only while it is active."""
        self._waiting: deque[_Waiting] = deque()
        self._sessions = BrokerSessions(options.config.broker_session_timeout_ms * MS)
        self._session_timer: Timer | None = None
        self._rebalance_timer: Timer | None = None
        self._no_op_timer: Timer | None = None

    @property
    def committed_image(self) -> MetadataImage:
        """The cluster as of the last committed record that this controller knows of."""
        return self._published.image

    @property
    def latest_image(self) -> MetadataImage | None:
        """What is committed, and what this controller has written since; None unless it is active."""
        return self._latest

    @property
    def is_active(self) -> bool:
        """Whether this controller leads the quorum and has caught up with its log."""
        return self._latest is not None

    @property
    def has_started(self) -> bool:
        return self._quorum is not None

    @property
    def raft(self) -> RaftReplica:
        """This node's replica of the metadata log; there from :meth:`start` on."""
        assert self._quorum is not None, "the controller has not been started"
        return self._quorum.raft

    def refresh_metrics(self, *, of_records: bool = True) -> None:  # noqa: ARG002 - it has none of these
        if self._quorum is not None:
            self._quorum.raft.refresh_metrics()

    # --- NodeCore -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Open the metadata log and join the quorum. Raises ``OSError`` where the disk fails."""
        self._quorum = self._open(self.options, self._ports, self)
        self._quorum.raft.start()

    def on_request(self, request: InboundRequest) -> None:
        """Pass on what is the quorum's, answer what any controller can, judge the rest if active."""
        if self.raft.handles(request):
            self.raft.on_request(request)
        elif isinstance(request.body, ApiVersionsRequest):
            request.reply(api_versions(self.committed_image, request.version))
        elif isinstance(request.body, MetadataReadRequest):
            handle_metadata_read(
                request,
                self.raft.read_when_current,
                lambda: (self.committed_image, self._committed_offset),
                longest_ms=self.options.config.request_timeout_ms,
            )
        elif self._latest is None or not self.raft.is_leader:
            request.reply(refusal(request.body, ErrorCode.NOT_CONTROLLER, _NOT_ACTIVE, version=request.version))
        else:
            self._judge(request, self._latest)

    def stop(self, on_stopped: Callable[[], None]) -> None:
        """Hand over, leave the quorum, close the log."""
        assert self._quorum is not None, "the controller has not been started"
        raft, log = self._quorum
        self._step_down()

        def left() -> None:
            close_metadata_log(log)
            on_stopped()

        raft.stop(left)

    # --- RaftListener ---------------------------------------------------------------------------------------------

    def on_load_snapshot(self, end_offset: int, epoch: int, records: list[bytes]) -> None:  # noqa: ARG002
        """Begin again with a snapshot; an active controller has what is in it."""
        assert self._latest is None, "an active controller never loads a snapshot"
        self._published.load(image_of([decode_metadata_record(record) for record in records], end_offset))
        self._committed_offset = end_offset - 1
        self._bytes_since_snapshot = 0
        self._published.publish_gauges()

    def on_commit(self, base_offset: int, epoch: int, records: list[bytes], last_offset: int) -> None:  # noqa: ARG002
        """Replay a committed batch, then send the responses that waited for it."""
        for index, record in enumerate(records):
            self._published.apply(decode_committed_record(record), base_offset + index)
        self._committed_offset = last_offset
        self._published.publish_gauges()
        while self._waiting and self._waiting[0].offset <= last_offset:
            waiting = self._waiting.popleft()
            waiting.request.reply(waiting.response)
        self._bytes_since_snapshot += sum(len(record) for record in records)
        if self._bytes_since_snapshot >= self.options.config.metadata_snapshot_bytes:
            self._bytes_since_snapshot = 0
            self.raft.write_snapshot(last_offset + 1, _encoded(snapshot_records(self.committed_image)))

    def on_leader_change(self, leader_id: int | None, epoch: int) -> None:  # noqa: ARG002
        """Become active, or stop being so."""
        self._step_down()
        if leader_id == self.options.node_id:
            self._become_active()

    def _become_active(self) -> None:
        self._latest = self.committed_image.copy()
        self._published.set_active(True)
        self._sessions.restart(self._latest, self._ports.clock.now_ns())
        if self._latest.offset < 0:
            options = self.options
            self._write(settings.bootstrap(options.bootstrap_metadata_version, options.bootstrap_records))
        self._arm_session_timer()
        self._arm_rebalance_timer()
        self._arm_no_op_timer()

    def _step_down(self) -> None:
        if self._latest is None:
            return
        self._latest = None
        self._published.set_active(False)
        for timer in (self._session_timer, self._rebalance_timer, self._no_op_timer):
            if timer is not None:
                timer.cancel()
        self._session_timer = self._rebalance_timer = self._no_op_timer = None
        abandoned, self._waiting = self._waiting, deque()
        for waiting in abandoned:
            waiting.request.reply(
                refusal(waiting.request.body, ErrorCode.NOT_CONTROLLER, _NOT_ACTIVE, version=waiting.request.version)
            )

    # --- deciding and writing -------------------------------------------------------------------------------------

    def _judge(self, request: InboundRequest, latest: MetadataImage) -> None:
        try:
            response = self._decide(request, latest)
        except RefusedError as refused:
            response = refusal(request.body, refused.code, refused.message, version=request.version)
        except NotLeaderError as lost:
            response = refusal(request.body, ErrorCode.NOT_CONTROLLER, str(lost), version=request.version)
        except RecordBatchTooLargeError as large:
            response = refusal(request.body, ErrorCode.RECORD_LIST_TOO_LARGE, str(large), version=request.version)
        if latest.offset > self._committed_offset:
            self._waiting.append(_Waiting(latest.offset, request, response))
        else:
            request.reply(response)

    def _write(self, records: list[Any]) -> int:
        """Append ``records`` and apply them to the latest image; returns the offset of the first.

        They are one atomic batch, or several where they are more than :data:`MOST_RECORDS`; all of them wait for the
        same flush. Without records nothing happens, and the offset is −1.

        Raises ``NotLeaderError`` and ``RecordBatchTooLargeError``; nothing was written then.
        """
        if not records:
            return -1
        assert self._latest is not None, "only the active controller writes"
        batches = [_encoded(records[begin : begin + MOST_RECORDS]) for begin in range(0, len(records), MOST_RECORDS)]
        for batch in batches:
            ensure_fits(batch)
        base_offset = self.raft.log_end_offset
        for batch in batches:
            last_offset = self.raft.append(batch)
        assert last_offset == base_offset + len(records) - 1, "the records are where the decision took them to be"
        for index, record in enumerate(records):
            self._latest.apply(record, base_offset + index)
        return base_offset

    def _decide(self, request: InboundRequest, latest: MetadataImage) -> ApiMessage:
        """Judge ``request`` against the latest image, write what follows, return the response to send later.

        Raises ``RefusedError``, ``NotLeaderError`` and ``RecordBatchTooLargeError``; nothing is written then.
        """
        match request.body:
            case BrokerHeartbeatRequest() as body:
                return self._heartbeat(latest, body)
            case AlterPartitionRequest() as body:
                return self._alter_partition(latest, body, request.version)
            case BrokerRegistrationRequest() as body:
                return self._register(latest, body)
            case UnregisterBrokerRequest() as body:
                unregistration = cluster_control.unregister_broker(latest, body, self._unclean(latest))
                self._write(unregistration.records)
                self._sessions.forget(body.broker_id)
                return unregistration.response
            case _:
                return self._administer(request, latest)

    def _administer(self, request: InboundRequest, latest: MetadataImage) -> ApiMessage:
        decision: Any
        match request.body:
            case AssignReplicasToDirsRequest() as body:
                decision = assign_replicas_to_dirs(latest, body, self._unclean(latest))
            case AllocateProducerIdsRequest() as body:
                decision = settings.allocate_producer_ids(latest, body)
            case CreateTopicsRequest() as body:
                decision = topics.create_topics(latest, body, config=self.options.config, new_uuid=self._new_uuid)
            case DeleteTopicsRequest() as body:
                decision = topics.delete_topics(latest, body, request.version, config=self.options.config)
            case CreatePartitionsRequest() as body:
                decision = topics.create_partitions(latest, body)
            case ElectLeadersRequest() as body:
                decision = leadership.elect_leaders(latest, body, unclean=self._unclean(latest))
            case AlterPartitionReassignmentsRequest() as body:
                decision = leadership.alter_partition_reassignments(latest, body)
            case ListPartitionReassignmentsRequest() as body:
                decision = leadership.list_partition_reassignments(latest, body)
            case IncrementalAlterConfigsRequest() as body:
                decision = configs.incremental_alter_configs(latest, body)
            case AlterConfigsRequest() as body:
                decision = configs.alter_configs(latest, body)
            case AlterUserScramCredentialsRequest() as body:
                decision = alter_user_scram_credentials(latest, body)
            case UpdateFeaturesRequest() as body:
                decision = update_features(latest, body)
            case body:
                raise RefusedError(ErrorCode.INVALID_REQUEST, f"a controller does not serve {body.NAME}")
        self._write(decision.records)
        response: ApiMessage = decision.response
        return response

    def _new_uuid(self) -> UUID:
        return UUID(int=self._ports.random.getrandbits(128), version=4)

    # --- brokers --------------------------------------------------------------------------------------------------

    def _register(self, latest: MetadataImage, body: BrokerRegistrationRequest) -> ApiMessage:
        registration = cluster_control.register_broker(
            latest,
            body,
            cluster_id=self.options.cluster_id,
            base_offset=self.raft.log_end_offset,
            session_alive=self._sessions.is_alive(body.broker_id, self._ports.clock.now_ns()),
            unclean=self._unclean(latest),
        )
        self._write(registration.records)
        if latest.brokers[body.broker_id].fenced:
            self._sessions.forget(body.broker_id)
        return registration.response

    def _heartbeat(self, latest: MetadataImage, body: BrokerHeartbeatRequest) -> ApiMessage:
        decision = cluster_control.heartbeat(latest, body, self._sessions, self._unclean(latest))
        self._write(decision.records)
        self._keep_session(body, decision.response, latest.offset)
        return decision.response.response

    def _keep_session(self, body: BrokerHeartbeatRequest, outcome: Heartbeat, written_to: int) -> None:
        match outcome.state:
            case BrokerControlState.FENCED | BrokerControlState.SHUTDOWN_NOW:
                self._sessions.forget(body.broker_id)
            case BrokerControlState.UNFENCED:
                self._sessions.touch(body.broker_id, self._ports.clock.now_ns(), body.current_metadata_offset)
            case BrokerControlState.CONTROLLED_SHUTDOWN:
                session = self._sessions.touch(body.broker_id, self._ports.clock.now_ns(), body.current_metadata_offset)
                if session.shutdown_offset < 0:
                    session.shutdown_offset = written_to
        if self._session_timer is None:
            self._arm_session_timer()

    def _arm_session_timer(self) -> None:
        """Wake up when the next session may time out. A timer that turns out to be early arms the next one."""
        if self._session_timer is not None:
            self._session_timer.cancel()
            self._session_timer = None
        deadline = self._sessions.next_deadline_ns()
        if self._latest is not None and deadline is not None:
            delay = max(0, deadline - self._ports.clock.now_ns())
            self._session_timer = self._ports.clock.call_later(delay, self._fence_silent_brokers)

    def _fence_silent_brokers(self) -> None:
        self._session_timer = None
        latest = self._latest
        if latest is None or not self.raft.is_leader:
            return
        for broker_id in self._sessions.expired(self._ports.clock.now_ns()):
            records = broker_state.remove_from_isrs(latest, broker_id, self._unclean(latest), FENCING_SLICE)
            if len(records) == FENCING_SLICE:
                # The session stays expired, so the timer is armed for now: the rest comes in the next event.
                self._write(records)
                break
            self._ports.trace.emit(TransitionTaken(reason="session-expired"))
            self._write([*records, *broker_state.own_fencing(latest, broker_id)])
            self._sessions.forget(broker_id)
        self._arm_session_timer()

    # --- partitions -----------------------------------------------------------------------------------------------

    def _alter_partition(self, latest: MetadataImage, body: AlterPartitionRequest, version: int) -> ApiMessage:
        switches = self.options.switches
        decision = alter_partition(
            latest,
            body,
            version,
            lambda claimed, registered: replica_epoch_matches(claimed, registered, switches.replica_epoch_check),
            refusal_moves_epoch=switches.refusal_moves_epoch == "on",
            unclean=self._unclean(latest),
        )
        self._report(body.broker_id, decision, self._write(decision.records))
        return decision.response

    def _report(self, sender: int, decision: AlterPartitionDecision, base_offset: int) -> None:
        for one in decision.handled:
            self._ports.trace.emit(
                AlterPartitionHandled(
                    partition=f"{one.topic.name}-{one.partition}",
                    broker=sender,
                    leader_epoch=one.proposal.leader_epoch,
                    partition_epoch=one.proposal.partition_epoch,
                    isr=[member.broker_id for member in one.members],
                    isr_epochs=[member.broker_epoch for member in one.members],
                    registered_epochs=list(one.registered_epochs),
                    metadata_offset=-1 if one.record_index < 0 else base_offset + one.record_index,
                    reason=one.error.name,
                )
            )

    def _unclean(self, image: MetadataImage) -> UncleanAllowed:
        if self.options.switches.unclean_leader_election == "on":
            return lambda _: True
        return lambda topic: allows_unclean_election(image, self.options.config, topic)

    def _arm_rebalance_timer(self) -> None:
        delay = self.options.config.leader_imbalance_check_ms * MS
        self._rebalance_timer = self._ports.clock.call_later(delay, self._rebalance)

    def _rebalance(self) -> None:
        self._rebalance_timer = None
        if self._latest is None or not self.raft.is_leader:
            return
        if self.options.config.auto_leader_rebalance:
            self._write(list(leadership.rebalance_leaders(self._latest)))
        # A topic may allow an unclean election by now. Kafka 4.0 looks for that whatever the setting is.
        self._write(broker_state.elect_leaderless(self._latest, NO_LEADER, self._unclean(self._latest)))
        self._arm_rebalance_timer()

    def _arm_no_op_timer(self) -> None:
        if interval := self.options.config.metadata_max_idle_interval_ms:
            self._no_op_timer = self._ports.clock.call_later(interval * MS, self._write_no_op)

    def _write_no_op(self) -> None:
        """KIP-835: the metadata log grows at least so often, whatever else is written; as in Kafka 3.3 and later."""
        self._no_op_timer = None
        if self._latest is None or not self.raft.is_leader:
            return
        self._write([NoOpRecord()])
        self._arm_no_op_timer()
