"""Which role a replica may take, and with what."""

from __future__ import annotations

from pipeline_specification.history import Case

CASES: list[Case] = [
    (
        "role",
        lambda h: h.elects().follows(2, 1, 1, 10),
        lambda h: h.elects().follows(2, 0, 1, 10),
    ),
    (
        "role",
        lambda h: h.fails_over().decides(2, 2, 2, [2]).follows(1, 2, 2, 12),
        lambda h: h.fails_over().follows(1, 0, 0, 12),
    ),
    (
        "role",
        lambda h: h.elects().leads(1, 1, 1, 10, [1]),
        lambda h: h.elects().leads(1, 1, 1, 10, [1, 2]),
    ),
    (
        "role",
        lambda h: h.decides(1, 1, 1, [1, 2]).leads(1, 1, 1, 10, [2, 1]),
        lambda h: h.decides(1, 1, 1, [1, 2]).leads(1, 1, 1, 10, [1]),
    ),
    ("role", lambda h: h.takes([0, 1, 2], at=0), lambda h: h.shrinks([0, 1]).takes([0, 1, 2], at=0)),
    ("role", lambda h: h.elects().leads(1, 1, 1, 10, [1]), lambda h: h.elects().leads(1, 2, 1, 10, [1])),
    # A follower that has fetched nothing yet knows of no high watermark when its leader returns.
    (
        "follower-high-watermark",
        lambda h: h.fetches().follows(2, 0, 0, 10).returns(3).elects().knows(3, 11),
        lambda h: h.fetches().follows(2, 0, 0, 10).returns(3).elects().knows(2, 11),
    ),
    ("one-leader", lambda h: h.leads(1, 1, -1, 10, [1]), lambda h: h.leads(1, 0, -1, 10, [1])),
    (
        "one-leader",
        lambda h: h.appends(0, 10, 12, 0).appends(3, 10, 12, 1),
        lambda h: h.appends(0, 10, 12, 0).appends(3, 10, 12, 0),
    ),
    (
        "role-keeps-log",
        lambda h: h.elects().follows(2, 1, 1, 10),
        lambda h: h.elects().follows(2, 1, 1, 9),
    ),
    (
        "follower-high-watermark",
        lambda h: h.elects().leads(1, 1, 1, 10, [1], hw=5),
        lambda h: h.elects().leads(1, 1, 1, 10, [1], hw=6),
    ),
    # Without topic ids, a log that was not created for this topic may have the high watermark of a deleted one.
    (
        "follower-high-watermark",
        lambda h: h.broker(2, "log-removed", reason="deleted").loads(2, 1, 10).elects().follows(2, 1, 1, 10, hw=6),
        lambda h: h.elects().follows(2, 1, 1, 10, hw=6),
    ),
    # After a restart it has what its checkpoint says, and that was the true one at most.
    (
        "follower-high-watermark",
        lambda h: h.stops(1, 1, "kill").loads(1, 2, 10).elects().leads(1, 1, 1, 10, [1], hw=5),
        lambda h: h.stops(1, 1, "kill").loads(1, 2, 10).elects().leads(1, 1, 1, 10, [1], hw=6),
    ),
    # Broker 1 has what its leader sent after it had moved its high watermark to 5: it must know of that.
    (
        "follower-high-watermark",
        lambda h: h.fetches().elects().leads(1, 1, 1, 11, [1], 5),
        lambda h: h.fetches().elects().leads(1, 1, 1, 11, [1], 4),
    ),
    # A leader that returns in its epoch has the high watermark of its checkpoint: its followers take that over.
    (
        "follower-high-watermark",
        lambda h: h.fetches().returns(hw=3).elects().leads(1, 1, 1, 11, [1], 3),
        lambda h: h.fetches().returns(hw=5).elects().leads(1, 1, 1, 11, [1], 3),
    ),
    ("role", lambda h: h.elects().follows(2, -1, 1, 10), lambda h: h.elects().follows(2, 2, 1, 10)),
    # A topic of the same name begins at epoch 0 again.
    (
        "role",
        lambda h: h.elects().follows(2, 1, 1, 10).removes(2).follows(2, 0, 0, 0),
        lambda h: h.elects().follows(2, 1, 1, 10).follows(2, 0, 0, 10),
    ),
    (
        "role-keeps-log",
        lambda h: h.recovers(2, 2, 5).follows(2, 0, 0, 5, hw=5),
        lambda h: h.recovers(2, 2, 4).follows(2, 0, 0, 4, hw=5),
    ),
    # A leader with another log end than it had goes on from there: what follows is right.
    (
        "role-keeps-log",
        lambda h: h.fails_over().decides(1, 2, 2, [1, 2]).leads(1, 2, 2, 12, [1, 2]).follows(2, 1, 2, 10),
        lambda h: (
            h.fails_over()
            .decides(1, 2, 2, [1, 2])
            .leads(1, 2, 2, 9, [1, 2])
            .follows(2, 1, 2, 10)
            .truncates(2, 9, 10, 2)
        ),
    ),
    # What a follower must know of, after it has cut its log and fetched again: what it knew, as far as its log went.
    (
        "follower-high-watermark",
        lambda h: h.fetches().returns(5).truncates(1, 3, 11, 0).appends(1, 3, 9, 0, "follower").elects().knows(3, 9),
        lambda h: h.fetches().returns(5).truncates(1, 3, 11, 0).appends(1, 3, 9, 0, "follower").elects().knows(2, 9),
    ),
    (
        "follower-high-watermark",
        lambda h: h.fetches().returns(5).truncates(1, 9, 11, 0).elects().knows(5, 9),
        lambda h: h.fetches().returns(5).truncates(1, 9, 11, 0).elects().knows(4, 9),
    ),
    # The leader may have moved its high watermark to 9 after it had sent its last record.
    (
        "follower-high-watermark",
        lambda h: h.appends(0, 10, 11, 0).moves(0, 9, 0).appends(1, 10, 11, 0, "follower").elects().knows(5, 11),
        lambda h: h.appends(0, 10, 11, 0).moves(0, 9, 0).appends(1, 10, 11, 0, "follower").elects().knows(4, 11),
    ),
    (
        "follower-high-watermark",
        lambda h: h.returns_late().knows(10, 11, 2),
        lambda h: h.returns_late().knows(3, 11, 2),
    ),
    # A new leader may have a lower one, which its followers take over; the true one is the highest of all.
    (
        "follower-high-watermark",
        lambda h: (
            h.moves(0, 10, 0).decides(1, 1, 1, [0, 1, 2]).follows(0, 1, 1, 10, 10).decides(2, 2, 2, [0, 1, 2])
        ).follows(0, 2, 2, 10, 7),
        lambda h: h.fetches().decides(2, 1, 1, [0, 1, 2]).follows(1, 2, 1, 11, 4),
    ),
    (
        "follower-high-watermark",
        lambda h: (
            h.moves(0, 8, 0).decides(1, 1, 1, [1, 2]).leads(1, 1, 1, 10, [1, 2], 5).follows(2, 1, 1, 10).moves(1, 8, 1)
        ).follows(0, 1, 1, 10, 8),
        lambda h: (
            h.decides(1, 1, 1, [1, 2]).leads(1, 1, 1, 10, [1, 2], 5).follows(2, 1, 1, 10).moves(1, 7, 1)
        ).follows(0, 1, 1, 10, 8),
    ),
]
