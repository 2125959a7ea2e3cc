"""How a verdict is written into an experiment's status: the same for all that write one, and pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from highwater_chaos.backends.kubernetes.healing import NEVER_HAD, open_faults, unseen_faults
from highwater_chaos.kube.conditions import Condition, stamp, with_conditions
from highwater_chaos.kube.kinds import Json
from highwater_chaos.records.removed import acknowledged_text

COUNTS: Final = ("planned", "injected", "confirmed", "healed")
MACHINE_TROUBLE: Final = "MachineTrouble"
"""Reason of ``Passed`` where machines may be the cause of what would be a fail."""
MOST_KINDS: Final = 40
RECORDED: Final = "Recorded"
"""Condition of an experiment whose runner has done its part: from now on it is the judging Job's."""


def conclusion(verdict: Json, found: Json, *, kept: str) -> Json:
    """What the status of an experiment becomes with a verdict (the content of ``verdict.json``).

    Args:
        found: the experiment, as it is now. If a fault of its journal is open, the operator goes on with healing, and
            keeps the verdict.
        kept: where the run directory is, in words.
    """
    return concluded(
        found,
        verdict["verdict"],
        expected=verdict["asExpected"],
        reason=reason_of(verdict),
        kept=kept,
        anomalies={name: int(one["count"]) for name, one in verdict["anomalies"].items()},
        faults=verdict["faults"],
        excused=bool(verdict.get("excuses")),
    )


def concluded(
    found: Json,
    verdict: str,
    *,
    expected: bool,
    reason: str,
    kept: str,
    anomalies: dict[str, int],
    faults: Sequence[Json] | None,
    excused: bool = False,
) -> Json:
    """The same, in detail. ``faults`` are those of the verdict; None: they stay as they are counted."""
    journal = (found.get("status") or {}).get("journal") or []
    is_over = not open_faults(journal)
    passed = passed_condition(verdict, reason or verdict, excused=excused)
    news = [healed_condition(journal, unhealed=unhealed_of(faults or ())), passed]
    if is_over:
        news.append(Condition("Completed", "True", "Judged", reason or verdict))
    return {
        "phase": "Completed" if is_over else "Aborting",
        "verdict": verdict,
        "expected": expected,
        "reason": reason[:2000],
        "run": kept[:500],
        "anomalies": dict(sorted(anomalies.items())[:50]),
        "completedAt": stamp(),
        "conditions": with_conditions(found, *news),
        **({} if faults is None else {"faults": counts_of(faults), "progress": {"faults": kinds_of(faults)}}),
    }


def aborted(found: Json, otherwise: str, at: datetime | None = None) -> Json:
    """What the status of an experiment becomes that was aborted, once nothing of its faults is left: by the operator,
    or by ``highwater heal``. ``otherwise``: the reason, if the status gives none."""
    status = found.get("status") or {}
    verdict, reason = status.get("verdict") or "inconclusive", status.get("reason") or otherwise
    news = [
        healed_condition(status.get("journal") or []),
        Condition("Completed", "True", "Aborted", reason),
        passed_condition(verdict, reason),
    ]
    return {
        "phase": "Completed",
        "verdict": verdict,
        "reason": reason,
        "completedAt": stamp(at),
        **faults_after(status),
        "expected": bool(status.get("expected")),
        "conditions": with_conditions(found, *news, at=at),
    }


def healed_condition(
    journal: Sequence[Json], why_open: Sequence[str] = (), *, unhealed: Sequence[str] = ()
) -> Condition:
    """Return the condition ``Healed`` for a journal.

    Args:
        why_open: what keeps its open faults from being healed.
        unhealed: faults whose own probes did not see them healed, although the agents undid them.
    """
    if still_open := open_faults(journal):
        message = "; ".join(why_open) or f"in force: {', '.join(entry['id'] for entry in still_open)}"
        return Condition("Healed", "False", "FaultsOpen", message[:2000])
    if unseen := unseen_faults(journal):
        message = f"undone or past their deadlines, but no agent saw that they are gone: {', '.join(unseen)}"
        return Condition("Healed", "Unknown", "NotSeen", message[:2000])
    if unhealed:
        message = f"undone by the agents, but their probes did not see that they are gone: {', '.join(unhealed)}"
        return Condition("Healed", "Unknown", "NotSeen", message[:2000])
    return Condition("Healed", "True", "Verified", "nothing of any fault is left")


def counts_of(faults: Sequence[Json], journal: Sequence[Json] = ()) -> Json:
    """``status.faults`` from the records of a verdict, or of a run that goes on with this journal.

    A fault that acts on several pods is injected once the last of them has it. Until then the journal alone says that
    something is in force. One that failed halfway and was healed counts as both, so that its end is not taken for that
    of another.
    """
    in_force = _injected(faults, journal)
    return {
        "planned": len(faults),
        "injected": len(in_force),
        "confirmed": sum(bool(one["confirmed"]) for one in in_force),
        "healed": sum(bool(one["healed"]) for one in in_force),
    }


def _injected(faults: Sequence[Json], journal: Sequence[Json]) -> list[Json]:
    in_force = [one for one in faults if one["injected_ns"] is not None or one["healed"]]
    beginning = [one for one in faults if one["injected_ns"] is None and one["error"] is None]
    if not in_force and any(one["state"] == "done" for one in journal):
        return beginning[:1]
    return in_force


def kinds_of(faults: Sequence[Json], journal: Sequence[Json] = ()) -> Json:
    """``status.progress.faults``: what :func:`counts_of` counts, by kind, with the seconds that heals took."""
    kinds: Json = {}
    for one in _injected(faults, journal):
        kind = kinds.setdefault(one["kind"], {"injected": 0, "healed": 0, "timedHeals": 0, "healSeconds": 0.0})
        kind["injected"] += 1
        kind["healed"] += bool(one["healed"])
        if one["healed_ns"] is not None and one["heal_started_ns"] is not None:
            kind["timedHeals"] += 1
            kind["healSeconds"] += (one["healed_ns"] - one["heal_started_ns"]) / 1e9
    return dict(sorted(kinds.items())[:MOST_KINDS])


def unhealed_of(faults: Sequence[Json]) -> list[str]:
    """Ids of the faults of a verdict that touched something and that no probe saw healed."""
    return [str(one["id"]) for one in faults if one["intent"] and not one["healed"]]


def faults_after(status: Json) -> Json:
    """The parts of a status that count faults, of an experiment whose runner was ended."""
    counts = counts_after(status)
    kinds = {kind: dict(one) for kind, one in ((status.get("progress") or {}).get("faults") or {}).items()}
    if counts["healed"] == counts["injected"]:
        for one in kinds.values():
            one["healed"] = one["injected"]
    return {"faults": counts, **({"progress": {"faults": kinds}} if kinds else {})}


def counts_after(status: Json) -> Json:
    """``status.faults`` of an experiment whose runner was ended, from what its journal says in the end.

    The runner counts with every write; the last step that it took may be in the journal alone. A fault may have an
    entry for each of its pods, so that entries only bound the counts.
    """
    counts = {name: int((status.get("faults") or {}).get(name) or 0) for name in COUNTS}
    journal = status.get("journal") or []
    in_force = [one for one in journal if one["state"] in ("done", "undone") and NEVER_HAD not in one["evidence"]]
    if not counts["planned"] and journal:
        counts["planned"] = 1
    if not counts["injected"] and in_force:
        counts["injected"] = 1
    if not open_faults(journal) and not unseen_faults(journal):
        counts["healed"] = counts["injected"]
    return counts


def reason_of(verdict: Json) -> str:
    """Why the verdict is what it is, in a sentence."""
    wrong = [one["reason"] for one in verdict["assertions"] if one["holds"] is False]
    if excuses := verdict.get("excuses"):  # first: the machines' troubles, and then what they may have caused
        findings = [f"{name} {one['count']}" for name, one in verdict["anomalies"].items()]
        found = f"; it would be a fail: found {', '.join(findings)}" if findings else ""
        return "; ".join([f"{'; '.join(excuses)}{found}", *wrong])
    if verdict["anomalies"]:
        found = ", ".join(f"{name} {one['count']}" for name, one in verdict["anomalies"].items())
        unexpected = verdict["expected"]["whyNot"]
        return "; ".join([f"found {found}", *wrong, *([unexpected] if unexpected else [])])
    if wrong:
        return "; ".join(wrong)
    if verdict["reasons"]:
        return "; ".join(str(one) for one in verdict["reasons"])
    disks = "".join(f"; {one}" for one in verdict.get("newDisks") or [])
    return f"{acknowledged_text(verdict)}; no anomaly{disks}"


def passed_condition(verdict: str, reason: str, *, excused: bool = False) -> Condition:
    """Return the condition ``Passed`` for a verdict. ``excused``: machines may be the cause of what was found."""
    status = {"pass": "True", "fail": "False"}.get(verdict, "Unknown")
    return Condition("Passed", status, MACHINE_TROUBLE if excused else verdict.capitalize(), reason)
