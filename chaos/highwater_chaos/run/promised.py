"""What an experiment sets for each topic, and when: nodes are judged by that, not by what they say that they obey.

A topic has what its own properties say, else what its leader's node has, else Kafka's default. The experiment changes
that by a restart with other properties, and by a topic that is created anew under its name with others. From the moment
at which such a change begins until it is known to be over, any node may have the old value or the new one. What is
promised then is the least.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from highwater_chaos.experiment import ExperimentSpec
from highwater_chaos.experiment.nodes import broker_names
from highwater_chaos.experiment.properties import (
    Properties,
    as_text,
    properties_of_nodes,
    properties_of_topics,
    topics_at_first,
)
from highwater_chaos.faults import FaultRecord
from highwater_pipeline.tables.settings import EVERY_TOPIC, Period, TopicPromise, least_limit
from highwater_runtime.metadata.topic_config import MIN_INSYNC_REPLICAS, TOPIC_PROPERTIES
from highwater_runtime.metadata.topic_names import GROUP_OFFSETS_TOPIC

_RETENTION_MS: Final = "retention.ms"
_RETENTION_BYTES: Final = "retention.bytes"
_POLICY: Final = "cleanup.policy"
_SET: Final = (MIN_INSYNC_REPLICAS, _RETENTION_MS, _RETENTION_BYTES, _POLICY)

_Values = Mapping[str, Collection[str]]
"""By topic property: the values that some broker may have for topics that do not set it."""


@dataclass(frozen=True, slots=True)
class Changes:
    """When a run changed something: its faults, and the steps of its schedule with the run time of their beginning.
    ``borrowed``: others may change what nodes are set to."""

    faults: Sequence[FaultRecord]
    journal: Sequence[tuple[int, str]]
    borrowed: bool = False


def promised(
    spec: ExperimentSpec,
    changes: Changes | None,
    *,
    may_delete: Collection[str],
    may_delete_records: Collection[str],
) -> tuple[Period, ...]:
    """Return what is promised of each topic, a period after the other. ``changes`` None: it is not known when something
    changes, so that it may be at any time.

    ``may_delete`` and ``may_delete_records``: the topics of which clients may ask that (``*``: of all).
    """
    first, later = _of_topics(spec, may_delete)
    of_nodes = _of_nodes(spec, changes)
    anew_ns = 0 if changes is None else min((ns for ns, step in changes.journal if step == "admin"), default=None)
    starts = sorted({0, *of_nodes, *([] if anew_ns is None or first == later else [anew_ns])})
    periods: list[Period] = []
    values: _Values | None = None
    for since_ns in starts:
        values = of_nodes.get(since_ns, values)
        known = first if anew_ns is None or since_ns < anew_ns else later
        topics = {name: _promise(name, own, values, may_delete_records) for name, own in known.items()}
        if not periods or topics != periods[-1].topics:
            periods.append(Period(since_ns, topics))
    return tuple(periods)


def _of_topics(
    spec: ExperimentSpec, may_delete: Collection[str]
) -> tuple[dict[str, list[Properties]], dict[str, list[Properties]]]:
    """The properties that each topic may have: before administration has begun, and from then on."""
    first: dict[str, list[Properties]] = {topic.name: [as_text(topic.config)] for topic in topics_at_first(spec)}
    later: dict[str, list[Properties]] = {}
    for name, own in properties_of_topics(spec):
        later.setdefault(name, []).append(own)
    if spec.workload.driver != "highwater":
        for name, several in later.items():
            # A producer of librdkafka creates a topic that is not there, without properties.
            if name not in first or not {name, EVERY_TOPIC}.isdisjoint(may_delete):
                several.append({})
                first.setdefault(name, several)
    if spec.cluster is not None:
        for topics in (first, later):
            topics.setdefault(GROUP_OFFSETS_TOPIC, [{_POLICY: "compact"}])
            topics[EVERY_TOPIC] = [{}]
    return first, {**first, **later}


def _of_nodes(spec: ExperimentSpec, changes: Changes | None) -> dict[int, _Values]:
    """What brokers may have, by the run time from which on; nothing where that is not known, as in a borrowed cluster.
    Apache Kafka has further names for the same properties."""
    cluster, every = spec.cluster, properties_of_nodes(spec)
    if cluster is None or every is None or cluster.runtime != "highwater" or (changes is not None and changes.borrowed):
        return {}
    at_first = _by_topic_property(every[0])
    brokers = {
        name: {one: {at_first.get(one, TOPIC_PROPERTIES[one].default)} for one in _SET}
        for name in broker_names(cluster)
    }
    if changes is None:
        for own in map(_by_topic_property, every[1:]):
            for values in brokers.values():
                _may_have(values, own)
        return {0: _of_any(brokers)}
    restarts = [
        (fault, own)
        for fault in changes.faults
        if isinstance(given := fault.parameters.get("config"), Mapping) and (own := _by_topic_property(as_text(given)))
    ]
    moments = [(fault.started_ns, 0, number) for number, (fault, _) in enumerate(restarts)]
    moments += [
        (fault.injected_ns, 1, number)
        for number, (fault, _) in enumerate(restarts)
        if fault.injected_ns is not None and fault.confirmed
    ]
    found = {0: _of_any(brokers)}
    for time_ns, is_over, number in sorted(moments):
        fault, own = restarts[number]
        for broker in fault.targets or tuple(brokers):
            if broker not in brokers:
                continue
            _may_have(brokers[broker], own)
            others = (other for other, _ in restarts if other is not fault and broker in other.targets)
            if is_over and not any(_overlap(fault, other) for other in others):
                brokers[broker] |= {name: {value} for name, value in own.items()}
        found[time_ns] = _of_any(brokers)
    return found


def _overlap(fault: FaultRecord, other: FaultRecord) -> bool:
    return (other.injected_ns is None or not other.confirmed or other.injected_ns >= fault.started_ns) and (
        fault.injected_ns is None or other.started_ns <= fault.injected_ns
    )


def _may_have(values: dict[str, set[str]], own: Properties) -> None:
    values |= {name: values[name] | {value} for name, value in own.items()}


def _of_any(brokers: Mapping[str, Mapping[str, set[str]]]) -> _Values:
    return {name: sorted(set().union(*(one[name] for one in brokers.values()))) for name in _SET}


def _by_topic_property(properties: Properties) -> Properties:
    """Those properties of a node that hold for topics without their own, by the names of those."""
    of_topics = {TOPIC_PROPERTIES[name].broker_property: name for name in _SET}
    return {of_topics[name]: value for name, value in properties.items() if name in of_topics}


def _promise(
    topic: str, own: Sequence[Properties], of_nodes: _Values | None, may_delete_records: Collection[str]
) -> TopicPromise:
    def values(name: str) -> list[str] | None:
        found: list[str] = []
        for one in own:
            if name in one:
                found.append(one[name])
            elif of_nodes is None:
                return None
            else:
                found += of_nodes[name]
        return found

    def loosest(name: str, of: Callable[[Sequence[int]], int | None]) -> int | None:
        found = values(name)
        return None if found is None else of([int(value) for value in found])

    policies = values(_POLICY)
    return TopicPromise(
        min_isr=loosest(MIN_INSYNC_REPLICAS, min),
        retention_ms=loosest(_RETENTION_MS, least_limit),
        retention_bytes=loosest(_RETENTION_BYTES, least_limit),
        deletes=None if policies is None else any("delete" in policy for policy in policies),
        deletes_records=None if of_nodes is None else not {topic, EVERY_TOPIC}.isdisjoint(may_delete_records),
    )
