"""Heartbeats go on while an event holds up the loop, and nobody else sends them while it runs."""

from __future__ import annotations

import asyncio
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from highwater_runtime.host import HostedNode, Listener
from highwater_runtime.host.net.listeners import PLAINTEXT_OUTBOUND
from highwater_runtime.host.process.heartbeat_thread import HeartbeatThread
from highwater_runtime.ports import MS, SECOND, Endpoint, Heartbeat
from highwater_runtime.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from highwater_runtime.wire.messages.broker_heartbeat_response import BrokerHeartbeatResponse


@contextmanager
def controller(tools: Any) -> Iterator[tuple[Endpoint, list[Any]]]:
    """A controller on a loop of its own: where it listens, and the heartbeats that it gets."""
    heartbeats: list[Any] = []
    ready, over = threading.Event(), threading.Event()
    at: list[Endpoint] = []

    async def serve() -> None:
        node = HostedNode("controller-1", tools.core, listeners=[Listener("CONTROLLER", tools.loopback)])
        await node.start()
        core: Any = node.core

        def answer(request: Any) -> None:
            heartbeats.append(request)
            request.reply(BrokerHeartbeatResponse(is_fenced=False))

        core.answering = answer
        at.append(node.bound["CONTROLLER"])
        ready.set()
        while not over.is_set():
            await asyncio.sleep(0.005)
        node.kill()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(tools.patience)
        yield at[0], heartbeats
    finally:
        over.set()
        thread.join()


def test_an_event_that_takes_long_does_not_hold_up_heartbeats(play, tools):
    async def story(hosts):
        with controller(tools) as (at, heartbeats):
            node = await hosts.node("broker-7", listeners=())
            thread = HeartbeatThread(node, lambda _: PLAINTEXT_OUTBOUND)
            answers: list[tuple[int, Any]] = []
            beat = BrokerHeartbeatRequest(broker_id=7, broker_epoch=11, current_metadata_offset=5)

            over_ns: list[int] = []
            began_ns = node.clock.now_ns()

            def event() -> None:
                def answered(*answer: Any) -> None:
                    answers.append(answer)

                node.network.repeat_while_held_up(Heartbeat(at, beat, 0, answered, 20 * MS, 10 * SECOND))
                until = time.monotonic() + tools.patience
                while len(heartbeats) < 3 and time.monotonic() < until:
                    time.sleep(0.005)  # as a write() that blocks: other threads run
                over_ns.append(node.clock.now_ns())

            node.run(event)
            assert len(heartbeats) >= 3
            assert {(one.client_id, one.body.broker_id, one.body.broker_epoch) for one in heartbeats} == {
                ("broker-7", 7, 11)
            }
            assert not answers, "a core gets responses in events of their own"
            await tools.until(lambda: answers)
            sent_ns, answer = answers[0]
            assert answer.is_fenced is False
            assert began_ns < sent_ns < over_ns[0]
            # The loop goes on: what is late now is the core's own affair.
            sent, asked = thread.repeated, thread.asked
            await tools.until(lambda: thread.asked >= asked + 3)
            assert thread.repeated == sent
            thread.close()

    play(story)


def test_a_core_that_leaves_has_nobody_repeat_its_heartbeat_however_long_its_event_takes(play, tools):
    async def story(hosts):
        with controller(tools) as (at, heartbeats):
            node = await hosts.node("broker-7", listeners=())
            thread = HeartbeatThread(node, lambda _: PLAINTEXT_OUTBOUND)
            beat = BrokerHeartbeatRequest(broker_id=7, broker_epoch=11, current_metadata_offset=5, want_shut_down=True)

            def event() -> None:
                node.network.repeat_while_held_up(Heartbeat(at, beat, 0, lambda *_: None, 20 * MS, 10 * SECOND))
                until = time.monotonic() + tools.patience
                while not heartbeats and time.monotonic() < until:
                    time.sleep(0.005)
                node.network.stop_repeating()
                while thread.is_alive and time.monotonic() < until:
                    time.sleep(0.005)

            node.run(event)
            assert heartbeats
            assert not thread.is_alive

    play(story)


class Held:
    """A node with a thread for heartbeats; its loop is held up until a condition holds."""

    def __init__(self, node: Any, at: Endpoint, patience: float) -> None:
        self.node, self.at, self.patience = node, at, patience
        self.first: Endpoint | None = None
        """What the core's heartbeats went to before, until they have been repeated there."""
        self.thread = HeartbeatThread(node, lambda _: PLAINTEXT_OUTBOUND)

    def until(self, condition: Any) -> None:
        beat = BrokerHeartbeatRequest(broker_id=7, broker_epoch=11, current_metadata_offset=5)

        def repeat(at: Endpoint) -> None:
            self.node.network.repeat_while_held_up(Heartbeat(at, beat, 0, lambda *_: None, 20 * MS, 10 * SECOND))

        def event() -> None:
            until = time.monotonic() + self.patience
            if self.first is not None:
                repeated = self.thread.repeated
                repeat(self.first)
                while self.thread.repeated == repeated:
                    assert time.monotonic() < until
                    time.sleep(0.005)
            repeat(self.at)
            while not condition():
                assert time.monotonic() < until
                time.sleep(0.005)

        self.node.run(event)
        assert self.node.is_alive, self.node.end


# Of an event loop that could not be made.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_system_without_threads_or_descriptors_to_spare_costs_no_node(play, tools, monkeypatch, caplog):
    async def story(hosts):
        with controller(tools) as (at, heartbeats):
            held = Held(await hosts.node("broker-7", listeners=()), at, tools.patience)

            def no_thread(_: threading.Thread) -> None:
                raise RuntimeError("can't start new thread")

            with monkeypatch.context() as patch:
                patch.setattr(threading.Thread, "start", no_thread)
                held.until(lambda: "no thread for heartbeats" in caplog.text)
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
            try:
                held.until(lambda: "heartbeats cannot go on" in caplog.text)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            held.until(lambda: heartbeats)
            held.thread.close()

    play(story)


def test_a_name_that_is_being_resolved_keeps_no_later_heartbeat_waiting(play, tools, monkeypatch):
    async def story(hosts):
        with controller(tools) as (at, heartbeats):
            asked, answer = threading.Event(), threading.Event()
            resolve = socket.getaddrinfo

            def slow(host: str, *args: Any, **options: Any) -> Any:
                if host == "slow.invalid":
                    asked.set()
                    answer.wait(tools.patience)
                return resolve(host, *args, **options)

            monkeypatch.setattr(socket, "getaddrinfo", slow)
            held = Held(await hosts.node("broker-7", listeners=()), Endpoint("slow.invalid", 1), tools.patience)
            try:
                held.until(asked.is_set)
                before = held.thread.asked
                await tools.until(lambda: held.thread.asked > before)
                held.first, held.at = held.at, at
                held.until(lambda: heartbeats)
                assert not answer.is_set()
            finally:
                answer.set()
                held.thread.close()

    play(story)
