"""What every fault is, and what is written down about it.

A fault is one class in one file: what a file says about it (it is a pydantic model), what it needs of a backend, how it
is drawn at random, and how it is injected, probed, healed and probed again. Its life:

1. *intent*: :meth:`Fault.inject` notes each node, link or rule (:class:`FaultTarget`) that it is going to touch in the
   record (:meth:`FaultContext.aim`, :meth:`~FaultContext.cut`, :meth:`~FaultContext.add_rule`), then acts. What fails
   halfway is undone, since heals go by the intent.
2. *injected*: a probe saw each touched thing as the fault should make it (:meth:`FaultContext.record_evidence`).
3. *undone*: :meth:`Fault.heal` undoes every touched thing. It is idempotent.
4. *healed*: :meth:`Fault.probe` saw each touched thing as it was before. The fault manager repeats the probe until
   then, and again after other faults on the same nodes have been healed.

**No evidence is no evidence.** Evidence is what a probe saw, not that a command returned. A fault with a touched thing
that no probe saw injected, or that no probe saw healed, makes the verdict inconclusive, never pass.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar, Final, Literal, NamedTuple, Self, TypeVar

from highwater_chaos.backends.primitives import (
    PRIMITIVES,
    AppliesRpcRules,
    CutsLinks,
    NotesCatches,
    Primitive,
    RpcRule,
)
from highwater_chaos.backends.protocol import Backend, BackendError, NodeState
from highwater_chaos.backends.view import ClusterView
from highwater_chaos.base.process import Process, Until
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.faults import FaultModel
from highwater_chaos.experiment.nodes import node_names
from highwater_chaos.experiment.targets import Target
from highwater_chaos.faults.drawing import Drawing
from highwater_chaos.faults.targets import HitBy, TargetError, hit_by_none, resolve
from highwater_runtime.ports import SECOND

P = TypeVar("P")
TargetKind = Literal["node", "link", "rule", "commands"]

CONFIRM_NS: Final = 30 * SECOND
"""How long a probe may take to see that a fault took hold, or that it is gone."""


@dataclass(frozen=True, slots=True)
class FaultTarget:
    """One thing that a fault acts upon: a node, the link from one node to another, a rule about messages, or whatever
    commands of the user's act upon."""

    kind: TargetKind
    name: str
    """Unique among the touched things of one fault; evidence refers to it."""
    nodes: tuple[str, ...]
    """The node; the link's sender and receiver; the nodes in which the rule acts."""
    incarnation: int = 0
    """Of a node, before the fault acted."""


class ProbeResult(NamedTuple):
    """What one look at a touched thing found. ``ok``: it is as it should be."""

    ok: bool
    what: str
    data: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a probe saw at ``time_ns`` of run time. ``ok`` is false if it did not see what it should have. ``of`` is the
    name of the touched thing."""

    time_ns: int
    what: str
    ok: bool
    data: Mapping[str, Any]
    of: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As a line of ``faults.jsonl`` has it."""
        row: dict[str, Any] = {"time_ns": self.time_ns, "what": self.what, "ok": self.ok}
        return {**row, **({"of": self.of} if self.of else {}), **({"data": dict(self.data)} if self.data else {})}


@dataclass(slots=True)
class FaultRecord:
    """One fault's life. Times in ns of run time, None for what has not happened."""

    id: str
    name: str | None
    kind: str
    parameters: dict[str, Any]
    targets: tuple[str, ...] = ()
    started_ns: int = 0
    injected_ns: int | None = None
    deadline_ns: int | None = None
    heal_started_ns: int | None = None
    healed_ns: int | None = None
    intent: list[FaultTarget] = field(default_factory=list)
    """What the fault is going to touch, noted before it does."""
    inject_evidence: list[Evidence] = field(default_factory=list)
    heal_evidence: list[Evidence] = field(default_factory=list)
    error: str | None = None
    drawn: bool = False
    """Whether ``random`` drew it."""
    idle: bool = False
    """Whether it met nothing to act upon: a rule about messages that were never sent, a session that was over."""
    blocks_processes: bool = False
    """See :attr:`Fault.blocks_processes`."""
    delay_ns: int = 0
    """See :attr:`Fault.delay_ns`."""

    @property
    def confirmed(self) -> bool:
        """Whether a probe saw every touched thing as the fault should make it."""
        return (
            self.error is None
            and bool(self.intent)
            and all(item.ok for item in self.inject_evidence)
            and all(any(item.of == touch.name for item in self.inject_evidence) for touch in self.intent)
        )

    @property
    def healed(self) -> bool:
        """Whether, at the last look, a probe saw every touched thing as it was before."""
        return self.healed_ns is not None and bool(self.intent) and not self.unhealed

    @property
    def unhealed(self) -> list[FaultTarget]:
        """What no probe has seen healed yet."""
        last = {item.of: item.ok for item in self.heal_evidence}
        return [touch for touch in self.intent if not last.get(touch.name, False)]

    def inconclusive_reason(self) -> str | None:
        """Why the run cannot be judged because of this fault; None if injection and heal are confirmed."""
        title = f"fault {self.id} ({self.name or self.kind})"
        if self.error is not None:
            return f"{title} did not take hold: {self.error}"
        if not self.confirmed and not (self.idle and self.drawn):
            seen = next((item.what for item in self.inject_evidence if not item.ok), "no evidence")
            return f"{title} never took hold: {seen}"
        if not self.healed:
            left = {touch.name for touch in self.unhealed}
            looks = dict.fromkeys(item.what for item in self.heal_evidence if item.of in left and not item.ok)
            return f"{title} is not known to be healed: {'; '.join(looks) or 'no evidence'}"
        return None

    def to_dict(self) -> dict[str, Any]:
        """One line of ``faults.jsonl``."""
        return {
            "id": self.id,
            "name": self.name,
            "kind": self.kind,
            "parameters": self.parameters,
            "targets": list(self.targets),
            "intent": [touch.name for touch in self.intent],
            "drawn": self.drawn,
            "idle": self.idle,
            "started_ns": self.started_ns,
            "injected_ns": self.injected_ns,
            "deadline_ns": self.deadline_ns,
            "heal_started_ns": self.heal_started_ns,
            "healed_ns": self.healed_ns,
            "confirmed": self.confirmed,
            "healed": self.healed,
            "evidence": {
                "inject": [item.to_dict() for item in self.inject_evidence],
                "heal": [item.to_dict() for item in self.heal_evidence],
            },
            "error": self.error,
        }


@dataclass(slots=True)
class FaultContext:
    """What a fault may use: the backend and those of its primitives that the fault needs, the view of the cluster, its
    own randomness and record."""

    backend: Backend
    cluster: Cluster
    view: ClusterView
    random: Random
    record: FaultRecord
    granted: frozenset[Primitive]
    """The primitives that the fault has named in ``needs``."""
    in_force: Callable[[], Sequence[FaultRecord]] = tuple
    """The faults that are being injected, in force or being healed."""
    hit_by: HitBy = hit_by_none

    def using(self, primitive: type[P]) -> P:
        """Return the backend as one that has a primitive, which the fault's ``needs`` must name.

        Raises:
            BackendError: the backend does not have it.
        """
        if not any(issubclass(granted, primitive) for granted in self.granted):
            raise AssertionError(f"{self.record.kind} uses {primitive.__name__}, which its needs do not name")
        if not isinstance(self.backend, primitive):
            raise BackendError(f"{self.backend.name} does not have {PRIMITIVES.get(primitive, primitive.__name__)}")
        return self.backend

    @property
    def undone_by_ns(self) -> int | None:
        """The run time at which the machine's guardian undoes the fault, if the harness has not done so.

        Some time after the deadline. The harness itself ends a fault in time, and if it is gone, the guardian ends
        everything at once; but a short fault on a busy machine must not be undone before it is seen to have taken hold.
        """
        deadline = self.record.deadline_ns
        return None if deadline is None else deadline + CONFIRM_NS

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes of the cluster, brokers first."""
        return node_names(self.cluster)

    def look(self) -> None:
        """Take what has happened until now into the view, in the middle of a turn."""
        self.view.observe(self.backend.events_since(self.view.next_seq))

    # --- intent, then action ---

    def resolve(self, target: Target | None) -> tuple[str, ...]:
        """Resolve a target (None: ``()``, meaning any node) and note the nodes as the record's targets.

        Raises:
            TargetError: the target names no node at this moment.
        """
        if target is None:
            return ()
        nodes = resolve(target, self.cluster, self.view, self.random, self.hit_by)
        self.hit(nodes)
        return nodes

    def hit(self, nodes: Sequence[str]) -> None:
        """Note nodes as the record's targets that no target names: they are on the same machine."""
        self.record.targets = tuple(dict.fromkeys((*self.record.targets, *nodes)))

    def aim(self, target: Target) -> list[FaultTarget]:
        """Resolve a target and note the intent to act upon its nodes. Raises ``TargetError``."""
        return [self.intend("node", node, (node,)) for node in self.resolve(target)]

    def aim_at_processes(self, target: Target) -> list[FaultTarget]:
        """As :meth:`aim`, for a fault that signals processes: none that waits in the kernel for its disk.

        Raises:
            TargetError: the target names no node at this moment, or one whose process waits.
        """
        nodes = self.resolve(target)
        for other in self.in_force():
            waiting = [node for node in nodes if other.blocks_processes and node in other.targets]
            if waiting:
                raise TargetError(
                    f"the process of {waiting[0]} waits for its disk, where no signal reaches it, until"
                    f" {other.id} ({other.name or other.kind}) is healed"
                )
        return [self.intend("node", node, (node,)) for node in nodes]

    def aim_alone(self, target: Target, kinds: Collection[str], *, running: bool = False) -> list[FaultTarget]:
        """As :meth:`aim`, for a fault that shares a node with no other of these kinds: its heal would end the other.

        ``running``: it acts upon processes, so each node must have one.

        Raises:
            TargetError: the target names no node at this moment, or one on which such a fault is in force, or one
                without a process.
        """
        nodes = self.resolve(target)
        for other in self.in_force():
            shared = [node for node in nodes if any(touch.name == node for touch in other.intent)]
            if shared and other.kind in kinds:
                what = f"{other.id} ({other.name or other.kind}) is in force on {shared[0]}"
                raise TargetError(f"{what}, and the heal of one would end the other")
        for node in nodes:
            state = self.backend.state(node)
            if running and state not in (NodeState.UP, NodeState.PAUSED):
                raise TargetError(f"{node} is {state.value}: it has no process to hold up")
        return [self.intend("node", node, (node,)) for node in nodes]

    def intend(self, kind: TargetKind, name: str, nodes: Sequence[str]) -> FaultTarget:
        """Note the intent to act upon one thing."""
        incarnation = self.backend.incarnation(nodes[0]) if kind == "node" else 0
        touch = FaultTarget(kind, name, tuple(nodes), incarnation)
        if all(other.name != name for other in self.record.intent):
            self.record.intent.append(touch)
        return touch

    def cut(self, source: str, destination: str) -> FaultTarget:
        """Cut the link from one node to another, until :meth:`join`. Raises ``BackendError``."""
        touch = self.intend("link", f"{source} -> {destination}", (source, destination))
        self.using(CutsLinks).cut(self.key(touch), source, destination, self.undone_by_ns)
        return touch

    def join(self, touch: FaultTarget) -> None:
        """Undo :meth:`cut`. Raises ``BackendError``."""
        self.using(CutsLinks).uncut(self.key(touch))

    def add_rule(self, rule: RpcRule) -> FaultTarget:
        """Put a rule about messages into force, until :meth:`remove_rule`. Raises ``BackendError``."""
        number = sum(touch.kind == "rule" for touch in self.record.intent) + 1
        nodes = rule.destinations or self.nodes
        touch = self.intend("rule", f"rule {number}: {rule.action} {rule.rpc} {rule.part}s", nodes)
        self.using(AppliesRpcRules).add_rule(self.key(touch), rule)
        return touch

    def remove_rule(self, touch: FaultTarget) -> None:
        """Undo :meth:`add_rule`. Raises ``BackendError``."""
        self.using(AppliesRpcRules).remove_rule(self.key(touch))

    def caught(self) -> int:
        """How many messages the fault's rules have acted upon so far."""
        rules = [self.key(touch) for touch in self.record.intent if touch.kind == "rule"]
        if not rules:
            return 0
        backend = self.using(AppliesRpcRules)
        return sum(backend.rule_matches(rule) for rule in rules)

    def caught_at(self) -> list[int]:
        """When they did so, in ns of run time; empty if the backend does not know."""
        backend = self.backend
        if not isinstance(backend, NotesCatches):
            return []
        rules = [self.key(touch) for touch in self.record.intent if touch.kind == "rule"]
        return sorted(time for rule in rules for time in backend.rule_times(rule))

    def key(self, touch: FaultTarget) -> str:
        """By which the backend knows a cut or a rule."""
        return f"{self.record.id} {touch.name}"

    # --- evidence ---

    def record_evidence(self, touch: FaultTarget | None, what: str, ok: bool = True, **data: Any) -> None:
        """Note evidence about the injection, seen now. ``touch``: of what; None: of the fault as a whole."""
        of = "" if touch is None else touch.name
        self.record.inject_evidence.append(Evidence(self.backend.now_ns(), what, ok, data, of))

    def record_healed(self, touch: FaultTarget, seen: ProbeResult) -> None:
        """Note evidence about the heal of one touched thing, seen now."""
        self.record.heal_evidence.append(Evidence(self.backend.now_ns(), seen.what, seen.ok, seen.data, touch.name))

    def confirm(self, predicate: Callable[[], bool], what: str, timeout_ns: int = CONFIRM_NS) -> Process[bool]:
        """Wait until a probe succeeds; returns whether it did in time. Raises what its first look raises."""
        if predicate():
            return True

        def again() -> bool:
            try:
                return predicate()
            except BackendError:
                return False  # what cannot be seen is not confirmed

        met = yield Until(again, timeout_ns, what)
        return met

    def undo_each(self, undo: Callable[[FaultTarget], None], kind: str | None = None) -> None:
        """Undo every touched thing (of one kind), the latest first. One that fails does not keep the others from being
        undone; that it is not healed is what its probe sees, so the error is noted and not raised."""
        for touch in reversed(self.record.intent):
            if kind not in (None, touch.kind):
                continue
            try:
                undo(touch)
            except BackendError as error:
                self.record_healed(touch, ProbeResult(False, str(error)))


class Drawn(NamedTuple):
    """A fault that was drawn, and the nodes that it is aimed at in the sense of :mod:`highwater_chaos.schedule.spare`
    (a broker cut off from all controllers: the broker). Such a node is left to it alone; a rule about messages is aimed
    at none (see :meth:`Fault.disturbs`)."""

    fault: Fault
    nodes: tuple[str, ...]


class Fault(FaultModel):
    """One kind of fault with its parameters: subclass it, with ``KIND``, in a file of its own.

    A value is immutable and may be injected several times, at the same time too. What one injection has to remember is
    in its :class:`FaultContext`. The class's docstring and its fields' descriptions are what ``kubectl explain`` shows.
    """

    LOSES_CACHE: ClassVar[bool] = False
    """Whether its targets lose what they had not synced to their disks."""
    SUFFERED: ClassVar[str] = ""
    """What a report says of its target, as in ``was killed``."""
    COUNTS_LOST_BYTES: ClassVar[bool] = False
    """Whether its evidence says how many bytes each target lost."""
    AIMED: ClassVar[bool] = True
    """Whether ``random`` leaves the nodes that it names to it alone, for as long as it is in force. Not so for a rule
    about messages: see :meth:`disturbs`."""

    @property
    def needs(self) -> frozenset[Primitive]:
        """The protocols of :data:`~highwater_chaos.backends.primitives.PRIMITIVES` that the backend must have."""
        raise NotImplementedError(f"{type(self).__name__}.needs")

    def needs_in(self, cluster: Cluster) -> frozenset[Primitive]:
        """What it needs in this cluster, if that depends on the cluster's mode."""
        del cluster
        return self.needs

    @property
    def may_lose_cache(self) -> bool:
        """Whether ``random`` may let its targets lose what they had not synced while it is in force, and do nothing
        else to them."""
        return False

    @property
    def blocks_processes(self) -> bool:
        """Whether the processes of its targets wait in the kernel: there they neither stop nor end."""
        return False

    @property
    def lasts_ns(self) -> int | None:
        """After how long the fault ends by itself; None: when it is healed."""
        return None

    @property
    def delay_ns(self) -> int:
        """How much later messages arrive; so long after its end the last of them may."""
        return 0

    def disturbs(self, cluster: Cluster) -> tuple[str, ...]:
        """Nodes that may lose their session, their place in an ISR or their quorum by it without being its targets.

        A node may be under several such faults, and under others, at a time; but for as long as one is in force, and
        for :meth:`lingers_ns` longer, ``random`` does not count on the node.
        """
        del cluster
        return ()

    def lingers_ns(self, cluster: Cluster) -> int:
        """How long after its end it may still have an effect: a message that was late by then, a wait for one."""
        del cluster
        return 0

    @property
    def replaces_disk(self) -> bool:
        """Whether its targets come back with an empty disk."""
        return False

    def suffered(self, who: str, others: Sequence[str]) -> str:
        """For a report: what happened to one of its targets. ``who``: the target, as in ``broker 1``; ``others``: the
        nodes that it hit besides."""
        del others
        return f"{who} {self.SUFFERED or f'was hit by {self.KIND}'}"

    @property
    def healed_within_ns(self) -> int:
        """How long after its undoing the probe may take to see it."""
        return CONFIRM_NS

    @classmethod
    def example(cls) -> Self:
        """A fault of this kind with as little in it as the format allows; what it needs, the kind needs."""
        return cls.model_validate({"target": Target(broker=0)})

    @classmethod
    def draw(cls, drawing: Drawing) -> Drawn | None:
        """Draw a fault of this kind with ``drawing.random`` alone; None if it can hit nothing now."""
        raise NotImplementedError(f"{cls.__name__}.draw")

    def inject(self, context: FaultContext) -> Process[None]:
        """Note the intent, act, and return once it is confirmed, or known not to have taken hold (see evidence).

        Raises:
            TargetError: a target names no node at this moment.
            BackendError: the backend could not do it; what was touched is healed then.
        """
        raise NotImplementedError(f"{type(self).__name__}.inject")

    def heal(self, context: FaultContext) -> Process[None]:
        """Undo whatever the record's intent names, also if it was only half brought about. Idempotent."""
        raise NotImplementedError(f"{type(self).__name__}.heal")

    def probe(self, context: FaultContext, touch: FaultTarget) -> ProbeResult:
        """Look once, after :meth:`heal`, whether a touched thing is as it was before. Waits for nothing.

        Raises:
            BackendError: it cannot be seen now, which is no evidence.
        """
        raise NotImplementedError(f"{type(self).__name__}.probe")


def target_of(node: str) -> Target:
    """The target that names one node."""
    role, _, index = node.rpartition("-")
    return Target.model_validate({role: int(index)})
