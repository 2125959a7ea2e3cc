"""Settings of a drawn experiment that are drawn apart: a new one changes nothing else that its seed draws."""

from __future__ import annotations

from random import Random
from typing import Any, Final

SELDOM_SET: Final[dict[str, tuple[int | bool, ...]]] = {
    "replica.fetch.max.bytes": (1, 2000),
    "replica.fetch.response.max.bytes": (1, 4000),
    "replica.fetch.wait.max.ms": (50, 200),
    "fetch.max.bytes": (1024,),
    "max.incremental.fetch.session.cache.slots": (0, 1, 3),
    "log.index.interval.bytes": (0, 200),
    "log.flush.interval.messages": (1, 10),
    "log.roll.ms": (1000, 4000),
    "offsets.commit.timeout.ms": (500,),
    "metadata.max.idle.interval.ms": (100, 3000),
    "auto.leader.rebalance.enable": (False,),
}
"""Properties that most experiments leave alone, and values at which their rules come to act."""
_MANY_RECORDS: Final = 12
"""Records a second and topic from which on most are sent in batches."""


def ask_for_replicas(random: Random, cluster: dict[str, Any]) -> None:
    """Some topics have another ``min.insync.replicas`` than the cluster; drawn apart from everything else."""
    for topic in cluster["topics"]:
        others = {*range(1, topic["replicationFactor"])} - {cluster["config"]["min.insync.replicas"]}
        if others and random.random() < 0.3:
            topic["config"] = {**topic.get("config", {}), "min.insync.replicas": random.choice(sorted(others))}


def set_seldom(random: Random, cluster: dict[str, Any]) -> None:
    """Half of the clusters have one to three properties at values that are seldom set."""
    if random.random() < 0.5:
        for name in random.sample(sorted(SELDOM_SET), random.randint(1, 3)):
            cluster["config"].setdefault(name, random.choice(SELDOM_SET[name]))


def keep_little(random: Random, cluster: dict[str, Any]) -> None:
    """Most topics that keep little have segments so small that some go, and some others keep little, too."""
    for topic in cluster["topics"]:
        config = topic.get("config", {})
        keeps = any(name.startswith("retention.") for name in config)
        if not config and random.random() < 0.08:
            config = topic["config"] = {"retention.bytes": 6000}
            keeps = True
        if keeps and random.random() < 0.7:
            config["segment.bytes"] = random.choice((700, 2000))


def rebalance_soon(random: Random, cluster: dict[str, Any]) -> None:
    """With those that were drawn, controllers of half of the clusters move leaders back within seconds."""
    if random.random() < 0.3:
        cluster["config"].setdefault("leader.imbalance.check.interval.ms", random.choice((1000, 3000)))


def copy_in_parts(random: Random, cluster: dict[str, Any], parts: list[dict[str, Any]]) -> None:
    """Most logs are copied by several fetches if a throttle may hold back the next one: the first may go beyond it."""
    if any("throttledReassign" in part["faults"] for part in parts) and random.random() < 0.7:
        cluster["config"].setdefault("replica.fetch.max.bytes", random.choice((1, 500, 2000)))


def hand_over_several(random: Random, cluster: dict[str, Any], workload: dict[str, Any]) -> None:
    """Batches of several records: mostly where many are sent, so that a seed of many records has no more requests."""
    each = float(workload["rate"].removesuffix("/s")) / len(cluster["topics"])
    if random.random() < (0.75 if each >= _MANY_RECORDS else 0.2):
        workload["recordsAtOnce"] = random.choice((2, 4, 8))


def let_tombstones_go(random: Random, cluster: dict[str, Any]) -> None:
    """Half of the compacted topics keep tombstones for a part of the run alone; drawn apart from everything else."""
    for topic in cluster["topics"]:
        config = topic.get("config", {})
        if "cleanup.policy" in config and random.random() < 0.5:
            config["delete.retention.ms"] = random.choice((0, 3000, 10_000))


def let_commits_fit(cluster: dict[str, Any], schedule: list[dict[str, Any]]) -> None:
    """One commit of a group is one batch, which is refused if it does not fit into a segment. Partitions are added up
    to a dozen a topic, and each takes 100 bytes of a commit."""
    if "addPartitions" in str(schedule):
        cluster["config"]["offsets.topic.segment.bytes"] = 6000


def keep_by_size(cluster: dict[str, Any]) -> None:
    """A wrong clock removes records before their time (``retention-too-greedy``), which is no bug of the log."""
    if cluster["config"].pop("log.retention.ms", None) is not None:
        cluster["config"]["log.retention.bytes"] = 6000
    for topic in cluster["topics"]:
        if "retention.ms" in topic.get("config", {}):
            topic["config"] = {"retention.bytes": 6000}


def set_defaults(random: Random, cluster: dict[str, Any]) -> None:
    """Nodes of some clusters have defaults for topics without such settings: what they keep, whether they compact it,
    and whose clock dates records. Segments are so small then that some go."""
    if random.random() >= 0.16:
        return
    config = cluster["config"]
    kind = random.choice(("retention", "compaction", "time"))
    if kind == "time" or random.random() < 0.2:
        config["log.message.timestamp.type"] = "LogAppendTime"
    if kind == "retention":
        config |= random.choice(({"log.retention.bytes": 6000}, {"log.retention.ms": random.choice((500, 3000))}))
    if kind == "compaction":
        config |= {"log.cleanup.policy": "compact", "log.roll.ms": 2000}
    if kind != "time":
        config["log.segment.bytes"] = random.choice((700, 2000))


def forget_producers(random: Random, cluster: dict[str, Any]) -> None:
    """Leaders of some clusters forget producers within the run."""
    if random.random() < 0.07:
        cluster["config"]["producer.id.expiration.ms"] = random.choice((1000, 3000, 10_000))


def expire_offsets(random: Random, cluster: dict[str, Any], workload: dict[str, Any]) -> None:
    """Some groups keep offsets for the shortest time that there is, and look often for what is older."""
    if "groupMembers" in workload and random.random() < 0.12:
        cluster["config"] |= {"offsets.retention.minutes": 1, "offsets.retention.check.interval.ms": 1000}


def restart_ensemble(random: Random, parts: list[dict[str, Any]]) -> None:
    """Half of the ensembles in trouble have servers that restart in order, or stop and come back."""
    for part in parts:
        if part.get("targets") == ["zookeepers"] and random.random() < 0.5:
            part["faults"] |= {kind: random.randint(1, 3) for kind in random.choice((["restart"], ["restart", "stop"]))}
