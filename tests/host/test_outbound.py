"""What a core sees of the network: responses and failures as the port promises them."""

from __future__ import annotations

import asyncio
import socket
import struct

import pytest

from highwater_runtime.host import Listener
from highwater_runtime.host.net.peer_addresses import PeerAddresses
from highwater_runtime.host.net.reachability import Reachability, why_not
from highwater_runtime.ports import MS, SECOND, Endpoint, RpcFailure
from highwater_runtime.wire.messages.metadata_request import MetadataRequest
from highwater_runtime.wire.messages.read_offset_request import ReadOffsetRequest
from highwater_runtime.wire.messages.read_offset_response import ReadOffsetResponse


def send_all(node, to, count, answers, *, timeout_ns=10 * SECOND, channel=""):
    def event():
        for n in range(count):
            node.network.send(
                to,
                MetadataRequest(),
                12,
                lambda response, n=n: answers.append((n, response)),
                timeout_ns=timeout_ns,
                channel=channel,
            )

    node.run(event)


def test_requests_of_a_channel_share_a_connection_and_keep_their_order(play, tools):
    async def story(hosts):
        server, core = await hosts.server()
        core.answering = lambda request: request.reply(tools.metadata(str(len(core.requests))))
        client = await hosts.node("client", listeners=())
        answers = []
        for channel in ("a", "b"):
            send_all(client, server.bound["PLAINTEXT"], 10, answers, channel=channel)
        await tools.until(lambda: len(answers) == 20)
        assert server.server.connections == 2
        for peer in {request.peer for request in core.requests}:
            mine = [request for request in core.requests if request.peer == peer]
            assert [request.correlation_id for request in mine] == list(range(1, 11))
        assert {request.client_id for request in core.requests} == {"client"}

    play(story)


def test_private_apis_work(play, tools):
    async def story(hosts):
        server, core = await hosts.server()
        core.answering = lambda request: request.reply(ReadOffsetResponse())
        client = await hosts.node("client", listeners=())
        answer = await tools.ask(client, server.bound["PLAINTEXT"], ReadOffsetRequest(), 0)
        assert isinstance(answer, ReadOffsetResponse)

    play(story)


def test_a_refused_connection_is_a_disconnect_and_the_next_request_connects_anew(play, tools):
    async def story(hosts):
        client = await hosts.node("client", listeners=())
        server, core = await hosts.server()
        core.answering = lambda request: request.reply(tools.metadata("here"))
        at = server.bound["PLAINTEXT"]
        server.kill()
        await asyncio.sleep(0)
        assert await tools.ask(client, at) is RpcFailure.DISCONNECTED
        await hosts.node("server", factory=lambda _: core, listeners=[Listener("PLAINTEXT", at)])
        assert (await tools.ask(client, at)).cluster_id == "here"

    play(story)


def test_where_another_node_answers_it_is_connected_to_anew(play, tools):
    async def story(hosts):
        client = await hosts.node("client", listeners=())
        wrong, core = await hosts.server()
        named = Endpoint("localhost", wrong.bound["PLAINTEXT"].port)
        right = await hosts.node("right", listeners=[Listener("PLAINTEXT", Endpoint("127.0.0.2", named.port))])
        right.core.answering = lambda request: request.reply(tools.metadata("right"))
        client.network.addresses = PeerAddresses(client.log, [named])
        client.network.addresses.heard(named, "127.0.0.2")
        answers = []
        for channel in ("a", "b"):
            send_all(client, named, 1, answers, channel=channel)
        await tools.until(lambda: len(core.requests) == 2)
        client.run(lambda: client.network.disconnect(named))
        await tools.until(lambda: len(answers) == 2)
        assert [answer for _, answer in answers] == [RpcFailure.DISCONNECTED] * 2
        await tools.until(lambda: wrong.server.connections == 0)
        assert (await tools.ask(client, named)).cluster_id == "right"

    play(story)


def test_an_unresolvable_host_is_a_disconnect(play, tools):
    async def story(hosts):
        client = await hosts.node("client", listeners=())
        assert await tools.ask(client, Endpoint("no-such-host.invalid", 9092)) is RpcFailure.DISCONNECTED

    play(story)


def test_a_peer_that_refuses_is_told_of_once_and_when_it_is_back(play, tools, logged):
    async def story(hosts):
        client = await hosts.node("client", listeners=())
        server, core = await hosts.server()
        core.answering = lambda request: request.reply(tools.metadata("here"))
        at = server.bound["PLAINTEXT"]
        server.kill()
        await asyncio.sleep(0)
        for channel in ("", "", "another"):
            assert await tools.ask(client, at, channel=channel) is RpcFailure.DISCONNECTED
        (away,) = logged("peer unreachable")
        assert (away["server"], away["why"], away["attempts"]) == (at, "connection refused", 1)

        await hosts.node("server", factory=lambda _: core, listeners=[Listener("PLAINTEXT", at)])
        for channel in ("", "another"):
            assert (await tools.ask(client, at, channel=channel)).cluster_id == "here"
        (back,) = logged("peer reached again")
        assert (back["server"], back["attempts"]) == (at, 3)
        assert len(logged("peer unreachable")) == 1

    play(story)


def test_a_name_that_cannot_be_resolved_is_told_of(play, tools, logged):
    async def story(hosts):
        client = await hosts.node("client", listeners=())
        at = Endpoint("no-such-host.invalid", 9092)
        await tools.ask(client, at)
        (away,) = logged("peer unreachable")
        assert away["server"] == at
        assert away["why"].startswith("cannot resolve the name: ")

    play(story)


def test_a_peer_that_does_not_answer_a_connect_is_told_of(play, tools, logged):
    async def story(hosts):
        client = await hosts.node("client", listeners=())
        with socket.socket() as full:  # accepts nobody, and its queue is full: further attempts get no answer
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            at = Endpoint(*full.getsockname())
            with socket.create_connection(at):
                assert await tools.ask(client, at, timeout_ns=200 * MS) is RpcFailure.TIMED_OUT
            (away,) = logged("peer unreachable")
        assert (away["server"], away["why"]) == (at, "timed out")

    play(story)


def test_a_node_whose_peers_are_there_says_nothing_of_them(play, tools, logged):
    async def story(hosts):
        server, core = await hosts.server()
        core.answering = lambda request: request.reply(tools.metadata("here"))
        client = await hosts.node("client", listeners=())
        await tools.ask(client, server.bound["PLAINTEXT"])
        core.answering = None
        assert await tools.ask(client, server.bound["PLAINTEXT"], timeout_ns=50 * MS) is RpcFailure.TIMED_OUT
        assert logged("peer unreachable") == logged("peer reached again") == []

    play(story)


def test_while_it_lasts_it_is_told_once_a_minute():
    class Lines(list):
        def info(self, event, **fields):
            self.append((event, fields))

        warning = info

    now, lines, one, other = [100.0], Lines(), Endpoint("a", 1), Endpoint("b", 1)
    peers = Reachability(lines, lambda: now[0])
    for _ in range(1000):  # eight times a second, for two minutes and five seconds
        peers.failed(one, "connection refused")
        now[0] += 0.125
    assert [(event, fields["attempts"]) for event, fields in lines] == [
        ("peer unreachable", 1),
        ("peer unreachable", 481),
        ("peer unreachable", 961),
    ]
    assert [fields["seconds"] for _, fields in lines] == [0, 60, 120]
    peers.failed(other, "timed out")
    assert lines.pop() == ("peer unreachable", {"server": other, "why": "timed out", "attempts": 1, "seconds": 0})
    peers.reached(one)
    assert lines.pop() == ("peer reached again", {"server": one, "attempts": 1000, "seconds": 125})
    peers.reached(one)
    assert len(lines) == 3
    peers.failed(one, "connection refused")
    assert lines[3][1]["attempts"] == 1


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (socket.gaierror(-3, "Temporary failure in name resolution"), "cannot resolve the name: Temporary failure"),
        (ConnectionRefusedError(111, "Connect call failed ('10.0.0.1', 9092)"), "connection refused"),
        (TimeoutError(110, "Connection timed out"), "timed out"),
        (OSError(113, "Connect call failed ('10.0.0.1', 9092)"), "No route to host"),
        (OSError("Multiple exceptions: a, b"), "Multiple exceptions: a, b"),
    ],
)
def test_why_in_words(error, words):
    assert why_not(error).startswith(words)


def test_a_connection_that_breaks_fails_everything_in_flight_on_it_in_order(play, tools):
    async def story(hosts):
        server, core = await hosts.server()
        client = await hosts.node("client", listeners=())
        answers = []
        send_all(client, server.bound["PLAINTEXT"], 5, answers)
        await tools.until(lambda: len(core.requests) == 5)
        server.run(lambda: core.requests[0].reply(tools.metadata("first")))
        await tools.until(lambda: answers)
        server.kill()
        await tools.until(lambda: len(answers) == 5)
        assert answers[0][1].cluster_id == "first"
        assert answers[1:] == [(n, RpcFailure.DISCONNECTED) for n in range(1, 5)]

    play(story)


def test_a_late_response_closes_the_connection(play, tools):
    async def story(hosts):
        server, core = await hosts.server()
        client = await hosts.node("client", listeners=())
        answers = []
        send_all(client, server.bound["PLAINTEXT"], 1, answers, timeout_ns=300 * MS)
        send_all(client, server.bound["PLAINTEXT"], 1, answers, timeout_ns=60 * SECOND)
        await tools.until(lambda: len(core.requests) == 2)
        await tools.until(lambda: len(answers) == 2)
        assert [failure for _, failure in answers] == [RpcFailure.TIMED_OUT, RpcFailure.DISCONNECTED]
        await tools.until(lambda: server.server.connections == 0)
        server.run(lambda: core.requests[0].reply(tools.metadata("too late")))
        core.answering = lambda request: request.reply(tools.metadata("next"))
        assert (await tools.ask(client, server.bound["PLAINTEXT"])).cluster_id == "next"
        assert len(answers) == 2

    play(story)


def test_a_server_that_accepts_and_says_nothing_times_out(play, tools):
    async def story(hosts):
        kept = []  # Python 3.13 closes a connection whose writer nobody keeps
        silent = await asyncio.start_server(lambda reader, writer: kept.append(writer), "127.0.0.1", 0)
        client = await hosts.node("client", listeners=())
        at = Endpoint(*silent.sockets[0].getsockname())
        assert await tools.ask(client, at, timeout_ns=100 * MS) is RpcFailure.TIMED_OUT
        silent.close()

    play(story)


def test_a_deadline_far_away_does_not_hide_a_near_one(play, tools):
    async def story(hosts):
        server, _ = await hosts.server()
        client = await hosts.node("client", listeners=())
        answers = []
        send_all(client, server.bound["PLAINTEXT"], 1, answers, timeout_ns=60 * SECOND)
        send_all(client, server.bound["PLAINTEXT"], 1, answers, timeout_ns=50 * MS)
        await tools.until(lambda: len(answers) == 2)
        assert [failure for _, failure in answers] == [RpcFailure.DISCONNECTED, RpcFailure.TIMED_OUT]

    play(story)


def test_bytes_that_are_no_response_are_a_disconnect(play, tools, logged):
    async def story(hosts):
        async def nonsense(reader, writer):
            await reader.read(10)
            writer.write(struct.pack(">ii", 4, 12345))

        server = await asyncio.start_server(nonsense, "127.0.0.1", 0)
        client = await hosts.node("client", listeners=())
        at = Endpoint(*server.sockets[0].getsockname())
        assert await tools.ask(client, at) is RpcFailure.DISCONNECTED
        assert logged("malformed response")
        server.close()

    play(story)


def test_answers_out_of_order_find_their_requests(play, tools):
    """Held back requests (see interference) are answered behind later ones."""

    async def story(hosts):
        server, core = await hosts.server()
        client = await hosts.node("client", listeners=())
        answers = []
        send_all(client, server.bound["PLAINTEXT"], 3, answers)
        await tools.until(lambda: len(core.requests) == 3)
        (connection,) = server.server._connections
        connection.slots.rotate(1)
        for n, request in enumerate(core.requests):
            server.run(lambda n=n, request=request: request.reply(tools.metadata(str(n))))
        await tools.until(lambda: len(answers) == 3)
        assert [(n, response.cluster_id) for n, response in answers] == [(2, "2"), (0, "0"), (1, "1")]

    play(story)


def test_a_killed_node_hears_nothing_more(play, tools):
    async def story(hosts):
        server, core = await hosts.server()
        client = await hosts.node("client", listeners=())
        answers = []
        send_all(client, server.bound["PLAINTEXT"], 1, answers)
        await tools.until(lambda: core.requests)
        client.kill()
        server.run(lambda: core.requests[0].reply(tools.metadata("to nobody")))
        await tools.until(lambda: server.server.connections == 0)
        assert answers == []

    play(story)
