"""Whether what clients ask of a cluster ever succeeds, feature by feature: one contract for each.

Worked example: four clients read registers, and every linearizable read times out. All nodes are healthy, writes are
acknowledged, nothing is lost. Without a contract such a run would be a pass.

A contract says what was asked, what counts as success, and why a cluster may be unable. It is judged once all faults
are healed and the cluster is whole: each feature that was asked for must succeed once more, since the heal, within
``spec.recovery`` (and what the clients' own time-outs add). What the cluster has acknowledged of administration must
show in the committed metadata by then, unless a later request may have undone it. A feature that was not asked for, or
that could not succeed, is not judged, and the verdict says so.

Two kinds of contracts look back instead (:mod:`highwater_chaos.liveness.upkeep`): what nodes must do by themselves, and
records that DeleteRecords was acknowledged to have removed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from highwater_chaos.backends.view import ClusterView
from highwater_chaos.experiment import ExperimentSpec
from highwater_chaos.experiment.model import REGISTER_TOPIC
from highwater_chaos.experiment.properties import properties_of_nodes
from highwater_chaos.experiment.steps import (
    AddPartitions,
    AlterTopic,
    CancelReassign,
    CreateTopic,
    DeleteRecords,
    DeleteTopic,
    ElectLeaders,
    Reassign,
    RemoveThrottle,
)
from highwater_chaos.liveness.agreement import Agreement
from highwater_chaos.liveness.producer_ids import ProducerIds
from highwater_chaos.liveness.shown_settings import ShownSettings, Wanted
from highwater_chaos.liveness.upkeep import GROUPS, Kept, Upkeep
from highwater_chaos.run.features import Feature
from highwater_chaos.schedule.administration import Asked
from highwater_chaos.workload.history import OperationKind, Tried
from highwater_runtime.config import NodeConfig
from highwater_runtime.ports import MS, SECOND

_REBALANCES: Final = "auto.leader.rebalance.enable"
_CHECKS: Final = "leader.imbalance.check.interval.ms"
_NOT_SHOWN: Final = "only the simulator can look into a controller's memory"
_GROUP_NS: Final = 60 * SECOND
"""Time for members of a group beside ``spec.recovery``: sessions of former members end, a generation begins twice."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What contracts look at. ``acknowledged_ns`` is of a partition's latest write; ``since_ns``: when all faults had
    been healed."""

    spec: ExperimentSpec
    view: ClusterView
    tried: Callable[[], Sequence[Tried]]
    acknowledged_ns: Callable[[str], int | None]
    writable: Callable[[], Collection[str]]
    asked: Sequence[Asked]
    asked_again: Sequence[Asked]
    """Administration of a kind that had never been answered, asked for on a topic of the harness's own."""
    throttled: Collection[str]
    since_ns: int
    agreement: Agreement
    settings: ShownSettings
    producer_ids: ProducerIds
    clients_failed: Callable[[], Sequence[str]]
    """Why clients cannot have asked for what they should: a process of theirs that ended, say."""


@dataclass(frozen=True, slots=True)
class Contract:
    """``asked``: whether anybody asked for the feature; ``unfit``: why it cannot be judged, empty if it can; ``owed``:
    what has not succeeded so far, as clauses; ``more_ns``: the time that it has beside ``spec.recovery``;
    ``is_asked_now``: the harness asks only when features are looked at, so this time begins then; ``is_momentary``:
    ``owed`` keeps that nothing was owed at one moment, so it must be asked at each."""

    feature: str
    asked: Callable[[Situation], bool]
    owed: Callable[[Situation], list[str]]
    unfit: Callable[[Situation], str] = lambda _situation: ""
    more_ns: int = 0
    is_asked_now: bool = False
    is_momentary: bool = False


# --- clients -------------------------------------------------------------------------------------------------------


def _of_clients(
    f: OperationKind,
    feature: str,
    unfit: Callable[[Situation], str],
    *,
    each: bool = False,
    more_ns: int = 0,
) -> Contract:
    """One operation of this kind must succeed since the heal; ``each``: one of each client."""

    def tried(situation: Situation) -> list[Tried]:
        return [one for one in situation.tried() if one.f == f and one.client != "final-reader"]

    def owed(situation: Situation) -> list[str]:
        every = tried(situation)
        late = [one for one in every if one.ok_ns < situation.since_ns]
        if not each and len(late) < len(every):
            return []
        waiting = sorted((one.since_ns, one.client) for one in late if one.since_ns >= 0)
        began = [f"the first without success began at {since / 1e9:.3f} s ({client})" for since, client in waiting[:1]]
        return began or ([f"{late[0].client} asked for none"] if late else [])

    def why_not(situation: Situation) -> str:
        failed = situation.clients_failed()
        return failed[0] if failed else unfit(situation)

    return Contract(feature, lambda situation: bool(tried(situation)), owed, why_not, more_ns)


def _without_topics(situation: Situation) -> str:
    assert situation.spec.cluster is not None
    declared = [topic.name for topic in situation.spec.cluster.topics]
    missing = [name for name in situation.spec.workload.topics or declared if name not in situation.view.topics]
    return f"topic {missing[0]} is not there" if missing else ""


def _unfit_for_groups(situation: Situation) -> str:
    cluster = situation.spec.cluster
    assert cluster is not None
    internal = [name for name in situation.view.partitions if name.rpartition("-")[0] == GROUPS]
    able = situation.writable()
    stuck = [name for name in internal if name not in able]
    if stuck:
        return f"{stuck[0]} cannot take writes"
    replicas = int(cluster.config.get("offsets.topic.replication.factor", 3))
    in_sync = int(cluster.config.get("min.insync.replicas", 1))
    if not internal and (replicas > cluster.brokers or in_sync > min(replicas, cluster.brokers)):
        return f"{GROUPS} needs more brokers than there are"
    return _without_topics(situation)


def _unfit_for_reading(situation: Situation) -> str:
    latest = [situation.acknowledged_ns(name) for name in situation.view.partitions]
    if not any(at is not None and at >= situation.since_ns for at in latest):
        return "nothing was written"
    return _without_topics(situation)


def _unfit_for_registers(situation: Situation) -> str:
    return "" if REGISTER_TOPIC in situation.view.topics else f"topic {REGISTER_TOPIC} is not there"


# --- leaders ---


def _rebalances_soon(situation: Situation) -> bool:
    """Whether every controller moves leaders back within the time that features have: the first check may have been
    just before, and a broker may have returned just before the second."""
    first, *later = properties_of_nodes(situation.spec) or [{}]
    every = [{**first, **own} for own in ({}, *later)]
    checks_ms = max(int(one.get(_CHECKS, NodeConfig().leader_imbalance_check_ms)) for one in every)
    rebalances = all(str(one.get(_REBALANCES, True)).lower() == "true" for one in every)
    return rebalances and 3 * checks_ms * MS <= situation.spec.recovery


def _unfit_for_rebalance(situation: Situation) -> str:
    cluster = situation.spec.cluster
    is_ours = cluster is not None and cluster.runtime == "highwater"
    return "" if is_ours else "a tenth of a broker's leaders may stay (leader.imbalance.per.broker.percentage)"


# --- administration ------------------------------------------------------------------------------------------------


def _missing_created(step: CreateTopic, _asked: Asked, situation: Situation) -> str:
    total = step.partitions if step.assignment is None else len(step.assignment)
    if situation.view.topics.get(step.name, 0) < total:
        return f"topic {step.name} has no {total} partitions"
    factors = [step.replication_factor] * total if step.assignment is None else [len(one) for one in step.assignment]
    return _missing_replicas(step.name, dict(enumerate(factors)), situation)


def _missing_added(step: AddPartitions, _asked: Asked, situation: Situation) -> str:
    """Partitions that are added have as many replicas as the first one."""
    if situation.view.topics.get(step.topic, 0) < step.total:
        return f"{step.topic} has no {step.total} partitions"
    name = f"{step.topic}-0"
    first = situation.view.partitions.get(name)
    is_moved = any(
        isinstance(one.step.chosen, Reassign) and one.step.chosen.partition == name for one in situation.asked
    )
    factor = None if first is None or is_moved else len(first.replicas)
    return _missing_replicas(step.topic, dict.fromkeys(range(step.total), factor), situation)


def _missing_replicas(topic: str, factors: Mapping[int, int | None], situation: Situation) -> str:
    """Which partition has fewer replicas than it was given, where none was moved. None: it is not known how many."""
    moved = {one.step.chosen.partition for one in situation.asked if isinstance(one.step.chosen, Reassign)}
    for index, factor in factors.items():
        name = f"{topic}-{index}"
        partition = situation.view.partitions.get(name)
        if partition is not None and factor is not None and name not in moved and len(partition.replicas) < factor:
            return f"{name} has {len(partition.replicas)} replicas, not {factor}"
    return ""


def _missing_deleted(step: DeleteTopic, asked: Asked, situation: Situation) -> str:
    left = [one for one in situation.view.partitions.values() if one.partition.rpartition("-")[0] == step.name]
    return next((f"{one.partition} is still there" for one in left if one.topic_id in asked.topic_ids), "")


def _missing_moved(step: Reassign, asked: Asked, situation: Situation) -> str:
    partition = situation.view.partitions.get(step.partition)
    if (
        partition is None
        or partition.topic_id not in asked.topic_ids
        or [*partition.replicas] == step.replicas  # their order, too: the first is the preferred leader
    ):
        return ""
    return f"{step.partition} has replicas {partition.replicas}, not {step.replicas}"


def _missing_elected(_step: ElectLeaders, asked: Asked, _view: ClusterView) -> str:
    what = "was not led by its preferred replica, which was in the ISR and unfenced all the time"
    return f"{asked.unseen[0]} {what}" if asked.unseen else ""


def _missing_taken_back(step: CancelReassign, asked: Asked, _view: ClusterView) -> str:
    return f"{step.partition} did not get back the replicas that it had before its move" if asked.unseen else ""


def _missing_settings(step: RemoveThrottle | AlterTopic, _asked: Asked, situation: Situation) -> str:
    return situation.settings.missing(Wanted.by(step))


_SHOWN: Final[Mapping[type, tuple[str, Callable[..., str]]]] = {
    CreateTopic: ("creation of topics", _missing_created),
    AddPartitions: ("addition of partitions", _missing_added),
    DeleteTopic: ("deletion of topics", _missing_deleted),
    Reassign: ("reassignment", _missing_moved),
    ElectLeaders: ("election of leaders", _missing_elected),
    CancelReassign: ("taking back a reassignment", _missing_taken_back),
    RemoveThrottle: ("configuration", _missing_settings),
    AlterTopic: ("alteration of topics", _missing_settings),
}
_DELETION_OF_RECORDS: Final = "deletion of records"
_FEATURES: Final = {
    "createTopic": "creation of topics",
    "addPartitions": "addition of partitions",
    "deleteTopic": "deletion of topics",
    "reassign": "reassignment",
    "cancelReassign": "taking back a reassignment",
    "electLeaders": "election of leaders",
    "deleteRecords": _DELETION_OF_RECORDS,
    "removeThrottle": "configuration",
    "alterTopic": "alteration of topics",
}
"""The features of administration, by the kind of step."""


def _stands(asked: Asked, situation: Situation) -> bool:
    """Whether nothing may have undone a step that was asked for later, or at the same time, or that may be carried out
    again: a deletion whose first answer was lost may arrive once more when the topic has been created again."""
    mine = asked.step.chosen
    for other in situation.asked:
        if other is asked or (other.is_over and (other.ended_ns or 0) <= asked.began_ns):
            continue
        theirs = other.step.chosen
        if isinstance(theirs, DeleteTopic) and theirs.name == asked.topic and not isinstance(mine, DeleteTopic):
            return False
        # A topic that was not deleted cannot be created: that is refused.
        created = isinstance(theirs, CreateTopic) and not _is_refused(other)
        if created and isinstance(mine, DeleteTopic) and other.topic == mine.name:
            return False
        if isinstance(mine, RemoveThrottle) and isinstance(theirs, Reassign) and theirs.throttle is not None:
            return False  # brokers have one rate for the replicas of all topics
        if (
            isinstance(mine, AlterTopic)
            and isinstance(theirs, AlterTopic)
            and theirs.topic == mine.topic
            and not mine.config.keys().isdisjoint(theirs.config)
        ):
            return False
        if (
            isinstance(mine, Reassign | CancelReassign)
            and isinstance(theirs, Reassign | CancelReassign)
            and theirs.partition == mine.partition
        ):
            return False
    return True


def _is_refused(asked: Asked) -> bool:
    return asked.outcome is not None and asked.outcome.answered and asked.outcome.error is not None


def _at(asked: Asked) -> str:
    return f"acknowledged at {(asked.ended_ns or 0) / 1e9:.3f} s"


def _of_administration(kind: str) -> Contract:
    """What was acknowledged shows; and of a kind that never got an answer, one more request gets one."""

    def of_kind(every: Sequence[Asked]) -> list[Asked]:
        return [one for one in every if one.step.choice == kind]

    def owed(situation: Situation) -> list[str]:
        mine = of_kind(situation.asked)
        answered = [one for one in mine if one.outcome is not None and one.outcome.answered]
        if not answered:
            again = of_kind(situation.asked_again)
            if any(one.outcome is not None and one.outcome.answered for one in again):
                return []
            return [f"none was ever answered; the first was asked for at {mine[0].began_ns / 1e9:.3f} s"]
        clauses = []
        for one in answered:
            shown = _SHOWN.get(type(one.step.chosen))
            if shown is None or not one.acknowledged or not _stands(one, situation):
                continue
            missing = shown[1](one.step.chosen, one, situation)
            if missing and one.topic not in situation.throttled:
                clauses.append(f"{missing}, though that was {_at(one)}")
        return clauses

    return Contract(_FEATURES[kind], lambda situation: bool(of_kind(situation.asked)), owed, is_asked_now=True)


CONTRACTS: Final[tuple[Contract, ...]] = (
    _of_clients("read", "reads of registers", _unfit_for_registers),
    _of_clients("write", "writes of registers", _unfit_for_registers),
    _of_clients("committed", "joins of groups", _unfit_for_groups, more_ns=_GROUP_NS),
    _of_clients("commit", "commits of groups", _unfit_for_groups, more_ns=_GROUP_NS),
    _of_clients("lookup", "look-ups by time stamp", _without_topics),
    _of_clients("poll", "reads of consumers", _unfit_for_reading, each=True),
    *map(_of_administration, _FEATURES),
    Contract(
        "producer ids",
        lambda situation: situation.spec.workload.idempotence,
        lambda situation: situation.producer_ids.missing(),
        is_asked_now=True,
    ),
    Contract(
        "preferred leaders",
        _rebalances_soon,
        lambda situation: situation.agreement.of_leaders(),
        _unfit_for_rebalance,
        is_asked_now=True,
        is_momentary=True,
    ),
    Contract(
        "metadata of brokers",
        lambda _: True,
        lambda situation: situation.agreement.of_brokers(),
        is_asked_now=True,
        is_momentary=True,
    ),
    Contract(
        "metadata of controllers",
        lambda _: True,
        lambda situation: situation.agreement.of_controllers(),
        lambda situation: "" if situation.agreement.shows_controllers else _NOT_SHOWN,
        is_asked_now=True,
        is_momentary=True,
    ),
)
"""Those that a recovered cluster has time for. Writes have one of their own, for each partition."""


def unanswered(asked: Sequence[Asked]) -> list[str]:
    """The kinds of administration that were asked for and never answered, in order."""
    kinds = dict.fromkeys(one.step.choice for one in asked if one.step.choice in _FEATURES)
    answered = {one.step.choice for one in asked if one.outcome is not None and one.outcome.answered}
    return [kind for kind in kinds if kind not in answered]


def wanted_settings(asked: Sequence[Asked]) -> list[Wanted]:
    """What was acknowledged of settings, in order."""
    steps = [one.step.chosen for one in asked if one.acknowledged]
    return [Wanted.by(step) for step in steps if isinstance(step, RemoveThrottle | AlterTopic)]


# --- what is looked back at ----------------------------------------------------------------------------------------


def of_upkeep(kept: Sequence[Kept], recorded: Collection[str], why_not: str) -> dict[str, Feature]:
    """Judge what nodes must do by themselves. ``recorded``: the kinds of events that were; ``why_not`` the others."""
    found = {}
    for one in kept:
        missing = [kind for kind in one.needs if kind not in recorded]
        if missing:
            found[one.feature] = Feature("not-available", why_not)
        elif one.due and not one.done:
            first = min(one.due, key=lambda due: due.since_ns)
            what = f"none happened: {first.what} was due from {first.since_ns / 1e9:.3f} s on, within"
            found[one.feature] = Feature("failed", f"{what} {first.within_ns / 1e9:.1f} s, and no fault hit that node")
        else:
            found[one.feature] = Feature("ok" if one.done else "not-asked")
    return found


def of_deleted_records(asked: Sequence[Asked], upkeep: Upkeep, recorded: Collection[str], why_not: str) -> Feature:
    """Whether each log began, on one broker at least, where DeleteRecords was acknowledged to let it begin."""
    acknowledged = [
        (one, one.step.chosen)
        for one in asked
        if one.acknowledged and isinstance(one.step.chosen, DeleteRecords) and one.step.chosen.before is not None
    ]
    if not acknowledged:
        return Feature("not-asked")
    if "log-start-moved" not in recorded:
        return Feature("not-available", why_not)
    for one, step in acknowledged:
        if upkeep.log_starts.get(step.partition, 0) < (step.before or 0):
            what = f"no log of {step.partition} ever began at {step.before}, though that was {_at(one)}"
            return Feature("failed", what)
    return Feature("ok")
