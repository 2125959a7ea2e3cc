"""Random failures of coordinators in the simulator: no acknowledged commit is lost, whatever fails one at a time.

A client commits ever larger offsets for several groups, retrying as clients do; brokers are killed, lose power (and
their disks), are stopped and paused in between. At the end, and whenever a coordinator answers, the committed offset is
at least the last one that was acknowledged, and none that was never asked for.
"""

from __future__ import annotations

from random import Random

import pytest

from highwater_runtime.ports import RpcFailure
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.find_coordinator_request import FindCoordinatorRequest
from highwater_runtime.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from highwater_runtime.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)

GROUPS = [f"group-{n}" for n in range(5)]
PASSING = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)


class Committer:
    """Commits 1, 2, 3 … for one group, each until it is acknowledged."""

    def __init__(self, cluster, group):
        self.cluster, self.group = cluster, group
        self.asked = self.acknowledged = 0
        self.errors = {}

    def find(self, random):
        at = random.randrange(3)
        answers = self.cluster.send(
            at, FindCoordinatorRequest(coordinator_keys=[self.group], key_type=0), 4, within_s=1, channel=self.group
        )
        self.cluster.until(lambda: bool(answers), 3)
        if isinstance(answers[0], RpcFailure) or answers[0].coordinators[0].error_code != ErrorCode.NONE:
            return None
        return answers[0].coordinators[0].node_id

    def commit(self, random):
        to = self.find(random)
        if to is None:
            return
        self.asked = self.acknowledged + 1
        partition = OffsetCommitRequestPartition(
            partition_index=0, committed_offset=self.asked, committed_metadata=f"{self.group}:{self.asked}"
        )
        request = OffsetCommitRequest(
            group_id=self.group, topics=[OffsetCommitRequestTopic(name="orders", partitions=[partition])]
        )
        answers = self.cluster.send(to, request, 8, within_s=7, channel=self.group)
        self.cluster.until(lambda: bool(answers), 9)
        if isinstance(answers[0], RpcFailure):
            return
        error = ErrorCode(answers[0].topics[0].partitions[0].error_code)
        self.errors[error] = self.errors.get(error, 0) + 1
        assert error is ErrorCode.NONE or error in PASSING, error
        if error is ErrorCode.NONE:
            self.acknowledged = self.asked

    def check(self, random):
        """What the coordinator says is committed; None where nobody can say now."""
        to = self.find(random)
        if to is None:
            return None
        asked = OffsetFetchRequestGroup(
            group_id=self.group, topics=[OffsetFetchRequestTopics(name="orders", partition_indexes=[0])]
        )
        answers = self.cluster.send(to, OffsetFetchRequest(groups=[asked]), 8, within_s=3, channel=self.group)
        self.cluster.until(lambda: bool(answers), 5)
        if isinstance(answers[0], RpcFailure) or answers[0].groups[0].error_code in PASSING:
            return None
        (group,) = answers[0].groups
        assert group.error_code == ErrorCode.NONE
        found = group.topics[0].partitions[0]
        assert max(0, found.committed_offset) in (self.acknowledged, self.asked), self.group
        assert found.metadata == (f"{self.group}:{found.committed_offset}" if found.committed_offset > 0 else "")
        return found.committed_offset


def fail(cluster, random, broker):
    """Do something to one broker, and bring it back in the end."""
    name = f"broker-{broker}"
    kind = random.choice(["kill", "power-loss", "wipe", "stop", "pause"])
    match kind:
        case "kill":
            cluster.sim.kill(name)
        case "power-loss":
            cluster.sim.power_loss(name)
        case "wipe":
            cluster.sim.power_loss(name, wipe=True)
        case "stop":
            cluster.sim.stop(name)
        case "pause":
            cluster.sim.pause(name)
    return kind


def whole(cluster):
    """Whether every broker is unfenced, and in the ISR of every partition of the offsets topic."""
    if not all(cluster.unfenced(b) for b in range(3)):
        return False
    topic = cluster.broker(0).image.topics_by_name["__consumer_offsets"]
    return all(len(p.isr) == 3 for p in topic.partitions.values())


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(1, 6))])
def test_acknowledged_commits_survive(make_cluster, seed):
    random = Random(seed)
    cluster = make_cluster(seed, config={"min.insync.replicas": 2, "offsets.commit.timeout.ms": 2000})
    cluster.create_topic(replication_factor=3)
    committers = [Committer(cluster, group) for group in GROUPS]
    cluster.until(lambda: all(c.find(random) is not None for c in committers), 20)
    checked = 0
    for _ in range(6):
        for _ in range(10):
            random.choice(committers).commit(random)
        victim = random.randrange(3)
        kind = fail(cluster, random, victim)
        for _ in range(12):
            random.choice(committers).commit(random)
            checked += random.choice(committers).check(random) is not None
        if kind == "pause":
            # As in Kafka, who has slept through the end of his leadership answers from memory until he hears of it.
            cluster.sim.resume(f"broker-{victim}")
            cluster.until(lambda: whole(cluster), 60)
        else:
            cluster.until(lambda: not cluster.sim.node(f"broker-{victim}").is_alive, 60)  # noqa: B023
            cluster.sim.start(f"broker-{victim}")
        for _ in range(6):
            random.choice(committers).commit(random)
            checked += random.choice(committers).check(random) is not None
        cluster.until(lambda: whole(cluster), 60)
    for committer in committers:
        cluster.until(lambda: committer.check(random) is not None, 20)  # noqa: B023
    assert checked > 20
    assert sum(c.acknowledged for c in committers) > 40
