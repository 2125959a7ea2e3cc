"""``python -m highwater_chaos.kubernetes_jobs.judge``: the verdict on one experiment's recordings, on Spark.

The runner has recorded the run, kept it in the cluster, and gone. This fetches it, judges it as ``highwater check``
does, keeps verdict and report beside it, and concludes the experiment. It can be ended at any point and begun again:
recordings are not touched, and a verdict that is kept already is the one that it reports.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from highwater_chaos.backends.kubernetes.archive import ArchiveError, fetch, store_verdict
from highwater_chaos.backends.kubernetes.claim import Claim
from highwater_chaos.backends.kubernetes.conclusion import RECORDED, conclusion, reason_of
from highwater_chaos.backends.kubernetes.journal import RUNNER_MANAGER, RUNNER_PATIENCE, StatusJournal, TakenOverError
from highwater_chaos.experiment import ChaosExperiment, load_experiment
from highwater_chaos.kube.client import Kube, KubeError, local_configuration
from highwater_chaos.kube.conditions import condition_of
from highwater_chaos.kube.kinds import CHAOS_EXPERIMENT, Json
from highwater_chaos.run.manifest import UNVERIFIED, BadSummaryError, verify
from highwater_chaos.verdict.check import check_recordings_on_spark, write_verdict
from highwater_pipeline.verdict import RunVerdict
from highwater_runtime.log_lines import configure_json, log_event

_log = logging.getLogger("highwater.judge")


class Judge:
    """Judges one experiment.

    Args:
        api: the API server.
        namespace, name, uid: the experiment.
        judge: what comes to the verdict of a run directory.
        claim: where recordings are that ConfigMaps did not take.
    """

    def __init__(
        self,
        api: Kube,
        namespace: str,
        name: str,
        uid: str,
        *,
        judge: Callable[[ChaosExperiment, Path], RunVerdict] = check_recordings_on_spark,
        claim: Claim | None = None,
    ) -> None:
        self._api = api
        self._namespace = namespace
        self._name = name
        self._judge = judge
        self._claim = claim
        self._journal = StatusJournal(api, namespace, name, uid)

    def run(self) -> int:
        """Exit status: 0 the experiment has its verdict; 1 it is not this one's to judge.

        Raises:
            KubeError: the API server does not answer.
            ArchiveError: the recordings are not there, or not whole.
            Exception: they cannot be judged, and why.
        """
        try:
            found = self._journal.look()
            with tempfile.TemporaryDirectory(prefix="highwater-judge-") as parent:
                verdict, kept = self._judged(found, Path(parent))
            self._journal.write(lambda now: conclusion(verdict, now, kept=kept))
        except TakenOverError as error:
            log_event(_log, logging.WARNING, "stopped", error=str(error))
            return 1
        log_event(_log, logging.INFO, "verdict", verdict=verdict["verdict"], reason=reason_of(verdict))
        return 0

    def _judged(self, found: Json, parent: Path) -> tuple[Json, str]:
        """The verdict, and where it is kept."""
        if condition_of(found, RECORDED, "True") is None:
            raise TakenOverError(f"experiment {self._namespace}/{self._name} has not been handed over by its runner")
        directory = fetch(self._api, self._namespace, self._name, parent, self._claim)
        if verify(directory) is None:
            log_event(_log, logging.WARNING, "recordings without a manifest", message=UNVERIFIED)
        if not (directory / "verdict.json").exists():
            log_event(_log, logging.INFO, "judging", run=directory.name)
            experiment = load_experiment(directory / "experiment.yaml")
            write_verdict(directory, experiment, self._judge(experiment, directory))
        verdict: Json = json.loads((directory / "verdict.json").read_bytes())
        return verdict, store_verdict(self._api, found, directory)


def main(argv: Sequence[str] | None = None) -> int:
    """The command of the judging pod. Where it ends without a verdict, its last line says why, for the operator."""
    parser = argparse.ArgumentParser(prog="highwater-judge", description=__doc__)
    parser.add_argument("--experiment", required=True, metavar="NAMESPACE/NAME")
    parser.add_argument("--uid", required=True, help="uid of the experiment")
    given = parser.parse_args(argv)
    namespace, slash, name = given.experiment.partition("/")
    if not slash or not name:
        parser.error(f"--experiment {given.experiment!r}: expected NAMESPACE/NAME")
    configure_json("judge", namespace=namespace, kind=CHAOS_EXPERIMENT.kind, name=name)
    try:
        api = Kube(local_configuration(), manager=RUNNER_MANAGER, patience=RUNNER_PATIENCE)
        return Judge(api, namespace, name, given.uid, claim=Claim.from_environment(os.environ)).run()
    except (KubeError, ArchiveError, BadSummaryError) as error:
        log_event(_log, logging.ERROR, "not judged", error=str(error))
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        log_event(_log, logging.ERROR, "not judged", error=why, traceback=traceback.format_exc())
    return 1


if __name__ == "__main__":
    sys.exit(main())
