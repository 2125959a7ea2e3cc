"""What is there: the brokers of a cluster, its quorum, what its brokers are set to; all asked for before a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from highwater_chaos.backends.attach.session import Access, Session, UnreachableError
from highwater_chaos.base.user_error import UserError
from highwater_runtime.ports import Endpoint
from highwater_runtime.wire.errors import ErrorCode, error_name
from highwater_runtime.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from highwater_runtime.wire.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from highwater_runtime.wire.messages.metadata_request import MetadataRequest

QUORUM: Final = DescribeQuorumRequest(
    topics=[TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])]
)
QUORUM_VERSION: Final = 1
_CONFIGS_VERSION: Final = 4
_BROKER: Final = 4
_MOST_BROKERS: Final = 100
_IDENTITY_WITHIN_S: Final = 3.0
JUDGED_BY: Final = (
    "min.insync.replicas",
    "unclean.leader.election.enable",
    "log.cleanup.policy",
    "log.retention.ms",
    "log.retention.minutes",
    "log.retention.bytes",
    "log.message.timestamp.type",
    "compression.type",
    "message.max.bytes",
    "default.replication.factor",
)
"""Properties of brokers by which runs are judged, or on which clients depend."""
_UNBOUNDED: Final = {"log.retention.bytes": "-1", "log.retention.ms": "604800000"}
"""Retention that deletes nothing in a run is left out of what was found, as a file leaves it out."""


@dataclass(frozen=True, slots=True)
class Found:
    """A cluster. ``config``: of its brokers; ``voters``: of its quorum, none in ZooKeeper mode."""

    cluster_id: str
    brokers: dict[int, Endpoint]
    voters: tuple[int, ...]
    config: dict[str, str]
    taken: tuple[str, ...]
    """Those of the topics asked for that exist already."""


def discover(access: Access, topics: Sequence[str]) -> Found:
    """Look at a cluster.

    Raises:
        UserError: it cannot be reached, or does not let the user see what a run needs.
    """
    with Session(access) as session:
        try:
            answer = session.metadata(list(topics))
        except UnreachableError as error:
            raise UserError(f"--backend attach: expected a broker that lets this client in; found: {error}") from error
        brokers = {one.node_id: Endpoint(one.host, one.port) for one in answer.brokers}
        if not brokers or len(brokers) > _MOST_BROKERS:
            raise UserError(f"--backend attach: expected 1 to {_MOST_BROKERS} brokers; Metadata names {len(brokers)}")
        if answer.cluster_id is None:
            raise UserError("--backend attach: the brokers do not tell the id of their cluster; are they below 0.10.1?")
        brokers = dict(sorted(brokers.items()))
        _reach_all(session, brokers)
        first = next(iter(brokers.values()))
        return Found(
            answer.cluster_id,
            brokers,
            _voters(session, first),
            _config(session, brokers),
            tuple(str(one.name) for one in answer.topics if one.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        )


def cluster_id_at(access: Access) -> str:
    """The id that a cluster answers with; empty: it does not answer now, or not with one."""
    try:
        with Session(access) as session:
            return session.metadata([], _IDENTITY_WITHIN_S).cluster_id or ""
    except UserError:
        return ""


def _reach_all(session: Session, brokers: dict[int, Endpoint]) -> None:
    """Clients must reach each broker under the address that it advertises."""
    whys = []
    for broker, endpoint in brokers.items():
        try:
            session.ask(endpoint, MetadataRequest(topics=[], allow_auto_topic_creation=False), 12)
        except UnreachableError as error:
            whys.append(f"broker {broker}: {error}")
    if whys:
        raise UserError(
            "--backend attach: the cluster answers, but not each broker at the address that it advertises"
            f" (advertised.listeners): {'; '.join(whys)}"
        )


def _voters(session: Session, broker: Endpoint) -> tuple[int, ...]:
    try:
        answer: Any = session.ask(broker, QUORUM, QUORUM_VERSION)
    except UnreachableError as error:
        if "not supported" in str(error):
            return ()  # ZooKeeper mode
        raise UserError(f"--backend attach: DescribeQuorum: {error}") from error
    code = answer.error_code or next((one.error_code for topic in answer.topics for one in topic.partitions), 0)
    if code != ErrorCode.NONE:
        raise UserError(
            f"--backend attach: DescribeQuorum was refused: {error_name(code)}; the user needs Describe on the Cluster"
        )
    return tuple(sorted(one.replica_id for one in answer.topics[0].partitions[0].current_voters))


def _config(session: Session, brokers: dict[int, Endpoint]) -> dict[str, str]:
    """What the brokers are set to; of values that differ the one of the first."""
    found: dict[str, str] = {}
    for broker, endpoint in brokers.items():
        resource = DescribeConfigsResource(
            resource_type=_BROKER, resource_name=str(broker), configuration_keys=list(JUDGED_BY)
        )
        answer: Any = session.ask(endpoint, DescribeConfigsRequest(resources=[resource]), _CONFIGS_VERSION)
        for result in answer.results:
            if result.error_code != ErrorCode.NONE:
                raise UserError(
                    f"--backend attach: DescribeConfigs of broker {broker} was refused:"
                    f" {error_name(result.error_code)}; the user needs DescribeConfigs on the Cluster"
                )
            for one in result.configs:
                if one.name in JUDGED_BY and one.value and one.value != _UNBOUNDED.get(one.name):
                    found.setdefault(one.name, one.value)
    return found
