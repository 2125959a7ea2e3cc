"""A partition's name outlives its topic: if a topic was deleted and created again, each generation is judged alone.

Offsets and leader epochs begin at 0 again with a new topic id, which must not look like a loss. Some events name the
topic id; the others belong to the generation that their node spoke of last.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from highwater_pipeline.checks.columns import Ints, codes, is_any, last_known
from highwater_pipeline.units import CLUSTER_EVENTS, Unit


def generations(unit: Unit) -> list[Unit]:
    """The unit itself where it has one topic id or none, else one unit for each, in the order in which they came up."""
    names = pa.chunked_array([*unit.events["topic_id"].chunks, *unit.replica_log["topic_id"].chunks], pa.string())
    topics = names.drop_null().unique().to_pylist()
    if len(topics) < 2:
        return [unit]
    spoken_of = topic_of_events(unit.events, topics)
    of_cluster = is_any(unit.events, "kind", *CLUSTER_EVENTS)
    return [
        replace(
            unit,
            events=unit.events.filter(pa.array((spoken_of == number) | of_cluster)),
            replica_log=unit.replica_log.filter(pa.array(is_any(unit.replica_log, "topic_id", topic))),
        )
        for number, topic in enumerate(topics)
    ]


def topic_of_events(events: pa.Table, topics: list[str]) -> Ints:
    """For every event its topic's place in ``topics``; −1 where its node has not named one yet."""
    named, order = codes(events, "topic_id")
    renumber = np.array([*(topics.index(topic) for topic in order if topic is not None), -1])
    named = renumber[named]  # null is −1, and so the last
    node, nodes = codes(events, "node")
    topic = np.full(len(named), -1, np.int64)
    for number in range(len(nodes)):
        mine = np.flatnonzero(node == number)
        at = last_known(named[mine] >= 0)
        topic[mine] = np.where(at >= 0, named[mine][at], -1)
    return topic
