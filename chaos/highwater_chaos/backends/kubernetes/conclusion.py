"""How a verdict is told in an experiment's status: the same whoever judged, and pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from highwater_chaos.backends.kubernetes.journal import stamp

Json = dict[str, Any]
RECORDED: Final = "Recorded"
"""Condition of an experiment whose runner has done its part: from now on it is the judging Job's."""


def conclusion(verdict: Json, status: Json, *, kept: str, healed: bool) -> Json:
    """What the status of an experiment becomes with a verdict (the content of ``verdict.json``).

    Args:
        status: the present one.
        kept: where the run directory is, in words.
        healed: nothing of any fault is left; otherwise the operator goes on with healing, and keeps the verdict.
    """
    return concluded(
        status,
        verdict["verdict"],
        expected=verdict["asExpected"],
        reason=reason_of(verdict),
        kept=kept,
        anomalies={name: int(one["count"]) for name, one in verdict["anomalies"].items()},
        faults=counts_of(verdict["faults"]),
        healed=healed,
    )


def concluded(
    status: Json,
    verdict: str,
    *,
    expected: bool | None,
    reason: str,
    kept: str,
    anomalies: dict[str, int],
    faults: Json | None,
    healed: bool,
) -> Json:
    """The same, in detail. ``faults`` None: they stay as they are counted."""
    now = status.get("conditions") or []
    if healed:
        now = with_condition(now, "Healed", "True", "NothingOpen", "nothing of any fault is left")
        now = with_condition(now, "Completed", "True", "Judged", reason or verdict)
    else:
        now = with_condition(now, "Healed", "False", "FaultsOpen", "see the journal")
    passed = {"pass": "True", "fail": "False"}.get(verdict, "Unknown")
    now = with_condition(now, "Passed", passed, verdict.capitalize(), reason or verdict)
    return {
        "phase": "Completed" if healed else "Aborting",
        "verdict": verdict,
        "expected": expected,
        "reason": reason[:2000],
        "run": kept,
        "anomalies": dict(sorted(anomalies.items())[:50]),
        "completedAt": stamp(),
        "conditions": now,
        **({} if faults is None else {"faults": faults}),
    }


def counts_of(faults: Sequence[Json]) -> Json:
    """``status.faults`` from the records of a verdict."""
    return {
        "planned": len(faults),
        "injected": sum(one["injected_ns"] is not None for one in faults),
        "confirmed": sum(bool(one["confirmed"]) for one in faults),
        "healed": sum(bool(one["healed"]) for one in faults),
    }


def reason_of(verdict: Json) -> str:
    """Why the verdict is what it is, in a sentence."""
    wrong = [one["reason"] for one in verdict["assertions"] if one["holds"] is False]
    if verdict["anomalies"]:
        found = ", ".join(f"{name} {one['count']}" for name, one in verdict["anomalies"].items())
        unexpected = verdict["expected"]["whyNot"]
        return "; ".join([f"found {found}", *wrong, *([unexpected] if unexpected else [])])
    if wrong:
        return "; ".join(wrong)
    if verdict["reasons"]:
        return "; ".join(str(one) for one in verdict["reasons"])
    return f"{verdict['acknowledged']} records acknowledged, none lost; no anomaly"


def with_condition(conditions: Sequence[Json], kind: str, status: str, reason: str, message: str) -> list[Json]:
    """``conditions`` with one set; its transition time stays unless the status changes."""
    old = next((one for one in conditions if one["type"] == kind), None)
    same = old is not None and old["status"] == status
    made = {
        "type": kind,
        "status": status,
        "observedGeneration": 0 if old is None else old.get("observedGeneration", 0),
        "lastTransitionTime": old["lastTransitionTime"] if old is not None and same else stamp(),
        "reason": reason,
        "message": message[:2000],
    }
    return [*(one for one in conditions if one["type"] != kind), made]
