"""The result of a run, from which its directory is written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.run.features import Feature
from highwater_chaos.run.load import Load
from highwater_chaos.run.promised import Changes
from highwater_chaos.run.settings import settings_of
from highwater_chaos.workload.history import Operation
from highwater_pipeline.tables.settings import Settings

if TYPE_CHECKING:  # what runs: a process that judges a recorded run does without
    from highwater_chaos.backends.protocol import InvariantViolation
    from highwater_chaos.faults import FaultRecord
    from highwater_chaos.run.metric_samples import MetricSamples
    from highwater_chaos.run.recorder import Recorder
    from highwater_chaos.schedule.runner import DoneStep


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the run, [``start_ns``, ``end_ns``) of run time."""

    name: str
    start_ns: int
    end_ns: int


@dataclass(slots=True)
class RunResult:
    """The result of one run. Times are in ns of run time unless named otherwise."""

    name: str
    seed: int
    backend: str
    switches: dict[str, str]
    history: Iterable[bytes]
    """Lines of ``history/operations.jsonl``, without line ends and ``run_id``. This and what is like it can be gone
    through any number of times, and lies in files where real time may have made it long."""
    event_lines: Iterable[bytes]
    """Lines of ``events/nodes.jsonl``, without line ends."""
    faults: list[FaultRecord]
    replica_log_lines: Iterable[bytes]
    """Lines of ``dumps/replica_log.jsonl``, without line ends."""
    metrics: MetricSamples
    violations: list[InvariantViolation]
    """Invariants that the backend saw broken while the run went on, and what was unavailable at its end."""
    inconclusive_reasons: list[str]
    """Why the run cannot be judged; empty where it can."""
    phases: list[Phase]
    journal: list[tuple[int, str]]
    """Steps of the schedule with the time at which each began."""
    done: list[DoneStep]
    """What the schedule did, each step at its time: what ``random`` drew, too, and what conditions waited for."""
    acknowledged: int
    load: Load | None
    """What producers were asked for, and what came of it; None where there were none."""
    trace_digest: str
    files: dict[str, bytes]
    """Files of the backend to keep, by their path in the run directory (``logs/broker-0.log``)."""
    run_ns: int
    wall_seconds: float
    began_unix_ns: int
    """When run time began, by this machine's wall clock. Means nothing where time is not real."""
    final_reads_cut_short: bool = False
    """Whether the final reads did not reach every high watermark, for the run's time was over, or a fault or a dead
    node may have kept them from it."""
    clock_errors_ns: dict[str, int] | None = None
    """How far the run times of each node's events may be off, by node; None: all nodes have one clock."""
    borrowed: bool = False
    """Whether the cluster was somebody else's: what its nodes are set to is not known for certain."""
    spool: object = None
    """Keeps the files that the result lies in."""
    features: dict[str, Feature] = field(default_factory=dict)
    """How each feature did that clients or nodes need (:mod:`highwater_chaos.liveness.progress`)."""
    recorder: Recorder | None = None
    """Makes Parquet of these files; None: nothing does."""

    @property
    def operations(self) -> list[Operation]:
        """The history in memory: for runs that are known to be short."""
        decode = msgspec.json.Decoder(Operation).decode
        return [decode(line) for line in self.history]

    @property
    def replica_log(self) -> list[dict[str, Any]]:
        """The dump in memory: for runs that are known to be short."""
        return [msgspec.json.decode(line) for line in self.replica_log_lines]


def settings_of_run(experiment: ChaosExperiment, result: RunResult) -> Settings:
    """What clients were promised in a run that has ended, with what only the run itself tells."""
    return msgspec.structs.replace(
        settings_of(experiment, Changes(result.faults, result.journal, result.borrowed)),
        final_reads_cut_short=result.final_reads_cut_short,
        exact_order=result.backend == "sim",
        clock_errors_ns=result.clock_errors_ns,
    )
