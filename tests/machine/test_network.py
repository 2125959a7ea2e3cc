"""Namespaces and one-way cuts: what gets through is seen by datagrams, what does not by the rule's counter."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.faults.cuts import Cut
from highwater_chaos.machine.network.namespaces import Namespace, enter_namespace, in_namespace, in_thread, marked_for

pytestmark = pytest.mark.whole_machine

SOON = 0.3
"""Seconds for a datagram that must not arrive; one that must has far longer."""


def links() -> set[str]:
    return {name for _, name in socket.if_nameindex()}


def test_everybody_reaches_everybody_and_nothing_shows_outside(machine: Any) -> None:
    before = links()
    with machine.network("a", "b") as reach:
        names = ("net", "a", "b")
        assert all(reach.reaches(source, destination, 10) for source in names for destination in names)
    assert links() == before
    assert in_namespace(machine.run.name("a"), links) == {"lo", "eth0"}


def test_a_cut_is_one_way_and_counts(machine: Any) -> None:
    with machine.network("a", "b") as reach:
        held = machine.run.make(Cut(machine.run.name("b"), "10.77.1.1"))
        arrived = []
        assert held.resource.counts(lambda: arrived.append(reach.reaches("a", "b", SOON)), 60) > 0
        assert arrived == [False]
        assert reach.reaches("b", "a", 10)
        assert reach.reaches("net", "b", 10)
        machine.run.undo(held)
        assert reach.reaches("a", "b", 10)
        assert (held.resource.left(), held.resource.dropped()) == (None, 0)


def test_a_packet_that_arrives_late_is_counted(machine: Any) -> None:
    with machine.network("a", "b") as reach:
        cut = machine.run.make(Cut(machine.run.name("b"), "10.77.1.1")).resource
        late = threading.Timer(SOON, lambda: reach.reaches("a", "b", SOON))
        assert cut.counts(late.start, 60) > 0
        late.join()
        assert cut.counts(lambda: None, 0) == 0


def test_cuts_of_one_pair_count(machine: Any) -> None:
    with machine.network("a", "b") as reach:
        first, second = (machine.run.make(Cut(machine.run.name("b"), "10.77.1.1")) for _ in range(2))
        machine.run.undo(first)
        assert not reach.reaches("a", "b", SOON)
        machine.run.undo(second)
        assert reach.reaches("a", "b", 10)


def test_a_cut_stops_an_open_connection(machine: Any) -> None:
    with machine.network("a", "b") as reach:
        assert reach.reaches("a", "b", 10)

        def listen() -> socket.socket:
            return socket.create_server(("10.77.1.2", 0))

        def connect() -> socket.socket:
            return socket.create_connection(server.getsockname())

        with (
            in_namespace(machine.run.name("b"), listen) as server,
            in_namespace(machine.run.name("a"), connect) as client,
            server.accept()[0] as accepted,
        ):
            client.sendall(b"before")
            assert accepted.recv(10) == b"before"
            held = machine.run.make(Cut(machine.run.name("b"), "10.77.1.1"))
            client.sendall(b"during")
            accepted.settimeout(SOON)
            with pytest.raises(TimeoutError):
                accepted.recv(10)
            machine.run.undo(held)
            accepted.settimeout(60)
            assert accepted.recv(10) == b"during", "TCP sends it again"


def test_undo_twice_and_after_the_namespace_went(machine: Any) -> None:
    machine.network("a").close()
    cut = Cut(machine.run.name("a"), "10.77.0.1")
    cut.undo()
    machine.run.make(cut)
    cut.undo()
    cut.undo()
    other = Cut("hw-no-such", "10.77.0.1")
    other.undo()
    assert other.left() is None


def test_a_namespace_says_whose_it_is(machine: Any) -> None:
    held = machine.run.make(Namespace(machine.run.name("x"), machine.run.directory))
    assert marked_for(held.resource.name) == machine.run.directory
    machine.run.undo(held)
    assert marked_for(held.resource.name) is None
    held.resource.undo()


def test_a_name_that_is_taken_is_refused_and_left_alone(machine: Any) -> None:
    taken = machine.run.make(Namespace(machine.run.name("x"), machine.run.directory)).resource
    with pytest.raises(MachineError, match="cannot be made: there is"):
        machine.run.make(taken)
    assert marked_for(taken.name) == machine.run.directory


def test_an_interruption_waits_for_what_is_being_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made = threading.Event()
    begun = threading.Event()

    def make() -> None:
        begun.set()
        made.wait(60)

    join = threading.Thread.join
    calls: list[bool] = []

    def interrupted(thread: threading.Thread, timeout: float | None = None) -> None:
        calls.append(made.is_set())
        if len(calls) == 1:
            begun.wait(60)
            made.set()
            raise KeyboardInterrupt
        join(thread, timeout)
        assert not thread.is_alive()

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        in_thread(make)
    assert calls == [False, True], "joined again after the interruption"


def test_only_the_thread_that_enters_is_inside(machine: Any) -> None:
    machine.network("a").close()
    seen: list[set[str]] = []

    def inside() -> None:
        enter_namespace(machine.run.name("a"))
        seen.append(links())

    before = links()
    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert seen == [{"lo", "eth0"}]
    assert links() == before, "this thread is where it was"


def test_there_is_no_such_namespace() -> None:
    with pytest.raises(MachineError, match="there is no network namespace hw-none"):
        in_namespace("hw-none", links)


def test_what_a_namespace_raises_is_raised(machine: Any) -> None:
    machine.network("a").close()
    with pytest.raises(ZeroDivisionError):
        in_namespace(machine.run.name("a"), lambda: 1 // 0)


def test_a_process_lives_in_its_namespace(machine: Any) -> None:
    machine.network("a").close()
    process = machine.process("cat", "/proc/net/dev", namespace=machine.run.name("a"))
    assert process.wait_gone(60)
    devices = {line.split(":")[0].strip() for line in (machine.folder / "log").read_text().splitlines() if ":" in line}
    assert devices == {"lo", "eth0"}
