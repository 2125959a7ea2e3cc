"""model-step: an event that the executable specification of replication does not permit.

Example: broker 0 leads with the ISR [0, 1], and moves its high watermark to 8 while broker 1 has fetched up to 7.
Nothing is lost as long as broker 0 stays the leader. No other check finds it: records are lost only if broker 0 fails
at that moment, which may not happen in this run.

The specification (:mod:`highwater_pipeline.specification`) says for each event whether it is a permitted step in the
state that the events before it led to. An example says which step was not permitted and by which rule, what the state
was, and which steps were permitted.

Software of others reports fewer kinds of events (``BY_SOME_STEPS``). What is judged then is decisions, roles, logs,
high watermarks and proposals, each as far as it is known. Not judged: flushes, committed batches, acknowledgements,
answers to DeleteRecords, and ``min.insync.replicas``. If the settings let a topic be compacted, its logs may have gaps.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final

import numpy as np

from highwater_pipeline.arrow.arrays import Bools
from highwater_pipeline.checks.columns import (
    NOTHING,
    bools,
    finding,
    ints,
    is_any,
    is_compacted,
    is_zookeeper,
    of_kind,
    rows_of,
    who,
)
from highwater_pipeline.checks.promises import recorded
from highwater_pipeline.partitions.partition_tables import PartitionTables, RunFacts
from highwater_pipeline.partitions.small_partitions import Partitions, highest_so_far, ranked
from highwater_pipeline.specification import (
    RULES,
    Decisions,
    Machine,
    Refusal,
    StretchMachine,
    check_decisions,
    check_judgements,
)
from highwater_pipeline.tables.micro_operations import OK
from highwater_pipeline.tables.settings import NOTHING_PROMISED, PromisedSettings
from highwater_pipeline.verdict import MAX_EXAMPLES, Example, Finding, judges_less

_FIELDS: Final = (
    "row",
    "time_ns",
    "node",
    "incarnation",
    "kind",
    "reason",
    "broker",
    "broker_epoch",
    "leader",
    "leader_epoch",
    "partition_epoch",
    "replicas",
    "isr",
    "isr_epochs",
    "registered_epochs",
    "offset",
    "end_offset",
    "epoch",
    "metadata_offset",
    "min_isr",
)
_row: Final = itemgetter("row")

_AT_ONCE: Final = 20_000
"""Events that are in memory as Python objects at one time."""

_OF_DECISIONS: Final = (
    "partition-changed",
    "alter-partition-handled",
    "isr-proposed",
    "broker-registered",
    "broker-registration-changed",
)

_DECIDE_OR_STEP: Final = tuple(dict.fromkeys([*_OF_DECISIONS, *Machine(Decisions(), exact_order=False).kinds]))
"""Kinds of events of which something follows."""


def model_step(unit: PartitionTables) -> Finding:
    """Counts refused steps."""
    events = unit.events
    if not is_any(events, "kind", "became-leader", "isr-proposed").any():
        return NOTHING
    if not _judges_less(unit.facts) and not is_any(events, "kind", "min-isr-set").any():
        return Finding(0, [], 1, "the recording is from before brokers reported each step (min-isr-set, isr-taken)")
    deciding = events.where(is_any(events, "kind", *_OF_DECISIONS)).to_pylist(*_FIELDS)
    facts = unit.facts
    decisions = _decisions(facts, unit.partition, deciding, is_zookeeper=is_zookeeper(events))
    refused = 0
    refusals: list[Refusal] = []
    for found in (check_decisions(decisions), check_judgements(decisions), _refused_steps(unit, decisions)):
        for which, refusal in enumerate(found):
            refused += 1
            if which < MAX_EXAMPLES:
                refusals.append(refusal)
    refusals.sort(key=lambda refusal: refusal.row)
    early = list(_uncommitted(unit)) if facts.settings.orders_exactly and _is_one_topic(unit) else []

    def examples() -> Iterator[Example]:
        rows = ints(events, "row")
        for refusal in refusals:
            yield _example(unit, refusal, events.row(int(np.argmax(rows == refusal.row))))
        yield from (_example_of_client(unit, one) for one in early)

    return finding(refused + len(early), examples())


def model_step_prefilter(facts: RunFacts, partitions: Partitions) -> Bools:
    """For each partition of one topic: whether the check may find something in it.

    The specification itself says so. Events become Python objects for many partitions at a time, those of the cluster
    once.
    """
    less = _judges_less(facts)
    of_cluster = partitions.of_cluster.to_pylist(*_FIELDS)
    events = partitions.events.of_kind(*_DECIDE_OR_STEP)
    bounds = np.searchsorted(events.number, np.arange(len(partitions.names) + 1)).tolist()
    transitions = partitions.events.of_kind("transition")
    compacted = transitions.number[transitions.view.is_any("reason", ("compaction-begun",))]
    is_compacted_one = partitions.those(compacted).tolist()
    found = _early(facts, partitions) if facts.settings.orders_exactly else np.zeros(len(partitions.names), np.bool_)
    own: list[dict[str, Any]] = []
    first = 0
    for number, (name, (start, end)) in enumerate(zip(partitions.names, pairwise(bounds), strict=True)):
        if end > first + len(own):
            first, own = start, events.view.slice(start, max(_AT_ONCE, end - start)).to_pylist(*_FIELDS)
        mine = own[start - first : end - first]
        kinds = {event["kind"] for event in mine}
        if kinds.isdisjoint(("became-leader", "isr-proposed")):
            found[number] = False  # too little is known of it for any step or read to be judged
        elif not less and "min-isr-set" not in kinds:
            found[number] = True
        elif not found[number]:
            together = sorted([*mine, *of_cluster], key=_row)
            found[number] = _is_refused(facts, name, together, compacted=less or is_compacted_one[number])
    return found


def _is_refused(facts: RunFacts, partition: str, events: list[dict[str, Any]], *, compacted: bool) -> bool:
    """Whether some step is refused. ``events``: all of the partition, by row."""
    settings = facts.settings
    decisions = _decisions(
        facts,
        partition,
        [event for event in events if event["kind"] in _OF_DECISIONS],
        is_zookeeper=any(
            event["kind"] == "partition-changed" and event["node"].startswith("zookeeper-") for event in events
        ),
    )
    machine = Machine(
        decisions,
        exact_order=settings.orders_exactly,
        compacted=compacted and settings.may_compact(partition),
        promises=_promises(facts, partition),
    )
    refused = (check_decisions(decisions), check_judgements(decisions))
    return any(True for found in refused for _ in found) or any(machine.step(event) for event in events)


def _decisions(facts: RunFacts, partition: str, events: list[dict[str, Any]], *, is_zookeeper: bool) -> Decisions:
    unclean = facts.settings.elects_uncleanly(partition) is not False
    decisions = Decisions.of(events, is_zookeeper=is_zookeeper, unclean=unclean, of_others=_judges_less(facts))
    if facts.settings.disks_kept:
        decisions.only_replicas.clear()
    return decisions


def _judges_less(facts: RunFacts) -> bool:
    return judges_less("model-step", facts)


def _promises(facts: RunFacts, partition: str) -> PromisedSettings:
    """What was set for a topic. Nobody knows when other software than our own has taken a setting over."""
    return NOTHING_PROMISED if _judges_less(facts) else facts.settings.promises(partition)


def _early(facts: RunFacts, partitions: Partitions) -> Bools:
    """Whether a record was read, or acknowledged, before a high watermark had moved beyond it, or moves are not in the
    order of time."""
    moved, history = partitions.events.of_kind("high-watermark"), partitions.history
    is_acknowledged = history.view.bools("is_send") & (history.view.ints("outcome", -1) == OK)
    is_acknowledged &= facts.settings.acks == "all"
    seen = history.where(history.view.bools("is_poll") | is_acknowledged)
    number = np.concatenate([moved.number, seen.number])
    times, ends = moved.ints("time_ns")[0], seen.ints("end_time")[0]
    is_read = np.repeat([0, 1], [len(times), len(ends)])
    order, _ = ranked(number, np.concatenate([times, ends]), is_read)
    number, is_read = number[order], is_read[order]
    offset = np.concatenate([moved.ints("offset")[0], seen.ints("offset")[0]])[order]
    committed = highest_so_far(number, np.where(is_read, 0, offset))
    not_ascending = (moved.number[1:] == moved.number[:-1]) & (times[1:] < times[:-1])
    early = number[(is_read == 1) & (offset >= committed)]
    return partitions.those(np.concatenate([early, moved.number[1:][not_ascending]]))


def _is_one_topic(unit: PartitionTables) -> bool:
    """Whether all of the history is about this topic: what a leader of a deleted topic serves is not judged."""
    if unit.facts.settings.deletes_topic(unit.partition) is False:
        return True
    changed = of_kind(unit.events, "partition-changed")
    return unit.is_only_topic and not is_any(changed, "reason", "deleted").any()


def _uncommitted(unit: PartitionTables) -> Iterator[Example]:
    """Records that a consumer had read, or of which an acks=all write was acknowledged, before any leader had moved its
    high watermark beyond them."""
    moved = of_kind(unit.events, "high-watermark")
    if moved.num_rows == 0 and not recorded(unit.facts, "high-watermark"):
        return
    high_watermark = np.append(np.maximum.accumulate(ints(moved, "offset")), 0)
    times, acks_all = ints(moved, "time_ns"), unit.facts.settings.acks == "all"
    for _, part in unit.history.by_range("row"):
        is_seen = bools(part, "is_poll") | (bools(part, "is_send") & acks_all)
        is_seen &= (ints(part, "outcome") == OK) & (ints(part, "offset") >= 0)
        committed = high_watermark[np.searchsorted(times, ints(part, "end_time"), side="right") - 1]
        early = np.flatnonzero(is_seen & (ints(part, "offset") >= committed))
        for operation, offset in zip(part.take(early).to_pylist(), committed[early].tolist(), strict=True):
            yield {**operation, "high_watermark": offset}


def _example_of_client(unit: PartitionTables, seen: Example) -> Example:
    rule, what = "read-committed", "read"
    if seen["is_send"]:
        rule, what = "acknowledge-committed", "got an acknowledgement of"
    return {
        "partition": unit.partition,
        "rule": rule,
        "offset": seen["offset"],
        "value": seen["value"],
        "high_watermark": seen["high_watermark"],
        "rows": rows_of("operations", [seen["row"]]),
        "story": (
            f"{who(seen)} {what} value {seen['value']} at offset {seen['offset']} of {unit.partition}, though no leader"
            f" had moved its high watermark beyond {seen['high_watermark']} by then. Rule {rule}:"
            f" {RULES[rule]}. Permitted: what is below {seen['high_watermark']}."
        ),
    }


def _refused_steps(unit: PartitionTables, decisions: Decisions) -> Iterator[Refusal]:
    settings = unit.facts.settings
    machine = StretchMachine(
        decisions,
        exact_order=settings.orders_exactly,
        compacted=settings.may_compact(unit.partition) if _judges_less(unit.facts) else is_compacted(unit),
        promises=_promises(unit.facts, unit.partition),
    )
    for _, part in unit.events.by_range("row"):
        yield from machine.steps(of_kind(part.in_memory(*_FIELDS), *machine.kinds), _FIELDS)


def _example(unit: PartitionTables, refusal: Refusal, event: dict[str, Any]) -> Example:
    known = {name: value for name, value in refusal.state.items() if name not in ("broker", "role", "epochs")}
    state = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in known.items())
    return {
        "partition": unit.partition,
        "rule": refusal.rule,
        "node": event["node"],
        "incarnation": event["incarnation"],
        "time_ns": event["time_ns"],
        "event": event["kind"],
        "state": refusal.state,
        "permitted": list(refusal.permitted),
        "rows": rows_of("node_event", (refusal.row, *refusal.because)),
        "story": (
            f"{event['node']}, in {unit.partition}: {refusal.what}. Rule {refusal.rule}: {RULES[refusal.rule]}. The"
            f" state was: {refusal.state.get('role', 'decided')}, {state}. Permitted: {'; '.join(refusal.permitted)}."
        ),
    }
