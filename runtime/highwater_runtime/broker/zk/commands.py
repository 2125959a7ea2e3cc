"""What a broker does on the controller's commands (Detailed Replication Design V3, C).

Rules in words, those of Apache Kafka 3.9 (``ReplicaManager``, ``KafkaApis``) where the document says nothing:

* Commands are carried out one after the other, in the order of their arrival. None is before the logs are loaded and
  the broker has registered; until the first LeaderAndIsr the broker leads and follows nothing (E).
* A command of a controller epoch below the highest seen is refused (STALE_CONTROLLER_EPOCH, switch
  ``controller-epoch-fencing``); so is one for an earlier incarnation of this broker (STALE_BROKER_EPOCH). A broker
  epoch that is later than this broker's own is taken: the controller may hear of a registration before the broker does.
* A partition's state counts if its leader epoch is not below the one known; of equal leader epochs, the partition epoch
  decides. (Kafka takes no state of the leader epoch that it knows: its controller raises it with each change.)
* A controller sends a command again that got no response, and the first copy may arrive when later commands have been
  carried out. In Kafka it is carried out again: no epoch tells it from a new one. Here a controller numbers its
  commands, and one with a number below the highest seen of this controller is refused (switch
  ``stale-command-check``). One without a number (Kafka's own controller) is taken, and so is a copy of the last one,
  which changes nothing.
* A replica follows only a leader that is among the live brokers of the last UpdateMetadata. If it is not, or if there
  is no leader, the new state is dropped, though the response says NONE: the replica gets a log if it has none, and
  leads or follows as before (``makeFollowers``). UpdateMetadata does not make up for it; the next leader epoch does.
* LeaderAndIsr of ``type`` 2 names all replicas of this broker: what is here besides is stray (KAFKA-7362).
* StopReplica without deletion ends leading and following, and the log stays.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final
from uuid import UUID

from msgspec.structs import replace

from highwater_runtime.broker.mode import BrokerContext
from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.broker.replica_role import Role
from highwater_runtime.broker.zk.cluster_image import NO_ID, ClusterImage
from highwater_runtime.broker.zk.configs import Configs
from highwater_runtime.epochs import is_too_far
from highwater_runtime.log.names import TopicPartition
from highwater_runtime.metadata import NO_LEADER, LeaderRecoveryState, PartitionRegistration
from highwater_runtime.metadata.topic_names import is_legal
from highwater_runtime.metadata.znodes import key_of
from highwater_runtime.ports import InboundRequest
from highwater_runtime.ports.trace import TransitionTaken
from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.leader_and_isr_request import LeaderAndIsrPartitionState, LeaderAndIsrRequest
from highwater_runtime.wire.messages.leader_and_isr_response import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from highwater_runtime.wire.messages.stop_replica_request import StopReplicaPartitionState, StopReplicaRequest
from highwater_runtime.wire.messages.stop_replica_response import StopReplicaPartitionError, StopReplicaResponse
from highwater_runtime.wire.messages.update_metadata_request import UpdateMetadataRequest
from highwater_runtime.wire.messages.update_metadata_response import UpdateMetadataResponse
from highwater_runtime.wire.refusal import refusal

COMMANDS: Final = {ApiKey.LEADER_AND_ISR: (2, 6), ApiKey.STOP_REPLICA: (3, 3), ApiKey.UPDATE_METADATA: (5, 7)}
"""API → lowest and highest version that is taken."""

ALL_REPLICAS: Final = 2
_TYPE_SINCE: Final = 5
_TOPIC_IDS_SINCE: Final = 5
"""Versions of LeaderAndIsr."""
_ANY_BROKER_EPOCH: Final = -1
_NO_EPOCH: Final = -1
_NO_SEQUENCE: Final = -1
_EPOCH_DURING_DELETE: Final = -2

Command = LeaderAndIsrRequest | StopReplicaRequest | UpdateMetadataRequest


class Commands:
    """Carries out commands. ``broker_epoch`` gives the present one; ``on_roles`` is called after each LeaderAndIsr.

    ``controller_epochs`` has, for each replica here, the epoch of the controller that decided on its leader.
    """

    def __init__(
        self,
        context: BrokerContext,
        cluster: ClusterImage,
        configs: Configs,
        controller_epochs: dict[PartitionKey, int],
        *,
        broker_epoch: Callable[[], int],
        publish: Callable[[], None],
    ) -> None:
        self.controller_epoch = 0
        """The highest that a command had."""
        self._sequence = _NO_SEQUENCE
        """The highest number that a command of that controller had."""
        self._context = context
        self._cluster = cluster
        self._configs = configs
        self._controller_epochs = controller_epochs
        self._broker_epoch = broker_epoch
        self._publish = publish
        self._waiting: deque[InboundRequest] = deque()
        self._is_open = False
        self._is_busy = False

    def open(self) -> None:
        """The broker has loaded its logs and registered: begin."""
        self._is_open = True
        self._go_on()

    def handle(self, request: InboundRequest) -> None:
        """Take a request of :data:`COMMANDS`."""
        low, high = COMMANDS[ApiKey(request.api_key)]
        if low <= request.version <= high:
            self._waiting.append(request)
            self._go_on()
        else:
            request.reply(refusal(request.body, ErrorCode.UNSUPPORTED_VERSION, version=request.version))

    def _go_on(self) -> None:
        while self._is_open and self._waiting and not self._is_busy:
            request = self._waiting.popleft()
            error = self._refusal(request.body)
            if error is not ErrorCode.NONE:
                self._context.ports.trace.emit(TransitionTaken(reason="stale-command-refused"))
                request.reply(refusal(request.body, error, version=request.version))
                continue
            if request.body.controller_epoch > self.controller_epoch:
                self.controller_epoch = request.body.controller_epoch
                self._sequence = _NO_SEQUENCE
            if request.body.controller_epoch == self.controller_epoch:
                self._sequence = max(self._sequence, request.body.sequence)
            self._is_busy = True
            self._configs.know(_topics_of(request.body), lambda request=request: self._carry_out(request))  # type: ignore[misc]

    def _refusal(self, body: Command) -> ErrorCode:
        if body.broker_epoch != _ANY_BROKER_EPOCH and body.broker_epoch < self._broker_epoch():
            return ErrorCode.STALE_BROKER_EPOCH
        switches = self._context.options.switches
        if switches.controller_epoch_fencing == "on" and body.controller_epoch < self.controller_epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        if is_too_far(body.controller_epoch, self.controller_epoch):
            return ErrorCode.INVALID_REQUEST
        if switches.stale_command_check == "on" and self._is_older(body):
            return ErrorCode.STALE_CONTROLLER_EPOCH
        return ErrorCode.NONE

    def _is_older(self, body: Command) -> bool:
        """Whether a command that this controller sent later has been taken."""
        return body.controller_epoch == self.controller_epoch and _NO_SEQUENCE < body.sequence < self._sequence

    def _carry_out(self, request: InboundRequest) -> None:
        match request.body:
            case LeaderAndIsrRequest() as body:
                request.reply(self._lead_and_follow(body, request.version))
            case StopReplicaRequest() as body:
                response, deleted = self._stop(body)
                # Once its replicas have confirmed, the controller gives the name of a topic away.
                self._context.logs.departures.when_over(deleted, lambda: request.reply(response))
            case UpdateMetadataRequest() as body:
                request.reply(self._update(body))
        self._is_busy = False
        self._go_on()

    # --- LeaderAndIsr ---------------------------------------------------------------------------------------------

    def _lead_and_follow(self, body: LeaderAndIsrRequest, version: int) -> LeaderAndIsrResponse:
        replicas = self._context.replicas
        is_full = version >= _TYPE_SINCE and body.type == ALL_REPLICAS
        response = LeaderAndIsrResponse(error_code=ErrorCode.NONE)
        named: dict[PartitionKey, str] = {}
        roles: dict[PartitionKey, tuple[Role, int]] = {}
        outcomes: list[tuple[str, UUID, int, ErrorCode]] = []
        for topic in body.topic_states:
            topic_id = None if topic.topic_id == NO_ID else topic.topic_id
            for state in topic.partition_states:
                key = (key_of(topic.topic_name, topic_id), state.partition_index)
                named[key] = topic.topic_name
                error = self._check(topic.topic_name, key, state, is_full=is_full)
                if error is ErrorCode.NONE:
                    role = self._role(topic.topic_name, key, state)
                    if role is not None:
                        roles[key] = (role, state.controller_epoch)
                outcomes.append((topic.topic_name, topic.topic_id, state.partition_index, error))
        self._publish()
        if is_full:
            replicas.set_strays_aside(named)
        for key, (_, controller_epoch) in roles.items():
            self._controller_epochs[key] = controller_epoch
        replicas.apply_roles({key: role for key, (role, _) in roles.items()})
        replicas.begin()
        errors: dict[UUID, LeaderAndIsrTopicError] = {}
        for name, topic_id, index, error in outcomes:
            if version >= _TOPIC_IDS_SINCE:
                of_topic = errors.setdefault(topic_id, LeaderAndIsrTopicError(topic_id=topic_id))
                of_topic.partition_errors.append(LeaderAndIsrPartitionError(partition_index=index, error_code=error))
            else:
                response.partition_errors.append(
                    LeaderAndIsrPartitionError(topic_name=name, partition_index=index, error_code=error)
                )
        response.topics = list(errors.values())
        return response

    def _role(self, topic: str, key: PartitionKey, state: LeaderAndIsrPartitionState) -> Role | None:
        """What the replica is to be now; None: what it was."""
        registration = _registration(state)
        known = self._context.replicas.roles.get(key)
        if known is not None and known.state.leader_epoch == state.leader_epoch:
            return Role(topic, registration, known.leader_at)
        leader_at = self._cluster.image.endpoint_of(state.leader)
        if leader_at is not None or state.leader == self._context.options.node_id:
            return Role(topic, registration, leader_at)
        if state.leader >= 0:
            self._context.ports.trace.emit(TransitionTaken(reason="leader-not-alive", partition=f"{topic}-{key[1]}"))
        if known is not None:
            return None
        without_state = replace(registration, leader=NO_LEADER, leader_epoch=_NO_EPOCH, partition_epoch=_NO_EPOCH)
        return Role(topic, without_state, None)

    def _check(self, topic: str, key: PartitionKey, state: LeaderAndIsrPartitionState, *, is_full: bool) -> ErrorCode:
        replicas, node_id = self._context.replicas, self._context.options.node_id
        if not is_legal(topic) or state.partition_index < 0:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        if node_id not in state.replicas:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        known = replicas.roles.get(key)
        led = _NO_EPOCH if known is None else known.state.leader_epoch
        is_ahead = is_too_far(state.leader_epoch, led) or is_too_far(state.controller_epoch, self.controller_epoch)
        if is_ahead or not _is_possible(state):
            return ErrorCode.INVALID_REQUEST
        log = self._context.logs.get(topic, state.partition_index)
        if log is not None and log.failure is not None:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if known is None:
            held = replicas.key_by_name(topic, state.partition_index)
            # A full list says what there is; another command does not take away a partition of another topic id. One
            # that was stopped has gone for the controller, though its log may still be under way.
            is_free = held is None or held not in replicas.roles
            return ErrorCode.NONE if is_free or is_full else ErrorCode.INCONSISTENT_TOPIC_ID
        if (state.leader_epoch, state.partition_epoch) < (known.state.leader_epoch, known.state.partition_epoch):
            return ErrorCode.STALE_CONTROLLER_EPOCH
        return ErrorCode.NONE

    # --- StopReplica ----------------------------------------------------------------------------------------------

    def _stop(self, body: StopReplicaRequest) -> tuple[StopReplicaResponse, list[TopicPartition]]:
        """The response, and the partitions whose logs must be gone first."""
        replicas = self._context.replicas
        deleted: list[PartitionKey] = []
        halted: list[PartitionKey] = []
        named: list[TopicPartition] = []
        response = StopReplicaResponse(error_code=ErrorCode.NONE)
        for topic in body.topic_states:
            for state in topic.partition_states:
                key = replicas.key_by_name(topic.topic_name, state.partition_index)
                error = self._check_stop(topic.topic_name, key, state)
                response.partition_errors.append(
                    StopReplicaPartitionError(
                        topic_name=topic.topic_name, partition_index=state.partition_index, error_code=error
                    )
                )
                if error is not ErrorCode.NONE:
                    continue
                if state.delete_partition:
                    named.append(TopicPartition(topic.topic_name, state.partition_index))
                if key is not None:
                    (deleted if state.delete_partition else halted).append(key)
                elif state.delete_partition and self._context.logs.get(topic.topic_name, state.partition_index):
                    # The topic was deleted while this broker was off.
                    self._context.logs.delete(topic.topic_name, state.partition_index)
            if topic.topic_name not in self._cluster.image.topics_by_name:
                self._configs.forget(topic.topic_name)  # what was read when a command named it ends with its topic
        replicas.stop(deleted)
        replicas.halt(halted)
        for key in deleted:
            self._controller_epochs.pop(key, None)
        replicas.begin()
        return response, named

    def _check_stop(self, topic: str, key: PartitionKey | None, state: StopReplicaPartitionState) -> ErrorCode:
        log = self._context.logs.get(topic, state.partition_index)
        if log is not None and log.failure is not None:
            return ErrorCode.KAFKA_STORAGE_ERROR
        known = None if key is None else self._context.replicas.roles.get(key)
        if known is None or state.leader_epoch in (_NO_EPOCH, _EPOCH_DURING_DELETE):
            return ErrorCode.NONE
        if is_too_far(state.leader_epoch, known.state.leader_epoch):
            return ErrorCode.INVALID_REQUEST
        is_stale = state.leader_epoch < known.state.leader_epoch
        return ErrorCode.FENCED_LEADER_EPOCH if is_stale else ErrorCode.NONE

    # --- UpdateMetadata -------------------------------------------------------------------------------------------

    def _update(self, body: UpdateMetadataRequest) -> UpdateMetadataResponse:
        if not all(_is_sound(body, topic.topic_name) for topic in body.topic_states) or self._cluster.is_ahead(body):
            return UpdateMetadataResponse(error_code=ErrorCode.INVALID_REQUEST)
        for topic in self._cluster.update(body, self._broker_epoch()):
            self._configs.forget(topic)
        self._publish()
        if self._context.replicas.is_loaded:
            self._context.replicas.begin()
        return UpdateMetadataResponse(error_code=ErrorCode.NONE)


def _topics_of(body: Command) -> list[str]:
    """The topics whose configurations must be known before ``body`` is acted on."""
    if isinstance(body, StopReplicaRequest):
        return []
    return [topic.topic_name for topic in body.topic_states if is_legal(topic.topic_name)]


def _is_sound(body: UpdateMetadataRequest, topic: str) -> bool:
    return is_legal(topic) and all(
        state.partition_index >= 0 for one in body.topic_states for state in one.partition_states
    )


def _is_possible(state: LeaderAndIsrPartitionState) -> bool:
    """Whether a controller can have decided this: no broker twice, an ISR among the replicas, the leader in it."""
    replicas, isr = set(state.replicas), set(state.isr)
    return (
        len(replicas) == len(state.replicas)
        and len(isr) == len(state.isr)
        and isr <= replicas
        and (state.leader < 0 or state.leader in isr)
        and state.leader_epoch >= 0
        and state.partition_epoch >= 0
    )


def _registration(state: LeaderAndIsrPartitionState) -> PartitionRegistration:
    return PartitionRegistration(
        replicas=tuple(state.replicas),
        isr=tuple(state.isr),
        leader=max(state.leader, NO_LEADER),
        leader_epoch=state.leader_epoch,
        partition_epoch=state.partition_epoch,
        leader_recovery_state=LeaderRecoveryState.RECOVERING
        if state.leader_recovery_state
        else LeaderRecoveryState.RECOVERED,
        adding_replicas=tuple(state.adding_replicas),
        removing_replicas=tuple(state.removing_replicas),
    )
