"""What a node says of turns of its event loop that take too long."""

from __future__ import annotations

from functools import partial

from highwater_runtime.host.turn import LONGEST_TURN_NS, TurnWatch, name_of


class Log:
    def __init__(self):
        self.lines = []

    def warning(self, event, **fields):
        self.lines.append((event, fields))


def culprit():
    """What runs too long."""


def test_a_long_turn_is_told_with_what_ran():
    watch = TurnWatch(log := Log())
    watch.took(LONGEST_TURN_NS - 1, culprit)
    assert log.lines == []
    watch.took(LONGEST_TURN_NS, culprit)
    ms = LONGEST_TURN_NS // 1_000_000
    assert log.lines == [("the event loop was held up", {"longest_ms": ms, "by": "culprit", "turns": 1})]
    watch.took(3 * LONGEST_TURN_NS, culprit)
    watch.took(2 * LONGEST_TURN_NS, len)
    assert len(log.lines) == 1, "once a second at most"
    assert watch.longest_ns == 3 * LONGEST_TURN_NS


def test_wrappers_are_looked_through():
    def wrapped(callback):
        def run():
            callback()

        return run

    assert name_of(wrapped(partial(culprit))) == "culprit"
    assert name_of(wrapped(wrapped(culprit))) == "culprit"
    assert name_of(lambda: None).endswith("<lambda>")
