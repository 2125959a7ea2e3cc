"""What single nodes know of the cluster; and the client that asks each broker, by Metadata, DescribeConfigs and
InitProducerId."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from highwater_chaos.workload.producer import INIT_PRODUCER_ID_VERSION
from highwater_runtime.metadata.effective_config import Source
from highwater_runtime.metadata.registrations import ConfigResource
from highwater_runtime.ports import SECOND, ClientCore, Endpoint, Ports, RpcFailure
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from highwater_runtime.wire.messages.describe_configs_response import DescribeConfigsResponse
from highwater_runtime.wire.messages.init_producer_id_request import InitProducerIdRequest
from highwater_runtime.wire.messages.metadata_request import MetadataRequest
from highwater_runtime.wire.messages.metadata_response import MetadataResponse

_REQUEST_NS: Final = 5 * SECOND
_METADATA: Final = 12
_NO_EPOCH: Final = -1
"""In an answer without leader epochs (below version 7)."""
_DESCRIBE_CONFIGS: Final = 1
_SET: Final = frozenset({Source.TOPIC, Source.BROKER})

SetProperties = Mapping[ConfigResource, Mapping[str, str]]
"""What is set dynamically of each topic or broker that was described."""


class KnownPartition(NamedTuple):
    """One partition as a node knows it. ``topic_id``: 32 hex digits, empty if the node does not say it;
    ``leader_epoch`` and ``partition_epoch`` None: the same. ISR and replicas are sorted."""

    topic_id: str
    leader: int
    leader_epoch: int | None
    partition_epoch: int | None
    isr: tuple[int, ...]
    replicas: tuple[int, ...]


class KnownMetadata(NamedTuple):
    """The cluster as a node knows it: live brokers, partitions by name, and who the controller is (None: it does not
    matter)."""

    brokers: tuple[int, ...]
    partitions: Mapping[str, KnownPartition]
    controller: int | None


class KnownLeaders(NamedTuple):
    """The least that a broker must know: live brokers, and leader and leader epoch of each partition by name."""

    brokers: tuple[int, ...]
    leaders: Mapping[str, tuple[int, int]]


class MetadataProbe(ClientCore):
    """A client core."""

    def __init__(self, brokers: Mapping[int, Endpoint], ports: Ports) -> None:
        self._brokers = brokers
        self._ports = ports

    def ask(self, broker: int, answers: dict[int, KnownMetadata]) -> None:
        """Ask one broker for all that it knows, and put that into ``answers`` when it comes."""

        def answered(response: Any) -> None:
            if not isinstance(response, RpcFailure):
                answers[broker] = _known(response)

        request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
        self._ports.network.send(self._brokers[broker], request, _METADATA, answered, timeout_ns=_REQUEST_NS)

    def ask_for_producer_id(self, broker: int, which: int, answers: dict[tuple[int, int], int]) -> None:
        """Ask one broker for a producer id, and put that into ``answers``, by broker and ``which``, when it comes."""

        def answered(response: Any) -> None:
            if not isinstance(response, RpcFailure) and response.error_code == ErrorCode.NONE:
                answers.setdefault((broker, which), response.producer_id)

        request = InitProducerIdRequest(
            transactional_id=None, transaction_timeout_ms=-1, producer_id=-1, producer_epoch=-1
        )
        at, version = self._brokers[broker], INIT_PRODUCER_ID_VERSION
        self._ports.network.send(at, request, version, answered, timeout_ns=_REQUEST_NS)

    def describe(
        self, broker: int, keys: Mapping[ConfigResource, Sequence[str]], answers: dict[int, SetProperties]
    ) -> None:
        """Ask one broker which of some keys are set, and put that into ``answers`` when it comes."""

        def answered(response: Any) -> None:
            if not isinstance(response, RpcFailure):
                answers[broker] = _set_in(response)

        resources = [
            DescribeConfigsResource(resource_type=one.type, resource_name=one.name, configuration_keys=list(names))
            for one, names in keys.items()
        ]
        request = DescribeConfigsRequest(resources=resources)
        self._ports.network.send(self._brokers[broker], request, _DESCRIBE_CONFIGS, answered, timeout_ns=_REQUEST_NS)


def _set_in(response: DescribeConfigsResponse) -> SetProperties:
    return {
        ConfigResource(result.resource_type, result.resource_name): {
            one.name: one.value for one in result.configs if one.config_source in _SET and one.value
        }
        for result in response.results
        if result.error_code in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    }


def _known(response: MetadataResponse) -> KnownMetadata:
    partitions = {
        f"{topic.name}-{one.partition_index}": KnownPartition(
            topic.topic_id.hex if topic.topic_id.int else "",
            one.leader_id,
            None if one.leader_epoch == _NO_EPOCH else one.leader_epoch,
            None,
            tuple(sorted(one.isr_nodes)),
            tuple(sorted(one.replica_nodes)),
        )
        for topic in response.topics
        for one in topic.partitions
    }
    return KnownMetadata(
        tuple(sorted(broker.node_id for broker in response.brokers)), partitions, response.controller_id
    )
