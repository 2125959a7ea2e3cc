"""What a leader may acknowledge to a producer that asks for ``acks=all``, and under which state it says so."""

from __future__ import annotations

from collections.abc import Iterator

from highwater_pipeline.specification.decisions import Decisions, Event
from highwater_pipeline.specification.replica import Replica


def wrong_acknowledgement(
    replica: Replica, decisions: Decisions, event: Event, *, under: str, exact_order: bool
) -> Iterator[str]:
    """Yield a clause for each thing that is wrong with ``write-acknowledged`` of a leader, the gravest first.
    ``under``: that of an ISR that was too small, if it was."""
    end, isr, min_isr = event["end_offset"], event["isr"], event["min_isr"]
    if replica.high_watermark is not None and end > replica.high_watermark:
        yield ""
    if under:
        yield under
    at = f" under partition epoch {event['partition_epoch']}"
    decided = decisions.by_partition_epoch.get(event["partition_epoch"])
    if decided is not None and decided.leader_epoch != event["leader_epoch"]:
        yield f" in leader epoch {event['leader_epoch']}{at}, which is of leader epoch {decided.leader_epoch}"
    elif decided is not None and {*decided.isr} != {*isr}:
        yield f"{at} with the ISR {isr}, which has the ISR {decided.isr}"
    elif decided is None and exact_order and decisions.lacks(event["partition_epoch"]):
        yield f"{at}, which nobody decided"
    if replica.partition_epoch not in (None, event["partition_epoch"]):
        yield f"{at}, by a leader that knew {replica.partition_epoch}"
    if replica.isr is not None and {*replica.isr} != {*isr}:
        yield f" with the ISR {isr}, by a leader that knew {list(replica.isr)}"
    if replica.min_isr not in (None, min_isr):
        yield f" with min.insync.replicas {min_isr}, by a leader that knew {replica.min_isr}"
