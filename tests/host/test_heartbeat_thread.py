"""Heartbeats go on while an event holds up the loop, and nobody else sends them while it runs."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from highwater_runtime.host import HostedNode, Listener
from highwater_runtime.host.heartbeat_thread import HeartbeatThread
from highwater_runtime.host.listeners import PLAINTEXT_OUTBOUND
from highwater_runtime.ports import MS, SECOND, Endpoint
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

                node.network.repeat_while_held_up(at, beat, 0, answered, every_ns=20 * MS, timeout_ns=10 * SECOND)
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
                node.network.repeat_while_held_up(
                    at, beat, 0, lambda *_: None, every_ns=20 * MS, timeout_ns=10 * SECOND
                )
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
