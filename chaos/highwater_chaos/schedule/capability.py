"""Find out, before anything starts, what an experiment needs and the backend cannot do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from highwater_chaos.backends.primitives import PRIMITIVES, Primitive, RunsCommands, SkewsClocks, StallsDisks
from highwater_chaos.backends.protocol import Attaches, Capabilities
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.experiment.faults import fault_kinds
from highwater_chaos.experiment.steps import Step
from highwater_chaos.experiment.targets import Target
from highwater_chaos.faults import Fault, fault_of, kind_named
from highwater_chaos.faults.external import External
from highwater_chaos.faults.messages import AMONG_VOTERS, MessageFault
from highwater_chaos.workload.client_host import HostsClientProcesses
from highwater_chaos.workload.drivers import DRIVERS
from highwater_pipeline.anomalies import ON_REQUEST, QUORUM_INVARIANTS, SIMULATED_INVARIANTS
from highwater_runtime.portable import PortableError

_BY_THE_NODE: Final = frozenset({SkewsClocks, StallsDisks})
_ALLOW: Final = "Look at them; if they may run here, add --allow-external to 'highwater run'"


class BackendCannotError(PortableError):
    """The experiment needs what the backend cannot do; refused before anything starts."""

    def __init__(self, backend: str, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__(f"backend {backend} cannot run this experiment: {'; '.join(problems)}")


def missing_capabilities(experiment: ChaosExperiment, backend: Capabilities) -> list[str]:
    """Return what the experiment needs and the backend cannot do, each in a sentence; empty: it can run."""
    if experiment.cluster.attached is not None and not (isinstance(backend, Attaches) and backend.is_attached()):
        return ["spec.cluster.attached: says what a run with --backend attach found: leave it out, or run it there"]
    if problems := backend.problems(experiment.cluster):
        return problems
    missing: dict[str, None] = {}
    able = backend.can(experiment.cluster)
    for fault in _faults(experiment.spec.schedule):
        for primitive in sorted(fault.needs_in(experiment.cluster) - able, key=PRIMITIVES.__getitem__):
            missing[f"{fault.KIND} {_lacking(experiment, backend, primitive)}"] = None
        if isinstance(fault, External) and isinstance(backend, RunsCommands) and not backend.allows_commands():
            missing[f"external runs commands of the file: {fault.in_words}. {_ALLOW}"] = None
    if experiment.cluster.mode == "zookeeper" and backend.name != "sim":
        for kind in _inside_servers(experiment.spec.schedule):
            missing[
                f"spec.schedule: {kind} happens inside a node of ours, and ZooKeeper's servers are not: name brokers"
            ] = None
    if backend.name != "sim":
        missing |= dict.fromkeys(_unseen_invariants(experiment, backend.name))
    elif any(entry.logged for entry in experiment.spec.expect):
        missing["spec.expect: logged needs logs of nodes, which sim does not write: leave it out there"] = None
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


def lacking(steps: Sequence[Step], able: frozenset[Primitive], why_not: Callable[[Primitive], str]) -> list[str]:
    """What a schedule needs that is not ``able``, before it is known on which cluster it runs."""
    missing: dict[str, None] = {}
    for fault in _faults(steps):
        for primitive in sorted(fault.needs - able, key=PRIMITIVES.__getitem__):
            needs = f"{fault.KIND} needs {PRIMITIVES[primitive]}"
            missing[f"{needs}, which pods of others do not have: {why_not(primitive)}"] = None
    return list(missing)


def needed(experiment: ChaosExperiment) -> frozenset[Primitive]:
    """The primitives that the schedule may use."""
    return frozenset[Primitive]().union(
        *(fault.needs_in(experiment.cluster) for fault in _faults(experiment.spec.schedule))
    )


def _unseen_invariants(experiment: ChaosExperiment, backend: str) -> Iterator[str]:
    """Invariants that the experiment names and that real processes do not show."""
    for name in experiment.spec.checks:
        if name in SIMULATED_INVARIANTS:
            yield f"spec.checks: {name} needs a look at the live state of nodes, which {backend} does not have"
        elif name in {*QUORUM_INVARIANTS, *ON_REQUEST} and experiment.cluster.mode == "zookeeper":
            yield f"spec.checks: {name} needs events of the quorum, and ZooKeeper's own servers report none"


def _lacking(experiment: ChaosExperiment, backend: Capabilities, primitive: Primitive) -> str:
    why = backend.why_not(experiment.cluster, primitive)
    return f"needs {PRIMITIVES[primitive]}, which {backend.name} does not have" + (f": {why}" if why else "")


def available_faults(primitives: frozenset[Primitive]) -> list[str]:
    """The kinds of faults that a backend with these primitives can inject."""
    return [kind for kind in fault_kinds() if kind_named(kind).example().needs <= primitives]


def _inside_servers(steps: Sequence[Step]) -> Iterator[str]:
    """Kinds of faults that the node's own program brings about, where they may hit a ZooKeeper server."""
    for step in steps:
        if step.inject is not None:
            fault = fault_of(step.inject)
            target = getattr(fault, "target", None)
            if fault.needs & _BY_THE_NODE and isinstance(target, Target) and _may_be_a_server(target):
                yield fault.KIND
            if isinstance(fault, MessageFault) and (
                fault.rpc in AMONG_VOTERS or any(end and _may_be_a_server(end) for end in (fault.from_, fault.to))
            ):
                yield fault.KIND
        if step.random is not None:
            kinds = [kind for kind in step.random.faults if kind in fault_kinds()]
            if step.random.targets is None or any(_may_be_a_server(one) for one in step.random.targets):
                yield from (kind for kind in kinds if kind_named(kind).example().needs & _BY_THE_NODE)
        for branch in step.parallel or []:
            yield from _inside_servers(branch)
        if step.repeat is not None:
            yield from _inside_servers(step.repeat.steps)


def _may_be_a_server(target: Target | str) -> bool:
    if isinstance(target, str):
        return target == "zookeepers"
    return target.choice == "zookeeper" or target.chosen == "zookeepers"


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
