"""The experiment's status as the runner writes it: phases, and the journal of faults.

**Write-ahead.** A fault's id, pod and deadline are in the API server before an agent is asked for it (``intent``); what
came of it follows (``done``, ``failed``), and that it is gone (``undone``). Writes are checked against the object's
version; if another writer was faster, the object is read again, and a runner that finds its experiment being
aborted or ended stops: from then on the operator heals, and nothing new may be injected.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from highwater_chaos.kube.client import ConflictError, Kube, KubeError, NotFoundError, UnavailableError
from highwater_chaos.kube.conditions import condition_of, stamp
from highwater_chaos.kube.kinds import CHAOS_EXPERIMENT, Json

MOST_ENTRIES: Final = 480
RUNNER_MANAGER: Final = "highwater-runner"
"""Field manager of what the Jobs of an experiment write."""
RUNNER_PATIENCE: Final = 60.0
"""Seconds for which they ask an API server again."""
_LONGEST: Final = 1000
_LOOK_EVERY: Final = 3.0
FINAL_PHASES: Final = ("Completed", "Refused")
"""Phases after which nothing more happens to an experiment: it had its verdict, or was never begun."""
GIVES_WAY: Final = "GivesWay"
"""Reason of ``SteadyState`` of an experiment that gives back what it holds, and waits for another one's resources."""
_TAKEN_OVER: Final = ("Aborting", *FINAL_PHASES)


class TakenOverError(Exception):
    """The experiment is no longer this runner's: it was deleted, aborted or ended, or gives way."""


class StatusJournal:
    """Status of one experiment (by its uid: one that was created again under the same name is another). Thread-safe."""

    def __init__(self, api: Kube, namespace: str, name: str, uid: str) -> None:
        self._api = api
        self._namespace = namespace
        self._name = name
        self.uid = uid
        self._entries: list[Json] = []
        self._number = 0
        self._lock = threading.RLock()
        self.extra: Callable[[], Json] = dict
        """What else of the status is written with the journal."""
        self._is_behind = False
        """Whether the entries here are newer than those of the status."""
        self._looked = 0.0
        self._looking: Future[Json] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="status")

    def begin(self) -> Json:
        """Read the experiment. Raises ``TakenOverError`` where a runner before this one has begun it: what that one
        did cannot be continued."""
        with self._lock:
            found = self._read()
            if (found.get("status") or {}).get("journal"):
                raise TakenOverError(f"experiment {self._namespace}/{self._name} was begun by another runner")
            return found

    def write(self, change: Callable[[Json], Json]) -> None:
        """Merge what ``change`` makes of the experiment, as it is now, into its status.

        Raises:
            TakenOverError: it is not this runner's any more.
            KubeError: the API server does not answer.
        """
        with self._lock:
            while True:
                found = self._read()
                status = change(self._with_entries(found) if self._is_behind else found)
                try:
                    self._api.patch_status(
                        CHAOS_EXPERIMENT,
                        self._namespace,
                        self._name,
                        {"journal": self._entries, **status} if self._is_behind else status,
                        resource_version=found["metadata"]["resourceVersion"],
                    )
                except NotFoundError as error:
                    raise TakenOverError(f"experiment {self._namespace}/{self._name} is gone") from error
                except ConflictError:
                    continue
                self._is_behind = False
                return

    def _with_entries(self, found: Json) -> Json:
        return {**found, "status": {**(found.get("status") or {}), "journal": self._entries}}

    def look(self) -> Json:
        """Read the experiment. Raises ``TakenOverError`` where it is not this runner's any more."""
        with self._lock:
            return self._read()

    def check(self) -> None:
        """Raises ``TakenOverError`` where the experiment is not this runner's any more."""
        with self._lock:
            self._read()

    def check_now_and_then(self) -> None:
        """The same, if that was not looked at for a while: a run that injects nothing has to hear of its end too.

        What else is written with the journal is then brought up to date: a fault has taken hold, or was seen healed,
        only after the last entry about it. Never waits: an API server that is slow must not hold up the run, and one
        that does not answer says nothing.

        Raises:
            TakenOverError: at the last look it was not this runner's any more.
            KubeError: the API server refused the last look.
        """
        if self._looking is not None and self._looking.done():
            looking, self._looking = self._looking, None
            with suppress(UnavailableError):  # it is looked at again
                looking.result()
        if self._looking is None and time.monotonic() - self._looked > _LOOK_EVERY:
            self._looking = self._thread.submit(self._refresh)

    def _refresh(self) -> Json:
        found = self._read(0.0)
        extra, status = self.extra(), found.get("status") or {}
        if any(status.get(name) != value for name, value in extra.items()):
            version = found["metadata"]["resourceVersion"]
            with suppress(ConflictError, NotFoundError):  # another write comes with what is known by then
                self._api.patch_status(CHAOS_EXPERIMENT, self._namespace, self._name, extra, resource_version=version)
        return found

    def _read(self, patience: float | None = None) -> Json:
        self._looked = time.monotonic()
        found = self._api.get(CHAOS_EXPERIMENT, self._namespace, self._name, patience=patience)
        if found is None or found["metadata"]["uid"] != self.uid:
            raise TakenOverError(f"experiment {self._namespace}/{self._name} is gone")
        phase = (found.get("status") or {}).get("phase", "")
        steady = condition_of(found, "SteadyState", "False")
        if found["metadata"].get("deletionTimestamp"):
            why = "is being deleted"
        elif phase in _TAKEN_OVER:
            why = f"is {phase}"
        elif steady is not None and steady["reason"] == GIVES_WAY:
            why = "gives way to another one"
        else:
            return found
        raise TakenOverError(f"experiment {self._namespace}/{self._name} {why}")

    # --- faults ---

    def intend(self, step: str, targets: Sequence[str], lasts_ns: int, node: str = "") -> tuple[str, str]:
        """Write down that a fault is about to be asked for; returns its id and its deadline. ``node``: whose agent is
        asked, so that nobody says of a fault that no agent has it who has not heard that one."""
        with self._lock:
            self._make_room()
            self._number += 1
            fault = f"{self.uid}-{self._number}"
            # Whole seconds, rounded up: a deadline must not come before what it was meant to be.
            deadline = stamp(datetime.now(UTC) + timedelta(seconds=lasts_ns / 1e9 + 1))
            entry = {
                "id": fault,
                "step": step[:400],
                "state": "intent",
                "at": stamp(),
                "targets": list(targets),
                "node": node,
                "deadline": deadline,
                "evidence": "",
            }
            self._entries.append(entry)
            try:
                self._store()
            except KubeError:
                self._entries.remove(entry)  # it will not be asked for
                raise
            return fault, deadline

    def note(self, fault: str, state: str, evidence: str = "") -> None:
        """How far a fault got: ``done``, ``failed`` or ``undone``. If the API server does not answer, that is written
        with what is written next: until then the fault counts as open."""
        with self._lock:
            entry = next(one for one in self._entries if one["id"] == fault)
            entry["state"], entry["at"] = state, stamp()
            if evidence:
                entry["evidence"] = evidence[:_LONGEST]
            try:
                self._store()
            except UnavailableError:
                self._is_behind = True

    def _make_room(self) -> None:
        """The list is bounded: the oldest of those of which nothing is left goes."""
        if len(self._entries) < MOST_ENTRIES:
            return
        over = next((one for one in self._entries if one["state"] in ("undone", "failed")), None)
        if over is None:
            raise KubeError("journal", 0, f"{len(self._entries)} faults are in force at once; at most {MOST_ENTRIES}")
        self._entries.remove(over)

    def _store(self) -> None:
        self.write(lambda _: {"journal": self._entries, **self.extra()})

    @property
    def entries(self) -> list[Json]:
        """A copy of what is written down."""
        with self._lock:
            return [dict(one) for one in self._entries]

    @property
    def open_faults(self) -> list[str]:
        """Ids of faults of which something may be left."""
        with self._lock:
            return [one["id"] for one in self._entries if one["state"] in ("intent", "done")]
