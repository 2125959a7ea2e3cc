"""What ``random`` draws of administration."""

from __future__ import annotations

from random import Random

from highwater_chaos.backends.view import ClusterView, PartitionView
from highwater_chaos.base.process import Process
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.steps import Admin
from highwater_chaos.schedule.random_administration import RandomAdministration


def test_with_nothing_to_take_back_a_move_is_begun_and_taken_back_at_once() -> None:
    view = ClusterView()
    view.partitions["orders-0"] = PartitionView("orders-0", "0" * 32, [0, 1], [0, 1], 0, 0, 0, 1)
    asked: list[tuple[str, bool]] = []
    allowed = True

    def run(step: Admin) -> Process[str | None]:
        asked.append((step.choice, bool(drawn.moving_to("orders-0"))))
        yield from ()
        return None

    drawn = RandomAdministration(Cluster(brokers=4), view, run, lambda _: None)
    process = drawn.draw("cancelReassign", 0, Random(1), lambda _: allowed)
    assert process is not None
    list(process)
    assert asked == [("reassign", True), ("cancelReassign", True)]
    assert drawn.moving_to("orders-0") == (), "it has its old replicas"
    process = drawn.draw("cancelReassign", 0, Random(1), lambda _: allowed)
    assert process is not None
    asked.clear()
    allowed = False
    list(process)
    assert asked == [("reassign", True)], "by now the partition counts on a replica that has lost its cache"


def test_a_move_that_is_over_before_it_is_taken_back() -> None:
    """Between the draw and its process the cluster shows the end of the move."""
    view = ClusterView()
    view.partitions["orders-0"] = PartitionView("orders-0", "0" * 32, [0, 1], [0, 1], 0, 0, 0, 1)
    carried_out: list[str] = []

    def run(step: Admin) -> Process[str | None]:
        carried_out.append(step.choice)
        yield from ()
        return None

    drawn = RandomAdministration(Cluster(brokers=4), view, run, lambda _: None)
    move = next(
        made for seed in range(20) if (made := drawn.draw("reassign", 0, Random(seed), lambda _: True)) is not None
    )
    (target,) = drawn.moving_to("orders-0")
    assert drawn.draw("cancelReassign", 0, Random(1), lambda _: False) is None, "it takes replicas away, as a move does"
    cancel = drawn.draw("cancelReassign", 0, Random(1), lambda _: True)
    assert cancel is not None
    list(move)
    view.partitions["orders-0"].replicas = list(target)
    assert drawn.moving_to("orders-0") == ()
    list(cancel)
    assert carried_out == ["reassign", "cancelReassign"]
