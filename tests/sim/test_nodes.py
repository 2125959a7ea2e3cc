"""Processes and machines: start, kill, pause, crash, power."""

from __future__ import annotations

import errno
import json

import pytest

from highwater_runtime.ports import MS, SECOND, NodeHaltError, RpcFailure
from highwater_runtime.sim import LivelockError, SimulationError, loop


def life_of(simulator):
    """(kind, node, incarnation, reason) of the host's own events."""
    events = [json.loads(line) for line in simulator.trace.node_lines]
    return [(event["kind"], event["node"], event["incarnation"], event.get("reason")) for event in events]


def test_a_killed_process_is_gone_with_its_timers_and_keeps_its_page_cache(toys):
    simulator, cores = toys.cluster("a")
    fired = []
    cores["a"].ports.clock.call_later(SECOND, lambda: fired.append(1))
    cores["a"].ports.disk.open("f", create=True).append(b"unsynced")
    assert simulator.kill("a")
    assert not simulator.kill("a")
    simulator.run_for(2 * SECOND)
    assert fired == []
    assert simulator.node("a").core is None
    simulator.start("a")
    simulator.run_for(0)
    assert cores["a"].ports.disk.open("f").read(0, 100) == b"unsynced"
    assert life_of(simulator) == [
        ("node-started", "a", 1, None),
        ("node-stopped", "a", 1, "kill"),
        ("node-started", "a", 2, None),
    ]


def test_a_power_loss_takes_the_page_cache_and_says_how_much(toys):
    simulator, cores = toys.cluster("a")
    disk = cores["a"].ports.disk
    file = disk.open("f", create=True)
    file.append(b"synced")
    file.fsync()
    disk.fsync_dir()
    file.append(b"not")
    disk.open("nameless", create=True).append(b"12345")
    evidence = simulator.power_loss("a", "none")
    assert evidence.keep == "none"
    assert evidence.unsynced_bytes == evidence.bytes_lost == 8
    assert evidence.files_lost == ("nameless",)
    assert not simulator.node("a").powered
    simulator.start("a")
    simulator.run_for(0)
    assert cores["a"].ports.disk.list() == ["f"]
    assert cores["a"].ports.disk.open("f").read(0, 100) == b"synced"
    assert simulator.node("a").power_losses == [evidence]
    assert b'"kind":"node-stopped","reason":"power-loss","offset":8}' in simulator.trace.node_lines[1]


def test_a_wiped_machine_comes_back_empty(toys):
    simulator, cores = toys.cluster("a")
    file = cores["a"].ports.disk.open("f", create=True)
    file.append(b"synced")
    file.fsync()
    cores["a"].ports.disk.fsync_dir()
    evidence = simulator.power_loss("a", "all", wipe=True)
    assert (evidence.wiped, evidence.bytes_lost, evidence.files_lost) == (True, 6, ("f",))
    simulator.start("a")
    simulator.run_for(0)
    assert cores["a"].ports.disk.list() == []


def test_a_running_disk_is_not_replaced(toys):
    simulator, cores = toys.cluster("a")
    cores["a"].ports.disk.open("f", create=True).append(b"123")
    with pytest.raises(ValueError, match="a runs"):
        simulator.wipe("a")
    simulator.kill("a")
    assert simulator.wipe("a") == 3
    assert simulator.node("a").disk.used_bytes() == 0


def test_a_clean_stop_ends_the_process_when_the_core_says_so(toys):
    simulator, cores = toys.cluster("a", "b")
    stopped, pending = [], []
    cores["a"].on_stop = pending.append
    simulator.stop("a", lambda: stopped.append(simulator.now_ns))
    simulator.run_for(SECOND)
    assert stopped == []
    assert simulator.node("a").is_alive
    pending[0]()
    simulator.run_for(SECOND)
    assert stopped == [SECOND]
    assert not simulator.node("a").is_alive
    assert life_of(simulator)[-1] == ("node-stopped", "a", 1, "stop")


def test_a_process_killed_while_it_stops_never_reports(toys):
    simulator, cores = toys.cluster("a")
    stopped, pending = [], []
    cores["a"].on_stop = pending.append
    simulator.stop("a", lambda: stopped.append(1))
    simulator.run_for(SECOND)
    pending[0]()
    simulator.kill("a")
    simulator.start("a")
    simulator.run_for(SECOND)
    assert stopped == []
    assert simulator.node("a").is_alive


def test_a_paused_process_catches_up_in_order(toys):
    simulator, cores = toys.cluster("a", "b")
    order = []
    cores["b"].ports.clock.call_later(2 * SECOND, lambda: order.append(("timer", cores["b"].ports.clock.now_ns())))
    cores["b"].on_request = lambda request: order.append((request.body.value, cores["b"].ports.clock.now_ns()))
    assert simulator.pause("b")
    assert not simulator.pause("b")
    cores["a"].send("b", 1, timeout_ns=30 * SECOND)
    cores["a"].send("b", 2, timeout_ns=30 * SECOND)
    simulator.run_until(3 * SECOND)
    cores["a"].send("b", 3, timeout_ns=30 * SECOND)
    simulator.run_until(5 * SECOND)
    assert order == []
    assert simulator.resume("b")
    assert not simulator.resume("b")
    simulator.run_for(SECOND)
    assert order == [(1, 5 * SECOND), (2, 5 * SECOND), ("timer", 5 * SECOND), (3, 5 * SECOND)]


def test_what_comes_at_the_very_moment_of_the_resume_waits_its_turn(toys):
    simulator, cores = toys.cluster("a")
    order = []
    clock = cores["a"].ports.clock
    for index in range(3):
        clock.call_later(SECOND, lambda index=index: order.append(index))
    simulator.call_at(2 * SECOND, lambda: simulator.resume("a"))
    clock.call_later(2 * SECOND, lambda: order.append("late"))
    simulator.pause("a")
    simulator.run_until(3 * SECOND)
    assert order == [0, 1, 2, "late"]


def test_a_process_paused_again_keeps_what_it_has_not_seen(toys):
    simulator, cores = toys.cluster("a")
    order = []
    clock = cores["a"].ports.clock
    clock.call_later(SECOND, lambda: (order.append(1), simulator.pause("a")))
    clock.call_later(SECOND, lambda: order.append(2))
    simulator.pause("a")
    simulator.run_until(2 * SECOND)
    simulator.resume("a")
    simulator.run_until(3 * SECOND)
    assert order == [1]
    simulator.resume("a")
    simulator.run_until(4 * SECOND)
    assert order == [1, 2]


def test_a_paused_client_times_out_late_but_hears_earlier_responses(toys):
    simulator, cores = toys.cluster("a", "b")
    cores["a"].send("b", 1, timeout_ns=SECOND)
    simulator.pause("a")
    simulator.run_for(5 * SECOND)
    assert cores["a"].results == []
    simulator.resume("a")
    simulator.run_for(SECOND)
    assert cores["a"].results == [(5 * SECOND, 1, 1001)]


def test_a_response_that_comes_to_a_paused_client_after_its_deadline_is_too_late(toys):
    simulator, cores = toys.cluster("a", "b")
    cores["b"].answers = False
    cores["a"].send("b", 1, timeout_ns=SECOND)
    simulator.run_for(SECOND // 2)
    simulator.pause("a")
    simulator.run_until(2 * SECOND)
    cores["b"].requests[0].reply(toys.EchoAnswer(1001))
    simulator.run_until(3 * SECOND)
    simulator.resume("a")
    simulator.run_for(SECOND)
    assert cores["a"].results == [(3 * SECOND, 1, RpcFailure.TIMED_OUT)]


def test_a_paused_process_can_be_killed(toys):
    simulator, cores = toys.cluster("a", "b")
    simulator.pause("b")
    cores["a"].send("b", 1, timeout_ns=30 * SECOND)
    simulator.run_for(SECOND)
    simulator.kill("b")
    simulator.run_for(SECOND)
    assert cores["a"].outcomes == [(1, RpcFailure.DISCONNECTED)]
    assert cores["b"].heard == []


@pytest.mark.parametrize("moment", ["boot", "timer", "fsync"])
def test_a_failing_disk_crashes_the_node(toys, moment):
    def configure(_, core):
        if moment == "boot":
            core.on_start = lambda core: core.ports.disk.open("f", create=True)

    simulator, cores = toys.cluster("b", configure=configure)
    disk = simulator.node("b").disk
    if moment == "boot":
        simulator.kill("b")
        disk.wipe()
        disk.set_errors("writes")
        simulator.start("b")
    else:
        file = cores["b"].ports.disk.open("f", create=True)
        disk.set_errors("all")

        def fail(error):
            raise error

        if moment == "timer":
            cores["b"].ports.clock.call_later(1, lambda: file.append(b"x"))
        else:
            file.fsync_later(fail)
    simulator.run_for(SECOND)
    assert [(crash.node, crash.reason, crash.error.errno) for crash in simulator.crashes] == [
        ("b", "disk-error", errno.EIO)
    ]
    assert not simulator.node("b").is_alive
    assert life_of(simulator)[-1][3] == "crash"
    assert disk.fault_hits == 1
    disk.heal()
    simulator.start("b")
    simulator.run_for(SECOND)
    assert simulator.node("b").is_alive


def test_any_other_exception_of_a_core_is_a_bug(toys):
    for error in (KeyError("x"), AssertionError("invariant"), FileNotFoundError(errno.ENOENT, "gone")):
        simulator, cores = toys.cluster("a")

        def broken(error=error):
            raise error

        cores["a"].ports.clock.call_later(5 * MS, broken)
        with pytest.raises(SimulationError) as caught:
            simulator.run_for(SECOND)
        bug = caught.value
        assert (bug.node, bug.incarnation, bug.time_ns, bug.event, bug.error) == ("a", 1, 5 * MS, "fire", error)
        assert bug.__cause__ is error
        assert simulator.errors == [bug]


def toy_under_test(toys, name="under-test", prepare=lambda core: None, **options):
    """A cluster of one toy that must go on, and one under test; returns the simulator and the cores by name."""
    simulator, cores = toys.cluster("other", **options)

    def build(ports):
        core = cores[name] = toys.Node(ports)
        prepare(core)
        return core

    simulator.add_node(name, 9092, build, exceptions_are_findings=True)
    simulator.start(name)
    simulator.run_for(MS)
    return simulator, cores


@pytest.mark.parametrize("error", [KeyError("x"), AssertionError("invariant"), NodeHaltError("a vote was forgotten")])
def test_an_exception_of_a_node_under_test_ends_that_node_alone(toys, error):
    simulator, cores = toy_under_test(toys)

    def broken():
        cores["under-test"].ports.disk.open("f", create=True).append(b"kept")
        raise error

    cores["under-test"].ports.clock.call_later(5 * MS, broken)
    simulator.run_for(SECOND)
    assert not simulator.node("under-test").is_alive
    assert simulator.node("other").is_alive
    crashed, stopped = [json.loads(line) for line in simulator.trace.node_lines[-2:]]
    assert (crashed["kind"], crashed["node"], crashed["incarnation"]) == ("node-crashed", "under-test", 1)
    assert crashed["reason"].startswith(f"{type(error).__name__}: {error}")
    assert 'File "tests/sim/test_nodes.py"' in crashed["stack"]
    assert "in broken" in crashed["stack"]
    assert (stopped["kind"], stopped["reason"]) == ("node-stopped", "crash")
    cores["other"].send("under-test", 1)
    simulator.run_for(SECOND)
    assert cores["other"].outcomes == [(1, RpcFailure.DISCONNECTED)], "nobody starts it again by itself"
    simulator.start("under-test")
    simulator.run_for(SECOND)
    assert cores["under-test"].ports.disk.open("f").read(0, 9) == b"kept", "the page cache outlives a process"


def test_the_same_crash_is_the_same_bytes(toys):
    def digest():
        simulator, cores = toy_under_test(toys)

        def broken():
            raise KeyError(object())  # its repr has an address

        cores["under-test"].ports.clock.call_later(MS, broken)
        simulator.run_for(SECOND)
        return simulator.digest()

    assert digest() == digest()


def test_a_node_that_fails_when_it_starts_has_crashed(toys):
    def fail(core):
        core.on_start = lambda _: {}["planted"]

    simulator, _ = toy_under_test(toys, prepare=fail)
    assert not simulator.node("under-test").is_alive
    assert [crash.reason for crash in simulator.crashes] == ["exception"]


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(loop, "MAX_EVENTS_AT_ONCE", 5_000)


def spin(core, step_ns=0):
    core.ports.clock.call_later(step_ns, lambda: spin(core, step_ns))


@pytest.mark.parametrize("step_ns", [0, 1, 1000], ids=["not at all", "by 1 ns an event", "by 1 µs an event"])
def test_a_node_that_keeps_time_from_advancing_has_crashed(toys, impatient, step_ns):
    simulator, cores = toy_under_test(toys)
    spin(cores["under-test"], step_ns)
    simulator.run_for(SECOND)
    assert simulator.now_ns == MS + SECOND
    crashed = json.loads(simulator.trace.node_lines[-2])
    assert (crashed["kind"], crashed["node"]) == ("node-crashed", "under-test")
    assert "livelock at 0.0" in crashed["reason"]
    assert "under-test ran 1000 of the last 1000: fire spin.<locals>.<lambda> (1000)" in crashed["reason"]
    assert simulator.node("other").is_alive


def test_a_client_or_a_harness_that_keeps_time_from_advancing_ends_the_run(toys, impatient):
    simulator, cores = toys.cluster("client")
    spin(cores["client"])
    with pytest.raises(SimulationError, match=r"client .* raised LivelockError"):
        simulator.run_for(SECOND)

    def again():
        simulator.call_later(0, again)

    simulator, _ = toys.cluster("a")
    again()
    with pytest.raises(LivelockError, match="the harness ran 1000 of the last 1000"):
        simulator.run_for(SECOND)


def test_many_events_at_one_instant_are_no_livelock(toys, impatient):
    """As when a node goes on that had been paused for long."""
    simulator, cores = toys.cluster("a")
    ran = []
    for _ in range(5_500):
        cores["a"].ports.clock.call_later(0, lambda: ran.append(1))
    simulator.run_for(SECOND)
    for _ in range(5_700):
        cores["a"].ports.clock.call_later(0, lambda: ran.append(1))
    simulator.run_for(SECOND)
    assert len(ran) == 5_500 + 5_700


def test_many_events_in_a_long_time_are_no_livelock(toys, impatient):
    """Forty thousand events, at nearly the density that is too much."""
    simulator, cores = toys.cluster("a")
    spin(cores["a"], loop.SPAN_NS // 4_000)
    simulator.run_for(10 * loop.SPAN_NS)
    assert simulator.node("a").is_alive
    assert simulator.loop.events_run > 40_000


def test_what_the_harness_raises_is_not_blamed_on_a_node(toys):
    simulator, cores = toys.cluster("a")
    cores["a"].ports.clock.call_later(1, lambda: None)

    def broken():
        raise KeyError("harness")

    simulator.call_later(2, broken)
    with pytest.raises(KeyError, match="harness"):
        simulator.run_for(SECOND)


def test_a_planned_power_cut_ends_the_node_in_mid_step(toys):
    simulator, cores = toys.cluster("a")
    node = simulator.node("a")
    node.keep_at_power_cut = "all"
    steps = []

    def save():
        file = cores["a"].ports.disk.open("f", create=True)
        steps.append("open")
        file.append(b"1")
        steps.append("append")
        file.append(b"2")
        steps.append("never")

    cores["a"].ports.clock.call_later(1, save)
    node.disk.cut_power_at(3)
    simulator.run_for(SECOND)
    assert steps == ["open", "append"]
    assert not node.powered
    simulator.start("a")
    simulator.run_for(SECOND)
    assert cores["a"].ports.disk.open("f").read(0, 10) == b"1"


def test_randomness_follows_seed_name_and_incarnation_alone(toys):
    def draws(seed, names):
        simulator, cores = toys.cluster(*names, seed=seed)
        first = cores["a"].ports.random.random()
        simulator.kill("a")
        simulator.start("a")
        simulator.run_for(0)
        return first, cores["a"].ports.random.random(), cores["b"].ports.random.random()

    assert draws(1, "ab") == draws(1, "ba")
    assert len({*draws(1, "ab"), *draws(2, "ab")}) == 6


def test_a_node_without_disk_may_not_use_one(toys):
    simulator, _ = toys.cluster("a")

    def build(ports):
        core = toys.Node(ports)
        core.on_start = lambda core: core.ports.disk.exists("f")
        return core

    simulator.add_node("client", 1, build, disk=False)
    simulator.start("client")
    with pytest.raises(SimulationError, match="client has no disk"):
        simulator.run_for(1)


def test_misuse_is_refused(toys):
    simulator, _ = toys.cluster("a")
    with pytest.raises(ValueError, match="runs already"):
        simulator.start("a")
    with pytest.raises(ValueError, match="there is a node 'a'"):
        simulator.add_node("a", 1, toys.Node)
    with pytest.raises(ValueError, match="no node 'z'; there are a"):
        simulator.kill("z")
    simulator.kill("a")
    with pytest.raises(ValueError, match="does not run"):
        simulator.stop("a")
