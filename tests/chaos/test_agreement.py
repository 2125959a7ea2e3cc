"""Each difference between what a node knows of the cluster and what is committed is one, and said."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from highwater_chaos.backends.view import PartitionView
from highwater_chaos.experiment import Cluster
from highwater_chaos.liveness.agreement import Agreement
from highwater_chaos.workload.metadata_probe import KnownLeaders, KnownMetadata, KnownPartition

OWN = KnownPartition("id", 0, 3, 5, (0, 1), (0, 1, 2))
SAME = KnownMetadata((0, 1), {"t-0": OWN}, None)


class _Backend:
    def __init__(self, known: dict[str, KnownMetadata]) -> None:
        self.known = known

    def known_to_controllers(self) -> dict[str, KnownMetadata]:
        return self.known

    def known_to_brokers(self) -> dict[str, KnownLeaders]:
        return {}


def _agreement(known: KnownMetadata, mode: str = "kraft", controller: str | None = "broker-1") -> Agreement:
    view: Any = SimpleNamespace(
        brokers={1: None, 0: None, 2: None},
        is_unfenced=lambda broker: broker != 2,
        active_controller=lambda: controller,
        partitions={"t-0": PartitionView("t-0", "id", [2, 0, 1], [1, 0], 0, 3, 5, 9)},
        was_deleted=lambda name: name.startswith("gone"),
        may_have_missed_deletion=lambda name, broker: name == "gone-1" and broker == 0,
    )
    quorum: Any = {"controllers": 3} if mode == "kraft" else {"zookeepers": 3}
    made = Agreement(Cluster(mode=mode, brokers=1, **quorum), view, _Backend({"broker-0": known}), SimpleNamespace())  # type: ignore[arg-type]
    made._answers[0] = known
    return made


def _with(**fields: Any) -> KnownMetadata:
    return SAME._replace(partitions={"t-0": OWN._replace(**fields)})


SAID = "(leader 0 in epoch 3, partition epoch 5, ISR [0, 1], replicas [0, 1, 2] of topic id)"


@pytest.mark.parametrize(
    ("known", "mode", "clause"),
    [
        (SAME, "kraft", ""),
        (SAME._replace(brokers=(0, 1, 2)), "kraft", "the live brokers [0, 1, 2], but [0, 1] are live"),
        (SAME._replace(controller=0), "zookeeper", "broker-0 as the controller, but that is broker-1"),
        (SAME._replace(controller=1), "zookeeper", ""),
        (SAME, "zookeeper", ""),
        (SAME._replace(controller=0), "kraft", ""),  # any broker may be named
        (SAME._replace(partitions={}), "kraft", "no partition t-0, which is committed"),
        # What a node does not say is no difference.
        (_with(topic_id=""), "kraft", ""),
        (_with(partition_epoch=None), "kraft", ""),
        (_with(topic_id="another"), "kraft", "of topic another), but"),
        (_with(leader=1), "kraft", f"t-0 as {SAID.replace('leader 0', 'leader 1')}, but {SAID} is committed"),
        (_with(leader_epoch=2), "kraft", f"t-0 as {SAID.replace('epoch 3', 'epoch 2')}, but {SAID} is committed"),
        (_with(partition_epoch=4), "kraft", "partition epoch 4"),
        (_with(isr=(0,)), "kraft", "ISR [0]"),
        (_with(replicas=(0, 1)), "kraft", "replicas [0, 1] of"),
        (
            _with(leader=1, topic_id="", partition_epoch=None),
            "kraft",
            "t-0 as (leader 1 in epoch 3, ISR [0, 1], replicas [0, 1, 2]), but (leader 0 in epoch 3, ISR [0, 1],"
            " replicas [0, 1, 2]) is committed",
        ),
        # A partition of which no event says anything may be older than the run, unless it was deleted.
        (SAME._replace(partitions={"t-0": OWN, "old-0": OWN}), "kraft", ""),
        (SAME._replace(partitions={"t-0": OWN, "gone-0": OWN}), "kraft", "gone-0, which was deleted"),
        (SAME._replace(partitions={"t-0": OWN, "gone-1": OWN}), "zookeeper", "gone-1, which was deleted (controller)"),
    ],
)
def test_what_a_node_knows_that_is_not_committed(known: KnownMetadata, mode: str, clause: str) -> None:
    agreement = _agreement(known, mode)
    brokers, controllers = agreement.of_brokers(), agreement.of_controllers()
    if clause.endswith(" (controller)"):
        assert (brokers, [one.endswith(clause.removesuffix(" (controller)")) for one in controllers]) == ([], [True])
        return
    if not clause:
        assert (brokers, controllers) == ([], [])
        return
    (of_broker,), (of_controller,) = brokers, controllers
    assert of_broker.startswith("broker-0 answers Metadata with ")
    assert of_controller.startswith("the controller on broker-0 has in memory ")
    assert clause in of_broker
    assert clause in of_controller


def test_while_nobody_is_the_controller_none_is_wrong() -> None:
    assert _agreement(SAME._replace(controller=0), "zookeeper", None).of_brokers() == []


def test_who_has_agreed_once_is_not_looked_at_again() -> None:
    agreement = _agreement(SAME)
    assert (agreement.of_brokers(), agreement.of_controllers()) == ([], [])
    wrong = _with(leader=1)
    agreement._answers[0] = agreement._backend.known["broker-0"] = wrong  # type: ignore[attr-defined]
    assert (agreement.of_brokers(), agreement.of_controllers()) == ([], [])


def test_a_broker_that_does_not_answer_has_not_agreed() -> None:
    agreement = _agreement(SAME)
    agreement._answers.clear()
    assert agreement.of_brokers() == ["broker-0 did not answer Metadata"]
    agreement._answers[0] = SAME
    assert agreement.of_brokers() == []


def test_only_a_backend_that_shows_controllers_is_asked_for_them() -> None:
    agreement = _agreement(SAME)
    assert agreement.shows_controllers
    agreement._backend = SimpleNamespace()  # type: ignore[assignment]
    assert not agreement.shows_controllers
    assert agreement.of_controllers() == []


def test_each_broker_is_asked_until_it_has_agreed() -> None:
    agreement = _agreement(SAME)
    agreement._brokers = [0, 1]
    agreement._answers.clear()
    asked: list[int] = []
    probe = SimpleNamespace(ask=lambda broker, _answers: asked.append(broker))
    agreement._clients = SimpleNamespace(metadata_probe=probe)  # type: ignore[assignment]
    agreement._backend = SimpleNamespace(post=lambda call: call())  # type: ignore[assignment]
    asking = agreement.ask()
    next(asking)
    agreement._answers[0] = SAME
    next(asking)
    assert asked == [0, 1, 1]
    agreement._answers[1] = SAME
    assert list(asking) == []
