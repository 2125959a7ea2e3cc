"""Coordinators of groups that fail: what was committed is found by the next one."""

from __future__ import annotations

from group_consumer import NONE, Consumer, commit, fetch

from highwater_runtime.metadata.topic_names import GROUP_OFFSETS_TOPIC
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from highwater_runtime.wire.messages.list_groups_request import ListGroupsRequest


def test_what_was_committed_survives_the_loss_of_the_coordinator_and_its_disk(cluster):
    to = cluster.coordinator()
    assert commit(cluster, 42, metadata="m") is NONE
    cluster.sim.power_loss(f"broker-{to}", wipe=True)
    at = (to + 1) % 3
    cluster.until(lambda: cluster.coordinator(at=at) != to, 20)
    assert fetch(cluster, to=cluster.coordinator(at=at)) == (NONE, 42, 3, "m")


def test_members_go_on_with_the_next_coordinator_in_their_generation(cluster):
    members = [Consumer(cluster, instance=i) for i in "ab"]
    members[0].enter()
    joining = members[1]
    generation = members[0].generation
    assert joining.member_id == ""
    assert members[0].commit(10) is NONE
    before = members[0].to
    cluster.sim.kill(f"broker-{before}")
    at = (before + 1) % 3
    cluster.until(lambda: cluster.coordinator(at=at) != before, 20)
    members[0].to = cluster.coordinator(at=at)
    assert members[0].heartbeat() is NONE
    assert members[0].generation == generation
    assert members[0].commit(11) is NONE
    assert fetch(cluster, to=members[0].to)[1] == 11
    assert members[0].sync() is NONE
    assert members[0].assignment == members[0].member_id.encode()


def test_a_coordinator_that_stops_sends_waiting_members_on(cluster):
    member = Consumer(cluster).enter()
    request = JoinGroupRequest(
        group_id="readers",
        session_timeout_ms=6000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        group_instance_id="new",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=member.subscription)],
    )
    waiting = cluster.send(member.to, request, 9, within_s=60, channel="waiting")
    cluster.run(0.2)
    assert waiting == []
    cluster.sim.stop(f"broker-{member.to}")
    cluster.until(lambda: bool(waiting), 5)
    assert waiting[0].error_code == ErrorCode.NOT_COORDINATOR


def test_offsets_survive_a_restart_of_the_whole_cluster(cluster):
    assert commit(cluster, 42) is NONE
    for b in range(3):
        cluster.sim.stop(f"broker-{b}")
    cluster.run(10)
    for b in range(3):
        cluster.sim.start(f"broker-{b}")
    cluster.until(lambda: all(cluster.unfenced(b) for b in range(3)))
    assert fetch(cluster, to=cluster.coordinator()) == (NONE, 42, 3, "")


def test_a_large_partition_is_loaded_with_other_events_between(make_cluster):
    cluster = make_cluster(config={"offsets.topic.num.partitions": 1})
    cluster.create_topic(replication_factor=3)
    to = cluster.coordinator()
    for n in range(60):
        assert commit(cluster, n, to=to, group=f"group-{n}", metadata="x" * 4000) is NONE
    cluster.sim.kill(f"broker-{to}")
    at = (to + 1) % 3
    cluster.until(lambda: cluster.coordinator(at=at) != to, 20)
    new = cluster.coordinator(at=at)
    cluster.until(lambda: fetch(cluster, to=new, group="group-0") != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 5)
    assert [fetch(cluster, to=new, group=f"group-{n}")[1] for n in range(60)] == list(range(60))


def test_the_offsets_topic_is_compacted_and_nothing_committed_is_lost(make_cluster):
    config = {
        "offsets.topic.num.partitions": 1,
        "offsets.topic.segment.bytes": 4000,
        "log.retention.check.interval.ms": 2000,
        "log.retention.ms": 1000,
        "replica.high.watermark.checkpoint.interval.ms": 500,
    }
    cluster = make_cluster(config=config)
    cluster.create_topic(replication_factor=3)
    to = cluster.coordinator()
    for n in range(150):
        assert commit(cluster, n, to=to, group=f"group-{n % 7}") is NONE
    cluster.run(10)
    logs = [p.log for b in range(3) for p in cluster.broker(b).partitions.values() if p.topic == GROUP_OFFSETS_TOPIC]
    counts = [sum(batch.record_count for batch in log.batches_between(0, log.log_end_offset)) for log in logs]
    assert [log.log_end_offset for log in logs] == [150] * 3
    assert max(counts) < 75, "on every replica, each by itself"
    cluster.sim.power_loss(f"broker-{to}", wipe=True)
    at = (to + 1) % 3
    cluster.until(lambda: cluster.coordinator(at=at) != to, 20)
    new = cluster.coordinator(at=at)
    latest = {n % 7: n for n in range(150)}
    assert [fetch(cluster, to=new, group=f"group-{g}")[1] for g in range(7)] == [latest[g] for g in range(7)]
    # The wiped one copies a compacted log.
    cluster.sim.start(f"broker-{to}")
    cluster.until(lambda: cluster.unfenced(to), 20)
    topic = cluster.broker(to).image.topics_by_name[GROUP_OFFSETS_TOPIC]
    cluster.until(lambda: len(topic.partitions[0].isr) == 3, 20)
    cluster.sim.power_loss(f"broker-{new}", wipe=True)
    cluster.until(lambda: cluster.coordinator(at=to) != new, 20)
    assert commit(cluster, 1000, to=cluster.coordinator(at=to), group="group-0") is NONE


def test_a_cluster_without_groups_runs_as_if_there_were_none(make_cluster, monkeypatch):
    """Event for event: no timer, no message, no random draw and no series comes from what nobody uses."""

    class NoGroups:
        def __init__(self, *_):
            pass

        def publish(self, *_):
            pass

        def replica_changed(self, _):
            pass

        def close(self):
            pass

    def run():
        cluster = make_cluster(7)
        events = []
        cluster.sim.trace.subscribers.append(lambda t, node, _, event: events.append((t, node, event)))
        cluster.create_topic(partitions=3, replication_factor=3)
        cluster.run(5)
        cluster.sim.stop("broker-1")
        cluster.run(40)
        cluster.sim.start("broker-1")
        cluster.run(40)
        assert cluster.unfenced(1)
        return events, cluster.sim.loop.events_run

    with_groups = run()
    monkeypatch.setattr("highwater_runtime.broker.broker.Groups", NoGroups)
    assert run() == with_groups
    assert len(with_groups[0]) > 50


def test_a_group_that_nobody_joined_leaves_no_record(make_cluster):
    cluster = make_cluster(config={"offsets.retention.check.interval.ms": 1000})
    consumer = Consumer(cluster)
    request = JoinGroupRequest(
        group_id="readers",
        session_timeout_ms=6000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    assert cluster.ask(consumer.to, request, 5).error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert len(cluster.ask(consumer.to, ListGroupsRequest(), 4).groups) == 1
    cluster.run(5)
    assert len(cluster.ask(consumer.to, ListGroupsRequest(), 4).groups) == 1, "somebody may still join under his id"
    cluster.run(3)
    assert cluster.ask(consumer.to, ListGroupsRequest(), 4).groups == []
    logs = [p.log for p in cluster.broker(0).partitions.values() if p.topic == GROUP_OFFSETS_TOPIC]
    assert [log.log_end_offset for log in logs] == [0] * 4
