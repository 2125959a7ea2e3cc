"""To peers all but its rules looks the same with a proxy in front of a node that is not ours as without.

The node is a server on raw sockets here, which does what a story says. Each story runs twice, against the node itself
and through the proxy.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket

import pytest
from raw_node import AT_ONCE, MB, answer, number_of, produce, request

both = pytest.mark.parametrize("kind", ["direct", "proxy"])


@both
def test_pipelined_requests_are_answered_in_order_and_a_half_closed_client_gets_all_answers(stage, kind):
    async def story(s):
        client = await s.client()
        client.writer.write(b"".join(request(n) for n in range(700)))
        client.writer.write_eof()
        assert await s.numbers(client, 700) == list(range(700))
        assert await client.is_closed()
        assert s.node.got == list(range(700))
        await s.until(lambda: s.node.ends == 1)

    stage(story, kind)


@both
def test_a_frame_that_is_cut_off_arrives_nowhere(stage, kind):
    async def story(s):
        client = await s.client()
        client.writer.write(request(1) + request(2)[:-3])
        await s.numbers(client, 1)
        client.close()
        await s.until(lambda: s.node.ends == 1)
        assert s.node.got == [1]

    stage(story, kind)


@both
def test_a_node_that_closes_behind_its_answers(stage, kind):
    async def story(s):
        async def once(reader, writer):
            writer.write(answer(number_of(await s.node.take(reader)), 3 * MB))
            writer.close()

        s.node.talks = once
        client = await s.client()
        client.writer.write(request(5) + request(6))
        assert len(await client.frame()) == 3 * MB
        assert await client.is_closed()

    stage(story, kind)


@both
def test_a_node_that_resets(stage, kind):
    async def story(s):
        async def resets(reader, writer):
            await s.node.take(reader)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
            writer.transport.abort()

        s.node.talks = resets
        client = await s.client()
        client.writer.write(request(5))
        with pytest.raises(ConnectionResetError):
            await client.reader.read(1)

    stage(story, kind)


@both
def test_a_client_that_resets(stage, kind):
    async def story(s):
        client = await s.client()
        client.writer.write(request(1))
        await s.numbers(client, 1)
        client.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        client.writer.transport.abort()
        await s.until(lambda: s.node.ends == 1)

    stage(story, kind)


@both
def test_a_node_that_does_not_listen_refuses_until_it_listens_again(stage, kind):
    async def story(s):
        async def is_refused():
            try:
                wire = await s.client()
                return await wire.is_closed()  # one connection may learn it for the others
            except ConnectionRefusedError:
                return True

        s.node.close()
        await s.node.server.wait_closed()
        assert await is_refused()
        async with asyncio.timeout(60):
            while True:
                try:
                    (await s.client()).close()
                except ConnectionRefusedError:
                    break
                await asyncio.sleep(0.01)
        await s.node.listen()
        async with asyncio.timeout(60):
            while True:
                try:
                    client = await s.client()
                    break
                except ConnectionRefusedError:
                    await asyncio.sleep(0.01)
        client.writer.write(request(8))
        assert await s.numbers(client, 1) == [8]

    stage(story, kind)


@pytest.mark.quick("asyncio-direct", "uvloop-proxy")
@both
def test_a_client_that_does_not_read_stops_the_node(stage, kind):
    async def story(s):
        sent = 0

        async def floods(reader, writer):
            nonlocal sent
            while True:
                number = number_of(await s.node.take(reader))
                writer.write(answer(number, MB))
                await writer.drain()
                sent += 1

        s.node.talks = floods
        client = await s.client(limit=64 * 1024)
        client.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        client.writer.write(b"".join(request(n) for n in range(300)))
        await s.until(lambda: sent > 0)
        before = -1
        while before < sent:
            before = sent
            await asyncio.sleep(0.3)
        assert sent < 60, "kernels and proxy hold some MB"
        assert await s.numbers(client, 300) == list(range(300))

    stage(story, kind)


@both
def test_a_node_that_does_not_read_stops_its_client(stage, kind):
    async def story(s):
        begins = asyncio.Event()

        async def waits(reader, writer):
            writer.transport.pause_reading()
            await begins.wait()
            writer.transport.resume_reading()
            await s.node.answers(reader, writer)

        s.node.talks = waits
        client = await s.client()
        client.writer.transport.set_write_buffer_limits(high=MB)
        sent = 0
        with contextlib.suppress(TimeoutError):
            while sent < 200:
                client.writer.write(produce(sent, 1, 9, bytes(MB)))
                sent += 1
                await asyncio.wait_for(client.writer.drain(), 0.5)
        assert sent < 60, "kernels and proxy hold some MB"
        begins.set()
        assert await s.numbers(client, sent) == list(range(sent))

    stage(story, kind)
