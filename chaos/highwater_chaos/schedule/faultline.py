"""The faults of one run: injects, heals, keeps their records, and knows which nodes they touch.

Each fault carries an id and a deadline, and ends by itself when its time is over; healing is idempotent, and
:meth:`Faultline.heal_all` undoes whatever is left, however the schedule ended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

from highwater_chaos.backends.protocol import Backend, BackendError
from highwater_chaos.backends.view import ClusterView
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.faults import Inject
from highwater_chaos.faults import Fault, FaultContext, FaultRecord, MessageFault, TargetError, fault_of
from highwater_chaos.schedule.process import Process, Scheduler, Sleep, Task, Until
from highwater_chaos.schedule.spare import LOSES_CACHE
from highwater_runtime.ports import SECOND

_HEAL_NS: Final = 120 * SECOND
"""How long a heal waits for an injection or another heal of the same fault."""


@dataclass(slots=True)
class _Active:
    fault: Fault
    context: FaultContext
    injecting: bool = True
    healing: bool = False
    timer: Task | None = None
    touched: tuple[str, ...] = ()


class Faultline:
    """``random_for(n)`` gives the randomness of the n-th fault; ``deadline_ns`` is when the run must be over."""

    def __init__(
        self,
        backend: Backend,
        cluster: Cluster,
        view: ClusterView,
        scheduler: Scheduler,
        random_for: Callable[[int], Random],
        deadline_ns: int,
    ) -> None:
        self.records: list[FaultRecord] = []
        self._backend = backend
        self._cluster = cluster
        self._view = view
        self._scheduler = scheduler
        self._random_for = random_for
        self._deadline_ns = deadline_ns
        self._active: dict[str, _Active] = {}
        self._all: dict[str, _Active] = {}
        self._last_touch_ns: dict[str, int] = {}
        self._lost_cache: set[str] = set()

    @property
    def active(self) -> list[FaultRecord]:
        """Records of faults that are being injected, in force or being healed, in order."""
        return [active.context.record for active in self._active.values()]

    def caught(self, name: str) -> int:
        """Messages caught by the faults of this name so far."""
        return sum(
            one.fault.caught(one.context)
            for one in self._all.values()
            if one.context.record.name == name and isinstance(one.fault, MessageFault)
        )

    # --- inject ---

    def inject(self, inject: Inject, touched: tuple[str, ...] = ()) -> Process[bool]:
        """Inject one fault; returns whether it took hold, as far as can be told now.

        It is healed after its ``for``, or after the time that lies in its own nature. ``touched``: the nodes that it
        is aimed at, where those are fewer than the ones it names (a broker cut off from all controllers touches the
        broker); by default its targets.
        """
        fault = fault_of(inject)
        number = len(self.records) + 1
        now = self._backend.now_ns()
        lasts = inject.for_ if inject.for_ is not None else fault.lasts_ns
        parameters = inject.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"name", "for_"})
        record = FaultRecord(
            id=f"fault-{number}",
            name=inject.name,
            kind=inject.choice,
            parameters=parameters[inject.choice],
            started_ns=now,
            deadline_ns=self._deadline_ns if lasts is None else min(now + lasts, self._deadline_ns),
        )
        self.records.append(record)
        context = FaultContext(self._backend, self._cluster, self._view, self._random_for(number), record)
        active = _Active(fault, context, touched=touched)
        self._active[record.id] = self._all[record.id] = active
        try:
            yield from fault.inject(context)
        except TargetError as error:
            record.error = str(error)
            del self._active[record.id]
            return False
        except BackendError as error:
            # Half of it may be in force, so it stays among those that are healed in the end.
            record.error = str(error)
            return False
        finally:
            active.injecting = False
        record.injected_ns = self._backend.now_ns()
        if inject.choice in LOSES_CACHE:
            self._lost_cache.update(record.targets)
        if lasts is not None:
            active.timer = self._scheduler.spawn(f"end of {record.id}", self._end(record.id, now + lasts))
        # Message faults show by what they catch, later; all others must be confirmed by now.
        return not record.inject_evidence or record.confirmed

    def _end(self, fault_id: str, at_ns: int) -> Process[None]:
        wait = at_ns - self._backend.now_ns()
        if wait > 0:
            yield Sleep(wait)
        yield from self._heal(fault_id)

    # --- heal ---

    def heal(self, name: str) -> Process[None]:
        """Heal every fault of this name that is in force."""
        for fault_id in [key for key, active in self._active.items() if active.context.record.name == name]:
            yield from self._heal(fault_id)

    def heal_all(self) -> Process[None]:
        """Heal everything, the latest fault first."""
        for fault_id in reversed(list(self._active)):
            yield from self._heal(fault_id)

    def _heal(self, fault_id: str) -> Process[None]:
        active = self._active.get(fault_id)
        if active is None:
            return
        record = active.context.record
        if active.injecting:
            yield Until(lambda: not active.injecting, _HEAL_NS, f"{fault_id} is injected")
        if active.healing or fault_id not in self._active:
            yield Until(lambda: fault_id not in self._active, _HEAL_NS, f"{fault_id} is healed")
            return
        active.healing = True
        try:
            if record.heal_started_ns is None:
                record.heal_started_ns = self._backend.now_ns()
            try:
                yield from active.fault.heal(active.context)
            except BackendError as error:
                active.context.saw_healed(str(error), False)
            record.healed_ns = self._backend.now_ns()
            for node in active.touched or record.targets:
                self._last_touch_ns[node] = record.healed_ns
            del self._active[fault_id]
        finally:
            active.healing = False

    def abandon_injections(self) -> None:
        """Forget that injections were going on: the processes that ran them have been cancelled."""
        for active in self._active.values():
            active.injecting = False

    # --- what is touched ---

    def touches_now(self, node: str) -> bool:
        """Whether a fault is in force on a node."""
        return any(node in (one.touched or one.context.record.targets) for one in self._active.values())

    def touched_within(self, node: str, ns: int) -> bool:
        """Whether a fault on a node ended less than ``ns`` ago."""
        last = self._last_touch_ns.get(node)
        return last is not None and self._backend.now_ns() - last < ns

    def lost_cache(self, node: str) -> bool:
        """Whether the node has ever lost what was not durable (it has it again once it is back in the ISR)."""
        return node in self._lost_cache
