"""Administration in ZooKeeper mode: requests are judged as in KRaft mode, and what follows is written as nodes.

The decisions are those of :mod:`highwater_runtime.controller.topics`, ``leadership`` and ``configs`` on the image of
the context: the same validations, placement and errors. Their records are not written to a log but say what to write.
The event that reads such a node (see :mod:`.active`) then does the work, at once; its watch would put it all the same.

CreateTopics, CreatePartitions and DeleteTopics are answered when the work is done (every new partition has a leader;
the topic is gone), or with REQUEST_TIMED_OUT, as Kafka does it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, cast

from highwater_runtime.controller import configs, leadership, topics
from highwater_runtime.controller.decision import RefusedError, check_broker_epoch
from highwater_runtime.controller.partition_change import Election
from highwater_runtime.controller.zk.active import ActiveController
from highwater_runtime.controller.zk.commands import Commands
from highwater_runtime.controller.zk.context import PartitionKey
from highwater_runtime.controller.zk.work import DeposedError, Work, in_batches, read
from highwater_runtime.controller.zk.writes import order_path
from highwater_runtime.metadata import NO_LEADER
from highwater_runtime.metadata.registrations import BROKER_RESOURCE, TOPIC_RESOURCE, ConfigResource
from highwater_runtime.metadata.znodes import (
    ALL_BROKERS,
    BROKER_CONFIGS,
    CONFIG_CHANGE_PREFIX,
    DELETE_TOPICS,
    PARTITIONS_ADD,
    PARTITIONS_REASSIGNED,
    ConfigChangeNode,
    ConfigNode,
    ReplicasNode,
    TopicNode,
    decode_config,
    encode_node,
    topic_config_path,
    topic_path,
)
from highwater_runtime.ports import MS, ApiMessage, Clock, InboundRequest, Timer
from highwater_runtime.ports.coordination import (
    Aborted,
    Create,
    Data,
    Delete,
    Exists,
    Failure,
    Get,
    Multi,
    Set,
    Stat,
    Step,
)
from highwater_runtime.wire.codec import ZERO_UUID
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from highwater_runtime.wire.messages.config_record import ConfigRecord
from highwater_runtime.wire.messages.controlled_shutdown_request import ControlledShutdownRequest
from highwater_runtime.wire.messages.controlled_shutdown_response import (
    ControlledShutdownResponse,
    RemainingPartition,
)
from highwater_runtime.wire.messages.create_partitions_request import CreatePartitionsRequest
from highwater_runtime.wire.messages.create_topics_request import CreateTopicsRequest
from highwater_runtime.wire.messages.delete_topics_request import DeleteTopicsRequest
from highwater_runtime.wire.messages.elect_leaders_request import ElectLeadersRequest
from highwater_runtime.wire.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from highwater_runtime.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from highwater_runtime.wire.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from highwater_runtime.wire.messages.partition_record import PartitionRecord
from highwater_runtime.wire.messages.topic_record import TopicRecord
from highwater_runtime.wire.refusal import refusal

NOT_ACTIVE: Final = "this broker is not the controller"
_AT_ONCE: Final = 500
"""Orders in one multi."""


@dataclass(slots=True)
class _Waiting:
    """A response that is sent once all of ``items`` are done. ``expired`` marks those that are not, by then."""

    number: int
    response: ApiMessage
    is_done: Callable[[], bool]
    expire: Callable[[], None]
    timer: Timer | None = None


class Admin:
    """The requests to one elected controller."""

    def __init__(self, active: ActiveController, clock: Clock) -> None:
        self._active = active
        self._clock = clock
        self._requests = 0
        self._open: dict[int, InboundRequest] = {}
        self._waiting: list[_Waiting] = []

    def serve(self, request: InboundRequest) -> None:
        """Serve a request after the events that wait."""
        self._requests += 1
        number = self._requests
        self._open[number] = request
        self._active.queue.put(("request", number), lambda: self._serve(number, request))

    def drop(self) -> None:
        """Refuse all that is not answered."""
        requests, self._open = self._open, {}
        for waiting in self._waiting:
            if waiting.timer is not None:
                waiting.timer.cancel()
        self._waiting.clear()
        for request in requests.values():
            refuse(request)

    def after_event(self) -> None:
        """Answer what is done now."""
        for waiting in [waiting for waiting in self._waiting if waiting.is_done()]:
            self._waiting.remove(waiting)
            if waiting.timer is not None:
                waiting.timer.cancel()
            self._reply(waiting.number, waiting.response)

    def _reply(self, number: int, response: ApiMessage) -> None:
        request = self._open.pop(number, None)
        if request is not None:
            request.reply(response)

    def _reply_when(
        self,
        number: int,
        response: ApiMessage,
        timeout_ms: int,
        is_done: Callable[[], bool],
        expire: Callable[[], None],
    ) -> None:
        waiting = _Waiting(number, response, is_done, expire)

        def time_out() -> None:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
                waiting.expire()
                self._reply(number, response)

        self._waiting.append(waiting)
        waiting.timer = self._clock.call_later(max(0, timeout_ms) * MS, time_out)

    def _serve(self, number: int, request: InboundRequest) -> Work[None]:
        try:
            response = yield from self._judge(number, request)
        except RefusedError as refused:
            response = refusal(request.body, refused.code, refused.message, version=request.version)
        if response is not None:
            self._reply(number, response)

    def _judge(self, number: int, request: InboundRequest) -> Work[ApiMessage | None]:
        """The response; None: it is sent later."""
        match request.body:
            case CreateTopicsRequest() as body:
                return (yield from self._create_topics(number, body))
            case DeleteTopicsRequest() as body:
                return (yield from self._delete_topics(number, body, request.version))
            case CreatePartitionsRequest() as body:
                return (yield from self._create_partitions(number, body))
            case AlterPartitionReassignmentsRequest() as body:
                return (yield from self._reassign(body))
            case ListPartitionReassignmentsRequest() as body:
                return cast(
                    ApiMessage, leadership.list_partition_reassignments(self._active.context.image, body).response
                )
            case ElectLeadersRequest() as body:
                return (yield from self._elect(body))
            case IncrementalAlterConfigsRequest() as body:
                return (yield from self._alter_configs(body))
            case ControlledShutdownRequest() as body:
                return (yield from self._shut_down(body))
            case body:
                raise RefusedError(ErrorCode.INVALID_REQUEST, f"a controller does not serve {body.NAME}")

    # --- topics ---------------------------------------------------------------------------------------------------

    def _create_topics(self, number: int, body: CreateTopicsRequest) -> Work[ApiMessage | None]:
        active = self._active
        decision = topics.create_topics(
            active.context.image, body, config=active.options.config, new_uuid=active.new_uuid
        )
        made: dict[str, tuple[TopicNode, dict[str, str]]] = {}
        for record in decision.records:
            match record:
                case TopicRecord():
                    topic_id = record.topic_id if active.context.topic_ids else None
                    name = record.name
                    made[name] = TopicNode(partitions={}, topic_id=topic_id), {}
                case ConfigRecord() if record.value is not None:
                    made[name][1][record.name] = record.value
                case PartitionRecord():
                    made[name][0].partitions[record.partition_id] = tuple(record.replicas)
        results = {result.name: result for result in decision.response.topics}
        for name, (node, config) in made.items():
            if not (yield from self._create_topic(name, node, config)):
                results[name].error_code = int(ErrorCode.TOPIC_ALREADY_EXISTS)
                results[name].error_message = f"topic {name!r} already exists"
            if not active.context.topic_ids:
                results[name].topic_id = ZERO_UUID
        new = [name for name in made if results[name].error_code == ErrorCode.NONE]
        if not new:
            return cast(ApiMessage, decision.response)
        yield from active.topics_changed()

        def expire() -> None:
            for name in new:
                if not self._has_leaders([name]):
                    results[name].error_code = int(ErrorCode.REQUEST_TIMED_OUT)
                    results[name].error_message = f"topic {name!r} was created and has no leaders yet"

        self._reply_when(number, decision.response, body.timeout_ms, lambda: self._has_leaders(new), expire)
        return None

    def _create_topic(self, name: str, node: TopicNode, config: dict[str, str]) -> Work[bool]:
        """Whether it is there now and is ours."""
        data = encode_node(node)
        while True:
            (present,) = yield from read([Exists(topic_config_path(name))])
            values = encode_node(ConfigNode(config=config))
            path = topic_config_path(name)
            configure: Step = Set(path, values) if isinstance(present, Stat) else Create(path, values)
            steps = (self._active.elected.guard, configure, Create(topic_path(name), data))
            (outcome,) = yield [Multi(steps=steps)]
            if isinstance(outcome, tuple):
                return True
            if isinstance(outcome, Aborted) and outcome.index == 0:
                raise DeposedError
            (found,) = yield from read([Get(topic_path(name))])
            if isinstance(found, Data):
                return found.data == data and outcome is Failure.CONNECTION_LOSS

    def _has_leaders(self, names: Iterable[str], indexes: Iterable[PartitionKey] = ()) -> bool:
        """Whether all partitions of these topics, and these partitions, have a leader."""
        image = self._active.context.image
        found = [image.topics_by_name.get(name) for name in names]
        states = [state for topic in found if topic is not None for state in topic.partitions.values()]
        some = [image.partition(key.topic, key.partition) for key in indexes]
        return all(found) and all(state is not None and state.leader != NO_LEADER for state in [*states, *some])

    def _delete_topics(self, number: int, body: DeleteTopicsRequest, version: int) -> Work[ApiMessage | None]:
        active = self._active
        decision = topics.delete_topics(active.context.image, body, version, config=active.options.config)
        going = [
            one for one in decision.response.responses if one.error_code == ErrorCode.NONE and one.name is not None
        ]
        yield from self._put([Create(f"{DELETE_TOPICS}/{one.name}") for one in going])
        yield from active.topics_to_delete()
        ids = {one.name: active.context.image.topics_by_name[one.name].id for one in going if one.name is not None}

        def is_gone(name: str | None) -> bool:
            topic = active.context.image.topics_by_name.get(name or "")
            return topic is None or topic.id != ids.get(topic.name)

        def expire() -> None:
            for one in going:
                if not is_gone(one.name):
                    one.error_code = int(ErrorCode.REQUEST_TIMED_OUT)
                    one.error_message = f"topic {one.name!r} will be deleted when all of its replicas are"

        if not going:
            return cast(ApiMessage, decision.response)
        done = lambda: all(is_gone(one.name) for one in going)  # noqa: E731
        self._reply_when(number, decision.response, body.timeout_ms, done, expire)
        return None

    def _create_partitions(self, number: int, body: CreatePartitionsRequest) -> Work[ApiMessage | None]:
        active = self._active
        image = active.context.image
        decision = topics.create_partitions(image, body)
        orders: dict[PartitionKey, ReplicasNode] = {}
        for record in decision.records:
            key = PartitionKey(image.topics_by_id[record.topic_id].name, record.partition_id)
            orders[key] = ReplicasNode(replicas=tuple(record.replicas))
        if not orders:
            return cast(ApiMessage, decision.response)
        yield from self._put([Create(f"{PARTITIONS_ADD}/{topic}") for topic in {key.topic: None for key in orders}])
        yield from self._put(
            [Create(f"{PARTITIONS_ADD}/{key.topic}/{key.partition}", encode_node(node)) for key, node in orders.items()]
        )
        yield from active.partitions_to_add()

        def expire() -> None:
            for result in decision.response.results:
                if not self._has_leaders([], [key for key in orders if key.topic == result.name]):
                    result.error_code = int(ErrorCode.REQUEST_TIMED_OUT)
                    result.error_message = f"the new partitions of {result.name!r} have no leaders yet"

        self._reply_when(number, decision.response, body.timeout_ms, lambda: self._has_leaders([], orders), expire)
        return None

    def _put(self, steps: list[Step]) -> Work[None]:
        """Create or delete each node, unless it is so, fenced by the controller's epoch.

        Raises:
            DeposedError: there is a newer controller.
        """
        todo = steps
        while todo:
            multis = [Multi(steps=(self._active.elected.guard, step)) for step in todo]
            again: list[Step] = []
            for step, outcome in zip(todo, (yield multis), strict=True):
                if isinstance(outcome, Aborted) and outcome.index == 0:
                    raise DeposedError
                if outcome is Failure.CONNECTION_LOSS:
                    again.append(step)
            todo = again

    # --- leaders and replicas -------------------------------------------------------------------------------------

    def _elect(self, body: ElectLeadersRequest) -> Work[ApiMessage]:
        active = self._active
        image = active.context.image
        rules = active.rules
        decision = leadership.elect_leaders(
            image, body, unclean=lambda topic: rules.may_be_unclean(active.context, topic)
        )
        keys = [
            PartitionKey(image.topics_by_id[record.topic_id].name, record.partition_id) for record in decision.records
        ]
        preferred = body.election_type == leadership.PREFERRED_ELECTION
        changed = yield from active.decide(keys, rules, Election.PREFERRED if preferred else Election.ONLINE)
        commands = Commands(active.context)
        commands.changed(changed)
        active.tell(commands)
        return cast(ApiMessage, decision.response)

    def _reassign(self, body: AlterPartitionReassignmentsRequest) -> Work[ApiMessage]:
        active = self._active
        decision = leadership.alter_partition_reassignments(active.context.image, body)
        accepted = {
            PartitionKey(topic.name, one.partition_index)
            for topic in decision.response.responses
            for one in topic.partitions
            if one.error_code == ErrorCode.NONE
        }
        wanted = {
            key: None if one.replicas is None else tuple(one.replicas)
            for topic in body.topics
            for one in topic.partitions
            if (key := PartitionKey(topic.name, one.partition_index)) in accepted
        }
        orders = [key for key, replicas in wanted.items() if replicas is not None]
        yield from self._put(
            [Create(f"{PARTITIONS_REASSIGNED}/{topic}") for topic in {key.topic: None for key in orders}]
        )
        todo = dict(wanted)
        while todo:
            stats = yield from read([Exists(order_path(key)) for key in todo])
            steps: list[Step] = []
            for (key, replicas), stat in zip(todo.items(), stats, strict=True):
                present = isinstance(stat, Stat)
                if replicas is not None:
                    data = encode_node(ReplicasNode(replicas=replicas))
                    steps.append(Set(order_path(key), data) if present else Create(order_path(key), data))
                elif present:
                    steps.append(Delete(order_path(key)))
            batches = in_batches(steps, lambda _: 1, _AT_ONCE)
            outcomes = (yield [Multi(steps=(active.elected.guard, *batch)) for batch in batches]) if batches else []
            if any(isinstance(outcome, Aborted) and outcome.index == 0 for outcome in outcomes):
                raise DeposedError
            if all(isinstance(outcome, tuple) for outcome in outcomes):
                todo = {}
        yield from active.orders_changed()
        return cast(ApiMessage, decision.response)

    def _shut_down(self, body: ControlledShutdownRequest) -> Work[ApiMessage]:
        """Move all that the broker leads elsewhere, and take it out of the ISRs of what it follows."""
        active = self._active
        context, broker_id = active.context, body.broker_id
        if broker_id not in context.image.brokers:
            raise RefusedError(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {broker_id} is not registered")
        if body.broker_epoch != -1:
            check_broker_epoch(context.image, broker_id, body.broker_epoch)
        context.begin_shutdown(broker_id)
        # A topic that is being deleted keeps nobody, and its replicas are to be deleted, not only stopped.
        keys = [key for key in context.keys_on(broker_id) if not context.is_going(key.topic)]
        changed = yield from active.decide(keys)
        commands = Commands(context)
        commands.changed(changed)
        remaining: list[RemainingPartition] = []
        for key in keys:
            state = context.partition(key)
            if state is None or len(state.replicas) == 1:
                continue
            if state.leader == broker_id:
                remaining.append(RemainingPartition(topic_name=key.topic, partition_index=key.partition))
            else:
                commands.stop(broker_id, key, state.leader_epoch, delete=False)
        active.tell(commands)
        return ControlledShutdownResponse(remaining_partitions=remaining)

    # --- configurations -------------------------------------------------------------------------------------------

    def _alter_configs(self, body: IncrementalAlterConfigsRequest) -> Work[ApiMessage]:
        active = self._active
        resources = list(
            dict.fromkeys(
                ConfigResource(resource.resource_type, resource.resource_name)
                for resource in body.resources
                if self._can_be_configured(resource.resource_type, resource.resource_name)
            )
        )
        while True:
            nodes = yield from read([Get(_config_path(resource)) for resource in resources])
            versions: dict[ConfigResource, int | None] = {}
            for resource, node in zip(resources, nodes, strict=True):
                is_there = isinstance(node, Data)
                versions[resource] = node.stat.version if is_there else None
                path = _config_path(resource)
                values = decode_config(path, node.data) if is_there else {}
                active.context.configure(resource, values)
            decision = configs.incremental_alter_configs(active.context.image, body)
            # As in Apache Kafka, what changes nothing is written and told too.
            altered = {
                resource: dict(active.context.image.configs.get(resource, {}))
                for resource in _accepted(body, decision.response)
            }
            for record in decision.records:
                resource = ConfigResource(record.resource_type, record.resource_name)
                own = altered[resource]
                if record.value is None:
                    own.pop(record.name, None)
                else:
                    own[record.name] = record.value
            multis = []
            for resource, own in altered.items():
                path, data, version = _config_path(resource), encode_node(ConfigNode(config=own)), versions[resource]
                write: Step = Create(path, data) if version is None else Set(path, data, version)
                change = ConfigChangeNode(entity_path=path.removeprefix("/config/"))
                tell = Create(CONFIG_CHANGE_PREFIX, encode_node(change), sequential=True)
                multis.append(Multi(steps=(active.elected.guard, write, tell)))
            outcomes = (yield multis) if multis else []
            if any(isinstance(outcome, Aborted) and outcome.index == 0 for outcome in outcomes):
                raise DeposedError
            if all(isinstance(outcome, tuple) for outcome in outcomes):
                for resource, own in altered.items():
                    active.context.configure(resource, own)
                yield from active.decide_leaderless()
                return cast(ApiMessage, decision.response)

    def _can_be_configured(self, kind: int, name: str) -> bool:
        if kind == TOPIC_RESOURCE:
            return name in self._active.context.image.topics_by_name
        return kind == BROKER_RESOURCE and (not name or (name.isascii() and name.isdigit()))


def _accepted(
    body: IncrementalAlterConfigsRequest, response: IncrementalAlterConfigsResponse
) -> Iterator[ConfigResource]:
    """What is altered: nothing that is only to be validated."""
    for one in response.responses if not body.validate_only else ():
        if one.error_code == ErrorCode.NONE:
            yield ConfigResource(one.resource_type, one.resource_name)


def refuse(request: InboundRequest) -> None:
    """Say that this broker is not the controller."""
    request.reply(refusal(request.body, ErrorCode.NOT_CONTROLLER, NOT_ACTIVE, version=request.version))


def _config_path(resource: ConfigResource) -> str:
    if resource.type == TOPIC_RESOURCE:
        return topic_config_path(resource.name)
    return f"{BROKER_CONFIGS}/{resource.name or ALL_BROKERS}"
