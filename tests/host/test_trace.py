"""Events reach the file before anything that they explain leaves the node; what a crash emitted is kept."""

from __future__ import annotations

import json

import pytest

from highwater_runtime.host import FileSink
from highwater_runtime.ports.trace import RaftHighWatermark
from highwater_runtime.wire.messages.metadata_request import MetadataRequest


def event(offset: int) -> RaftHighWatermark:
    return RaftHighWatermark(offset=offset, epoch=1, leader=1)


class Journal:
    """A sink that remembers what was on the wire when each write came."""

    def __init__(self):
        self.lines = []
        self.sent_before = []
        self.node = None
        self.fails = False

    def write(self, lines):
        if self.fails:
            raise OSError(28, "No space left on device")
        self.lines += [json.loads(line) for line in lines.splitlines()]
        if self.node is not None:
            self.sent_before += [self.node.server.sent_bytes + self.node.network.sent_bytes]


def test_events_of_a_turn_are_written_before_its_answers(play, tools):
    async def story(hosts):
        journal = Journal()
        node = await hosts.node(trace=journal)
        journal.node = node
        core = node.core

        def answer(request):
            request.reply(tools.metadata("m"))
            core.ports.trace.emit(event(len(core.requests)))

        core.answering = answer
        client = await hosts.client(node)
        for n in range(3):
            client.send(MetadataRequest(), 12, n)
            await client.receive(MetadataRequest, 12)
        assert [line.get("offset") for line in journal.lines] == [None, 1, 2, 3]
        answer_bytes = node.server.sent_bytes // 3
        assert journal.sent_before == [0, answer_bytes, 2 * answer_bytes]

    play(story)


def test_events_are_written_before_requests_leave(play, tools):
    async def story(hosts):
        server, core = await hosts.server()
        core.answering = lambda request: request.reply(tools.metadata("m"))
        journal = Journal()
        node = await hosts.node("client", listeners=(), trace=journal)
        await tools.ask(node, server.bound["PLAINTEXT"])
        journal.node = node
        before = node.network.sent_bytes
        answers = []

        def send_and_emit():
            to = server.bound["PLAINTEXT"]
            node.network.send(to, MetadataRequest(), 12, answers.append, timeout_ns=10**10)
            node.core.ports.trace.emit(event(1))

        node.run(send_and_emit)
        await tools.until(lambda: answers)
        assert journal.sent_before == [before]

    play(story)


def test_lines_carry_the_clocks_the_node_and_its_incarnation(play, tmp_path):
    async def story(hosts):
        path = tmp_path / "events.jsonl"
        for incarnation in (3, 4):
            sink = FileSink(path)
            node = await hosts.node("broker-7", trace=sink, incarnation=incarnation)
            node.clock.set_skew(-3_600_000_000_000, 1.0)
            node.run(lambda node=node: node.core.ports.trace.emit(event(5)))
            node.kill()
            sink.close()
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert [line["kind"] for line in lines] == ["node-started", "raft-high-watermark"] * 2
        assert [line["incarnation"] for line in lines] == [3, 3, 4, 4]
        assert {line["node"] for line in lines} == {"broker-7"}
        assert lines == sorted(lines, key=lambda line: line["time_ns"])
        assert lines[0]["node_time_ns"] - lines[1]["node_time_ns"] > 3_500_000_000_000
        assert set(lines[1]) == {"time_ns", "node_time_ns", "node", "incarnation", "kind", "offset", "epoch", "leader"}

    play(story)


def test_a_crash_keeps_what_was_emitted_and_sends_nothing(play, tools):
    async def story(hosts):
        journal = Journal()
        node = await hosts.node(trace=journal)
        core = node.core

        def answer(request):
            request.reply(tools.metadata("never sent"))
            core.ports.trace.emit(event(1))
            raise RuntimeError("half-run")

        core.answering = answer
        client = await hosts.client(node)
        client.send(MetadataRequest(), 12)
        assert await client.is_closed()
        kinds = ["node-started", "raft-high-watermark", "node-crashed"]
        assert [line["kind"] for line in journal.lines] == kinds
        assert journal.lines[-1]["reason"] == "RuntimeError: half-run"
        assert "in answer" in journal.lines[-1]["stack"]

    play(story)


def test_a_trace_that_cannot_be_written_ends_the_node_before_anybody_sees_anything(play, tools):
    async def story(hosts):
        journal = Journal()
        node = await hosts.node(trace=journal)
        core = node.core

        def answer(request):
            core.ports.trace.emit(event(1))
            request.reply(tools.metadata("never sent"))

        core.answering = answer
        journal.fails = True
        client = await hosts.client(node)
        client.send(MetadataRequest(), 12)
        assert await client.is_closed()
        assert node.end.ending.name == "DISK_FAILED"

    play(story)


@pytest.mark.parametrize("where", ["start", "request", "timer", "response", "posted", "fsync", "stop"])
@pytest.mark.parametrize("raised", ["OSError", "NodeHaltError", "KeyError"])
def test_whatever_a_core_raises_ends_its_node_and_no_other(play, tools, logged, tmp_path, where, raised):
    from highwater_runtime.ports import NodeHaltError

    error = {
        "OSError": OSError(5, "Input/output error"),
        "NodeHaltError": NodeHaltError("broken promise"),
        "KeyError": KeyError("x"),
    }[raised]

    def fail(*_):
        raise error

    async def story(hosts):
        other, other_core = await hosts.server()
        other_core.answering = lambda request: request.reply(tools.metadata("alive"))

        def factory(ports):
            core = tools.core(ports)
            core.answering = core.stopping = fail
            if where == "start":
                core.start = fail
            return core

        node = await hosts.node("failing", factory, data_dir=tmp_path)
        match where:
            case "request":
                client = await hosts.client(node)
                client.send(MetadataRequest(), 12)
            case "timer":
                node.run(lambda: node.clock.call_later(0, fail))
            case "response":
                to = other.bound["PLAINTEXT"]
                node.run(lambda: node.network.send(to, MetadataRequest(), 12, fail, timeout_ns=10**10))
            case "posted":
                node.post(fail)
            case "fsync":
                node.run(lambda: node.disk.open("f", create=True).fsync_later(fail))
            case "stop":
                await node.stop()
        await tools.until(lambda: node.end)
        assert (
            node.end.ending.name
            == {
                "OSError": "DISK_FAILED",
                "NodeHaltError": "HALTED",
                "KeyError": "CRASHED",
            }[raised]
        )
        assert node.end.error is error
        node.run(lambda: pytest.fail("an event after the end"))
        node.kill()
        asker = await hosts.node("asker", listeners=())
        assert (await tools.ask(asker, other.bound["PLAINTEXT"])).cluster_id == "alive"
        assert node.bound["PLAINTEXT"].port
        from highwater_runtime.ports import RpcFailure

        assert await tools.ask(asker, node.bound["PLAINTEXT"]) is RpcFailure.DISCONNECTED

    play(story)
