"""Decides a register whose written values are all different, in the time that it takes to sort (Gibbons and Korach,
"Testing shared memories", 1997; here with compare-and-set and unknown outcomes).

Where no value is written twice, every read says which write it read from. The write of a value and its reads are a
*cluster*: while they take effect, no other write may. A cas that turns e into v joins the clusters of e and v into one
*chain*, since nothing may come between. So a register is a sequence of chains, and all that is left to decide is
whether chains can be put one after another:

1. Inside a chain there are layers: the write, its reads, the cas, its reads, … No operation of a layer may have
   completed before one of an earlier layer was invoked; of one value there is at most one cas; no value comes from
   nowhere.
2. Let ``first`` be the earliest completion in a chain and ``last`` the latest invocation. With ``first < last`` the
   chain holds the register from ``first`` to ``last``, its *forward* zone: two forward zones must not overlap.
3. With ``last < first`` all operations of the chain are open together from ``last`` to ``first``, its *backward* zone,
   and one moment of that is enough: it must not lie inside a forward zone altogether.

These are necessary, and sufficient: forward chains stand in the order of their zones, a backward one at any moment that
no forward zone takes. An operation of unknown outcome that is still here was observed (``registers``), so it happened;
it completes never. The state before the first write is a chain whose write has happened before everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from highwater_pipeline.arrow.arrays import distinct
from highwater_pipeline.linearizability.registers import CAS, NEVER, READ, UNSET, Bools, Ints, Register

_BEFORE: Final = -4  # everything, operations without a recorded invocation included


def is_unique(register: Register) -> bool:
    """Whether no value is written twice, so that :func:`zones_of` decides."""
    written = register.value[register.kind != READ]
    return UNSET not in written and len(distinct(written)) == len(written)


@dataclass(frozen=True, slots=True)
class Zones:
    """A register that is linearizable: operations sorted by chain and layer, and each chain's zone.

    ``by_layer`` are positions of operations; ``chain_of`` says for each of those its chain; ``first`` and ``last`` are
    by chain.
    """

    by_layer: Ints
    chain_of: Ints
    first: Ints
    last: Ints

    def order(self) -> Ints:
        """A linearization: the positions of all operations in the order in which they may have taken effect."""
        forward = self.first < self.last
        starts = np.sort(self.first[forward])
        ends = self.last[forward][np.argsort(self.first[forward])]
        # A backward chain stands where its zone begins; inside a forward zone, right behind that.
        moment = np.where(forward, self.first, self.last).astype(np.float64)
        if len(starts):
            at = np.searchsorted(starts, self.last) - 1
            inside = ~forward & (at >= 0) & (self.last < ends[at])
            moment[inside] = ends[at][inside] + 0.5
        rank = np.empty(len(moment), np.int64)
        rank[np.argsort(moment, kind="stable")] = np.arange(len(moment))
        return self.by_layer[np.argsort(rank[self.chain_of], kind="stable")]


def zones_of(register: Register) -> Zones | None:
    """The zones of a register whose written values are unique; None: it is not linearizable."""
    chained = _chains(register)
    if chained is None:
        return None
    chain, layer = chained
    invoked, completed = register.invoked, register.completed
    by_layer = np.lexsort((invoked, layer, chain))
    chain, layer = chain[by_layer], layer[by_layer]
    invoked, completed = invoked[by_layer], completed[by_layer]
    if not len(chain):
        return Zones(by_layer, chain, completed, invoked)

    new_chain = np.append(True, chain[1:] != chain[:-1])
    starts = np.flatnonzero(new_chain)
    chain_of = np.cumsum(new_chain) - 1
    if not _layers_fit(invoked, completed, layer, new_chain, chain_of):
        return None
    first, last = np.minimum.reduceat(completed, starts), np.maximum.reduceat(invoked, starts)
    unset = chain[starts] == UNSET
    first[unset] = _BEFORE
    return Zones(by_layer, chain_of, first, last) if _apart(first, last) else None


def _chains(register: Register) -> tuple[Ints, Ints] | None:
    """For each operation its chain (the value that begins it) and its layer; None: something comes from nowhere."""
    values = int(max(register.value.max(initial=0), register.expected.max(initial=0))) + 1
    writes, cas = register.kind != READ, register.kind == CAS
    written = np.zeros(values, np.bool_)
    written[register.value[writes]] = True
    written[UNSET] = True
    expected = register.expected[cas]
    if not written[register.value].all() or not written[expected].all() or len(distinct(expected)) < len(expected):
        return None
    root = np.arange(values)  # the value that a value was made from; of one that was written, itself
    root[register.value[cas]] = expected
    begins = root == np.arange(values)
    depth = (~begins).astype(np.int64)
    for _ in range(values.bit_length()):
        depth += depth[root]
        root = root[root]
    if not begins[root].all():
        return None  # cas in a circle: each needs the next one's value before its own
    return root[register.value], 2 * depth[register.value] + ~writes


def _layers_fit(invoked: Ints, completed: Ints, layer: Ints, new_chain: Bools, chain_of: Ints) -> bool:
    """Whether no operation completed before one of an earlier layer of its chain was invoked."""
    starts = np.flatnonzero(new_chain | np.append(True, layer[1:] != layer[:-1]))
    latest, earliest = np.maximum.reduceat(invoked, starts), np.minimum.reduceat(completed, starts)
    chain = chain_of[starts]
    # The running maximum within each chain: chains lie so far apart that it starts again at each.
    apart = 1 << 34
    running = np.maximum.accumulate(latest + chain * apart) - chain * apart
    same = chain[1:] == chain[:-1]
    return not (same & (running[:-1] > earliest[1:])).any()


def _apart(first: Ints, last: Ints) -> bool:
    """Whether forward zones do not overlap, and no backward zone lies inside one."""
    forward = first < last
    order = np.argsort(first[forward])
    starts, ends = first[forward][order], last[forward][order]
    if not len(starts):
        return True
    if (ends[:-1] > starts[1:]).any():
        return False
    begins, ceases = last[~forward], first[~forward]
    at = np.searchsorted(starts, begins) - 1
    return not ((at >= 0) & (ceases < ends[at])).any()


assert NEVER > 1 << 34  # an unknown outcome lies behind every position of a table
