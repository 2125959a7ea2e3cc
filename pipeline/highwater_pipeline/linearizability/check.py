"""Judges the registers of a run: a kernel for one key, and how the keys' verdicts become one verdict.

:func:`check_key` is a pure function from one key's rows to a verdict; :func:`merge_keys` does not care in which order
keys come. So this process and Spark give the same verdict, to the byte (unless a limit in seconds is reached).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal

import msgspec
import numpy as np
import pyarrow as pa

from highwater_pipeline.anomalies import REGISTER_CHECKS
from highwater_pipeline.checks.columns import rows_of, who
from highwater_pipeline.linearizability.decide import Decision, Limits, decide
from highwater_pipeline.linearizability.registers import CAS, KINDS, READ, by_key, register_history, register_of
from highwater_pipeline.partitions.partition_tables import inconclusive_reasons
from highwater_pipeline.tables.micro_operations import FAIL, OK, OUTCOMES
from highwater_pipeline.tables.run_tables import RunTables
from highwater_pipeline.verdict import MAX_EXAMPLES, AnomalyReport, CheckState, Example, RunVerdict, Verdict

SHOWN: Final = 10
"""Operations of the longest linearizable prefix that an example shows, from its end."""

KeyState = Literal["ok", "failed", "unknown"]


class KeyVerdict(msgspec.Struct, frozen=True):
    """What was found out about one register: how many operations it has and how many of them were acknowledged, the
    state, how many steps the search took, and where it failed, under which name and one example."""

    key: str
    operations: int
    acknowledged: int
    state: KeyState
    steps: int
    anomaly: str | None = None
    example: Example | None = None


class RegisterFacts(msgspec.Struct, frozen=True):
    """What is known of a run besides its registers: its name, and sentences on faults that are not certain."""

    run_id: str
    inconclusive_reasons: tuple[str, ...] = ()


def check_registers(tables: RunTables, limits: Limits | None = None) -> RunVerdict:
    """Whether the operations on registers of a run are linearizable. Needs no Java and no Spark."""
    history = register_history(tables.operations)
    return merge_keys(facts_of(tables), (check_key(key, table, limits) for key, table in by_key(history)))


def facts_of(tables: RunTables) -> RegisterFacts:
    """What a verdict says of a run whatever its registers hold."""
    return RegisterFacts(tables.run_id, tuple(inconclusive_reasons(tables.faults)) if tables.faults is not None else ())


def check_key(key: str, table: pa.Table, limits: Limits | None = None) -> KeyVerdict:
    """Decide one key from its rows of ``registers.REGISTER_HISTORY``, which are in order of ``row``."""
    decision = decide(register_of(table), limits)
    acknowledged = int((table["outcome"].to_numpy() == OK).sum())
    match decision.outcome:
        case "linearizable":
            return KeyVerdict(key, table.num_rows, acknowledged, "ok", decision.steps)
        case "unknown":
            return KeyVerdict(key, table.num_rows, acknowledged, "unknown", decision.steps)
    name, example = _misfit(key, table, decision)
    return KeyVerdict(key, table.num_rows, acknowledged, "failed", decision.steps, name, example)


def merge_keys(facts: RegisterFacts, keys: Iterable[KeyVerdict]) -> RunVerdict:
    """One verdict from the verdicts of a run's registers, in whatever order they come."""
    ordered = sorted(keys, key=lambda verdict: verdict.key)
    acknowledged = sum(verdict.acknowledged for verdict in ordered)
    undecided = [verdict for verdict in ordered if verdict.state == "unknown"]
    anomalies: dict[str, AnomalyReport] = {}
    states: dict[str, CheckState] = {}
    for name in REGISTER_CHECKS:
        found = [verdict.example for verdict in ordered if verdict.anomaly == name and verdict.example is not None]
        if found:
            anomalies[name] = AnomalyReport(len(found), found[:MAX_EXAMPLES])
            states[name] = "failed"
        else:
            states[name] = "unknown" if undecided or not acknowledged else "ok"
    reasons = [f"{name}: {REGISTER_CHECKS[name]} ({report.count} found)" for name, report in anomalies.items()]
    reasons += facts.inconclusive_reasons
    reasons += [
        f"register {verdict.key}: not decided in {verdict.steps} steps over {verdict.operations} operations"
        for verdict in undecided[:SHOWN]
    ]
    if len(undecided) > SHOWN:
        reasons.append(f"{len(undecided) - SHOWN} more registers were not decided")
    if not acknowledged:
        operations = sum(verdict.operations for verdict in ordered)
        why = f"none of {operations} operations on registers was acknowledged" if operations else "no operation on one"
        reasons.append(f"nothing can be said on registers: {why}")
    return RunVerdict(facts.run_id, _verdict(facts, states), reasons, anomalies, states)


def _verdict(facts: RegisterFacts, states: dict[str, CheckState]) -> Verdict:
    if "failed" in states.values():
        return "fail"
    return "inconclusive" if facts.inconclusive_reasons or "unknown" in states.values() else "pass"


# --- the operation that does not fit --------------------------------------------------------------------------------


def _misfit(key: str, table: pa.Table, decision: Decision) -> tuple[str, Example]:
    """The anomaly's name, and the example: the longest linearizable prefix and the operation that ends it."""
    if decision.misfit < 0:
        return _only_refuted(key, table, decision)
    misfit = table.slice(decision.misfit, 1).to_pylist()[0]
    prefix = table.take(pa.array(decision.order))
    row = prefix["row"].to_numpy()
    before = (prefix["outcome"].to_numpy() == OK) & (row < misfit["invoke_row"])
    end = _Operation.of(table, int(decision.order[np.flatnonzero(before)[-1]])) if before.any() else None
    value = misfit["value"] if misfit["kind"] == READ else misfit["expected"]
    writer = _writer(table, value, misfit["row"])
    was_state = value is None or value in _states(prefix)
    held = end is not None and end.value != value
    name = "stale-read" if misfit["kind"] == READ and was_state and held else "nonlinearizable"
    fits = int((row < misfit["row"]).sum())
    shown = [_Operation.of(table, int(at)) for at in decision.order[-SHOWN:]]
    example: Example = {
        "key": key,
        "operation": _Operation.of(table, decision.misfit).as_json(),
        "prefix": {
            "operations": fits,
            "last_row": int(row[row < misfit["row"]].max(initial=-1)),
            "is_longest": True,
            "ends": [operation.as_json() for operation in shown],
        },
        "value": value,
        "held": end.value if end is not None else None,
        "rows": rows_of(
            "operations",
            [misfit["invoke_row"], misfit["row"], writer["row"] if writer else -1, end.row if end is not None else -1],
        ),
        "story": _story(key, misfit, end if held else None, writer, fits),
    }
    return name, example


def _only_refuted(key: str, table: pa.Table, decision: Decision) -> tuple[str, Example]:
    """Where the limit came before the operation that does not fit was found."""
    known = decision.order[table["outcome"].to_numpy()[decision.order] == OK]
    last_row = int(table["row"].to_numpy()[known].max(initial=-1))
    return "nonlinearizable", {
        "key": key,
        "operation": None,
        "prefix": {
            "operations": len(known),
            "last_row": last_row,
            "is_longest": False,
            "ends": [_Operation.of(table, int(at)).as_json() for at in decision.order[-SHOWN:]],
        },
        "rows": rows_of("operations", [last_row]),
        "story": (
            f"No order of the {table.num_rows} operations on register {key} is one that real time allows; the first"
            f" {len(known)} completed fit, and which is the first that does not was not found within the limits."
        ),
    }


class _Operation(msgspec.Struct, frozen=True):
    """An operation, as examples tell it; ``value`` is the state that it leaves."""

    name: str
    who: str
    index: int
    outcome: str
    value: int | None
    expected: int | None
    row: int

    @classmethod
    def of(cls, table: pa.Table, at: int) -> _Operation:
        row = table.slice(at, 1).to_pylist()[0]
        return cls(
            KINDS[row["kind"]], who(row), row["index"], OUTCOMES[row["outcome"]], row["value"], row["expected"],
            row["row"],
        )  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in msgspec.structs.asdict(self).items()
            if name != "expected" or self.name == "cas"
        }


def _states(prefix: pa.Table) -> set[int]:
    """The values that the register was given in a prefix."""
    writes = prefix["kind"].to_numpy() != READ
    return set(prefix["value"].filter(pa.array(writes)).to_pylist())


def _writer(table: pa.Table, value: int | None, row: int) -> dict[str, Any] | None:
    """The last operation that wrote a value, or may have, and had begun before a row."""
    if value is None:
        return None
    wrote = (table["kind"].to_numpy() != READ) & (table["outcome"].to_numpy() != FAIL)
    same = np.array([found == value for found in table["value"].to_pylist()], np.bool_)
    began = table["invoke_row"].to_numpy() < row
    at = np.flatnonzero(wrote & same & began)
    found: dict[str, Any] | None = table.slice(int(at[-1]), 1).to_pylist()[0] if len(at) else None
    return found


def _story(
    key: str,
    misfit: dict[str, Any],
    end: _Operation | None,
    writer: dict[str, Any] | None,
    fits: int,
) -> str:
    read = misfit["kind"] != CAS
    value = misfit["value"] if read else misfit["expected"]
    what = f"read {_shown(value)}" if read else f"changed {_shown(value)} to {_shown(misfit['value'])}"
    if value is not None and writer is None:
        why = "which no client had written"
    elif end is not None:
        did = {"read": "read", "write": "written", "cas": "changed it to"}[end.name]
        why = f"although {end.who} had {did} {_shown(end.value)} before that began"
    else:
        why = "which no order of what had happened allows"
    return f"{who(misfit)} {what} in register {key}, {why}; the {fits} operations completed before fit."


def _shown(value: int | None) -> str:
    return "nothing" if value is None else str(value)
