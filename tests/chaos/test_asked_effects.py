"""What counts as the effect of an election, and of a move that is taken back: looked for from the answer on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from highwater_chaos.backends.view import PartitionView
from highwater_chaos.experiment.steps import Admin
from highwater_chaos.schedule.administration import Administration

BACKEND = SimpleNamespace(now_ns=lambda: 0)


def _view(**partition: Any) -> Any:
    """Topic ``t`` on brokers 0, 1 and 2, led by 1, so that 0 is the preferred replica."""
    known: dict[str, Any] = {"replicas": [0, 1, 2], "isr": [0, 1, 2], "leader": 1, "topic_id": "a"}
    known.update(partition)
    one = PartitionView("t-0", leader_epoch=1, partition_epoch=1, metadata_offset=1, **known)
    brokers = {n: SimpleNamespace(shutting_down=False) for n in range(5)}
    return SimpleNamespace(partitions={"t-0": one}, brokers=brokers, is_unfenced=lambda _broker: True)


Step = dict[str, Any]


def _is_undone(later: Any, *asked: tuple[Any, Step]) -> bool:
    """Whether the last of the steps has no effect, when the cluster is as ``later`` says. Each was asked for in the
    cluster that it is given with."""
    administration = Administration(SimpleNamespace(), later, BACKEND)  # type: ignore[arg-type]
    for view, step in asked:
        administration._view = view
        last = administration._note(Admin.model_validate(step))
    administration._view = later
    waiting = dict.fromkeys(["t-0"])
    seen = administration._is_seen(last, waiting)
    assert seen is ("t-0" not in waiting)
    return not seen


def _fenced(view: Any) -> Any:
    view.is_unfenced = lambda broker: broker != 0
    return view


def _stopping(view: Any) -> Any:
    view.brokers[0].shutting_down = True
    return view


def _gone(view: Any) -> Any:
    view.partitions.clear()
    return view


ELECT = {"electLeaders": {"partitions": ["t-0"]}}


@pytest.mark.parametrize(
    ("later", "undone"),
    [
        (_view(), True),
        (_view(leader=0), False),
        (_view(isr=[1, 2]), False),
        (_fenced(_view()), False),
        (_stopping(_view()), False),
        (_gone(_view()), False),
        # A move has made another replica the preferred one, which nobody had asked to lead.
        (_view(replicas=[2, 0, 1]), False),
        (_view(replicas=[0, 2, 1]), True),
    ],
)
def test_an_election_is_judged_by_the_replica_that_it_was_asked_of(later: Any, undone: bool) -> None:
    assert _is_undone(later, (_view(), ELECT)) is undone


def test_an_election_is_not_judged_where_the_preferred_replica_changed_before_its_answer() -> None:
    """Found by ``campaign random``, seed 720596: the election was carried out between a move and the next one, back."""
    administration = Administration(SimpleNamespace(), _view(), BACKEND)  # type: ignore[arg-type]
    asked = administration._note(Admin.model_validate(ELECT))
    for view, undone in ((_view(), True), (_view(replicas=[2, 0, 1]), False), (_view(), False)):
        administration._view = view
        assert not administration._is_answered(asked)
        assert administration._is_seen(asked, {"t-0": None}) is not undone


def test_a_partition_that_came_later_was_not_asked_for() -> None:
    assert not _is_undone(_view(), (_gone(_view()), ELECT))


MOVE = {"reassign": {"partition": "t-0", "replicas": [3, 1, 2]}}
OF_ANOTHER = {"reassign": {"partition": "t-1", "replicas": [3, 1, 2]}}
NEXT = {"reassign": {"partition": "t-0", "replicas": [4, 1, 2]}}
BACK = {"cancelReassign": {"partition": "t-0"}}
MORE = {"reassign": {"partition": "t-0", "replicas": [0, 1, 2, 3]}}
MORE_VIEW, SWAPPING = _view(replicas=[0, 1, 2, 3]), _view(replicas=[4, 1, 2, 0, 3])
MOVING, MOVED = _view(replicas=[3, 1, 2, 0]), _view(replicas=[3, 1, 2])


@pytest.mark.parametrize(
    ("later", "asked", "undone"),
    [
        (MOVING, [(_view(), MOVE), (MOVING, BACK)], True),
        (_view(replicas=[2, 1, 0]), [(_view(), MOVE), (MOVING, BACK)], False),
        (_gone(_view()), [(_view(), MOVE), (MOVING, BACK)], False),
        (_view(replicas=[3, 1, 2, 0], topic_id="b"), [(_view(), MOVE), (MOVING, BACK)], False),
        (
            MOVING,
            [(_view(), MOVE), (MOVING, {"deleteRecords": {"partition": "t-0", "before": 1}}), (MOVING, BACK)],
            True,
        ),
        # After one move another: it goes back to the end of the first.
        (_view(replicas=[4, 1, 2, 3]), [(_view(), MOVE), (MOVED, NEXT), (MOVED, BACK)], True),
        (MOVED, [(_view(), MOVE), (MOVED, NEXT), (MOVED, BACK)], False),
        # A move that only adds a replica shows it before it has ended, so both may be taken back.
        (_view(), [(_view(), MORE), (MORE_VIEW, NEXT), (SWAPPING, BACK)], False),
        (MORE_VIEW, [(_view(), MORE), (MORE_VIEW, NEXT), (SWAPPING, BACK)], False),
        (SWAPPING, [(_view(), MORE), (MORE_VIEW, NEXT), (SWAPPING, BACK)], True),
        # This one had ended: a replica is gone.
        (MOVED, [(MORE_VIEW, MOVE), (MOVED, NEXT), (SWAPPING, BACK)], False),
        (MORE_VIEW, [(MORE_VIEW, MOVE), (MOVED, NEXT), (SWAPPING, BACK)], True),
        # From where it was moved is not known: by nobody, another partition, another topic, in the middle of a move.
        (MOVING, [(MOVING, BACK)], False),
        (MOVING, [(_view(), OF_ANOTHER), (MOVING, BACK)], False),
        (MOVING, [(_view(topic_id="b"), MOVE), (MOVING, BACK)], False),
        (_view(replicas=[4, 1, 2, 0, 3]), [(_view(), MOVE), (MOVING, NEXT), (MOVING, BACK)], False),
    ],
)
def test_a_move_is_taken_back_to_where_it_began(later: Any, asked: list[tuple[Any, Step]], undone: bool) -> None:
    assert _is_undone(later, *asked) is undone


@pytest.mark.parametrize("step", [MOVE, BACK, {"deleteTopic": {"name": "t"}}])
def test_a_step_is_about_the_topic_that_there_was_then(step: Step) -> None:
    view = _view()
    view.partitions["u-0"] = PartitionView("u-0", "b", [0], [0], 0, 1, 1, 1)
    asked = Administration(SimpleNamespace(), view, BACKEND)._note(Admin.model_validate(step))  # type: ignore[arg-type]
    assert (asked.topic_ids, asked.preferred) == ({"a"}, {})
