"""Seeds on real processes of this machine. None can be run again: what did not pass keeps its run directory.

A seed determines what is drawn, not what that meets, so two runs of one seed may differ. A worker that is killed takes
its harness along, and the guardian of the run heals the machine.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from highwater_chaos.backends import make_backend
from highwater_chaos.backends.local.programs import programs_of
from highwater_chaos.campaign.draw import draw_data
from highwater_chaos.campaign.plan import Plan
from highwater_chaos.campaign.seed import Outcome, SeedJob, bounded, outcome_of, parsed
from highwater_chaos.experiment import ChaosExperiment, Cluster
from highwater_chaos.experiment.faults import fault_kinds
from highwater_chaos.experiment.on_apache_kafka import on_apache_kafka
from highwater_chaos.faults import kind_named
from highwater_chaos.verdict.checked_run import run_and_check
from highwater_chaos.verdict.stored import HasRegistersError, store_run
from highwater_pipeline.tables.remote import located
from highwater_runtime.seeds import derive_random

REAL: Final = "local"
"""The backend."""

_HARNESS_MIB: Final = 400


def run_on_this_machine(unit: SeedJob, runs: Path) -> Outcome:
    """Run and judge one seed, as :func:`~.seed.bounded`; a run that did not pass is kept below ``runs``."""
    return bounded(unit, partial(_checked, runs=runs))


def jobs_here(plan: Plan) -> int:
    """How many seeds this machine carries at a time: two cores each, and memory for all nodes of the largest cluster,
    as far as that is not drawn."""
    units = [plan.unit(series, plan.seeds[0]) for series in plan.series]
    needed = max(_needed_mib(_experiment_of(unit).cluster) for unit in units)
    return max(1, min((os.cpu_count() or 1) // 2, _available_mib() // needed))


def drawn_for_this_machine(seed: int, mode: str, release: str) -> ChaosExperiment:
    """What ``campaign random`` draws, without what cannot be done here. ``release``: of Apache Kafka; empty: on our own
    runtime. May be left without a fault."""
    data = draw_data(derive_random(seed, "campaign"), seed, "kraft" if release else mode)
    if release:
        data["spec"]["cluster"].pop("metadataVersion", None)  # the release has its own

    def drawn() -> ChaosExperiment:
        experiment = ChaosExperiment.model_validate(data)
        return on_apache_kafka(experiment, release) if release else experiment

    able = make_backend(REAL).can(drawn().cluster)
    here = {kind for kind in fault_kinds() if kind_named(kind).example().needs <= able}
    _keep_faults(data["spec"]["schedule"], here)
    return drawn()


def _checked(unit: SeedJob, runs: Path) -> Outcome:
    experiment = _experiment_of(unit)
    versions = {"kafka": unit.release} if unit.release else {}
    varied = {**versions, **dict(unit.switches), "seed": str(unit.seed)}
    done = run_and_check(experiment, REAL, runs, lambda _phase: None, varied=varied, wire=False, run_id=unit.run_id)
    verdict, stored, kept = done.verdict, "", done.directory.name
    if unit.store:
        with suppress(HasRegistersError):
            stored = store_run(done.directory, located(unit.store), again=True).name
    if verdict["verdict"] == "pass":
        shutil.rmtree(done.directory)
        kept = ""
    return outcome_of(
        unit,
        verdict,
        faults=len(verdict["faults"]),
        acknowledged=verdict["acknowledged"],
        run_seconds=verdict["timing"]["runSeconds"],
        stored=stored,
        directory=kept,
    )


def _experiment_of(unit: SeedJob) -> ChaosExperiment:
    if unit.text:
        experiment = parsed(unit.text, unit.experiment)
    else:
        experiment = drawn_for_this_machine(unit.seed, unit.mode, unit.release)
    return experiment.with_seed_and_switches(unit.seed, dict(unit.switches))


def _keep_faults(steps: list[dict[str, Any]], here: set[str]) -> None:
    """Drop kinds of faults that are not ``here``, and steps that are left without anything to draw."""
    for step in list(steps):
        for branch in step.get("parallel", []):
            _keep_faults(branch, here)
        if "parallel" in step:
            step["parallel"] = [branch for branch in step["parallel"] if branch]
        if "random" in step:
            faults = step["random"]["faults"]
            for kind in faults.keys() & (set(fault_kinds()) - here):
                del faults[kind]
        if step.get("parallel") == [] or ("random" in step and not step["random"]["faults"]):
            steps.remove(step)


def _needed_mib(cluster: Cluster) -> int:
    counts = {"broker": cluster.brokers, "controller": cluster.controllers, "zookeeper": cluster.zookeepers}
    return _HARNESS_MIB + sum(counts[role] * one.memory_mib for role, one in programs_of(cluster).items())


def _available_mib() -> int:
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) // 1024
    return 0
