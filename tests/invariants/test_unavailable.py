"""``unavailable``: no progress although a majority was healthy is a finding; without the evidence it is not."""

from __future__ import annotations

import re
from typing import Any

import pytest

from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.faults import FaultRecord
from highwater_runtime.broker.apis import produce
from highwater_runtime.broker.fetcher import LeaderFetcher
from highwater_runtime.ports import SECOND
from highwater_runtime.ports.trace import PartitionChanged
from highwater_runtime.raft.replica import RaftReplica

KILL_FOLLOWER = """
    - inject: {name: away, kill: {target: {broker: 1}}}
    - wait: 6s
"""
KILL_CONTROLLER = """
    - inject: {kill: {target: {controller: 0}}}
    - wait: 6s
"""


def never_fetch_again(monkeypatch: pytest.MonkeyPatch) -> None:
    follow = LeaderFetcher.follow

    def wrong(self: LeaderFetcher, partition: Any) -> None:
        if partition.context.clock.now_ns() < 8 * SECOND:
            follow(self, partition)

    monkeypatch.setattr(LeaderFetcher, "follow", wrong)


def never_answer_again(monkeypatch: pytest.MonkeyPatch, *partitions: str) -> None:
    outcome = produce.outcome

    def wrong(partition: Any, end_offset: int) -> Any:
        late = partition.context.clock.now_ns() > 8 * SECOND
        stuck = late and (not partitions or partition.name in partitions)
        return None if stuck else outcome(partition, end_offset)

    monkeypatch.setattr(produce, "outcome", wrong)


def leave_a_voter_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A voter goes on fetching, so that it hears its leader, and learns of no further commit."""
    commit = RaftReplica.commit_up_to

    def wrong(self: RaftReplica, offset: int, leader_id: int) -> None:
        is_the_one = self.node_id == 1000 + (leader_id + 1) % 3
        if not is_the_one or self._shared.ports.clock.now_ns() < 3 * SECOND:
            commit(self, offset, leader_id)

    monkeypatch.setattr(RaftReplica, "commit_up_to", wrong)


def after_the_heal(run: Any) -> list[str]:
    """Without what was late before."""
    return [one.what for one in run.result.violations if "after all faults had been healed" in one.what]


@pytest.mark.quick("no acknowledgements")
@pytest.mark.parametrize(
    ("mutation", "what"),
    [
        (never_fetch_again, r"broker 1 is not in the ISR \[0\] of orders-0"),
        (never_answer_again, "no write was acknowledged in orders-0"),
        (leave_a_voter_behind, r"controller-\d does not have the metadata log up to \d+, but to \d+"),
    ],
    ids=["stuck follower", "no acknowledgements", "stuck voter"],
)
def test_a_healthy_cluster_that_makes_no_progress(
    simulate: Any, monkeypatch: pytest.MonkeyPatch, mutation: Any, what: str
) -> None:
    mutation(monkeypatch)
    run = simulate(KILL_FOLLOWER, recovery="20s")
    assert run.violations - {"overdue"} == {"unavailable"}
    story, *others = after_the_heal(run)
    assert re.fullmatch(f"20s after all faults had been healed, with a healthy majority, {what}", story)
    assert len(others) == (mutation is leave_a_voter_behind), "its controller does not know what is committed"


MANY = "{name: orders, partitions: 12, replicationFactor: 2}"
SELDOM = "{producers: 1, rate: 1/s}"
"""Most of the partitions are not written to after the faults."""


@pytest.mark.quick("{producers: 1, rate: 1/s}")
@pytest.mark.parametrize(
    "workload", ["{producers: 1, rate: 60/s}", SELDOM, "{producers: 1, rate: 60/s, acks: 0, idempotence: false}"]
)
def test_each_partition_that_was_written_to_makes_progress(
    simulate: Any, monkeypatch: pytest.MonkeyPatch, workload: str
) -> None:
    """One partition answers no more; the others are no excuse for it, and nobody may have written to it since."""
    schedule = KILL_FOLLOWER + "    - wait: 20s\n"
    never_answer_again(monkeypatch, "orders-7")
    run = simulate(schedule, recovery="10s", topic=MANY, workload=workload)
    assert run.violations - {"overdue"} == {"unavailable"}
    (story,) = after_the_heal(run)
    assert story.endswith("no write was acknowledged in orders-7")


def test_a_partition_that_nobody_writes_to_is_probed(simulate: Any) -> None:
    run = simulate(KILL_FOLLOWER, recovery="10s", topic=MANY, workload=SELDOM)
    assert (run.violations, run.result.inconclusive_reasons) == (set(), [])
    probed = {o.value[0].key for o in run.result.operations if o.client == "probe" and o.type == "ok"}
    written = {o.value[0].key for o in run.result.operations if o.f == "send"}
    assert probed
    assert probed < written, "partitions that were never written to are not probed either"


def test_without_the_mutation_it_recovers(simulate: Any) -> None:
    run = simulate(KILL_FOLLOWER, recovery="20s")
    assert (run.violations, run.result.inconclusive_reasons) == (set(), [])


@pytest.mark.thorough
def test_a_node_that_stays_down_is_no_finding(simulate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The follower cannot be in the ISR: the harness failed to start it."""
    start = SimBackend.start
    monkeypatch.setattr(SimBackend, "start", lambda self, node: None if node == "broker-1" else start(self, node))
    monkeypatch.setattr(FaultRecord, "healed", property(lambda self: True))  # health alone is the question
    run = simulate(KILL_FOLLOWER, recovery="10s")
    assert run.violations == set()
    assert any("the cluster did not recover: broker-1 is down" in reason for reason in run.result.inconclusive_reasons)


@pytest.mark.thorough
def test_without_a_healthy_majority_there_is_no_finding(simulate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The only controller stays down: brokers cannot be unfenced, whoever is healthy."""
    start = SimBackend.start
    monkeypatch.setattr(SimBackend, "start", lambda self, node: None if node == "controller-0" else start(self, node))
    monkeypatch.setattr(FaultRecord, "healed", property(lambda self: True))  # health alone is the question
    run = simulate(KILL_CONTROLLER, controllers=1, recovery="10s")
    assert run.violations == set()
    assert any("the cluster did not recover" in reason for reason in run.result.inconclusive_reasons)


def test_a_fault_that_nobody_saw_healed_excuses(simulate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link may still be cut: the run is inconclusive, and no finding."""
    never_fetch_again(monkeypatch)
    monkeypatch.setattr(FaultRecord, "healed", property(lambda self: False))
    run = simulate(KILL_FOLLOWER, recovery="10s")
    assert run.violations == set()
    assert any("is not known to be healed" in reason for reason in run.result.inconclusive_reasons)


@pytest.mark.quick("late")
@pytest.mark.parametrize("until_s", [50, 10_000], ids=["late", "never"])
def test_what_is_not_known_yet_is_no_finding(simulate: Any, monkeypatch: pytest.MonkeyPatch, until_s: int) -> None:
    """The follower comes back in time. What it did then is read late, as if the agent of its machine were silent: the
    harness sees it outside of the ISR for longer than ``recovery``."""
    read = SimBackend.events_since
    silent_from: list[int] = []

    def rejoins(event: Any) -> bool:
        return isinstance(event, PartitionChanged) and event.partition == "orders-0" and len(event.isr) == 2

    def read_late(self: SimBackend, seq: int) -> Any:
        events = read(self, seq)
        if not silent_from:
            back = [at for at, one in enumerate(events) if one.time_ns > 8 * SECOND and rejoins(one.event)]
            if not back:
                return events
            silent_from.append(self.now_ns())
            return events[: back[0]]
        return events if self.now_ns() > until_s * SECOND else []

    def observed_until_ns(self: SimBackend) -> int:
        is_silent = bool(silent_from) and self.now_ns() <= until_s * SECOND
        return silent_from[0] - 1 if is_silent else self.now_ns()

    monkeypatch.setattr(SimBackend, "events_since", read_late)
    monkeypatch.setattr(SimBackend, "observed_until_ns", observed_until_ns, raising=False)
    run = simulate(KILL_FOLLOWER, recovery="20s")
    assert silent_from
    assert run.violations == set()
    reasons = run.result.inconclusive_reasons
    assert any("the cluster did not recover" in reason for reason in reasons)
    assert any("whether the cluster recovered is not known" in reason for reason in reasons) == (until_s > 60)


def test_a_run_whose_last_events_are_not_known_is_inconclusive(simulate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimBackend, "observed_until_ns", lambda self: min(self.now_ns(), 5 * SECOND), raising=False)
    run = simulate(recovery="20s")
    assert run.result.inconclusive_reasons == ["what nodes did last could not be read when the run ended"]
