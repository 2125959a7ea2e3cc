"""Administration by client: topics, partitions, reassignment, leader election, features.

One request at a time, to any broker (brokers forward to the active controller, but for what only a leader can do), or
in ZooKeeper mode to the broker that is the controller, as any broker's Metadata names it; repeated at another broker
until it is answered for good or the deadline has passed. An answer that says "already so"
counts as done when an earlier attempt got no answer, since that one may have done it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from highwater_runtime.metadata.registrations import BROKER_RESOURCE, ConfigResource
from highwater_runtime.ports import MS, SECOND, ApiMessage, ClientCore, Endpoint, Ports, RpcFailure
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from highwater_runtime.wire.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from highwater_runtime.wire.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from highwater_runtime.wire.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from highwater_runtime.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from highwater_runtime.wire.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from highwater_runtime.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from highwater_runtime.wire.messages.metadata_request import MetadataRequest
from highwater_runtime.wire.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest

_SET: Final = 0
_DELETE: Final = 1
"""Operations of IncrementalAlterConfigs."""
_REQUEST_NS: Final = 5 * SECOND
_BACKOFF_NS: Final = 100 * MS

_AGAIN: Final = frozenset(
    {
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,  # until the leader has been asked
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.INVALID_REPLICATION_FACTOR,  # until enough brokers are unfenced
        ErrorCode.NETWORK_EXCEPTION,
    }
)


_NOTHING_TO_DO: Final = (ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
"""The leader is the preferred one; the move that was to be cancelled had ended by then. So all is as it was asked."""
_OF_LEADERS: Final = frozenset({"DeleteRecordsRequest"})
"""Served by the leader of a partition, not by the controller."""


@dataclass(frozen=True, slots=True)
class AdminOutcome:
    """How a request ended; ``error`` is None when it was carried out. ``answered``: whether there was an answer for
    good, within its time. ``too_late``: the move that was to be taken back had ended, or was not there any more.
    ``may_recur``: an attempt had no answer, so it may be carried out later, too. ``topic_id``: of a topic that was
    created, in hex; empty: not told. ``is_presumed``: the answer to a later attempt was that it is so already. In
    ZooKeeper mode that may be another topic of the name, which is being deleted."""

    what: str
    error: str | None
    answered: bool = True
    too_late: bool = False
    may_recur: bool = False
    topic_id: str = ""
    is_presumed: bool = False


OnOutcome = Callable[[AdminOutcome], None]


@dataclass(slots=True)
class _Job:
    what: str
    request: ApiMessage
    version: int
    already: frozenset[int]
    deadline_ns: int
    on_outcome: OnOutcome
    to: Endpoint | None
    unanswered: bool = False
    last_error: str = "no answer"


class AdminClient(ClientCore):
    """A client core that does nothing by itself."""

    def __init__(
        self,
        bootstrap: Sequence[Endpoint],
        ports: Ports,
        *,
        mode: Literal["kraft", "zookeeper"] = "kraft",
        brokers: Mapping[int, Endpoint] | None = None,
    ) -> None:
        """``brokers``: each must itself be asked to alter its configuration, as Apache Kafka demands."""
        self._bootstrap = list(bootstrap)
        self._brokers = brokers or {}
        self._asks_controller = mode == "zookeeper"
        self._controller: Endpoint | None = None
        self._ports = ports
        self._jobs: deque[_Job] = deque()
        self._busy = False
        self._attempt = -1

    # --- NodeCore ---

    # --- administration ---

    def create_topic(
        self,
        name: str,
        *,
        partitions: int,
        replication_factor: int | None,
        assignment: Sequence[Sequence[int]] | None,
        config: Mapping[str, str],
        timeout_ns: int,
        on_outcome: OnOutcome,
    ) -> None:
        """CreateTopics; replicas as assigned, or placed by the controller."""
        placed = assignment is None
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions if placed else -1,
            replication_factor=(-1 if replication_factor is None else replication_factor) if placed else -1,
            assignments=[
                CreatableReplicaAssignment(partition_index=index, broker_ids=list(replicas))
                for index, replicas in enumerate(assignment or ())
            ],
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in config.items()],
        )
        self._submit(
            f"createTopic {name}",
            CreateTopicsRequest(topics=[topic], timeout_ms=_REQUEST_NS // MS),
            7,
            timeout_ns,
            on_outcome,
            already=ErrorCode.TOPIC_ALREADY_EXISTS,
        )

    def delete_topic(self, name: str, *, timeout_ns: int, on_outcome: OnOutcome) -> None:
        self._submit(
            f"deleteTopic {name}",
            DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=_REQUEST_NS // MS),
            6,
            timeout_ns,
            on_outcome,
            already=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        )

    def add_partitions(self, topic: str, total: int, *, timeout_ns: int, on_outcome: OnOutcome) -> None:
        """CreatePartitions up to ``total``."""
        self._submit(
            f"addPartitions {topic} to {total}",
            CreatePartitionsRequest(
                topics=[CreatePartitionsTopic(name=topic, count=total, assignments=None)], timeout_ms=_REQUEST_NS // MS
            ),
            3,
            timeout_ns,
            on_outcome,
            already=ErrorCode.INVALID_PARTITIONS,
        )

    def reassign(
        self, topic: str, partition: int, replicas: Sequence[int] | None, *, timeout_ns: int, on_outcome: OnOutcome
    ) -> None:
        """AlterPartitionReassignments: begin to move a partition; None: take back the move that is under way."""
        wanted = None if replicas is None else list(replicas)
        moved = ReassignableTopic(
            name=topic, partitions=[ReassignablePartition(partition_index=partition, replicas=wanted)]
        )
        self._submit(
            f"cancel reassign {topic}-{partition}" if wanted is None else f"reassign {topic}-{partition} to {wanted}",
            AlterPartitionReassignmentsRequest(topics=[moved], timeout_ms=_REQUEST_NS // MS),
            0,
            timeout_ns,
            on_outcome,
            already=ErrorCode.NO_REASSIGNMENT_IN_PROGRESS if wanted is None else ErrorCode.NONE,
        )

    def alter_configs(
        self,
        changes: Mapping[ConfigResource, Mapping[str, str | None]],
        *,
        timeout_ns: int,
        on_outcome: OnOutcome,
    ) -> None:
        """IncrementalAlterConfigs: set properties of topics and brokers, and delete those that are None."""
        by_endpoint: dict[Endpoint | None, list[AlterConfigsResource]] = {}
        for resource, properties in changes.items():
            is_broker = resource.type == BROKER_RESOURCE and resource.name.isdigit()
            to = self._brokers.get(int(resource.name)) if is_broker else None
            altered = AlterConfigsResource(
                resource_type=resource.type,
                resource_name=resource.name,
                configs=[
                    AlterableConfig(name=key, config_operation=_DELETE if value is None else _SET, value=value)
                    for key, value in properties.items()
                ],
            )
            by_endpoint.setdefault(to, []).append(altered)
        outcomes: list[AdminOutcome] = []

        def ended(outcome: AdminOutcome) -> None:
            outcomes.append(outcome)
            if len(outcomes) == len(by_endpoint):
                on_outcome(_worst_of(outcomes))

        what = f"alterConfigs of {', '.join(resource.name for resource in changes)}"
        for to, resources in by_endpoint.items():
            self._submit(what, IncrementalAlterConfigsRequest(resources=resources), 1, timeout_ns, ended, to=to)

    def elect_leaders(
        self, partitions: Sequence[tuple[str, int]] | None, *, timeout_ns: int, on_outcome: OnOutcome
    ) -> None:
        """ElectLeaders: the preferred ones, of these partitions or of all."""
        topics: dict[str, list[int]] = {}
        for topic, partition in partitions or ():
            topics.setdefault(topic, []).append(partition)
        named = [TopicPartitions(topic=topic, partitions=indexes) for topic, indexes in topics.items()]
        self._submit(
            "electLeaders",
            ElectLeadersRequest(
                election_type=0,
                topic_partitions=None if partitions is None else named,
                timeout_ms=_REQUEST_NS // MS,
            ),
            2,
            timeout_ns,
            on_outcome,
            already=ErrorCode.ELECTION_NOT_NEEDED,
        )

    def delete_records(
        self, topic: str, partition: int, before: int | None, *, timeout_ns: int, on_outcome: OnOutcome
    ) -> None:
        """DeleteRecords: let a partition begin at ``before`` (None: at its HW). Only its leader can."""
        begins = DeleteRecordsPartition(partition_index=partition, offset=-1 if before is None else before)
        self._submit(
            f"deleteRecords {topic}-{partition} below {'the HW' if before is None else before}",
            DeleteRecordsRequest(
                topics=[DeleteRecordsTopic(name=topic, partitions=[begins])], timeout_ms=_REQUEST_NS // MS
            ),
            2,
            timeout_ns,
            on_outcome,
        )

    def update_feature(self, name: str, level: int, *, timeout_ns: int, on_outcome: OnOutcome) -> None:
        """UpdateFeatures: raise a feature to ``level``."""
        self._submit(
            f"updateFeature {name} to {level}",
            UpdateFeaturesRequest(
                timeout_ms=_REQUEST_NS // MS,
                feature_updates=[FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=1)],
            ),
            1,
            timeout_ns,
            on_outcome,
        )

    # --- requests ---

    def _submit(
        self,
        what: str,
        request: ApiMessage,
        version: int,
        timeout_ns: int,
        on_outcome: OnOutcome,
        *,
        already: ErrorCode = ErrorCode.NONE,
        to: Endpoint | None = None,
    ) -> None:
        deadline = self._ports.clock.now_ns() + timeout_ns
        self._jobs.append(_Job(what, request, version, frozenset({int(already)}), deadline, on_outcome, to))
        if not self._busy:
            self._busy = True
            self._next()

    def _next(self) -> None:
        if not self._jobs:
            self._busy = False
            return
        self._try(self._jobs.popleft())

    def _try(self, job: _Job) -> None:
        now = self._ports.clock.now_ns()
        if now >= job.deadline_ns:
            self._finish(job, f"not done in time: {job.last_error}", answered=False)
            return
        self._attempt += 1
        to = job.to or self._bootstrap[self._attempt % len(self._bootstrap)]
        if self._asks_controller and job.to is None and job.request.NAME not in _OF_LEADERS:
            if self._controller is None:
                self._look_for_controller(job, to)
                return
            to = self._controller
        self._ports.network.send(
            to,
            job.request,
            job.version,
            lambda response: self._answered(job, response),
            timeout_ns=min(2 * _REQUEST_NS, max(job.deadline_ns - now, MS)),
        )

    def _look_for_controller(self, job: _Job, broker: Endpoint) -> None:
        """Ask a broker who the controller is, then go on with the job."""
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
        self._ports.network.send(
            broker, request, 9, lambda response: self._found_controller(job, response), timeout_ns=_REQUEST_NS
        )

    def _found_controller(self, job: _Job, response: Any) -> None:
        if not isinstance(response, RpcFailure):
            named = [one for one in response.brokers if one.node_id == response.controller_id]
            self._controller = Endpoint(named[0].host, named[0].port) if named else None
        if self._controller is None:
            job.last_error = "no broker knows the controller"
        self._ports.clock.call_later(0 if self._controller else _BACKOFF_NS, lambda: self._try(job))

    def _answered(self, job: _Job, response: Any) -> None:
        if response is RpcFailure.UNSUPPORTED:
            self._finish(job, f"{job.request.NAME.removesuffix('Request')} is {response.value}")
            return
        if isinstance(response, RpcFailure):
            self._controller = None
            job.unanswered, job.last_error = True, response.value
            self._ports.clock.call_later(_BACKOFF_NS, lambda: self._try(job))
            return
        code, message = _worst(response)
        if code == ErrorCode.NOT_CONTROLLER:
            self._controller = None
            # A controller of ZooKeeper mode that is deposed responds so to requests that it has begun to carry out.
            job.unanswered = job.unanswered or self._asks_controller
        if code == ErrorCode.NONE or (code in job.already and (job.unanswered or code in _NOTHING_TO_DO)):
            too_late = code == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
            is_presumed = self._asks_controller and code == ErrorCode.TOPIC_ALREADY_EXISTS
            self._finish(job, None, too_late=too_late, topic_id=_created(response), is_presumed=is_presumed)
        elif code in _AGAIN or (self._asks_controller and code == ErrorCode.TOPIC_ALREADY_EXISTS):
            job.last_error = message
            job.unanswered = job.unanswered or code in (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.UNKNOWN_SERVER_ERROR)
            self._ports.clock.call_later(_BACKOFF_NS, lambda: self._try(job))
        else:
            self._finish(job, message)

    def _finish(
        self,
        job: _Job,
        error: str | None,
        *,
        answered: bool = True,
        too_late: bool = False,
        topic_id: str = "",
        is_presumed: bool = False,
    ) -> None:
        outcome = AdminOutcome(job.what, error, answered, too_late, job.unanswered, topic_id, is_presumed)
        job.on_outcome(outcome)
        self._next()


def _created(response: Any) -> str:
    """The id of the topic that was created, in hex; empty: none was, or topics have no ids."""
    if response.NAME != "CreateTopicsResponse":
        return ""
    return next((one.topic_id.hex for one in response.topics if one.topic_id.int), "")


def _worst_of(outcomes: Sequence[AdminOutcome]) -> AdminOutcome:
    """How requests ended that were made of one: with the first error, if there is one."""
    failed = next((one for one in outcomes if one.error is not None), outcomes[0])
    answered, may_recur = all(one.answered for one in outcomes), any(one.may_recur for one in outcomes)
    return replace(failed, answered=answered, may_recur=may_recur)


def _worst(response: Any) -> tuple[int, str]:
    """The first error anywhere in a response, with its message; ``NONE`` where there is none."""
    found = [(response.error_code, None)] if hasattr(response, "error_code") else []
    match response.NAME:
        case "CreateTopicsResponse":
            found += [(item.error_code, item.error_message) for item in response.topics]
        case "CreatePartitionsResponse":
            found += [(item.error_code, item.error_message) for item in response.results]
        case "DeleteTopicsResponse":
            found += [(item.error_code, item.error_message) for item in response.responses]
        case "AlterPartitionReassignmentsResponse":
            found += [
                (partition.error_code, partition.error_message)
                for topic in response.responses
                for partition in topic.partitions
            ]
        case "IncrementalAlterConfigsResponse":
            found += [(item.error_code, item.error_message) for item in response.responses]
        case "ElectLeadersResponse":
            found += [
                (partition.error_code, partition.error_message)
                for topic in response.replica_election_results
                for partition in topic.partition_result
            ]
        case "DeleteRecordsResponse":
            found += [(partition.error_code, None) for topic in response.topics for partition in topic.partitions]
        case "UpdateFeaturesResponse":
            found += [(item.error_code, item.error_message) for item in response.results]
        case name:
            raise AssertionError(f"unexpected {name}")
    wrong = [(code, message) for code, message in found if code not in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)]
    if wrong:
        code, message = wrong[0]
        name = ErrorCode(code).name if code in set(ErrorCode) else f"error {code}"
        return code, f"{name}: {message}" if message else name
    return (ErrorCode.NONE, "")
