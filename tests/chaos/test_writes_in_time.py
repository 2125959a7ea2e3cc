"""What partitions and clients' writes are owed, and from when on: each bound by a history, told event by event."""

from __future__ import annotations

import pytest
from chaos_told_run import (
    BOTH,
    CLIENT,
    CLIENTS,
    ELECTION,
    FETCHES,
    FOLLOWS,
    PROPOSES,
    SENT,
    SESSION,
    SETTLED,
    SLOW,
    ZK_FETCHES,
    ZK_SESSION,
    Late,
    Made,
    Run,
)

from highwater_chaos.liveness.promptness import WRITES

CASES: list[tuple[str, Made, float, Late]] = [
    # --- writes: each partition has a leader, and commits ---
    (WRITES, Run, BOTH, []),
    (
        WRITES,
        lambda: Run().decides(20, -1, 1).decides(30, 0, 2),
        BOTH - 2 * FOLLOWS,
        [(20, 30, "orders-0 had no leader")],
    ),
    (WRITES, lambda: Run().appends(20).commits(22), BOTH, [(20.25, 22, SLOW)]),
    (WRITES, lambda: Run().appends(20).commits(20.25), BOTH, []),
    # One that has not heard that its topic was deleted and created anew commits nothing; nobody owes it.
    (WRITES, lambda: Run().leads(19, "1" * 32).appends(20, end=9).leads(21).appends(22).commits(22.2), BOTH, []),
    (WRITES, lambda: Run().leads(19).appends(20), BOTH, [(20.25, 100, SLOW)]),
    (WRITES, lambda: Run().appends(20), BOTH, [(20.25, 100, SLOW)]),
    (
        WRITES,
        lambda: Run().appends(20).appends(21, end=2).commits(23).commits(24, end=2),
        BOTH,
        [(20.25, 23, SLOW), (21.25, 24, SLOW)],
    ),
    (WRITES, lambda: Run().appends(20).commits(21, end=0).commits(22), BOTH, [(20.25, 22, SLOW)]),
    # What a follower or a deposed leader says of itself is no commit, and no append.
    (WRITES, lambda: Run().appends(20, 1, reason="follower").appends(20, 0, reason="follower"), BOTH, []),
    (WRITES, lambda: Run().appends(20).commits(21, 1).commits(22), BOTH, [(20.25, 22, SLOW)]),
    (WRITES, lambda: Run().decides(19, 1, 1).appends(20), BOTH - FOLLOWS, []),
    (WRITES, lambda: Run().decides(19, 0, 1).appends(21).commits(22), BOTH - FOLLOWS, []),
    (WRITES, lambda: Run().appends(20).decides(25, 1, 1).commits(30, 1, epoch=1), BOTH - FOLLOWS, [(20.25, 25, SLOW)]),
    (WRITES, lambda: Run().appends(20).decides(22, isr=(0, 1)).commits(25), BOTH, [(20.25, 22, SLOW), (22, 25, SLOW)]),
    # Its leader is gone: for a session, and for what followers wait in vain if it says nothing.
    (
        WRITES,
        lambda: Run().away("broker-0", 20, 60).decides(45, 1, 1, (1, 2)),
        BOTH - 4 * SESSION - FOLLOWS,
        [(22.31, 45, "broker-0 was the leader of orders-0 and did not live")],
    ),
    (
        WRITES,
        lambda: Run().fault("pause", "broker-0", 20, 60).decides(45, 1, 1, (1, 2)),
        BOTH - 4 * (SESSION + FETCHES + PROPOSES) - FOLLOWS,
        [(30.58, 45, "broker-0 was the leader of orders-0 and did not live")],
    ),
    (
        WRITES,
        lambda: Run().fault("pause", "broker-1", 20, 60).appends(21).commits(35),
        BOTH - 4 * (SESSION + FETCHES + PROPOSES),
        [(30.58, 35, SLOW)],
    ),
    # Too few members of the ISR are well, or something is wrong with a replica.
    (WRITES, lambda: Run().decides(20, isr=(0,)).decides(60), BOTH - 80 - FOLLOWS, []),
    (WRITES, lambda: Run().decides(20, isr=(0, 1)).appends(30).commits(32), BOTH, [(30.25, 32, SLOW)]),
    (
        WRITES,
        lambda: Run().decides(20, 0, 0, (0,), replicas=[0]).appends(30).commits(32),
        BOTH - FOLLOWS,
        [(30.25, 32, SLOW)],
    ),
    (
        WRITES,
        lambda: Run().fault("diskStall", "broker-1", 20, 60).appends(30).commits(62),
        BOTH - 2 * (40 + SESSION + FETCHES + PROPOSES),
        [],
    ),
    (
        WRITES,
        lambda: Run().fault("partition", "broker-1", 20, 60, "broker-2"),
        BOTH - 2 * (40 + SESSION + FETCHES + PROPOSES),
        [],
    ),
    # Another broker has nothing to do with it, once no state of the partition has it.
    (
        WRITES,
        lambda: (
            Run()
            .decides(10, 0, 0, (0, 1), replicas=[0, 1])
            .fault("diskStall", "broker-2", 50, 60)
            .appends(55)
            .commits(57)
        ),
        BOTH - FOLLOWS,
        [(55.25, 57, SLOW)],
    ),
    (
        WRITES,
        lambda: Run().decides(51, 0, 0, (0, 1), replicas=[0, 1]).fault("diskStall", "broker-2", 20, 50),
        BOTH - 60 - 2 * (SESSION + FETCHES + PROPOSES) - FOLLOWS + FOLLOWS,
        [],
    ),
    (WRITES, lambda: Run().decides(60, reason="deleted"), BOTH - 80, []),
    (
        WRITES,
        lambda: Run().away("controller-0", 20, 60).elects(21, 1, 2).decides(22, -1, 1).decides(40, 0, 2),
        BOTH - 2 * (ELECTION + SESSION) - FOLLOWS,
        [(29.08, 40, "orders-0 had no leader")],
    ),
    (
        WRITES,
        lambda: Run("zookeeper").fault("pause", "broker-1", 20, 60).appends(21).commits(60),
        BOTH - 4 * (2 * ZK_SESSION + ZK_FETCHES),
        [(49.09, 60, SLOW)],
    ),
    # In ZooKeeper mode one of the other brokers is the controller.
    (
        WRITES,
        lambda: Run("zookeeper").decides(2, 0, 0, (0, 1), replicas=[0, 1]).fault("diskStall", "broker-2", 20, 60),
        BOTH - 2 * (40 + ZK_SESSION + ZK_FETCHES) - FOLLOWS,
        [],
    ),
    # Each partition for itself.
    (WRITES, lambda: Run().decides(50, partition="later-0", reason="created"), BOTH + 2 * 50 - FOLLOWS, []),
    (WRITES, lambda: Run().of_two().appends(20).commits(22), 2 * BOTH, [(20.25, 22, SLOW)]),
    (
        WRITES,
        lambda: Run().of_two().fault("partition", "broker-0", 20, 60, "broker-2"),
        2 * BOTH - 2 * (40 + SESSION + FETCHES + PROPOSES),
        [],
    ),
    (WRITES, lambda: Run("zookeeper").of_two(), 2 * BOTH, []),
    (WRITES, lambda: Run().appends(20, partition="unheard-0"), BOTH, []),
    (WRITES, lambda: Run().of_two().throttles("orders").appends(20), BOTH, []),
    # Broker 2 becomes a replica when its pause has no effect any more, or while it has.
    (
        WRITES,
        lambda: (
            Run()
            .of_two()
            .throttles("orders")
            .decides(33, 0, 0, (0, 1), partition="two-0")
            .fault("pause", "broker-2", 20, 22)
        ),
        BOTH - FOLLOWS,
        [],
    ),
    (
        WRITES,
        lambda: (
            Run()
            .of_two()
            .throttles("orders")
            .decides(32, 0, 0, (0, 1), partition="two-0")
            .fault("pause", "broker-2", 20, 22)
        ),
        BOTH - 2 * (SESSION + FETCHES + PROPOSES) - FOLLOWS + 0.58,
        [],
    ),
    (WRITES, lambda: Run().decides(60, reason="deleted").away("broker-1", 70, 80), BOTH - 80, []),
    # --- writes: those of clients are acknowledged ---
    (WRITES, lambda: Run().sends(20, 22), BOTH + CLIENTS - 1, [(21, 22, SENT)]),
    (WRITES, lambda: Run().sends(15, 15.1).sends(20, 22), BOTH + CLIENTS - 1, [(20.25, 22, SENT)]),
    (WRITES, lambda: Run().sends(15, 15.1).sends(20, None), BOTH + CLIENTS - 1, [(20.25, 100, SENT)]),
    (WRITES, lambda: Run().sends(15, 15.1).sends(20, 20.25), BOTH + CLIENTS - 1, []),
    (WRITES, lambda: Run(acks="0, idempotence: false").sends(20, 22), BOTH, []),
    (WRITES, lambda: Run().sends(20, 22, partition="others-0"), BOTH, []),
    (WRITES, lambda: Run().throttles("orders").sends(20, 22), 0, []),
    # The first send of a client is waited for, and for as long as it may take to find a leader after a disturbance.
    (WRITES, lambda: Run().sends(14, None).sends(15, 15.1), BOTH + CLIENTS - 1, [(15, 100, SENT)]),
    (WRITES, lambda: Run().away("controller-1", 20, 60).sends(30, 35), BOTH + CLIENTS - CLIENT, [(33.09, 35, SENT)]),
    (WRITES, lambda: Run().decides(SETTLED, 1, 1).sends(15, 15.1), BOTH - 1 + CLIENTS - 2, []),
    (WRITES, lambda: Run().decides(50, 1, 1).sends(15, 15.1), BOTH - FOLLOWS + CLIENTS - 1 - FOLLOWS - CLIENT, []),
    # A partition that is gone takes no writes.
    (
        WRITES,
        lambda: Run().sends(15, 15.1).sends(50, None).decides(60, reason="deleted").decides(70),
        BOTH - 20 - FOLLOWS + CLIENTS - 1 - 2 * (FOLLOWS + CLIENT),
        [(50.25, 60, SENT), (74.74, 100, SENT)],
    ),
    # A broker is gone: clients find another leader after all that brokers need.
    (
        WRITES,
        lambda: Run().sends(15, 15.1).away("broker-0", 20, 60).decides(20.5, 1, 1, (1, 2)),
        BOTH - 4 * SESSION + CLIENTS - 1 - 2 * (SESSION + FOLLOWS + CLIENT),
        [],
    ),
    (
        WRITES,
        lambda: Run().of_two().throttles("orders").sends(15, 15.1, partition="two-0").away("broker-2", 20, 60),
        BOTH + CLIENTS - 1 - 2 * (FOLLOWS + CLIENT),
        [],
    ),
    (
        WRITES,
        lambda: (
            Run()
            .decides(0, 0, 0, (0, 1), partition="orders-1", replicas=[0, 1])
            .sends(15, 15.1)
            .away("broker-2", 20, 60)
        ),
        2 * BOTH - 4 * SESSION + CLIENTS - 1 - 2 * (SESSION + FOLLOWS + CLIENT),
        [],
    ),
    # Of the quorum only what leaves it without a leader matters.
    (WRITES, lambda: Run().sends(15, 15.1).away("controller-1", 20, 60), BOTH + CLIENTS - 1, []),
    (
        WRITES,
        lambda: Run().sends(15, 15.1).away("controller-0", 20, 60).elects(21, 1, 2),
        BOTH - 2 * (ELECTION + SESSION) + CLIENTS - 1 - ELECTION - SESSION - FOLLOWS - CLIENT,
        [],
    ),
    # Clients believe a broker that is in trouble, or isolated, though it does not lead; their own messages are lost.
    *(
        (
            WRITES,
            lambda fault=fault: fault(
                Run().of_two().throttles("orders").sends(15, 15.1, partition="two-0").sends(50, 55, partition="two-0")
            ),
            BOTH + CLIENTS - 1 - 40 - FOLLOWS - CLIENT,
            [],
        )
        for fault in (
            lambda run: run.fault("diskStall", "broker-2", 20, 60),
            lambda run: run.fault("drop", "broker-0", 20, 60, rpc="Produce"),
            lambda run: run.isolates("broker-2", 20, 60),
        )
    ),
    (
        WRITES,
        lambda: Run("zookeeper").sends(15, 15.1).fault("drop", "broker-0", 20, 60, rpc="Produce"),
        BOTH + CLIENTS - 1 - 40 - FOLLOWS - CLIENT,
        [],
    ),
    (WRITES, lambda: Run().sends(15, 15.1).decides(20, isr=(0,)).sends(50, 55), BOTH - 160 + CLIENTS - 1 - 80, []),
    # A broker that ends by itself: nothing else says that it was away.
    (
        WRITES,
        lambda: (
            Run()
            .of_two()
            .throttles("orders")
            .sends(15, 15.1, partition="two-0")
            .stops(20, "broker-2")
            .starts(30, "broker-2")
        ),
        BOTH + CLIENTS - 1 - 2 * (FOLLOWS + CLIENT),
        [],
    ),
]


@pytest.mark.parametrize(("feature", "made", "judged", "late"), CASES)
def test_what_is_owed_and_late(feature: str, made: Made, judged: float, late: Late) -> None:
    run = made()
    assert (run.judged(feature), run.late(feature)) == (pytest.approx(judged, abs=0.002), late)
