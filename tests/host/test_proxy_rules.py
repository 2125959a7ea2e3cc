"""What a proxy in front of a node that is not ours alone can get wrong: senders, rules, order, bounds."""

from __future__ import annotations

import asyncio
import struct
import tracemalloc

import pytest
from raw_node import MB, answer, number_of, produce, request

from highwater_runtime.host.net.interference import ServerRule
from highwater_runtime.host.proxy.requests import ProxiedRequest
from highwater_runtime.host.proxy.sources import Peer, Sources
from highwater_runtime.wire.messages.fetch_request import FetchRequest


def test_who_sent_a_message():
    nodes = [Peer.parse(f"broker-{n}={n}@10.77.1.{n + 1}") for n in range(2)]
    nodes += [Peer("controller-0", 1000, "10.77.2.1")]
    apart = Sources(nodes)
    assert apart.of("10.77.1.2", "anything") == "broker-1"
    assert apart.of("10.77.0.1", "producer-0") == "producer-0"
    together = Sources([peer._replace(host="127.0.0.1") for peer in nodes])
    for client_id, source in {
        "broker-1-fetcher-0": "broker-1",
        "broker-0-txn-marker-sender": "broker-0",
        "raft-client-1000": "controller-0",
        "raft-client-1": "broker-1",
        "1": "broker-1",
        "1000": "controller-0",
        "producer-0": "producer-0",
        "broker-1": "broker-1",
        "broker-7-fetcher-0": "broker-7-fetcher-0",
        "9" * 40: "9" * 40,
        "": "",
    }.items():
        assert together.of("127.0.0.1", client_id) == source, client_id
    with pytest.raises(ValueError, match="expected NAME=ID@HOST, found 'broker-0'"):
        Peer.parse("broker-0")


class Nobody:
    """A connection, as far as a request looks at it."""

    sources = Sources()
    address = peer = ""


def test_which_requests_of_producers_get_no_answer():
    for version in range(3, 12):
        for transaction in (None, "t" * 200):
            frames = [produce(1, acks, version, transaction=transaction)[4:] for acks in (0, 1, -1)]
            answered = [ProxiedRequest(Nobody(), frame).is_answered for frame in frames]
            assert answered == [False, True, True], version
    assert ProxiedRequest(Nobody(), request(1, version=12)[4:]).is_answered
    old = struct.pack(">hhih", 0, 2, 1, 1) + b"c"
    assert [ProxiedRequest(Nobody(), old + struct.pack(">h", acks)).is_answered for acks in (0, 1)] == [False, True]
    flexible = struct.pack(">hhih", 0, 9, 1, -1)
    for cut_or_hostile in (
        b"",
        flexible[:7],
        flexible,
        flexible + b"\xff" * 200_000,
        old[:11],
        b"\0\0\0\2" + b"\x7f" * 30,
    ):
        assert ProxiedRequest(Nobody(), cut_or_hostile).is_answered


def test_requests_without_answers_hold_up_nothing(stage):
    async def story(s):
        client = await s.client()
        client.writer.write(b"".join(produce(n, 0, 9) for n in range(1200)) + request(7))
        assert await s.numbers(client, 1) == [7]
        assert len(s.node.got) == 1201

    async def whole(s):
        async def talks(reader, writer):
            while True:
                frame = await s.node.take(reader)
                if frame[:2] != b"\0\0":
                    writer.write(answer(number_of(frame)))

        s.node.talks = talks
        await story(s)

    stage(whole)


def test_a_rule_catches_every_request_of_a_segment_and_lets_the_others_overtake(stage):
    async def story(s):
        interference = s.proxy.server.interference
        rule = interference.add(ServerRule("hold", "Metadata"))
        client = await s.client()
        fetches = [request(n, "c", FetchRequest(), 12) for n in (100, 101)]
        client.writer.write(b"".join([request(0), fetches[0], request(1), request(2), fetches[1]]))
        await s.until(lambda: s.node.got == [100, 101])
        assert interference.matches(rule) == 3
        interference.remove(rule)
        client.writer.write(request(3))
        assert await s.numbers(client, 6) == [0, 100, 1, 2, 101, 3]
        assert s.node.got == [100, 101, 0, 1, 2, 3]

    stage(story)


@pytest.mark.parametrize("part", ["request", "response"])
def test_what_goes_by_a_message_that_is_held_is_bounded_and_all_of_it_arrives_in_order(stage, part):
    async def story(s):
        async def talks(reader, writer):
            while True:
                writer.write(answer(number_of(await s.node.take(reader)), MB // 4))
                await writer.drain()

        s.node.talks = talks
        interference = s.proxy.server.interference
        rule = interference.add(ServerRule("hold", "Metadata", part=part))
        client = await s.client()
        client.writer.write(request(0) + b"".join(request(n, "c", FetchRequest(), 12) for n in range(1, 400)))
        await s.until(lambda: interference.matches(rule) == 1)
        before = -1
        while before < len(s.node.got):
            before = len(s.node.got)
            await asyncio.sleep(0.2)
        assert before < 100
        interference.remove(rule)
        assert await s.numbers(client, 400) == list(range(400))

    stage(story)


def test_answers_to_duplicates_go_nowhere_and_count_for_nothing(stage):
    async def story(s):
        async def talks(reader, writer):
            while True:
                writer.write(answer(number_of(await s.node.take(reader)), MB // 5))

        s.node.talks = talks
        interference = s.proxy.server.interference
        held = interference.add(ServerRule("hold", "Metadata"))
        twice = interference.add(ServerRule("duplicate", "Fetch"))
        client = await s.client()
        fetch = [request(n, "c", FetchRequest(), 12) for n in range(5)]
        client.writer.write(request(9) + b"".join(fetch[:4]))
        (connection,) = s.proxy.server._connections
        await s.until(lambda: len(s.node.got) == 8 and connection.upstream.is_idle)
        interference.remove(twice)
        client.writer.write(fetch[4])
        async with asyncio.timeout(20):
            while 4 not in s.node.got:  # what goes by is less than the bound
                await asyncio.sleep(0.01)
        interference.remove(held)
        assert await s.numbers(client, 6) == [9, 0, 1, 2, 3, 4]

    stage(story)


@pytest.mark.parametrize("part", ["request", "response"])
def test_nothing_leaves_behind_a_message_that_was_dropped(stage, part):
    """A client of Apache Kafka takes the next answer for that of the request whose answer is missing."""

    async def story(s):
        interference = s.proxy.server.interference
        rule = interference.add(ServerRule("drop", "Metadata", part=part))
        client = await s.client()
        client.writer.write(request(0, "c", FetchRequest(), 12) + request(1) + request(2, "c", FetchRequest(), 12))
        assert await s.numbers(client, 1) == [0]
        await s.until(lambda: 2 in s.node.got and interference.matches(rule) == 1)
        interference.remove(rule)
        client.writer.write(request(3))
        client.writer.write_eof()
        assert await client.is_closed(), "no answer comes before the end"

    stage(story)


@pytest.mark.parametrize("node_closes", [False, True])
def test_what_is_held_arrives_in_order_although_its_connection_is_gone(stage, node_closes):
    """By the node's connection that is left, or by another one."""

    async def story(s):
        interference = s.proxy.server.interference
        rule = interference.add(ServerRule("hold", "Metadata"))
        client = await s.client()
        client.writer.write(b"".join(request(n) for n in range(20)))
        await s.until(lambda: interference.matches(rule) == 20)
        if node_closes:
            await s.until(lambda: s.node.writers)
            s.node.writers[0].close()
            assert await client.is_closed()
        else:
            client.close()
        await s.until(lambda: s.proxy.server.connections == 0)
        interference.remove(rule)
        await s.until(lambda: len(s.node.got) == 20)
        assert s.node.got == list(range(20))
        assert len(s.node.writers) == (2 if node_closes else 1)
        await s.until(lambda: s.node.ends >= 1, "the connection ends once nothing is held")

    stage(story)


def test_the_harness_itself_is_spared_and_no_one_else(stage):
    async def story(s):
        s.proxy.server.interference.add(ServerRule("drop", "Metadata"))
        someone, client = await s.client(), await s.client()
        someone.writer.write(request(1, "someone"))
        client.writer.write(request(2, "metadata-observer"))
        assert await s.numbers(client, 1) == [2]
        assert s.node.got == [2]

    stage(story, sources=Sources(spared=["metadata-observer"]))


def test_bytes_that_rules_keep_back_are_bounded(stage, monkeypatch):
    """Each request comes from a sender that goes away, as hostile ones would, as long as they are read."""
    monkeypatch.setattr("highwater_runtime.host.proxy.server._MOST_QUEUED_BYTES", 4 * MB)

    async def story(s):
        server = s.proxy.server
        rule = server.interference.add(ServerRule("hold", "Produce"))
        sent = 8
        for n in range(sent):
            client = await s.client()
            client.writer.write(produce(n, 1, 9, bytes(MB // 2)))
            await s.until(lambda n=n: server.interference.matches(rule) == n + 1)
            client.writer.transport.abort()
        assert server.kept_back_bytes > 4 * MB
        waiting = [await s.client() for _ in range(20)]
        for client in waiting:
            client.writer.write(produce(sent, 1, 9, bytes(MB // 2)))
        await asyncio.sleep(0.3)
        assert server.interference.matches(rule) == sent
        server.interference.remove(rule)
        await s.until(lambda: server.kept_back_bytes == 0)
        for client in waiting:
            assert await s.numbers(client, 1) == [sent]

    stage(story)


@pytest.mark.quick("uvloop")
def test_frames_of_any_size_that_the_node_takes_pass_and_larger_ones_do_not(stage, logged):
    async def story(s):
        largest = 100 * MB
        tracemalloc.start()
        client = await s.client(limit=256 * MB)
        body = produce(1, 1, 9, bytes(largest - 200))
        client.writer.write(body)
        assert await s.numbers(client, 1) == [1]
        del body
        client.close()
        await s.until(lambda: s.proxy.server.connections == 0)
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert held < 320 * MB, "client and node of this test have their copies"
        for first in (struct.pack(">i", largest + 1), b"\xff\xff\xff\xff", b"\x16\x03\x01\x02\x00\x01"):
            client = await s.client()
            client.writer.write(first)
            assert await client.is_closed()
        assert s.node.got == [1]
        reasons = [one["why"] for one in logged("connection closed")]
        assert [("TLS handshake" in why, "a frame of" in why) for why in reasons] == [(False, True)] * 2 + [
            (True, False)
        ]

    stage(story)


def test_answers_that_nobody_asked_for_end_the_connection(stage, logged):
    async def story(s):
        async def lies(reader, writer):
            writer.write(answer(number_of(await s.node.take(reader)) + 1))
            await reader.read()

        s.node.talks = lies
        client = await s.client()
        client.writer.write(request(5))
        assert await client.is_closed()
        (line,) = logged("connection to the node closed")
        assert "no answer to request 5 of MetadataRequest" in line["why"]

    stage(story)
