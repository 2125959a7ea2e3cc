"""What healthy nodes owe in time, while faults are in force elsewhere: a bug that only delays is found, and a schedule
that leaves nothing healthy excuses everything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.backends.protocol import TimedEvent
from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.campaign.draw import draw_experiment
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import ChaosExperiment, load_experiment
from highwater_chaos.liveness.course import Course
from highwater_chaos.liveness.promptness import IN_TIME, Bounds, most_in_sync, sends_at_once
from highwater_chaos.run.result import RunResult
from highwater_chaos.workload.history import Operation
from highwater_lab.mutants import Mutant, applied
from highwater_runtime.ports import MS

SCENARIOS = Path(__file__).parents[2] / "scenarios"

REGISTERS_ANEW = (
    "controller.kraft.cluster_control:register_broker",
    "            records.append(_registration_record(request, existing.epoch, existing))\n"
    "        return Decision(BrokerRegistrationResponse(broker_epoch=existing.epoch), records)",
    "            pass\n"
    "        records.append(_registration_record(request, base_offset, existing))\n"
    "        return Decision(BrokerRegistrationResponse(broker_epoch=base_offset), records)",
)
FENCES_NOW_AND_THEN = (
    "controller.kraft.sessions:BrokerSessions.touch",
    "session.last_contact_ns = now_ns",
    "session.last_contact_ns = now_ns if metadata_offset % 5 else now_ns - self._timeout_ns",
)
LOSES_THREE_ELECTIONS = (
    "raft.campaign:Campaign._answered",
    "if self._tally.is_won:",
    "if self._tally.is_won and self._state.epoch % 4 == 1:",
)
ACKNOWLEDGES_WITH_THE_NEXT_WRITE = (
    "broker.purgatory:WakeUps.mark_committed",
    "        self._changed.setdefault(key, True)",
    "        pass",
)


def _run(experiment: ChaosExperiment) -> RunResult:
    return run_experiment(experiment, SimBackend())


def _found(result: RunResult) -> list[str]:
    return [violation.what for violation in result.violations if violation.name == "unavailable"]


# --- what only delays ------------------------------------------------------------------------------------------------


@pytest.mark.quick("kafka-16952")
@pytest.mark.parametrize(
    ("file", "broken", "says"),
    [
        ("kafka-16952/registration-arrives-twice", REGISTERS_ANEW, "broker id 1, state unfenced did not hold for 4s"),
        ("raft/partitioned-follower", FENCES_NOW_AND_THEN, "sessions in time: broker-0 had no session"),
        ("raft/leader-crash", LOSES_THREE_ELECTIONS, "elections in time: no controller was active"),
        ("kafka-7362/kraft-moved-away", ACKNOWLEDGES_WITH_THE_NEXT_WRITE, "writes in time: a write of producer-0"),
    ],
)
def test_a_bug_that_only_delays_is_found(file: str, broken: tuple[str, str, str], says: str) -> None:
    experiment = load_experiment(SCENARIOS / f"{file}.yaml")
    result = _run(experiment)
    assert (_found(result), result.inconclusive_reasons) == ([], [])
    if "in time" in says:
        assert {result.features[feature].state for feature in IN_TIME} == {"ok"}
    with applied(Mutant("delays", *broken, "it is soon")):
        result = _run(experiment)
    assert any(what.startswith(says) for what in _found(result)), _found(result)


@pytest.mark.quick("69")
@pytest.mark.parametrize("seed", [5, 69, 99, 109])
def test_what_is_late_for_a_reason_is_no_finding(seed: int) -> None:
    """Partitions that went while clients wrote to them; one whose leader was dead when it was made; a deposed leader
    that goes on; a broker that is back before its session is over."""
    result = _run(draw_experiment(seed))
    assert _found(result) == []
    assert {result.features[feature].state for feature in IN_TIME} == {"ok"}


def test_what_faults_ask_for_is_seen_by_all_who_follow(make_experiment: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault looks at the newest events in the middle of a turn. They are not lost to others."""
    seen: list[int] = []
    observe = Course.observe

    def note(self: Course, events: Sequence[TimedEvent]) -> None:
        seen.extend(timed.seq for timed in events)
        observe(self, events)

    monkeypatch.setattr(Course, "observe", note)
    _run(make_experiment("[{inject: {kill: {target: {broker: 1}, restartAfter: 1s}}}, {wait: 3s}]"))
    assert seen == list(range(len(seen)))


END = 100


def test_a_send_that_its_client_lets_wait_is_not_judged() -> None:
    """Six are begun at once, and one when the first has ended."""
    begun = [Operation(i, i, i, "invoke", "send", (), "producer-0") for i in range(6)]
    ended = Operation(6, 50, 0, "ok", "send", (), "producer-0")
    other = Operation(7, 60, 7, "invoke", "send", (), "producer-1")
    polls = [Operation(8 + n, 61 + n, 8, type_, "poll", (), "producer-1") for n, type_ in enumerate(("invoke", "ok"))]
    found = sends_at_once([*begun, ended, other, *polls], END)
    assert [(send.index, end_ns) for send, end_ns in found] == [
        (0, 50),
        (1, END),
        (2, END),
        (3, END),
        (4, END),
        (7, END),
    ]


def test_the_loosest_settings_count_that_nodes_and_topics_ever_have(make_experiment: Any) -> None:
    """Else what a restart or a step allows would be called late."""
    config = "{broker.session.timeout.ms: 60000, min.insync.replicas: 2}"
    made = "{name: paid, partitions: 1, replicationFactor: 3, config: {min.insync.replicas: 3}}"
    schedule = (
        f"[{{inject: {{restart: {{target: {{broker: 1}}, config: {config}}}}}}}, {{admin: {{createTopic: {made}}}}},"
        f" {{admin: {{createTopic: {made.replace('3}}', '1}}')}}}}}]"
    )
    before, after = make_experiment("[]").spec, make_experiment(schedule).spec
    own = int(before.cluster.config["broker.session.timeout.ms"])
    assert Bounds.of(after).session - Bounds.of(before).session == (60_000 - own) * MS
    assert (most_in_sync(before)[""], most_in_sync(after)[""], most_in_sync(after)["paid"]) == (1, 2, 3)
