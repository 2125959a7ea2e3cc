"""The harness's end of a control socket: answers in order, and nobody waits for ever for a node that says nothing."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.backends.local.control import ControlChannel, ControlError
from highwater_runtime.host.unix_path import short_path

Answer = Callable[[dict[str, Any]], Any]


class Node:
    """A control server that answers as it is told; ``None``: not at all."""

    def __init__(self, path: Path) -> None:
        self.asked: list[dict[str, Any]] = []
        self.answer: Answer = lambda request: {"id": request["id"], "result": request["params"]}
        self._server = socket.socket(socket.AF_UNIX)
        with short_path(path) as name:
            self._server.bind(name)
        self._server.listen()
        self._ends: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        try:
            while True:
                end, _ = self._server.accept()
                self._ends.append(end)
                threading.Thread(target=self._talk, args=(end,), daemon=True).start()
        except OSError:
            return

    def _talk(self, end: socket.socket) -> None:
        with end.makefile("rwb") as lines:
            for line in lines:
                request = json.loads(line)
                self.asked.append(request)
                answer = self.answer(request)
                if answer is not None:
                    lines.write(json.dumps(answer).encode() + b"\n")
                    lines.flush()

    def close(self) -> None:
        self._server.close()
        while self._ends:
            end = self._ends.pop()
            end.shutdown(socket.SHUT_RDWR)
            end.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Deeper than the 107 bytes that the kernel takes of a socket's path: runs may lie anywhere."""
    directory = tmp_path / ("a" * 120)
    directory.mkdir()
    return directory / "control.sock"


@pytest.fixture
def node(path: Path) -> Iterator[Node]:
    made = Node(path)
    yield made
    made.close()


@pytest.fixture
def channel(path: Path, node: Node) -> Iterator[ControlChannel]:
    made = ControlChannel(path, "broker-0")
    yield made
    made.close()


def test_an_answer(channel: ControlChannel) -> None:
    assert channel.call("ping", {"x": 1}) == {"x": 1}


def test_before_the_node_listens(path: Path) -> None:
    channel = ControlChannel(path, "broker-0")
    assert not channel.try_open()
    answers: list[Any] = []
    channel.ask("ping", {"x": 2}, answers.append)
    node = Node(path)
    try:
        assert channel.call("ping", {"x": 3}) == {"x": 3}
        assert answers == [{"x": 2}], "what was asked first is answered first"
    finally:
        channel.close()
        node.close()


def test_a_refusal_says_why(channel: ControlChannel, node: Node) -> None:
    node.answer = lambda request: {"id": request["id"], "error": "no such rule"}
    with pytest.raises(ControlError, match="broker-0 refused removeRule: no such rule"):
        channel.call("removeRule")


def test_a_node_that_says_nothing(channel: ControlChannel, node: Node) -> None:
    node.answer = lambda request: None
    with pytest.raises(ControlError, match=r"broker-0 did not answer ping within 0.2 s"):
        channel.call("ping", patience=0.2)


def test_a_node_that_goes_away(channel: ControlChannel, node: Node) -> None:
    def leave(request: dict[str, Any]) -> None:
        node.close()

    node.answer = leave
    with pytest.raises(ControlError, match="broker-0 went away before it answered ping"):
        channel.call("ping")
    assert channel.closed
    assert not channel.try_open(), "another incarnation has a channel of its own"


def test_answers_out_of_order_are_an_error(channel: ControlChannel, node: Node) -> None:
    node.answer = lambda request: {"id": request["id"] + 1, "result": 0}
    with pytest.raises(ControlError, match="out of order"):
        channel.call("ping")
