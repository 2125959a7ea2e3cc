"""A broker whose write() does not return: its event loop stands still, and its heartbeats go on."""

from __future__ import annotations

from typing import Any

from highwater_runtime.ports.trace import BrokerStateChanged, TransitionTaken


def with_a_held_leader(make_cluster: Any) -> Any:
    """A cluster whose broker 1 leads, and waits for its disk."""
    cluster = make_cluster()
    cluster.create_topic([1, 0])
    cluster.until(lambda: cluster.leads(1))
    cluster.sim.node("broker-1").disk.set_stalled(True, writes=True)
    cluster.send("broker-1", cluster.produce_request(b"value"), 9, lambda _: None)
    cluster.until(lambda: cluster.sim.node("broker-1").is_held)
    return cluster


def test_a_broker_whose_write_blocks_keeps_its_session_unless_all_its_threads_stand_still(make_cluster):
    """Its event loop waits for the disk, and the session is 3 s. Kafka's broker sends heartbeats from a thread."""
    cluster = make_cluster()
    cluster.create_topic([1, 0, 2])
    cluster.until(lambda: cluster.leads(1))
    disk = cluster.sim.node("broker-1").disk
    answers: list[object] = []
    for times in (1, 2):
        cluster.events.clear()
        disk.set_stalled(True, writes=True)
        cluster.send("broker-1", cluster.produce_request(b"value"), 9, answers.append)
        cluster.until(lambda: cluster.sim.node("broker-1").is_held)
        cluster.run(12)
        assert not cluster.broker(0).image.brokers[1].fenced
        disk.heal()
        cluster.until(lambda times=times: len(answers) == times)
        cluster.run(1)
        assert not cluster.of_kind(BrokerStateChanged)
        assert "heartbeats-late" not in [event.reason for _, _, event in cluster.of_kind(TransitionTaken)]
    disk.set_stalled(True, writes=True)
    cluster.send("broker-1", cluster.produce_request(b"value"), 9, answers.append)
    cluster.until(lambda: cluster.sim.node("broker-1").is_held)
    cluster.sim.pause("broker-1")
    cluster.until(lambda: cluster.broker(0).image.brokers[1].fenced)
    cluster.sim.resume("broker-1")
    cluster.until(lambda: not cluster.broker(0).image.brokers[1].fenced)


def test_a_broker_that_leaves_without_leave_loses_its_session_while_its_logs_do_not_close(make_cluster):
    """The controller does not hear that it wants to go. Kafka's thread ends when the time for that is over; were the
    last heartbeat repeated, its partitions would keep a leader that serves nobody."""
    cluster = make_cluster(config={"controlled.shutdown.timeout.ms": 1000})
    cluster.create_topic([1, 0])
    cluster.until(lambda: cluster.leads(1))
    cut = cluster.sim.faults.cut("broker-1", "controller-0")
    cluster.run(1)  # a heartbeat is under way, which does not say so either
    cluster.sim.stop("broker-1", lambda: None)
    cluster.run(0.999)
    cluster.sim.node("broker-1").disk.set_stalled(True, writes=True)
    cluster.until(lambda: cluster.sim.node("broker-1").is_held, 0.1)
    cluster.sim.faults.heal(cut)
    cluster.until(lambda: cluster.broker(0).image.brokers[1].fenced and cluster.leads(0), 6)


def test_heartbeats_that_stop_while_a_write_blocks_are_late_though_earlier_ones_were_answered(make_cluster):
    """The core hears of the answers when the write returns. None of them says that the session lasts until then."""
    cluster = with_a_held_leader(make_cluster)
    cluster.run(12)
    cluster.sim.faults.cut("broker-1", "controller-0")
    cluster.until(lambda: cluster.broker(0).image.brokers[1].fenced)
    cluster.sim.node("broker-1").disk.heal()
    cluster.run(0.1)
    late = [node for _, node, event in cluster.of_kind(TransitionTaken) if event.reason == "heartbeats-late"]
    assert late == ["broker-1"]


def test_a_broker_whose_write_blocks_reaches_a_controller_that_has_started_again(make_cluster):
    """The thread that repeats heartbeats sees its connection break, though the core does not."""
    cluster = with_a_held_leader(make_cluster)
    cluster.run(2)
    cluster.sim.kill("controller-0")
    cluster.sim.start("controller-0")
    cluster.run(12)
    assert cluster.broker(0).image.brokers[1].fenced is False
    cluster.sim.kill("broker-1")
    cluster.until(lambda: cluster.broker(0).image.brokers[1].fenced)
