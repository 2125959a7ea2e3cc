"""An answer that is sent while it is read: what its caller sees where the file does not hold what was promised."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection, IncompleteRead
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from highwater_operator.agent import pod_files
from highwater_operator.agent.admission import Admission
from highwater_operator.agent.http_api import Api
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.settings import Settings

TOKEN = "a-token-that-nobody-guesses"
MIB = 1 << 20


class OnePod:
    """All that the agent's HTTP side asks of pods for their events."""

    def __init__(self, pod: Pod) -> None:
        self._pod = pod

    def known(self) -> list[Pod]:
        return [self._pod]

    def read(self, namespace: str, name: str) -> Pod | None:
        raise AssertionError(f"{namespace}/{name} is known")


class OfACluster:
    """Every StatefulSet is of a LogCluster."""

    def opted_in(self, namespace: str) -> None:
        del namespace

    def owner_of(self, *_: str) -> tuple[str, int]:
        return "a-uid", 3

    def uids(self, namespace: str) -> frozenset[str]:
        del namespace
        return frozenset({"a-uid"})

    def stateful_sets(self, namespace: str) -> dict[str, list[str]]:
        del namespace
        return {"a-uid": ["demo-broker/a-uid"]}


@pytest.fixture
def pod() -> Pod:
    return Pod("ns", "demo-broker-0", str(uuid.uuid4()), "node-1", stateful_set=("demo-broker", "a-uid"))


@pytest.fixture
def events(pod: Pod, tmp_path: Path) -> Path:
    folder = tmp_path / "pods" / pod.uid / "volumes" / "kubernetes.io~empty-dir" / "events"
    folder.mkdir(parents=True)
    return folder / "events.jsonl"


def ask(pod: Pod, kubelet: Path, query: str = "", status: int = 200) -> bytes:
    """For the events, by HTTP."""
    token = kubelet / "token"
    token.write_text(TOKEN)
    unasked: Any = None
    api = Api(
        Settings("node-1", token, Path("/none"), Path("/none"), kubelet=kubelet),
        unasked,
        Admission("node-1", OnePod(pod), OfACluster(), OfACluster()),
        unasked,
        unasked,
        lambda: None,
    )

    def call(port: int) -> bytes:
        with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
            path = f"/v1/pods/ns/{pod.name}/events{query}"
            connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
            answer = connection.getresponse()
            assert answer.status == status
            return answer.read()

    async def serve() -> bytes:
        runner = web.AppRunner(api.application())
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            return await asyncio.to_thread(call, runner.addresses[0][1])
        finally:
            await runner.cleanup()

    return asyncio.run(serve())


def test_a_file_that_is_cut_short_meanwhile(pod: Pod, events: Path, tmp_path: Path) -> None:
    events.write_bytes(b"x" * 1000)
    with closing(pod_files.events(pod, tmp_path, 100)) as piece:
        assert (piece.length, piece.size, piece.read(0)) == (900, 1000, b"x" * 900)
        events.write_bytes(b"")
        assert piece.read(500) == b""
    with closing(pod_files.events(pod, tmp_path, 100)) as piece:
        assert (piece.length, piece.read(0)) == (0, b"")


def test_an_answer_that_is_not_whole_is_seen_to_be_none(
    pod: Pod, events: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events.write_bytes(b"x" * 4 * MIB)
    assert ask(pod, tmp_path) == b"x" * 4 * MIB
    read: Callable[[pod_files.Piece, int], bytes] = pod_files.Piece.read

    def cut(piece: pod_files.Piece, done: int) -> bytes:
        if done >= MIB:
            os.truncate(events, 1000)
        return read(piece, done)

    monkeypatch.setattr(pod_files.Piece, "read", cut)
    with pytest.raises(IncompleteRead):
        ask(pod, tmp_path)


def test_a_pod_that_took_the_place_of_another_does_not_answer_for_it(pod: Pod, events: Path, tmp_path: Path) -> None:
    """Its file is another one: from the byte where the first one's was read to, some of it would be missing."""
    events.write_bytes(b"x" * 1000)
    assert ask(pod, tmp_path, f"?offset=900&uid={pod.uid}") == b"x" * 100
    assert b"has been replaced" in ask(pod, tmp_path, f"?offset=900&uid={uuid.uuid4()}", 409)


def test_the_oldest_events_of_a_file_that_grows_are_given_up(pod: Pod, events: Path, tmp_path: Path) -> None:
    """Where they were is known, so that nobody takes what follows for what was to be read."""
    events.write_bytes(b"x" * MIB)
    pod_files.bound_events(pod, tmp_path, MIB)
    assert ask(pod, tmp_path) == b"x" * MIB
    events.write_bytes(b"x" * 3 * MIB + b"y" * MIB)
    pod_files.bound_events(pod, tmp_path, MIB)
    assert (events.stat().st_size, events.stat().st_blocks * 512 < 3 * MIB) == (4 * MIB, True)
    gone = ask(pod, tmp_path, "?offset=9", 410)
    assert f"byte {3 * MIB} or later".encode() in gone
    assert b"delete the pod" in gone
    assert ask(pod, tmp_path, f"?offset={3 * MIB}") == b"y" * MIB
    with events.open("ab") as file:
        file.write(b"z")
    assert ask(pod, tmp_path, f"?offset={4 * MIB}") == b"z"
