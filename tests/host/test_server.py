"""Requests in, answers out: order, forms of answers, and what becomes of bytes that are no request."""

from __future__ import annotations

import asyncio
import socket
import struct

import pytest

from highwater_runtime.host.net import fairness
from highwater_runtime.ports import SECOND
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.framing import encode_request
from highwater_runtime.wire.messages.api_versions_request import ApiVersionsRequest
from highwater_runtime.wire.messages.api_versions_response import ApiVersionsResponse
from highwater_runtime.wire.messages.metadata_request import MetadataRequest
from highwater_runtime.wire.messages.metadata_response import MetadataResponse
from highwater_runtime.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from highwater_runtime.wire.messages.produce_response import ProduceResponse


def test_answers_leave_in_the_order_of_the_requests(play, tools):
    async def story(hosts):
        node, core = await hosts.server()
        client = await hosts.client(node)
        for n in range(5):
            client.send(MetadataRequest(), 12, n)
        await tools.until(lambda: len(core.requests) == 5)
        for n in (3, 1, 4, 0, 2):
            node.run(lambda n=n: core.requests[n].reply(tools.metadata(str(n))))
        answers = [await client.receive(MetadataRequest, 12) for _ in range(5)]
        assert [(number, body.cluster_id) for number, body in answers] == [(n, str(n)) for n in range(5)]

    play(story)


def test_what_follows_from_the_requests_of_one_read_is_done_once_before_their_answers_leave(play, tools, monkeypatch):
    """On a busy machine the requests of one read may take more than a slice, and then several turns."""
    monkeypatch.setattr(fairness, "SLICE_NS", 3_600 * SECOND)

    class Together(tools.core):  # type: ignore[name-defined]
        def __init__(self, ports):
            super().__init__(ports)
            self.done = []

        def take(self, request):
            self.done.append("take")
            self.requests.append(request)

        def settle(self):
            self.done.append("settle")
            waiting, self.requests = self.requests, []
            for request in waiting:
                request.reply(tools.metadata("m"))

    async def story(hosts):
        node = await hosts.node(factory=Together)
        client = await hosts.client(node)
        for burst in (3, 1):
            requests = [b"".join(encode_request(MetadataRequest(), 12, n, "client")) for n in range(burst)]
            client.writer.write(b"".join(requests))  # one write, so one read
            assert [(await client.receive(MetadataRequest, 12))[0] for _ in range(burst)] == list(range(burst))
        assert node.core.done == ["take", "take", "take", "settle", "take", "settle"]
        node.run(lambda: None)
        assert node.core.done[-2:] == ["take", "settle"], "nothing was taken since"

    play(story)


def test_an_answer_is_what_it_was_when_it_was_given(play, tools):
    async def story(hosts):
        node, core = await hosts.server()
        client = await hosts.client(node)
        client.send(MetadataRequest(), 12)
        await tools.until(lambda: core.requests)
        response = tools.metadata("as given")

        def answer_and_change():
            core.requests[0].reply(response)
            response.cluster_id = "changed"

        node.run(answer_and_change)
        assert (await client.receive(MetadataRequest, 12))[1].cluster_id == "as given"

    play(story)


def test_a_request_tells_who_sent_it(play, tools):
    async def story(hosts):
        node, core = await hosts.server()
        client = await hosts.client(node)
        client.send(MetadataRequest(), 9, client_id="broker-7")
        client.send(MetadataRequest(), 9, client_id=None)
        await tools.until(lambda: len(core.requests) == 2)
        first, second = core.requests
        host, port = client.writer.get_extra_info("sockname")
        assert (first.client_id, first.peer, first.version) == ("broker-7", f"{host}:{port}", 9)
        assert (first.listener, first.principal) == ("PLAINTEXT", "User:ANONYMOUS")
        assert second.client_id == ""

    play(story)


def test_a_second_answer_is_a_bug_that_ends_the_node(play, tools, logged):
    async def story(hosts):
        node, core = await hosts.server()
        client = await hosts.client(node)
        client.send(MetadataRequest(), 12)
        await tools.until(lambda: core.requests)
        request = core.requests[0]
        node.run(lambda: request.reply(tools.metadata("once")))
        node.run(lambda: request.reply(tools.metadata("twice")))
        assert node.end.ending.name == "CRASHED"
        assert "second reply" in str(node.end.error)
        assert logged("crashed by a bug")

    play(story)


def produce(acks: int, size: int = 100) -> ProduceRequest:
    data = PartitionProduceData(index=0, records=b"r" * size)
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=[data])])


def test_produce_with_acks_0_is_answered_by_nothing(play, tools):
    async def story(hosts):
        node, core = await hosts.server()
        core.answering = lambda request: request.reply(
            ProduceResponse() if isinstance(request.body, ProduceRequest) else tools.metadata("m")
        )
        client = await hosts.client(node)
        client.send(produce(0), 9, 1)
        client.send(MetadataRequest(), 12, 2)
        client.send(produce(1), 9, 3)
        assert (await client.receive(MetadataRequest, 12))[0] == 2
        assert (await client.receive(ProduceRequest, 9))[0] == 3

    play(story)


def test_an_unknown_version_of_api_versions_is_answered_in_version_0(play, tools):
    async def story(hosts):
        node, core = await hosts.server()
        core.answering = lambda request: request.reply(ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))
        client = await hosts.client(node)
        # Version 100 of anything: only the header can be understood.
        client.writer.write(struct.pack(">ihhih", 10 + 4 + 9, 18, 100, 77, 4) + b"test" + b"\xff" * 9)
        frame = await client.frame()
        number, error = struct.unpack_from(">ih", frame)
        assert (number, error) == (77, ErrorCode.UNSUPPORTED_VERSION)
        assert ApiVersionsResponse.decode(frame[4:], 0).error_code == ErrorCode.UNSUPPORTED_VERSION
        (request,) = core.requests
        assert request.version == 100
        assert isinstance(request.body, ApiVersionsRequest)
        # The connection goes on, as clients expect.
        core.answering = lambda request: request.reply(ApiVersionsResponse())
        client.send(ApiVersionsRequest(), 3, 78)
        assert (await client.receive(ApiVersionsRequest, 3))[0] == 78

    play(story)


def framed(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


HOSTILE = {
    "negative size": struct.pack(">i", -1),
    "too large": struct.pack(">i", 100_001),
    "empty": framed(b""),
    "no header": framed(b"\x00\x03"),
    "unknown api": framed(struct.pack(">hhih", 999, 0, 1, -1)),
    "unknown version": framed(struct.pack(">hhih", 3, 99, 1, -1)),
    "old produce": framed(struct.pack(">hhih", 0, 2, 1, -1) + b"\x00" * 20),
    "body cut short": framed(struct.pack(">hhih", 3, 1, 1, -1) + struct.pack(">i", 3)),
    "array without end": framed(struct.pack(">hhih", 3, 1, 1, -1) + struct.pack(">i", 2**31 - 1)),
    "client id beyond the frame": framed(struct.pack(">hhih", 3, 1, 1, 500)),
    "client id not utf-8": framed(struct.pack(">hhih", 3, 1, 1, 2) + b"\xff\xff" + struct.pack(">i", 0)),
    "http": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 50,
}


@pytest.mark.parametrize("payload", HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_request_costs_its_connection_and_nothing_else(play, tools, logged, payload):
    async def story(hosts):
        node, core = await hosts.server(max_frame_bytes=100_000)
        core.answering = lambda request: request.reply(tools.metadata("fine"))
        bad, good = await hosts.client(node), await hosts.client(node)
        bad.send(MetadataRequest(), 12, 5)
        assert (await bad.receive(MetadataRequest, 12))[0] == 5
        bad.writer.write(payload)
        assert await bad.is_closed()
        (line,) = logged("connection closed")
        host, port = bad.writer.get_extra_info("sockname")
        assert line["peer"] == f"{host}:{port}"
        assert line["why"].startswith("malformed request: ")
        good.send(MetadataRequest(), 12, 6)
        assert (await good.receive(MetadataRequest, 12))[0] == 6
        assert node.server.connections == 1
        assert node.server.queued_bytes == 0
        assert len(core.requests) == 2

    play(story)


def test_a_log_line_stays_one_line_whatever_the_peer_sends(capsys):
    import sys

    from highwater_runtime.host.logs import NodeLog, configure

    configure("text", stream=sys.stdout)
    NodeLog("n").warning("connection closed", why='evil\nERROR all is "lost"')
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert r"evil\nERROR" in out


def test_frames_arrive_however_the_stream_is_cut(play, tools):
    async def story(hosts):
        node, core = await hosts.server()
        core.answering = lambda request: request.reply(tools.metadata("m"))
        client = await hosts.client(node)
        stream = b"".join(b"".join(encode_request(MetadataRequest(), 12, n, "test")) for n in range(20))
        for at in range(len(stream)):
            client.writer.write(stream[at : at + 1])
            if at % 7 == 0:
                await asyncio.sleep(0)
        assert [(await client.receive(MetadataRequest, 12))[0] for _ in range(20)] == list(range(20))

    play(story)


@pytest.mark.parametrize("size", [10, 8000, 16_000, 70_000, 1_000_000, 5_000_000])
def test_small_and_large_frames_mixed(play, tools, size):
    async def story(hosts):
        node, core = await hosts.server()
        got = []

        def answer(request):
            if isinstance(request.body, ProduceRequest):
                got.append(request.body.topic_data[0].partition_data[0].records)
                request.reply(ProduceResponse())
            else:
                request.reply(tools.metadata("m" * size if size < 32_000 else "m"))

        core.answering = answer
        client = await hosts.client(node, limit=2**23)
        for n in range(6):
            client.send(produce(1, size + n), 9, 2 * n)
            client.send(MetadataRequest(), 12, 2 * n + 1)
        for n in range(6):
            assert (await client.receive(ProduceRequest, 9))[0] == 2 * n
            assert (await client.receive(MetadataRequest, 12))[0] == 2 * n + 1
        assert got == [b"r" * (size + n) for n in range(6)]

    play(story)


def test_an_announced_size_alone_takes_no_memory(play, tools):
    async def story(hosts):
        node, _ = await hosts.server()
        clients = [await hosts.client(node) for _ in range(20)]
        for client in clients:
            client.writer.write(struct.pack(">i", 90_000_000) + b"x" * 100)
        await tools.until(lambda: node.server.received_bytes == 20 * 104)
        buffers = [len(connection.get_buffer(-1)) for connection in node.server._connections]
        assert max(buffers) < 100_000

    play(story)


def test_a_half_closed_connection_gets_what_is_answered_and_leaves_nothing_behind(play, tools):
    async def story(hosts):
        node, core = await hosts.server()
        core.answering = lambda request: len(core.requests) == 1 and request.reply(tools.metadata("in time"))
        client = await hosts.client(node)
        client.send(MetadataRequest(), 12, 1)
        client.send(MetadataRequest(), 12, 2)
        client.writer.write_eof()
        assert (await client.receive(MetadataRequest, 12))[0] == 1
        assert await client.is_closed()
        await tools.until(lambda: node.server.connections == 0)
        node.run(lambda: core.requests[1].reply(tools.metadata("to nobody")))
        assert node.is_alive
        assert node.server.queued_bytes == 0

    play(story)


def test_an_answer_to_a_client_that_is_gone_is_dropped(play, tools):
    async def story(hosts):
        node, core = await hosts.server()
        client = await hosts.client(node)
        client.send(MetadataRequest(), 12, 1)
        await tools.until(lambda: core.requests)
        # A reset, as of a killed process with unread data.
        sock = client.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.writer.transport.abort()
        await tools.until(lambda: node.server.connections == 0)
        node.run(lambda: core.requests[0].reply(tools.metadata("nobody")))
        assert node.is_alive
        assert node.server.queued_bytes == 0

    play(story)


def test_an_answer_that_the_version_cannot_carry_costs_its_connection(play, tools, logged):
    async def story(hosts):
        node, core = await hosts.server()
        core.answering = lambda request: request.reply(MetadataResponse(cluster_id="x" * 40_000, brokers=[], topics=[]))
        client = await hosts.client(node)
        client.send(MetadataRequest(), 12, 1)
        assert await client.is_closed()
        assert node.is_alive
        assert logged("cannot encode an answer")

    play(story)
