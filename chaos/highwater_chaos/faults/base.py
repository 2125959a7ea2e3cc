"""What every fault is, and what is written down about it.

A fault is one value that carries its inject, its heal and how each is confirmed. **Confirmed or it did not happen**:
an injection records evidence that it took effect and a heal that it is gone; one that cannot be confirmed makes the
verdict inconclusive, never pass. Evidence is what a probe saw, not that a command returned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar, Final, Protocol

from highwater_chaos.backends.protocol import Backend, Capability
from highwater_chaos.backends.view import ClusterView
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.targets import Target
from highwater_chaos.faults.targets import resolve
from highwater_chaos.schedule.process import Process, Until
from highwater_runtime.ports import SECOND

CONFIRM_NS: Final = 30 * SECOND
"""How long a probe may take to see that a fault took hold, or that it is gone."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a probe saw at ``time_ns`` of run time. ``ok`` is false where it did not see what it should have."""

    time_ns: int
    what: str
    ok: bool
    data: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """As a line of ``faults.jsonl`` has it."""
        return {"time_ns": self.time_ns, "what": self.what, "ok": self.ok, **({"data": self.data} if self.data else {})}


@dataclass(slots=True)
class FaultRecord:
    """One fault's life. Times in ns of run time, None for what has not come about."""

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
    inject_evidence: list[Evidence] = field(default_factory=list)
    heal_evidence: list[Evidence] = field(default_factory=list)
    error: str | None = None

    @property
    def confirmed(self) -> bool:
        """Whether it is certain that the fault took hold."""
        return self.error is None and bool(self.inject_evidence) and all(item.ok for item in self.inject_evidence)

    @property
    def healed(self) -> bool:
        """Whether it is certain that the fault is gone."""
        return self.healed_ns is not None and all(item.ok for item in self.heal_evidence)

    def doubt(self) -> str | None:
        """Why the run cannot be judged because of this fault; None where everything is confirmed."""
        title = f"fault {self.id} ({self.name or self.kind})"
        if self.error is not None:
            return f"{title} did not take hold: {self.error}"
        if not self.confirmed:
            seen = next((item.what for item in self.inject_evidence if not item.ok), "no evidence")
            return f"{title} never took hold: {seen}"
        if not self.healed:
            seen = next((item.what for item in self.heal_evidence if not item.ok), "no evidence")
            return f"{title} is not known to be healed: {seen}"
        return None

    def to_dict(self) -> dict[str, Any]:
        """One line of ``faults.jsonl``."""
        return {
            "id": self.id,
            "name": self.name,
            "kind": self.kind,
            "parameters": self.parameters,
            "targets": list(self.targets),
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
    """What a fault may use: the backend's primitives, the view of the cluster, its own randomness and record."""

    backend: Backend
    cluster: Cluster
    view: ClusterView
    random: Random
    record: FaultRecord

    @property
    def undone_by_ns(self) -> int | None:
        """The run time at which the machine's guardian undoes the fault, if the harness has not done so.

        Some time after the deadline. The harness itself ends a fault in time, and where it is gone, the guardian ends
        everything at once; but a short fault on a busy machine must not be undone before it is seen to have taken hold.
        """
        deadline = self.record.deadline_ns
        return None if deadline is None else deadline + CONFIRM_NS

    def resolve(self, target: Target | None) -> tuple[str, ...]:
        """Resolve a target (None: ``()``, meaning any node) and note the nodes in the record."""
        if target is None:
            return ()
        nodes = resolve(target, self.cluster, self.view, self.random)
        self.record.targets = tuple(dict.fromkeys((*self.record.targets, *nodes)))
        return nodes

    def look(self) -> None:
        """Take what has happened until now into the view, in the middle of a turn."""
        self.view.observe(self.backend.events_since(self.view.next_seq))

    def saw(self, what: str, ok: bool = True, **data: Any) -> None:
        """Evidence about the injection, seen now."""
        self.record.inject_evidence.append(Evidence(self.backend.now_ns(), what, ok, data))

    def saw_healed(self, what: str, ok: bool = True, **data: Any) -> None:
        """Evidence about the heal, seen now."""
        self.record.heal_evidence.append(Evidence(self.backend.now_ns(), what, ok, data))

    def confirm(self, predicate: Callable[[], bool], what: str, timeout_ns: int = CONFIRM_NS) -> Process[bool]:
        """Wait until a probe succeeds; returns whether it did in time."""
        if predicate():
            return True
        met = yield Until(predicate, timeout_ns, what)
        return met


class Fault(Protocol):
    """One kind of fault with its parameters. Injected at most once, healed any number of times."""

    KIND: ClassVar[str]

    @property
    def needs(self) -> frozenset[Capability]:
        """Primitives that the backend must have."""

    @property
    def lasts_ns(self) -> int | None:
        """After how long the fault ends by itself; None: when it is healed."""

    def inject(self, context: FaultContext) -> Process[None]:
        """Bring the fault about and return once it is confirmed, or known not to have come about (see evidence).

        Raises:
            TargetError: where a target names no node at this moment.
        """

    def heal(self, context: FaultContext) -> Process[None]:
        """Undo the fault, also one that was only half brought about; return once that is confirmed. Idempotent."""
