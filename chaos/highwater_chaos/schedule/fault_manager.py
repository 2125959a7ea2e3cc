"""The faults of one run: injects, heals, keeps their records, and knows which nodes they touch.

Each fault carries an id and a deadline, and ends by itself when its time is over; healing is idempotent, and
:meth:`FaultManager.heal_all` undoes whatever is left, however the schedule ended.

A heal is believed when a probe saw it. If another fault is in force on the same nodes, the probe may not be able to see
it yet (a link that is cut twice, a paused node that cannot answer): then it is repeated after that fault's heal. What
came too late for its probe (a node that needs minutes to start) is looked at again after every heal, and in the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

from highwater_chaos.backends.protocol import Backend, BackendError, LosesNodes
from highwater_chaos.backends.view import ClusterView
from highwater_chaos.base.process import Process, Scheduler, Sleep, Task, Until
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.faults import Inject
from highwater_chaos.faults import Fault, FaultContext, FaultRecord, FaultTarget, ProbeResult, TargetError, fault_of
from highwater_chaos.faults.targets import hit_by_none
from highwater_runtime.ports import SECOND

_HEAL_NS: Final = 120 * SECOND
"""How long a heal waits for an injection or another heal of the same fault."""


@dataclass(slots=True)
class _Active:
    fault: Fault
    context: FaultContext
    injecting: bool = True
    healing: bool = False
    undoing: bool = False
    undone: bool = False
    timer: Task | None = None
    touched: tuple[str, ...] | None = None
    disturbed: tuple[str, ...] = ()
    lingers_ns: int = 0

    @property
    def hits(self) -> tuple[str, ...]:
        """The nodes that it is aimed at."""
        if not self.fault.AIMED:
            return ()
        return self.context.record.targets if self.touched is None else self.touched

    @property
    def nodes(self) -> set[str]:
        """Every node on which it acts."""
        return {node for touch in self.context.record.intent for node in touch.nodes}


class FaultManager:
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
        self._unseen: dict[str, tuple[_Active, bool]] = {}
        """Faults that have been undone, and that no probe has seen healed yet; whether they have been waited for."""
        self._all: dict[str, _Active] = {}
        self._last_touch_ns: dict[str, int] = {}
        self._lost_cache: dict[str, int] = {}

    @property
    def active(self) -> list[FaultRecord]:
        """Records of faults that are being injected, in force or being healed, in order."""
        return [active.context.record for active in self._active.values()]

    def caught(self, name: str) -> int:
        """Messages caught so far by the latest fault of this name; 0 without one."""
        caught = [one.context.caught() for one in self._all.values() if one.context.record.name == name]
        return caught[-1] if caught else 0

    def hit_by(self, name: str) -> tuple[str, ...]:
        """The nodes that the latest fault of this name was aimed at.

        Raises:
            TargetError: there is none yet.
        """
        found = [record.targets for record in self.records if record.name == name and record.targets]
        return found[-1] if found else tuple(hit_by_none(name))

    # --- inject ---

    def inject(self, inject: Inject, touched: tuple[str, ...] | None = None, *, drawn: bool = False) -> Process[bool]:
        """Inject one fault; returns whether it took hold, as far as can be known now.

        It is healed after its ``for``, or after the time that lies in its own nature; at once if it failed halfway.
        ``touched``: the nodes that it is aimed at, if those are fewer than the ones it names (a broker cut off from all
        controllers touches the broker); None: its targets. ``drawn``: ``random`` drew it.
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
            drawn=drawn,
            blocks_processes=fault.blocks_processes,
            delay_ns=fault.delay_ns,
        )
        self.records.append(record)
        context = FaultContext(
            self._backend,
            self._cluster,
            self._view,
            self._random_for(number),
            record,
            fault.needs_in(self._cluster),
            lambda: self.active,
            self.hit_by,
        )
        disturbed, lingers_ns = fault.disturbs(self._cluster), fault.lingers_ns(self._cluster)
        active = _Active(fault, context, touched=touched, disturbed=disturbed, lingers_ns=lingers_ns)
        self._active[record.id] = self._all[record.id] = active
        seq = self._view.next_seq
        try:
            yield from fault.inject(context)
        except (TargetError, BackendError) as error:
            record.error = str(error)
        finally:
            active.injecting = False
        if record.error is not None:
            # Half of it may be in force.
            if record.intent:
                yield from self._heal(record.id)
            else:
                del self._active[record.id]
            return False
        record.injected_ns = self._backend.now_ns()
        if fault.LOSES_CACHE:
            self._lost_cache.update(dict.fromkeys(record.targets, seq))
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
        """Heal everything, the latest fault first: everything is undone before anything is waited for."""
        left = list(reversed(self._active))
        for fault_id in left:
            active = self._active.get(fault_id)
            if active is not None and not active.injecting and not active.healing:
                yield from self._undo(active)
        for fault_id in left:
            yield from self._heal(fault_id)
        yield from self._look_again()

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
            yield from self._undo(active)
            yield from self._see_healed(active)
            record.healed_ns = self._backend.now_ns()
            for node in (*active.hits, *active.disturbed):
                over_ns = record.healed_ns + active.lingers_ns
                self._last_touch_ns[node] = max(over_ns, self._last_touch_ns.get(node, over_ns))
            del self._active[fault_id]
            if record.unhealed:
                self._unseen[fault_id] = active, False
        finally:
            active.healing = False
        yield from self._look_again()

    def _undo(self, active: _Active) -> Process[None]:
        """Once, to the end: a heal that was cancelled in the middle is done again. What the backend could not undo
        then, it goes on trying by itself."""
        record = active.context.record
        if active.undone or active.undoing:
            return
        if record.heal_started_ns is None:
            record.heal_started_ns = self._backend.now_ns()
        active.undoing = True
        try:
            yield from active.fault.heal(active.context)
            active.undone = True
        finally:
            active.undoing = False

    def _look_again(self) -> Process[None]:
        """Repeat the probes of heals that nobody has seen yet: other faults may have hidden them."""
        for fault_id, (active, waited) in list(self._unseen.items()):
            if fault_id in self._unseen and not self._is_hidden(active):
                del self._unseen[fault_id]
                if waited:
                    self._look(active)
                else:
                    yield from self._see_healed(active)
                if active.context.record.unhealed:
                    self._unseen[fault_id] = active, True

    def look_once_more(self) -> None:
        """Look whether what was undone is gone by now, and wait for nothing."""
        for fault_id, (active, _) in list(self._unseen.items()):
            self._look(active)
            if not active.context.record.unhealed:
                del self._unseen[fault_id]

    def _is_hidden(self, active: _Active, touch: FaultTarget | None = None) -> bool:
        """Whether another fault is in force on a node that this one (or one thing that it touched) acts on."""
        nodes = active.nodes if touch is None else set(touch.nodes)
        return any(other is not active and other.nodes & nodes for other in self._active.values())

    def _see_healed(self, active: _Active) -> Process[None]:
        """Probe what the fault touched until each is seen healed. Things that other faults touch too are looked at, and
        not waited for."""
        context, record = active.context, active.context.record
        last: dict[str, ProbeResult] = {}

        def waited_for() -> list[FaultTarget]:
            return [touch for touch in record.unhealed if not self._is_hidden(active, touch)]

        def seen() -> bool:
            last.update(self._look(active))
            return not waited_for()

        if not seen():
            yield Until(seen, active.fault.healed_within_ns, f"{record.id} is seen healed")
        for held_up in [self._backend.held_up(touch.name) for touch in waited_for() if touch.kind == "node"]:
            if held_up is not None:
                yield Until(seen, held_up.at_most_ns + active.fault.healed_within_ns, held_up.why)
        for touch in record.unhealed:
            context.record_healed(touch, last[touch.name])

    def _look(self, active: _Active) -> dict[str, ProbeResult]:
        """Probe what no probe has seen healed yet, and note what is; returns what was seen, by name."""
        found: dict[str, ProbeResult] = {}
        for touch in active.context.record.unhealed:
            found[touch.name] = self._probe(active, touch)
            if found[touch.name].ok:
                active.context.record_healed(touch, found[touch.name])
        return found

    def _probe(self, active: _Active, touch: FaultTarget) -> ProbeResult:
        if isinstance(self._backend, LosesNodes) and touch.nodes and all(map(self._backend.is_gone, touch.nodes)):
            return ProbeResult(True, "it is gone, and what was done to it: its cluster was deleted")
        try:
            return active.fault.probe(active.context, touch)
        except BackendError as error:
            return ProbeResult(False, f"it cannot be seen: {error}")

    def abandon_injections(self) -> None:
        """Forget that injections were going on: the processes that ran them have been cancelled."""
        for active in self._active.values():
            active.injecting = False

    # --- what is touched ---

    def hits_now(self, node: str, *, loses_cache: bool = False) -> bool:
        """Whether a fault is in force that is aimed at a node, and does not share it with one that ``loses_cache``."""
        return any(
            node in one.hits and not (loses_cache and one.fault.may_lose_cache and not one.injecting)
            for one in self._active.values()
        )

    def disrupts_now(self, node: str) -> bool:
        """Whether a fault is in force that is aimed at a node, or disturbs it."""
        return any(node in one.hits or node in one.disturbed for one in self._active.values())

    def disrupted_within(self, node: str, ns: int) -> bool:
        """Whether the last effect of a fault on a node is less than ``ns`` ago, or still to be expected."""
        last = self._last_touch_ns.get(node)
        return last is not None and self._backend.now_ns() - last < ns

    def lost_cache(self, node: str) -> int | None:
        """The number of the next event when the node last lost what was not durable, None if it never has."""
        return self._lost_cache.get(node)
