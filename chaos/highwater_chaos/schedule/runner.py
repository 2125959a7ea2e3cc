"""Runs a schedule, step by step.

A condition that is not met in time, an injection that did not take hold or an administration request that failed ends
the schedule, because the following steps were planned for another state. The run is then inconclusive, and
:attr:`ScheduleRunner.inconclusive_reasons` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from highwater_chaos.backends.protocol import InvariantViolation, NodeState
from highwater_chaos.backends.view import PartitionView
from highwater_chaos.base.process import Process, Scheduler, Sleep, Task, Until
from highwater_chaos.base.quantities import format_duration
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.conditions import Await, ClusterCondition, Holds
from highwater_chaos.experiment.nodes import broker_names, node_names, quorum_names
from highwater_chaos.experiment.steps import RANDOM_ADMINISTRATION, Admin, Produce, RandomFaults, Repeat, Step
from highwater_chaos.experiment.targets import Target
from highwater_chaos.experiment.timeouts import session_timeout_ms
from highwater_chaos.faults import Drawing, TargetError, kind_named
from highwater_chaos.faults.targets import group, resolve
from highwater_chaos.schedule.conditions import World, broken, found, is_or_was_met
from highwater_chaos.schedule.fault_manager import FaultManager
from highwater_chaos.schedule.random_administration import RandomAdministration
from highwater_chaos.schedule.random_faults import DrawnFault, draw_fault, draw_kind
from highwater_chaos.schedule.spare import Disruptions, why_not, why_not_reassign
from highwater_runtime.ports import MS, SECOND

WriteBatch = Callable[[Produce], Process[str | None]]
"""Carries out a ``produce`` step; returns why it failed, or None."""
RunAdmin = Callable[[Admin], Process[str | None]]
"""Carries out an ``admin`` step; returns why it failed, or None."""


@dataclass(frozen=True, slots=True)
class DoneStep:
    """A step that acted and could be done: of the schedule, or drawn by ``random``. ``at_ns``: the run time at which it
    began."""

    at_ns: int
    step: Step


_ACTS: Final = ("inject", "heal", "admin", "produce", "holds")
"""Steps that do something, or demand it. The others wait, or hold steps."""
_FOREVER_NS: Final = 1 << 60
_DRAWS: Final = 8
"""How often a random fault that must not be injected now is drawn again before its turn passes."""


class ScheduleRunner:
    """``random_for(name, n)`` gives the randomness of the n-th ``random`` step."""

    def __init__(
        self,
        cluster: Cluster,
        world: World,
        scheduler: Scheduler,
        faults: FaultManager,
        run_admin: RunAdmin,
        random_for: Callable[[int], Random],
        produce: WriteBatch,
    ) -> None:
        self.inconclusive_reasons: list[str] = []
        self.broken: list[InvariantViolation] = []
        """What did not hold as long as a step demands it."""
        self.journal: list[tuple[int, str]] = []
        """Steps with the run time (ns) at which each began."""
        self.done: list[DoneStep] = []
        """What was done, in the order in which it was over."""
        self._cluster = cluster
        self._session_ns = session_timeout_ms(cluster) * MS
        self._world = world
        self._scheduler = scheduler
        self._faults = faults
        self._run_admin = run_admin
        self._produce = produce
        self._random_for = random_for
        self._administration = RandomAdministration(
            cluster, world.view, self._run_drawn, self.inconclusive_reasons.append
        )
        self._randoms = 0
        """How many ``random`` steps have begun."""
        self._tasks: list[Task] = []

    def run(self, steps: Sequence[Step]) -> Process[bool]:
        """Run steps in order; returns whether all of them could be done."""
        for step in steps:
            began_ns = self._scheduler.now_ns()
            self.journal.append((began_ns, step.choice))
            done = yield from self._step(step)
            if not done:
                return False
            if step.choice in _ACTS:
                self.done.append(DoneStep(began_ns, step))
        return True

    def cancel(self) -> None:
        """Stop whatever the schedule has started."""
        for task in self._tasks:
            task.cancel()
        self._faults.abandon_injections()

    def _step(self, step: Step) -> Process[bool]:
        if step.inject is not None:
            # What failed is in the fault's own record, which makes the run inconclusive.
            took_hold = yield from self._faults.inject(step.inject)
            return took_hold
        if step.heal is not None:
            for name in [step.heal] if isinstance(step.heal, str) else step.heal:
                yield from self._faults.heal_all() if name == "all" else self._faults.heal(name)
            return True
        if step.wait is not None:
            yield Sleep(step.wait)
            return True
        if step.await_ is not None:
            met = yield from self._await(step.await_)
            return met
        if step.holds is not None:
            yield from self._holds(step.holds)
            return True
        if step.parallel is not None:
            done = yield from self._parallel(step.parallel)
            return done
        if step.repeat is not None:
            done = yield from self._repeat(step.repeat)
            return done
        if step.random is not None:
            drawn = yield from self._random(step.random)
            return drawn
        if step.produce is not None:
            error = yield from self._produce(step.produce)
            if error is not None:
                self.inconclusive_reasons.append(f"produce: {error}")
            return error is None
        assert step.admin is not None
        error = yield from self._run_admin(step.admin)
        if error is not None:
            self.inconclusive_reasons.append(f"admin {step.admin.choice}: {error}")
        return error is None

    def _await(self, condition: Await) -> Process[bool]:
        text = describe(condition)
        is_so = is_or_was_met(condition, self._world)
        met = is_so()
        if not met:
            met = yield Until(is_so, condition.within, text)
        if not met:
            self.inconclusive_reasons.append(
                f"await {text} was not met within {format_duration(condition.within)}: {found(condition, self._world)}"
            )
        return met

    def _holds(self, condition: Holds) -> Process[None]:
        """A condition that ceases to hold is a finding. The schedule goes on: it was planned for one that holds."""
        text = f"{describe(condition)} holds for {format_duration(condition.for_)}"
        began_ns = self._scheduler.now_ns()
        if (yield Until(broken(condition, self._world), condition.for_, text)):
            after = format_duration(self._scheduler.now_ns() - began_ns)
            what = f"{describe(condition)} did not hold for {format_duration(condition.for_)}"
            story = f"{what}: {after} after the step began, {found(condition, self._world)}"
            self.broken.append(InvariantViolation("unavailable", self._scheduler.now_ns(), "the cluster", story))
            yield Sleep(max(0, began_ns + condition.for_ - self._scheduler.now_ns()))

    def _parallel(self, branches: Sequence[Sequence[Step]]) -> Process[bool]:
        results: dict[int, bool] = {}

        def branch(index: int, steps: Sequence[Step]) -> Process[None]:
            results[index] = yield from self.run(steps)

        tasks = [self._spawn(f"branch {index}", branch(index, steps)) for index, steps in enumerate(branches)]
        yield Until(
            lambda: all(task.done for task in tasks) or not all(results.values()), _FOREVER_NS, "parallel branches"
        )
        for task in tasks:
            task.cancel()
        return len(results) == len(tasks) and all(results.values())

    def _repeat(self, repeat: Repeat) -> Process[bool]:
        for _ in range(repeat.times):
            done = yield from self.run(repeat.steps)
            if not done:
                return False
        return True

    def _spawn(self, name: str, process: Process[object]) -> Task:
        task = self._scheduler.spawn(name, process)
        self._tasks = [old for old in self._tasks if not old.done]
        self._tasks.append(task)
        return task

    # --- random ---

    def _random(self, plan: RandomFaults) -> Process[bool]:
        self._randoms += 1
        random = self._random_for(self._randoms)
        try:
            among = self._among(plan, random)
        except TargetError as error:
            self.inconclusive_reasons.append(f"random: {error}")
            return False
        end = self._scheduler.now_ns() + plan.for_
        started: list[Task] = []
        first = len(self._faults.records)
        while True:
            pause = max(1, int(random.expovariate(1.0) * plan.every))
            remaining = end - self._scheduler.now_ns()
            yield Sleep(max(0, min(pause, remaining)))
            if pause >= remaining:
                break
            name, process = self._draw(plan, among, random)
            if process is not None:
                started.append(self._spawn(f"random {name}", process))
        mine = {record.id for record in self._faults.records[first:]}

        def over() -> bool:
            # Asked at every turn: a task that was seen to be done is not looked at again.
            while started and started[-1].done:
                started.pop()
            return not started and not any(
                record.deadline_ns is not None and record.id in mine for record in self._faults.active
            )

        yield Until(over, plan.lasting + 120 * SECOND, "random faults are over")
        return True

    def _among(self, plan: RandomFaults, random: Random) -> list[str]:
        """The nodes that the step draws from, all the way. Raises ``TargetError``."""
        if plan.targets is None:
            return list(node_names(self._cluster))
        among: dict[str, None] = {}
        for target in plan.targets:
            if isinstance(target, Target):
                nodes = resolve(target, self._cluster, self._world.view, random, self._faults.hit_by)
                self.journal.append((self._scheduler.now_ns(), f"random at {', '.join(nodes)}"))
            else:
                nodes = group(target, self._cluster)
            among.update(dict.fromkeys(nodes))
        return list(among)

    def _draw(self, plan: RandomFaults, among: Sequence[str], random: Random) -> tuple[str, Process[object] | None]:
        """What may be done now, by its kind; None if chance finds nothing."""
        kind = ""

        def may_move(partition: PartitionView) -> bool:
            return plan.spare == "none" or why_not_reassign(partition, self._world.view, self._disruptions()) is None

        for _ in range(_DRAWS):
            kind, length_ns = draw_kind(plan, random)
            if kind in RANDOM_ADMINISTRATION:
                process = self._administration.draw(kind, length_ns, random, may_move)
                if process is not None:
                    self.journal.append((self._scheduler.now_ns(), f"random {kind}"))
                    return kind, process
                continue
            drawn = draw_fault(kind, length_ns, self._drawing(kind, plan, among, random))
            if drawn is not None and self._is_spared(plan, drawn):
                return kind, self._inject_drawn(plan, drawn)
        return kind, None

    def _is_spared(self, plan: RandomFaults, drawn: DrawnFault) -> bool:
        """Whether a fault does no more than ``spare`` permits."""
        return (
            plan.spare == "none" or why_not(drawn.effect, self._cluster, self._world.view, self._disruptions()) is None
        )

    def _inject_drawn(self, plan: RandomFaults, drawn: DrawnFault) -> Process[None]:
        # Since it was drawn another one may have been injected: on real machines that takes time, and what was drawn
        # meanwhile waits for it.
        if self._free(drawn.effect.targets, drawn.kind) != list(drawn.effect.targets) or not self._is_spared(
            plan, drawn
        ):
            return
        began_ns = self._scheduler.now_ns()
        took_hold = yield from self._faults.inject(drawn.inject, tuple(drawn.effect.targets), drawn=True)
        if took_hold:
            self.done.append(DoneStep(began_ns, Step(inject=drawn.inject)))

    def _run_drawn(self, admin: Admin) -> Process[str | None]:
        began_ns = self._scheduler.now_ns()
        error = yield from self._run_admin(admin)
        if error is None:
            self.done.append(DoneStep(began_ns, Step(admin=admin)))
        return error

    def _drawing(self, kind: str, plan: RandomFaults, among: Sequence[str], random: Random) -> Drawing:
        brokers = self._free(broker_names(self._cluster), kind)
        quorum = self._free(quorum_names(self._cluster), kind)
        return Drawing(random, self._cluster, self._world.view, brokers, quorum, among, plan.rpcs, plan.ends)

    def _free(self, nodes: Sequence[str], kind: str) -> list[str]:
        """Those of ``nodes`` that run, and that no other fault has for itself."""
        loses_cache = kind_named(kind).LOSES_CACHE
        up = [node for node in nodes if self._world.backend.state(node) is NodeState.UP]
        return [node for node in up if not self._faults.hits_now(node, loses_cache=loses_cache)]

    def _disruptions(self) -> Disruptions:
        faults, session_ns = self._faults, self._session_ns
        return Disruptions(
            faults.disrupts_now,
            lambda node: faults.disrupted_within(node, session_ns),
            faults.lost_cache,
            lambda time_ns: self._scheduler.now_ns() - time_ns > session_ns,
            self._administration.moving_to,
        )


def describe(condition: ClusterCondition) -> str:
    """The condition in the file's words, for messages."""
    value = condition.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"within", "for_"})[
        condition.choice
    ]
    if isinstance(value, dict):
        value = ", ".join(f"{key} {item}" for key, item in value.items())
    return f"{condition.choice} {value}"
