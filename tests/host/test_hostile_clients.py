"""Attacks on the server of a node: what one client does costs the others little, and the node no more than it has."""

from __future__ import annotations

import asyncio
import gc
import socket
import struct
import subprocess
import sys
import tracemalloc
from time import perf_counter_ns

import pytest

from highwater_runtime.host.net.connection import MOST_BYTES_BUT_OF_DATA
from highwater_runtime.wire.framing import decode_response, encode_request
from highwater_runtime.wire.messages.api_versions_request import ApiVersionsRequest
from highwater_runtime.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from highwater_runtime.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from highwater_runtime.wire.messages.produce_response import ProduceResponse

MB = 1024 * 1024


# --- pipelining ------------------------------------------------------------------------------------------------------


@pytest.mark.quick("uvloop")
def test_clients_that_pipeline_leave_the_others_their_turns(play, tools):
    """20 clients send 400 requests each at once. Another one asks, waits for the response, and asks again."""

    async def story(hosts):
        node, core = await hosts.server()
        order: list[str] = []

        def answer(request):
            busy_until = perf_counter_ns() + 100_000
            while perf_counter_ns() < busy_until:
                pass
            order.append(request.client_id)
            request.reply(tools.metadata("m"))

        core.answering = answer
        floods = [await hosts.client(node) for _ in range(20)]
        patient = await hosts.client(node)
        for number, flood in enumerate(floods):
            for n in range(400):
                flood.send(MetadataRequest(), 12, n, f"flood-{number}")
        for n in range(20):
            patient.send(MetadataRequest(), 12, n, "patient")
            assert (await patient.receive(MetadataRequest, 12))[0] == n
        turns = [position for position, client in enumerate(order) if client == "patient"]
        between = [after - before for before, after in zip([0, *turns], turns, strict=False)]
        # A slice has room for 20 requests of 100 µs; beside it each of the 20 may get one in.
        assert max(between) <= 120, between
        for number, flood in enumerate(floods):
            assert [(await flood.receive(MetadataRequest, 12))[0] for _ in range(400)] == list(range(400)), number

    play(story)


# --- unfinished frames -----------------------------------------------------------------------------------------------


def big_request(size: int) -> bytes:
    data = PartitionProduceData(index=0, records=b"r" * size)
    request = ProduceRequest(acks=1, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=[data])])
    return b"".join(encode_request(request, 9, 1, "big"))


def buffered(node) -> int:
    return sum(len(connection._buffer) for connection in node.server._connections)


def test_unfinished_requests_count_as_memory_and_all_of_them_are_served_in_the_end(play, tools):
    async def story(hosts):
        node, core = await hosts.server(max_queued_bytes=8 * MB)
        most = 0

        def answer(request):
            nonlocal most
            most = max(most, buffered(node))
            is_produce = isinstance(request.body, ProduceRequest)
            request.reply(ProduceResponse() if is_produce else tools.metadata("at once"))

        core.answering = answer
        whole = big_request(2 * MB)
        greedy = [await hosts.client(node) for _ in range(20)]
        for client in greedy:
            client.writer.write(whole[: -MB // 2])
        modest = await hosts.client(node)
        for n in range(50):
            modest.send(MetadataRequest(), 12, n)
            assert (await modest.receive(MetadataRequest, 12))[0] == n
            await asyncio.sleep(0.005)
            most = max(most, buffered(node))
        for client in greedy:
            client.writer.write(whole[-MB // 2 :])
        for client in greedy:
            await client.receive(ProduceRequest, 9)
        assert len([r for r in core.requests if isinstance(r.body, ProduceRequest)]) == 20
        # Buffers may be up to twice of what has come in them; one request may exceed the bound, so that it ends.
        assert most <= 2 * 8 * MB + 4 * MB, most
        assert node.server.queued_bytes == 0

    play(story)


def test_who_holds_memory_and_sends_no_more_is_closed_if_others_need_it(play, tools, logged):
    async def story(hosts):
        node, core = await hosts.server(max_queued_bytes=4 * MB)
        core.answering = lambda request: request.reply(ProduceResponse())
        whole = big_request(2 * MB)
        stalled = [await hosts.client(node) for _ in range(6)]
        for client in stalled:
            client.writer.write(whole[: MB + MB // 2])
        await tools.until(lambda: node.server.queued_bytes > 4 * MB)
        honest = await hosts.client(node)
        honest.writer.write(whole)
        await honest.receive(ProduceRequest, 9)
        assert any("unfinished" in line["why"] for line in logged("connection closed"))

    play(story)


# --- file descriptors ------------------------------------------------------------------------------------------------


LIMITED = """\
import os, resource, sys
soft, hard = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
os.execv(sys.executable, [sys.executable, "-m", "highwater_runtime.host.main", sys.argv[3]])
"""


def start_limited(node, soft: int, hard: int) -> None:
    """Start a node process that may open ``soft`` files, and may raise that to ``hard``."""
    config = node.write_config()
    with node.log_path.open("ab") as log:
        command = [sys.executable, "-c", LIMITED, str(soft), str(hard), str(config)]
        node.process = subprocess.Popen(command, stderr=log)


def ask_versions(end: socket.socket) -> None:
    end.sendall(b"".join(encode_request(ApiVersionsRequest(), 3, 9, "test")))
    (size,) = struct.unpack(">i", end.recv(4, socket.MSG_WAITALL))
    correlation_id, _ = decode_response(end.recv(size, socket.MSG_WAITALL), ApiVersionsRequest.API_KEY, 3)
    assert correlation_id == 9


def nodes_of_both_kinds(processes) -> tuple:
    (port,) = processes.free_ports(1)
    voters = {"controller_quorum_voters": f"1000@127.0.0.1:{port}"}
    listeners = f"CONTROLLER://127.0.0.1:{port}"
    return (
        processes.make("controller-0", process_roles="controller", node_id=1000, listeners=listeners, **voters),
        processes.make("broker-0", process_roles="broker", node_id=0, listeners="PLAINTEXT://127.0.0.1:0", **voters),
    )


def test_more_clients_than_descriptors_do_not_end_a_node(processes):
    """150 descriptors, 400 connections. The node refuses the rest, goes on, and logs a line now and then."""
    for node in (nodes := nodes_of_both_kinds(processes)):
        start_limited(node, 150, 150)
    for node in nodes:
        (port,) = node.ready()["listeners"].values()
        first = socket.create_connection(("127.0.0.1", port), timeout=60)
        ask_versions(first)
        ends = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(400)]
        ask_versions(first)
        # What a node needs descriptors for itself still works: its admin pages.
        assert node.http("/healthz")[0] == 200
        assert node.process.poll() is None
        for end in ends:
            end.close()

        def admitted(port=port) -> bool:
            with socket.create_connection(("127.0.0.1", port), timeout=60) as end:
                try:
                    ask_versions(end)
                except (OSError, struct.error):
                    return False
                return True

        processes.wait_until(admitted, "a new connection")
        lines = node.log.splitlines()
        about = [line for line in lines if "connection" in line or "descriptor" in line]
        assert about, "the refusals are told"
        assert len(lines) < 90, node.log[-3000:]
        assert "Traceback" not in node.log
        first.close()


def test_a_node_raises_its_limit_of_descriptors(processes):
    controller, broker = nodes_of_both_kinds(processes)
    start_limited(controller, 80, 1000)
    start_limited(broker, 80, 1000)
    for node in (controller, broker):
        (port,) = node.ready()["listeners"].values()
        ends = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(300)]
        for end in ends:
            ask_versions(end)
        for end in ends:
            end.close()


def test_a_connection_that_ends_gives_its_memory_back_at_once(play, tools):
    """A connection and its transport refer to each other: without this the collector would free them, some time."""

    async def story(hosts):
        node, core = await hosts.server(max_queued_bytes=64 * MB)
        core.answering = lambda request: request.reply(ProduceResponse())
        whole = big_request(8 * MB)
        for end in ("closed by the client", "malformed", "closed by the server"):
            for _ in range(4):
                client = await hosts.client(node)
                client.writer.write(whole[: -MB // 2])
                await tools.until(lambda: buffered(node) > 7 * MB)
                (connection,) = node.server._connections
                if end == "closed by the server":
                    node.run(lambda connection=connection: connection.close("asked to"))
                elif end == "malformed":
                    client.writer.write(whole[-MB // 2 :] + b"\xff\xff\xff\xff")
                client.writer.close()
                await tools.until(lambda: not node.server._connections)
                assert len(connection._buffer) < 1024
        assert (node.server.queued_bytes, node.server.buffer_bytes) == (0, 0)

    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        play(story)
        of_buffers = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, "*/host/net/frames.py")])
        assert sum(one.size for one in of_buffers.statistics("filename")) < MB, "12 connections had 8 MB each"
    finally:
        tracemalloc.stop()
        gc.enable()


def test_only_what_brings_data_may_be_large(play, tools, logged):
    async def story(hosts):
        node, core = await hosts.server()
        core.answering = lambda request: request.reply(ProduceResponse())
        names = [MetadataRequestTopic(name="x" * 249) for _ in range(MOST_BYTES_BUT_OF_DATA // 249)]
        client, producer = await hosts.client(node), await hosts.client(node)
        client.send(MetadataRequest(topics=names), 12, 1)
        producer.writer.write(big_request(MOST_BYTES_BUT_OF_DATA))
        await producer.receive(ProduceRequest, 9)
        await tools.until(lambda: len(node.server._connections) == 1)
        assert any("unless it brings data" in line["why"] for line in logged("connection closed"))

    play(story)
