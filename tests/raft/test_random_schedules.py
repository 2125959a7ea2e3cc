"""Random schedules of kills, power losses, cuts, pauses and slow messages; the referee judges after every event.

Election safety, log matching, leader completeness, committed data, monotonic epochs and HWs: see ``Referee``. At the
end all is healed, and the quorum must come to one leader and one log that all are told of.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random

import pytest

from highwater_runtime.ports import MS
from highwater_runtime.raft import RaftReplica
from highwater_runtime.raft.election import LogEnd, VoteTally
from highwater_runtime.raft.metadata_log import MetadataLog
from highwater_runtime.raft.progress import LeaderProgress
from highwater_runtime.raft.quorum_state_store import QuorumStateStore
from highwater_runtime.raft.states import Leader, Resigned, state_after_restart

SHAPES = [(1, 1), (2, 1), (3, 2), (4, 0), (5, 1)]


class Schedule:
    """What happens to one cluster, by seed. ``shapes``: numbers of voters and observers, of which it draws one."""

    shapes = SHAPES

    def __init__(self, cluster, seed: int, steps: int) -> None:
        self.random = Random(seed)
        voters, observers = self.random.choice(self.shapes)
        self.c = cluster(voters, observers, seed=seed, snapshot_every=self.random.choice((None, 3, 8)))
        self.faults = self.c.sim.faults
        self.steps = steps
        self._next_value = 0

    def run(self) -> None:
        for _ in range(self.steps):
            self.c.run_ms(self.random.choice((1, 5, 20, 60, 200)))
            self.act()
            for name in self.c.running:
                self.append(name)
        self.recover()

    def act(self) -> None:
        c, random = self.c, self.random
        name = random.choice(c.names)
        match random.choice(ACTIONS):
            case "kill" if c.sim.node(name).is_alive:
                c.sim.kill(name)
            case "power-loss":
                c.sim.power_loss(name)
            case "power-loss-of-all":
                for each in c.names:
                    c.sim.power_loss(each)
            case "pause":
                c.sim.pause(name)
            case "resume":
                c.sim.resume(name)
            case "start":
                self.start_all()
            case "restart" if c.sim.node(name).is_alive:
                c.sim.kill(name)
                c.sim.start(name)
            case "isolate":
                self.faults.isolate(name, random.choice(("both", "aToB", "bToA")))
            case "split":
                half = [each for each in c.names if random.random() < 0.5]
                self.faults.cut(half, [each for each in c.names if each not in half])
            case "slow":
                self.faults.delay(
                    random.randrange(300) * MS, direction=random.choice(("request", "response")), limit=20
                )
            case "hold":
                self.faults.hold(random.choice(("Vote", "Fetch", "BeginQuorumEpoch", "EndQuorumEpoch")), limit=3)
            case "duplicate":
                self.faults.duplicate(probability=0.3, limit=20)
            case "drop":
                self.faults.drop(probability=0.3, limit=20)
            case "power-cut":
                c.sim.node(name).disk.cut_power_at(random.randrange(1, 12))
            case "stall":
                c.sim.node(name).disk.set_stalled(True)
            case "disk-errors":
                c.sim.node(name).disk.set_errors("fsync")
            case "heal":
                self.heal()
            case "resign" if name in c.running:
                c.node(name).do(RaftReplica.resign)

    def append(self, name: str) -> None:
        if self.c.raft(name).is_leader and self.random.random() < 0.7:
            values = [b"%d" % (self._next_value + i) for i in range(self.random.randrange(1, 4))]
            self._next_value += len(values)
            self.c.node(name).do(lambda raft: raft.append(values) if raft.is_leader else None)

    def heal(self) -> None:
        self.faults.heal_all()
        for name in self.c.names:
            self.c.sim.node(name).disk.heal()

    def start_all(self) -> None:
        for name in self.c.names:
            if not self.c.sim.node(name).is_alive:
                self.c.sim.start(name)

    def recover(self) -> None:
        self.heal()
        for name in self.c.names:
            self.c.sim.resume(name)
        self.start_all()
        self.come_to_one_log(self.c.names)

    def come_to_one_log(self, names: list[str]) -> None:
        """With nothing in the way of ``names``."""
        c = self.c
        c.until(lambda: c.running == names)
        # A leader comes and stays; a disturbed quorum may need a few elections.
        for _ in range(20):
            leader = c.await_leader(within_ms=10_000)
            c.run_ms(600)
            if c.leader == leader:
                break
        c.append(b"last")
        c.until(lambda: all(c.heard(name).values[-1:] == [b"last"] for name in names), within_ms=5000)
        told = c.heard(c.leader).values
        assert len(told) == len(set(told)), "nothing is committed twice"
        assert all(c.heard(name).values == told for name in names)


class MinorityStaysDown(Schedule):
    """In the end as many voters are down as the quorum can do without, and stay so. New observers need snapshots."""

    shapes = ((3, 1), (3, 2), (4, 1), (5, 2))

    def act(self) -> None:
        draw, c = self.random.random(), self.c
        name = self.random.choice(c.observers)
        if draw < 0.1:
            self.faults.hold("FetchSnapshot", limit=3)
        elif draw < 0.2 and not c.sim.node(name).is_alive:
            c.sim.wipe(name)
            c.sim.start(name)
        else:
            super().act()

    def recover(self) -> None:
        c, random = self.c, self.random
        down = random.sample(c.voters, (len(c.voters) - 1) // 2)
        for name in c.names:
            c.sim.resume(name)
            if name not in down and not c.sim.node(name).is_alive:
                c.sim.start(name)
            elif name in down and c.sim.node(name).is_alive:
                random.choice((c.sim.kill, c.sim.power_loss))(name)
        self.heal()
        self.come_to_one_log([name for name in c.names if name not in down])


ACTIONS = (
    *("kill",) * 3,
    *("power-loss",) * 3,
    "power-loss-of-all",
    *("pause", "resume") * 2,
    *("start",) * 8,
    *("restart",) * 2,
    *("isolate",) * 3,
    *("split",) * 2,
    *("slow", "hold", "duplicate", "drop"),
    *("heal",) * 6,
    *("power-cut",) * 3,
    *("stall",) * 2,
    "disk-errors",
    "resign",
)

SEEDS = 200 if os.environ.get("HIGHWATER_THOROUGH") == "1" else 20
GROUPS = [range(first, first + 20) for first in range(0, SEEDS, 20)]


@pytest.mark.parametrize("seeds", GROUPS, ids=lambda seeds: f"seeds-{seeds[0]}-to-{seeds[-1]}")
def test_random_schedules(cluster, seeds: range) -> None:
    for seed in seeds:
        try:
            Schedule(cluster, seed, steps=60).run()
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise


@pytest.mark.thorough
def test_a_minority_that_stays_down_is_in_nobody_s_way(cluster) -> None:
    # Seed 108: a leader goes for good while an observer fetches a snapshot from it.
    for seed in range(200) if os.environ.get("HIGHWATER_THOROUGH") == "1" else range(100, 110):
        try:
            MinorityStaysDown(cluster, seed, steps=50).run()
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise


def objections(cluster, seeds: range) -> Iterator[str]:
    """What is found in the runs of ``seeds``: the referee's words, or those of an assertion inside the replica."""
    for seed in seeds:
        try:
            Schedule(cluster, seed, steps=60).run()
        except Exception as error:
            yield str(error.__cause__ or error)


class TestTheRefereeFindsBrokenRules:
    """A referee that never objects proves nothing: each rule broken on purpose is found, under its name."""

    def expect(self, cluster, name: str, seeds: int = 12) -> None:
        found = []
        for objection in objections(cluster, range(seeds)):
            found.append(objection)
            if name in objection:
                return
        raise AssertionError(f"{name!r} was not found; instead {found}")

    def test_a_vote_that_is_not_durable(self, cluster, monkeypatch) -> None:
        monkeypatch.setattr(QuorumStateStore, "save", lambda self, state: None)
        self.expect(cluster, "epoch monotonic")

    def test_a_leader_that_comes_back_as_leader(self, cluster, monkeypatch) -> None:
        def restarted(*args):
            state = state_after_restart(*args)
            return Leader(state.epoch, state.node_id, args[2]) if isinstance(state, Resigned) else state

        monkeypatch.setattr("highwater_runtime.raft.quorum.state_after_restart", restarted)
        self.expect(cluster, "election safety")

    def test_a_log_that_is_not_flushed(self, cluster, monkeypatch) -> None:
        def pretend(self: MetadataLog) -> None:
            if self.flushed_end < self.end_offset:
                self.flushed_end = self.end_offset
                self._clock.call_later(0, self._on_flushed)

        monkeypatch.setattr(MetadataLog, "flush_soon", pretend)
        self.expect(cluster, "leader completeness")

    def test_a_vote_for_any_log(self, cluster, monkeypatch) -> None:
        monkeypatch.setattr(LogEnd, "at_least", lambda self, other: True)
        self.expect(cluster, "leader completeness")

    def test_an_election_without_majority(self, cluster, monkeypatch) -> None:
        won = property(lambda self: len(self.granting) >= min(2, len(self.voters)))
        monkeypatch.setattr(VoteTally, "is_won", won)
        self.expect(cluster, "is no majority")

    def test_a_commit_without_majority(self, cluster, monkeypatch) -> None:
        monkeypatch.setattr(LeaderProgress, "high_watermark", lambda self, own: own if own > self.epoch_start else None)
        self.expect(cluster, "leader completeness")

    def test_logs_that_part_and_are_not_cut(self, cluster, monkeypatch) -> None:
        monkeypatch.setattr(MetadataLog, "diverging_epoch", lambda self, offset, epoch: None)
        self.expect(cluster, "committed data", seeds=40)
