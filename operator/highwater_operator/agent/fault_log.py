"""What becomes of faults, in the agent's log: one line when a fault is injected, undone, refused or fails."""

from __future__ import annotations

import logging

from highwater_operator.agent.records import OVER, FaultRecord
from highwater_operator.agent.refusals import RefusalError
from highwater_runtime.log_lines import log_event

_log = logging.getLogger("highwater.agent")


def log_change(before: FaultRecord | None, record: FaultRecord, by: str) -> None:
    """Log the change from one record of a fault to the next, if it is one. ``by``: what ended it."""
    if record.request is None or record.state == "injecting":
        return
    was = "injecting" if before is None else before.state
    if record.state == "failed":
        _write(logging.WARNING, "fault failed", record, error=record.error)
    elif record.state == "inForce" and record.error:
        if before is None or before.error != record.error:
            _write(logging.WARNING, "fault not undone", record, error=record.error)
    elif was == "injecting":
        _write(logging.INFO, "fault injected", record, until=record.until)
    elif record.state in OVER and was != record.state:
        _write(logging.INFO, "fault undone", record, by=by)


def log_refusal(record: FaultRecord, refusal: RefusalError) -> None:
    """Log that a fault was not carried out."""
    _write(logging.WARNING, "fault refused", record, **refusal.body)


def log_refused_look(namespace: str, pod: str, path: str, refusal: RefusalError) -> None:
    """Log that a pod that must not be touched was to be looked at."""
    about = {"namespace": namespace[:63], "kind": "Pod", "name": pod[:253]}
    log_event(_log, logging.WARNING, "request refused", **{**refusal.body, **about, "path": path[:500]})


def _write(level: int, event: str, record: FaultRecord, **fields: object) -> None:
    request = record.request or {}
    pod = request.get("pod") or {}
    about = {"namespace": pod.get("namespace"), "kind": "Pod", "name": pod.get("name")}
    log_event(_log, level, event, **{**fields, **about, "fault": record.id, "faultKind": request.get("kind")})
