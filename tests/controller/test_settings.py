"""Feature levels, topic configuration, producer ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from highwater_runtime.metadata import MetadataVersion
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from highwater_runtime.wire.messages.broker_registration_request import Feature
from highwater_runtime.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from highwater_runtime.wire.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest


def upgrade(cluster: Any, level: int, *, feature: str = "metadata.version", **fields: Any) -> ErrorCode:
    update = FeatureUpdateKey(feature=feature, max_version_level=level)
    response = cluster.ask(UpdateFeaturesRequest(feature_updates=[update], **fields))
    assert response.error_code == ErrorCode.NONE
    return ErrorCode(response.results[0].error_code)


def test_a_rolling_upgrade_raises_the_level_once_every_broker_supports_it(make_cluster: Callable[..., Any]) -> None:
    cluster = make_cluster(metadata_version=MetadataVersion.IBP_3_4_IV0)
    old = [Feature(name="metadata.version", min_supported_version=7, max_supported_version=8)]
    cluster.up(0)
    assert cluster.ask(cluster.registration(1, features=old)).error_code == ErrorCode.NONE

    assert upgrade(cluster, 10) is ErrorCode.INVALID_UPDATE_VERSION
    assert cluster.image.metadata_version is MetadataVersion.IBP_3_4_IV0

    cluster.register(1, incarnation=2)
    assert upgrade(cluster, 10, validate_only=True) is ErrorCode.NONE
    assert cluster.image.metadata_version is MetadataVersion.IBP_3_4_IV0
    assert upgrade(cluster, 10) is ErrorCode.NONE
    assert cluster.image.metadata_version is MetadataVersion.IBP_3_5_IV1
    assert upgrade(cluster, 10) is ErrorCode.NONE


def test_upgrades_that_are_refused(cluster: Any) -> None:
    assert upgrade(cluster, 8) is ErrorCode.INVALID_UPDATE_VERSION
    assert upgrade(cluster, 99) is ErrorCode.INVALID_UPDATE_VERSION
    assert upgrade(cluster, 1, feature="group.version") is ErrorCode.INVALID_UPDATE_VERSION


def alter(cluster: Any, *configs: tuple[str, int, str | None], resource: int = 2, name: str = "orders") -> ErrorCode:
    changes = [AlterableConfig(name=n, config_operation=op, value=value) for n, op, value in configs]
    asked = AlterConfigsResource(resource_type=resource, resource_name=name, configs=changes)
    response = cluster.ask(IncrementalAlterConfigsRequest(resources=[asked]))
    return ErrorCode(response.responses[0].error_code)


@pytest.fixture
def orders(cluster: Any) -> Any:
    cluster.up(0)
    cluster.create_topic("orders", [0])
    return cluster


def test_topic_properties_are_set_and_deleted(orders: Any) -> None:
    assert alter(orders, ("min.insync.replicas", 0, "2"), ("retention.ms", 0, "1000")) is ErrorCode.NONE
    assert orders.image.topic_config("orders") == {"min.insync.replicas": "2", "retention.ms": "1000"}

    end = orders.quorum.log_end_offset
    assert alter(orders, ("min.insync.replicas", 0, "2")) is ErrorCode.NONE
    assert orders.quorum.log_end_offset == end, "what is so already is not written again"

    assert alter(orders, ("retention.ms", 1, None)) is ErrorCode.NONE
    assert orders.image.topic_config("orders") == {"min.insync.replicas": "2"}


def test_alterations_that_are_refused(orders: Any) -> None:
    assert alter(orders, ("min.insync.replicas", 0, "0")) is ErrorCode.INVALID_CONFIG
    assert alter(orders, ("min.insync.replicas", 0, None)) is ErrorCode.INVALID_CONFIG
    assert alter(orders, ("min.insync.replicas", 2, "1")) is ErrorCode.INVALID_CONFIG
    assert alter(orders, ("colour", 0, "red")) is ErrorCode.INVALID_CONFIG
    assert alter(orders, ("retention.ms", 0, "1"), ("retention.ms", 1, None)) is ErrorCode.INVALID_REQUEST
    assert alter(orders, ("retention.ms", 0, "1"), name="unknown") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert alter(orders, ("retention.ms", 0, "1"), resource=4, name="0") is ErrorCode.INVALID_REQUEST
    assert orders.image.configs == {}


def test_no_producer_id_is_handed_out_twice(cluster: Any) -> None:
    cluster.up(0, 1)
    blocks = []
    for broker in (0, 1, 0):
        epoch = cluster.image.brokers[broker].epoch
        response = cluster.ask(AllocateProducerIdsRequest(broker_id=broker, broker_epoch=epoch))
        assert response.error_code == ErrorCode.NONE
        blocks.append((response.producer_id_start, response.producer_id_len))
    assert blocks == [(0, 1000), (1000, 1000), (2000, 1000)]
    assert cluster.image.next_producer_id == 3000


def test_producer_ids_are_for_registered_brokers_only(cluster: Any) -> None:
    response = cluster.ask(AllocateProducerIdsRequest(broker_id=0, broker_epoch=3))
    assert response.error_code == ErrorCode.STALE_BROKER_EPOCH
    assert cluster.image.next_producer_id == 0
