"""What a leader may do, and what a follower must have before."""

from __future__ import annotations

from pipeline_specification.history import Case

CASES: list[Case] = [
    ("high-watermark", lambda h: h.moves(0, 10, 0), lambda h: h.moves(0, 5, 0)),
    ("high-watermark", lambda h: h.moves(0, 10, 0), lambda h: h.moves(0, 11, 0)),
    ("high-watermark", lambda h: h.moves(0, 10, 0), lambda h: h.moves(1, 10, 0)),
    (
        "high-watermark",
        lambda h: (
            h.moves(0, 8, 0).decides(1, 1, 1, [1, 2]).leads(1, 1, 1, 10, [1, 2], 5).follows(2, 1, 1, 10).moves(1, 8, 1)
        ),
        lambda h: (
            h.moves(0, 8, 0).decides(1, 1, 1, [1, 2]).leads(1, 1, 1, 10, [1, 2], 5).follows(2, 1, 1, 10).moves(1, 7, 1)
        ),
    ),
    # The log of one of several replicas is a new one: the partition has not begun anew.
    (
        "high-watermark",
        lambda h: (
            h.moves(0, 8, 0)
            .creates(0, 2, 0, 0)
            .decides(1, 1, 1, [1, 2])
            .leads(1, 1, 1, 10, [1, 2], 5)
            .follows(2, 1, 1, 10)
            .moves(1, 8, 1)
        ),
        lambda h: (
            h.moves(0, 8, 0)
            .creates(0, 2, 0, 0)
            .decides(1, 1, 1, [1, 2])
            .leads(1, 1, 1, 10, [1, 2], 5)
            .follows(2, 1, 1, 10)
            .moves(1, 7, 1)
        ),
    ),
    ("high-watermark-min-isr", lambda h: h.shrinks([0, 1]).moves(0, 10, 0), lambda h: h.shrinks([0]).moves(0, 10, 0)),
    (
        "high-watermark-isr",
        lambda h: h.appends(0, 10, 12, 0).appends(1, 10, 12, 0, "follower").shrinks([0, 1]).moves(0, 12, 0),
        lambda h: h.appends(0, 10, 12, 0).appends(1, 10, 12, 0, "follower").moves(0, 12, 0),
    ),
    # Who is proposed is waited for: the controller may have accepted it.
    (
        "high-watermark-isr",
        lambda h: h.shrinks([0, 1]).proposes(0, [0, 1, 2], 0, 1).moves(0, 10, 0),
        lambda h: (
            h.shrinks([0, 1])
            .proposes(0, [0, 1, 2], 0, 1)
            .appends(0, 10, 11, 0)
            .appends(1, 10, 11, 0, "follower")
            .moves(0, 11, 0)
        ),
    ),
    # A follower that has all records, and has not fetched from the leader of the new epoch yet.
    (
        "high-watermark-isr",
        lambda h: h.decides(1, 1, 1, [1, 2]).leads(1, 1, 1, 10, [1, 2]).follows(2, 1, 1, 10).moves(1, 10, 1),
        lambda h: h.decides(1, 1, 1, [1, 2]).leads(1, 1, 1, 10, [1, 2]).moves(1, 10, 1),
    ),
    (
        "commit",
        lambda h: h.broker(0, "batch-committed", leader_epoch=0, offset=0, end_offset=5, epoch=0),
        lambda h: h.broker(0, "batch-committed", leader_epoch=0, offset=0, end_offset=5, epoch=1),
    ),
    # A leader acts in its own leader epoch, neither in a later one nor in an earlier one.
    ("commit", lambda h: h.commits(0, epoch=0), lambda h: h.commits(0, epoch=1)),
    (
        "commit",
        lambda h: h.elects().leads(1, 1, 1, 10, [1]).commits(1, epoch=1),
        lambda h: h.elects().leads(1, 1, 1, 10, [1]).commits(1, epoch=0),
    ),
    # At the bound itself: the log end, and the log start.
    (
        "commit",
        lambda h: h.broker(0, "batch-committed", leader_epoch=0, offset=0, end_offset=10, epoch=0),
        lambda h: h.broker(0, "batch-committed", leader_epoch=0, offset=0, end_offset=11, epoch=0),
    ),
    ("proposal", lambda h: h.proposes(0, [0, 1], 0, 0), lambda h: h.proposes(0, [0, 1], 0, 1)),
    ("proposal", lambda h: h.proposes(0, [0, 1], 0, 0), lambda h: h.proposes(0, [0, 1], 0, 0).proposes(0, [0], 0, 0)),
    # Everything below the high watermark is not enough: the true one may be anywhere below the start of the epoch.
    (
        "proposal-caught-up",
        lambda h: h.elects().leads(1, 1, 1, 10, [1]).follows(2, 1, 1, 10).proposes(1, [1, 2], 1, 1),
        lambda h: (
            h.broker(2, "log-loaded", 2, offset=0, end_offset=8, reason="recovered")
            .elects()
            .leads(1, 1, 1, 10, [1])
            .broker(2, "became-follower", 2, leader=1, leader_epoch=1, offset=0, end_offset=8)
            .proposes(1, [1, 2], 1, 1)
        ),
    ),
    # Who begins again where the leader's log starts has what the leader has up to there.
    (
        "proposal-caught-up",
        lambda h: h.left_behind().restarts_at(10).proposes(1, [1, 2, 0], 1, 1),
        lambda h: h.left_behind().proposes(1, [1, 2, 0], 1, 1),
    ),
    (
        "proposal-end",
        lambda h: h.proposes(0, [0, 1], 0, 0).decides(0, 0, 1, [0, 1]).ends(0, [0, 1], 0, 1),
        lambda h: h.proposes(0, [0, 1], 0, 0).ends(0, [0, 1, 2], 0, 0, "INELIGIBLE_REPLICA"),
    ),
    (
        "proposal-end",
        lambda h: h.proposes(0, [0, 1], 0, 0).decides(0, 0, 1, [0]).ends(0, [0], 0, 1, "superseded"),
        lambda h: h.proposes(0, [0, 1], 0, 0).decides(0, 0, 1, [0]).ends(0, [0, 1], 0, 1),
    ),
    # A proposal is refused by a controller, and nothing else.
    (
        "proposal-end",
        lambda h: h.proposes(0, [0, 1], 0, 0).refuses(0, [0, 1], 0, 0).ends(0, [0, 1, 2], 0, 0, "INELIGIBLE_REPLICA"),
        lambda h: h.proposes(0, [0, 1], 0, 0).refuses(0, [0, 1], 0, 1).ends(0, [0, 1, 2], 0, 0, "INELIGIBLE_REPLICA"),
    ),
    ("proposal-end", lambda h: h.takes([0, 1, 2], at=0), lambda h: h.takes([0, 1], at=0)),
    (
        "proposal-end",
        lambda h: h.proposes(0, [0, 1], 0, 0).decides(0, 0, 1, [0, 1]).ends(0, [0, 1], 0, 1),
        lambda h: h.proposes(0, [0, 1], 0, 0).ends(0, [0, 1, 2], 0, 0, "superseded"),
    ),
    (
        "proposal-end",
        lambda h: h.proposes(0, [0, 1], 0, 0).decides(0, 0, 1, [0, 1]).ends(0, [0, 1], 0, 1),
        lambda h: h.proposes(0, [0, 1], 0, 0).decides(0, 0, 1, [0, 1]).ends(0, [0, 1], 0, 1, "forgotten"),
    ),
    # An acknowledgement under what the next leader epoch has decided.
    (
        "acknowledge",
        lambda h: h.moves(0, 8, 0).acknowledges(0, 8),
        lambda h: h.moves(0, 8, 0).decides(0, 1, 1, [0, 1]).acknowledges(0, 8, partition_epoch=1),
    ),
    ("acknowledge", lambda h: h.acknowledges(0, 5), lambda h: h.acknowledges(0, 6)),
    # It says otherwise than its reports before, and than what was decided.
    *(
        ("acknowledge", lambda h: h.acknowledges(0, 5), lambda h, lie=lie: h.acknowledges(0, 5, **lie))
        for lie in ({"isr": [0, 1]}, {"min_isr": 1}, {"partition_epoch": 7})
    ),
    (
        "acknowledge",
        lambda h: h.broker(0, "isr-taken", 2, partition_epoch=0, leader_epoch=0, isr=[0, 1, 2]).acknowledges(0, 5),
        lambda h: h.acknowledges(0, 5, incarnation=2, isr=[0, 1]),
    ),
    # Nobody decided that.
    ("role", lambda h: h.elects().leads(1, 1, 1, 10, [1], hw=5), lambda h: h.leads(0, 1, 1, 10, [0, 1, 2], hw=5)),
    (
        "proposal-end",
        lambda h: h.proposes(0, [0, 1], 0, 0).decides(0, 0, 1, [0, 1]).ends(0, [0, 1], 0, 1),
        lambda h: h.proposes(0, [0, 1], 0, 0).ends(0, [0, 1], 0, 1),
    ),
    ("acknowledge", lambda h: h.acknowledges(0, 5), lambda h: h.fetches().acknowledges(1, 5)),
    ("acknowledge", lambda h: h.goes_offline(10), lambda h: h.goes_offline(11)),
    ("acknowledge", lambda h: h.goes_offline(10), lambda h: h.goes_offline(10).acknowledges(0, 10)),
    ("acknowledge", lambda h: h.shrinks([0, 1]).acknowledges(0, 5), lambda h: h.shrinks([0]).acknowledges(0, 5)),
    # What is below 4 is gone everywhere; broker 1 has lost the last move of its log start by a power loss.
    (
        "records-deleted",
        lambda h: (
            h.deletes_below(4, 0, 1, 2)
            .broker(1, "log-loaded", 2, offset=0, end_offset=10, reason="recovered")
            .answers_deletion(4)
        ),
        lambda h: h.deletes_below(4, 0, 1).answers_deletion(4),
    ),
    (
        "records-deleted",
        lambda h: h.deletes_below(4, 0, 1, 2).answers_deletion(4),
        lambda h: h.deletes_below(4, 0, 1).deletes_below(3, 2).answers_deletion(4),
    ),
    (
        "high-watermark",
        lambda h: h.shrinks([0, 1]).moves(0, 10, 0),
        lambda h: h.shrinks([0]).stops(0, 1).moves(0, 10, 0),
    ),
    ("high-watermark", lambda h: h.moves(0, 10, 0), lambda h: h.removes(0).moves(0, 10, 0)),
    (
        "high-watermark",
        lambda h: h.decides(1, 1, 1, [1, 2]).leads(1, 1, 1, 10, [1, 2], 5).follows(2, 1, 1, 10).moves(1, 6, 1),
        lambda h: h.decides(1, 1, 1, [1, 2]).leads(1, 1, 1, 10, [1, 2], 5).follows(2, 1, 1, 10).moves(1, 5, 1),
    ),
    # How far a follower has fetched counts, also if it loses that later.
    (
        "high-watermark-isr",
        lambda h: h.stops(2, 1, "power-loss").recovers(2, 2, 8).follows(2, 0, 0, 8).moves(0, 10, 0),
        lambda h: (
            h.recovers(2, 2, 8)
            .follows(2, 0, 0, 8)
            .appends(0, 10, 11, 0)
            .moves(0, 10, 0)
            .appends(1, 10, 11, 0, "follower")
            .moves(0, 11, 0)
        ),
    ),
    ("high-watermark-isr", lambda h: h.follows_again(13), lambda h: h.follows_again(12)),
    (
        "high-watermark-isr",
        lambda h: h.overtakes().truncates(0, 10, 12, 1).appends(0, 10, 12, 1, "follower").moves(1, 12, 1),
        lambda h: h.overtakes().moves(1, 12, 1),
    ),
    # What a leader has that returned in its epoch is not known.
    (
        "high-watermark-isr",
        lambda h: h.fetches().returns(5).follows(1, 0, 0, 11, 5).follows(2, 0, 0, 10).moves(0, 10, 0),
        lambda h: h.fetches().returns(5).follows(1, 0, 0, 11, 5).follows(2, 0, 0, 10).moves(0, 11, 0),
    ),
    # An election ends what was proposed.
    (
        "high-watermark-isr",
        lambda h: h.leads_on().moves(0, 11, 1),
        lambda h: h.leads_on().proposes(0, [0, 1, 2], 1, 2).moves(0, 11, 1),
    ),
    # The ISR and the partition epoch that a leader took over count from then on.
    (
        "high-watermark-isr",
        lambda h: h.fetches().decides(0, 0, 1, [0, 1]).takes([0, 1], at=1).moves(0, 11, 0),
        lambda h: h.fetches().decides(0, 0, 1, [0, 1]).moves(0, 11, 0),
    ),
    (
        "proposal",
        lambda h: h.decides(0, 0, 1, [0, 1]).takes([0, 1], at=1).proposes(0, [0], 0, 1),
        lambda h: h.decides(0, 0, 1, [0, 1]).takes([0, 1], at=1).proposes(0, [0], 0, 0),
    ),
    ("proposal", lambda h: h.proposes(0, [0, 1], 0, 0), lambda h: h.proposes(1, [0, 1], 0, 0)),
    ("proposal", lambda h: h.proposes(0, [0, 1], 0, 0), lambda h: h.proposes(0, [1, 2], 0, 0)),
    ("proposal", lambda h: h.proposes(0, [0, 1], 0, 0), lambda h: h.proposes(0, [2, 1, 0], 0, 0)),
    (
        "proposal-caught-up",
        lambda h: (
            h.shrinks([0, 1]).fetches().moves(0, 11, 0).appends(2, 10, 11, 0, "follower").proposes(0, [0, 1, 2], 0, 1)
        ),
        lambda h: h.shrinks([0, 1]).fetches().moves(0, 11, 0).proposes(0, [0, 1, 2], 0, 1),
    ),
    (
        "proposal-end",
        lambda h: h.proposes(0, [0, 1], 0, 0).decides(0, 0, 1, [0]).ends(0, [0], 0, 1, "superseded"),
        lambda h: h.proposes(0, [0, 1], 0, 0).decides(0, 0, 1, [0]).ends(0, [0], 0, 1),
    ),
    # Each leadership commits from where it likes, and then one batch behind the other.
    (
        "commit",
        lambda h: h.commits(0, 0).decides(0, 1, 1, [0, 1, 2]).leads(0, 1, 1, 10, [0, 1, 2], 5).commits(0, 1),
        lambda h: h.commits(0, 0).commits(0, 0),
    ),
    (
        "commit",
        lambda h: h.commits(0, 0).broker(0, "batch-committed", leader_epoch=0, offset=5, end_offset=9, epoch=0),
        lambda h: h.commits(0, 0).broker(0, "batch-committed", leader_epoch=0, offset=6, end_offset=9, epoch=0),
    ),
    (
        "acknowledge",
        lambda h: h.broker(0, "transition", reason="compaction-begun").acknowledges(0, 5),
        lambda h: h.fails(0).acknowledges(0, 5),
    ),
    (
        "acknowledge",
        lambda h: h.fails(0).acknowledges(0, 5).at_that_time(),
        lambda h: h.fetches().fails(1).acknowledges(1, 5).at_that_time(),
    ),
    (
        "records-deleted",
        lambda h: h.deletes_below(4, 0, 1, 2).answers_deletion(4),
        lambda h: h.deletes_below(4, 0, 1, 2).stops(0, 1).answers_deletion(4),
    ),
    (
        "records-deleted",
        lambda h: h.deletes_below(4, 0, 1, 2).removes(2).creates(2, 1, 4, 4).answers_deletion(4),
        lambda h: h.deletes_below(4, 0, 1, 2).removes(2).creates(2, 1, 0, 0).answers_deletion(4),
    ),
]
