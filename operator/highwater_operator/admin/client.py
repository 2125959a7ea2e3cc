"""The operator's own client of a cluster: our wire protocol, on the host that nodes run on.

A :class:`~highwater_runtime.host.HostedNode` without listeners or disk, whose core is the harness's ``AdminClient``
(for what has to be repeated until it is answered for good); what is only read is asked directly.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from highwater_chaos.experiment.steps import CreateTopic
from highwater_chaos.workload.admin import AdminClient, AdminOutcome, OnOutcome
from highwater_operator.admin.model import (
    NO_LEADER,
    AdminError,
    BrokerView,
    ClusterView,
    EnsembleView,
    PartitionView,
    QuorumView,
    ServerView,
    TopicView,
)
from highwater_operator.admin.reach import why_apart
from highwater_operator.java_server import NotServingError
from highwater_operator.zookeeper.four_letter_words import monitored
from highwater_runtime.host import HostedNode
from highwater_runtime.host.net.listeners import PLAINTEXT_OUTBOUND, OutboundSecurity
from highwater_runtime.metadata.topic_names import METADATA_TOPIC
from highwater_runtime.ports import SECOND, ApiMessage, Endpoint, Ports, RpcFailure
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.describe_cluster_request import DescribeClusterRequest
from highwater_runtime.wire.messages.describe_cluster_response import DescribeClusterResponse
from highwater_runtime.wire.messages.describe_quorum_request import (
    DescribeQuorumRequest,
    PartitionData,
    TopicData,
)
from highwater_runtime.wire.messages.describe_quorum_response import DescribeQuorumResponse
from highwater_runtime.wire.messages.metadata_request import MetadataRequest
from highwater_runtime.wire.messages.metadata_response import MetadataResponse
from highwater_runtime.wire.messages.unregister_broker_request import UnregisterBrokerRequest

CLIENT_NAME: Final = "highwater-operator"
_READ_S: Final = 3
_WRITE_S: Final = 15
_METADATA, _DESCRIBE_CLUSTER, _DESCRIBE_QUORUM, _UNREGISTER = 12, 2, 1, 0


@asynccontextmanager
async def wire_admin(
    brokers: Sequence[Endpoint],
    zookeepers: Sequence[Endpoint] = (),
    *,
    pages: Sequence[Endpoint] = (),
    security: OutboundSecurity = PLAINTEXT_OUTBOUND,
    at: Callable[[Endpoint], Endpoint] = lambda advertised: advertised,
) -> AsyncIterator[WireAdmin]:
    """A conversation with the cluster that has these brokers, and in ZooKeeper mode these ZooKeeper servers.

    ``at`` says where an advertised endpoint is reached from here, for a caller outside the pods' network.
    ``security``: how brokers are met.
    """
    admin = WireAdmin(
        [at(one) for one in brokers],
        [at(one) for one in zookeepers],
        at,
        {one.host: at(one) for one in pages},
        security,
    )
    await admin.start()
    try:
        yield admin
    finally:
        admin.close()


class WireAdmin:
    """See :class:`~highwater_operator.admin.model.ClusterAdmin`."""

    def __init__(
        self,
        brokers: Sequence[Endpoint],
        zookeepers: Sequence[Endpoint],
        at: Callable[[Endpoint], Endpoint],
        pages: Mapping[str, Endpoint],
        security: OutboundSecurity,
    ) -> None:
        self._brokers = list(brokers)
        self._zookeepers = list(zookeepers)
        self._at = at
        self._pages = pages
        self._refused: dict[Endpoint, str] = {}
        """Why a server could not be talked to at last."""
        # It may be Apache Kafka of any release.
        self._node = HostedNode(CLIENT_NAME, self._make_core, negotiates=True, security=lambda _: security)

    def _make_core(self, ports: Ports) -> AdminClient:
        self._core = AdminClient(self._brokers, ports, mode="zookeeper" if self._zookeepers else "kraft")
        return self._core

    async def start(self) -> None:
        """Once, before anything else; opens no connection yet."""
        await self._node.start()
        self._node.network.refused = self._refused.__setitem__

    def close(self) -> None:
        self._node.kill()

    # --- reading ---

    async def look(self) -> ClusterView:
        """See the protocol: the brokers are asked all at once."""
        described, brokers = await self._registered()
        live = [one for one in brokers.values() if not one.fenced]
        answers = await asyncio.gather(
            *(self._ask(self._at(one.endpoint), MetadataRequest(topics=None), _METADATA) for one in live)
        )
        responses = [answer for answer in answers if isinstance(answer, MetadataResponse)]
        if not responses:
            raise AdminError(f"of {len(brokers)} registered brokers none that is unfenced describes its partitions")
        views = [_topics(response) for response in responses]
        partitions = [one for topics in views for topic in topics.values() for one in topic.partitions]
        under_replicated = {one.name for one in partitions if one.is_under_replicated}
        quorum: QuorumView | EnsembleView | None
        if self._zookeepers:
            quorum, problem = await self._ensemble(described.controller_id), None
        else:
            quorum, problem = await self._quorum()
        return ClusterView(
            cluster_id=described.cluster_id or "",
            brokers=brokers,
            topics=_latest(views),
            quorum=quorum,
            under_replicated=tuple(sorted(under_replicated)),
            silent=tuple(one.id for one, answer in zip(live, answers, strict=True) if isinstance(answer, RpcFailure)),
            out_of_sync=out_of_sync([one for one in partitions if one.name in under_replicated]),
            problems=() if problem is None else (problem,),
        )

    async def _registered(self) -> tuple[DescribeClusterResponse | MetadataResponse, dict[int, BrokerView]]:
        """What names the cluster and its controller, and the brokers. In ZooKeeper mode, where none is ever fenced, by
        the request that all releases have."""
        if self._zookeepers:
            named = await self._first(MetadataRequest(topics=[]), _METADATA)
            assert isinstance(named, MetadataResponse)
            return named, {
                one.node_id: BrokerView(one.node_id, Endpoint(one.host, one.port), fenced=False)
                for one in named.brokers
            }
        described = await self._first(DescribeClusterRequest(include_fenced_brokers=True), _DESCRIBE_CLUSTER)
        assert isinstance(described, DescribeClusterResponse)
        return described, {
            one.broker_id: BrokerView(one.broker_id, Endpoint(one.host, one.port), one.is_fenced)
            for one in described.brokers
        }

    async def _ensemble(self, controller: int) -> EnsembleView:
        views = await asyncio.gather(*(_server(one) for one in self._zookeepers))
        return EnsembleView(controller, dict(enumerate(views)))

    async def _quorum(self) -> tuple[QuorumView | None, str | None]:
        asked = DescribeQuorumRequest(
            topics=[TopicData(topic_name=METADATA_TOPIC, partitions=[PartitionData(partition_index=0)])]
        )
        try:
            answer = await self._first(asked, _DESCRIBE_QUORUM)
        except AdminError as error:
            return None, str(error)
        assert isinstance(answer, DescribeQuorumResponse)
        partitions = [partition for topic in answer.topics for partition in topic.partitions]
        code = answer.error_code or (partitions[0].error_code if partitions else ErrorCode.UNKNOWN_SERVER_ERROR)
        if code != ErrorCode.NONE:
            return None, f"DescribeQuorum: {_name(code)}"
        found = partitions[0]
        voters = {voter.replica_id: voter.log_end_offset for voter in found.current_voters}
        out_of_reach = await self._out_of_reach()
        return QuorumView(found.leader_id, found.leader_epoch, found.high_watermark, voters, out_of_reach), None

    async def _out_of_reach(self) -> tuple[str, ...]:
        found = await asyncio.gather(*(why_apart(name, at, _READ_S) for name, at in self._pages.items()))
        return tuple(one for one in found if one is not None)

    # --- changing ---

    async def create_topic(self, topic: CreateTopic) -> None:
        config = {
            name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in topic.config.items()
        }
        await self._carry_out(
            lambda on_outcome: self._core.create_topic(
                topic.name,
                partitions=topic.partitions,
                replication_factor=topic.replication_factor,
                assignment=topic.assignment,
                config=config,
                timeout_ns=_WRITE_S * SECOND,
                on_outcome=on_outcome,
            ),
            fine=ErrorCode.TOPIC_ALREADY_EXISTS,
        )

    async def delete_topic(self, name: str) -> None:
        await self._carry_out(
            lambda on_outcome: self._core.delete_topic(name, timeout_ns=_WRITE_S * SECOND, on_outcome=on_outcome),
            fine=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        )

    async def reassign(self, topic: str, partition: int, replicas: Sequence[int]) -> None:
        await self._carry_out(
            lambda on_outcome: self._core.reassign(
                topic, partition, replicas, timeout_ns=_WRITE_S * SECOND, on_outcome=on_outcome
            )
        )

    async def unregister_broker(self, broker: int) -> None:
        answer = await self._first(UnregisterBrokerRequest(broker_id=broker), _UNREGISTER)
        if answer.error_code not in (ErrorCode.NONE, ErrorCode.BROKER_ID_NOT_REGISTERED):
            raise AdminError(f"broker {broker} was not unregistered: {_name(answer.error_code)}")

    async def _carry_out(self, begin: Callable[[OnOutcome], None], fine: ErrorCode | None = None) -> None:
        done: asyncio.Future[AdminOutcome] = asyncio.get_running_loop().create_future()

        def on_outcome(outcome: AdminOutcome) -> None:
            if not done.done():
                done.set_result(outcome)

        self._node.run(lambda: begin(on_outcome))
        outcome = await self._unless_ended(done)
        if outcome.error is not None and (fine is None or not outcome.error.startswith(fine.name)):
            raise AdminError(f"{outcome.what}: {outcome.error}")

    # --- one request ---

    async def _first(self, request: ApiMessage, version: int) -> Any:
        """The first answer that any broker gives."""
        failures: list[str] = []
        for broker in self._brokers:
            self._refused.pop(broker, None)
            answer = await self._ask(broker, request, version)
            if not isinstance(answer, RpcFailure):
                return answer
            failures.append(f"{broker} {self._refused.get(broker, answer.value)}")
        raise AdminError(f"no broker answered {request.NAME}: {', '.join(failures) or 'none is known'}")

    async def _ask(self, to: Endpoint, request: ApiMessage, version: int) -> Any:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def on_response(response: Any) -> None:
            if not answer.done():
                answer.set_result(response)

        self._node.run(lambda: self._node.network.send(to, request, version, on_response, timeout_ns=_READ_S * SECOND))
        return await self._unless_ended(answer)

    async def _unless_ended(self, answer: asyncio.Future[Any]) -> Any:
        ended = self._node.ended
        await asyncio.wait({answer, ended}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise AdminError(f"the client has ended: {ended.result()}")
        return answer.result()


def out_of_sync(short: Sequence[PartitionView]) -> frozenset[int]:
    """Brokers with replicas of these partitions that are in no ISR of them. If there is no leader, the only broker in
    an ISR counts too: it does not serve its replica."""
    serving = {replica for one in short if one.leader != NO_LEADER or len(one.isr) > 1 for replica in one.isr}
    return frozenset(replica for one in short for replica in one.replicas if replica not in serving)


async def _server(at: Endpoint) -> ServerView | str:
    try:
        found = await monitored(at, _READ_S)
    except NotServingError as error:
        return str(error)
    return ServerView(found.state != "follower", found.synced_followers)


def _topics(answer: MetadataResponse) -> dict[str, TopicView]:
    return {
        topic.name: TopicView(
            topic.name,
            topic.is_internal,
            tuple(
                PartitionView(
                    topic.name,
                    one.partition_index,
                    one.leader_id,
                    one.leader_epoch,
                    tuple(one.replica_nodes),
                    tuple(one.isr_nodes),
                )
                for one in topic.partitions
            ),
            topic.topic_id.hex if topic.topic_id.int else "",
        )
        for topic in answer.topics
        if topic.name is not None
    }


def _latest(views: Sequence[dict[str, TopicView]]) -> dict[str, TopicView]:
    """Every topic that any broker knows, as reported by the broker that knows its latest leader epochs."""
    found: dict[str, TopicView] = {}
    for topics in views:
        for name, topic in topics.items():
            if name not in found or _age(topic) > _age(found[name]):
                found[name] = topic
    return dict(sorted(found.items()))


def _age(topic: TopicView) -> tuple[int, int]:
    return len(topic.partitions), sum(partition.leader_epoch for partition in topic.partitions)


def _name(code: int) -> str:
    return ErrorCode(code).name if code in set(ErrorCode) else f"error {code}"
