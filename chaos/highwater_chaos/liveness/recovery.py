"""The phase *recovered*: waits until the cluster is whole and every feature has succeeded once more, and says what is
``unavailable`` if that takes too long. :mod:`.availability` says what healthy nodes owe, :mod:`.progress` what clients
are owed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Final, Protocol

import msgspec

from highwater_chaos.backends.protocol import Backend, InvariantViolation, ObservesWithDelay, ShowsRest
from highwater_chaos.backends.view import ClusterView
from highwater_chaos.base.process import Process, Scheduler
from highwater_chaos.base.quantities import format_duration
from highwater_chaos.experiment import ChaosExperiment, Cluster
from highwater_chaos.experiment.nodes import node_names
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
)
from highwater_chaos.faults import FaultRecord
from highwater_chaos.liveness.agreement import Agreement
from highwater_chaos.liveness.availability import behind, committed_metadata, healthy_nodes, overdue, writable
from highwater_chaos.liveness.course import Course
from highwater_chaos.liveness.producer_ids import ProducerIds
from highwater_chaos.liveness.progress import (
    CONTRACTS,
    Contract,
    Situation,
    of_deleted_records,
    of_upkeep,
    unanswered,
    wanted_settings,
)
from highwater_chaos.liveness.promptness import sentence_of
from highwater_chaos.liveness.readiness import nodes_ready, unready
from highwater_chaos.liveness.requests import IN_TIME, Requests
from highwater_chaos.liveness.shown_settings import ShownSettings
from highwater_chaos.liveness.upkeep import Upkeep
from highwater_chaos.run.features import Feature
from highwater_chaos.schedule.administration import Administration
from highwater_chaos.schedule.fault_manager import FaultManager
from highwater_chaos.workload.client_host import HostsClientProcesses
from highwater_chaos.workload.clients import Clients
from highwater_pipeline.tables.recorded_events import EVERY_KIND, RecordedEvents
from highwater_pipeline.tables.recordings import RECORDED_EVENTS_FILE
from highwater_runtime.ports import SECOND

CATCH_UP_NS: Final = 30 * SECOND
"""How long events that are still on their way are waited for, before a finding follows from what is not there."""
LAST_UNKNOWN: Final = "what nodes did last could not be read"
_AFTER_RECOVERY_NS: Final = 2 * SECOND
_REST_NS: Final = 15 * SECOND
"""How long a cluster that nobody uses may take until all agrees: delays of deletions, checkpoints, fetches."""
_NAMED: Final = 10
"""How many partitions a sentence names."""
_PROBED: Final = "highwater-progress"
"""The topic on which administration is asked for again."""
_REFUSED: Final = frozenset(
    {
        "CORRUPT_MESSAGE",
        "INVALID_RECORD",
        "INVALID_REQUIRED_ACKS",
        "INVALID_TIMESTAMP",
        "MESSAGE_TOO_LARGE",
        "POLICY_VIOLATION",
        "RECORD_LIST_TOO_LARGE",
        "TOPIC_AUTHORIZATION_FAILED",
        "UNSUPPORTED_COMPRESSION_TYPE",
        "UNSUPPORTED_FOR_MESSAGE_FORMAT",
        "UNSUPPORTED_VERSION",
    }
)
"""Errors of a write that no healthy cluster would take either."""


class Running(Protocol):
    """What is asked of a run that goes on."""

    experiment: ChaosExperiment
    backend: Backend
    cluster: Cluster
    view: ClusterView
    scheduler: Scheduler
    clients: Clients
    inconclusive_reasons: list[str]
    violations: list[InvariantViolation]
    journal: list[tuple[int, str]]
    faults: list[FaultRecord]
    fault_manager: FaultManager | None
    deadline_ns: int

    def go_on(self, predicate: Callable[[], bool], limit_ns: int) -> bool:
        """Let the run go on until ``predicate``; False if ``limit_ns`` or an early end comes first."""

    def until(self, predicate: Callable[[], bool], timeout_ns: int, reason: Callable[[], str]) -> bool:
        """The same, with an inconclusive reason if that takes longer."""

    def pass_time(self, ns: int) -> None:
        """Let time pass, but not beyond the run's deadline."""


class Recovery:
    """Of one run. ``features``: how each feature did, once it is known."""

    def __init__(self, run: Running) -> None:
        self._run = run
        self._upkeep = Upkeep(run.experiment.spec, run.view)
        run.view.followers.append(self._upkeep.observe)
        self._course: Course | None = None
        """None: time is real, so what is late says nothing."""
        self._settled_ns: int | None = None
        """When the cluster was whole for the first time."""
        if not isinstance(run.backend, HostsClientProcesses):
            self._course = Course(run.cluster)
            run.view.followers.append(self._course.observe)
        self._wait_ns = run.experiment.spec.recovery
        self.administration = Administration(run.clients, run.view, run.backend)
        self._again = Administration(run.clients, run.view, run.backend)
        self._agreement = Agreement(run.cluster, run.view, run.backend, run.clients)
        self._since_ns = 0
        self.features: dict[str, Feature] = {}

    # --- the phase ---

    def recover(self) -> None:
        """Let the run go on until the cluster has recovered, or until it is known not to."""
        # Past the deadline everything is healed, and nothing more is waited for.
        run = self._run
        committed = committed_metadata(run.cluster, run.view)
        self._since_ns = run.backend.now_ns()

        def voters_behind() -> list[str]:
            return behind(run.cluster, run.view, self.healthy(), committed)

        whole = self._becomes_whole(voters_behind)
        if whole and not run.until(
            lambda: not voters_behind(),
            self._wait_ns,
            lambda: f"the quorum did not recover: {', '.join(voters_behind())}",
        ):
            self.unavailable(voters_behind, "recovery")
        since_ns = run.backend.now_ns()
        run.pass_time(_AFTER_RECOVERY_NS)
        if run.fault_manager is not None:
            run.fault_manager.look_once_more()
        self.features.setdefault("recovery", Feature("ok" if whole else "not-available"))
        self._see_writes(since_ns)
        self._see_features(since_ns)

    def sample(self) -> None:
        """Look at what brokers know of the cluster now."""
        if self._course is not None and self._settled_ns is not None:
            self._course.look(self._run.backend.now_ns(), self._agreement.now())

    def _remove_throttles(self) -> None:
        def remove() -> Process[None]:
            error = yield from self.administration.remove_throttles()
            if error is not None:
                self._run.inconclusive_reasons.append(error)

        task = self._run.scheduler.spawn("remove throttles", remove())
        self._run.go_on(lambda: task.done, self._run.deadline_ns)
        task.cancel()

    def _becomes_whole(self, voters_behind: Callable[[], Sequence[str]]) -> bool:
        """Wait until the cluster is whole. A throttle slows only its own topic: the others recover before it ends."""
        run = self._run

        def in_time() -> bool:
            if run.until(self.is_whole, self._wait_ns, lambda: f"the cluster did not recover: {self.unready()}"):
                return True
            self.unavailable(
                lambda: overdue(run.cluster, run.view, self.healthy(), self._throttled) or voters_behind(), "recovery"
            )
            return False

        whole = in_time()
        if not self._throttled:
            return whole
        self._remove_throttles()
        return whole and in_time()

    # --- writes ---

    def _see_writes(self, since_ns: int) -> None:
        """Let every partition that was written to and can take writes acknowledge one after ``since_ns``."""
        run = self._run
        silent = self._silent(since_ns)
        refusal = run.clients.status().refusal
        never = run.clients.acknowledged == 0 and run.experiment.spec.workload.acks != "0"
        if not silent:
            if not never and run.clients.acknowledged:
                self.features["writes"] = Feature("ok")
            return
        if run.backend.now_ns() >= run.deadline_ns or (never and refusal in _REFUSED):
            self.features["writes"] = Feature("not-available", refusal or "the run's time was over")
            return
        run.clients.start_probe(silent, self._wait_ns)

        def is_silent(name: str) -> bool:
            at_ns = run.clients.acknowledged_at(name)
            return at_ns is not None and at_ns < since_ns

        def all_written() -> bool:
            while silent and not is_silent(silent[0]):
                silent.pop(0)
            return not silent

        def still() -> list[str]:
            return [name for name in silent if is_silent(name)]

        def missing() -> list[str]:
            able = set(writable(run.cluster, run.view, self.healthy()))
            stuck = [name for name in still() if name in able]
            return [_no_writes(stuck)] if stuck and not run.clients.status().inconclusive_reasons else []

        if run.until(all_written, self._wait_ns, lambda: f"{_no_writes(still())} after the cluster had recovered"):
            self.features["writes"] = Feature("ok")
        else:
            self.unavailable(missing, "writes")

    def _silent(self, since_ns: int) -> list[str]:
        """Partitions that were written to, can take writes, and have acknowledged none since."""
        run = self._run
        able = writable(run.cluster, run.view, self.healthy())
        return [name for name in able if (at_ns := run.clients.acknowledged_at(name)) is not None and at_ns < since_ns]

    # --- features ---

    def _see_features(self, since_ns: int) -> None:
        """Let each feature that was asked for succeed once more; what does not in its time is unavailable."""
        run = self._run
        if not self.is_ready() or run.backend.now_ns() >= run.deadline_ns:
            return  # why that is so is known by now
        asked_ns = run.backend.now_ns()
        situation = self._situation()
        run.clients.start_metadata_probe()
        asking = [
            run.scheduler.spawn("ask brokers for metadata", situation.agreement.ask()),
            run.scheduler.spawn("ask brokers for producer ids", situation.producer_ids.ask()),
            run.scheduler.spawn("ask brokers for settings", situation.settings.ask()),
        ]
        if kinds := unanswered(self.administration.asked):
            run.scheduler.spawn("ask again", self._ask_again(kinds))
        open_ = [one for one in CONTRACTS if one.asked(situation)]

        def is_waited_for(one: Contract, now_ns: int) -> bool:
            began_ns = (asked_ns if one.is_asked_now else since_ns) + one.more_ns
            return now_ns < began_ns + self._wait_ns and not one.unfit(situation) and bool(one.owed(situation))

        momentary = [one for one in open_ if one.is_momentary]
        others = [one for one in open_ if not one.is_momentary]

        def done() -> bool:
            now_ns = run.backend.now_ns()
            # What is true for a moment is looked for in each, also after its time. Of the others one that is waited for
            # says enough; most likely it is the one of the moment before.
            owed = [one for one in momentary if one.owed(situation)]
            for one in others:
                if is_waited_for(one, now_ns):
                    others.remove(one)
                    others.insert(0, one)
                    return False
            if any(is_waited_for(one, now_ns) for one in owed):
                return False
            due_ns = self._upkeep.next_ns(now_ns, run.faults)
            return due_ns is None or due_ns > since_ns + self._wait_ns

        run.go_on(done, run.deadline_ns)
        for task in asking:
            task.cancel()
        for one in open_:
            if why := one.unfit(situation):
                self.features[one.feature] = Feature("not-available", why)
            elif owed := one.owed(situation):
                run.inconclusive_reasons.append(f"after the cluster had recovered, {one.feature}: {owed[0]}")
                self.unavailable(partial(_clauses, one, situation), one.feature, self._wait_ns + one.more_ns)
                self.features.setdefault(one.feature, Feature("not-available", owed[0]))
            else:
                self.features[one.feature] = Feature("ok")

    def _situation(self) -> Situation:
        run = self._run
        return Situation(
            spec=run.experiment.spec,
            view=run.view,
            tried=lambda: run.clients.status().tried,
            acknowledged_ns=run.clients.acknowledged_at,
            writable=lambda: writable(run.cluster, run.view, self.healthy()),
            asked=self.administration.asked,
            asked_again=self._again.asked,
            throttled=self._throttled,
            since_ns=self._since_ns,
            agreement=self._agreement,
            settings=ShownSettings(run.cluster, run.backend, run.clients, wanted_settings(self.administration.asked)),
            producer_ids=ProducerIds(run.experiment.spec.workload, run.cluster, run.backend, run.clients),
            clients_failed=lambda: run.clients.status().inconclusive_reasons,
        )

    def _ask_again(self, kinds: Sequence[str]) -> Process[None]:
        """Ask for each kind of administration once more, of a topic that nobody else uses, by a client of its own."""
        run = self._run
        run.clients.start_admin("admin-1")
        first = f"{_PROBED}-0"
        yield from self._again.run(Admin(create_topic=CreateTopic(name=_PROBED, partitions=1)))
        replicas = run.view.partitions[first].replicas if first in run.view.partitions else [0]
        steps = {
            "addPartitions": Admin(add_partitions=AddPartitions(topic=_PROBED, total=2)),
            "reassign": Admin(reassign=Reassign(partition=first, replicas=replicas)),
            "cancelReassign": Admin(cancel_reassign=CancelReassign(partition=first)),
            "electLeaders": Admin(elect_leaders=ElectLeaders(partitions=[first])),
            "deleteRecords": Admin(delete_records=self._deletion_of_records(first)),
            "removeThrottle": Admin(remove_throttle=RemoveThrottle(topic=_PROBED)),
            "alterTopic": Admin(alter_topic=AlterTopic(topic=_PROBED, config={"flush.ms": 1000})),
        }
        for kind, step in steps.items():
            if kind in kinds:
                yield from self._again.run(step)
        yield from self._again.run(Admin(delete_topic=DeleteTopic(name=_PROBED)))

    def _deletion_of_records(self, empty: str) -> DeleteRecords:
        """The last one that was asked for of a topic that is still there, for there is something to delete; else one of
        a partition without records."""
        for asked in reversed(self.administration.asked):
            step = asked.step.chosen
            if isinstance(step, DeleteRecords):
                partition = self._run.view.partitions.get(step.partition)
                if partition is not None and partition.topic_id in asked.topic_ids:
                    return step
        return DeleteRecords(partition=empty, before=0)

    def come_to_rest(self) -> None:
        """Once clients have gone: what nodes know and hold must agree in the end, where that can be seen."""
        run = self._run
        backend = run.backend
        if not isinstance(backend, ShowsRest) or not self.is_readable() or not self.is_whole():
            return  # why that is so is known by now
        limit_ns = backend.now_ns() + _REST_NS
        is_calm = run.go_on(backend.is_at_rest, min(limit_ns, run.deadline_ns))
        if not is_calm and backend.now_ns() >= limit_ns:
            run.violations += backend.unrest()

    def look_back(self) -> None:
        """Judge what only the whole run shows."""
        run = self._run
        said = run.backend.files().get(RECORDED_EVENTS_FILE)
        recorded = EVERY_KIND if said is None else msgspec.json.decode(said, type=RecordedEvents)
        kinds, why_not = frozenset(recorded.kinds), recorded.why
        features = of_upkeep(self._upkeep.kept(run.backend.now_ns(), run.faults), kinds, why_not)
        deleted = of_deleted_records(self.administration.asked, self._upkeep, kinds, why_not)
        if deleted.state != "not-asked":
            features["deletion of records"] = deleted
        for name, feature in features.items():
            if feature.state == "failed":
                self.find(name, f"with a healthy majority, {name}: {feature.why}")
            elif feature.state != "not-asked":
                self.features.setdefault(name, feature)
        self._see_in_time()
        for name in (*(one.feature for one in CONTRACTS), *features, *IN_TIME, "recovery", "writes"):
            self.features.setdefault(name, Feature("not-asked"))

    def _see_in_time(self) -> None:
        """Judge what healthy nodes owed while the schedule went on."""
        run = self._run
        if self._course is None:
            why = "time is real: how soon a node does what it owes depends on the machine"
            self.features.update(dict.fromkeys(IN_TIME, Feature("not-available", why)))
            return
        if self._settled_ns is None:
            return
        duties = Requests(
            run.experiment.spec,
            self._course,
            run.faults,
            run.backend.now_ns(),
            settled_ns=self._settled_ns,
            throttled=self.administration.ever_throttled,
            operations=run.clients.operations(),
            asked=self.administration.asked,
            before_moves=self.administration.before_moves,
        )
        for one in duties.owed():
            if one.judged_ns:
                self.features[one.feature] = Feature("ok")
            if one.late:
                self.find(one.feature, f"{one.feature}: {sentence_of(one)}")

    # --- findings ---

    def unavailable(self, missing: Callable[[], Sequence[str]], feature: str, waited_ns: int | None = None) -> None:
        """Progress was overdue for as long as ``waited_ns`` (None: ``spec.recovery``): a finding if every fault is seen
        to be gone, and if all events up to now are known. ``missing``: what is overdue, by what is known when it is
        called."""
        run = self._run
        if run.backend.now_ns() >= run.deadline_ns or not all(fault.healed for fault in run.faults):
            self.features[feature] = Feature("not-available", "the run's time was over, or a fault was still in force")
            return
        if not self.catch_up(min(run.backend.now_ns() + CATCH_UP_NS, run.deadline_ns)):
            run.inconclusive_reasons.append(f"{LAST_UNKNOWN}: whether the cluster recovered is not known")
            self.features[feature] = Feature("not-available", LAST_UNKNOWN)
            return
        waited = format_duration(self._wait_ns if waited_ns is None else waited_ns)
        for what in missing():
            self.find(feature, f"{waited} after all faults had been healed, with a healthy majority, {what}")

    def find(self, feature: str, story: str) -> None:
        """Note that something is unavailable."""
        self._run.violations.append(InvariantViolation("unavailable", self._run.backend.now_ns(), "the cluster", story))
        self.features[feature] = Feature("failed", story)

    def catch_up(self, limit_ns: int) -> bool:
        """Let the run go on until all that happened up to now is known; False if that takes until ``limit_ns``."""
        backend = self._run.backend
        if not isinstance(backend, ObservesWithDelay):
            return True
        delayed, now = backend, backend.now_ns()
        return self._run.go_on(lambda: delayed.observed_until_ns() >= now, limit_ns)

    # --- what the cluster looks like ---

    @property
    def _throttled(self) -> Collection[str]:
        """Topics that steps have throttled."""
        return self.administration.throttled

    def healthy(self) -> set[str]:
        """The nodes that run, with disks that work."""
        run = self._run
        return healthy_nodes(run.cluster, run.view, run.backend.state, run.faults)

    def is_readable(self) -> bool:
        """Whether nothing but the cluster itself can keep clients from reading: every fault is seen to be gone, and
        every node is healthy."""
        return all(fault.healed for fault in self._run.faults) and self.healthy() == {*node_names(self._run.cluster)}

    def is_in_vain(self) -> bool:
        """Whether every node runs although the cluster did not come up: nothing but the cluster itself keeps it from
        that."""
        run = self._run
        return not run.view.crashed and not run.backend.inconclusive_reasons() and self.is_readable()

    def is_ready(self) -> bool:
        """Whether every node is up, and part of the cluster."""
        return nodes_ready(self._run.cluster, self._run.view, self._run.backend.state)

    def is_whole(self) -> bool:
        """Whether that is so, topics are there, and replicas in sync."""
        run = self._run
        expected = {topic.name for topic in run.cluster.topics}
        lagging = [name for name in run.view.under_replicated() if name.rpartition("-")[0] not in self._throttled]
        whole = self.is_ready() and (expected <= run.view.topics.keys() or bool(run.journal)) and not lagging
        if whole and self._settled_ns is None:
            self._settled_ns = run.backend.now_ns()
        return whole

    def unready(self) -> str:
        """What is missing, as clauses."""
        return unready(self._run.cluster, self._run.view, self._run.backend.state)


def _clauses(contract: Contract, situation: Situation) -> list[str]:
    return [f"{contract.feature}: {clause}" for clause in contract.owed(situation)]


def _no_writes(partitions: Sequence[str]) -> str:
    more = f" and {len(partitions) - _NAMED} more" if len(partitions) > _NAMED else ""
    return f"no write was acknowledged in {', '.join(partitions[:_NAMED])}{more}"
