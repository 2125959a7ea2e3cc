"""Administration drawn by the seed: topics that come, go and grow, partitions that move, leaders that are elected.

``random`` names these kinds beside faults. What was drawn may fail, since the cluster is in trouble at the time: it was
load, and nothing depends on it. Two things are kept in order, so that the end of the run can be judged:

* A topic of the experiment that was deleted is created again, after as long as a fault would last. Topics that were
  created here (``random-1``, …) may stay deleted.
* A partition that is being reassigned is known to be, until the cluster shows its new replicas: what a reassignment may
  still remove is no spare (:mod:`highwater_chaos.schedule.spare`). One that was cancelled has its new replicas or its
  old ones in the end, since it may have been over by then.

A throttle stays until the schedule has ended (``Administration.remove_throttles``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final

from highwater_chaos.apache_kafka.versions import metadata_parts, release_parts
from highwater_chaos.backends.view import ClusterView, PartitionView
from highwater_chaos.base.process import Process, Sleep
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.model import REGISTER_TOPIC
from highwater_chaos.experiment.steps import RANDOM_ADMINISTRATION, Admin, CreateTopic
from highwater_runtime.metadata.metadata_version import MetadataVersion
from highwater_runtime.metadata.topic_names import is_internal
from highwater_runtime.ports import SECOND

_MOST_PARTITIONS: Final = 12
_MOST_TOPICS: Final = 4
"""How many topics of its own ``random`` has at a time."""
_TRIES: Final = 12
_BETWEEN_TRIES_NS: Final = 5 * SECOND
"""A topic can be created again once enough of its brokers are unfenced."""
_TURN_BACK: Final = 0.5
"""How often a drawn reassignment goes back to the replicas that the partition had before one that is under way."""
_MORE: Final = (-1, 0, 0, 1, 1)
"""How many replicas a drawn reassignment adds: on as few brokers as replicas it could else only order them anew."""
_THROTTLES: Final = (100, 500, 2_000, 50_000)
"""Bytes a second. A log has some thousand bytes after ten seconds."""
_ALTERED: Final[Mapping[str, Sequence[int]]] = {
    "flush.messages": (1, 10),
    "flush.ms": (500, 2000),
    "index.interval.bytes": (1, 200),
    "segment.ms": (1000, 3000),
}
_TAKEN_AWAY: Final = 0.4
"""How often a topic loses a property that it was given, where it has one."""

Run = Callable[[Admin], Process[str | None]]
MayMove = Callable[[PartitionView], bool]


class RandomAdministration:
    """Draws and carries out administration; ``on_failure`` gets what makes the run inconclusive."""

    def __init__(self, cluster: Cluster, view: ClusterView, run: Run, on_failure: Callable[[str], None]) -> None:
        self._on_failure = on_failure
        self._view = view
        self._run = run
        self._brokers = range(cluster.brokers)
        self._declared: Mapping[str, CreateTopic] = {topic.name: topic for topic in cluster.topics}
        self._created = 0
        self._deleting: dict[str, None] = {}
        self._settled: dict[str, list[int]] = {}
        self._moving: dict[str, list[list[int]]] = {}
        self._altered: dict[str, dict[str, None]] = {}
        """Properties that topics were given here."""
        self._cancelled: dict[str, None] = {}
        """Partitions that are moving, and whose latest move was cancelled."""
        self._version, self._latest_version = _versions(cluster)

    def moving_to(self, partition: str) -> Sequence[Sequence[int]]:
        """The replicas that a partition may have after reassignments of which the cluster has not shown the end."""
        view, targets = self._view.partitions.get(partition), self._moving.get(partition)
        is_last = targets is not None and (len(targets) == 1 or partition in self._cancelled)
        if targets is None or (view is not None and is_last and view.replicas in targets):
            self._moving.pop(partition, None)
            self._cancelled.pop(partition, None)
            return ()
        return targets

    def draw(self, kind: str, length_ns: int, random: Random, may_move: MayMove) -> Process[None] | None:
        """Draw administration of this kind, as a process that carries it out; None if there is nothing to do.

        ``length_ns``: for how long a deleted topic stays away.
        """
        assert kind in RANDOM_ADMINISTRATION, kind
        match kind:
            case "createTopic":
                return self._create(random)
            case "deleteTopic":
                return self._delete(length_ns, random)
            case "addPartitions":
                return self._add_partitions(random)
            case "reassign":
                return self._reassign(random, may_move, None)
            case "throttledReassign":
                return self._reassign(random, may_move, random.choice(_THROTTLES))
            case "cancelReassign":
                return self._cancel_reassign(random, may_move)
            case "upgradeMetadata":
                return self._upgrade_metadata()
            case "deleteRecords":
                return self._delete_records(random)
            case "alterTopic":
                return self._alter(random)
            case _:
                partition = self._any_partition(random)
                names = None if partition is None or random.random() < 0.5 else [partition.partition]
                return self._attempt({"electLeaders": {"partitions": names}})

    # --- what there is ---

    def _topics(self) -> dict[str, int]:
        """Topics that may be worked on, with their numbers of partitions."""
        counts: dict[str, int] = {}
        for name in sorted(self._view.partitions):
            topic = name.rpartition("-")[0]
            if not is_internal(topic) and topic != REGISTER_TOPIC and topic not in self._deleting:
                counts[topic] = counts.get(topic, 0) + 1
        return counts

    def _any_partition(self, random: Random) -> PartitionView | None:
        partitions = self._partitions()
        return random.choice(partitions) if partitions else None

    def _partitions(self) -> list[PartitionView]:
        topics, partitions = self._topics(), self._view.partitions
        return [partitions[name] for name in sorted(partitions) if name.rpartition("-")[0] in topics]

    # --- kinds ---

    def _attempt(self, step: dict[str, Any]) -> Process[None]:
        yield from self._run(Admin.model_validate(step))

    def _create(self, random: Random) -> Process[None] | None:
        mine = [topic for topic in self._topics() if topic not in self._declared]
        if len(mine) >= _MOST_TOPICS:
            return None
        self._created += 1
        topic = {
            "name": f"random-{self._created}",
            "partitions": random.randint(1, 3),
            "replicationFactor": random.randint(min(2, len(self._brokers)), len(self._brokers)),
            "config": random.choice(({}, {"flush.ms": 2000})),
        }
        return self._attempt({"createTopic": topic})

    def _delete(self, length_ns: int, random: Random) -> Process[None] | None:
        topics = list(self._topics())
        if not topics:
            return None
        topic = random.choice(topics)
        self._deleting[topic] = None
        return self._delete_and_create(topic, length_ns)

    def _delete_and_create(self, topic: str, length_ns: int) -> Process[None]:
        error = yield from self._run(Admin.model_validate({"deleteTopic": {"name": topic}}))
        self._altered.pop(topic, None)
        for partition in [name for name in self._moving if name.rpartition("-")[0] == topic]:
            del self._moving[partition]
            self._cancelled.pop(partition, None)
        declared = self._declared.get(topic)
        if declared is not None:
            yield Sleep(length_ns)
            for _ in range(_TRIES):
                # Also if the deletion seems to have failed: it may have been carried out.
                error = yield from self._run(Admin.model_validate({"createTopic": declared.model_dump(by_alias=True)}))
                if error is None or self._view.leader(f"{topic}-0") is not None:
                    break
                yield Sleep(_BETWEEN_TRIES_NS)
            else:
                self._on_failure(f"topic {topic}, which random deleted, could not be created again: {error}")
        del self._deleting[topic]

    def _add_partitions(self, random: Random) -> Process[None] | None:
        topics = [(topic, count) for topic, count in self._topics().items() if count < _MOST_PARTITIONS]
        if not topics:
            return None
        topic, count = random.choice(topics)
        return self._attempt({"addPartitions": {"topic": topic, "total": count + random.randint(1, 2)}})

    def _reassign(self, random: Random, may_move: MayMove, throttle: int | None) -> Process[None] | None:
        partition = self._any_partition(random)
        if partition is None or not may_move(partition):
            return None
        name = partition.partition
        is_moving = bool(self.moving_to(name))
        if not is_moving:
            self._settled[name] = list(partition.replicas)
        settled = self._settled[name]
        turns_back = is_moving and random.random() < _TURN_BACK
        count = len(settled) + random.choice(_MORE)
        count = max(min(2, len(settled)), min(count, len(self._brokers)))
        replicas = settled if turns_back else random.sample(self._brokers, count)
        if replicas == settled and not is_moving:
            return None
        self._moving.setdefault(name, []).append(replicas)
        self._cancelled.pop(name, None)
        return self._move(name, replicas, throttle)

    def _cancel_reassign(self, random: Random, may_move: MayMove) -> Process[None] | None:
        """Of a partition that moves: that takes its new replicas from it, so it is a move too. If none moves, begin a
        move and take it back at once. Else most are over before a cancellation is drawn."""
        partitions = self._view.partitions
        moving = [
            name
            for name in sorted(self._moving)
            if self.moving_to(name)
            and name not in self._cancelled
            and name in partitions
            and may_move(partitions[name])
        ]
        if not moving:
            return self._move_and_cancel(random, may_move)
        partition = random.choice(moving)
        # Now, and not when the process begins: the move may be over by then.
        self._moving[partition].append(self._settled[partition])
        return self._cancel(partition, len(self._moving[partition]))

    def _move_and_cancel(self, random: Random, may_move: MayMove) -> Process[None] | None:
        """The move is to a broker without a replica: that one needs some fetches, so there is time."""
        able = [one for one in self._partitions() if len(one.replicas) < len(self._brokers) and may_move(one)]
        if not able:
            return None
        chosen = random.choice(able)
        partition, replicas = chosen.partition, list(chosen.replicas)
        added = random.choice([one for one in self._brokers if one not in replicas])
        self._settled[partition] = replicas
        target = [*replicas[random.randint(0, 1) :], added]
        self._moving[partition] = [target]
        return self._cancel_at_once(partition, target, may_move)

    def _cancel_at_once(self, partition: str, target: list[int], may_move: MayMove) -> Process[None]:
        yield from self._move(partition, target, None)
        view = self._view.partitions.get(partition)
        if self.moving_to(partition) and partition not in self._cancelled and view is not None and may_move(view):
            self._moving[partition].append(self._settled[partition])
            yield from self._cancel(partition, len(self._moving[partition]))

    def _cancel(self, partition: str, before: int) -> Process[None]:
        error = yield from self._run(Admin.model_validate({"cancelReassign": {"partition": partition}}))
        if error is None and len(self._moving.get(partition, ())) == before:
            self._cancelled[partition] = None

    def _alter(self, random: Random) -> Process[None] | None:
        """Give a topic a property, or take away one that it was given."""
        topics = list(self._topics())
        if not topics:
            return None
        topic = random.choice(topics)
        given = self._altered.setdefault(topic, {})
        if given and random.random() < _TAKEN_AWAY:
            name = random.choice(list(given))
            del given[name]
            return self._attempt({"alterTopic": {"topic": topic, "config": {name: None}}})
        name = random.choice(list(_ALTERED))
        given[name] = None
        return self._attempt({"alterTopic": {"topic": topic, "config": {name: random.choice(_ALTERED[name])}}})

    def _upgrade_metadata(self) -> Process[None] | None:
        """Raise ``metadata.version`` by one level."""
        later = [version for version in MetadataVersion if self._version < version <= self._latest_version]
        return self._upgrade(min(later)) if later else None

    def _upgrade(self, version: MetadataVersion) -> Process[None]:
        error = yield from self._run(Admin.model_validate({"upgradeMetadata": {"version": version.version}}))
        if error is None:
            self._version = max(self._version, version)

    def _delete_records(self, random: Random) -> Process[None] | None:
        """Below some offset that is committed: mostly a few records, seldom all."""
        written = [partition for partition in self._partitions() if partition.high_watermark > 0]
        if not written:
            return None
        partition = random.choice(written)
        before = int(partition.high_watermark * random.random() ** 0.5)
        return self._attempt({"deleteRecords": {"partition": partition.partition, "before": before}})

    def _move(self, partition: str, replicas: list[int], throttle: int | None) -> Process[None]:
        step = {"partition": partition, "replicas": replicas, "throttle": throttle}
        error = yield from self._run(Admin.model_validate({"reassign": step}))
        if error is None and partition in self._moving:
            self._moving[partition] = [replicas]  # it has taken the place of earlier ones


def _versions(cluster: Cluster) -> tuple[MetadataVersion, MetadataVersion]:
    """With which metadata.version the cluster begins, and the latest one that may be drawn. They are the same where
    there is none, or where our own runtime does not know the former, and so not its number."""
    first = cluster.first_metadata_version
    known = {version.version: version for version in MetadataVersion}
    if first is None or first not in known:
        return MetadataVersion.latest(), MetadataVersion.latest()
    if cluster.kafka is None:
        return known[first], MetadataVersion.latest()
    release = release_parts(cluster.kafka)[:2]
    return known[first], max(one for name, one in known.items() if metadata_parts(name)[:2] <= release)
