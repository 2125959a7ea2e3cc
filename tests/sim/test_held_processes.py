"""A disk whose writes do not return: a process that writes hears of nothing until the disk is healed, or it is dead."""

from __future__ import annotations

import pytest

from highwater_runtime.ports import SECOND, RpcFailure

CALLS = {
    "append": lambda disk, file: file.append(b"more"),
    "pwrite": lambda disk, file: file.pwrite(0, b"more"),
    "truncate": lambda disk, file: file.truncate(1),
    "fsync": lambda disk, file: file.fsync(),
    "create": lambda disk, file: disk.open("other", create=True),
    "mkdir": lambda disk, file: disk.mkdir("folder"),
    "rename": lambda disk, file: disk.rename("f", "g"),
    "unlink": lambda disk, file: disk.unlink("f"),
    "fsync_dir": lambda disk, file: disk.fsync_dir(),
    "fsync_all": lambda disk, file: disk.fsync_all(["f"]),
}
FREE = {
    "read": lambda disk, file: file.read(0, 4),
    "size": lambda disk, file: file.size(),
    "open": lambda disk, file: disk.open("f"),
    "list": lambda disk, file: disk.list(),
    "fsync_later": lambda disk, file: file.fsync_later(lambda _: None),
    "run_later": lambda disk, file: disk.run_later(iter([file.read(0, 4)]), lambda _: None),
}


def writer(toys):
    """Node ``a``, which appends its number to a file at every second, and its order of events; ``b`` talks to it."""
    simulator, cores = toys.cluster("a", "b")
    node, order = cores["a"], []
    file = node.ports.disk.open("f", create=True)

    def write(second):
        file.append(bytes([second]))
        order.append((second, node.ports.clock.now_ns() // SECOND))

    for second in range(1, 6):
        node.ports.clock.call_later(second * SECOND, lambda second=second: write(second))
    return simulator, cores, order


def test_the_first_write_is_done_and_no_event_comes_until_the_disk_is_healed(toys):
    simulator, cores, order = writer(toys)
    simulator.run_until(3 * SECOND // 2)
    simulator.node("a").disk.set_stalled(True, writes=True)
    assert not simulator.node("a").is_held, "it has not written yet"
    cores["b"].send("a", 1, timeout_ns=30 * SECOND)
    simulator.run_until(7 * SECOND // 4)
    assert cores["a"].values_heard == [1]
    simulator.run_until(5 * SECOND // 2)
    assert simulator.node("a").is_held
    assert not simulator.node("a").is_paused
    cores["b"].send("a", 2, timeout_ns=30 * SECOND)
    simulator.run_until(9 * SECOND)
    assert order == [(1, 1), (2, 2)]
    assert cores["a"].values_heard == [1]
    simulator.node("a").disk.heal()
    simulator.run_until(10 * SECOND)
    assert order == [(1, 1), (2, 2), (3, 9), (4, 9), (5, 9)]
    assert [time // SECOND for time, _, _ in cores["a"].heard] == [1, 9]
    assert cores["a"].ports.disk.open("f").read(0, 10) == bytes([1, 2, 3, 4, 5])
    assert not simulator.node("a").is_held


@pytest.mark.parametrize("call", CALLS)
def test_every_change_of_the_disk_waits(toys, call):
    assert held_by(toys, CALLS[call], writes=True)
    assert not held_by(toys, CALLS[call], writes=False), "flushes alone are stalled"


@pytest.mark.parametrize("call", FREE)
def test_what_does_not_wait(toys, call):
    assert not held_by(toys, FREE[call], writes=True)


def held_by(toys, call, *, writes):
    simulator, cores = toys.cluster("a")
    disk = cores["a"].ports.disk
    file = disk.open("f", create=True)
    file.append(b"data")
    simulator.node("a").disk.set_stalled(True, writes=writes)
    cores["a"].ports.clock.call_later(SECOND, lambda: call(disk, file))
    simulator.run_for(2 * SECOND)
    return simulator.node("a").is_held


@pytest.mark.parametrize("first", ["resumed", "healed"])
def test_a_pause_and_a_held_write_must_both_end(toys, first):
    simulator, _, order = writer(toys)
    node = simulator.node("a")
    node.disk.set_stalled(True, writes=True)
    simulator.run_until(3 * SECOND // 2)
    assert node.is_held
    assert simulator.pause("a")
    assert not simulator.pause("a")
    assert (node.is_paused, node.is_held) == (True, False)
    ends = [lambda: simulator.resume("a"), node.disk.heal]
    if first == "healed":
        ends.reverse()
    simulator.run_until(6 * SECOND)
    ends[0]()
    assert (node.is_paused, node.is_held) == (first == "healed", first == "resumed")
    simulator.run_until(7 * SECOND)
    assert order == [(1, 1)]
    ends[1]()
    simulator.run_until(8 * SECOND)
    assert order == [(1, 1), (2, 7), (3, 7), (4, 7), (5, 7)]


def test_it_can_be_held_again_by_what_waited(toys):
    simulator, _, order = writer(toys)
    disk = simulator.node("a").disk
    for until in (5, 6, 7):
        disk.set_stalled(True, writes=True)
        simulator.run_until(until * SECOND)
        disk.set_stalled(False)
        disk.set_stalled(True, writes=True)
    simulator.run_until(8 * SECOND)
    assert order == [(1, 1), (2, 5), (3, 6), (4, 7)]
    disk.set_stalled(True)
    simulator.run_until(9 * SECOND)
    assert order[4:] == [(5, 8)], "flushes alone are stalled now"


@pytest.mark.parametrize("end", ["kill", "power_loss"])
def test_a_dead_process_waits_for_nothing_and_the_next_one_for_its_first_write(toys, end):
    simulator, cores, order = writer(toys)
    simulator.node("a").disk.set_stalled(True, writes=True)
    simulator.run_until(3 * SECOND // 2)
    cores["b"].send("a", 1, timeout_ns=5 * SECOND)
    simulator.run_until(2 * SECOND)
    getattr(simulator, end)("a")
    simulator.run_until(6 * SECOND)
    assert order == [(1, 1)]
    if end == "kill":
        assert cores["b"].outcomes == [(1, RpcFailure.DISCONNECTED)]
    simulator.start("a")
    simulator.run_until(7 * SECOND)
    assert not simulator.node("a").is_held
    cores["a"].ports.clock.call_later(SECOND, lambda: cores["a"].ports.disk.mkdir("folder"))
    cores["a"].ports.clock.call_later(2 * SECOND, lambda: order.append("later"))
    simulator.run_until(10 * SECOND)
    assert simulator.node("a").is_held
    simulator.node("a").disk.heal()
    simulator.run_until(11 * SECOND)
    assert order == [(1, 1), "later"]


def test_jobs_wait_and_do_not_hold_the_event_loop(toys):
    simulator, cores = toys.cluster("a")
    disk, done = cores["a"].ports.disk, []

    def steps():
        disk.open("job", create=True).append(b"data")
        yield
        done.append("step")

    disk.run_later(steps(), done.append)
    simulator.node("a").disk.set_stalled(True, writes=True)
    simulator.run_for(SECOND)
    assert (done, disk.list(), simulator.node("a").is_held) == ([], [], False)
    simulator.node("a").disk.heal()
    simulator.run_for(SECOND)
    assert done == ["step", None]
