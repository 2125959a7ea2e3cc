"""The truncation ladder as pure functions, on pairs of logs: which protocols find where they part."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, assume, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from highwater_runtime.broker.truncation import (
    PROTOCOLS,
    Cut,
    EpochEnd,
    ProtocolName,
    cut_by_exact_leader_epoch,
    cut_by_leader_epoch,
    cut_for_divergence,
    cut_to_high_watermark,
    end_without_epoch,
)

MOST_ROUNDS = 20


@dataclass(frozen=True)
class Replica:
    """A log of records, each (leader epoch, who wrote it), and the epochs that are known, with their starts."""

    records: tuple[tuple[int, int], ...] = ()
    epochs: tuple[tuple[int, int], ...] = ()
    high_watermark: int = 0

    @property
    def end(self) -> int:
        return len(self.records)

    @property
    def latest_epoch(self) -> int:
        return self.epochs[-1][0] if self.epochs else -1

    def lead(self, epoch: int, writer: int, count: int) -> Replica:
        return replace(
            self,
            records=self.records + ((epoch, writer),) * count,
            epochs=(*(e for e in self.epochs if e[1] < self.end), (epoch, self.end)),
        )

    def end_of(self, epoch: int) -> EpochEnd | None:
        """As Kafka's LeaderEpochFileCache, written down once more."""
        if epoch == -1 or not self.epochs or epoch > self.latest_epoch:
            return None
        if epoch == self.latest_epoch:
            return EpochEnd(epoch, self.end)
        below = [e for e in self.epochs if e[0] <= epoch]
        start_of_next = next(start for e, start in self.epochs if e > epoch)
        return EpochEnd(below[-1][0] if below else epoch, start_of_next)

    def cut(self, offset: int) -> Replica:
        return replace(
            self,
            records=self.records[:offset],
            epochs=tuple(e for e in self.epochs if e[1] < offset),
            high_watermark=min(self.high_watermark, offset),
        )

    def fetch_all(self, leader: Replica) -> Replica:
        mine = self
        for offset in range(self.end, leader.end):
            epoch = leader.records[offset][0]
            if epoch != mine.latest_epoch:
                mine = replace(mine, epochs=(*(e for e in mine.epochs if e[0] < epoch), (epoch, offset)))
            mine = replace(mine, records=(*mine.records, leader.records[offset]))
        return mine


def truncated(protocol: ProtocolName, follower: Replica, leader: Replica) -> Replica:
    """The follower after it has truncated to ``leader``'s log, as the protocol says."""
    for _ in range(MOST_ROUNDS):
        cut = cut_of(protocol, follower, leader)
        if cut is None:
            return follower
        follower = follower.cut(cut.offset)
        if cut.agreed:
            return follower
    raise AssertionError(f"{protocol}: asks for ever")


def cut_of(protocol: ProtocolName, follower: Replica, leader: Replica) -> Cut | None:
    asked, high_watermark = follower.latest_epoch, follower.high_watermark
    end = leader.end_of(asked)
    own = None if end is None else follower.end_of(end.epoch)
    match protocol:
        case "to-high-watermark":
            return cut_to_high_watermark(high_watermark, follower.end)
        case "by-leader-epoch" | "as-1.1.1":  # the cut is the same
            first = leader.epochs[0][0] if leader.epochs else -1
            return cut_by_leader_epoch(end_without_epoch(asked, end, first), high_watermark, follower.end)
        case "by-exact-leader-epoch":
            return cut_by_exact_leader_epoch(end, own, high_watermark, follower.end)
        case "fenced":
            # A leader's Fetch handler: a diverging epoch only if the fetcher has what the leader has not.
            if end is None or (end.epoch == asked and end.end_offset >= follower.end):
                return None
            return cut_for_divergence(end, own, follower.end)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Replica, Replica, int]:
    """A leader of the newest epoch, a follower that truncates to it, and the true HW.

    Two replicas of an ISR that both stay in it. In each epoch one of them leads, appends, and the other may follow it:
    then it has truncated rightly, and copies some. The true HW is what both have had of one leader. What one of them
    knows of it may lag.
    """
    replicas, committed = [Replica(), Replica()], 0
    for epoch in range(draw(st.integers(1, 6))):
        leading = draw(st.integers(0, 1))
        leader, other = replicas[leading].lead(epoch, leading, draw(st.integers(0, 4))), replicas[1 - leading]
        if draw(st.booleans()):
            other = other.cut(common(leader, other))
            copied = draw(st.integers(0, leader.end - other.end))
            other = other.fetch_all(replace(leader, records=leader.records[: other.end + copied]))
            committed = max(committed, other.end)
            leader = replace(leader, high_watermark=max(leader.high_watermark, committed))
            other = replace(other, high_watermark=draw(st.integers(other.high_watermark, min(committed, other.end))))
        replicas[leading], replicas[1 - leading] = leader, other
    epoch += 1
    leading = draw(st.integers(0, 1))
    return replicas[leading].lead(epoch, leading, draw(st.integers(0, 4))), replicas[1 - leading], committed


def common(a: Replica, b: Replica) -> int:
    """Where two logs part."""
    return next((i for i, (x, y) in enumerate(zip(a.records, b.records, strict=False)) if x != y), min(a.end, b.end))


SETTINGS = settings(max_examples=600, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("protocol", ["fenced", "by-exact-leader-epoch"])
@given(history=histories())
@SETTINGS
def test_by_exact_epochs_logs_agree_and_what_is_committed_stays(protocol, history):
    leader, follower, committed = history
    assert common(leader, follower) >= committed, "the histories are such that nothing committed is lost before"
    after = truncated(protocol, follower, leader)
    assert after.records == leader.records[: after.end]
    assert after.end >= committed
    assert after.fetch_all(leader).records == leader.records


@pytest.mark.parametrize("protocol", ["fenced", "by-exact-leader-epoch"])
@given(history=histories())
@SETTINGS
def test_by_exact_epochs_nothing_goes_that_both_have(protocol, history):
    """A cut that is too deep is a fetch for nothing, and a hole in what one replica vouches for."""
    leader, follower, _ = history
    assume(leader.end_of(follower.latest_epoch) is not None)
    assert truncated(protocol, follower, leader).end == common(leader, follower)


@given(history=histories())
@SETTINGS
def test_by_the_leader_epoch_nothing_committed_goes(history):
    leader, follower, committed = history
    assert truncated("by-leader-epoch", follower, leader).end >= committed or follower.end < committed


def test_by_the_leader_epoch_logs_may_differ_for_good():
    """KAFKA-6361, found and not told."""
    leader, follower, _ = find(histories(), lambda found: diverges("by-leader-epoch", *found[:2]), settings=SETTINGS)
    after = truncated("by-leader-epoch", follower, leader)
    assert after.records != leader.records[: after.end]
    assert leader.end_of(follower.latest_epoch).epoch < follower.latest_epoch, "the leader never had that epoch"


def diverges(protocol: ProtocolName, leader: Replica, follower: Replica) -> bool:
    after = truncated(protocol, follower, leader)
    return after.records != leader.records[: after.end]


def test_to_the_high_watermark_committed_records_go():
    leader, follower, committed = find(
        histories(), lambda found: truncated("to-high-watermark", found[1], found[0]).end < found[2], settings=SETTINGS
    )
    assert follower.records[:committed] == leader.records[:committed], "it had them"


def test_to_the_high_watermark_logs_never_differ():
    """Nothing but the HW is believed, so what is left is committed: the other side of the ladder."""
    with pytest.raises(NoSuchExample):
        find(histories(), lambda found: diverges("to-high-watermark", *found[:2]), settings=SETTINGS)


ISSUE = {"A": Replica().lead(1, 0, 21).lead(3, 0, 10)}


@pytest.mark.parametrize(
    ("last", "kip_101"),
    [(15, 16), (20, 21), (30, 21)],
    ids=["n<20", "n=20", "n>20"],
)
def test_the_three_cases_of_the_issue(last, kip_101):
    a = ISSUE["A"]
    b = Replica(high_watermark=11).lead(1, 0, 11).lead(2, 1, last - 10)
    assert a.end_of(2) == EpochEnd(1, 21)
    assert truncated("by-leader-epoch", b, a).end == kip_101
    assert truncated("by-exact-leader-epoch", b, a).end == 11
    assert truncated("fenced", b, a).end == 11
    assert truncated("to-high-watermark", b, a).end == 11


def test_a_leader_that_knows_no_offset_leaves_the_high_watermark():
    assert end_without_epoch(4, None, 5) is None
    assert end_without_epoch(4, EpochEnd(4, 30), 5) is None, "Kafka 1.1 knows nothing of epochs before its log"
    assert end_without_epoch(5, EpochEnd(5, 30), 5) == 30
    assert cut_by_leader_epoch(None, 7, 9) == Cut(7, agreed=True)
    assert cut_by_leader_epoch(0, 7, 9) == Cut(0, agreed=True)
    assert cut_by_leader_epoch(12, 7, 9) == Cut(9, agreed=True), "not beyond the own end"
    assert cut_by_exact_leader_epoch(None, None, 7, 9) == Cut(7, agreed=True)
    assert cut_by_exact_leader_epoch(EpochEnd(2, 8), None, 7, 9) == Cut(8, agreed=True)
    assert cut_to_high_watermark(12, 9) == Cut(9, agreed=True)


def test_the_rungs_speak_as_the_releases_did():
    versions = {
        name: (protocol.fetch_version(15), protocol.epoch_request, protocol.list_offsets, protocol.fences)
        for name, protocol in PROTOCOLS.items()
    }
    assert versions == {
        "fenced": (15, None, 7, True),
        "by-exact-leader-epoch": (8, 1, 3, False),
        "by-leader-epoch": (7, 0, 1, False),
        "as-1.1.1": (7, 0, 1, False),
        "to-high-watermark": (4, None, 1, False),
    }
    assert [protocol.goes_on(3, 4) for protocol in PROTOCOLS.values()] == [False, True, True, True, True]
    assert [protocol.goes_on(3, 5) for protocol in PROTOCOLS.values()] == [False, False, True, True, True]
