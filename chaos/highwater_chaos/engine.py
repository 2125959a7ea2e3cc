"""Runs one experiment on one backend, from an empty cluster to everything that a verdict needs.

Phases:

1. *setup*: nodes start, topics are created, every replica is in sync;
2. *steady*: the workload runs and nothing is wrong yet;
3. *fault*: the schedule;
4. every fault is healed, also after an error;
5. *recovered*: the workload continues until the cluster has recovered (bounded), and two seconds more;
6. *final*: producers finish, then a fresh reader drains every partition up to the HW;
7. each replica's log is dumped.

A problem that makes it impossible to judge the run is an *inconclusive reason*: a condition that was not met, a fault
without evidence, no acknowledged write. A run with such a reason is inconclusive, never a pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from highwater_chaos.backends.protocol import Backend, BackendError, HasClocks, InvariantViolation, RecordsToFiles
from highwater_chaos.backends.view import ClusterView
from highwater_chaos.base.lines import FileLines
from highwater_chaos.base.process import Process, Scheduler, Sleep
from highwater_chaos.base.scratch import ScratchDirectory
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.experiment.model import REGISTER_TOPIC
from highwater_chaos.experiment.steps import Admin, CreateTopic
from highwater_chaos.experiment.units import format_duration
from highwater_chaos.faults import FaultRecord
from highwater_chaos.liveness.recovery import CATCH_UP_NS, LAST_UNKNOWN, Recovery
from highwater_chaos.refusals import BackendCannotError, refusals
from highwater_chaos.run.live import LiveRun
from highwater_chaos.run.load import Load
from highwater_chaos.run.metric_samples import MetricSamples
from highwater_chaos.run.recorder import FROM_BYTES, Recorder
from highwater_chaos.run.result import Phase, RunResult, run_id
from highwater_chaos.run.table_format import TableFormat
from highwater_chaos.schedule.batches import Batches
from highwater_chaos.schedule.conditions import World
from highwater_chaos.schedule.fault_manager import FaultManager
from highwater_chaos.schedule.runner import DoneStep, ScheduleRunner
from highwater_chaos.workload.client_host import HostsClientProcesses
from highwater_chaos.workload.clients import Clients
from highwater_runtime.ports import SECOND
from highwater_runtime.seeds import derive_random

_SETUP_NS: Final = 60 * SECOND
_STEADY_NS: Final = 2 * SECOND
_FIRST_ACK_NS: Final = 30 * SECOND
_HEAL_NS: Final = 180 * SECOND
_DRAIN_NS: Final = 60 * SECOND
_SAMPLE_NS: Final = 1 * SECOND
_LONG_NS: Final = 24 * 3600 * SECOND
"""For what has a bound of its own."""
_END_NS: Final = 30 * SECOND
"""How long processes of clients may take to end once they have nothing left to do."""


def run_experiment(
    experiment: ChaosExperiment,
    backend: Backend,
    *,
    progress: Callable[[str], None] = lambda _: None,
    faults: Callable[[Sequence[FaultRecord]], None] = lambda _: None,
    on_turn: Callable[[LiveRun], None] | None = None,
    spool: Path | None = None,
    ends_early: Callable[[], str | None] = lambda: None,
    tables: TableFormat | None = None,
) -> RunResult:
    """Run one experiment with the seed and the switches that it carries.

    Args:
        experiment: validated, with ``spec.cluster``.
        backend: a fresh one; it is closed at the end, whatever happens.
        progress: hears of each phase as it begins, and ``ending`` if the run ends early.
        faults: is given the list of faults, once, that grows and changes while the schedule runs.
        on_turn: is called very often while the run goes on.
        spool: a directory for what a run in real time writes while it goes on; the result lies there. None: one that
            is there as long as the result is.
        ends_early: is asked very often while the run goes on. Once it says why, the run goes on as if its timeout were
            over: everything is healed, nothing is waited for, and what was recorded is inconclusive for that reason.
        tables: the format of the large tables; None: by how much a run in real time records. Parquet is written while
            such a run goes on.

    Raises:
        BackendCannotError: when the backend lacks something; nothing has been started then.
    """
    if problems := refusals(experiment, backend):
        raise BackendCannotError(backend.name, problems)
    run = _Run(experiment, backend, progress, faults, on_turn, spool, ends_early, tables)
    try:
        return run.execute()
    except BaseException:
        if run.recorder is not None:
            run.recorder.close()
        raise
    finally:
        backend.close()


class _Run:
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
        self.tables = tables
        self.recorder: Recorder | None = None
        self.has_ended_early = False
        self.live: LiveRun | None = None
        self.cluster = experiment.cluster
        self.view = ClusterView(self.cluster.mode)
        self.own_spool: ScratchDirectory | None = None
        self.spool: Path | None = None
        if isinstance(backend, HostsClientProcesses):
            if spool is None:
                self.own_spool = ScratchDirectory("run")
                spool = Path(self.own_spool.name)
            self.spool = spool
        self.scheduler = Scheduler(backend.now_ns, backend.advance, on_turn=self._observe, poll_ns=backend.poll_ns)
        self.clients = Clients(backend, experiment, self.spool)
        self.load: Load | None = None
        self.inconclusive_reasons: list[str] = []
        self.violations: list[InvariantViolation] = []
        self.phases: list[Phase] = []
        self.metrics = MetricSamples(None if self.spool is None else self.spool / "samples.parquet")
        self.journal: list[tuple[int, str]] = []
        self.done: list[DoneStep] = []
        self.faults: list[FaultRecord] = []
        self.fault_manager: FaultManager | None = None
        self.deadline_ns = 0
        self.recovery = Recovery(self)
        self.final_reads_cut_short = False
        self._phase = ""
        self._phase_began = 0

    def execute(self) -> RunResult:
        began = time.perf_counter()
        spec = self.experiment.spec
        self.backend.build(self.cluster, spec.seed, self.spool)
        began_unix_ns = time.time_ns() - self.backend.now_ns()
        self.deadline_ns = self.backend.now_ns() + spec.timeout
        self._make_recorder()
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
        self.scheduler.spawn("metrics", self._sample())
        self._begin("setup")
        if self._set_up():
            self._begin("steady")
            if self._be_steady():
                self._begin("fault")
                self._fault()
            self._begin("recovered")
            self.recovery.recover()
            self._begin("final")
            self._read_all()
        elif not self.has_ended_early and self.recovery.is_in_vain():
            self._begin("recovered")
            self.recovery.recover()
        if not self.recovery.catch_up(self.backend.now_ns() + CATCH_UP_NS):
            self.inconclusive_reasons.append(f"{LAST_UNKNOWN} when the run ended")
        self.recovery.look_back()
        self._begin("")
        self._record()
        if self.recorder is not None:
            self.recorder.load_ended()
        replica_log = self._dump()  # first: if this fails, it adds an inconclusive reason
        clients = self.clients.status()
        self.inconclusive_reasons += [*self.backend.inconclusive_reasons(), *clients.inconclusive_reasons]
        self.inconclusive_reasons += [
            why for record in self.faults if (why := record.inconclusive_reason()) is not None
        ]
        if (short := None if self.load is None else self.load.too_little(spec.workload)) is not None:
            self.inconclusive_reasons.append(short)
        if clients.acknowledged == 0 and spec.workload.acks != "0":
            self.inconclusive_reasons.append("no write was acknowledged, so none can have been lost")
        elif clients.acknowledged == 0 and clients.read == 0:
            self.inconclusive_reasons.append("no record was read, so none is known to have been written (acks: 0)")
        return RunResult(
            name=self.experiment.metadata.name,
            seed=spec.seed,
            backend=self.backend.name,
            switches=dict(self.cluster.switches),
            history=self.clients.history(),
            event_lines=self.backend.event_lines(),
            faults=self.faults,
            replica_log_lines=replica_log,
            metrics=self.metrics,
            violations=[*self.backend.violations(), *self.violations],
            inconclusive_reasons=self.inconclusive_reasons,
            phases=self.phases,
            journal=self.journal,
            done=self.done,
            acknowledged=clients.acknowledged,
            load=self.load,
            trace_digest=self.backend.trace_digest(),
            files={**self.backend.files(), **{name: path.read_bytes() for name, path in self.clients.logs().items()}},
            run_ns=self.backend.now_ns(),
            wall_seconds=time.perf_counter() - began,
            began_unix_ns=began_unix_ns,
            final_reads_cut_short=self.final_reads_cut_short,
            clock_errors_ns=dict(self.backend.clock_errors_ns()) if isinstance(self.backend, HasClocks) else None,
            spool=self.own_spool,
            recorder=self.recorder,
            features=self.recovery.features,
        )

    def _dump(self) -> Iterable[bytes]:
        """Every replica's log, as lines; none, and an inconclusive reason, if one cannot be read."""
        try:
            with closing(self.backend.replica_dump()) as dumped:
                rows = (line for part in dumped for line in part.lines())
                if self.spool is None:
                    return list(rows)
                if self.recorder is not None and self.recorder.has_begun:
                    from highwater_chaos.run.recorder.dump import DumpFile  # noqa: PLC0415 - PyArrow, which few runs need

                    file = DumpFile(self.spool / "replica_log.arrow", self._run_id())
                    file.write(dumped)
                    return file
                lines = FileLines(self.spool / "replica_log.jsonl")
                lines.write(rows)
        except BackendError as error:
            self.inconclusive_reasons.append(str(error))
            return []
        return lines

    def _run_id(self) -> str:
        return run_id(self.experiment.metadata.name, self.experiment.spec.seed, self.cluster.switches)

    # --- what goes on all the time ---

    def _make_recorder(self) -> None:
        if self.tables == "jsonl" or self.spool is None or not isinstance(self.backend, RecordsToFiles):
            return
        self.recorder = Recorder(
            self.spool,
            self._run_id(),
            self.backend.event_files().start_ns,
            units=self.experiment.spec.workload.metadata is None,
            from_bytes=0 if self.tables == "parquet" else FROM_BYTES,
        )

    def _record(self) -> None:
        """Let the recorder know of the run's files."""
        if self.recorder is not None and isinstance(self.backend, RecordsToFiles):
            self.recorder.look(self.clients.history_files(), self.backend.event_files().paths)

    def _observe(self) -> None:
        self.view.observe(self.backend.events_since(self.view.next_seq))
        if not self.has_ended_early and (why := self.ends_early()) is not None:
            self._end_early(why)
        if self.on_turn is not None and self.live is not None:
            self.on_turn(self.live)

    def _sample(self) -> Process[None]:
        while True:
            yield Sleep(_SAMPLE_NS)
            rows = list(self.backend.metric_samples())
            self.metrics.extend(rows)
            self._record()
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

    def _read_all(self) -> None:
        clients = self.clients
        self.load = self._load()
        clients.finish("producer")
        clients.finish("register")
        patience = self.experiment.spec.workload.delivery_timeout + self.experiment.spec.workload.request_timeout
        self.until(
            lambda: clients.idle("producer"),
            patience + SECOND,
            lambda: f"{clients.status().open} operations had no outcome when the run ended",
        )
        self.until(
            lambda: clients.idle("register"),
            patience,
            lambda: "operations on registers had no outcome when the run ended",
        )
        if self.experiment.spec.workload.producers or clients.status().offered:
            clients.start_final_reader(self._written())
            self._drain()
        clients.finish("consumer", "group-member")
        self.until(lambda: clients.idle("consumer"), _DRAIN_NS, lambda: "a consumer's last poll did not end")
        self.go_on(lambda: clients.idle("group-member"), min(self.backend.now_ns() + _DRAIN_NS, self.deadline_ns))
        self._end_clients()

    def _written(self) -> list[str]:
        """The partitions that were written to and that are there."""
        return [name for name in self.view.partitions if self.clients.acknowledged_at(name) is not None]

    def _drain(self) -> None:
        """Let the final reader read all; add an inconclusive reason if it has read nothing more for a while."""
        clients, read, since = self.clients, 0, self.backend.now_ns()

        def is_over() -> bool:
            nonlocal read, since
            if clients.drained():
                return True
            if (now_read := clients.status().read) != read:
                read, since = now_read, self.backend.now_ns()
            return self.backend.now_ns() - since > _DRAIN_NS

        def left() -> str:
            return f"the final reads did not reach the high watermark: {clients.not_drained()}"

        if not self.until(is_over, _LONG_NS, left):
            self.final_reads_cut_short = True
        elif not clients.drained():
            self.inconclusive_reasons.append(f"{left()} (nothing was read for {format_duration(_DRAIN_NS)})")
            self.final_reads_cut_short = not self.recovery.is_readable()
            if not self.final_reads_cut_short:
                self.recovery.unavailable(lambda: [left()], "final reads", _DRAIN_NS)

    def _end_clients(self) -> None:
        """Let processes of clients end, also past the run's time-out: what they did is in files then."""
        self.clients.end()
        if not self.clients.have_ended():
            self.scheduler.run(self.clients.have_ended, self.backend.now_ns() + _END_NS)
        if not self.clients.have_ended():
            self.inconclusive_reasons.append(f"a process of clients did not end within {format_duration(_END_NS)}")

    def _load(self) -> Load | None:
        """What producers were asked for and what came of it, up to now."""
        workload = self.experiment.spec.workload
        if not workload.producers:
            return None
        status, now = self.clients.status(), self.backend.now_ns()
        began = now if status.first_offered_ns is None else status.first_offered_ns
        return Load(
            asked_per_second=float(workload.rate),
            seconds=(now - began) / 1e9,
            offered=status.offered,
            held_back=status.held_back,
            acknowledged=status.acknowledged,
        )
