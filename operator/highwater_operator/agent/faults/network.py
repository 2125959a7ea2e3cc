"""``partition``: packets between a pod and others are dropped, in the pod's own network namespace.

Confirmed from inside: datagrams that bear the peer's address (or, of an outgoing cut, that are sent to it) are dropped,
as the rules' counters tell; and the peer does not answer a connection across the cut. The first needs nothing of the
peer, which may be cut off the other way or down. Two cuts of one pair are two rules, and the one made first drops what
the other would: then both are in force, and their sum is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from highwater_chaos.machine.cuts import Cut
from highwater_chaos.machine.namespaces import place_of
from highwater_operator.agent.containers import network_of
from highwater_operator.agent.faults.base import Context, HealContext
from highwater_operator.agent.probes import Target, answering, send_from, send_to
from highwater_operator.agent.records import Evidence
from highwater_operator.agent.requests import CutRequest, PartitionRequest

_ANSWERS_WITHIN: Final = 3.0
_SILENT_FOR: Final = 0.7


@dataclass(frozen=True, slots=True)
class PartitionKind:
    """See the module."""

    request: PartitionRequest

    def inject(self, context: Context) -> list[Evidence]:
        """One rule a cut and direction."""
        namespace = network_of(context.pod)
        targets = [_target(cut) for cut in self.request.cuts]
        before = answering(namespace, targets, _ANSWERS_WITHIN)
        rules: dict[Target, list[Cut]] = {}
        for asked in self.request.cuts:
            ways = (False, True) if asked.direction == "both" else (asked.direction == "out",)
            for outgoing in ways:
                cut = context.make(Cut(namespace, asked.peer, outgoing=outgoing))
                rules.setdefault(_target(asked), []).append(cut)
        after = answering(namespace, list(rules), _SILENT_FOR)
        return [_seen(cut, target, target in before, target in after) for target, cuts in rules.items() for cut in cuts]

    def healed(self, context: HealContext) -> list[Evidence]:
        """Peers answer again, and the rules are gone. One that another fault still cuts, or that is down, stays silent:
        that is no fault of this one."""
        cuts = [one for one in context.resources if isinstance(one, Cut)]
        namespaces = {cut.namespace for cut in cuts}
        evidence = []
        for namespace in sorted(namespaces):
            if place_of(namespace) is None:
                evidence.append(Evidence("the pod's network is gone, and its rules with it", phase="heal"))
                continue
            peers = {cut.source for cut in cuts if cut.namespace == namespace}
            targets = [target for target in map(_target, self.request.cuts) if target[0] in peers]
            answered = answering(namespace, targets, _ANSWERS_WITHIN)
            left = [cut.left() for cut in cuts if cut.namespace == namespace and cut.left()]
            for peer, port in dict.fromkeys(targets):
                says = "answers" if (peer, port) in answered else "does not answer"
                evidence.append(
                    Evidence(
                        f"no rule against {peer} is left; port {port} {says}" if not left else f"still there: {left}",
                        not left,
                        "heal",
                        details={"peer": peer, "port": port, "answers": (peer, port) in answered},
                    )
                )
        return evidence

    def observe(self, context: HealContext) -> list[Evidence]:
        """What the rules have dropped so far."""
        return [
            Evidence(f"{cut.describe()}: {dropped} so far", details={"peer": cut.source, "dropped": dropped})
            for cut in context.resources
            if isinstance(cut, Cut)
            for dropped in [cut.dropped()]
        ]


def _target(cut: CutRequest) -> Target:
    return cut.peer, cut.probe_port


def _seen(cut: Cut, target: Target, before: bool, after: bool) -> Evidence:
    peer, port = target
    dropped = 0
    if cut.outgoing:
        dropped = cut.counts(lambda: send_to(cut.namespace, peer))
    elif ":" not in peer:
        dropped = cut.counts(lambda: send_from(cut.namespace, peer))
    provoked = dropped > 0 or (":" in peer and cut.dropped_by_all() > 0)
    whose = "to" if cut.outgoing else "from"
    first = "answered" if before else "did not answer"
    then = "answers" if after else "does not answer"
    return Evidence(
        f"{dropped} probes {whose} {peer} were dropped; its port {port} {first} before and {then} across the cut",
        provoked and not after and cut.left() is not None,
        details={"peer": peer, "port": port, "before": before, "after": after, "dropped": cut.dropped()},
    )
