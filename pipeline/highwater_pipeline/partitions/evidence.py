"""Which kinds of node events there must be, by what else was recorded. If one is missing, the recording is not whole.

*Example.* Clients had acks=all writes acknowledged, nodes report every kind of event, and there is not one
``write-acknowledged``. Nobody may say that each was acknowledged by enough replicas.

*The trap* is a quiet run, in which many kinds never happen, and a cluster that ran before it was recorded. So a kind is
missed only if something proves that it happened, and what a node must have done before is missed only if its start
(``node-started``) was recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from highwater_runtime.model.decisions import NO_LEADER, Decided, leaves_gap

_COMMITTED: Final = ("log-appended", "batch-committed", "high-watermark")
_DECISIONS: Final = "partition-changed"
_WITHIN_A_LIFE: Final = (
    ("log-appended", "leader", "became-leader"),
    ("log-appended", "follower", "became-follower"),
    ("log-appended", "leader", "log-loaded"),
    ("log-appended", "follower", "log-loaded"),
    ("log-appended", "leader", "min-isr-set"),
    ("isr-proposal-ended", "committed", "isr-proposed"),
)
"""What a node has reported (kind, reason), and what it must have reported since it was started."""
_KINDS: Final = tuple(
    dict.fromkeys(
        [
            *(kind for of, _, kind in _WITHIN_A_LIFE for kind in (of, kind)),
            *(_DECISIONS, "alter-partition-handled", "batch-committed", "broker-registered", "high-watermark"),
            *("node-started", "node-stopped", "write-acknowledged"),
        ]
    )
)


class Did(NamedTuple):
    """That a node, in one of its incarnations, reported a kind of event, with some reason (None: it has none)."""

    node: str
    incarnation: int
    kind: str
    reason: str | None


class Evidence:
    """Takes in the events of a run, and knows what must be among them."""

    def __init__(self) -> None:
        self._did: set[Did] = set()
        self._states: dict[tuple[str, str | None], dict[int, Decided]] = {}

    def add(self, part: pa.Table) -> None:
        """Take in the next events."""
        events = part.filter(pc.is_in(part["kind"], pc.cast(pa.array(_KINDS), part["kind"].type)))
        names = ["node", "incarnation", "kind", "reason"]
        plain = [pc.cast(events[name], pa.int64() if name == "incarnation" else pa.string()) for name in names]
        distinct = pa.table(plain, names=names).group_by(names).aggregate([])
        self._did.update(Did(*row.values()) for row in distinct.select(names).to_pylist())
        changed = events.filter(pc.equal(events["kind"], _DECISIONS))
        fields = [*Decided._fields[:-1], "partition", "topic_id"]
        for row in changed.select(fields).to_pylist():
            states = self._states.setdefault((row.pop("partition"), row.pop("topic_id")), {})
            states.setdefault(row["metadata_offset"], Decided(**row))

    def missing(self, *, acknowledged: bool, acks_all: bool) -> dict[str, str]:
        """Return the kinds that must be there, or must be there more often, each with a clause that says why.

        ``acknowledged``: clients got acknowledgements; ``acks_all``: they asked for acks=all.
        """
        found: dict[str, str] = {}
        for kind, why in (*self._of_clients(acknowledged, acks_all), *self._of_nodes(), *self._of_decisions()):
            found.setdefault(kind, why)
        return found

    def is_older(self) -> bool:
        """Return whether no leader is known to have been started while events were recorded."""
        return not self._those("log-appended", "leader") & self._those("node-started")

    def _those(self, kind: str, reason: str | None = None) -> set[tuple[str, int]]:
        """The nodes, with incarnations, that reported such events."""
        return {(d.node, d.incarnation) for d in self._did if d.kind == kind and reason in (None, d.reason)}

    def _of_clients(self, acknowledged: bool, acks_all: bool) -> Iterator[tuple[str, str]]:
        if not acknowledged:
            return
        for kind in (*_COMMITTED, "write-acknowledged") if acks_all else _COMMITTED[:1]:
            if not self._those(kind):
                yield kind, "acks=all writes were acknowledged" if acks_all else "writes were acknowledged"

    def _of_nodes(self) -> Iterator[tuple[str, str]]:
        started = self._those("node-started")
        for kind, other in (("batch-committed", "high-watermark"), ("high-watermark", "batch-committed")):
            if self._those(kind) and not self._those(other):
                yield other, f"there are events of the kind {kind}"
        for of, reason, kind in _WITHIN_A_LIFE:
            lacking = (self._those(of, reason) & started) - self._those(kind)
            if lacking:
                node, incarnation = min(lacking)
                yield kind, f"{node} (incarnation {incarnation}) reported {of} ({reason})"
        lives: dict[str, set[int]] = {}
        for one in self._did:
            lives.setdefault(one.node, set()).add(one.incarnation)
        again = min((node for node, incarnations in lives.items() if len(incarnations) > 1), default=None)
        for kind in ("node-started", "node-stopped"):
            if again is not None and not self._those(kind):
                yield kind, f"{again} was started again"

    def _of_decisions(self) -> Iterator[tuple[str, str]]:
        started = self._those("node-started")
        if any(node.startswith(("controller-", "zookeeper-")) for node, _ in started):
            for kind in (_DECISIONS, "broker-registered"):
                if self._those("became-leader") & started and not self._those(kind):
                    yield kind, "brokers that were started became leaders"
        if self._those("alter-partition-handled") and not self._those("isr-proposed"):
            yield "isr-proposed", "a controller judged proposals"
        in_kraft = any(node.startswith("controller-") for node, _ in self._those(_DECISIONS))
        has_judged = not in_kraft or bool(self._those("alter-partition-handled"))
        for (partition, _), states in sorted(self._states.items(), key=lambda one: (one[0][0], one[0][1] or "")):
            before: Decided | None = None
            for _, state in sorted(states.items()):
                if before is not None and leaves_gap(before, state):
                    epochs = f"partition epoch {state.partition_epoch}, and none that follows {before.partition_epoch}"
                    yield _DECISIONS, f"{partition} has {epochs}"
                if not has_judged and before is not None and _joined_on_its_word(before, state):
                    yield "alter-partition-handled", f"the ISR of {partition} became {state.isr} after {before.isr}"
                before = state


def _joined_on_its_word(before: Decided, state: Decided) -> bool:
    """Whether a replica joined the ISR of a leader that stayed: only a proposal of the leader can do that. (A member
    may leave by the controller's own decision, which commits the leader's proposal by the way.)"""
    stayed = state.reason != "created" and state.leader == before.leader != NO_LEADER
    return stayed and not {*state.isr} <= {*before.isr}
