"""Faults as the backend asks for them: written down, asked for, confirmed, healed, with the outcome written down.

A fault that an agent refuses, or whose probe did not see it, is a
:class:`~highwater_chaos.backends.protocol.BackendError`: the fault manager records that it did not take hold, and
undoes what else the fault has touched. What could not be healed stays open in the journal and is an inconclusive
reason.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from highwater_chaos.backends.kubernetes.agents import OVER, AgentClient, AgentError
from highwater_chaos.backends.kubernetes.journal import StatusJournal
from highwater_chaos.backends.protocol import BackendError
from highwater_chaos.kube.client import UnavailableError
from highwater_chaos.kube.kinds import Json
from highwater_runtime.ports import SECOND

LONGEST_NS: Final = 23 * 3600 * SECOND
"""An agent takes no deadline that is farther away than a day."""
_THREADS: Final = 16
_RETRY_EVERY: Final = 3.0


@dataclass(frozen=True, slots=True)
class PodPlace:
    """A pod as faults are asked for it, and the agent of its node."""

    namespace: str
    name: str
    uid: str
    agent: AgentClient
    container: str | None = None
    """The container that is the node; None: ``node``."""
    machine: str = ""
    """Kubernetes' node where it is; empty: not known."""
    volume: str | None = None
    """The pod's volume with the data; None: its only claim."""

    def reference(self) -> Json:
        """Return how requests to an agent name the pod."""
        return {"namespace": self.namespace, "name": self.name, "uid": self.uid, **self._parts()}

    def look(self, probe: str, result: Any, parameters: Mapping[str, Any] = MappingProxyType({})) -> Any:
        """What the agent's probe sees of its node, as a ``result`` (a type). Raises ``AgentError``."""
        named = {} if self.container is None else {"uid": self.uid}
        return self.agent.look(self.namespace, self.name, probe, result, {**named, **self._parts(), **parameters})

    def _parts(self) -> dict[str, str]:
        found = {"container": self.container, "volume": self.volume}
        return {name: one for name, one in found.items() if one is not None}


@dataclass(slots=True)
class InjectedFault:
    """A fault that an agent has. ``record``: the agent's latest record of it."""

    id: str
    place: PodPlace
    record: Json
    healed: bool = False

    def details(self, name: str, phase: str | None = None) -> Any:
        """Return the detail ``name`` of the latest evidence that has it; None if no evidence has it."""
        for one in reversed(self.record.get("evidence") or []):
            if name in (one.get("details") or {}) and (phase is None or one.get("phase") == phase):
                return one["details"][name]
        return None

    @property
    def seen_at_ns(self) -> int | None:
        """When the agent saw that it took hold, by its machine's clock, since the epoch."""
        seen = [one for one in self.record.get("evidence") or [] if one.get("phase") == "inject"]
        return None if not seen else int(datetime.fromisoformat(seen[-1]["at"]).timestamp() * 1e9)


class FaultClient:
    """The faults of one run. Safe to use from several threads.

    Args:
        journal: where each fault is written down first.
        longest_ns: within which every fault ends, unless :meth:`all_end_within` says otherwise.
    """

    def __init__(self, journal: StatusJournal, longest_ns: int) -> None:
        self._journal = journal
        self.all_end_within(longest_ns)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="fault")
        self._faults: dict[str, InjectedFault] = {}
        self._unhealed: dict[str, str] = {}
        self._again: dict[str, Future[None]] = {}
        self._tried = 0.0
        self._recording = threading.Lock()
        self._uncertain: list[str] = []

    def all_end_within(self, ns: int) -> None:
        """Let no fault that begins from now on last longer than until ``ns`` from now."""
        self._ends_ns = time.monotonic_ns() + ns

    @property
    def longest_ns(self) -> int:
        """How long a fault may last that begins now and has no end of its own."""
        return max(SECOND, min(self._ends_ns - time.monotonic_ns(), LONGEST_NS))

    def inject(
        self,
        place: PodPlace,
        kind: str,
        what: str,
        lasts_ns: int | None = None,
        parameters: Mapping[str, Any] = MappingProxyType({}),
    ) -> InjectedFault:
        """Bring a fault about and see it.

        Raises:
            BackendError: it did not take hold, or was not seen to; it is undone, or open in the journal.
        """
        lasts = self.longest_ns if lasts_ns is None else max(SECOND, min(lasts_ns, self.longest_ns))
        try:
            fault, deadline = self._journal.intend(what, [place.name], lasts, place.machine)
        except UnavailableError as error:
            raise BackendError(
                f"{what}: it could not be written down first, so it was not asked for: {error}"
            ) from error
        body = {"kind": kind, "pod": place.reference(), "deadline": deadline, **parameters}
        try:
            record = place.agent.put_fault(fault, body)
        except AgentError as error:
            # A refusal left nothing. With no answer, or an error half-way, something may be there: the intent stays.
            if 400 <= error.status < 500:
                self._journal.note(fault, "failed", str(error))
            else:
                self._undo_uncertain(fault, place, str(error))
            raise BackendError(f"{what}: {error}") from error
        made = self._faults[fault] = InjectedFault(fault, place, record)
        evidence = "; ".join(str(one["saw"]) for one in record.get("evidence") or [])
        self._journal.note(fault, "done", evidence)
        wrong = [one["saw"] for one in record.get("evidence") or [] if not one["confirmed"]]
        if not evidence or record.get("error"):
            wrong.append(f"the agent saw nothing of it: it is {record['state']}; {record.get('error', '')}")
        if wrong:
            self.heal(made)
            raise BackendError(f"{what}: {'; '.join(wrong)}")
        return made

    def inject_soon(
        self,
        place: PodPlace,
        kind: str,
        what: str,
        lasts_ns: int | None = None,
        parameters: Mapping[str, Any] = MappingProxyType({}),
    ) -> Future[InjectedFault]:
        """The same, on another thread."""
        return self._threads.submit(self.inject, place, kind, what, lasts_ns, parameters)

    def heal(self, fault: InjectedFault) -> None:
        """Undo a fault; idempotent. What does not work (a rule in a node that is paused just now) is tried again later
        (:meth:`retry`), and makes the run inconclusive until then."""
        if self._undo(fault):
            self._note_undone(fault)

    def _undo(self, fault: InjectedFault) -> bool:
        """By its agent; whether it was undone just now."""
        if fault.healed:
            return False
        try:
            record = fault.place.agent.heal_fault(fault.id)
            if record["state"] not in OVER:
                raise AgentError(f"it is still {record['state']}: {record.get('error', '')}", 500)
        except AgentError as error:
            self._unhealed[fault.id] = f"fault {fault.id} on {fault.place.name} could not be healed: {error}"
            return False
        with self._recording:
            fault.record, fault.healed = record, True
        self._unhealed.pop(fault.id, None)
        return True

    def _note_undone(self, fault: InjectedFault) -> None:
        seen = [str(one["saw"]) for one in fault.record.get("evidence") or [] if one.get("phase") == "heal"]
        self._journal.note(fault.id, "undone", "; ".join(seen))

    def seen_healed(self, fault: InjectedFault) -> str | None:
        """What the agent saw of the fault after it had undone it; None: that nothing of it is left."""
        if not fault.healed:
            return self._unhealed.get(fault.id, f"fault {fault.id} on {fault.place.name} is in force")
        seen = [one for one in fault.record.get("evidence") or [] if one.get("phase") == "heal"]
        wrong = [str(one["saw"]) for one in seen if not one["confirmed"]]
        return "; ".join(wrong) if wrong else None if seen else f"the agent looked at nothing after fault {fault.id}"

    def heal_soon(self, fault: InjectedFault) -> Future[None]:
        """The same, on another thread."""
        return self._threads.submit(self.heal, fault)

    def look(self, fault: InjectedFault) -> InjectedFault:
        """With what the agent sees of it now; as it was where the agent does not answer."""
        if not fault.healed:
            with contextlib.suppress(AgentError):
                # What is not seen is not confirmed: the caller judges by what was seen last.
                seen = fault.place.agent.fault(fault.id)
                with self._recording:
                    if seen and not fault.healed:  # or it is from before the heal, and lacks what was seen then
                        fault.record = seen
        return fault

    def look_soon(self, fault: InjectedFault) -> Future[InjectedFault]:
        """The same, on another thread."""
        return self._threads.submit(self.look, fault)

    def retry(self) -> None:
        """Now and then: heal what could not be healed, on other threads."""
        if self._unhealed and time.monotonic() - self._tried > _RETRY_EVERY:
            self._tried = time.monotonic()
            for fault in list(self._unhealed):
                if fault not in self._again or self._again[fault].done():
                    self._again[fault] = self.heal_soon(self._faults[fault])

    def inconclusive_reasons(self) -> list[str]:
        """What is, or may be, still in force although it should not be."""
        return [*self._uncertain, *self._unhealed.values()]

    def heal_all(self) -> list[str]:
        """Undo whatever is left; returns ids of what still is. All of it is undone before any of it is written down: a
        journal that cannot be written keeps no fault in force."""
        undone = [fault for fault in list(self._faults.values()) if self._undo(fault)]
        for fault in undone:
            self._note_undone(fault)
        return self._journal.open_faults

    def close(self) -> None:
        """Waits for what is under way."""
        self._threads.shutdown(wait=True)

    def _undo_uncertain(self, fault: str, place: PodPlace, why: str) -> None:
        try:
            place.agent.heal_fault(fault)
        except AgentError as error:
            self._uncertain.append(
                f"fault {fault} on {place.name} may be in force ({why}), and was not undone: {error}"
            )
            return
        self._journal.note(fault, "undone", f"undone, since it was not certain: {why}")
