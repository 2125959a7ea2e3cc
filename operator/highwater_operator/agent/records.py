"""Fault records: which request each fault was for, how far it got, and what was seen. One file a fault, below
``faults`` in the agent's state directory, replaced whole and fsynced before and after anything is done.

States: ``injecting`` → ``inForce`` (until healed or its deadline) or ``done`` (it is over, as a kill is) → ``healed``
(it was asked for) or ``expired`` (its deadline undid it). ``failed``: it could not be injected, and nothing is left of
it; the same request may be made again. A record ``healed`` without a request is a fault that was healed before it was
ever asked for: a request that was under way longer must not bring it about any more.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from highwater_chaos.machine.errors import MachineError

FAULT_ID: Final = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9._-]{0,98}[a-zA-Z0-9])?")
"""To be matched as a whole: an id is a file's name."""
State = Literal["injecting", "inForce", "done", "failed", "healed", "expired"]
OVER: Final[frozenset[State]] = frozenset({"done", "failed", "healed", "expired"})
_KEPT_SECONDS: Final = 7 * 24 * 3600.0
_MOST_EVIDENCE: Final = 500


def now_text() -> str:
    """RFC 3339, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a probe saw. ``confirmed``: whether that is what the fault (``phase`` inject) or its end (``heal``) should
    look like."""

    saw: str
    confirmed: bool = True
    phase: Literal["inject", "heal"] = "inject"
    at: str = field(default_factory=now_text)
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FaultRecord:
    """One fault. ``until``: when it ends by itself (RFC 3339)."""

    id: str
    state: State
    request: dict[str, Any] | None = None
    until: str = ""
    error: str = ""
    evidence: tuple[Evidence, ...] = ()

    @property
    def kind(self) -> str:
        """``powerLoss``; empty where it never was asked for."""
        return str(self.request["kind"]) if self.request else ""

    @property
    def pod(self) -> str:
        """Uid of the pod that it is about; empty where it never was asked for."""
        return str(self.request["pod"]["uid"]) if self.request else ""

    @property
    def volume_in_force(self) -> str | None:
        """Name of the crashable volume of the pod that it is in force on, or may be; None: it is not."""
        if self.state not in ("inForce", "injecting") or self.request is None:
            return None
        pod = self.request["pod"]
        return f"{pod['namespace']}_{pod['name']}"

    def saw(self, *evidence: Evidence) -> FaultRecord:
        """Return the record with more evidence."""
        return replace(self, evidence=(*self.evidence, *evidence)[-_MOST_EVIDENCE:])

    def plain(self) -> dict[str, Any]:
        """As the API shows it."""
        return asdict(self) | {"evidence": [asdict(one) for one in self.evidence], "kind": self.kind}


_RECORD: Final = msgspec.json.Decoder(FaultRecord)


class Records:
    """The records on the node. Callers see to it that one fault is changed by one thread at a time. A file that cannot
    be read as the record of its name is left out, and named in ``unreadable``."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._directory = directory
        self._over: set[str] = set()
        self.unreadable: set[str] = set()

    def get(self, fault: str) -> FaultRecord | None:
        """None: it was never heard of, or is long over. Raises ``MachineError`` for a file that is no record of it."""
        path = self._path(fault)
        try:
            record = _RECORD.decode(path.read_bytes())
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, RecursionError) as error:
            raise MachineError(f"{path} is no record of a fault: {error}") from error
        if record.id != fault:
            raise MachineError(f"{path} is the record of another fault: expected id {fault}, found {record.id!r:.120}")
        return record

    def put(self, record: FaultRecord) -> FaultRecord:
        """Whole or not at all, and durable; returns it."""
        write_durably(self._path(record.id), json.dumps(record.plain()))
        self._over.discard(record.id)
        return record

    def all(self, *, over: bool = True) -> Iterator[FaultRecord]:
        """``over``: those too that are over, a week of them: none of these is read again until it is replaced."""
        unreadable = set()
        for path in sorted(self._directory.glob("*.json")):
            name = path.name.removesuffix(".json")
            if not over and name in self._over:
                continue
            self._over.add(name)  # before it is read: who replaces it meanwhile takes it out after that
            record = None
            try:
                record = self.get(name)
            except (MachineError, OSError) as error:
                unreadable.add(str(error))
            if record is None or record.state not in OVER:
                self._over.discard(name)
            if record is not None and (over or record.state not in OVER):
                yield record
        self.unreadable = unreadable

    def forget_old(self) -> None:
        """Drop records of faults that have been over for a week."""
        for record in list(self.all()):
            path = self._path(record.id)
            if record.state in OVER and time.time() - path.stat().st_mtime > _KEPT_SECONDS:
                path.unlink()

    def _path(self, fault: str) -> Path:
        if not FAULT_ID.fullmatch(fault):
            raise MachineError(f"no id of a fault: expected {FAULT_ID.pattern}, found {fault[:120]!r}")
        return self._directory / f"{fault}.json"


def write_durably(path: Path, text: str) -> None:
    """Replace a file by another; after a crash it is the old one or the new one."""
    part = path.with_suffix(".part")
    with part.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.rename(path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
