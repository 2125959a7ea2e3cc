"""``admin`` steps: topics, partitions, reassignment, elections, features, carried out by the admin client.

A step is over when the cluster shows it (a created topic has leaders, a deleted one is gone), except reassignment,
which only begins: ``await`` its end with an ``isr`` condition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from highwater_chaos.backends.protocol import Backend, ElectsByZnode, ObservesWithDelay, OwnsTopics
from highwater_chaos.backends.view import ClusterView, PartitionView
from highwater_chaos.base.process import Process, Until
from highwater_chaos.experiment.steps import (
    AddPartitions,
    Admin,
    AlterTopic,
    CancelReassign,
    CreateTopic,
    DeleteRecords,
    DeleteTopic,
    ElectLeaders,
    Reassign,
    RemoveThrottle,
    UpgradeMetadata,
)
from highwater_chaos.workload.admin import AdminOutcome
from highwater_chaos.workload.clients import Clients
from highwater_runtime.metadata.metadata_version import FEATURE_NAME, MetadataVersion
from highwater_runtime.metadata.registrations import BROKER_RESOURCE, TOPIC_RESOURCE, ConfigResource
from highwater_runtime.metadata.topic_config import (
    FOLLOWER_THROTTLED_RATE,
    FOLLOWER_THROTTLED_REPLICAS,
    LEADER_THROTTLED_RATE,
    LEADER_THROTTLED_REPLICAS,
)
from highwater_runtime.ports import SECOND

_TIMEOUT_NS: Final = 60 * SECOND
_EXISTS: Final = "TOPIC_ALREADY_EXISTS"


@dataclass(slots=True)
class Asked:
    """A step that was asked for, in run time (ns). ``outcome`` None: there is none yet, and perhaps never.

    ``topic_ids`` and ``replicas``: what the partitions that it names had when it was asked. ``preferred``: the
    preferred replica of each partition for which that has not changed before the answer. ``unseen``: the partitions on
    which a preferred election, or a move that was taken back, has never had its effect since it was acknowledged.
    """

    step: Admin
    began_ns: int
    topic_ids: frozenset[str]
    replicas: tuple[int, ...]
    preferred: dict[str, int] = field(default_factory=dict)
    ended_ns: int | None = None
    unseen: tuple[str, ...] = ()
    outcome: AdminOutcome | None = None

    @property
    def acknowledged(self) -> bool:
        """Whether the cluster said that it has done it."""
        return self.outcome is not None and self.outcome.error is None and not self.outcome.is_presumed

    @property
    def is_over(self) -> bool:
        """Whether it can have no further effect."""
        return self.outcome is not None and not self.outcome.may_recur

    @property
    def topic(self) -> str | None:
        """The topic that it changes; None: not one."""
        match self.step.chosen:
            case CreateTopic(name=name) | DeleteTopic(name=name):
                return name
            case AddPartitions(topic=topic) | RemoveThrottle(topic=topic) | AlterTopic(topic=topic):
                return topic
            case (
                Reassign(partition=partition) | CancelReassign(partition=partition) | DeleteRecords(partition=partition)
            ):
                return _split(partition)[0]
            case _:
                return None


class Administration:
    """Carries out ``admin`` steps."""

    def __init__(self, clients: Clients, view: ClusterView, backend: Backend) -> None:
        self._clients = clients
        self._view = view
        self._backend = backend
        self.throttled: Final[dict[str, None]] = {}
        """Topics whose replicas may be throttled, because a step said so."""
        self.ever_throttled: Final[dict[str, None]] = {}
        self.asked: Final[list[Asked]] = []
        """Every step, in the order in which they were asked for."""

    def remove_throttles(self) -> Process[str | None]:
        """End what is left of the throttles of earlier steps; returns why that failed, or None."""
        for topic in list(self.throttled):
            if topic not in self._view.topics:
                del self.throttled[topic]  # its settings went with it
                continue
            error = yield from self.run(Admin(remove_throttle=RemoveThrottle(topic=topic)))
            if error is not None:
                return f"the throttle of {topic} was not removed: {error}"
        return None

    def run(self, step: Admin) -> Process[str | None]:
        """Carry out one step; returns why it failed, or None."""
        asked = self._note(step)
        created = step.chosen.name if isinstance(step.chosen, CreateTopic) else None
        if created is not None and isinstance(self._backend, OwnsTopics):
            self._backend.creating(created)

        def ended(outcome: AdminOutcome) -> None:
            asked.ended_ns, asked.outcome = self._backend.now_ns(), outcome

        self._backend.post(partial(self._submit, step, ended))
        answered = yield Until(partial(self._is_answered, asked), 2 * _TIMEOUT_NS, f"admin {step.choice}")
        if not answered or asked.outcome is None:
            return "no answer"
        if asked.outcome.error is not None:
            if created is not None and _EXISTS in asked.outcome.error and isinstance(self._backend, OwnsTopics):
                self._backend.not_created(created)
            return asked.outcome.error
        if created is not None and asked.outcome.topic_id and isinstance(self._backend, OwnsTopics):
            self._backend.created(created, asked.outcome.topic_id)
        if isinstance(step.chosen, RemoveThrottle):
            self.throttled.pop(step.chosen.topic, None)
        if isinstance(step.chosen, ElectLeaders | CancelReassign):
            waiting = dict.fromkeys(self._concerned(asked))
            yield Until(partial(self._is_seen, asked, waiting), _TIMEOUT_NS, f"the effect of {asked.outcome.what}")
            asked.unseen = tuple(waiting)  # judged once the cluster has recovered
            return None
        shown = yield Until(partial(self._is_shown, step), _TIMEOUT_NS, f"the cluster shows {asked.outcome.what}")
        return None if shown else f"{asked.outcome.what} was answered, but the cluster does not show it"

    def _note(self, step: Admin) -> Asked:
        asked = Asked(step, self._backend.now_ns(), frozenset(), ())
        named = getattr(step.chosen, "partition", None)
        partitions = self._view.partitions
        asked.topic_ids = frozenset(one.topic_id for name, one in partitions.items() if _split(name)[0] == asked.topic)
        if named in partitions:
            asked.replicas = tuple(partitions[named].replicas)
        if isinstance(step.chosen, ElectLeaders):
            asked.preferred = {name: one.replicas[0] for name, one in partitions.items()}
        self.asked.append(asked)
        return asked

    def _submit(self, step: Admin, on_outcome: Callable[[AdminOutcome], None]) -> None:
        admin = self._clients.admin
        match step.chosen:
            case CreateTopic() as topic:
                admin.create_topic(
                    topic.name,
                    partitions=topic.partitions,
                    replication_factor=topic.replication_factor,
                    assignment=topic.assignment,
                    config={key: _config_text(value) for key, value in topic.config.items()},
                    timeout_ns=_TIMEOUT_NS,
                    on_outcome=on_outcome,
                )
            case DeleteTopic(name=name):
                admin.delete_topic(name, timeout_ns=_TIMEOUT_NS, on_outcome=on_outcome)
            case AddPartitions(topic=name, total=total):
                admin.add_partitions(name, total, timeout_ns=_TIMEOUT_NS, on_outcome=on_outcome)
            case Reassign(throttle=None) as move:
                self._reassign(move, on_outcome)
            case Reassign(partition=name) as move if name in self._view.partitions:
                self.throttled[_split(name)[0]] = self.ever_throttled[_split(name)[0]] = None
                admin.alter_configs(
                    _throttled(move, self._view.partitions[name].replicas),
                    timeout_ns=_TIMEOUT_NS,
                    on_outcome=partial(self._reassign_throttled, move, on_outcome),
                )
            case Reassign(partition=name):
                on_outcome(AdminOutcome(f"reassign {name}", "there is no such partition, so no replicas to throttle"))
            case CancelReassign(partition=name):
                topic_name, index = _split(name)
                admin.reassign(topic_name, index, None, timeout_ns=_TIMEOUT_NS, on_outcome=on_outcome)
            case RemoveThrottle(topic=topic_name):
                brokers = [str(broker) for broker in self._view.brokers]
                admin.alter_configs(_not_throttled(topic_name, brokers), timeout_ns=_TIMEOUT_NS, on_outcome=on_outcome)
            case AlterTopic(topic=topic_name, config=config):
                values: dict[str, str | None] = {
                    name: None if value is None else str(value) for name, value in config.items()
                }
                changes = {ConfigResource(TOPIC_RESOURCE, topic_name): values}
                admin.alter_configs(changes, timeout_ns=_TIMEOUT_NS, on_outcome=on_outcome)
            case ElectLeaders(partitions=names):
                self._elect(names, on_outcome)
            case DeleteRecords(partition=name, before=before):
                topic_name, index = _split(name)
                admin.delete_records(topic_name, index, before, timeout_ns=_TIMEOUT_NS, on_outcome=on_outcome)
            case UpgradeMetadata(version=version):
                level = int(MetadataVersion.of(version))
                admin.update_feature(FEATURE_NAME, level, timeout_ns=_TIMEOUT_NS, on_outcome=on_outcome)
            case other:
                raise AssertionError(f"{other!r}: a kind of administration that is not implemented")

    # --- effects that may be undone soon after: they are looked for at once ---

    def _concerned(self, asked: Asked) -> list[str]:
        if isinstance(self._backend, ObservesWithDelay):
            return []  # many changes may become known at once, and what lay between is not seen
        match asked.step.chosen:
            case ElectLeaders(partitions=names):
                return list(self._view.partitions) if names is None else list(names)
            case CancelReassign(partition=name) if asked.outcome is not None and not asked.outcome.too_late:
                return [name]
            case _:
                return []

    def _is_answered(self, asked: Asked) -> bool:
        """Whether there is an outcome. A move that begins and ends before that has its effect on an election, too."""
        for name, preferred in list(asked.preferred.items()):
            partition = self._view.partitions.get(name)
            if partition is None or partition.replicas[0] != preferred:
                del asked.preferred[name]
        return asked.outcome is not None

    def _is_seen(self, asked: Asked, waiting: dict[str, None]) -> bool:
        """Whether each of ``waiting`` has been seen as it was asked for, or as it need not be any more."""
        for name in list(waiting):
            partition = self._view.partitions.get(name)
            if partition is None or self._as_asked(asked, partition):
                del waiting[name]
        return not waiting

    def _as_asked(self, asked: Asked, partition: PartitionView) -> bool:
        if isinstance(asked.step.chosen, ElectLeaders):
            preferred = partition.replicas[0]
            if asked.preferred.get(partition.partition) != preferred:
                return True  # a move has begun or ended meanwhile
            able = preferred in partition.isr and self._view.is_unfenced(preferred)
            return partition.leader == preferred or not able or self._view.brokers[preferred].shutting_down
        before = self.before_moves(asked)
        return not before or partition.topic_id not in asked.topic_ids or sorted(partition.replicas) in before

    def before_moves(self, asked: Asked) -> list[list[int]]:
        """The replicas, sorted, that a partition may have had before what is taken back; empty: unknown, for that may
        have begun in the middle of a move.

        A move that only adds replicas shows all of them at once. So if another follows, nobody sees whether the first
        has ended, and the cluster may take back both.
        """
        name = getattr(asked.step.chosen, "partition", None)
        before: list[list[int]] = []
        target: list[int] | None = None
        for one in self.asked[: self.asked.index(asked)]:
            move = one.step.chosen
            if isinstance(move, Reassign) and move.partition == name and one.topic_ids == asked.topic_ids:
                had = sorted(one.replicas)
                if target is not None and had != target and had not in before:
                    return []
                before = [had, *(earlier for earlier in before if set(earlier) < set(had))]
                target = sorted(move.replicas)
        return before

    def _elect(self, names: Sequence[str] | None, on_outcome: Callable[[AdminOutcome], None]) -> None:
        backend = self._backend
        if isinstance(backend, ElectsByZnode) and backend.elects_by_znode():
            every = list(self._view.partitions) if names is None else names
            backend.elect_preferred(
                [_split(name) for name in every], lambda error: on_outcome(AdminOutcome("electLeaders", error))
            )
            return
        partitions = None if names is None else [_split(name) for name in names]
        self._clients.admin.elect_leaders(partitions, timeout_ns=_TIMEOUT_NS, on_outcome=on_outcome)

    def _reassign(self, move: Reassign, on_outcome: Callable[[AdminOutcome], None]) -> None:
        topic, index = _split(move.partition)
        self._clients.admin.reassign(topic, index, move.replicas, timeout_ns=_TIMEOUT_NS, on_outcome=on_outcome)

    def _reassign_throttled(
        self, move: Reassign, on_outcome: Callable[[AdminOutcome], None], throttled: AdminOutcome
    ) -> None:
        """Go on with the move once its throttle is set, which may be set once more if its first answer was lost."""
        if throttled.error is not None:
            on_outcome(throttled)
            return
        lost = throttled.may_recur
        self._reassign(move, lambda moved: on_outcome(replace(moved, may_recur=moved.may_recur or lost)))

    def _is_shown(self, step: Admin) -> bool:
        partitions = self._view.partitions
        match step.chosen:
            case CreateTopic() as topic:
                count = len(topic.assignment) if topic.assignment is not None else topic.partitions
                return all(self._view.leader(f"{topic.name}-{index}") is not None for index in range(count))
            case DeleteTopic(name=name):
                return not any(key.rpartition("-")[0] == name for key in partitions)
            case AddPartitions(topic=name, total=total):
                return all(self._view.leader(f"{name}-{index}") is not None for index in range(total))
            case _:
                return True


def _throttled(move: Reassign, present: Sequence[int]) -> dict[ConfigResource, dict[str, str | None]]:
    """What ``kafka-reassign-partitions`` configures before it begins a move."""
    topic, index = _split(move.partition)
    added = [replica for replica in move.replicas if replica not in present]
    rates: dict[str, str | None] = dict.fromkeys((LEADER_THROTTLED_RATE, FOLLOWER_THROTTLED_RATE), str(move.throttle))
    return {
        ConfigResource(TOPIC_RESOURCE, topic): {
            LEADER_THROTTLED_REPLICAS: ",".join(f"{index}:{replica}" for replica in present),
            FOLLOWER_THROTTLED_REPLICAS: ",".join(f"{index}:{replica}" for replica in added),
        },
        **{ConfigResource(BROKER_RESOURCE, str(broker)): rates for broker in (*present, *added)},
    }


def _not_throttled(topic: str, brokers: Sequence[str]) -> dict[ConfigResource, dict[str, str | None]]:
    return {
        ConfigResource(TOPIC_RESOURCE, topic): {LEADER_THROTTLED_REPLICAS: None, FOLLOWER_THROTTLED_REPLICAS: None},
        **{
            ConfigResource(BROKER_RESOURCE, broker): {LEADER_THROTTLED_RATE: None, FOLLOWER_THROTTLED_RATE: None}
            for broker in brokers
        },
    }


def _split(partition: str) -> tuple[str, int]:
    topic, _, index = partition.rpartition("-")
    return topic, int(index)


def _config_text(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
