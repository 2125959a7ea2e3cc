"""Faults from request to end: journal first, then act, then look, then journal what was seen.

The life of a fault is described in :mod:`~.records`. Methods block; any thread may call them. One fault is changed
by one thread at a time, and a request that is repeated meanwhile waits and gets the answer of the first.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.journal import Entry
from highwater_chaos.machine.kinds import from_journal
from highwater_chaos.machine.run import MachineRun
from highwater_operator.agent import metrics
from highwater_operator.agent.faults.base import Context, HealContext
from highwater_operator.agent.faults.kinds import kind_of, restart_after
from highwater_operator.agent.faults.processes import bar
from highwater_operator.agent.pods import Pods, admitted
from highwater_operator.agent.records import Evidence, FaultRecord, Records, State
from highwater_operator.agent.refusals import Refusal
from highwater_operator.agent.requests import (
    DiskRequest,
    DiskWipeRequest,
    FaultRequest,
    KillRequest,
    PowerLossRequest,
    StopRequest,
    plain,
    read_stored,
)
from highwater_operator.agent.volumes import Volumes

_LONGEST: Final = timedelta(hours=24)


class Faults:
    """The faults of this node. ``kubelet``: where it keeps pods' volumes."""

    def __init__(
        self, node: str, run: MachineRun, pods: Pods, volumes: Volumes, records: Records, kubelet: Path
    ) -> None:
        self._node = node
        self._kubelet = kubelet
        self._run = run
        self._pods = pods
        self._volumes = volumes
        self._records = records
        self._locks: dict[str, threading.Lock] = {}
        self._busy = threading.Lock()

    # --- requests ---

    def put(self, fault: str, request: FaultRequest) -> FaultRecord:
        """Bring a fault about, once; a repetition gets what became of it.

        Raises:
            Refusal: it is not carried out; nothing of it is there.
            MachineError, OSError: it could not be; what was half made is undone.
        """
        body = plain(request)
        with self._only(fault):
            there = self._records.get(fault)
            if there is not None:
                _ensure_same(there, body)
                if there.state != "failed":
                    return there
            lasts = request.deadline - datetime.now(UTC)
            if not timedelta() < lasts <= _LONGEST:
                found = f"{request.deadline.isoformat()}, {lasts.total_seconds():.1f} s from now"
                raise Refusal(422, "no deadline to work with", expected="within the next 24 hours", found=found)
            try:
                pod = admitted(self._pods, request.pod, self._node)
            except Refusal:
                metrics.INJECTIONS.labels(request.kind, "refused").inc()
                raise
            lasts_ns = int(lasts.total_seconds() * 1e9)
            context = Context(fault, pod, self._run, self._volumes, lasts_ns)
            record = self._records.put(FaultRecord(fault, "injecting", body, _until(request)))
            return self._inject(context, request, record)

    def heal(self, fault: str) -> FaultRecord:
        """Undo a fault. Idempotent; one that is over stays as it ended, and one that was never asked for will never be.

        Raises:
            MachineError: something of it is still there; the guardian goes on trying at its deadline.
        """
        with self._only(fault):
            record = self._records.get(fault)
            if record is None:
                return self._records.put(FaultRecord(fault, "healed"))
            if record.state != "inForce":
                return record
            return self._end(record, "healed", "request")

    def get(self, fault: str, *, observe: bool = False) -> FaultRecord:
        """``observe``: with what is seen of it now. Raises ``Refusal`` (404)."""
        record = self._records.get(fault)
        if record is None:
            raise Refusal(404, f"no fault {fault} was ever heard of here", expected="an id of a fault", found=fault)
        if observe and record.state == "inForce":
            return record.saw(*self._observed(record))
        return record

    def all(self) -> list[FaultRecord]:
        """By id."""
        return list(self._records.all())

    # --- what time does ---

    def recover(self) -> list[str]:
        """After a start: what the agent before this one was in the middle of is undone. Returns what was done."""
        failures = []
        for record in self._records.all():
            if record.state == "injecting":
                with self._only(record.id):
                    error = "the agent ended while it injected this; it may have happened, and is undone"
                    self._end(replace(record, error=error), "failed", "restart")
                    failures.append(f"fault {record.id} ({record.kind}): {error}")
        self._records.forget_old()
        return failures

    def tick(self) -> None:
        """Look after what is in force: note what the guardian has undone, undo what is overdue."""
        self._run.ensure_guarded()
        in_force = overdue = 0
        for found in self._records.all():
            if found.state != "inForce":
                continue
            with self._only(found.id):
                record = self._records.get(found.id)
                if record is None or record.state != "inForce":
                    continue
                try:
                    in_force += not self._look_at(record)
                except (MachineError, OSError) as error:
                    in_force, overdue = in_force + 1, overdue + 1
                    if record.error != str(error):
                        self._records.put(replace(record, error=str(error)))
        metrics.IN_FORCE.set(in_force)
        metrics.OVERDUE.set(overdue)

    # --- inside ---

    def _inject(self, context: Context, request: FaultRequest, record: FaultRecord) -> FaultRecord:
        began = time.monotonic()
        down = restart_after(request) is not None
        try:
            if down:
                barring = replace(context, id=_barred(context.id), lasts_ns=_left_ns(record.until))
                bar(barring, context.id, self._kubelet)
            with self._disks_held(request):
                evidence = kind_of(request).inject(context)
        except (Refusal, MachineError, OSError) as error:
            refused = isinstance(error, Refusal)
            metrics.INJECTIONS.labels(request.kind, "refused" if refused else "failed").inc()
            left = self._undone(context.id)
            failures = "; ".join([str(error), *left])
            self._records.put(replace(record, state="inForce" if left else "failed", error=failures))
            raise
        metrics.INJECTIONS.labels(request.kind, "injected").inc()
        metrics.INJECTION_SECONDS.labels(request.kind).observe(time.monotonic() - began)
        record = replace(record, error="").saw(*evidence)
        if not _is_over_at_once(request):
            return self._records.put(replace(record, state="inForce"))
        self._ensure(context.id, self._run.undo_tagged(context.id).left)
        return self._records.put(replace(record, state="inForce" if down else "done"))

    def _look_at(self, record: FaultRecord) -> bool:
        """Whether it is over now."""
        request = read_stored(record.request)
        if _left_ns(record.until) <= 1:
            self._end(record, "done" if _is_over_at_once(request) else "expired", "deadline")
            return True
        entries = self._run.tagged(record.id)
        if not _is_over_at_once(request) and all(entry.undone_by is not None for entry in entries):
            self._end(record, "expired", "deadline")
            return True
        return False

    def _end(self, record: FaultRecord, state: State, by: str) -> FaultRecord:
        began = time.monotonic()
        request = read_stored(record.request)
        seen = self._observed(record) if by == "request" else []
        with self._disks_held(request):
            self._ensure(record.id, self._undone(record.id))
            entries = self._run.tagged(record.id)
            try:
                seen += kind_of(request).healed(self._heal_context(entries))
            except (MachineError, OSError, Refusal) as error:
                seen.append(Evidence(f"the end could not be seen: {error}", False, "heal"))
        all_entries = [*entries, *self._run.tagged(_barred(record.id))]
        who = sorted({entry.undone_by for entry in all_entries if entry.undone_by})
        seen.append(
            Evidence(f"nothing of it is left; undone by {', '.join(who) or 'no one: it left nothing'}", phase="heal")
        )
        metrics.HEALS.labels(record.kind, by).inc()
        metrics.HEAL_SECONDS.labels(record.kind).observe(time.monotonic() - began)
        return self._records.put(replace(record, state=state).saw(*seen))

    def _undone(self, fault: str) -> list[str]:
        """Undo all of a fault, the barrier last: until then no node starts on what is half undone. What is left."""
        return [*self._run.undo_tagged(fault).left, *self._run.undo_tagged(_barred(fault)).left]

    def _ensure(self, fault: str, left: list[str]) -> None:
        if left:
            raise MachineError(f"fault {fault} is not wholly undone: {'; '.join(left)}")

    def _observed(self, record: FaultRecord) -> list[Evidence]:
        context = self._heal_context([entry for entry in self._run.tagged(record.id) if entry.undone_by is None])
        try:
            return kind_of(read_stored(record.request)).observe(context)
        except (MachineError, OSError) as error:
            return [Evidence(f"it could not be looked at: {error}", False)]

    def _heal_context(self, entries: list[Entry]) -> HealContext:
        return HealContext(self._run, self._volumes, [from_journal(one.kind, one.resource) for one in entries])

    @contextmanager
    def _disks_held(self, request: FaultRequest) -> Iterator[None]:
        if isinstance(request, PowerLossRequest | DiskWipeRequest | DiskRequest):
            with self._volumes.busy:
                yield
        else:
            yield

    @contextmanager
    def _only(self, fault: str) -> Iterator[None]:
        with self._busy:
            lock = self._locks.setdefault(fault, threading.Lock())
        with lock:
            yield


def _ensure_same(there: FaultRecord, body: dict[str, object]) -> None:
    if there.request is None:
        raise Refusal(
            409,
            f"fault {there.id} was healed before it was asked for",
            expected="an id that was not healed",
            found="healed",
        )
    different = sorted(name for name in {*there.request, *body} if there.request.get(name) != body.get(name))
    if different:
        raise Refusal(
            409,
            f"id {there.id} was used for another fault",
            expected=", ".join(f"{name}={there.request.get(name)!r}" for name in different),
            found=", ".join(f"{name}={body.get(name)!r}" for name in different),
        )


def _barred(fault: str) -> str:
    """The tag of what keeps the node down after a fault that is over at once; no id has a colon."""
    return f"{fault}:down"


def _is_over_at_once(request: FaultRequest) -> bool:
    return isinstance(request, PowerLossRequest | KillRequest | StopRequest | DiskWipeRequest)


def _until(request: FaultRequest) -> str:
    until = request.deadline.astimezone(UTC)
    if (down := restart_after(request)) is not None:
        until = min(until, datetime.now(UTC) + timedelta(microseconds=down / 1000))
    return until.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _left_ns(until: str) -> int:
    left = datetime.fromisoformat(until) - datetime.now(UTC)
    return max(1, int(left.total_seconds() * 1e9))
