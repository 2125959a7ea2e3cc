"""Put events of several nodes into an order that their clocks and their causes permit.

Example: a follower appends record 7 at 10.000 s, and its leader moves the high watermark over it at 10.002 s. The
follower's clock is 5 ms fast, so the recording has the append at 10.005 s, after the move that it allowed. A check that
reads the recording in this order finds a high watermark above the log of an ISR member, which never was.

What is known: the order of each node's own events; for each event an interval of time, its recorded time plus and minus
the error of its node's clock; and pairs of events of which one caused the other. :func:`causal_order` finds an order
that agrees with all three, and changes the recorded one only where a cause stands behind its effect. If the causes
contradict the clocks even at the ends of the intervals, or each other, some are left out, and never an interval or the
order of a node: a violation that is larger than the clocks' error stays visible.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from highwater_pipeline.arrow.arrays import Bools, Ints, distinct


def causal_order(node: Ints, time: Ints, error: Ints, causes: Ints, effects: Ints) -> Ints | None:
    """Return the positions of some events in the order that is found; None: that is the order in which they come.

    ``node``: the number of each event's node; ``time``: its recorded time (one that lies before an earlier time of its
    node counts as that one); ``error``: that of its node's clock; ``causes`` and ``effects``: positions of pairs of
    which the first happened before the second. Events of one node at one time are one step: they stay together if any
    of them is moved.
    """
    time = _ascending_by_node(node, time)
    earliest, latest = time - error, time + error
    counts = (node[causes] != node[effects]) & (earliest[causes] <= latest[effects])
    causes, effects = causes[counts], effects[counts]
    wrong = causes > effects
    if not wrong.any():
        return None
    # Only what lies between an effect and its cause can move.
    starts, ends = _union(effects[wrong], causes[wrong] + 1)
    order = np.arange(len(node))
    of_cause, of_effect = (np.searchsorted(starts, at, "right") - 1 for at in (causes, effects))
    inside = (of_cause == of_effect) & (of_cause >= 0)
    inside[inside] &= np.maximum(causes[inside], effects[inside]) < ends[of_cause[inside]]
    causes, effects, stretch = causes[inside], effects[inside], of_cause[inside]
    by_stretch = np.argsort(stretch, kind="stable")
    bounds = np.searchsorted(stretch[by_stretch], np.arange(len(starts) + 1))
    for number, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        pairs = by_stretch[bounds[number] : bounds[number + 1]]
        part = slice(start, end)
        moved = _merged(node[part], time[part], error[part], causes[pairs] - start, effects[pairs] - start)
        order[part] = start + np.array(moved, np.int64)
    return order


def _ascending_by_node(node: Ints, time: Ints) -> Ints:
    """Each event's time, or the latest of the earlier events of its node."""
    by_node = np.argsort(node, kind="stable")
    number, times = node[by_node], time[by_node]
    if not ((number[1:] == number[:-1]) & (times[1:] < times[:-1])).any():
        return time
    found = time.copy()
    for one in distinct(number):
        mine = by_node[number == one]
        found[mine] = np.maximum.accumulate(time[mine])
    return found


def _union(start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Disjoint ranges [start, end), ascending, that cover the given ones."""
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    begins = np.ones(len(start), np.bool_)
    begins[1:] = start[1:] >= end[:-1]
    ends: Bools = np.append(begins[1:], True)
    return start[begins], end[ends]


def _merged(node: Ints, time: Ints, error: Ints, causes: Ints, effects: Ints) -> list[int]:
    """Merge the steps of all nodes. The next step is the first one in the recording of those

    * whose causes have all been taken, and
    * that may have happened before every step that is left *must* have happened. (Else some step would come after a
      time at which it can no longer have happened.)

    If causes leave no such step, the second condition alone decides. It always leaves one.
    """
    steps, step_of = _steps(node, time)
    missing = [0] * len(steps)
    followers: dict[int, list[int]] = defaultdict(list)
    for cause, effect in zip(step_of[causes].tolist(), step_of[effects].tolist(), strict=True):
        missing[effect] += 1
        followers[cause].append(effect)
    firsts = [step[0] for step in steps]
    earliest, latest = (time - error)[firsts].tolist(), (time + error)[firsts].tolist()
    queues: dict[int, list[int]] = defaultdict(list)
    for number, first in reversed([*enumerate(firsts)]):
        queues[int(node[first])].append(number)
    waiting = [*queues.values()]
    order: list[int] = []
    while waiting:
        deadline = min(latest[queue[-1]] for queue in waiting)
        may = [queue for queue in waiting if earliest[queue[-1]] <= deadline]
        ready = [queue for queue in may if not missing[queue[-1]]]
        queue = min(ready or may, key=lambda queue: firsts[queue[-1]])
        number = queue.pop()
        order += steps[number]
        for effect in followers.pop(number, ()):
            missing[effect] -= 1
        if not queue:
            waiting = [queue for queue in waiting if queue]
    return order


def _steps(node: Ints, time: Ints) -> tuple[list[list[int]], Ints]:
    """Return the positions of each step, steps in the order of their first events, and the number of each event's."""
    by_node = np.argsort(node, kind="stable")
    begins = np.ones(len(by_node), np.bool_)
    begins[1:] = (node[by_node][1:] != node[by_node][:-1]) | (time[by_node][1:] != time[by_node][:-1])
    found = sorted((step.tolist() for step in np.split(by_node, np.flatnonzero(begins)[1:])), key=lambda step: step[0])
    step_of = np.empty(len(node), np.int64)
    for number, step in enumerate(found):
        step_of[step] = number
    return found, step_of
