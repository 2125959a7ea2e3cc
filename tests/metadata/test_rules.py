"""The small rules that brokers and controllers share: metadata.version, replica epochs, topic properties."""

from __future__ import annotations

import pytest

from highwater_runtime.log.config import TOPIC_PROPERTIES
from highwater_runtime.metadata import MetadataVersion, has_stale_epoch, replica_epoch_matches
from highwater_runtime.metadata.topic_config import LEAST, MIN_INSYNC_REPLICAS, check_topic_property


@pytest.mark.parametrize(
    ("version", "level", "fetch", "alter_partition"),
    [("3.3-IV3", 7, 13, 2), ("3.5-IV0", 9, 14, 2), ("3.5-IV1", 10, 15, 3), ("3.6-IV0", 12, 15, 3)],
)
def test_kip_903_comes_with_3_5_iv1(version: str, level: int, fetch: int, alter_partition: int) -> None:
    found = MetadataVersion.of(version)
    assert (found, found.version) == (level, version)
    assert found.fetch_version == fetch
    assert found.alter_partition_version == alter_partition
    assert MetadataVersion.of(level) is found


def test_a_release_names_its_highest_level() -> None:
    assert MetadataVersion.of("3.5") is MetadataVersion.IBP_3_5_IV2


def test_an_unknown_version_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(ValueError, match=r"unknown metadata.version '2.8'; known are 3.3-IV3 \(7\)"):
        MetadataVersion.of("2.8")


def test_an_isr_shrink_bumps_the_leader_epoch_only_below_3_6() -> None:
    assert MetadataVersion.IBP_3_5_IV2.leader_epoch_bump_on_isr_shrink
    assert not MetadataVersion.IBP_3_6_IV0.leader_epoch_bump_on_isr_shrink


@pytest.mark.parametrize(
    ("claimed", "registered", "check", "matches"),
    [
        (5, 5, "on", True),
        (4, 5, "on", False),
        (6, 5, "on", False),
        (-1, 5, "on", True),
        (4, 5, "off", True),
    ],
)
def test_replica_epochs(claimed: int, registered: int, check: str, matches: bool) -> None:
    assert replica_epoch_matches(claimed, registered, check) is matches  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("claimed", "registered", "check", "former"),
    [
        (4, 5, "on", True),
        (5, 5, "on", False),
        (6, 5, "on", False),
        (-1, 5, "on", False),
        (4, 5, "off", False),
    ],
)
def test_previous_incarnations(claimed: int, registered: int, check: str, former: bool) -> None:
    assert has_stale_epoch(claimed, registered, check) is former  # type: ignore[arg-type]


def test_what_a_log_obeys_can_be_set() -> None:
    assert set(LEAST) == {*TOPIC_PROPERTIES, MIN_INSYNC_REPLICAS}


def test_topic_properties_are_checked() -> None:
    check_topic_property("min.insync.replicas", "2")
    check_topic_property("retention.ms", "-1")
    with pytest.raises(ValueError, match="at least 1, not 0"):
        check_topic_property("min.insync.replicas", "0")
    with pytest.raises(ValueError, match="whole number, not 'two'"):
        check_topic_property("min.insync.replicas", "two")
    with pytest.raises(ValueError, match="unknown topic property 'colour'"):
        check_topic_property("colour", "1")
