"""The control socket: every method, and what is no request."""

from __future__ import annotations

import asyncio
import json

import pytest

from highwater_runtime.host.process.control import ControlServer
from highwater_runtime.host.unix_path import short_path
from highwater_runtime.ports import SECOND
from highwater_runtime.wire.messages.metadata_request import MetadataRequest


class Control:
    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.number = 0

    async def raw(self, line: bytes):
        self.writer.write(line + b"\n")
        return json.loads(await asyncio.wait_for(self.reader.readline(), 30))

    async def ask(self, method, **params):
        self.number += 1
        answer = await self.raw(json.dumps({"id": self.number, "method": method, "params": params}).encode())
        assert answer.pop("id") == self.number
        return answer

    async def result(self, method, **params):
        answer = await self.ask(method, **params)
        assert "error" not in answer, answer
        return answer["result"]


@pytest.fixture
def controlled(play, tmp_path):
    def run(story):
        async def whole(hosts):
            path = tmp_path / ("deeper than the path of a socket may be " * 4) / "control.sock"
            path.parent.mkdir()
            path.write_text("left by a dead process")
            (tmp_path / "data").mkdir()
            from highwater_runtime.host import Listener
            from highwater_runtime.ports import Endpoint

            node = await hosts.node(
                "server", data_dir=tmp_path / "data", listeners=[Listener("PLAINTEXT", Endpoint("127.0.0.1", 0))]
            )
            server = ControlServer(node, lambda: list(node.metrics.samples()))
            await server.start(path)
            assert path.stat().st_mode & 0o777 == 0o600
            with short_path(path) as name:
                control = Control(*await asyncio.open_unix_connection(name))
            try:
                await story(hosts, node, control)
            finally:
                control.writer.close()
                server.close()
            assert not path.exists()

        play(whole)

    return run


def test_ping(controlled):
    async def story(hosts, node, control):
        assert await control.result("ping") == {"node": "server", "incarnation": 1}
        assert await control.raw(b'{"id": 9, "method": "ping"}') == {
            "id": 9,
            "result": {"node": "server", "incarnation": 1},
        }

    controlled(story)


def test_rules(controlled, tools):
    async def story(hosts, node, control):
        node.core.answering = lambda request: request.reply(tools.metadata("m"))
        client = await hosts.client(node)
        rule = await control.result("addRule", action="hold", rpc="Metadata", sources=["x"], destinations=["server"])
        client.send(MetadataRequest(), 12, 1, "x")
        client.send(MetadataRequest(), 12, 2, "y")
        assert (await client.receive(MetadataRequest, 12))[0] == 2
        assert await control.result("ruleMatches", rule=rule) == 1
        assert await control.result("removeRule", rule=rule) is None
        assert (await client.receive(MetadataRequest, 12))[0] == 1
        assert await control.result("removeRule", rule=rule) is None
        assert await control.result("ruleMatches", rule=rule) == 1

    controlled(story)


def test_metrics(controlled):
    async def story(hosts, node, control):
        node.metrics.counter("some_total", 2)
        node.metrics.gauge("level", 1.5, topic="t", partition="0")
        assert await control.result("metrics") == [
            {"name": "level", "labels": {"topic": "t", "partition": "0"}, "value": 1.5},
            {"name": "some_total", "labels": {}, "value": 2.0},
        ]

    controlled(story)


def test_clock(controlled):
    async def story(hosts, node, control):
        assert await control.result("clockError") == {"offsetNs": 0, "rate": 1.0}
        await control.result("clock", offsetNs=5 * SECOND, rate=1.25)
        error = await control.result("clockError")
        assert error["rate"] == 1.25
        assert error["offsetNs"] >= 5 * SECOND
        await control.result("clock", offsetNs=0, rate=1.0)
        assert await control.result("clockError") == {"offsetNs": 0, "rate": 1.0}

    controlled(story)


def test_disk_stall(controlled, tools):
    async def story(hosts, node, control):
        await control.result("diskStall", on=True)
        done = []
        node.run(lambda: node.disk.open("f", create=True).fsync_later(done.append))
        await asyncio.sleep(0.02)
        assert done == []
        assert await control.result("diskProbe") == {"waitingNs": 0, "stalled": True}
        await control.result("diskStall", on=False)
        await tools.until(lambda: done == [None])

    controlled(story)


def test_a_disk_on_which_no_flush_can_begin_is_told_by_its_error(controlled, tools, tmp_path):
    """As a full disk is, whether its error comes from the flush or from what leads to it."""

    async def story(hosts, node, control):
        in_the_way = tmp_path / "data/.highwater-flush-probe"
        in_the_way.mkdir()
        assert await control.result("diskProbe") == {"ended": "EISDIR"}
        in_the_way.rmdir()
        assert await control.result("diskProbe") == {"waitingNs": 0, "stalled": False}
        answer = {}
        while "ended" not in answer:
            answer = await control.result("diskProbe")
        assert answer == {"ended": "ok"}

    controlled(story)


def test_what_is_no_request_is_answered_by_an_error_and_the_next_one_works(controlled):
    async def story(hosts, node, control):
        for line, message in (
            (b"not json", "malformed"),
            (b"[1]", "attribute"),
            (b'{"id": 1}', "method"),
            (b'{"id": 1, "method": "explode"}', "unknown method 'explode'"),
            (b'{"id": 1, "method": "addRule", "params": {}}', "action"),
            (b'{"id": 1, "method": "addRule", "params": {"action": "hold", "rpc": 5}}', "attribute"),
            (b'{"id": 1, "method": "ruleMatches", "params": {"rule": 77}}', "77"),
            (b'{"id": 1, "method": "clock", "params": {"offsetNs": 0, "rate": 0}}', "must be positive"),
            (b'{"id": 1, "method": "clock", "params": {"offsetNs": "x", "rate": 1}}', "invalid literal"),
            (b'{"id": 1, "method": "diskStall", "params": {"on": 1}}', "true or false"),
        ):
            answer = await control.raw(line)
            assert message in answer["error"], answer
        assert (await control.result("ping"))["node"] == "server"
        assert node.is_alive

    controlled(story)
