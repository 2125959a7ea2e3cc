"""What a cluster owes whom it has acknowledged administration, and how soon (see :mod:`.promptness`).

Worked example: a partition moves to broker 3, which cannot fetch, so the move is taken back. The controller
acknowledges that, and goes on until broker 3 can fetch. Once all faults are healed everything is as it was asked for.

So *administration in time* is judged from the acknowledgement on, while the controller and a majority of the quorum are
well, whatever happens to other brokers: what was created or added is there, a move has begun, one that was taken back
has left the replicas of before, and a partition whose preferred replica is in the ISR is led by it. (A deletion needs
all brokers that have replicas, and in the end it is judged by them.)

*The trap:* a later request undoes an earlier one, and one without an answer may be carried out at any time. So what
such a request may concern is not judged from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from highwater_chaos.experiment.steps import (
    AddPartitions,
    CancelReassign,
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
    Reassign,
)
from highwater_chaos.liveness.course import Part, each_state, state_at
from highwater_chaos.liveness.duties import IN_TIME as _OF_NODES
from highwater_chaos.liveness.duties import Duties
from highwater_chaos.liveness.health import Condition, Disturbance, Interval
from highwater_chaos.liveness.promptness import AT_ONCE_NS, Late, Owed, owed_in, together
from highwater_chaos.schedule.administration import Asked

ADMINISTRATION: Final = "administration in time"
IN_TIME: Final = (*_OF_NODES, ADMINISTRATION)

_Shows = Callable[[Part | None], bool]


class Requests(Duties):
    """Judges one run. ``asked``: its administration; ``before_moves``: what a move that was taken back may leave."""

    def __init__(
        self, *args: Any, asked: Sequence[Asked], before_moves: Callable[[Asked], list[list[int]]], **others: Any
    ) -> None:
        super().__init__(*args, **others)
        self._asked = asked
        self._before_moves = before_moves

    def owed(self) -> list[Owed]:
        """What was owed and did not come in time, by feature."""
        return [*super().owed(), self._administration()]

    def _administration(self) -> Owed:
        if not any(one.acknowledged for one in self._asked):
            return Owed(ADMINISTRATION, 0, ())
        late = [one for asked in self._asked for one in self._late(asked)]
        controllers = sorted({name for _, name in self._course.controllers if name is not None})
        return together(ADMINISTRATION, [owed_in(ADMINISTRATION, self._led_by(one), late) for one in controllers])

    def _led_by(self, controller: str) -> list[Interval]:
        """When this controller is active, and owes that requests have their effect."""
        sight = self._health.among({*self._quorum, controller})
        lasts_ns = self._bounds.session + self._bounds.fetches

        def may(at_ns: int) -> bool:
            is_active = state_at(self._course.controllers, at_ns) == controller
            return is_active and sight.condition(controller, at_ns) is Condition.WELL

        def disturbs_ns(one: Disturbance) -> int:
            return lasts_ns if one.node == controller or self._without_leader_ns(sight, one) else 0

        changes = [(at_ns, lasts_ns * (at_ns > self._settled_ns)) for at_ns, _ in self._course.controllers]
        return self._windows(sight, disturbs_ns, may, changes, lasts_ns)

    def _late(self, asked: Asked) -> Iterator[Late]:
        """From when on the effect of a request should have been there, and was not."""
        if not asked.acknowledged or asked.ended_ns is None or (asked.outcome is not None and asked.outcome.too_late):
            return
        end_ns = self._now_ns
        for other in self._asked:
            if other is asked or not _may_undo(other, asked):
                continue
            if other.began_ns >= asked.ended_ns:
                end_ns = min(end_ns, other.began_ns)
            elif not other.is_over or (other.ended_ns or 0) > asked.began_ns:
                return
        for name, shows, what in self._effects(asked):
            shown = [
                max(time.begin_ns, asked.began_ns)
                for time, part in each_state(self._course.parts.get(name, ()), end_ns)
                if time.end_ns > asked.began_ns and shows(part)
            ]
            until_ns = min([end_ns, *shown])
            begin_ns = asked.ended_ns + AT_ONCE_NS
            if begin_ns < until_ns:
                when = f"acknowledged at {asked.ended_ns / 1e9:.3f} s"
                yield Late(begin_ns, until_ns, f"{what}, though that was {when}")

    def _effects(self, asked: Asked) -> Iterable[tuple[str, _Shows, str]]:
        """By partition how its state shows that a request was carried out, or cannot be; and that it was not."""
        match asked.step.chosen:
            case CreateTopic() as step:
                count = step.partitions if step.assignment is None else len(step.assignment)
                names = [f"{step.name}-{index}" for index in range(count)]
                return [(name, lambda part: part is not None, f"{name} was not created") for name in names]
            case AddPartitions(topic=topic, total=total):
                names = [f"{topic}-{index}" for index in range(total)]
                return [(name, lambda part: part is not None, f"{name} was not added") for name in names]
            case Reassign(partition=name, replicas=replicas):
                return [(name, self._of(asked, lambda part: {*replicas} <= {*part.replicas}), f"{name} was not moved")]
            case CancelReassign(partition=name):
                return self._taken_back(asked, name)
            case ElectLeaders(partitions=names):
                return [
                    (name, _led_from(preferred), f"{name} was not led by its preferred replica")
                    for name, preferred in asked.preferred.items()
                    if names is None or name in names
                ]
            case _:
                return ()

    def _taken_back(self, asked: Asked, name: str) -> Iterable[tuple[str, _Shows, str]]:
        before = self._before_moves(asked)
        if not before:
            return ()

        def shows(part: Part) -> bool:
            # Where no member of the ISR would remain, nothing can be taken back.
            return sorted(part.replicas) in before or not any({*part.isr} & {*one} for one in before)

        return [(name, self._of(asked, shows), f"{name} did not get back the replicas that it had before its move")]

    @staticmethod
    def _of(asked: Asked, shows: Callable[[Part], bool]) -> _Shows:
        """The same, of the partition that was meant: another topic of its name has nothing to do with it."""
        return lambda part: part is None or part.topic_id not in asked.topic_ids or shows(part)


def _led_from(preferred: int) -> _Shows:
    return lambda part: (
        part is None or part.leader == preferred or part.replicas[0] != preferred or preferred not in part.isr
    )


def _may_undo(other: Asked, asked: Asked) -> bool:
    """Whether a request may have an effect on what another one was about."""
    theirs = other.step.chosen
    if isinstance(asked.step.chosen, ElectLeaders):
        return isinstance(theirs, Reassign | CancelReassign | DeleteTopic | CreateTopic | ElectLeaders)
    if isinstance(theirs, Reassign | CancelReassign):
        return theirs.partition == getattr(asked.step.chosen, "partition", None)
    return isinstance(theirs, DeleteTopic | CreateTopic | AddPartitions) and other.topic == asked.topic
