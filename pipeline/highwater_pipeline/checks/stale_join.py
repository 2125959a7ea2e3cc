"""stale-isr-join: a replica enters the ISR under a broker epoch that is no longer its own (KIP-903, KAFKA-14139).

The controller says how it judged each AlterPartition (``alter-partition-handled``): the epochs that the leader claimed
for the members, and those in force. A member that is new to the ISR must have been claimed under the epoch in force.
That is the one of its last registration (``broker-registered``) below the metadata offset of the change, whatever the
controller says of it; only if none was recorded, the controller is believed.
Where the request does not tell (−1: AlterPartition below version 3), the leader's ``isr-proposed`` event says what it
knew from Fetch; where that does not tell either, a registration of the member between proposal and verdict proves it
stale.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Final

import numpy as np

from highwater_pipeline.checks.columns import NOTHING, finding, first_per, ints, is_any, of_kind, rows_of
from highwater_pipeline.checks.leadership import committed_states
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.verdict import Example, Finding
from highwater_runtime.model.decisions import Decided, is_outcome
from highwater_runtime.model.in_sync import UNKNOWN, Registrations, claimed_epoch, joins_stale

_WHEN: Final = ("node", "time_ns", "row")
_EPOCHS: Final = ("isr_epochs", "registered_epochs")
_REQUEST: Final = (
    *_WHEN,
    "broker",
    "isr",
    *_EPOCHS,
    "leader_epoch",
    "partition_epoch",
    "metadata_offset",
)


def stale_isr_join(unit: PartitionTables) -> Finding:
    """Counts (accepted request, member) pairs. Requests are few beside records, so they are gone through one by one."""
    handled = of_kind(unit.events, "alter-partition-handled")
    handled = handled.where(is_any(handled, "reason", "NONE") & (ints(handled, "metadata_offset") >= 0))
    if handled.num_rows == 0:
        return NOTHING
    found = list(_stale(unit, handled.to_pylist(*_REQUEST)))
    return finding(len(found), found)


def _stale(unit: PartitionTables, handled: list[Example]) -> Iterator[Example]:
    committed = committed_states(unit.events)
    states = [Decided(**row) for row in committed.to_pylist(*Decided._fields)]
    state_offsets = ints(committed, "metadata_offset")
    proposals = of_kind(unit.events, "isr-proposed").to_pylist("leader_epoch", "isr", "isr_epochs", *_WHEN)
    registrations = of_kind(unit.events, "broker-registered")
    registrations = registrations.where(first_per(ints(registrations, "metadata_offset")))
    registered = registrations.to_pylist("broker", "broker_epoch", "metadata_offset", *_WHEN)
    registrations_of = registrations_in(registered)
    written = Counter(request["metadata_offset"] for request in handled)
    some = of_kind(unit.events, "alter-partition-handled", "isr-proposed", "broker-registered")
    places = {row: place for place, row in enumerate(ints(some, "row").tolist())}

    def is_before(one: Example, other: Example) -> bool:
        """Whether this is certain, though clocks of different nodes may be off."""
        is_first = places[one["row"]] < places[other["row"]]
        error_ns = unit.facts.settings.clock_error_between_ns(one["node"], other["node"])
        if not error_ns:
            return is_first
        decided = [event.get("metadata_offset", -1) for event in (one, other)]
        if min(decided) >= 0:
            return bool(decided[0] < decided[1])
        return is_first and bool(other["time_ns"] - one["time_ns"] > error_ns)

    for request in handled:
        before = np.flatnonzero(state_offsets < request["metadata_offset"])
        old_isr = states[int(before[-1])].isr if len(before) else [request["broker"]]
        outcome = [one for one in states if one.metadata_offset == request["metadata_offset"]]
        is_certain = written[request["metadata_offset"]] == 1 and any(
            is_outcome(one, request["isr"], request["partition_epoch"]) for one in outcome
        )
        members = zip_longest(
            request["isr"], *((request[name] or [])[: len(request["isr"])] for name in _EPOCHS), fillvalue=UNKNOWN
        )
        for member, sent, said in members:
            if member in old_isr:
                continue
            known = registrations_of.in_force(member, request["metadata_offset"]) if is_certain else None
            in_force = said if known is None else known
            proposal = _proposal(proposals, request, member, places)
            claimed = claimed_epoch(sent, UNKNOWN if proposal is None else _epoch_in(proposal, member))
            again = None
            if claimed == UNKNOWN:
                again = _registered_between(registered, member, proposal, request, is_before)
            if joins_stale(claimed, in_force, registered_since=again is not None):
                yield _example(unit, request, member, claimed, in_force, proposal, again)


def registrations_in(events: Iterable[Example]) -> Registrations:
    """The registrations that some events ``broker-registered`` tell of."""
    found = Registrations()
    for event in events:
        found.add(event["broker"], event["metadata_offset"], event["broker_epoch"])
    return found


def _proposal(proposals: list[Example], request: Example, member: int, places: Mapping[int, int]) -> Example | None:
    """The leader's last proposal before the verdict that has the member in it."""
    leader = f"broker-{request['broker']}"
    for proposal in reversed(proposals):
        if (
            places[proposal["row"]] < places[request["row"]]
            and proposal["node"] == leader
            and proposal["leader_epoch"] == request["leader_epoch"]
            and member in proposal["isr"]
        ):
            return proposal
    return None


def _epoch_in(proposal: Example, member: int) -> int:
    epochs = dict(zip(proposal["isr"], proposal["isr_epochs"] or (), strict=False))
    return int(epochs.get(member, UNKNOWN))


def _registered_between(
    registered: list[Example],
    member: int,
    proposal: Example | None,
    request: Example,
    is_before: Callable[[Example, Example], bool],
) -> Example | None:
    if proposal is None:
        return None
    for registration in registered:
        if registration["broker"] == member and is_before(proposal, registration) and is_before(registration, request):
            return registration
    return None


def _example(
    unit: PartitionTables,
    request: Example,
    member: int,
    claimed: int,
    in_force: int,
    proposal: Example | None,
    again: Example | None,
) -> Example:
    if again is None:
        why = f"claimed under epoch {claimed}, while the epoch in force was {in_force}"
    else:
        why = f"proposed before it registered again under epoch {again['broker_epoch']}"
    rows = [request["row"], *(event["row"] for event in (proposal, again) if event is not None)]
    return {
        "partition": unit.partition,
        "broker": member,
        "claimed_epoch": claimed,
        "registered_epoch": in_force,
        "proposed_by": request["broker"],
        "isr": request["isr"],
        "leader_epoch": request["leader_epoch"],
        "partition_epoch": request["partition_epoch"],
        "metadata_offset": request["metadata_offset"],
        "rows": rows_of("node_event", rows),
        "story": (
            f"{request['node']} let broker {member} join the ISR {request['isr']} of {unit.partition}"
            f" on broker {request['broker']}'s word: {why}."
        ),
    }
