"""What the quorum and brokers owe, and from when on: each bound by a history that keeps it, told event by event."""

from __future__ import annotations

import pytest
from chaos_told_run import (
    ALWAYS,
    DEAD,
    ELECTION,
    NONE,
    ROUND,
    SESSION,
    SETTLED,
    ZK_SESSION,
    Late,
    Made,
    Run,
)

from highwater_chaos.liveness.promptness import ELECTIONS, SESSIONS, Bounds, sentence_of
from highwater_runtime.ports import MS


@pytest.mark.parametrize(
    ("mode", "session_ms", "fetches_ms"), [("kraft", 1300, 4300 + 370), ("zookeeper", 2 * 4700, 4300 + 370 + 3100)]
)
def test_how_long_a_disturbance_may_have_an_effect(mode: str, session_ms: int, fetches_ms: int) -> None:
    round_ms = 2 * 1900 + 170
    assert Run(mode).bounds == Bounds(
        round=round_ms * MS,
        election=(2300 + round_ms + 500) * MS,
        session=(session_ms + 2 * 110 + 290 + 500) * MS,
        fetches=(fetches_ms + 500) * MS,
        follows=(410 + 2 * 370 + 500) * MS,
        client=(3 * 530 + 1000 + 500) * MS,
        called=(290 + 2300 // 2 + 2 * 500) * MS,
        request=(290 + 500) * MS,
        proposes=3100 * MS * (mode == "kraft"),
    )


def _pauses(run: Run, begin: float, end: float, *nodes: str) -> Run:
    for node in nodes:
        run.fault("pause", node, begin, end)
    return run


CASES: list[tuple[str, Made, float, Late]] = [
    # --- elections ---
    (ELECTIONS, Run, ALWAYS, []),
    (ELECTIONS, lambda: Run("zookeeper"), ALWAYS, []),
    (ELECTIONS, lambda: Run().elects(20, 0, 1, "unattached").elects(22, 1, 2), ALWAYS, [(20, 22, NONE)]),
    # The leader is gone: another is elected in time, or not. That it returns disturbs nobody.
    (ELECTIONS, lambda: Run().away("controller-0", 20, 60).elects(25, 1, 2), ALWAYS - ELECTION, []),
    (ELECTIONS, lambda: Run().away("controller-0", 20, 60).elects(40, 1, 2), ALWAYS - ELECTION, [(26.77, 40, NONE)]),
    (ELECTIONS, lambda: Run().fault("pause", "controller-0", 20, 60), 85.46, [(26.77, 60, DEAD)]),
    # A follower is gone: thanks to pre-votes nobody is elected, neither then nor when it returns.
    (
        ELECTIONS,
        lambda: Run().away("controller-1", 20, 60).elects(21, 0, 1, "unattached").elects(31, 2, 2),
        ALWAYS,
        [(21, 31, NONE)],
    ),
    (
        ELECTIONS,
        lambda: Run(switches="{pre-vote: 'off'}").away("controller-1", 20, 60),
        ALWAYS - 2 * ELECTION,
        [],
    ),
    # No majority is well.
    (
        ELECTIONS,
        lambda: _pauses(Run(), 20, 60, "controller-1", "controller-2").elects(30, 0, 1, "unattached").elects(70, 0, 2),
        ALWAYS - 40 - ELECTION,
        [(66.77, 70, NONE)],
    ),
    # A voter in trouble disturbs nobody while a leader is well, but may be elected when there is none.
    (ELECTIONS, lambda: Run().fault("diskStall", "controller-1", 20, 60), ALWAYS, []),
    (ELECTIONS, lambda: Run().fault("diskStall", "controller-0", 20, 60), ALWAYS - 40 - ELECTION, []),
    (
        ELECTIONS,
        lambda: Run().fault("diskStall", "controller-1", 20, 60).elects(30, 0, 1, "unattached").elects(40, 2, 2),
        ALWAYS - 10 - ROUND,
        [],
    ),
    (
        ELECTIONS,
        lambda: Run(switches="{pre-vote: 'off'}").fault("diskStall", "controller-1", 20, 60),
        ALWAYS - 40 - ELECTION,
        [],
    ),
    # In ZooKeeper mode the controller is a broker with a session, and waits for every other one.
    (
        ELECTIONS,
        lambda: Run("zookeeper").fault("pause", "broker-0", 20, 60).controls(50, 1),
        ALWAYS - ZK_SESSION,
        [(30.41, 50, "broker-0 was the controller and did not live")],
    ),
    (ELECTIONS, lambda: Run("zookeeper").fault("pause", "broker-1", 20, 60), ALWAYS, []),
    (ELECTIONS, lambda: Run("zookeeper").fault("diskStall", "broker-1", 20, 60), ALWAYS - 40, []),
    (
        ELECTIONS,
        lambda: _pauses(Run("zookeeper"), 20, 60, "broker-0", "broker-1", "broker-2"),
        ALWAYS - 40 - ZK_SESSION,
        [],
    ),
    (
        ELECTIONS,
        lambda: _pauses(Run("zookeeper"), 20, 60, "broker-0", "broker-1", "broker-2").controls(25, -1).controls(65, 0),
        ALWAYS - 40 - ZK_SESSION,
        [],
    ),
    (
        ELECTIONS,
        lambda: Run("zookeeper").away("zookeeper-1", 20, 60).controls(50, -1).controls(51, 0),
        ALWAYS - 2 * (ELECTION + ZK_SESSION),
        [(50, 51, NONE)],
    ),
    # A majority is more than half.
    (ELECTIONS, lambda: _pauses(Run(voters=4), 20, 60, "controller-1", "controller-2"), ALWAYS - 40 - ELECTION, []),
    (ELECTIONS, lambda: _pauses(Run(), 20, 60, "controller-1", "controller-2"), ALWAYS - 40 - ELECTION, []),
    # It is the leader of before that counts, and of two the one in the higher epoch.
    (ELECTIONS, lambda: Run().fault("pause", "controller-0", 20, 60).elects(20, 1, 2), ALWAYS - ELECTION, []),
    (ELECTIONS, lambda: Run("zookeeper").fault("pause", "broker-0", 20, 60).controls(20, 1), ALWAYS - ZK_SESSION, []),
    (ELECTIONS, lambda: Run().elects(20, 1, 2).away("controller-0", 30, 60), ALWAYS, []),
    # Brokers have no part in it, and what came before the cluster was whole has no effect.
    (ELECTIONS, lambda: Run().fault("partition", "broker-1", 20, 60, "controller-0"), ALWAYS, []),
    (ELECTIONS, lambda: Run().fault("diskStall", "controller-0", 0.5, SETTLED), ALWAYS, []),
    # --- sessions ---
    (SESSIONS, Run, 3 * ALWAYS, []),
    (
        SESSIONS,
        lambda: Run().fences(30, 1).fences(35, 1, "unfenced"),
        3 * ALWAYS,
        [(30, 35, "broker-1 had no session")],
    ),
    (
        SESSIONS,
        lambda: Run().away("broker-1", 20, 25).registers(29, 1),
        3 * ALWAYS - 5 - SESSION,
        [(27.31, 29, "broker-1 had no session")],
    ),
    (
        SESSIONS,
        lambda: Run().fault("diskStall", "broker-1", 20, 60).fences(30, 1).fences(61, 1, "unfenced"),
        3 * ALWAYS - 40 - SESSION,
        [],
    ),
    (
        SESSIONS,
        lambda: Run().fault("partition", "broker-1", 20, 60, "controller-0").fences(30, 1).fences(61, 1, "unfenced"),
        3 * ALWAYS - 40 - ELECTION - SESSION,
        [],
    ),
    # A new controller gives each broker a new session.
    (
        SESSIONS,
        lambda: Run().away("controller-0", 20, 60).elects(21, 1, 2).fences(22, 1).fences(31, 1, "unfenced"),
        3 * (ALWAYS - ELECTION - SESSION),
        [(29.08, 31, "broker-1 had no session")],
    ),
    (
        SESSIONS,
        lambda: Run().away("controller-1", 20, 60).fences(22, 1).fences(31, 1, "unfenced"),
        3 * ALWAYS,
        [(22, 31, "broker-1 had no session")],
    ),
    (SESSIONS, lambda: Run("zookeeper").away("zookeeper-1", 20, 60), 3 * (ALWAYS - 2 * (ELECTION + ZK_SESSION)), []),
]


@pytest.mark.parametrize(("feature", "made", "judged", "late"), CASES)
def test_what_is_owed_and_late(feature: str, made: Made, judged: float, late: Late) -> None:
    run = made()
    assert (run.judged(feature), run.late(feature)) == (pytest.approx(judged, abs=0.002), late)


def test_what_was_late_first_and_longest_is_said() -> None:
    run = Run().fences(30, 1).fences(30.3, 2).fences(33, 1, "unfenced").fences(40, 2, "unfenced").fences(50, 1)
    since = "what that needs had been healthy for as long as recovery may take by the settings"
    assert sentence_of(run.owed(SESSIONS)) == (
        f"broker-2 had no session, from 30.300 s to 40.000 s; {since} (3 such times in all)"
    )
    assert sentence_of(Run().fences(31, 1).fences(40, 1, "unfenced").owed(SESSIONS)) == (
        f"broker-1 had no session, from 31.000 s to 40.000 s; {since}"
    )
