"""Draws a whole experiment from a seed: swarm testing.

If every run had every kind of fault, faults would mask each other: constant power losses keep logs short, so retention
is never seen. So each seed turns a random subset of everything on: shape of the cluster, properties, workload, kinds of
faults and of administration, how often and for how long. All that is drawn keeps to what a replicated log promises
(``spare: lastInSync``), so that at the default of every switch no seed may show an anomaly.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Final

from highwater_chaos.campaign.draw_settings import (
    ask_for_replicas,
    copy_in_parts,
    expire_offsets,
    forget_producers,
    hand_over_several,
    keep_by_size,
    keep_little,
    let_commits_fit,
    let_tombstones_go,
    rebalance_soon,
    restart_ensemble,
    set_defaults,
    set_seldom,
)
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.experiment.faults import Effect, effect_of, fault_kinds
from highwater_chaos.experiment.model import API_VERSION
from highwater_runtime.seeds import derive_random

RANDOM: Final = "random"
"""What stands for an experiment file where the seed draws the experiment."""

_LOSSES: Final = ("powerLoss", "kill", "stop", "restart", "diskWipe")
_MOST_RECORDS: Final = 80
"""A second, of all topics. A seed with 160 took five times as long as others."""
_REGISTER_RATES: Final = ("4/s", "10/s", "10/s", "40/s")
"""Operations on registers. Each write is a record of the quorum, which all brokers and voters fetch."""
_CUTS: Final = ("partition", "pause", "sessionExpiry", "clockSkew")
_DISKS: Final = ("diskStall", "diskFull", "diskError")
_MESSAGES: Final = ("hold", "drop", "delay", "duplicate")
_MOVES: Final = ("reassign", "throttledReassign", "cancelReassign")
_ADMINISTRATION: Final = (
    *("createTopic", "deleteTopic", "addPartitions", "electLeaders", "deleteRecords", "alterTopic"),
    *_MOVES,
)
_REGISTERS_AGAIN: Final = Effect.ENDS_PROCESSES | Effect.STOPS_IN_ORDER | Effect.FAILS_LOGS
"""After a fault with one of these effects a broker registers again."""
_BEFORE_REPLICA_EPOCHS: Final = ("3.3-IV3", "3.4-IV0", "3.5-IV0")
"""Metadata versions without KIP-903, with which a broker that has restarted may join an ISR by what it fetched before
(KAFKA-14139)."""
_WITH_REPLICA_EPOCHS: Final = ("3.5-IV1", "3.5-IV2")
_PROTOCOL: Final = "inter.broker.protocol.version"
_NOT_WITH_PROTOCOL: Final = {"2.6": ("deleteTopic", *_MOVES), "2.7": ("deleteTopic",)}
"""Administration by which Apache Kafka itself leaves what a check finds, by the value of it: without topic ids a topic
that is created again may have records of the deleted one, and before 2.7 strays stay (KAFKA-7362)."""
_IN_PEACE: Final = ("createTopic", "addPartitions", "electLeaders", "deleteRecords", "alterTopic", "cancelReassign")
_WHILE_AWAY: Final = ("createTopic", "deleteTopic", "addPartitions", "electLeaders", "alterTopic", *_MOVES[::2])
_QUORUM: Final = ("powerLoss", "kill", "stop", "partition", "pause", "diskStall")
_ENSEMBLE: Final = ("powerLoss", "kill", "partition", "pause", "diskFull", "diskError")
_QUORUM_SET: Final[dict[str, tuple[int, ...]]] = {
    "controller.quorum.election.timeout.ms": (300, 1000, 3000),
    "controller.quorum.fetch.timeout.ms": (1000, 2000, 5000),
    "controller.quorum.request.timeout.ms": (500, 1000, 2000),
    "controller.quorum.election.backoff.max.ms": (200, 1000),
}
_SLOW_TO_STAND: Final = {
    "controller.quorum.election.timeout.ms": 5000,
    "controller.quorum.fetch.timeout.ms": 1000,
    "controller.quorum.request.timeout.ms": 500,
}
"""A voter that is not called by its leader misses it for long."""
_SLOW_TO_MISS: Final = {
    "controller.quorum.election.timeout.ms": 1000,
    "controller.quorum.fetch.timeout.ms": 6000,
    "controller.quorum.request.timeout.ms": 500,
}
"""A broker that asks a former leader alone goes on with it for long."""
_OF_QUORUM: Final = ["Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "Fetch"]
_OF_GROUPS: Final = ["JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit"]
_RPCS: Final = {
    "kraft": (
        ["Fetch"],
        ["AlterPartition"],
        ["AlterPartition", "Fetch"],
        ["BrokerRegistration", "BrokerHeartbeat"],
        _OF_QUORUM,
        ["Produce", "Fetch"],
        _OF_GROUPS,
    ),
    "zookeeper": (["Fetch"], ["LeaderAndIsr", "StopReplica", "UpdateMetadata"], ["Produce", "Fetch"], _OF_GROUPS),
}
EVERY: Final = ("300ms", "500ms", "700ms", "1s", "2s")
LASTING: Final = ("1s", "2s", "4s", "8s")
SELDOM: Final = ("3s", "5s")
LONG: Final = ("9s", "14s", "20s")


def draw_experiment(seed: int, mode: str = "") -> ChaosExperiment:
    """The experiment of a seed; the same seed and mode give the same one. ``mode``: kraft, zookeeper, or drawn too."""
    return ChaosExperiment.model_validate(draw_data(derive_random(seed, "campaign"), seed, mode))


def draw_data(random: Random, seed: int, mode: str = "") -> dict[str, Any]:
    """The same, as a file has it, drawn from ``random``."""
    drawn = random.choices(("kraft", "zookeeper"), (3, 2))[0]
    mode = mode or drawn
    cluster = _cluster(random, mode)
    parts = draw_parts(random, mode, cluster)
    set_defaults(derive_random(seed, "defaults of nodes"), cluster)
    forget_producers(derive_random(seed, "producers forgotten"), cluster)
    restart_ensemble(derive_random(seed, "ensemble"), parts)
    if any(kind in fault_kinds() and fault_kinds()[kind].drawn_clock_error_ns(1) for kind in _kinds_of(parts)):
        keep_by_size(cluster)
    keep_little(derive_random(seed, "retention"), cluster)
    let_tombstones_go(derive_random(seed, "tombstones"), cluster)
    _be_patient(derive_random(seed, "patience"), cluster, parts)
    ask_for_replicas(derive_random(seed, "min-isr"), cluster)
    set_seldom(derive_random(seed, "seldom"), cluster)
    rebalance_soon(derive_random(seed, "rebalance"), cluster)
    copy_in_parts(derive_random(seed, "throttles"), cluster, parts)
    workload = draw_workload(random, mode, cluster)
    hand_over_several(derive_random(seed, "batches"), cluster, workload)
    if mode == "kraft":
        _elect_often(derive_random(seed, "quorum"), cluster, parts, workload)
    if "groupMembers" not in workload and derive_random(seed, "groups").random() < 0.25:
        workload["groupMembers"] = 2
    if derive_random(seed, "lookups").random() < 0.4:
        workload["lookups"] = 1
    expire_offsets(derive_random(seed, "offsets expire"), cluster, workload)
    in_peace = _in_peace(random, cluster)
    away = _while_one_is_away(derive_random(seed, "away"), cluster)
    last = _out_of_sync_and_killed(derive_random(seed, "out of sync and killed"), cluster) or away or in_peace
    schedule = [*schedule_of(parts), *_upgrade(random, cluster), *last]
    schedule[0]["parallel"] += _requests_of_former_epochs(derive_random(seed, "former epochs"), cluster, workload)
    if "groupMembers" in workload and derive_random(seed, "groups go").random() < 0.6:
        cluster["config"]["offsets.retention.check.interval.ms"] = 1000
    let_commits_fit(cluster, schedule)
    return {
        "apiVersion": API_VERSION,
        "kind": "ChaosExperiment",
        "metadata": {"name": f"{RANDOM}-{seed}"},
        "spec": {
            "seed": seed,
            "timeout": "5m",
            "cluster": cluster,
            "workload": workload,
            "schedule": schedule,
        },
    }


def _requests_of_former_epochs(
    random: Random, cluster: dict[str, Any], workload: dict[str, Any]
) -> list[list[dict[str, Any]]]:
    """In some experiments producers give up what is delayed, and go on in their next epoch: requests of the former one
    arrive later, and those of the new one not in their order (KIP-360)."""
    if not workload["idempotence"] or random.random() >= 0.12:
        return []
    workload |= {"requestTimeout": "500ms", "deliveryTimeout": "1500ms", "rate": f"{25 * len(cluster['topics'])}/s"}
    part = {"for": "12s", "every": "2s", "lasting": "2s", "faults": {"delay": 1}, "rpcs": ["Produce"], "ends": ["to"]}
    return [[{"random": {**part, "targets": ["brokers"]}}]]


def _be_patient(random: Random, cluster: dict[str, Any], parts: list[dict[str, Any]]) -> None:
    """In a part of the experiments faults are few and last: what healthy nodes owe meanwhile comes due. In some of
    them followers only fetch in vain, so that their leader has to take them out of the ISR."""
    if random.random() >= 0.35:
        return
    if random.random() < 0.3:
        faults = {kind: random.randint(1, 3) for kind in ("drop", "hold", "delay")}
        parts[0] = {**parts[0], "faults": faults, "rpcs": ["Fetch"]}
        del parts[1:]
        cluster["config"]["replica.lag.time.max.ms"] = random.choice((300, 1000, 2000))
        if random.random() < 0.5:  # what a fetch brings is less than what is written meanwhile
            cluster["config"]["replica.fetch.max.bytes"] = 1
    for part in parts:
        if any(kind not in _ADMINISTRATION for kind in part["faults"]):
            part["every"], part["lasting"], part["for"] = random.choice(SELDOM), random.choice(LONG), "12s"


def _elect_often(
    random: Random, cluster: dict[str, Any], parts: list[dict[str, Any]], workload: dict[str, Any]
) -> None:
    """Some quorums have time-outs of their own. Some of several voters are split, are left by their leader or lose
    votes, while clients write and read registers: what a deposed leader confirms is seen then."""
    if random.random() < 0.5:
        cluster["config"] |= {name: random.choice(values) for name, values in _QUORUM_SET.items()}
        if random.random() < 0.4:
            cluster["config"] |= _SLOW_TO_STAND
    if cluster["controllers"] > 1 and random.random() < 0.35:
        cluster["controllers"] = random.choice((3, 5, 5))
        faults = random.choice(({"partition": 1}, {"partition": 2, "stop": 1}, {"stop": 1}))
        part = {
            "for": "12s",
            "every": random.choice((*EVERY[-2:], *SELDOM)),
            "lasting": random.choice(("4s", "14s", *LONG)),
            "faults": faults,
        }
        parts[:] = [one for one in parts if one.get("targets") != ["controllers"] or "rpcs" in one]
        parts.append({**part, "targets": random.choice((["controllers"], [{"activeController": True}]))})
        if random.random() < 0.5:
            lost = {**part, "faults": {"drop": 1, "hold": 2}, "rpcs": ["Vote", "BeginQuorumEpoch", "EndQuorumEpoch"]}
            parts.append({**lost, "targets": ["controllers"]})
        workload["metadata"] = {"writers": random.choice((0, 2)), "readers": 4, "rate": random.choice(_REGISTER_RATES)}
    if cluster["controllers"] > 1 and random.random() < 0.18:
        _leave_alone_but_the_quorum(random, cluster, parts)


def _leave_alone_but_the_quorum(random: Random, cluster: dict[str, Any], parts: list[dict[str, Any]]) -> None:
    """Nothing is in trouble but the leader of the quorum, for long, or one voter after the other, for a moment: all
    that single nodes owe of the quorum comes due."""
    faults = {kind: 1 for kind in ("kill", "pause", "stop") if random.random() < 0.6} or {"stop": 1}
    part: dict[str, Any] = {"for": "9s", "every": "5s", "faults": faults}
    is_leader = random.random() < 0.6
    part |= {"targets": [{"activeController": True}] if is_leader else ["controllers"]}
    part |= {"lasting": random.choice(LONG if is_leader else LASTING[:3])}
    parts[:] = [part]
    cluster["config"] |= _SLOW_TO_MISS if is_leader and random.random() < 0.7 else _SLOW_TO_STAND


def _upgrade(random: Random, cluster: dict[str, Any]) -> list[dict[str, Any]]:
    """In ZooKeeper mode: restart the brokers one after the other with the next protocol, or do not. First the sessions
    of brokers that came back with an empty disk end: until then these are in the ISR, and may be all that is left."""
    if cluster["config"].get(_PROTOCOL) != "2.6" or random.random() < 0.3:
        return []
    restart = {"target": {"all": "brokers"}, "config": {_PROTOCOL: "2.7"}}
    return [{"wait": "6s"}, {"inject": {"restart": restart}}, {"wait": "6s"}]


def _in_peace(random: Random, cluster: dict[str, Any]) -> list[dict[str, Any]]:
    """In some experiments: once faults are over, ask for what they keep a cluster from, one thing after the other."""
    if random.random() < 0.7:
        return []
    broker = random.randrange(cluster["brokers"])
    excluded = _NOT_WITH_PROTOCOL.get(cluster["config"].get(_PROTOCOL), ())
    asked = _some(random, tuple(kind for kind in _IN_PEACE if kind not in excluded))
    stop: list[dict[str, Any]] = []
    if keeps_replica_epochs(
        cluster
    ):  # else a proposal of before, sent again after half a minute, may add it (KAFKA-14139)
        stop = [{"inject": {"stop": {"target": {"broker": broker}, "restartAfter": "2s"}}}, {"wait": "6s"}]
    return [
        {"wait": "8s"},
        *stop,
        {"random": {"for": "4s", "every": "1s", "lasting": "1s", "faults": asked}},
    ]


def _while_one_is_away(random: Random, cluster: dict[str, Any]) -> list[dict[str, Any]]:
    """In some experiments: once faults are over, a broker is away for so long that all others know, or is cut off from
    other brokers alone. Meanwhile they are asked for what concerns it, too; what it is told when it returns, it has
    missed. A move to a broker that cannot fetch lasts, so there is time to take it back."""
    if random.random() >= 0.3:
        return []
    broker = random.randrange(cluster["brokers"])
    target = {"broker": broker}
    others = [{"broker": other} for other in range(cluster["brokers"]) if other != broker]
    ways: list[dict[str, Any]] = [{"pause": {"target": target}}, {"partition": {"isolate": target}}]
    cut_off = {"partition": {"between": [target, others]}}  # it has its session, and can replicate nothing
    ways += [cut_off] * 2
    if keeps_replica_epochs(cluster):
        ways += [{"kill": {"target": target}}] * 2
    excluded = _NOT_WITH_PROTOCOL.get(cluster["config"].get(_PROTOCOL), ())
    asked = _some(random, tuple(kind for kind in _WHILE_AWAY if kind not in excluded))
    way = random.choice(ways)
    if "cancelReassign" in asked:
        asked.setdefault("reassign", 5)
    if way is cut_off and "reassign" not in excluded and random.random() < 0.6:
        asked = {**dict.fromkeys(asked, 1), "reassign": 6, "cancelReassign": 6}
    return [
        {"wait": "8s"},
        {
            "parallel": [
                [{"inject": {**way, "for": "10s"}}, {"wait": "10s"}],
                [{"wait": "4s"}, {"random": {"for": "5s", "every": "500ms", "lasting": "1s", "faults": asked}}],
            ]
        },
        {"wait": "8s"},
    ]


def _out_of_sync_and_killed(random: Random, cluster: dict[str, Any]) -> list[dict[str, Any]]:
    """In some experiments: once faults are over, a broker is cut off from the others until it has left all ISRs, and is
    killed then. No partition changes by its death, and all others have to hear of it."""
    if random.random() >= 0.07 or not keeps_replica_epochs(cluster):
        return []
    broker = random.randrange(cluster["brokers"])
    target = {"broker": broker}
    others = [{"broker": other} for other in range(cluster["brokers"]) if other != broker]
    cluster["config"]["replica.lag.time.max.ms"] = random.choice((300, 1000, 1500))
    cut = {"partition": {"between": [target, others]}, "for": "6s"}
    return [
        {"wait": "8s"},
        {
            "parallel": [
                [{"inject": cut}, {"wait": "6s"}],
                [{"wait": "5500ms"}, {"inject": {"kill": {"target": target}, "for": "16s"}}, {"wait": "16s"}],
            ]
        },
        {"wait": "6s"},
    ]


def schedule_of(parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The schedule in which these ``random`` steps go on side by side."""
    # A log whose topic or replica has gone may stay for a while before it counts as a stray.
    end = [{"wait": "8s"}] if _kinds_of(parts) & set(_ADMINISTRATION) else []
    return [{"parallel": [[{"random": part}] for part in parts]}, *end]


def _kinds_of(parts: Sequence[dict[str, Any]]) -> set[str]:
    return {kind for part in parts for kind in part["faults"]}


def _cluster(random: Random, mode: str) -> dict[str, Any]:
    brokers = random.choice((2, 3, 3, 3, 3, 4, 5))
    replicas = min(brokers, random.choice((2, 2, 3, 3, 3, 5)))
    session = random.choice((500, 1500, 2000, 3000))
    config: dict[str, Any] = {
        "min.insync.replicas": random.randint(1, max(1, replicas - 1)),
        "replica.lag.time.max.ms": random.choice((300, 1000, 1500, 2000, 20000)),
        "replica.socket.timeout.ms": random.choice((1000, 2000, 3000)),
        "log.segment.delete.delay.ms": 1000,
        "log.retention.check.interval.ms": 700,
        "log.flush.offset.checkpoint.interval.ms": random.choice((500, 2000, 60000)),
        "offsets.topic.num.partitions": 2,
        "offsets.topic.segment.bytes": 2000,
        "group.initial.rebalance.delay.ms": 500,
        "replica.high.watermark.checkpoint.interval.ms": random.choice((500, 1000, 5000)),
    }
    if random.random() < 0.5:
        config["replica.fetch.backoff.ms"] = random.choice((100, 300))
    if mode == "kraft":
        config["broker.session.timeout.ms"] = session
        config["broker.heartbeat.interval.ms"] = session // random.choice((4, 6))
        if random.random() < 0.5:
            patience = random.choice((300, 1000, 3000))
            config |= {"request.timeout.ms": patience, "controller.socket.timeout.ms": patience}
        if random.random() < 0.5:
            config["metadata.log.max.record.bytes.between.snapshots"] = random.choice((1500, 4000))
    else:
        config["zookeeper.session.timeout.ms"] = max(session, 1500)
        config["controller.socket.timeout.ms"] = 1000
    small = random.random() < 0.5
    if small:
        config["log.segment.bytes"] = random.choice((700, 4000, 20000))

    if random.random() < 0.3:
        config["leader.imbalance.check.interval.ms"] = random.choice((1000, 3000))
    if random.random() < 0.2:
        config["unclean.leader.election.enable"] = random.random() < 0.3
    partitions = random.choice((1, 2, 2, 4))
    topics: list[dict[str, Any]] = [{"name": "orders", "partitions": partitions, "replicationFactor": replicas}]
    if random.random() < 0.5:
        kept: dict[str, Any] = {}
        if small and random.random() < 0.7:
            kept = random.choice(({"retention.bytes": 6000}, {"retention.ms": random.choice((500, 3000))}))
        elif random.random() < 0.3:
            kept = {"flush.ms": 3000}
        if "cleanup.policy" not in kept and random.random() < 0.2:
            kept = {"cleanup.policy": "compact", "segment.bytes": random.choice((700, 2000)), "segment.ms": 2000}
        if random.random() < 0.14:
            kept["unclean.leader.election.enable"] = random.random() < 0.75
        topics.append({"name": "payments", "partitions": random.choice((1, 2)), "replicationFactor": replicas})
        if kept:
            topics[-1]["config"] = kept
    if random.random() < 0.1:
        topics.append({"name": "notes", "partitions": 1, "replicationFactor": 1})
    version: dict[str, str] = {}
    if mode == "kraft" and random.random() < 0.25:
        version["metadataVersion"] = random.choice((*_BEFORE_REPLICA_EPOCHS, *_WITH_REPLICA_EPOCHS))
    elif mode == "zookeeper" and random.random() < 0.15:
        config[_PROTOCOL] = random.choice(sorted(_NOT_WITH_PROTOCOL))
    quorum = {"controllers": random.choice((1, 1, 3, 3, 3, 5))} if mode == "kraft" else {}
    return {"mode": mode, "brokers": brokers, **quorum, **version, "config": config, "topics": topics}


def draw_workload(random: Random, mode: str, cluster: dict[str, Any]) -> dict[str, Any]:
    """Clients that fit the cluster."""
    topics = len(cluster["topics"])
    segments = [topic.get("config", {}).get("segment.bytes", 1 << 30) for topic in cluster["topics"]]
    segment = min([cluster["config"].get("log.segment.bytes", 1 << 30), *segments])
    sizes = [size for size in (0, 0, 20, 1000, 3980) if 4 * size < segment]  # a batch must fit into a segment
    acks = random.choices(("all", "1", "0"), (86, 9, 5))[0]
    drawn: dict[str, Any] = {
        "producers": random.randint(1, 3),
        "rate": f"{min(random.choices((1, 6, 12, 20, 40, 80), (20, 22, 27, 24, 5, 2))[0] * topics, _MOST_RECORDS)}/s",
        "acks": acks,
        "idempotence": random.random() < 0.85 and acks == "all",
        "consumers": random.choice((0, 1, 1)),
        "recordSize": random.choice(sizes),
    }
    if random.random() < 0.5:
        drawn["requestTimeout"] = random.choice(("500ms", "1s"))
    if random.random() < 0.3:
        drawn["deliveryTimeout"] = random.choice(("2500ms", "5s"))  # a producer that gives up begins another epoch
    if random.random() < 0.2:
        drawn["ackTimeout"] = random.choice(("50ms", "200ms", "400ms"))
    compacts = "log.cleanup.policy" in cluster["config"]
    if compacts or any("cleanup.policy" in topic.get("config", {}) for topic in cluster["topics"]):
        drawn["keys"] = random.choice((3, 20, 100))
    if random.random() < 0.35:
        drawn["startWithin"] = random.choice(("4s", "9s"))
    if random.random() < 0.35:
        drawn["groupMembers"] = random.randint(1, 3)
    if mode == "kraft" and random.random() < 0.25:
        rate = random.choice(_REGISTER_RATES)
        drawn["metadata"] = {"writers": random.choice((0, 2, 2)), "readers": 4, "rate": rate}
    return drawn


def draw_parts(random: Random, mode: str, cluster: dict[str, Any]) -> list[dict[str, Any]]:
    """The ``random`` steps of a schedule: of brokers, quorum or ensemble, messages, administration."""
    lasts = f"{random.choice((6, 9, 12))}s"
    of_brokers: tuple[str, ...] = _LOSSES + _CUTS + _DISKS
    if not keeps_replica_epochs(cluster):
        of_brokers = tuple(kind for kind in of_brokers if not effect_of(kind) & _REGISTERS_AGAIN)
    parts = [_part(random, lasts, _some(random, of_brokers), ["brokers"])]
    if mode == "kraft" and random.random() < 0.5:
        kinds = _QUORUM if cluster["controllers"] > 1 else ("kill", "pause", "stop")
        parts.append(_part(random, lasts, _some(random, kinds), ["controllers"]))
    if mode == "zookeeper" and random.random() < 0.3:
        parts.append(_part(random, lasts, _some(random, _ENSEMBLE), ["zookeepers"]))
    if random.random() < 0.5:
        part = _part(random, lasts, _some(random, _MESSAGES), ["brokers"])
        if random.random() < 0.7:
            part["rpcs"] = random.choice(_RPCS[mode])
            if part["rpcs"] is _OF_QUORUM:
                part["targets"] = ["controllers"]
        parts.append(part)
    if random.random() < 0.5:
        excluded = _NOT_WITH_PROTOCOL.get(cluster["config"].get(_PROTOCOL), ())
        of_topics = _some(random, tuple(kind for kind in _ADMINISTRATION if kind not in excluded))
        if "cancelReassign" in of_topics and "throttledReassign" not in of_topics:
            of_topics.setdefault("reassign", random.randint(1, 5))  # else there is none to cancel
        parts.append(_part(random, lasts, of_topics, None))
        if "throttledReassign" in of_topics and len(parts[0]["faults"]) > 1:
            parts[0]["faults"].pop("restart", None)  # it is not over before its broker is in sync
    if "metadataVersion" in cluster and random.random() < 0.7:
        parts.append({**_part(random, lasts, {"upgradeMetadata": 1}, None), "every": random.choice(("2s", "5s"))})
    return parts


def keeps_replica_epochs(cluster: dict[str, Any]) -> bool:
    """Whether a broker that has restarted cannot join an ISR by a message that it sent before (KIP-903)."""
    return cluster.get("metadataVersion") not in _BEFORE_REPLICA_EPOCHS


def _some(random: Random, kinds: tuple[str, ...]) -> dict[str, int]:
    """A subset of the kinds, at least one, each with a weight."""
    chosen = [kind for kind in kinds if random.random() < 0.4] or [random.choice(kinds)]
    return {kind: random.randint(1, 5) for kind in chosen}


def _part(random: Random, lasts: str, faults: dict[str, int], targets: list[str] | None) -> dict[str, Any]:
    part: dict[str, Any] = {
        "for": lasts,
        "every": random.choice(EVERY),
        "lasting": random.choice(LASTING),
        "faults": faults,
    }
    return part if targets is None else {**part, "targets": targets}
