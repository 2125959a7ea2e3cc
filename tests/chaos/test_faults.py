"""Each fault on a live cluster: it takes hold, there is evidence, it heals, and there is evidence of that too."""

from __future__ import annotations

import pytest

from highwater_chaos.backends.protocol import NodeState
from highwater_chaos.base.process import Sleep
from highwater_chaos.faults import Evidence, FaultRecord, FaultTarget
from highwater_chaos.faults.nodes import NodeDownFault
from highwater_chaos.liveness.availability import healthy_nodes
from highwater_runtime.ports import SECOND
from highwater_runtime.sim.simulator import Simulator


def healed(harness, record):
    harness.heal_all()
    assert record.confirmed, record.inconclusive_reason()
    assert record.healed, record.inconclusive_reason()
    assert record.inconclusive_reason() is None
    assert record.injected_ns <= record.heal_started_ns <= record.healed_ns
    harness.run(iter_heal(harness))  # healing once more is harmless


def iter_heal(harness):
    yield from harness.faults.heal_all()


def test_power_loss(harness):
    record = harness.inject(powerLoss={"target": {"broker": 1}, "keep": "none"})
    assert harness.backend.state("broker-1") is NodeState.DOWN
    assert harness.view.nodes["broker-1"].last_stop_reason == "power-loss"
    assert any("lostBytes" in item.data for item in record.inject_evidence)
    assert record.targets == ("broker-1",)
    healed(harness, record)
    assert harness.backend.incarnation("broker-1") == 2
    assert harness.until(lambda: harness.view.is_unfenced(1))


def test_power_loss_with_wipe(harness):
    record = harness.inject(powerLoss={"target": {"broker": 1}, "wipe": True, "restartAfter": "2s"})
    assert harness.backend.disk_is_empty("broker-1")
    assert any("empty" in item.what for item in record.inject_evidence)
    assert harness.until(lambda: record.healed_ns is not None, seconds=5), "it restarts by itself"
    assert record.healed_ns - record.started_ns == pytest.approx(2 * SECOND, rel=0.1)
    assert record.inconclusive_reason() is None


def test_power_loss_at_a_write(busy_harness):
    disk = busy_harness.backend.simulator.node("broker-1").disk
    before = disk.operations
    record = busy_harness.inject(powerLoss={"target": {"broker": 1}, "keep": "none", "atWrite": 30})
    assert disk.operations == before + 30, "it did not live to see the last one"
    assert busy_harness.view.nodes["broker-1"].last_stop_reason == "power-loss"
    assert [item.data["keep"] for item in record.inject_evidence if "lostBytes" in item.data] == ["none"]
    healed(busy_harness, record)


def test_a_power_loss_whose_write_does_not_come_is_forgotten(harness):
    record = harness.inject(powerLoss={"target": {"broker": 1}, "atWrite": 1_000_000})
    harness.heal_all()
    assert not record.confirmed
    assert "has not come to the write" in record.inconclusive_reason()
    assert not harness.backend.simulator.node("broker-1").disk.armed
    assert harness.backend.incarnation("broker-1") == 1


@pytest.mark.parametrize("kind", ["kill", "stop"])
def test_kill_and_stop(harness, kind):
    record = harness.inject(**{kind: {"target": {"isrOf": "orders-0"}}})
    assert record.targets == ("broker-0", "broker-1")
    assert [harness.view.nodes[node].last_stop_reason for node in record.targets] == [kind, kind]
    healed(harness, record)
    assert harness.until(harness.all_unfenced)


def test_a_kill_of_what_is_dead_already_did_not_happen(harness):
    harness.inject(powerLoss={"target": {"broker": 2}})
    record = harness.inject(kill={"target": {"broker": 2}})
    assert not record.confirmed
    assert "never took hold" in record.inconclusive_reason()


def test_rolling_restart_waits_for_each_to_be_in_sync_again(busy_harness):
    harness = busy_harness
    record = harness.inject(restart={"target": {"all": "brokers"}})
    assert record.confirmed, record.inconclusive_reason()
    assert [harness.backend.incarnation(f"broker-{i}") for i in range(3)] == [2, 2, 2]
    assert sorted(harness.view.partitions["orders-0"].isr) == [0, 1]
    assert harness.until(lambda: record.healed_ns is not None, seconds=5)


def test_disk_wipe(harness):
    record = harness.inject(diskWipe={"target": {"broker": 1}})
    assert harness.backend.disk_is_empty("broker-1")
    healed(harness, record)


@pytest.mark.parametrize(("kind", "probe"), [("diskFull", "ENOSPC"), ("diskError", "EIO"), ("diskStall", "stalled")])
def test_failing_disks_are_seen_by_a_probe(busy_harness, kind, probe):
    harness = busy_harness
    record = harness.inject(**{kind: {"target": {"broker": 1}}})
    assert record.confirmed, record.inconclusive_reason()
    assert record.inject_evidence[0].data["probe"] == probe
    healed(harness, record)
    assert record.heal_evidence[0].data["probe"] == "ok"
    assert harness.until(harness.all_unfenced)
    healthy = healthy_nodes(harness.cluster, harness.view, harness.backend.state, harness.faults.records)
    assert "broker-1" in healthy, "it owes what every broker owes"


def test_a_disk_whose_writes_block_holds_its_node_until_it_is_healed(busy_harness):
    harness = busy_harness
    node = harness.backend.simulator.node("broker-0")
    record = harness.inject(diskStall={"target": {"leaderOf": "orders-0"}, "writes": True})
    assert record.confirmed, record.inconclusive_reason()
    assert record.inject_evidence[0].data["probe"] == "blocked"
    assert harness.until(lambda: node.is_held, seconds=5), "it leads, so it writes"
    assert harness.backend.state("broker-0") is NodeState.UP
    before = harness.clients.acknowledged
    harness.pass_time(1)
    assert harness.clients.acknowledged == before
    healed(harness, record)
    assert record.heal_evidence[-1].data["probe"] == "ok"
    assert harness.until(lambda: harness.all_unfenced() and harness.clients.acknowledged > before + 10)


PROCESS_FAULTS = ("kill", "stop", "restart", "pause", "powerLoss", "diskWipe")


@pytest.mark.parametrize("kind", PROCESS_FAULTS)
def test_no_signal_is_sent_to_a_process_that_waits_for_its_disk(harness, kind):
    """On a real machine it would neither stop nor end."""
    stalled = harness.inject(name="stalled", diskStall={"target": {"broker": 1}, "writes": True})
    refused = harness.inject(**{kind: {"target": {"all": "brokers"}}})
    assert "the process of broker-1 waits for its disk, where no signal" in refused.inconclusive_reason()
    assert "until fault-1 (stalled) is healed" in refused.inconclusive_reason()
    assert refused.intent == [], "nothing was done"
    assert harness.inject(**{kind: {"target": {"broker": 2}}}).confirmed
    harness.heal_all()
    assert harness.until(harness.all_unfenced)
    assert harness.backend.incarnation("broker-1") == 1
    assert stalled.inconclusive_reason() is None
    assert harness.inject(**{kind: {"target": {"broker": 1}}}).confirmed


def test_flushes_alone_keep_no_signal_from_a_process(harness):
    harness.inject(diskStall={"target": {"broker": 1}})
    assert harness.faults.hits_now("broker-1"), "random leaves it alone"
    assert not harness.faults.hits_now("broker-1", loses_cache=True), "but for what loses what was not flushed"
    assert harness.inject(kill={"target": {"broker": 1}}).confirmed


def test_random_leaves_a_process_alone_that_waits_for_its_disk(harness):
    harness.inject(diskStall={"target": {"broker": 1}, "writes": True})
    assert harness.faults.hits_now("broker-1", loses_cache=True)


def test_writes_of_a_node_that_is_down_do_not_block(harness):
    harness.inject(kill={"target": {"broker": 1}})
    refused = harness.inject(diskStall={"target": {"broker": 1}, "writes": True})
    assert "broker-1 is down: it has no process to hold up" in refused.inconclusive_reason()
    assert refused.intent == []
    assert harness.backend.disk_probe("broker-1") == "waiting"


def test_no_power_loss_brings_a_file_of_a_probe_back(harness):
    harness.inject(kill={"target": {"broker": 1}})
    disk = harness.backend.simulator.nodes["broker-1"].disk
    names = {*disk.list()}
    for _ in range(20):
        harness.backend.disk_probe("broker-1")
        disk.power_loss("torn")
        assert {*disk.list()} <= names


def test_pause(harness):
    record = harness.inject(pause={"target": {"leaderOf": "orders-0"}})
    assert harness.backend.state("broker-0") is NodeState.PAUSED
    assert harness.until(lambda: not harness.view.is_unfenced(0)), "its session expires"
    healed(harness, record)
    assert harness.until(harness.all_unfenced)


def test_a_pause_of_what_is_down_did_not_happen(harness):
    harness.inject(kill={"target": {"broker": 2}})
    record = harness.inject(pause={"target": {"broker": 2}})
    assert "never took hold" in record.inconclusive_reason()


def test_session_expiry_is_seen_expired_while_the_broker_lives(harness):
    record = harness.inject(sessionExpiry={"target": {"broker": 1}})
    assert harness.backend.state("broker-1") is NodeState.UP
    assert harness.view.brokers[1].fenced
    assert record.inject_evidence[0].what == "the session of broker-1 was seen expired"
    assert record.injected_ns - record.started_ns >= 2 * SECOND, "no sooner than the session time-out allows"
    healed(harness, record)
    assert harness.until(lambda: harness.view.is_unfenced(1))


def test_a_controller_has_no_broker_session(harness):
    record = harness.inject(sessionExpiry={"target": {"controller": 0}})
    assert "no broker session" in record.inconclusive_reason()


def test_a_fenced_broker_has_no_session_to_lose(harness):
    harness.inject(sessionExpiry={"target": {"broker": 1}})
    record = harness.inject(sessionExpiry={"target": {"broker": 1}})
    assert "no session to lose" in record.inconclusive_reason()


def test_partition_between_cuts_both_ways_and_nothing_else(harness):
    record = harness.inject(partition={"between": [{"broker": 0}, [{"broker": 1}, {"broker": 2}]]})
    reachable = harness.backend.reachable
    assert not reachable("broker-0", "broker-1")
    assert not reachable("broker-2", "broker-0")
    assert reachable("broker-1", "broker-2")
    assert reachable("broker-0", "controller-0")
    assert len(record.inject_evidence) == 4
    healed(harness, record)
    assert reachable("broker-0", "broker-1")


@pytest.mark.parametrize(("direction", "there", "back"), [("aToB", False, True), ("bToA", True, False)])
def test_partition_one_way(harness, direction, there, back):
    record = harness.inject(partition={"between": [{"broker": 0}, {"broker": 1}], "direction": direction})
    assert harness.backend.reachable("broker-0", "broker-1") is there
    assert harness.backend.reachable("broker-1", "broker-0") is back
    healed(harness, record)


def test_isolate_cuts_from_all_others_but_not_from_clients(harness):
    record = harness.inject(partition={"isolate": {"activeController": True}})
    (node,) = [name for name in record.targets if name.startswith("controller")]
    assert len(record.inject_evidence) == 10
    assert harness.backend.reachable("admin-0", node)
    healed(harness, record)


@pytest.mark.parametrize(("shape", "links"), [("halves", 18), ("bridge", 12), ("majoritiesRing", 6)])
def test_shapes(harness, shape, links):
    record = harness.inject(partition={"shape": shape})
    assert len(record.inject_evidence) == links
    if shape == "majoritiesRing":
        for node in record.targets:
            cut = {item.data["destination"] for item in record.inject_evidence if item.data["source"] == node}
            assert len(cut) < 3, "each of six sees at least four, itself included"
    healed(harness, record)


def test_a_node_on_both_sides_is_refused(harness):
    record = harness.inject(partition={"between": [{"broker": 0}, {"leaderOf": "orders-0"}]})
    assert "both sides" in record.inconclusive_reason()
    assert harness.faults.active == []


def test_a_cut_that_another_fault_holds_stays_cut(harness):
    harness.inject(name="one", partition={"between": [{"broker": 0}, {"broker": 1}]})
    harness.inject(name="two", partition={"isolate": {"broker": 0}})
    harness.run(harness.faults.heal("one"))
    assert not harness.backend.reachable("broker-0", "broker-1")
    harness.run(harness.faults.heal("two"))
    assert harness.backend.reachable("broker-0", "broker-1")
    assert [record.inconclusive_reason() for record in harness.faults.records] == [None, None]


@pytest.mark.parametrize("kind", ["hold", "drop", "delay", "duplicate"])
def test_message_faults_are_confirmed_by_what_they_catch(harness, kind):
    fault = {"rpc": "BrokerHeartbeat", "from": {"broker": 1}}
    record = harness.inject(name="mute", **{kind: {**fault, "by": "50ms"} if kind == "delay" else fault})
    assert harness.until(lambda: harness.faults.caught("mute") >= 2)
    healed(harness, record)
    assert harness.faults.caught("mute") >= 2, "the count outlives the fault"
    assert record.inject_evidence[0].data["caught"] >= 2


def test_what_counts_is_what_the_latest_fault_of_a_name_has_caught(harness):
    harness.inject(name="mute", drop={"rpc": "BrokerHeartbeat", "from": {"broker": 1}})
    assert harness.until(lambda: harness.faults.caught("mute") >= 1)
    harness.heal_all()
    harness.inject(name="mute", drop={"rpc": "AlterPartition", "from": {"broker": 1}})
    assert harness.faults.caught("mute") == 0


def test_responses_can_be_caught_too(harness):
    record = harness.inject(name="deaf", drop={"rpc": "BrokerHeartbeat", "from": {"broker": 1}, "of": "response"})
    assert harness.until(lambda: harness.faults.caught("deaf") >= 1)
    healed(harness, record)


def test_a_message_fault_that_caught_nothing_never_took_hold(harness):
    record = harness.inject(hold={"rpc": "AlterPartition"})
    harness.pass_time(2)
    harness.heal_all()
    assert "never took hold" in record.inconclusive_reason()
    assert "caught 0" in record.inconclusive_reason()


def test_clock_skew(harness):
    record = harness.inject(clockSkew={"target": {"broker": 1}, "rate": 1.1, "offset": "30s"})
    offset, rate = harness.backend.clock_error("broker-1")
    assert rate == pytest.approx(1.1)
    assert offset >= 30 * SECOND
    harness.pass_time(5)
    healed(harness, record)
    assert harness.backend.clock_error("broker-1") == (0, 1.0)


@pytest.mark.parametrize("skew", [{"offset": "1ms"}, {"offset": "800ms"}, {"offset": "3s"}, {"rate": 1.01}])
def test_a_skew_that_does_nothing_is_not_confirmed(harness, monkeypatch, skew):
    """However small it was to be: a right clock is no evidence."""
    monkeypatch.setattr(Simulator, "set_clock", lambda *_, **__: None)
    record = harness.inject(clockSkew={"target": {"broker": 1}, **skew})
    assert not record.confirmed
    assert "never took hold" in record.inconclusive_reason()


@pytest.mark.parametrize("skew", [{"offset": "1ms"}, {"offset": "800ms"}, {"offset": "1ms", "rate": 2}])
def test_a_small_skew_is_confirmed(harness, skew):
    record = harness.inject(clockSkew={"target": {"broker": 1}, **skew})
    healed(harness, record)


def test_a_skew_of_nothing_did_not_happen(harness):
    record = harness.inject(clockSkew={"target": {"broker": 1}})
    assert "never took hold" in record.inconclusive_reason()


def test_a_target_that_names_nobody_is_an_error_of_the_fault(harness):
    record = harness.inject(kill={"target": {"lastIsrOf": "orders-0"}})
    assert "not a single replica" in record.inconclusive_reason()
    assert harness.faults.active == []


def test_a_fault_without_heal_is_a_doubt(harness):
    record = harness.inject(kill={"target": {"broker": 2}})
    assert "not known to be healed" in record.inconclusive_reason()


def test_a_node_that_needs_minutes_to_start_is_seen_when_it_has_started(harness, monkeypatch):
    """Nobody is fooled meanwhile, and no later heal waits for it again."""
    started = []
    monkeypatch.setattr(harness.backend, "start", started.append)
    late = harness.inject(kill={"target": {"broker": 2}, "restartAfter": "1s"})
    harness.pass_time(100)
    assert (started, late.healed) == (["broker-2"], False)
    monkeypatch.undo()
    cut = harness.inject(name="cut", partition={"between": [{"broker": 0}, {"broker": 1}]})
    began = harness.backend.now_ns()
    harness.run(harness.faults.heal("cut"))
    assert (cut.healed, late.healed) == (True, False)
    assert harness.backend.now_ns() - began < 5 * SECOND
    harness.backend.start("broker-2")
    harness.pass_time(1)
    assert not late.healed
    harness.faults.look_once_more()
    assert late.healed
    assert late.inconclusive_reason() is None


def test_a_fault_whose_time_ends_while_all_are_healed_is_healed_once(harness, monkeypatch):
    heal, began = NodeDownFault.heal, []

    def slowly(self, context):
        began.append(context.record.id)
        yield Sleep(2 * SECOND)
        yield from heal(self, context)

    monkeypatch.setattr(NodeDownFault, "heal", slowly)
    record = harness.inject(kill={"target": {"broker": 2}, "restartAfter": "5s"})
    harness.pass_time(4)
    harness.run(harness.faults.heal_all())
    assert began == [record.id]
    assert record.inconclusive_reason() is None


def test_no_evidence_is_no_evidence():
    record = FaultRecord("fault-1", None, "kill", {}, healed_ns=2, injected_ns=1)
    assert not record.confirmed
    assert not record.healed
    one, two = (FaultTarget("node", name, (name,)) for name in ("broker-1", "broker-2"))
    record.intent = [one, two]
    record.inject_evidence = [Evidence(1, "down", True, {}, "broker-1")]
    assert not record.confirmed, "nobody looked at broker-2"
    record.heal_evidence = [Evidence(2, "up", True, {}, "broker-1"), Evidence(2, "down", False, {}, "broker-2")]
    assert [touch.name for touch in record.unhealed] == ["broker-2"]
    record.heal_evidence.append(Evidence(3, "up", True, {}, "broker-2"))
    assert record.healed, "the last look counts"


def test_records_become_rows(harness):
    record = harness.inject(name="cut", **{"for": "1s"}, partition={"isolate": {"broker": 1}})
    harness.pass_time(3)
    row = record.to_dict()
    assert (row["name"], row["kind"], row["confirmed"], row["healed"]) == ("cut", "partition", True, True)
    assert row["deadline_ns"] - row["started_ns"] == SECOND
    assert row["injected_ns"] < row["healed_ns"]
    assert row["parameters"]["isolate"] == {"broker": 1}
    assert {"time_ns", "what", "ok", "data"} <= set(row["evidence"]["inject"][0])


CLOCK, FULL, STALL = "clockSkew", "diskFull", "diskStall"


@pytest.mark.parametrize(("first", "second"), [(CLOCK, CLOCK), (STALL, FULL), (FULL, FULL)])
def test_a_fault_that_would_end_with_another_of_its_node_did_not_happen(harness, first, second):
    """A clock is set right, and a disk is mended, as a whole: one heal would end both."""
    more = {CLOCK: {"offset": "5s"}}
    before = harness.inject(name="before", **{first: {"target": {"broker": 1}, **more.get(first, {})}})
    refused = harness.inject(**{second: {"target": {"all": "brokers"}, **more.get(second, {})}})
    assert "fault-1 (before) is in force on broker-1" in refused.inconclusive_reason()
    assert refused.intent == [], "nothing was done"
    assert before.heal_started_ns is None
    healed(harness, before)
    harness.until(harness.all_unfenced)
    healed(harness, harness.inject(**{second: {"target": {"broker": 1}, **more.get(second, {})}}))


def test_faults_of_different_parts_of_a_node_do_not_end_each_other(harness):
    skewed = harness.inject(clockSkew={"target": {"broker": 1}, "offset": "5s"})
    stalled = harness.inject(diskStall={"target": {"broker": 1}})
    assert stalled.confirmed
    healed(harness, stalled)
    healed(harness, skewed)
