"""Linearizable reads as stories: what a leader waits for before it answers ReadOffset, what holds a read elsewhere,
and what lets it through. Then at random: no read that is let through misses what was acknowledged before it began."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import pytest

from highwater_runtime.ports import MS, InboundRequest
from highwater_runtime.raft.read_index import Confirmations, ReadIndex
from highwater_runtime.raft.read_offset import ReadOffset, read_offset_of, read_offset_request_of
from highwater_runtime.raft.states import Leader
from highwater_runtime.switches import Switches
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest

UNCONFIRMED = Switches(read_offset="unconfirmed")


def ask_leader(c, name: str) -> list[ReadOffset]:
    """Ask ``name`` as the RPC does; the answer, once it is there."""
    answers: list[ReadOffset] = []
    c.raft(name).read_offset(answers.append)
    return answers


def read_at(c, name: str, timeout_ms: int = 1000) -> list[tuple[ErrorCode, list[bytes]]]:
    """Begin a read at ``name``; how it ended and what the listener knew then, once it has."""
    ends: list[tuple[ErrorCode, list[bytes]]] = []
    heard = c.heard(name)
    c.raft(name).read_when_current(timeout_ms * MS, lambda error: ends.append((error, heard.values)))
    return ends


def calls_in(c) -> list[str]:
    """From now on, whom a leader calls (BeginQuorumEpoch), in order."""
    called: list[str] = []
    for name in c.voters:
        node = c.node(name)

        def handle(request: InboundRequest, node=node, name=name, inner=node.on_request) -> None:
            if isinstance(request.body, BeginQuorumEpochRequest):
                called.append(name)
            inner(request)

        node.on_request = handle
    return called


def settled(cluster, voters: int = 3, observers: int = 0, **options):
    """A quorum that has committed one value everywhere and is quiet; and its leader."""
    c = cluster(voters, observers, **options)
    leader = c.await_leader()
    c.append(b"old")
    c.await_everywhere([b"old"])
    c.run_ms(300)
    return c, leader


class TestTheLeader:
    def test_answers_with_the_last_offset_it_has_committed(self, cluster) -> None:
        c, leader = settled(cluster)
        answers = ask_leader(c, leader)
        assert answers == [], "nobody has confirmed it yet"
        c.until(lambda: bool(answers))
        assert answers == [ReadOffset(ErrorCode.NONE, 1, c.ids[leader], c.raft(leader).epoch)]

    def test_that_is_alone_needs_nobody(self, cluster) -> None:
        c, leader = settled(cluster, voters=1)
        assert [answer.applied_offset for answer in ask_leader(c, leader)] == [1]

    def test_waits_for_a_record_of_its_own_epoch_to_commit(self, cluster) -> None:
        c, first = settled(cluster)
        c.sim.kill(first)
        # Elected, but nobody fetches from it: its LeaderChange does not commit, though all who live confirm it.
        held = c.sim.faults.hold("Fetch")
        c.until(lambda: any(c.raft(name).is_leader for name in c.running))
        second = next(name for name in c.running if c.raft(name).is_leader)
        answers = ask_leader(c, second)
        c.run_ms(60)
        assert isinstance(c.raft(second).state, Leader)
        assert answers == []
        c.sim.faults.heal(held)
        c.until(lambda: bool(answers))
        assert answers[0].error is ErrorCode.NONE
        assert answers[0].applied_offset >= 2, "its LeaderChange record at least"

    def test_answers_as_of_when_the_read_came_though_more_has_committed(self, cluster) -> None:
        c, leader = settled(cluster)
        held = c.sim.faults.hold("BeginQuorumEpoch")
        answers = ask_leader(c, leader)
        c.append(b"new")
        c.until(lambda: c.raft(leader).high_watermark == 3)
        c.sim.faults.heal(held)
        c.until(lambda: bool(answers))
        assert answers[0].applied_offset == 1

    def test_does_not_take_a_fetch_for_a_confirmation(self, cluster) -> None:
        c, leader = settled(cluster)
        c.sim.faults.hold("BeginQuorumEpoch")
        answers = ask_leader(c, leader)
        c.append(b"new")
        c.until(lambda: c.raft(leader).high_watermark == 3)
        assert answers == []

    def test_many_reads_share_a_confirmation(self, cluster) -> None:
        c, leader = settled(cluster, voters=5)
        called = calls_in(c)
        first = ask_leader(c, leader)
        others = [ask_leader(c, leader) for _ in range(100)]
        c.until(lambda: all(others))
        c.run_ms(50)
        assert first[0].error is ErrorCode.NONE
        assert sorted(called) == sorted(c.followers(leader) * 2), "one round for the first, one for all that came in it"

    def test_calls_nobody_while_nobody_reads(self, cluster) -> None:
        c, leader = settled(cluster)
        ask_leader(c, leader)
        c.run_ms(50)
        called = calls_in(c)
        c.run_ms(500)
        assert called == []

    def test_calls_again_when_a_call_is_lost(self, cluster) -> None:
        c, leader = settled(cluster)
        c.sim.faults.drop("BeginQuorumEpoch", direction="response", limit=2)
        answers = ask_leader(c, leader)
        c.run_ms(20)
        assert answers == []
        c.until(lambda: bool(answers), within_ms=1000)

    def test_times_out(self, cluster) -> None:
        c, leader = settled(cluster)
        c.sim.faults.drop("BeginQuorumEpoch")
        began = c.sim.now_ns
        answers = ask_leader(c, leader)
        c.until(lambda: bool(answers))
        assert answers[0].error is ErrorCode.REQUEST_TIMED_OUT
        assert c.sim.now_ns - began == 200 * MS, "controller.quorum.request.timeout.ms"
        assert isinstance(c.raft(leader).state, Leader)

    @pytest.mark.parametrize("how", ["resign", "stop", "deposed", "check-quorum"])
    def test_that_loses_its_leadership_says_so_to_all_that_wait(self, cluster, how: str) -> None:
        c, leader = settled(cluster)
        held = c.sim.faults.hold("BeginQuorumEpoch")
        answers = [ask_leader(c, leader), ask_leader(c, leader)]
        match how:
            case "resign":
                c.raft(leader).resign()
            case "stop":
                c.sim.stop(leader)
            case "deposed":
                c.sim.faults.heal(held)
                c.sim.faults.hold("BeginQuorumEpoch", from_nodes=[leader])
                c.raft(c.followers(leader)[0]).stand(0, leader_resigned=True)
            case "check-quorum":
                c.sim.faults.isolate(leader)
                c.run_ms(150)
                answers.append(ask_leader(c, leader))  # the first ones time out before the leader notices
        c.until(lambda: all(answers))
        assert answers[-1][0].error is ErrorCode.NOT_LEADER_OR_FOLLOWER

    def test_who_does_not_lead_names_the_leader(self, cluster) -> None:
        c, leader = settled(cluster, observers=1)
        for name in (c.followers(leader)[0], "broker-0"):
            assert ask_leader(c, name) == [
                ReadOffset(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, c.ids[leader], c.raft(leader).epoch)
            ]

    def test_a_stopped_replica_leads_nobody(self, cluster) -> None:
        c, leader = settled(cluster)
        raft = c.raft(leader)
        c.sim.stop(leader)
        c.run_ms(500)
        answers: list[ReadOffset] = []
        ready: list[ErrorCode] = []
        raft.read_offset(answers.append)
        raft.read_when_current(MS, ready.append)
        assert answers[0].error is ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert ready == [ErrorCode.BROKER_NOT_AVAILABLE]


class TestTheRequest:
    def ask(self, c, name: str, request) -> list[ReadOffset]:
        answers: list[ReadOffset] = []
        inbound = InboundRequest(request, 0, "test", "peer", lambda response: answers.append(read_offset_of(response)))
        assert c.raft(name).handles(inbound)
        c.raft(name).on_request(inbound)
        return answers

    def test_of_another_cluster_is_refused(self, cluster) -> None:
        c, leader = settled(cluster, voters=1)
        (answer,) = self.ask(c, leader, read_offset_request_of("another", 0))
        assert answer.error is ErrorCode.INCONSISTENT_CLUSTER_ID

    def test_about_another_log_is_refused(self, cluster) -> None:
        c, leader = settled(cluster, voters=1)
        request = read_offset_request_of("cluster", 0)
        request.topics[0].topic_name = "orders"
        (answer,) = self.ask(c, leader, request)
        assert answer.error is ErrorCode.INVALID_REQUEST

    def test_that_is_right_is_answered(self, cluster) -> None:
        c, leader = settled(cluster, voters=1)
        (answer,) = self.ask(c, leader, read_offset_request_of("cluster", 0))
        assert answer == ReadOffset(ErrorCode.NONE, 1, c.ids[leader], c.raft(leader).epoch)


class TestADeposedLeader:
    def deposed(self, cluster, switches: Switches):
        """The old leader is cut off with broker-0 and does not know that another has committed ``new``."""
        c, old = settled(cluster, voters=3, observers=1, switches=switches)
        c.sim.faults.cut([old, "broker-0"], c.followers(old))
        c.until(lambda: any(c.raft(name).is_leader for name in c.followers(old)))
        new = next(name for name in c.followers(old) if c.raft(name).is_leader)
        c.raft(new).append([b"new"])
        c.until(lambda: b"new" in c.heard(new).values)
        assert c.raft(old).is_leader, "check-quorum has not found out yet"
        return c, old

    @pytest.mark.parametrize("where", ["the leader", "broker-0"])
    def test_answers_stale_where_it_need_not_confirm(self, cluster, where: str) -> None:
        c, old = self.deposed(cluster, UNCONFIRMED)
        ends = read_at(c, old if where == "the leader" else where)
        c.until(lambda: bool(ends), within_ms=30)
        assert ends == [(ErrorCode.NONE, [b"old"])]

    @pytest.mark.parametrize("where", ["the leader", "broker-0"])
    def test_answers_nothing_where_it_must(self, cluster, where: str) -> None:
        c, old = self.deposed(cluster, Switches())
        ends = read_at(c, old if where == "the leader" else where)
        c.until(lambda: bool(ends))
        assert ends[0][0] is ErrorCode.REQUEST_TIMED_OUT

    def test_its_reads_are_answered_by_the_new_leader_once_it_is_found(self, cluster) -> None:
        c, _ = self.deposed(cluster, Switches())
        ends = read_at(c, "broker-0")
        c.run_ms(20)
        c.sim.faults.heal_all()
        c.until(lambda: bool(ends))
        assert ends == [(ErrorCode.NONE, [b"old", b"new"])]


class TestARead:
    @pytest.mark.parametrize("where", ["leader", "standby", "observer"])
    def test_sees_what_was_acknowledged_before_it(self, cluster, where: str) -> None:
        c, leader = settled(cluster, observers=1)
        c.append(b"new")
        c.until(lambda: b"new" in c.heard(leader).values)
        name = {"leader": leader, "standby": c.followers(leader)[0], "observer": "broker-0"}[where]
        ends = read_at(c, name)
        c.until(lambda: bool(ends))
        assert ends == [(ErrorCode.NONE, [b"old", b"new"])]

    def test_is_held_at_a_slow_node_until_that_has_caught_up(self, cluster) -> None:
        c, leader = settled(cluster, observers=1)
        slow = c.sim.faults.hold("Fetch", from_nodes=["broker-0"], direction="response")
        c.append(b"new")
        c.until(lambda: b"new" in c.heard(leader).values)
        ends = read_at(c, "broker-0")
        c.run_ms(100)
        assert ends == []
        assert c.heard("broker-0").values == [b"old"], "stale, were it asked for that"
        c.sim.faults.heal(slow)
        c.until(lambda: bool(ends))
        assert ends == [(ErrorCode.NONE, [b"old", b"new"])]

    def test_times_out_where_it_is_held_too_long(self, cluster) -> None:
        c, leader = settled(cluster, observers=1)
        c.sim.faults.hold("Fetch", from_nodes=["broker-0"], direction="response")
        c.append(b"new")
        c.until(lambda: b"new" in c.heard(leader).values)
        began = c.sim.now_ns
        ends = read_at(c, "broker-0", timeout_ms=100)
        c.until(lambda: bool(ends))
        assert ends == [(ErrorCode.REQUEST_TIMED_OUT, [b"old"])]
        assert c.sim.now_ns - began == 100 * MS
        c.run_ms(500)
        assert len(ends) == 1, "and is not answered again"

    def test_times_out_where_there_is_no_leader(self, cluster) -> None:
        c, leader = settled(cluster)
        standby, dead = c.followers(leader)
        c.sim.kill(dead)
        c.sim.kill(leader)
        c.run_ms(1000)
        ends = read_at(c, standby, timeout_ms=300)
        c.until(lambda: bool(ends))
        assert ends[0][0] is ErrorCode.REQUEST_TIMED_OUT

    def test_that_waits_for_a_leader_finds_the_next_one(self, cluster) -> None:
        c, leader = settled(cluster, observers=1)
        c.sim.kill(leader)
        ends = read_at(c, "broker-0", timeout_ms=3000)
        c.until(lambda: bool(ends))
        assert ends == [(ErrorCode.NONE, [b"old"])]

    def test_a_lost_answer_is_asked_for_again(self, cluster) -> None:
        c, _ = settled(cluster, observers=1)
        c.sim.faults.drop("ReadOffset", direction="response", limit=1)
        ends = read_at(c, "broker-0", timeout_ms=2000)
        c.until(lambda: bool(ends))
        assert ends == [(ErrorCode.NONE, [b"old"])]

    def test_many_at_one_node_share_a_question(self, cluster) -> None:
        c, leader = settled(cluster, observers=1)
        asked: list[InboundRequest] = []
        inner = c.node(leader).on_request

        def handle(request: InboundRequest) -> None:
            if request.body.NAME == "ReadOffsetRequest":
                asked.append(request)
            inner(request)

        c.node(leader).on_request = handle
        reads = [read_at(c, "broker-0") for _ in range(50)]
        c.until(lambda: all(reads))
        assert len(asked) == 2, "the first read's, and one for those that came meanwhile"

    def test_is_refused_where_the_node_stops(self, cluster) -> None:
        c, _ = settled(cluster, observers=1)
        c.sim.faults.hold("ReadOffset")
        ends = read_at(c, "broker-0")
        c.sim.stop("broker-0")
        c.until(lambda: bool(ends))
        assert ends[0][0] is ErrorCode.BROKER_NOT_AVAILABLE


class TestConfirmations:
    def test_a_majority_counts_the_leader(self) -> None:
        three = Confirmations((1, 2))
        three.arrived = 2
        assert three.up_to == 0
        three.confirm(2, 1)
        assert three.up_to == 1
        five = Confirmations((1, 2, 3, 4))
        five.confirm(1, 7)
        assert five.up_to == 0
        five.confirm(4, 3)
        assert five.up_to == 3

    def test_half_is_no_majority(self) -> None:
        four = Confirmations((1, 2, 3))
        four.confirm(1, 5)
        assert four.up_to == 0
        four.confirm(2, 5)
        assert four.up_to == 5

    def test_what_was_said_is_not_taken_back(self) -> None:
        two = Confirmations((1,))
        two.confirm(1, 5)
        two.confirm(1, 3)
        assert two.up_to == 5


ACTIONS = ("nothing",) * 4 + ("kill", "pause", "resume", "cut", "cut-off-leader", "heal", "slow", "repeat", "resign")


# --- at random -------------------------------------------------------------------------------------------------------


@dataclass
class Reads:
    """What reads at random nodes at random times came to, under random faults."""

    let_through: int = 0
    acknowledged: int = 0
    stale: list[str] = field(default_factory=list)

    def run(self, cluster, seed: int, switches: Switches, steps: int = 60) -> Reads:
        random = Random(seed)
        c = cluster(random.choice((1, 3, 3, 5)), random.choice((0, 1, 2)), seed=seed, switches=switches)
        for number in range(steps):
            c.run_ms(random.choice((1, 5, 20, 60)))
            self._break(c, random)
            for name in c.running:
                # Every leader appends, and one that does not know that it is deposed, too.
                if c.raft(name).is_leader and not c.sim.node(name).is_paused:
                    c.node(name).do(lambda raft, v=b"%d" % number: raft.is_leader and raft.append([v]))
                if random.random() < 0.5:
                    self._read(c, name)
        c.sim.faults.heal_all()
        for name in c.names:
            c.sim.resume(name)
            if not c.sim.node(name).is_alive:
                c.start(name)
        c.await_leader()
        last = [self._read(c, name) for name in c.running]
        c.until(lambda: all(last))
        assert all(end == [ErrorCode.NONE] for end in last), f"all is well, and still: {last}"
        return self

    def _break(self, c, random: Random) -> None:
        name = random.choice(c.names)
        match random.choice(ACTIONS):
            case "kill" if c.sim.node(name).is_alive:
                c.sim.kill(name)
                c.start(name)
            case "pause":
                c.sim.pause(name)
            case "resume":
                for each in c.names:
                    c.sim.resume(each)
            case "cut":
                half = [each for each in c.names if random.random() < 0.5]
                c.sim.faults.cut(half, [each for each in c.names if each not in half])
            case "cut-off-leader" if c.leader is not None:
                # Until another leads; the old one notices a little later.
                c.sim.faults.heal_all()
                c.sim.faults.isolate(c.leader)
                c.sim.run_for(350 * MS, predicate=lambda: sum(c.raft(each).is_leader for each in c.running) > 1)
                c.run_ms(random.randrange(20))
            case "heal":
                c.sim.faults.heal_all()
            case "slow":
                c.sim.faults.delay(random.randrange(300) * MS, limit=20)
            case "repeat":
                c.sim.faults.duplicate(probability=0.3, limit=20)
            case "resign" if name in c.running:
                c.node(name).do(lambda raft: raft.resign())

    def _read(self, c, name: str) -> list[ErrorCode]:
        """Read at ``name``; how it ended, once it has. One at a node that dies never ends."""
        # What any listener was told of has been committed, and may have been acknowledged to somebody.
        self.acknowledged = max(self.acknowledged, *(c.heard(each).end_offset for each in c.running), 0)
        acknowledged, heard = self.acknowledged, c.heard(name)
        ends: list[ErrorCode] = []

        def ready(error: ErrorCode) -> None:
            assert ends == [], "a read ends once"
            ends.append(error)
            if error is ErrorCode.NONE:
                self.let_through += 1
                if heard.end_offset < acknowledged:
                    self.stale.append(f"{name} had {heard.end_offset} of {acknowledged} that were acknowledged before")

        if not c.sim.node(name).is_paused:
            c.raft(name).read_when_current(1000 * MS, ready)
        return ends


SEEDS = range(40)


def test_no_read_misses_what_was_acknowledged_before(cluster, thorough) -> None:
    seeds, let_through = SEEDS if thorough else SEEDS[:12], 0
    for seed in seeds:
        reads = Reads().run(cluster, seed, Switches())
        assert reads.stale == [], f"seed {seed}"
        let_through += reads.let_through
    assert let_through > 25 * len(seeds), "reads do get through"


def test_without_confirmation_stale_reads_are_found(cluster) -> None:
    assert any(Reads().run(cluster, seed, UNCONFIRMED).stale for seed in SEEDS)


class TestThePropertyFinds:
    """Rules broken one at a time: the property above must see each."""

    def found(self, cluster) -> bool:
        return any(Reads().run(cluster, seed, Switches()).stale for seed in SEEDS)

    def test_a_leader_that_does_not_wait_for_its_own_epoch(self, cluster, monkeypatch) -> None:
        monkeypatch.setattr(ReadIndex, "_committed_offset", lambda self: self._actions.high_watermark - 1)
        assert self.found(cluster)

    def test_a_confirmation_that_speaks_for_later_reads(self, cluster, monkeypatch) -> None:
        confirm = Confirmations.confirm
        monkeypatch.setattr(Confirmations, "confirm", lambda self, voter, number: confirm(self, voter, 1 << 40))
        assert self.found(cluster)

    def test_a_majority_without_the_majority(self, cluster, monkeypatch) -> None:
        monkeypatch.setattr(Confirmations, "up_to", property(lambda self: self.arrived))
        assert self.found(cluster)
