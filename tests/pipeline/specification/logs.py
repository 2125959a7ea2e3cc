"""What may happen to the log of a replica."""

from __future__ import annotations

from pipeline_specification.history import Case

CASES: list[Case] = [
    (
        "load",
        lambda h: h.broker(2, "log-loaded", 2, offset=0, end_offset=9, reason="recovered"),
        lambda h: h.broker(2, "log-loaded", 2, offset=0, end_offset=11, reason="recovered"),
    ),
    ("load", lambda h: h.stops(2, 1).loads(2, 2, 10), lambda h: h.stops(2, 1).loads(2, 2, 0)),
    # What was appended is still there after a kill, which leaves the page cache; a damaged end is cut, and reported.
    (
        "load",
        lambda h: (
            h.stops(2, 1, "kill").broker(2, "log-cut", 2, offset=70, end_offset=9, reason="bad-crc").loads(2, 2, 9)
        ),
        lambda h: h.stops(2, 1, "kill").loads(2, 2, 9),
    ),
    # Broker 2 has got another disk, and was stopped once before it had reported its logs.
    (
        "load",
        lambda h: h.stops(2, 1, "power-loss").stops(2, 2).loads(2, 3, 0),
        lambda h: h.stops(2, 1, "power-loss").loads(2, 2, 9).stops(2, 2).loads(2, 3, 0),
    ),
    (
        "load",
        lambda h: h.flushes(2, 6).stops(2, 1, "power-loss").loads(2, 2, 9).stops(2, 2, "power-loss").loads(2, 3, 6),
        lambda h: h.flushes(2, 6).stops(2, 1, "power-loss").loads(2, 2, 9).stops(2, 2, "power-loss").loads(2, 3, 5),
    ),
    # A process that failed before it had a log may have left a directory without records on a new disk.
    (
        "load",
        lambda h: h.flushes(2, 6).stops(2, 1, "kill").stops(2, 2, "crash").loads(2, 3, 0),
        lambda h: h.flushes(2, 6).stops(2, 1, "kill").stops(2, 2, "crash").loads(2, 3, 5),
    ),
    ("load", lambda h: h.creates(2, 2, 3, 3), lambda h: h.creates(2, 2, 3, 4)),
    (
        "load",
        lambda h: h.stops(2, 1, "power-loss").loads(2, 2, 9).stops(2, 2, "power-loss").loads(2, 3, 8),
        lambda h: h.stops(2, 1).loads(2, 2, 10).stops(2, 2, "power-loss").loads(2, 3, 8),
    ),
    # It had begun anew below its log start, of which the checkpoint still tells: recovery empties it there.
    *(
        (
            "load",
            lambda h: (
                h.broker(2, "log-start-moved", offset=0, end_offset=8, reason="leader")
                .begins_again(2, 0, 10, 0)
                .stops(2, 1, "crash")
                .broker(2, "log-loaded", 2, offset=8, end_offset=8, reason="recovered")
            ),
            lambda h, start=start, end=end, how=how: (
                h.broker(2, "log-start-moved", offset=0, end_offset=8, reason="leader")
                .begins_again(2, 0, 10, 0)
                .stops(2, 1, "crash")
                .broker(2, "log-loaded", 2, offset=start, end_offset=end, reason=how)
            ),
        )
        for start, end, how in ((9, 9, "recovered"), (7, 8, "recovered"))
    ),
    # No stop takes away what was flushed, and a truncation takes back what a flush has vouched for.
    *(
        (
            "load",
            lambda h, how=how: h.flushes(2, 6).stops(2, 1, how).broker(2, "log-cut", 2).loads(2, 2, 6),
            lambda h, how=how: h.flushes(2, 6).stops(2, 1, how).broker(2, "log-cut", 2).loads(2, 2, 5),
        )
        for how in ("kill", "power-loss")
    ),
    (
        "load",
        lambda h: h.fails_over().flushes(0, 12).truncates(0, 10, 12, 1).stops(0, 1, "power-loss").loads(0, 2, 10),
        lambda h: h.flushes(2, 3).flushes(2, 8).flushes(2, 6).stops(2, 1, "power-loss").loads(2, 2, 7),
    ),
    (
        "load",
        lambda h: h.flushes(2, 8).stops(2, 1, "power-loss").creates(2, 2, 0, 0).stops(2, 2, "kill").loads(2, 3, 0),
        lambda h: h.stops(2, 1).loads(2, 2, 10).stops(2, 2, "power-loss").loads(2, 3, 9),
    ),
    (
        "load",
        lambda h: h.flushes(2, 8).broker(2, "log-removed").stops(2, 1, "power-loss").loads(2, 2, 0),
        lambda h: h.flushes(2, 8).broker(2, "transition", reason="log-offline").stops(2, 1, "kill").loads(2, 2, 7),
    ),
    ("load", lambda h: h.creates(2, 2, 3, 3), lambda h: h.creates(2, 2, 3, 2)),
    ("append", lambda h: h.appends(0, 10, 12, 0), lambda h: h.appends(0, 11, 12, 0)),
    ("append", lambda h: h.appends(0, 10, 12, 0), lambda h: h.appends(0, 10, 12, 1)),
    ("append", lambda h: h.appends(0, 10, 12, 0), lambda h: h.appends(1, 10, 12, 0)),
    # What a leader has that returned in its epoch is not known.
    (
        "append",
        lambda h: h.fetches().returns(hw=5).appends(0, 11, 12, 0).appends(1, 11, 12, 0, "follower"),
        lambda h: h.fetches().returns(hw=5).appends(1, 12, 13, 0, "follower"),
    ),
    ("append", lambda h: h.appends(0, 10, 11, 0), lambda h: h.appends(0, 10, 10, 0)),
    ("append", lambda h: h.appends(0, 10, 11, 0), lambda h: h.appends(0, 9, 11, 0)),
    (
        "append-of-leader",
        lambda h: h.appends(0, 10, 12, 0).appends(1, 10, 12, 0, "follower"),
        lambda h: h.appends(0, 10, 12, 0).appends(1, 10, 13, 0, "follower"),
    ),
    (
        "log-matching",
        lambda h: h.fails_over().truncates(0, 10, 12, 1).appends(0, 10, 12, 1, "follower"),
        lambda h: h.fails_over().appends(1, 12, 13, 1).appends(0, 12, 13, 1, "follower"),
    ),
    # Where the leader has deleted what differs, the follower goes on, and deletes the same.
    (
        "log-matching",
        lambda h: h.fails_over().appends(1, 12, 13, 1).starts_at(1, 12).appends(0, 12, 13, 1, "follower"),
        lambda h: h.fails_over().appends(1, 12, 13, 1).starts_at(1, 11).appends(0, 12, 13, 1, "follower"),
    ),
    # A disk that is full takes whole batches of an append that fails. Of which epoch they are is not known; what was
    # there before still is.
    (
        "log-matching",
        lambda h: h.fails_over().fails_and_returns(2, end=12).leads_on_from_12(2),
        lambda h: h.fails_over().fails_and_returns(0, end=12).leads_on_from_12(0),
    ),
    # What is left of a log below its start counts for nothing; what a truncation leaves does.
    (
        "log-matching",
        lambda h: h.fails_over().appends(1, 12, 13, 1).starts_again(0, 12, 12).appends(0, 12, 13, 1, "follower"),
        lambda h: h.fails_over().truncates(0, 11, 12, 1).appends(0, 11, 12, 1, "follower"),
    ),
    ("truncate", lambda h: h.fails_over().truncates(0, 10, 12, 1), lambda h: h.truncates(0, 8, 10, 0)),
    ("truncate", lambda h: h.left_behind().restarts_at(10), lambda h: h.left_behind().restarts_at(11)),
    ("truncate", lambda h: h.truncates(2, 10, 10, 0), lambda h: h.truncates(2, 11, 10, 0)),
    (
        "truncate",
        lambda h: h.fails_over().truncates(0, 10, 12, 1),
        lambda h: h.fails_over().truncates(0, 10, 13, 1),
    ),
    (
        "truncate-diverging",
        lambda h: h.fails_over().truncates(0, 10, 12, 1),
        lambda h: h.fails_over().truncates(0, 9, 12, 1),
    ),
    (
        "truncate-diverging",
        lambda h: h.starts_again(2, 8, 10, leader=0, epoch=0).truncates(2, 3, 10, 0),
        lambda h: h.starts_again(2, 2, 10, leader=0, epoch=0).truncates(2, 3, 10, 0),
    ),
    (
        "truncate-diverging",
        lambda h: h.deletes_below(5, 2).truncates(2, 4, 10, 0),
        lambda h: h.deletes_below(5, 2).truncates(2, 5, 10, 0),
    ),
    (
        "log-start",
        lambda h: h.broker(0, "log-start-moved", offset=0, end_offset=5, reason="delete-records"),
        lambda h: h.broker(0, "log-start-moved", offset=0, end_offset=6, reason="delete-records"),
    ),
    ("log-start", lambda h: h.deletes_below(5, 2), lambda h: h.deletes_below(5, 2).deletes_below(5, 2)),
    # Who begins again elsewhere, or is cut back below its log start, has that as its log start.
    (
        "log-start",
        lambda h: h.fails_over().begins_again(0, 0, 12, 1).appends(0, 0, 10, 1, "follower").deletes_below(4, 0),
        lambda h: h.left_behind().restarts_at(10).broker(0, "log-start-moved", 2, offset=0, end_offset=9, reason="x"),
    ),
    (
        "log-start",
        lambda h: (
            h.deletes_below(5, 2)
            .truncates(2, 3, 10, 0)
            .deletes_below(3, 0)
            .appends(2, 3, 9, 0, "follower")
            .deletes_below(4, 2)
        ),
        lambda h: h.deletes_below(5, 2).deletes_below(4, 2),
    ),
    # What a load or a truncation has taken away is not there for later appends.
    (
        "log-matching",
        lambda h: h.lose_power(9).appends(1, 9, 10, 2, "follower").appends(1, 10, 11, 2, "follower"),
        lambda h: h.lose_power(12).appends(1, 12, 13, 2, "follower"),
    ),
    (
        "log-matching",
        lambda h: (
            h.lose_power(12).truncates(1, 9, 12, 2).appends(1, 9, 10, 2, "follower").appends(1, 10, 11, 2, "follower")
        ),
        lambda h: h.lose_power(12).truncates(1, 11, 12, 2).appends(1, 11, 12, 2, "follower"),
    ),
    # Nothing is known of what was fetched from a leader of whom nobody has heard.
    (
        "log-matching",
        lambda h: h.decides(2, 1, 1, [0, 1, 2]).fetches_from_two(),
        lambda h: h.decides(2, 1, 1, [0, 1, 2]).leads(2, 1, 1, 10, [0, 1, 2]).appends(2, 10, 12, 1).fetches_from_two(),
    ),
    # Each load has a cut of its own.
    (
        "load",
        lambda h: (
            h.stops(2, 1, "kill").broker(2, "log-cut", 2).loads(2, 2, 9).stops(2, 2, "kill").broker(2, "log-cut", 3)
        ).loads(2, 3, 8),
        lambda h: h.stops(2, 1, "kill").broker(2, "log-cut", 2).loads(2, 2, 9).stops(2, 2, "kill").loads(2, 3, 8),
    ),
    ("load", lambda h: h.stops(2, 1).recovers(2, 2, 9), lambda h: h.stops(2, 1).loads(2, 2, 9)),
    (
        "load",
        lambda h: h.stops(2, 1).recovers(2, 2, 10).stops(2, 2, "power-loss").recovers(2, 3, 9),
        lambda h: h.stops(2, 1).loads(2, 2, 10).stops(2, 2, "power-loss").recovers(2, 3, 9),
    ),
    # What was flushed on the former disk says nothing of the new one.
    (
        "load",
        lambda h: (
            h.flushes(2, 6).stops(2, 1, "kill").stops(2, 2, "crash").loads(2, 3, 0).stops(2, 3, "kill").loads(2, 4, 0)
        ),
        lambda h: (
            h.flushes(2, 6).stops(2, 1, "kill").stops(2, 2, "crash").loads(2, 3, 0).flushes(2, 4).stops(2, 3, "kill")
        ).loads(2, 4, 3),
    ),
    (
        "load",
        lambda h: h.fails_over().flushes(0, 6).truncates(0, 10, 12, 1).stops(0, 1, "power-loss").recovers(0, 2, 7),
        lambda h: h.fails_over().flushes(0, 11).truncates(0, 10, 12, 1).stops(0, 1, "power-loss").recovers(0, 2, 9),
    ),
    # Of a log that was removed nothing is left.
    ("load", lambda h: h.removes(2).stops(2, 1, "kill").loads(2, 2, 0), lambda h: h.stops(2, 1, "kill").loads(2, 2, 0)),
    (
        "truncate-diverging",
        lambda h: h.removes(2).loads(2, 1, 10).follows(2, 0, 0, 10).truncates(2, 5, 10, 0),
        lambda h: h.loads(2, 1, 10).follows(2, 0, 0, 10).truncates(2, 5, 10, 0),
    ),
    (
        "truncate-diverging",
        lambda h: h.fails_over().stops(0, 1, "kill").loads(0, 2, 12).truncates(0, 10, 12, 1),
        lambda h: h.stops(2, 1, "kill").loads(2, 2, 10).truncates(2, 8, 10, 0),
    ),
    (
        "truncate",
        lambda h: h.fails_over().truncates(0, 10, 12, 1),
        lambda h: h.fails_over().truncates(0, 10, 12, 2),
    ),
    # Who cuts its log back to below its own start begins there.
    (
        "truncate",
        lambda h: h.deletes_below(8, 2).begins_again(2, 5, 10, 0),
        lambda h: h.deletes_below(8, 2).begins_again(2, 8, 10, 0),
    ),
    ("log-start", lambda h: h.deletes_below(10, 2), lambda h: h.deletes_below(11, 2)),
]
