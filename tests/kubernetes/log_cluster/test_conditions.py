"""What the conditions of a LogCluster say of a rolling restart, and of what takes too long."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from highwater_operator.admin import BrokerView, ClusterView, PartitionView, QuorumView, TopicView
from highwater_operator.objects.naming import Owner, Role
from highwater_operator.reconcile.observation import PodView
from highwater_operator.reconcile.rolling import Roll
from highwater_operator.reconcile.scaling import Scaling
from highwater_operator.reconcile.status import DEADLINE, Facts, status_of
from highwater_operator.resources import LogClusterSpec
from highwater_runtime.ports import Endpoint

NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
BEGAN = NOW - timedelta(minutes=2)
OWNER = Owner("demo", "default", "uid", LogClusterSpec.model_validate({"brokers": 3, "controllers": 3}))
BROKERS = {one: BrokerView(one, Endpoint("h", 1), fenced=False) for one in range(3)}
SOUND = ClusterView("id", BROKERS, {}, QuorumView(1001, 1, 5, {1000: 5, 1001: 5, 1002: 5}), ())
BEHIND = replace(SOUND, under_replicated=("orders-0",))
ROLES: tuple[Role, ...] = ("controller", "broker")
BROKERS_LEFT = Roll(behind=("demo-broker-1", "demo-broker-2"))


def facts(view: ClusterView | None = SOUND, roll: Roll = BROKERS_LEFT, **changes: dict[str, Any]) -> Facts:
    """Broker 0 was replaced half a minute ago; ``changes`` by pod (``broker_0={"ready": False}``)."""
    pods = []
    for role in ROLES:
        for index in range(3):
            wanted: dict[str, Any] = {"ready": True, "terminating": False, "since": NOW - timedelta(days=1)}
            if (role, index) == ("broker", 0):
                wanted["since"] = NOW - timedelta(seconds=30)
            wanted |= changes.get(f"{role}_{index}", {})
            pods.append(PodView(f"demo-{role}-{index}", f"u-{role}-{index}", role, index, "any", **wanted))
    return Facts(
        OWNER, tuple(pods), Scaling(3), roll, view, "nobody answers", rolling_since=BEGAN, was_ready=True, now=NOW
    )


def conditions(found: Facts) -> dict[str, tuple[str, str]]:
    return {name: (verdict.status, verdict.reason) for name, verdict in status_of(found)[1].items()}


ROLLING = {
    "Ready": ("True", "RollingRestart"),
    "Progressing": ("True", "RollingRestart"),
    "Degraded": ("False", "Sound"),
}


@pytest.mark.parametrize(
    ("found", "degraded"),
    [
        (facts(broker_0={"ready": False}), "Sound"),
        (facts(BEHIND, broker_0={"ready": False}), "RollingRestart"),
        (facts(BEHIND), "RollingRestart"),
        (facts(BEHIND, Roll()), "RollingRestart"),
        (facts(roll=Roll(), broker_0={"ready": False}), "Sound"),
        (facts(broker_1={"terminating": True, "since": NOW}), "Sound"),
        (facts(replace(SOUND, quorum=QuorumView(-1, 1, 5, {})), controller_1={"ready": False, "since": NOW}), "Sound"),
    ],
)
def test_a_rolling_restart_is_progress_and_no_failure(found: Facts, degraded: str) -> None:
    assert conditions(found) == ROLLING | {"Degraded": ("False", degraded)}


@pytest.mark.parametrize(
    ("found", "ready", "degraded"),
    [
        # A second pod is down: this is not what a rolling restart does.
        (
            facts(BEHIND, broker_0={"ready": False}, broker_2={"ready": False, "since": NOW}),
            "PodsNotReady",
            "UnderReplicated",
        ),
        (facts(None, broker_0={"ready": False}), "ClusterNotAnswering", "ClusterNotAnswering"),
    ],
)
def test_what_else_goes_wrong_meanwhile_is_said(found: Facts, ready: str, degraded: str) -> None:
    said = conditions(found)
    assert said["Ready"] == ("False", ready)
    assert said["Degraded"][1] == degraded


def of(brokers: int, found: Facts) -> Facts:
    return replace(found, owner=OWNER._replace(spec=OWNER.spec.model_copy(update={"brokers": brokers})))


OFFLINE = TopicView("orders", False, (PartitionView("orders", 0, -1, 1, (1,), (1,)),))


@pytest.mark.parametrize(
    ("found", "ready", "degraded"),
    [
        # The new image does not start: the first pod that has it fails, all others serve.
        (facts(broker_0={"ready": False, "trouble": "ErrImagePull: x"}), True, "PodsFailing"),
        (facts(controller_0={"ready": False, "trouble": "ErrImagePull: x"}), True, "PodsFailing"),
        # Brokers join, and nobody misses them: not there yet, not started, refused by the API server.
        (of(5, facts(roll=Roll())), True, "Sound"),
        (replace(of(5, facts(roll=Roll())), uncreated="exceeded quota"), True, "PodsNotCreated"),
        (replace(facts(roll=Roll()), creating=("more",)), True, "Sound"),
        # One is down by itself.
        (facts(BEHIND, Roll(), broker_1={"ready": False, "since": NOW}), True, "UnderReplicated"),
        # Clients miss these.
        (
            facts(BEHIND, Roll(), broker_1={"ready": False, "since": NOW}, broker_2={"ready": False, "since": NOW}),
            False,
            "UnderReplicated",
        ),
        (facts(replace(SOUND, topics={"orders": OFFLINE}), Roll()), False, "PartitionsOffline"),
        # It has never been whole.
        (replace(of(4, facts(roll=Roll())), was_ready=False, rolling_since=None), False, "PodsNotReady"),
        (
            replace(facts(roll=Roll(), controller_0={"ready": False, "since": NOW}), was_ready=False),
            False,
            "PodsNotReady",
        ),
        (replace(facts(roll=Roll()), creating=("more",), was_ready=False), False, "TopicsMissing"),
    ],
)
def test_a_cluster_is_ready_as_long_as_its_clients_are_served(found: Facts, ready: bool, degraded: str) -> None:
    said = conditions(replace(found, rolling_since=None))
    assert (said["Ready"][0] == "True", said["Degraded"][1]) == (ready, degraded), status_of(found)[1]


def test_partitions_that_were_behind_before_any_broker_was_replaced_are_not_its_doing() -> None:
    untouched = facts(BEHIND, Roll(behind=tuple(f"demo-broker-{index}" for index in range(3))))
    assert conditions(untouched)["Degraded"] == ("True", "UnderReplicated")
    long_ago = facts(BEHIND, Roll(), broker_0={"since": NOW - DEADLINE - timedelta(seconds=1)})
    assert conditions(replace(long_ago, rolling_since=NOW - timedelta(hours=1)))["Degraded"] == (
        "True",
        "UnderReplicated",
    )


@pytest.mark.parametrize("roll", [BROKERS_LEFT, Roll()])
@pytest.mark.parametrize("view", [SOUND, None])
def test_a_pod_that_does_not_become_ready_is_late_after_ten_minutes(roll: Roll, view: ClusterView | None) -> None:
    made = NOW - DEADLINE
    in_time = facts(view, roll, broker_0={"ready": False, "since": made})
    assert conditions(in_time)["Progressing"][0] == "True"
    late = facts(view, roll, broker_0={"ready": False, "since": made - timedelta(seconds=1)})
    said = conditions(late)
    assert said["Ready"][0] == ("False" if view is None else "True")
    assert said["Progressing"] == ("False", "ProgressDeadlineExceeded")
    assert said["Degraded"] == ("True", "ProgressDeadlineExceeded")
    assert "not ready for 10 minutes: demo-broker-0" in status_of(late)[1]["Degraded"].message


NO_CONTROLLER = replace(SOUND, quorum=QuorumView(-1, 1, 5, {}))


@pytest.mark.parametrize(
    ("view", "reason"),
    [(None, "ClusterNotAnswering"), (NO_CONTROLLER, "NoActiveController")],
    ids=["none", "no leader"],
)
def test_a_cluster_that_does_not_serve_is_degraded_after_ten_minutes_though_every_pod_is_ready(
    view: ClusterView | None, reason: str
) -> None:
    """A readiness probe sees one pod; that no controller is elected, or that none answers, it does not see."""
    since = NOW - DEADLINE
    old = facts(view, Roll(), broker_0={"since": since - timedelta(hours=1)})
    in_time = conditions(replace(old, rolling_since=None, unready_since=since))
    assert (in_time["Ready"], in_time["Degraded"]) == (("False", reason), ("False", reason))
    late = replace(old, rolling_since=None, unready_since=since - timedelta(seconds=1))
    assert conditions(late) == {
        "Ready": ("False", reason),
        "Progressing": ("False", "ProgressDeadlineExceeded"),
        "Degraded": ("True", reason),
    }
    assert status_of(late)[0]["phase"] == "Degraded"
    # A pod that has just come back is given its time.
    assert conditions(replace(facts(view, Roll()), rolling_since=None, unready_since=since))["Degraded"][0] == "False"


def test_a_rolling_restart_that_waits_for_what_does_not_come_is_degraded_after_ten_minutes() -> None:
    waits = replace(BROKERS_LEFT, waiting="broker 1 does not reach controller 1002")
    old = facts(SOUND, waits, broker_0={"since": NOW - timedelta(hours=1)})
    assert conditions(replace(old, rolling_since=NOW - DEADLINE))["Progressing"] == ("True", "RollingRestart")
    late = replace(old, rolling_since=NOW - timedelta(hours=1))
    assert conditions(late) == {
        "Ready": ("True", "Serving"),
        "Progressing": ("False", "ProgressDeadlineExceeded"),
        "Degraded": ("True", "ProgressDeadlineExceeded"),
    }
    # The next look finds that status, and it stays so until a pod is replaced.
    assert conditions(replace(old, rolling_since=None, was_late=True)) == conditions(late)
    replaced = replace(facts(SOUND, waits), rolling_since=None, was_late=True)
    assert conditions(replaced)["Progressing"] == ("True", "RollingRestart")
    assert "broker 1 does not reach controller 1002" in status_of(late)[1]["Degraded"].message
