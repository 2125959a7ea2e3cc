"""``python -m highwater_chaos.kubernetes_jobs.runner``: one experiment, in a pod, from first step to verdict.

With ``--hand-over`` to recordings: another Job judges them (:mod:`highwater_chaos.kubernetes_jobs.judge`).

The operator has accepted the experiment and started this as a Job. It writes its progress into the experiment's
status; where it ends without a verdict (killed, evicted, a bug), the operator heals what the status says is open. A
second runner never goes on where a first one ended.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Final

from highwater_chaos.backends.kubernetes.access import ClusterAccess, access_directory, is_secured
from highwater_chaos.backends.kubernetes.agents import AgentSettings
from highwater_chaos.backends.kubernetes.archive import store, store_recordings, store_verdict
from highwater_chaos.backends.kubernetes.backend import KubernetesBackend
from highwater_chaos.backends.kubernetes.claim import Claim
from highwater_chaos.backends.kubernetes.cluster import ClusterError, Place
from highwater_chaos.backends.kubernetes.conclusion import (
    RECORDED,
    concluded,
    conclusion,
    counts_of,
    healed_condition,
    kinds_of,
    reason_of,
    unhealed_of,
)
from highwater_chaos.backends.kubernetes.crashable import backend_for
from highwater_chaos.backends.kubernetes.foreign.backend import CrashableForeignBackend, ForeignBackend
from highwater_chaos.backends.kubernetes.foreign.reference import (
    STRIMZI_CLUSTER,
    ForeignReference,
    access_to,
    foreign_reference_of,
    look_at,
    resolved,
)
from highwater_chaos.backends.kubernetes.journal import RUNNER_MANAGER, RUNNER_PATIENCE, StatusJournal, TakenOverError
from highwater_chaos.backends.kubernetes.reference import experiment_of, is_crashable, own_topics, reference_of
from highwater_chaos.base.scratch import ScratchDirectory
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.faults import FaultRecord
from highwater_chaos.kube.client import Kube, KubeError, local_configuration
from highwater_chaos.kube.conditions import Condition, condition_of, with_conditions
from highwater_chaos.kube.kinds import CHAOS_EXPERIMENT, LOG_CLUSTER, Json
from highwater_chaos.run.directory import new_run_directory
from highwater_chaos.run.live import LiveRun
from highwater_chaos.run.run_id import new_run_id
from highwater_chaos.schedule.capability import BackendCannotError
from highwater_chaos.verdict.check import check_recordings, write_verdict
from highwater_chaos.verdict.checked_run import write_run
from highwater_runtime.log_lines import configure_json, log_event
from highwater_runtime.ports import Endpoint

_log = logging.getLogger("highwater.runner")

_LOOK_EVERY: Final = 1.0
_PHASES: Final = {
    "setup": "SettingUp",
    "steady": "Steady",
    "fault": "Injecting",
    "recovered": "Recovering",
    "final": "Recovering",
    "ending": "Recovering",
    "judging": "Judging",
}


class EarlyEnd:
    """Whether this run is to end before its time: the pod's grace is there for healing and for what was recorded."""

    def __init__(self) -> None:
        self._why: str | None = None
        self._is_kept = False

    def __call__(self) -> str | None:
        """Return why; None: it is not."""
        return self._why

    def kept(self) -> None:
        """From now on nothing is lost if the process ends."""
        self._is_kept = True

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Take a signal that ends the pod: its node is drained, say, or the experiment deleted."""
        del frame
        if self._is_kept:
            signal.signal(number, signal.SIG_IGN)
            raise SystemExit(128 + number)
        self._why = f"the runner's pod was asked to stop ({signal.Signals(number).name})"


class Runner:
    """Runs one experiment.

    Args:
        api: the API server.
        agents: where agents are.
        namespace, name: the experiment.
        at: where an address of the pods' network is reached from here.
        hands_over: it leaves judging to a Job of its own, unless what it recorded is too large to be kept.
        claim: where recordings are kept that ConfigMaps do not take.
        early_end: tells whether the run is to end before its time.
        access: directory with what lets clients into a LogCluster with ``spec.security``.
    """

    def __init__(
        self,
        api: Kube,
        agents: AgentSettings,
        namespace: str,
        name: str,
        uid: str,
        *,
        at: Callable[[Endpoint], Endpoint] = lambda endpoint: endpoint,
        hands_over: bool = False,
        claim: Claim | None = None,
        early_end: EarlyEnd | None = None,
        access: Path | None = None,
    ) -> None:
        self._api = api
        self._agents = agents
        self._place = Place(namespace, name, uid)
        self._at = at
        self._hands_over = hands_over
        self._claim = claim
        self._early_end = early_end or EarlyEnd()
        self._access = access
        self.journal = StatusJournal(api, namespace, name, uid)
        self._faults: Sequence[FaultRecord] = ()
        self._clients: Json = {}
        self._looked = 0.0
        self._scratch = ScratchDirectory("runner")

    def run(self) -> int:
        """Exit status: 0 there is a verdict, or recordings for a judging Job; 1 the operator has to look after it."""
        try:
            self._begin(self.journal.begin())
        except TakenOverError as error:
            log_event(_log, logging.WARNING, "stopped", error=str(error))
            return 1
        return 0

    def _begin(self, found: Json) -> None:
        try:
            experiment, backend = self._resolved(found)
            with tempfile.TemporaryDirectory(prefix="highwater-run-") as parent:
                directory = self._record(experiment, backend, Path(parent))
                recorded = store_recordings(self._api, found, directory, self._claim)
                if recorded is not None:
                    self._early_end.kept()
                    if self._hands_over:
                        self._hand_over(recorded)
                        return
                    self.journal.write(lambda _: {"run": recorded[:500]})
                verdict = write_verdict(directory, experiment, check_recordings(experiment, directory))
                if recorded is not None:
                    kept = store_verdict(self._api, found, directory)
                else:
                    kept = store(self._api, found, directory, self._claim)
        except (ClusterError, BackendCannotError) as error:
            # No fault was injected, and there is nothing to judge.
            log_event(_log, logging.INFO, "verdict", verdict="inconclusive", reason=str(error))
            nothing: Json = {"expected": False, "reason": str(error), "kept": "", "anomalies": {}, "faults": None}
            self.journal.write(lambda now: concluded(now, "inconclusive", **nothing))
            return
        log_event(_log, logging.INFO, "verdict", verdict=verdict["verdict"], reason=reason_of(verdict))
        self.journal.write(lambda now: conclusion(verdict, now, kept=kept))

    def _resolved(self, found: Json) -> tuple[ChaosExperiment, KubernetesBackend | ForeignBackend]:
        """The experiment with the cluster that it refers to, where it does. Raises ``ClusterError``."""
        if (reference := foreign_reference_of(found)) is not None:
            return self._attached(found, reference)
        name, place, kind = reference_of(found), self._place, backend_for(crashable=True)
        cluster, access = None, None
        if name:
            cluster = self._api.get(LOG_CLUSTER, place.namespace, name)
            if cluster is None:
                raise ClusterError(f"LogCluster {place.namespace}/{name} is not there any more")
            place = replace(place, borrowed=name)
            kind = backend_for(crashable=is_crashable(cluster))
            if is_secured(cluster):
                if self._access is None:
                    raise ClusterError(f"LogCluster {name} has spec.security, and the runner was given no way in")
                access = ClusterAccess.read(self._access)
        experiment = with_labels_of(place, experiment_of(found, cluster))
        backend = kind(
            self._api,
            self._agents,
            place,
            self.journal,
            experiment.spec.timeout,
            own_topics=own_topics(experiment),
            at=self._at,
            access=access,
        )
        return experiment, backend

    def _attached(self, found: Json, reference: ForeignReference) -> tuple[ChaosExperiment, ForeignBackend]:
        """The experiment on a cluster of others, as it is now. Raises ``ClusterError``."""
        access = access_to(self._api, reference, Path(self._scratch.name), self._agents.namespace)
        cluster = look_at(access, found)
        experiment = with_labels_of(self._place, resolved(found, cluster), reference)
        timeout = experiment.spec.timeout
        made = self._api, self._agents, reference, access, cluster, self.journal, timeout
        backend = ForeignBackend(*made)
        backend.prepare()
        if backend.has_volumes():
            backend = CrashableForeignBackend(*made)
            backend.prepare()
        return experiment, backend

    def _record(self, experiment: ChaosExperiment, backend: KubernetesBackend | ForeignBackend, parent: Path) -> Path:
        """Run, and write down what is to be judged; returns where."""
        result = run_experiment(
            experiment,
            backend,
            progress=self._progress,
            faults=self._show,
            on_turn=self._look,
            ends_early=lambda: self._early_end() or backend.cannot_go_on(),
        )
        self._progress("judging")
        name = f"{experiment.metadata.name}-{datetime.now(UTC).strftime('%Y%m%dT%H%M%SZ')}"
        with new_run_directory(parent, name) as (directory, final):
            write_run(directory, experiment, result, wire=False, run_id=new_run_id())
        return final

    def _show(self, faults: Sequence[FaultRecord]) -> None:
        """Write the counts of faults, and what clients have come to, with each entry of the journal from now on."""
        self._faults = faults

        def counts() -> Json:
            records, journal = self._records(), self.journal.entries
            progress = {**self._clients, "faults": kinds_of(records, journal)}
            return {"faults": counts_of(records, journal), "progress": progress}

        self.journal.extra = counts

    def _look(self, run: LiveRun) -> None:
        """Note what clients have come to. Called very often."""
        if time.monotonic() - self._looked < _LOOK_EVERY:
            return
        self._looked = time.monotonic()
        clients = run.clients()
        self._clients = {"acknowledgedRecords": clients.acknowledged, "openOperations": clients.open}

    def _records(self) -> list[Json]:
        return [one.to_dict() for one in list(self._faults)]

    def _progress(self, phase: str) -> None:
        log_event(_log, logging.INFO, "phase changed", phase=_PHASES[phase], step=phase)

        def change(now: Json) -> Json:
            news = []
            if phase == "fault":
                news.append(Condition("SteadyState", "True", "Steady", "writes are acknowledged"))
            if phase == "recovered":
                if condition_of(now, "SteadyState", "True") is not None:
                    news.append(Condition("Injected", "True", "ScheduleDone", "the schedule is over"))
                if not self.journal.open_faults:
                    journal = (now.get("status") or {}).get("journal") or []
                    news.append(healed_condition(journal, unhealed=unhealed_of(self._records())))
            return {"phase": _PHASES[phase], "conditions": with_conditions(now, *news), **self.journal.extra()}

        self.journal.write(change)

    def _hand_over(self, kept: str) -> None:
        """The runner's last step: judging needs only what is kept, and the cluster is gone."""
        log_event(_log, logging.INFO, "recorded", where=kept)

        def change(now: Json) -> Json:
            recorded = Condition(RECORDED, "True", "Kept", f"the run is recorded and kept: {kept}")
            return {
                "phase": "Judging",
                "run": kept[:500],
                "conditions": with_conditions(now, recorded),
                **self.journal.extra(),
            }

        self.journal.write(change)


def with_labels_of(
    place: Place, experiment: ChaosExperiment, reference: ForeignReference | None = None
) -> ChaosExperiment:
    """The experiment; if it names a Prometheus, that is asked of this cluster's series alone: it knows of others."""
    prometheus = experiment.spec.prometheus
    if prometheus is None or prometheus.labels is not None:
        return experiment
    name = place.cluster if reference is None else reference.labels.get(STRIMZI_CLUSTER)
    labels = {"namespace": place.namespace, **({} if name is None else {"strimzi_io_cluster": name})}
    asked = prometheus.model_copy(update={"labels": labels})
    return experiment.model_copy(update={"spec": experiment.spec.model_copy(update={"prometheus": asked})})


def main(argv: Sequence[str] | None = None) -> int:
    """The command of the runner's pod."""
    parser = argparse.ArgumentParser(prog="highwater-runner", description=__doc__)
    parser.add_argument("--experiment", required=True, metavar="NAMESPACE/NAME")
    parser.add_argument("--uid", required=True, help="uid of the experiment")
    parser.add_argument("--hand-over", action="store_true", help="record, and leave judging to a Job of its own")
    given = parser.parse_args(argv)
    namespace, slash, name = given.experiment.partition("/")
    if not slash or not name:
        parser.error(f"--experiment {given.experiment!r}: expected NAMESPACE/NAME")
    configure_json("runner", namespace=namespace, kind=CHAOS_EXPERIMENT.kind, name=name)
    # The first process of a container has no default for it. What is in force is healed on the way out, as far as the
    # pod's grace goes; the operator does the rest.
    early_end = EarlyEnd()
    signal.signal(signal.SIGTERM, early_end.on_signal)
    runner = Runner(
        Kube(local_configuration(), manager=RUNNER_MANAGER, patience=RUNNER_PATIENCE),
        AgentSettings.from_environment(os.environ),
        namespace,
        name,
        given.uid,
        hands_over=given.hand_over,
        claim=Claim.from_environment(os.environ),
        early_end=early_end,
        access=access_directory(os.environ),
    )
    try:
        return runner.run()
    except KubeError as error:
        log_event(_log, logging.ERROR, "stopped", error=f"the API server: {error}")
    except Exception:  # a bug: the operator heals, and says that the runner ended
        _log.exception("stopped by a bug")
    return 1


if __name__ == "__main__":
    sys.exit(main())
