"""What a controller reports of a leader's proposal, compared with the proposal and with the registrations (KRaft mode).

A controller's report on its own judgement may be false: it may say that a replica's former broker epoch was in force.
"""

from __future__ import annotations

from collections.abc import Iterator

from highwater_pipeline.specification.decisions import Decisions, Event, by_broker
from highwater_pipeline.specification.refusal import Refusal
from highwater_runtime.model.in_sync import UNKNOWN


def check_judgements(decisions: Decisions) -> Iterator[Refusal]:
    """Yield the judgements that cannot be as they were reported, each once."""
    for request in () if decisions.is_zookeeper else decisions.requests:
        for what, permitted, because in (*_of_proposal(decisions, request), *_of_registrations(decisions, request)):
            names = ("leader_epoch", "partition_epoch", "isr", "isr_epochs", "registered_epochs")
            state = {name: request[name] for name in names}
            yield Refusal("proposal-judged", what, request["row"], state, (permitted,), because)
            break


def _of_proposal(decisions: Decisions, request: Event) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    base = request["broker"], request["leader_epoch"], request["partition_epoch"]
    proposals = decisions.proposed.get(base, [])
    sent = by_broker(request, "isr_epochs")
    for proposal in proposals:
        known = by_broker(proposal, "isr_epochs")
        if {*proposal["isr"]} == {*request["isr"]} and all(
            sent.get(broker, UNKNOWN) in (UNKNOWN, known.get(broker, UNKNOWN)) for broker in request["isr"]
        ):
            return
    if proposals:
        made = [(proposal["isr"], list(proposal["isr_epochs"] or ())) for proposal in proposals]
        yield (
            f"the ISR {request['isr']} was judged, claimed under the broker epochs {list(sent.values())}",
            f"a judgement of what broker {request['broker']} proposed: "
            + "; ".join(f"{isr} under the epochs {epochs}" for isr, epochs in made),
            tuple(proposal["row"] for proposal in proposals),
        )


def _of_registrations(decisions: Decisions, request: Event) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    said = by_broker(request, "registered_epochs")
    in_force = {broker: decisions.registered(request, broker) for broker in request["isr"]}
    wrong = {broker: epoch for broker, epoch in in_force.items() if epoch not in (None, said.get(broker, UNKNOWN))}
    if wrong:
        yield (
            f"the epochs {list(said.values())} were said to be registered of the ISR {request['isr']}",
            ", ".join(f"epoch {epoch} of broker {broker}" for broker, epoch in wrong.items()),
            (),
        )
