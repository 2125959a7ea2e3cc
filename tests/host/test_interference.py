"""Rules about single messages, as the simulator has them, on real sockets: at our own server, and at a proxy before it.

One suite for both: a rule must mean the same for a node of ours and for one of Apache Kafka.
"""

from __future__ import annotations

import asyncio

import pytest

from highwater_runtime.host.net.interference import ServerRule
from highwater_runtime.ports import MS, SECOND, RpcFailure
from highwater_runtime.wire.messages.api_versions_request import ApiVersionsRequest
from highwater_runtime.wire.messages.api_versions_response import ApiVersionsResponse
from highwater_runtime.wire.messages.metadata_request import MetadataRequest


class Scene:
    """A server that answers at once, and two clients that ask by name. ``front``: who applies the rules."""

    def __init__(self, hosts, tools, kind):
        self.hosts, self.tools, self.kind = hosts, tools, kind
        self.keeps_order = kind == "proxy"
        """Whether answers leave in the order of the requests, as Apache Kafka's clients expect."""

    async def begin(self):
        self.server, self.core = await self.hosts.server()
        self.core.answering = self.answer
        self.front, self.to = self.server.server, self.server.bound["PLAINTEXT"]
        if self.kind == "proxy":
            proxy = await self.hosts.proxy(self.to)
            self.front, self.to = proxy.server, proxy.server.bound["PROXY"]
            await self.tools.until(lambda: proxy.server.is_listening)
        self.a = await self.hosts.node("a", listeners=())
        self.b = await self.hosts.node("b", listeners=())
        self.answers = []
        return self

    def answer(self, request):
        if isinstance(request.body, ApiVersionsRequest):
            request.reply(ApiVersionsResponse())
        else:
            request.reply(self.tools.metadata(request.body.topics[0].name))

    def rule(self, action, rpc="Metadata", **fields):
        for key in ("sources", "destinations"):
            fields[key] = frozenset(fields.get(key, ()))
        return self.front.interference.add(ServerRule(action, rpc, **fields))

    def matches(self, rule):
        return self.front.interference.matches(rule)

    def remove(self, rule):
        self.front.interference.remove(rule)

    def kill(self):
        """The node, and with it the proxy, which is one process with it."""
        self.server.kill()
        self.front.close(after_output=False)

    def ask(self, node, name, request=None, version=12, timeout_ns=30 * SECOND):
        from highwater_runtime.wire.messages.metadata_request import MetadataRequestTopic

        body = request or MetadataRequest(topics=[MetadataRequestTopic(name=name)])

        def told(response):
            self.answers.append((name, response if isinstance(response, RpcFailure) else response.NAME))

        node.run(lambda: node.network.send(self.to, body, version, told, timeout_ns=timeout_ns))

    async def answered(self, *names):
        await self.tools.until(lambda: len(self.answers) >= len(names), f"{self.answers}")
        assert [name for name, _ in self.answers] == list(names)

    def seen(self):
        """Names of the requests that the core has got."""
        return [
            "versions" if isinstance(request.body, ApiVersionsRequest) else request.body.topics[0].name
            for request in self.core.requests
        ]


@pytest.fixture(params=["host", "proxy"])
def scene(play, tools, request):
    def run(story):
        async def whole(hosts):
            await story(await Scene(hosts, tools, request.param).begin())

        play(whole)

    return run


def test_a_held_request_is_overtaken_and_arrives_when_it_is_let_go(scene):
    async def story(s):
        rule = s.rule("hold", sources=["a"])
        s.ask(s.a, "one")
        s.ask(s.a, "versions", ApiVersionsRequest(), 3)
        s.ask(s.a, "two")
        s.ask(s.b, "other")
        await s.tools.until(lambda: s.matches(rule) == 2)
        await s.tools.until(lambda: sorted(s.seen()) == ["other", "versions"], "the others overtake")
        ahead = {"other"} if s.keeps_order else {"versions", "other"}
        await s.tools.until(lambda: {name for name, _ in s.answers} == ahead)
        s.remove(rule)
        await s.tools.until(lambda: len(s.answers) == 4)
        order = [name for name, _ in s.answers if name != "other"]
        assert order == (["one", "versions", "two"] if s.keeps_order else ["versions", "one", "two"])
        assert s.seen()[-2:] == ["one", "two"]
        assert s.matches(rule) == 2
        s.ask(s.a, "three")
        await s.tools.until(lambda: len(s.answers) == 5)

    scene(story)


def test_a_held_request_arrives_even_if_its_sender_has_given_up(scene):
    async def story(s):
        rule = s.rule("hold")
        s.ask(s.a, "one", timeout_ns=200 * MS)
        await s.answered("one")
        assert s.answers == [("one", RpcFailure.TIMED_OUT)]
        await s.tools.until(lambda: s.front.connections == 0)
        assert s.seen() == []
        s.remove(rule)
        await s.tools.until(lambda: s.seen() == ["one"])
        await asyncio.sleep(0.01)
        assert s.answers == [("one", RpcFailure.TIMED_OUT)]

    scene(story)


def test_what_is_held_by_a_server_that_dies_is_lost(scene):
    async def story(s):
        rule = s.rule("hold")
        s.ask(s.a, "one")
        await s.tools.until(lambda: s.matches(rule) == 1)
        s.kill()
        s.remove(rule)
        await s.answered("one")
        assert (s.answers, s.seen()) == ([("one", RpcFailure.DISCONNECTED)], [])

    scene(story)


def test_a_held_response_holds_those_behind_it(scene):
    async def story(s):
        rule = s.rule("hold", part="response", sources=["a"])
        s.ask(s.a, "one")
        s.ask(s.a, "versions", ApiVersionsRequest(), 3)
        s.ask(s.a, "two")
        s.ask(s.b, "other")
        await s.answered("other")
        await s.tools.until(lambda: len(s.core.requests) == 4)
        assert s.matches(rule) == 1, "what is behind it has not met the rule yet"
        s.remove(rule)
        await s.answered("other", "one", "versions", "two")

    scene(story)


def test_a_held_response_is_lost_with_its_connection(scene):
    async def story(s):
        rule = s.rule("hold", part="response")
        s.ask(s.a, "one", timeout_ns=200 * MS)
        await s.answered("one")
        await s.tools.until(lambda: s.front.connections == 0)
        s.remove(rule)
        s.ask(s.a, "two")
        await s.answered("one", "two")
        assert s.answers[0] == ("one", RpcFailure.TIMED_OUT)

    scene(story)


@pytest.mark.parametrize("part", ["request", "response"])
def test_a_dropped_message_vanishes_alone(scene, part):
    async def story(s):
        rule = s.rule("drop", part=part, sources=["a"])
        s.ask(s.a, "one", timeout_ns=2 * SECOND)
        s.ask(s.a, "versions", ApiVersionsRequest(), 3)
        s.ask(s.b, "other")
        await s.tools.until(lambda: len(s.answers) == 3)
        assert ("one", RpcFailure.TIMED_OUT) in s.answers
        assert ("other", "MetadataResponse") in s.answers
        # What is behind it waits with it where answers keep their order.
        assert ("versions", RpcFailure.DISCONNECTED if s.keeps_order else "ApiVersionsResponse") in s.answers
        assert "versions" in s.seen()
        assert ("one" in s.seen()) == (part == "response")
        assert s.matches(rule) == 1

    scene(story)


@pytest.mark.parametrize("part", ["request", "response"])
def test_a_delay(scene, part):
    async def story(s):
        rule = s.rule("delay", part=part, delay_ns=300 * MS, sources=["a"])
        began = s.server.clock.now_ns()
        s.ask(s.a, "one")
        s.ask(s.a, "versions", ApiVersionsRequest(), 3)
        s.ask(s.b, "other")
        await s.tools.until(lambda: len(s.answers) == 3)
        assert s.server.clock.now_ns() - began >= 300 * MS
        order = [name for name, _ in s.answers if name != "other"]
        assert order == (["versions", "one"] if part == "request" and not s.keeps_order else ["one", "versions"])
        assert s.seen()[-1] == "one" or part == "response"
        assert s.matches(rule) == 1

    scene(story)


def test_a_duplicate_is_seen_twice_and_answered_once(scene):
    async def story(s):
        rule = s.rule("duplicate", sources=["a"])
        s.ask(s.a, "one")
        await s.tools.until(lambda: s.seen() == ["one", "one"])
        s.ask(s.a, "versions", ApiVersionsRequest(), 3)
        await s.answered("one", "versions")
        assert s.matches(rule) == 1

    scene(story)


def test_a_rule_minds_its_destinations_and_its_api(scene):
    async def story(s):
        idle = [
            s.rule("drop", destinations=["somebody-else"]),
            s.rule("drop", "Fetch"),
            s.rule("drop", sources=["c"]),
        ]
        active = s.rule("hold", "MetadataRequest", destinations=["server", "other"])
        s.ask(s.a, "one")
        await s.tools.until(lambda: s.matches(active) == 1)
        assert [s.matches(rule) for rule in idle] == [0, 0, 0]
        s.remove(active)
        s.remove(active)
        await s.answered("one")

    scene(story)


def test_what_cannot_be_a_rule(scene):
    async def story(s):
        for fields, message in (
            ({"action": "burn"}, "action must be one of hold, drop, delay, duplicate"),
            ({"action": "hold", "part": "both"}, "part must be one of request, response"),
            ({"action": "duplicate", "part": "response"}, "cannot be duplicated"),
            ({"action": "delay", "delay_ns": -1}, "is negative"),
        ):
            with pytest.raises(ValueError, match=message):
                s.rule(**fields)
        with pytest.raises(KeyError):
            s.matches(99)

    scene(story)
