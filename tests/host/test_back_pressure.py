"""Nobody makes a server hold more than it is willing to: requests, bytes, connections, unread answers, idle peers."""

from __future__ import annotations

import asyncio

from highwater_runtime.wire.messages.metadata_request import MetadataRequest
from highwater_runtime.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from highwater_runtime.wire.messages.produce_response import ProduceResponse


def produce(size: int) -> ProduceRequest:
    data = PartitionProduceData(index=0, records=b"r" * size)
    return ProduceRequest(acks=1, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=[data])])


def test_a_connection_has_so_many_requests_in_flight_and_no_more(play, tools):
    async def story(hosts):
        node, core = await hosts.server(max_queued_requests=4)
        client = await hosts.client(node)
        for n in range(20):
            client.send(MetadataRequest(), 12, n)
        await tools.until(lambda: len(core.requests) == 4)
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert len(core.requests) == 4
        for n in range(20):
            await tools.until(lambda n=n: len(core.requests) > n)
            assert len(core.requests) <= n + 4
            node.run(lambda n=n: core.requests[n].reply(tools.metadata(str(n))))
        assert [(await client.receive(MetadataRequest, 12))[0] for _ in range(20)] == list(range(20))

    play(story)


def test_one_greedy_client_waits_and_modest_ones_do_not(play, tools):
    async def story(hosts):
        node, core = await hosts.server(max_queued_bytes=100_000)
        greedy, modest = await hosts.client(node), await hosts.client(node)
        for n in range(50):
            greedy.send(produce(20_000), 9, n)
        await tools.until(lambda: node.server.queued_bytes > 100_000)
        for _ in range(20):
            await asyncio.sleep(0.001)
        held = len(core.requests)
        assert held * 20_000 < 100_000 + 40_000
        modest.send(MetadataRequest(), 12, 7)
        await tools.until(lambda: len(core.requests) == held + 1)
        node.run(lambda: core.requests[-1].reply(tools.metadata("at once")))
        assert (await modest.receive(MetadataRequest, 12))[0] == 7
        answered = [request for request in core.requests if isinstance(request.body, ProduceRequest)]
        core.answering = lambda request: request.reply(ProduceResponse())
        for request in answered:
            node.run(lambda request=request: request.reply(ProduceResponse()))
        assert [(await greedy.receive(ProduceRequest, 9))[0] for _ in range(50)] == list(range(50))
        assert node.server.queued_bytes == 0

    play(story)


def test_bytes_of_a_client_that_goes_are_given_back(play, tools):
    async def story(hosts):
        node, core = await hosts.server(max_queued_bytes=50_000)
        first, second = await hosts.client(node), await hosts.client(node)
        first.send(produce(45_000), 9, 1)
        await tools.until(lambda: len(core.requests) == 1)
        for n in range(3):
            second.send(produce(30_000), 9, n)
        await tools.until(lambda: len(core.requests) == 2)
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert len(core.requests) == 2
        first.close()
        await tools.until(lambda: len(core.requests) > 2)

    play(story)


def test_a_client_that_does_not_read_is_not_read_from(play, tools):
    async def story(hosts):
        node, core = await hosts.server(write_buffer_bytes=100_000)
        core.answering = lambda request: request.reply(tools.metadata("m" * 30_000))
        lazy, other = await hosts.client(node, limit=1000), await hosts.client(node)
        total = 2000
        for n in range(total):
            lazy.send(MetadataRequest(), 12, n)
        (served,) = [
            c for c in node.server._connections if c.peer.endswith(str(lazy.writer.get_extra_info("sockname")[1]))
        ]
        await tools.until(lambda: not served._peer_reads)
        for _ in range(50):
            await asyncio.sleep(0.001)
        waiting = len(core.requests)
        assert waiting < total
        assert served._transport.get_write_buffer_size() < 1_000_000
        other.send(MetadataRequest(), 12, 1)
        assert (await other.receive(MetadataRequest, 12))[0] == 1
        assert [(await lazy.receive(MetadataRequest, 12))[0] for _ in range(total)] == list(range(total))

    play(story)


def test_connections_are_counted_in_all_and_by_address(play, tools, logged):
    async def story(hosts):
        node, core = await hosts.server(max_connections=3, max_connections_per_ip=2)
        core.answering = lambda request: request.reply(tools.metadata("m"))
        one, two = await hosts.client(node), await hosts.client(node)
        await tools.until(lambda: node.server.connections == 2)
        assert await (await hosts.client(node)).is_closed()
        elsewhere = await hosts.client(node, local_addr=("127.0.0.2", 0))
        await tools.until(lambda: node.server.connections == 3)
        assert await (await hosts.client(node, local_addr=("127.0.0.3", 0))).is_closed()
        lines = [line["why"] for line in logged("connection closed")]
        assert len(lines) == 2
        assert "max.connections.per.ip is 2" in lines[0]
        assert "max.connections is 3" in lines[1]
        one.close()
        await tools.until(lambda: node.server.connections == 2)
        for number, client in enumerate((two, elsewhere, await hosts.client(node))):
            client.send(MetadataRequest(), 12, number)
            assert (await client.receive(MetadataRequest, 12))[0] == number

    play(story)


def test_an_idle_connection_is_closed_and_one_that_waits_for_an_answer_is_not(play, tools, logged):
    async def story(hosts):
        node, core = await hosts.server(max_idle_ms=200)
        idle, waiting = await hosts.client(node), await hosts.client(node)
        waiting.send(MetadataRequest(), 12, 1)
        await tools.until(lambda: core.requests)
        assert await idle.is_closed()
        await tools.until(lambda: node.server.connections == 1)
        assert "connections.max.idle.ms" in logged("connection closed")[0]["why"]
        await asyncio.sleep(0.3)
        node.run(lambda: core.requests[0].reply(tools.metadata("still there")))
        assert (await waiting.receive(MetadataRequest, 12))[0] == 1

    play(story)
