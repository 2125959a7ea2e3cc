"""Faults from request to end: journal first, then act, then look, then journal what was seen.

The life of a fault is described in :mod:`~.records`. Methods block; any thread may call them. One fault is changed
by one thread at a time, and a request that is repeated meanwhile waits and gets the answer of the first.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

from highwater_chaos.machine.disk.volumes import Volume
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel.linux import boot_time_ns
from highwater_chaos.machine.kernel.proc import boot_id
from highwater_chaos.machine.kernel.reset import reset_machine
from highwater_chaos.machine.runs.journal import Entry
from highwater_chaos.machine.runs.kinds import from_journal
from highwater_chaos.machine.runs.run import MachineRun
from highwater_operator.agent import metrics
from highwater_operator.agent.admission import Admission
from highwater_operator.agent.background import Background
from highwater_operator.agent.fault_log import log_change, log_refusal
from highwater_operator.agent.faults.base import Context, Fault, HealContext, PodNode
from highwater_operator.agent.faults.kinds import KINDS, read_stored
from highwater_operator.agent.faults.processes import bar, freeze, group_of
from highwater_operator.agent.machine import Machine
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.records import Evidence, FaultRecord, Records, State, now_text
from highwater_operator.agent.refusals import RefusalError
from highwater_operator.agent.volumes import Volumes

_LONGEST: Final = timedelta(hours=24)
_MOST_SAID: Final = 1000
_RESET_AFTER: Final = 1.0
"""Seconds in which the request gets its response, and the last events of the nodes are read."""


class Faults:
    """The faults of one node. ``kubelet``: where it keeps pods' volumes."""

    def __init__(
        self,
        admission: Admission,
        run: MachineRun,
        volumes: Volumes,
        records: Records,
        kubelet: Path,
        machine: Machine,
    ) -> None:
        self._admission = admission
        self._kubelet = kubelet
        self._machine = machine
        self._resetting: set[str] = set()
        """Faults for which this agent is about to reset the machine."""
        self._run = run
        self._volumes = volumes
        self._records = records
        self._locks: dict[str, threading.Lock] = {}
        self._busy = threading.Lock()
        self._background = Background()

    # --- requests ---

    def put(self, fault: str, request: Fault) -> FaultRecord:
        """Bring a fault about, once; a repetition gets what became of it.

        Raises:
            RefusalError: it is not carried out; nothing of it is there.
            MachineError, OSError: it could not be; what was half made is undone.
        """
        body = request.plain()
        with self._only(fault):
            try:
                there = self._records.get(fault)
                if there is not None:
                    _ensure_same(there, body)
                    if there.state != "failed":
                        return there
                lasts_ns = _lasts_ns(request)
                pod = self._admitted(request)
                if request.TALKS and not pod.of_cluster:
                    raise _only_ours(request, pod)
            except RefusalError as refusal:
                log_refusal(FaultRecord(fault, "failed", body), refusal)
                raise
            context = Context(pod, self._run, self._volumes, self._machine, fault, boot_time_ns() + lasts_ns)
            record = self._store(FaultRecord(fault, "injecting", body, _until(request)))
            return self._inject(context, request, record)

    def heal(self, fault: str) -> FaultRecord:
        """Undo a fault. Idempotent; one that is over stays as it ended, and one that was never asked for will never be.

        Raises:
            MachineError: something of it is still there; the guardian goes on trying at its deadline.
        """
        with self._only(fault):
            record = self._records.get(fault)
            if record is None:
                return self._store(FaultRecord(fault, "healed"))
            if record.state != "inForce":
                return record
            return self._end(record, "healed", "request")

    def get(self, fault: str, *, observe: bool = False) -> FaultRecord:
        """``observe``: with what is seen of it now. Raises ``RefusalError`` (404)."""
        record = self._records.get(fault)
        if record is None:
            raise RefusalError(
                404, f"no fault {fault} was ever heard of here", expected="an id of a fault", found=fault
            )
        if observe and record.state == "inForce":
            return record.saw(*self._observed(record))
        return record

    def pod_of(self, fault: str) -> str:
        """Uid of the pod that it is about; empty: none is known."""
        record = self._records.get(fault)
        return "" if record is None else record.pod

    def all(self) -> list[FaultRecord]:
        return list(self._records.all())

    def node(self, pod: Pod) -> PodNode:
        """Return the parts of the node at which probes look."""
        return PodNode(pod, self._run, self._volumes, self._machine)

    # --- what time does ---

    def recover(self) -> list[str]:
        """After a start: what the agent before this one was in the middle of is undone. Returns what was done."""
        notes = []
        for record in self._records.all():
            if record.state == "injecting":
                with self._only(record.id):
                    error = "the agent ended while it injected this; it may have happened, and is undone"
                    notes.append(f"fault {record.id} ({record.kind}): {error}")
                    if not self._recovered(replace(record, error=error)):
                        notes.append(f"fault {record.id}: not undone yet; tried again")
        notes += [f"left out: {what}" for what in self._records.unreadable]
        self._records.forget_old()
        return notes

    def _recovered(self, record: FaultRecord) -> bool:
        # One that waits for a pod's answer, or that cannot be undone now, must not keep the agent from starting.
        try:
            if KINDS.get(record.kind, Fault).TALKS:
                raise MachineError(record.error)
            self._end(record, "failed", "restart")
        except Exception as error:  # of this fault alone
            self._store(replace(record, state="inForce", until=now_text(), error=_sentence(error)))
            return False
        return True

    def tick(self) -> None:
        """Look after what is in force: note what the guardian has undone, undo what is overdue.

        What takes a pod's answer, or is done to its disk, is looked after beside this, one thread a pod.

        Raises:
            MachineError: there is no guardian, or the run's journal cannot be read; all else has been looked after.
        """
        in_force = overdue = 0
        talking: dict[str, list[str]] = {}
        failure = self._guarded()
        for found in self._records.all(over=False):
            if found.state != "inForce":
                continue
            in_force += 1
            kind = KINDS.get(found.kind, Fault)
            if kind.TALKS or kind.ON_DISK:
                talking.setdefault(found.pod, []).append(found.id)
                overdue += _left_ns(found.until) <= 1
            else:
                overdue += self._look_after(found.id)
        for pod, faults in talking.items():
            self._background.begin(pod, partial(self._look_after_all, faults))
        metrics.IN_FORCE.set(in_force)
        metrics.OVERDUE.set(overdue)
        if failure is not None:
            raise failure

    def _guarded(self) -> Exception | None:
        try:
            self._run.ensure_guarded()
            self._run.outstanding()  # takes the run's lock, as each deadline must
        except (MachineError, OSError) as error:
            return error
        return None

    def _look_after_all(self, faults: list[str]) -> None:
        for fault in faults:
            self._look_after(fault)

    def _look_after(self, fault: str) -> bool:
        # Whether it could not be undone. Whatever is wrong with one, the others are looked after.
        with self._only(fault):
            try:
                record = self._records.get(fault)
                if record is not None and record.state == "inForce":
                    self._look_at(record)
            except Exception as error:
                if record is not None and record.error != (sentence := _sentence(error)):
                    self._store(replace(record, error=sentence))
                return True
        return False

    # --- inside ---

    def _admitted(self, request: Fault) -> Pod:
        try:
            return self._admission.injectable(request.pod)
        except RefusalError:
            metrics.INJECTIONS.labels(request.kind, "refused").inc()
            raise

    def _store(self, record: FaultRecord, by: str = "") -> FaultRecord:
        """Keep a record, and log what has become of its fault."""
        try:
            before = self._records.get(record.id)
        except (MachineError, OSError):  # it is replaced now
            before = None
        stored = self._records.put(record)
        log_change(before, stored, by)
        return stored

    def _inject(self, context: Context, request: Fault, record: FaultRecord) -> FaultRecord:
        began = time.monotonic()
        down = request.keeps_down_ns is not None
        barring = replace(context, id=_barred(context.id), until_ns=boot_time_ns() + _left_ns(record.until))
        try:
            if down and context.pod.of_cluster:
                bar(barring, context.id, self._kubelet)
            group = group_of(barring) if down and not context.pod.of_cluster else None
            with self._disks_held(request, context.pod):
                evidence = request.inject(context)
            if group is not None and all(one.confirmed for one in evidence):  # what lives on is not killed for it
                evidence.append(freeze(barring, group))
        except Exception as error:  # whatever it is: what was half made is undone
            refused = isinstance(error, RefusalError)
            metrics.INJECTIONS.labels(request.kind, "refused" if refused else "failed").inc()
            left = self._undone(context.id)
            failures = "; ".join([str(error), *left])
            self._store(replace(record, state="inForce" if left else "failed", error=failures))
            raise
        metrics.INJECTIONS.labels(request.kind, "injected").inc()
        metrics.INJECTION_SECONDS.labels(request.kind).observe(time.monotonic() - began)
        record = replace(record, error="").saw(*evidence)
        if not request.OVER_AT_ONCE:
            stored = self._store(replace(record, state="inForce"))
            if request.RESETS:
                self._resetting.add(record.id)
                threading.Timer(_RESET_AFTER, self._reset, (record.id,)).start()
            return stored
        self._ensure(context.id, self._run.undo_tagged(context.id).left)
        return self._store(replace(record, state="inForce" if down else "done"))

    def _look_at(self, record: FaultRecord) -> bool:
        """Whether it is over now."""
        request = read_stored(record.request)
        if request.RESETS:
            return self._look_at_reset(record)
        if _left_ns(record.until) <= 1:
            self._end(record, "done" if request.OVER_AT_ONCE else "expired", "deadline")
            return True
        entries = self._run.tagged(record.id)
        if not request.OVER_AT_ONCE and all(entry.undone_by is not None for entry in entries):
            self._end(record, "expired", "deadline")
            return True
        return False

    # --- resets of the machine ---

    def reset_by(self) -> str | None:
        """Return the fault by which the machine was reset before the agent started; None: none that is known."""
        for record in self._records.all(over=False):
            if _boot_before(record) not in ("", boot_id()):
                return record.id
        return None

    def _reset(self, fault: str) -> None:
        """Reset the machine, unless the fault was undone meanwhile. Does not return if the kernel obeys."""
        with self._only(fault):
            record = self._records.get(fault)
            if record is not None and record.state == "inForce":
                try:
                    reset_machine()
                except (MachineError, OSError) as error:
                    self._recovered(replace(record, error=f"the machine was not reset: {error}"))
        self._resetting.discard(fault)

    def _look_at_reset(self, record: FaultRecord) -> bool:
        """Whether it is over now: the machine has booted again, and its node is Ready."""
        before, now = _boot_before(record), boot_id()
        if before == now:
            if record.id in self._resetting:
                return False
            return self._recovered(replace(record, error="the agent ended before it reset the machine"))
        if _boots(record)[-1] != now:
            saw = f"machine {self._machine.node} has booted again: it is boot {now}, and was {before}"
            record = self._store(record.saw(Evidence(saw, details={"boot": now})))
        why = self._machine.why_not_ready()
        if why is None:
            seen = Evidence(f"node {self._machine.node} is Ready in boot {now}", phase="heal")
            self._store(replace(record, state="done").saw(seen), "boot")
        elif _left_ns(record.until) <= 1:
            seen = Evidence(f"past the deadline: {why}", False, "heal")
            self._store(replace(record, state="expired").saw(seen), "deadline")
        return why is None

    def _end(self, record: FaultRecord, state: State, by: str) -> FaultRecord:
        began = time.monotonic()
        request = read_stored(record.request)
        seen = self._observed(record) if by == "request" else []
        entries = self._run.tagged(record.id)
        with self._disks_held(request, entries):
            self._ensure(record.id, self._undone(record.id))
            entries = self._run.tagged(record.id)
            try:
                seen += request.healed(self._heal_context(entries))
            except Exception as error:
                seen.append(Evidence(f"the end could not be seen: {_sentence(error)}", False, "heal"))
        all_entries = [*entries, *self._run.tagged(_barred(record.id))]
        who = sorted({entry.undone_by for entry in all_entries if entry.undone_by})
        undone = f"undone by {', '.join(who)}" if who else "there was nothing to undo any more"
        seen.append(Evidence(f"nothing of it is left; {undone}", phase="heal"))
        metrics.HEALS.labels(record.kind, by).inc()
        metrics.HEAL_SECONDS.labels(record.kind).observe(time.monotonic() - began)
        return self._store(replace(record, state=state).saw(*seen), by)

    def _undone(self, fault: str) -> list[str]:
        """Undo all of a fault, the barrier last: until then no node starts on what is half undone. What is left."""
        return [*self._run.undo_tagged(fault).left, *self._run.undo_tagged(_barred(fault)).left]

    def _ensure(self, fault: str, left: list[str]) -> None:
        if left:
            raise MachineError(f"fault {fault} is not wholly undone: {'; '.join(left)}")

    def _observed(self, record: FaultRecord) -> list[Evidence]:
        context = self._heal_context([entry for entry in self._run.tagged(record.id) if entry.undone_by is None])
        try:
            return read_stored(record.request).observe(context)
        except Exception as error:
            return [Evidence(f"it could not be looked at: {_sentence(error)}", False)]

    def _heal_context(self, entries: list[Entry]) -> HealContext:
        return HealContext(self._run, self._volumes, [from_journal(one.kind, one.resource) for one in entries])

    @contextmanager
    def _disks_held(self, request: Fault, of: Pod | list[Entry]) -> Iterator[None]:
        # What was made says which volume it was: the pod may have gone, and its claim to another one.
        if not request.ON_DISK:
            yield
            return
        if isinstance(of, Pod):
            names = {*self._volumes.all_of_pod(of)}
        else:
            volumes = [getattr(from_journal(one.kind, one.resource), "volume", None) for one in of]
            names = {one.name for one in volumes if isinstance(one, Volume)}
        with ExitStack() as held:
            for name in sorted(names):
                held.enter_context(self._volumes.busy(name))
            yield

    @contextmanager
    def _only(self, fault: str) -> Iterator[None]:
        with self._busy:
            lock = self._locks.setdefault(fault, threading.Lock())
        with lock:
            yield


def _boots(record: FaultRecord) -> list[str]:
    """The boots of the machine that a reset has seen, the first one first."""
    return [str(one.details["boot"]) for one in record.evidence if "boot" in one.details]


def _boot_before(record: FaultRecord) -> str:
    """The boot in which the machine was to be reset; empty: it was not."""
    resets = record.state == "inForce" and KINDS.get(record.kind, Fault).RESETS
    return next(iter(_boots(record)), "") if resets else ""


def _ensure_same(there: FaultRecord, body: dict[str, object]) -> None:
    if there.request is None:
        raise RefusalError(
            409,
            f"fault {there.id} was healed before it was asked for",
            expected="an id that was not healed",
            found="healed",
        )
    different = sorted(name for name in {*there.request, *body} if there.request.get(name) != body.get(name))
    if different:
        raise RefusalError(
            409,
            f"id {there.id} was used for another fault",
            expected=", ".join(f"{name}={there.request.get(name)!r}" for name in different),
            found=", ".join(f"{name}={body.get(name)!r}" for name in different),
        )


def _only_ours(request: Fault, pod: Pod) -> RefusalError:
    what = f"{request.kind} is made by the program of a node, and pod {pod.namespace}/{pod.name} is of no LogCluster"
    return RefusalError(422, what, expected="a pod of a LogCluster", found="a pod of other software")


def _lasts_ns(request: Fault) -> int:
    lasts = request.deadline - datetime.now(UTC)
    if not timedelta() < lasts <= _LONGEST:
        found = f"{request.deadline.isoformat()}, {lasts.total_seconds():.1f} s from now"
        raise RefusalError(422, "no deadline to work with", expected="within the next 24 hours", found=found)
    return int(lasts.total_seconds() * 1e9)


def _sentence(error: Exception) -> str:
    return (
        str(error) if isinstance(error, MachineError | OSError | RefusalError) else f"{type(error).__name__}: {error}"
    )[:_MOST_SAID]


def _barred(fault: str) -> str:
    """The tag of what keeps the node down after a fault that is over at once; no id has a colon."""
    return f"{fault}:down"


def _until(request: Fault) -> str:
    until = request.deadline.astimezone(UTC)
    if (down := request.keeps_down_ns) is not None:
        until = min(until, datetime.now(UTC) + timedelta(microseconds=down / 1000))
    return until.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _left_ns(until: str) -> int:
    left = datetime.fromisoformat(until) - datetime.now(UTC)
    return max(1, int(left.total_seconds() * 1e9))
