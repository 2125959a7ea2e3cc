"""What a run records beside the history of its clients: samples of metrics, the dump of all logs; and, of a run in real
time, files that are converted while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Final

from highwater_chaos.backends.protocol import Backend, MetricRow, RecordsToFiles
from highwater_chaos.base.lines import FileLines
from highwater_chaos.base.process import Process, Sleep
from highwater_chaos.base.scratch import ScratchDirectory
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.run.metric_samples import MetricSamples
from highwater_chaos.run.recorder import FROM_BYTES, Recorder
from highwater_chaos.run.table_format import TableFormat
from highwater_chaos.workload.client_host import HostsClientProcesses
from highwater_chaos.workload.clients import Clients
from highwater_pipeline.tables.recordings import run_label
from highwater_runtime.ports import SECOND

_SAMPLE_NS: Final = 1 * SECOND


class Recordings:
    """Of one run. ``spool``: where a run in real time writes; in ``own_spool`` where none was given."""

    def __init__(
        self, experiment: ChaosExperiment, backend: Backend, spool: Path | None, tables: TableFormat | None
    ) -> None:
        self._experiment = experiment
        self._backend = backend
        self._tables = tables
        self.own_spool: ScratchDirectory | None = None
        self.spool: Path | None = None
        if isinstance(backend, HostsClientProcesses):
            if spool is None:
                self.own_spool = ScratchDirectory("run")
                spool = Path(self.own_spool.name)
            self.spool = spool
        self.metrics = MetricSamples(None if self.spool is None else self.spool / "samples.parquet")
        self.recorder: Recorder | None = None

    def begin(self) -> None:
        """Start the recorder, if this run has one."""
        if self._tables == "jsonl" or self.spool is None or not isinstance(self._backend, RecordsToFiles):
            return
        self.recorder = Recorder(
            self.spool,
            self._label(),
            self._backend.event_files().start_ns,
            units=self._experiment.spec.workload.metadata is None,
            from_bytes=0 if self._tables == "parquet" else FROM_BYTES,
        )

    def look(self, clients: Clients) -> None:
        """Let the recorder know of the run's files."""
        if self.recorder is not None and isinstance(self._backend, RecordsToFiles):
            self.recorder.look(clients.history_files(), self._backend.event_files().paths)

    def sample(self, clients: Clients, on_sample: Callable[[list[MetricRow]], None]) -> Process[None]:
        """Take the metrics of all nodes once a second, as long as the run goes on."""
        while True:
            yield Sleep(_SAMPLE_NS)
            rows = list(self._backend.metric_samples())
            self.metrics.extend(rows)
            self.look(clients)
            on_sample(rows)

    def close(self) -> None:
        """Stop the recorder of a run that has failed."""
        if self.recorder is not None:
            self.recorder.close()

    def dump(self) -> Iterable[bytes]:
        """Every replica's log, as lines.

        Raises:
            BackendError: one cannot be read.
        """
        with closing(self._backend.replica_dump()) as dumped:
            rows = (line for part in dumped for line in part.lines())
            if self.spool is None:
                return list(rows)
            if self.recorder is not None and self.recorder.has_begun:
                from highwater_chaos.run.recorder.dump import DumpFile  # noqa: PLC0415 - PyArrow, which few runs need

                file = DumpFile(self.spool / "replica_log.arrow", self._label())
                file.write(dumped)
                return file
            lines = FileLines(self.spool / "replica_log.jsonl")
            lines.write(rows)
            return lines

    def _label(self) -> str:
        spec = self._experiment.spec
        return run_label(self._experiment.metadata.name, spec.seed, self._experiment.cluster.switches)
