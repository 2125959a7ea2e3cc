"""A lineage is a list of epochs, kept as ranges."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_pipeline.specification.lineage import Lineage


def _ranges(epochs: list[int], low: int) -> list[tuple[int, int]]:
    return [(n, epochs[n]) for n in range(low, len(epochs)) if n == low or epochs[n] != epochs[n - 1]]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["extend", "cut", "forget"]), st.integers(0, 6), st.booleans())),
    st.integers(0, 12),
    st.integers(0, 12),
)
def test_a_lineage_is_a_list_of_epochs(steps: list[tuple[str, int, bool]], first: int, size: int) -> None:
    """Two logs of one beginning, record by record, and what they have in common."""
    logs, lists, lows = [Lineage(), Lineage()], [[0, 0], [0, 0]], [0, 0]
    for log in logs:
        log.extend(0, 0)
    for step, (what, number, which) in enumerate(steps, 2):
        log, epochs = logs[which], lists[which]
        if what == "extend":
            log.extend(len(epochs), step // 2)  # two steps may be of one epoch
            epochs += [step // 2] * (number + 1)
        elif what == "cut" and lows[which] < number < len(epochs):
            log.cut(number)
            del epochs[number:]
        elif what == "forget" and lows[which] <= number < len(epochs):
            log.forget_below(number)
            lows[which] = number
    for log, epochs, low in zip(logs, lists, lows, strict=True):
        assert list(zip(log.starts, log.epochs, strict=True)) == _ranges(epochs, low)
        assert [log.at(offset) for offset in range(len(epochs))] == [-1] * low + epochs[low:]
    known = [[-1] * low + epochs[low:] for low, epochs in zip(lows, lists, strict=True)]
    end = min(map(len, known))
    differ = [n for n in range(end) if -1 not in (known[0][n], known[1][n]) and known[0][n] != known[1][n]]
    for upto in range(end + 1):
        assert logs[0].common_end(logs[1], upto) == min([upto, *differ])
    copied = logs[0].copy()
    start = max(lows[1], end - first)
    stop = min(start + size, len(known[1]))
    copied.cut(start)
    if lows[0] < start < stop and start <= end:
        copied.extend_from(logs[1], start, stop)
        taken = known[0][:start] + known[1][start:stop]
        assert list(zip(copied.starts, copied.epochs, strict=True)) == _ranges(taken, lows[0])
    assert [logs[0].at(n) for n in range(len(known[0]))] == known[0], "a copy is a copy"
