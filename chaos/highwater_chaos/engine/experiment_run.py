"""One run, phase by phase."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from highwater_chaos.backends.protocol import Backend, BackendError, Borrows, HasClocks, InvariantViolation, MetricRow
from highwater_chaos.backends.view import ClusterView
from highwater_chaos.base.process import Process, Scheduler
from highwater_chaos.base.quantities import format_duration
from highwater_chaos.engine.final_reads import FinalReads
from highwater_chaos.engine.recordings import Recordings
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.experiment.model import REGISTER_TOPIC
from highwater_chaos.experiment.steps import Admin, CreateTopic
from highwater_chaos.faults import FaultRecord
from highwater_chaos.liveness.recovery import CATCH_UP_NS, LAST_UNKNOWN, Recovery
from highwater_chaos.run.live import LiveRun
from highwater_chaos.run.result import Phase, RunResult
from highwater_chaos.run.table_format import TableFormat
from highwater_chaos.schedule.batches import Batches
from highwater_chaos.schedule.capability import needed
from highwater_chaos.schedule.conditions import World
from highwater_chaos.schedule.fault_manager import FaultManager
from highwater_chaos.schedule.runner import DoneStep, ScheduleRunner
from highwater_chaos.workload.client_group import ClientStatus
from highwater_chaos.workload.clients import Clients
from highwater_runtime.ports import SECOND
from highwater_runtime.seeds import derive_random

_SETUP_NS: Final = 60 * SECOND
_STEADY_NS: Final = 2 * SECOND
_FIRST_ACK_NS: Final = 30 * SECOND
_HEAL_NS: Final = 180 * SECOND


class ExperimentRun:
    """See :func:`highwater_chaos.engine.run_experiment`, whose arguments these are."""

    def __init__(
        self,
        experiment: ChaosExperiment,
        backend: Backend,
        progress: Callable[[str], None],
        show_faults: Callable[[Sequence[FaultRecord]], None],
        on_turn: Callable[[LiveRun], None] | None,
        spool: Path | None,
        ends_early: Callable[[], str | None],
        tables: TableFormat | None,
    ) -> None:
        self.experiment = experiment
        self.backend = backend
        self.progress = progress
        self.show_faults = show_faults
        self.on_turn = on_turn
        self.ends_early = ends_early
        self.has_ended_early = False
        self.live: LiveRun | None = None
        self.cluster = experiment.cluster
        self.view = ClusterView(self.cluster.mode)
        self.recordings = Recordings(experiment, backend, spool, tables)
        self.scheduler = Scheduler(backend.now_ns, backend.advance, on_turn=self._observe, poll_ns=backend.poll_ns)
        self.clients = Clients(backend, experiment, self.recordings.spool)
        self.inconclusive_reasons: list[str] = []
        self.violations: list[InvariantViolation] = []
        self.phases: list[Phase] = []
        self.journal: list[tuple[int, str]] = []
        self.done: list[DoneStep] = []
        self.faults: list[FaultRecord] = []
        self.fault_manager: FaultManager | None = None
        self.deadline_ns = 0
        self.recovery = Recovery(self)
        self.final_reads = FinalReads(self, self.recovery)
        self._phase = ""
        self._phase_began = 0

    def execute(self) -> RunResult:
        """Go through all phases.

        Raises:
            BackendError: the backend broke down.
        """
        began = time.perf_counter()
        spec = self.experiment.spec
        self.backend.build(self.cluster, spec.seed, self.recordings.spool, needs=needed(self.experiment))
        began_unix_ns = time.time_ns() - self.backend.now_ns()
        self.deadline_ns = self.backend.now_ns() + spec.timeout
        self.recordings.begin()
        if self.on_turn is not None:
            self.live = LiveRun(
                self.experiment,
                self.backend.name,
                self.view,
                self.backend.now_ns,
                self.backend.state,
                self.clients.status,
                self.deadline_ns,
            )
        self.scheduler.spawn("metrics", self.recordings.sample(self.clients, self._sampled))
        self._go_through_phases()
        self.recordings.look(self.clients)
        if self.recordings.recorder is not None:
            self.recordings.recorder.load_ended()
        return self._result(began, began_unix_ns)

    def _go_through_phases(self) -> None:
        self._begin("setup")
        if self._set_up():
            self._begin("steady")
            if self._be_steady():
                self._begin("fault")
                self._fault()
            self._begin("recovered")
            self.recovery.recover()
            self._begin("final")
            self.final_reads.read_all()
            self.recovery.come_to_rest()
        elif not self.has_ended_early and self.recovery.is_in_vain():
            self._begin("recovered")
            self.recovery.recover()
        if not self.recovery.catch_up(self.backend.now_ns() + CATCH_UP_NS):
            self.inconclusive_reasons.append(f"{LAST_UNKNOWN} when the run ended")
        self.recovery.look_back()
        self._begin("")

    def _result(self, began: float, began_unix_ns: int) -> RunResult:
        """``began``: of this process's performance counter, in seconds."""
        replica_log = self._dump()  # first: if this fails, it adds an inconclusive reason
        clients, recordings = self.clients.status(), self.recordings
        self._add_inconclusive_reasons(clients)
        return RunResult(
            name=self.experiment.metadata.name,
            seed=self.experiment.spec.seed,
            backend=self.backend.name,
            switches=dict(self.cluster.switches),
            history=self.clients.history(),
            event_lines=self.backend.event_lines(),
            faults=self.faults,
            replica_log_lines=replica_log,
            metrics=recordings.metrics,
            violations=[*self.backend.violations(), *self.violations],
            inconclusive_reasons=self.inconclusive_reasons,
            phases=self.phases,
            journal=self.journal,
            done=self.done,
            acknowledged=clients.acknowledged,
            load=self.final_reads.load,
            trace_digest=self.backend.trace_digest(),
            files={**self.backend.files(), **{name: path.read_bytes() for name, path in self.clients.logs().items()}},
            run_ns=self.backend.now_ns(),
            wall_seconds=time.perf_counter() - began,
            began_unix_ns=began_unix_ns,
            final_reads_cut_short=self.final_reads.cut_short,
            clock_errors_ns=dict(self.backend.clock_errors_ns()) if isinstance(self.backend, HasClocks) else None,
            borrowed=isinstance(self.backend, Borrows) and self.backend.is_borrowed(),
            spool=recordings.own_spool,
            recorder=recordings.recorder,
            features=self.recovery.features,
        )

    def _dump(self) -> Iterable[bytes]:
        try:
            return self.recordings.dump()
        except BackendError as error:
            self.inconclusive_reasons.append(str(error))
            return []

    def _add_inconclusive_reasons(self, clients: ClientStatus) -> None:
        workload, load = self.experiment.spec.workload, self.final_reads.load
        self.inconclusive_reasons += [*self.backend.inconclusive_reasons(), *clients.inconclusive_reasons]
        self.inconclusive_reasons += [
            why for record in self.faults if (why := record.inconclusive_reason()) is not None
        ]
        if (short := None if load is None else load.too_little(workload)) is not None:
            self.inconclusive_reasons.append(short)
        if clients.acknowledged == 0 and workload.acks != "0":
            self.inconclusive_reasons.append("no write was acknowledged, so none can have been lost")
        elif clients.acknowledged == 0 and clients.read == 0:
            self.inconclusive_reasons.append("no record was read, so none is known to have been written (acks: 0)")

    # --- what goes on all the time ---

    def _observe(self) -> None:
        self.view.observe(self.backend.events_since(self.view.next_seq))
        if not self.has_ended_early and (why := self.ends_early()) is not None:
            self._end_early(why)
        if self.on_turn is not None and self.live is not None:
            self.on_turn(self.live)

    def _sampled(self, rows: list[MetricRow]) -> None:
        self.recovery.sample()
        if self.live is not None:
            self.live.sampled(rows)

    def _begin(self, phase: str) -> None:
        now = self.backend.now_ns()
        if self._phase:
            self.phases.append(Phase(self._phase, self._phase_began, now))
        self._phase, self._phase_began = phase, now
        if self.live is not None:
            self.live.phase, self.live.phase_began_ns = phase, now
        if phase:
            self.progress(phase)

    def _end_early(self, why: str) -> None:
        self.has_ended_early = True
        self.deadline_ns = min(self.deadline_ns, self.backend.now_ns())
        self.inconclusive_reasons.append(f"the run was ended early, in its phase {self._phase!r}: {why}")
        self.progress("ending")

    def go_on(self, predicate: Callable[[], bool], limit_ns: int) -> bool:
        """Let the run go on until ``predicate``; False if ``limit_ns`` or an early end comes first."""
        return self.scheduler.run(lambda: predicate() or self.has_ended_early, limit_ns) and predicate()

    def until(self, predicate: Callable[[], bool], timeout_ns: int, reason: Callable[[], str]) -> bool:
        """Let the run go on until ``predicate``; add an inconclusive reason if that takes longer than ``timeout_ns``
        or the run may."""
        limit = min(self.backend.now_ns() + timeout_ns, self.deadline_ns)
        if self.go_on(predicate, limit):
            return True
        if self.has_ended_early:
            return False
        if self.backend.now_ns() >= self.deadline_ns:
            self.inconclusive_reasons.append(
                f"the run's timeout of {format_duration(self.experiment.spec.timeout)} was over: {reason()}"
            )
        else:
            self.inconclusive_reasons.append(f"{reason()} (waited {format_duration(timeout_ns)})")
        return False

    def pass_time(self, ns: int) -> None:
        """Let time pass, but not beyond the deadline."""
        self.go_on(lambda: False, min(self.backend.now_ns() + ns, self.deadline_ns))

    # --- phases ---

    def _set_up(self) -> bool:
        self.clients.start_admin()
        # A node that has ended by itself (a finding or an inconclusive reason) will not come up, however long one
        # waits.
        if not self.until(
            lambda: self.recovery.is_ready() or bool(self.view.crashed) or bool(self.backend.inconclusive_reasons()),
            _SETUP_NS,
            lambda: f"the cluster did not come up: {self.recovery.unready()}",
        ):
            return False
        if not self.recovery.is_ready():
            self.inconclusive_reasons.append(f"the cluster did not come up: {self.recovery.unready()}")
            return False
        for topic in (*self.cluster.topics, *self._register_topics()):
            if not self._create(topic):
                return False
        return self.until(
            self.recovery.is_whole,
            _SETUP_NS,
            lambda: f"topics did not get all their replicas in sync: {self.recovery.unready()}",
        )

    def _register_topics(self) -> list[CreateTopic]:
        if self.experiment.spec.workload.metadata is None:
            return []
        return [CreateTopic(name=REGISTER_TOPIC, partitions=1, replication_factor=min(3, self.cluster.brokers))]

    def _create(self, topic: CreateTopic) -> bool:
        result: list[str | None] = []

        def create() -> Process[None]:
            error = yield from self.recovery.administration.run(Admin(create_topic=topic))
            result.append(error)

        self.scheduler.spawn(f"create {topic.name}", create())
        if not self.until(lambda: bool(result), _SETUP_NS, lambda: f"topic {topic.name} was not created"):
            return False
        if result[0] is not None:
            self.inconclusive_reasons.append(f"topic {topic.name} could not be created: {result[0]}")
        return result[0] is None

    def _be_steady(self) -> bool:
        self.clients.start_workload()
        self.pass_time(_STEADY_NS)
        if self.experiment.spec.workload.producers == 0 or self.experiment.spec.workload.acks == "0":
            return True
        return self.until(
            lambda: self.clients.acknowledged > 0,
            _FIRST_ACK_NS,
            lambda: "no write was acknowledged before the first fault",
        )

    def _fault(self) -> None:
        seed = self.experiment.spec.seed
        self.fault_manager = fault_manager = FaultManager(
            self.backend,
            self.cluster,
            self.view,
            self.scheduler,
            lambda number: derive_random(seed, "fault", number),
            self.deadline_ns,
        )
        self.faults = fault_manager.records
        if self.live is not None:
            self.live.faults = self.faults
        self.show_faults(self.faults)
        runner = ScheduleRunner(
            self.cluster,
            World(self.backend, self.view, lambda: self.clients.acknowledged, fault_manager.caught),
            self.scheduler,
            fault_manager,
            self.recovery.administration.run,
            lambda number: derive_random(seed, "random", number),
            Batches(self.clients).write,
        )
        self.journal, self.done = runner.journal, runner.done
        try:
            task = self.scheduler.spawn("schedule", runner.run(self.experiment.spec.schedule))
            if not self.go_on(lambda: task.done, self.deadline_ns) and not self.has_ended_early:
                waiting = f", waiting for {task.waiting_for}" if task.waiting_for else ""
                self.inconclusive_reasons.append(
                    f"the run's timeout of {format_duration(self.experiment.spec.timeout)} came in the middle of the"
                    f" schedule, at step {len(runner.journal)}{waiting}"
                )
            task.cancel()
        finally:
            self.inconclusive_reasons += runner.inconclusive_reasons
            self.violations += runner.broken
            runner.cancel()
            heal = self.scheduler.spawn("heal all", fault_manager.heal_all())
            self.scheduler.run(lambda: heal.done, self.backend.now_ns() + _HEAL_NS)
