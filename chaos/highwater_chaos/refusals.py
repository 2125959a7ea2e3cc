"""What an experiment needs of a backend, and what of that the backend cannot do: known before anything starts."""

from __future__ import annotations

from collections.abc import Sequence

from highwater_chaos.backends.primitives import PRIMITIVES, Primitive
from highwater_chaos.backends.protocol import Abilities
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.experiment.faults import fault_kinds
from highwater_chaos.experiment.steps import Step
from highwater_chaos.faults import Fault, fault_of, kind_named
from highwater_chaos.workload.client_host import HostsClientProcesses
from highwater_chaos.workload.drivers import DRIVERS
from highwater_runtime.portable import PortableError


class BackendCannotError(PortableError):
    """The experiment needs what the backend cannot do; refused before anything starts."""

    def __init__(self, backend: str, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__(f"backend {backend} cannot run this experiment: {'; '.join(problems)}")


def refusals(experiment: ChaosExperiment, backend: Abilities) -> list[str]:
    """What the experiment needs and the backend cannot do; empty where it can run."""
    if problems := backend.problems(experiment.cluster):
        return problems
    missing: dict[str, None] = {}
    able = backend.can(experiment.cluster)
    for fault in _faults(experiment.spec.schedule):
        for primitive in sorted(fault.needs_in(experiment.cluster) - able, key=PRIMITIVES.__getitem__):
            missing[f"{fault.KIND} {_lacking(experiment, backend, primitive)}"] = None
    if experiment.spec.prometheus is not None and backend.name == "sim":
        missing["spec.prometheus needs real time, which sim does not have: leave it out there"] = None
    driver = DRIVERS.get(experiment.spec.workload.driver)
    if driver is not None:
        if HostsClientProcesses not in able:
            lacking = _lacking(experiment, backend, HostsClientProcesses)
            missing[f"workload.driver {driver.name} {lacking}"] = None
        elif (problem := driver.missing()) is not None:
            missing[f"workload.driver {driver.name} {problem}"] = None
    return list(missing)


def _lacking(experiment: ChaosExperiment, backend: Abilities, primitive: Primitive) -> str:
    why = backend.why_not(experiment.cluster, primitive)
    return f"needs {PRIMITIVES[primitive]}, which {backend.name} does not have" + (f": {why}" if why else "")


def available_faults(primitives: frozenset[Primitive]) -> list[str]:
    """The kinds of faults that a backend with these primitives can inject."""
    return [kind for kind in fault_kinds() if kind_named(kind).example().needs <= primitives]


def _faults(steps: Sequence[Step]) -> list[Fault]:
    """Every fault that the steps can inject, with one of each kind for ``random``."""
    found: list[Fault] = []
    for step in steps:
        if step.inject is not None:
            found.append(fault_of(step.inject))
        for branch in step.parallel or []:
            found += _faults(branch)
        if step.repeat is not None:
            found += _faults(step.repeat.steps)
        if step.random is not None:
            found += [kind_named(kind).example() for kind in step.random.faults if kind in fault_kinds()]
    return found
